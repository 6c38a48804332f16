use std::path::Path;

use serde_json::Value;

use crate::place::{Place, SECRET, text};

fn results(place: &Place) -> Value {
    serde_json::from_slice(&std::fs::read(place.path("report/results.json")).unwrap()).unwrap()
}

/// A scenario file of the repository.
fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../loadtest/scenarios").join(name);
    text(&path.canonicalize().unwrap()).to_owned()
}

/// A short load whose times hold on the slowest machine.
const LENIENT: [&str; 6] =
    ["--warm-up", "0s", "--only-thresholds", "--threshold", "failure_share<=0", "--out"];

#[test]
fn the_example_logs_in_through_the_pages_of_the_provider() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let file = example("login.toml");
    let load = ["loadtest", "run", "--scenario-file", &file, "--rate", "3", "--duration", "2s"];
    let told = place.run(&[&load[..], &["--data-parent", &parent], &LENIENT, &["report"]].concat()).good();
    assert!(told.contains("login 3/s: passed"), "{told}");
    let run = &results(&place)["runs"][0];
    assert_eq!((&run["scenario"], &run["requests"], &run["wrong"]), (&"login".into(), &6.into(), &0.into()));
    // The request, the page, the password that leads back with a code, the token, UserInfo.
    assert_eq!(run["sent"], 30, "{run}");
}

#[test]
fn a_file_is_run_against_a_target_without_a_secret_and_by_a_suite() {
    let place = Place::new();
    let _server = place.serve(&[]);
    let url = format!("http://{}", place.listen());
    let own = "[[scenario]]\nname = \"keys\"\n[[scenario.request]]\nurl = \"{{target.jwks}}\"\n\
        check = [{ json = \"/keys/0/kid\", type = \"string\" }]\n";
    std::fs::write(place.path("keys.toml"), own).unwrap();
    let suite = "title = \"mine\"\n[[run]]\nscenario_file = \"keys.toml\"\nrate = 20\nduration = \"1s\"\n\
        warm_up = \"0s\"\n\
        only_thresholds = true\nthresholds = [\"failure_share<=0\"]\n";
    std::fs::write(place.path("suite.toml"), suite).unwrap();
    for (command, title) in [
        (&["suite", "suite.toml", "--out", "report"][..], "mine"),
        (
            &[
                "run",
                "--scenario-file",
                "keys.toml",
                "--rate",
                "20",
                "--duration",
                "1s",
                "--warm-up",
                "0s",
                "--out",
                "report",
            ],
            "keys",
        ),
    ] {
        let told = place.run(&[&["loadtest"][..], command, &["--target", &url]].concat());
        assert!(told.out.contains("keys 20/s: "), "{}{}", told.out, told.error);
        let results = results(&place);
        assert_eq!((&results["title"], &results["runs"][0]["wrong"]), (&title.into(), &0.into()));
        assert_eq!(results["environment"]["Seed"], "none");
    }
    // What needs users says what it lacks.
    let login = example("login.toml");
    let run = ["loadtest", "run", "--rate", "1", "--scenario-file"];
    let told = place.run(&[&run[..], &[&login, "--target", &url]].concat()).bad(2);
    assert!(told.contains("--admin-secret"), "{told}");
    std::fs::write(place.path("wrong.toml"), own.replace("target.jwks", "target.keys")).unwrap();
    let told = place.run(&[&run[..], &["wrong.toml", "--target", &url]].concat()).bad(2);
    for part in ["wrong.toml: scenario 1 (keys): request 1: url: {{target.keys}} is not known", "target.jwks"]
    {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn the_log_of_a_provider_is_replayed_against_another() {
    let place = Place::new();
    let server = place.serve(&[
        ("SYMBOLON_ADMIN_ON_PUBLIC", "true"),
        ("SYMBOLON_RATE_LIMITS", "off"),
        ("SYMBOLON_LOG_FORMAT", "json"),
        ("SYMBOLON_LOG_SAMPLE", "1"),
    ]);
    let url = format!("http://{}", place.listen());
    let target = ["--target", &url, "--admin-secret", SECRET];
    let load = ["loadtest", "run", "userinfo", "--rate", "20", "--duration", "1s"];
    place.run(&[&load[..], &target, &LENIENT, &["first"]].concat()).good();
    std::fs::write(place.path("access.log"), server.into_log().join("\n")).unwrap();

    let parent = place.path("").display().to_string();
    let replay = ["loadtest", "run", "--replay", "access.log", "--speed", "2", "--data-parent", &parent];
    let ran = place.run(&[&replay[..], &LENIENT, &["report"]].concat());
    let before =
        ran.error.lines().find(|line| line.starts_with("replay of access.log at speed 2: ")).unwrap();
    assert!(before.contains("nothing is sent for") && before.contains(" admin "), "{before}");
    ran.good();
    let run = &results(&place)["runs"][0];
    assert_eq!((&run["scenario"], &run["executor"]), (&"replay of access".into(), &"replay".into()));
    let kinds = run["kinds"].as_array().unwrap();
    let userinfo = kinds.iter().find(|kind| kind["name"] == "userinfo").unwrap();
    assert_eq!((&userinfo["right"], &userinfo["wrong"], &run["wrong"]), (&20.into(), &0.into(), &0.into()));
    assert_eq!(run["replay"]["sent_as"]["userinfo"], 20);
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    assert!(report.contains("Lines of the log") && report.contains("POST admin"), "{report}");
}

#[test]
fn what_contradicts_itself_is_status_2() {
    let place = Place::new();
    std::fs::write(place.path("access.log"), "hello\n").unwrap();
    for (more, why) in [
        (&["--rate", "5"][..], "<SCENARIO>"),
        (&["silent", "--rate", "5", "--scenario-file", "x.toml"], "cannot be used with"),
        (&["--scenario-file", "x.toml"], "--rate"),
        (&["--scenario-file", "x.toml", "--rate", "5"], "x.toml: No such file"),
        (&["--replay", "access.log", "--rate", "5"], "cannot be used with"),
        (&["--replay", "access.log"], "access.log: none of its 1 lines is a request"),
        (&["--replay", "access.log", "--speed", "0"], "above 0"),
        (&["--replay", "access.log", "--token-grant", "silent"], "silent is no grant"),
        (&["silent", "--rate", "5", "--speed", "2"], "--replay"),
    ] {
        let told = place.run(&[&["loadtest", "run"][..], more].concat()).bad(2);
        assert!(told.contains(why), "{more:?}: {told}");
    }
}
