//! `symbolon loadtest day`.

use serde_json::Value;

use super::results;
use crate::place::{Place, SECRET};

#[test]
fn a_day_starts_a_provider_of_its_own_and_has_a_verdict_for_each_scenario() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let short = ["loadtest", "day", "--preset", "shop", "--duration", "6s", "--scale", "0.5"];
    let result = place.run(&[&short[..], &["--out", "report", "--data-parent", &parent]].concat());
    let results = results(&place);
    let run = &results["runs"][0];
    assert_eq!((&run["executor"], &run["wrong"], &run["missed"]), (&"mixture".into(), &0.into(), &0.into()));
    let kinds = run["kinds"].as_array().unwrap();
    let names: Vec<_> = kinds.iter().map(|kind| kind["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["exchange", "login", "refresh", "silent", "userinfo"]);
    let right: u64 = kinds.iter().map(|kind| kind["right"].as_u64().unwrap()).sum();
    assert_eq!(run["requests"], right);
    // Rates stay as they are in a day that is shorter: of the storm's logins one is left.
    assert_eq!(run["day"]["storms"][0]["requests"], 1);
    // So short a run holds no P99; each limit that broke is named with its scenario, and then the run has failed.
    result.bad(1);
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    let limits = run["thresholds"].as_array().unwrap();
    let broken: Vec<&Value> = limits.iter().filter(|limit| limit["held"] == false).collect();
    assert!(broken.iter().any(|limit| limit["scenario"] == "userinfo"), "{broken:?}");
    for limit in broken {
        let scenario = limit["scenario"].as_str().map(|scenario| format!("{scenario} ")).unwrap_or_default();
        assert!(report.contains(&format!(": {scenario}{} ", limit["name"].as_str().unwrap())), "{report}");
    }
    let report = std::fs::read_to_string(place.path("report/report.html")).unwrap();
    for part in ["Scenarios of the day, and their limits", "Storms", "purchase", "dashed: what was asked for"]
    {
        assert!(report.contains(part), "{part}");
    }
}

#[test]
fn a_days_mix_is_taken_from_a_providers_metrics() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_RATE_LIMITS", "off")]);
    let url = format!("http://{}", place.listen());
    let target = ["--target", &*url, "--admin-secret", SECRET, "--warm-up", "0s", "--out", "report"];
    let short = ["--duration", "1s", "--only-thresholds", "--threshold", "failure_share<=0"];
    for (scenario, rate) in
        [("login", "3"), ("client-credentials", "40"), ("userinfo", "20"), ("silent", "30")]
    {
        let run = ["loadtest", "run", scenario, "--rate", rate];
        place.run(&[&run[..], &short, &target].concat()).good();
    }
    let metrics = format!("http://{}/metrics", place.management());
    let told = place.run(&["loadtest", "day", "--mix-from", &metrics]).good();
    let count = |scenario: &str| -> u64 {
        let line = told.lines().find(|line| line.starts_with(&format!("{scenario} = ")));
        line.and_then(|line| line.rsplit_once("# ")?.1.parse().ok())
            .unwrap_or_else(|| panic!("{scenario}: {told}"))
    };
    assert_eq!([count("login"), count("client-credentials"), count("userinfo")], [3, 40, 20], "{told}");
    // Planting looks at a few tokens of its own by silent requests and their codes.
    let planted = count("code");
    assert_eq!(count("silent"), 30 + planted, "{told}");
    assert!((1..=20).contains(&planted) && told.contains("#   admin: "), "{told}");
}

#[test]
fn a_day_is_printed_and_mistakes_in_it_are_told_with_their_mend() {
    let place = Place::new();
    let printed = place.run(&["loadtest", "day", "--preset", "company", "--print"]).good();
    assert!(printed.contains("[[journey]]") && printed.contains("# Nine o'clock"), "{printed}");
    for (from, to, told) in [
        ("peak = 40", "peak = -1", "peak = -1: write how many arrive per second"),
        ("silent = 45", "silnt = 45", "silnt"),
        ("think_times = \"compressed\"\n", "", "think_times is missing"),
        ("peak = 40", "peek = 40", "unknown field `peek`"),
    ] {
        std::fs::write(place.path("mine.toml"), printed.replacen(from, to, 1)).unwrap();
        let words = place.run(&["loadtest", "day", "mine.toml"]).bad(2);
        assert!(words.contains("mine.toml: ") && words.contains(told), "{words}");
    }
    assert!(place.run(&["loadtest", "day", "--preset", "bank"]).bad(2).contains("api-platform"));
}

#[test]
fn every_other_preset_is_a_day_that_a_provider_bears() {
    for preset in ["company", "api-platform", "agents"] {
        let place = Place::new();
        let parent = place.path("").display().to_string();
        let day = ["loadtest", "day", "--preset", preset, "--duration", "2s"];
        let ran = place.run(&[&day[..], &["--out", "report", "--data-parent", &parent]].concat());
        // So short a day holds no P99; that nothing fails and nothing is wrong is to be seen all the same.
        assert!(ran.code == 0 || ran.code == 1, "{preset}: {}{}", ran.out, ran.error);
        let results = results(&place);
        let run = &results["runs"][0];
        assert_eq!(results["title"], preset, "{run}");
        let bad = ["wrong", "failures", "missed", "errors_besides"].map(|count| run[count].as_u64().unwrap());
        assert_eq!(bad, [0; 4], "{preset}: {run}");
        let kinds = run["kinds"].as_array().unwrap();
        let right: u64 = kinds.iter().map(|kind| kind["right"].as_u64().unwrap()).sum();
        assert!(right > 0 && run["requests"] == right && kinds.len() > 2, "{preset}: {kinds:?}");
    }
}
