use serde_json::json;

use crate::place::Place;

/// Every command of administration, once; the same with a server and without.
fn everyday(place: &Place) {
    let made = place.run(&["user", "create", "--email", "ann@example.com", "--name", "Ann", "--json"]).json();
    let id = made["id"].as_str().unwrap();
    let taken = place.run(&["user", "create", "--email", "ANN@example.com"]).bad(1);
    assert!(taken.contains("409"), "{taken}");
    let set =
        place.run_with(&["user", "set-password", "ann@example.com"], &[], "correct horse battery\n").good();
    assert!(set.contains(id), "{set}");
    let short = place.run_with(&["user", "set-password", id, "--password-file", "-"], &[], "short\n").bad(2);
    assert!(short.contains("password") && !short.contains("short"), "{short}");
    place.run_with(&["user", "set-password", id], &[], "").bad(2);
    assert!(place.run_with(&["user", "set-password", "bob@example.com"], &[], "x\n").bad(1).contains("bob"));

    let arguments =
        ["client", "create", "--name", "App", "--client-id", "app", "--redirect-uri", "https://a.example/cb"];
    let shown = place.run(&arguments).good();
    assert!(shown.contains("client_secret  "), "{shown}");
    place.run(&arguments).bad(1);
    place.run(&["client", "create", "--name", "Bad", "--redirect-uri", "not a url"]).bad(2);
    let clients = place.run(&["client", "list", "--json"]).json();
    assert_eq!((clients.as_array().unwrap().len(), &clients[0]["client_id"]), (1, &json!("app")));
    assert!(clients[0].get("client_secret").is_none());
    assert_eq!(place.run(&["client", "list", "--search", "nothing", "--json"]).json(), json!([]));

    place.run(&["issuer", "create", "acme", "--url", "https://acme.example"]).good();
    let issuers = place.run(&["issuer", "list"]).good();
    assert!(issuers.lines().any(|line| line == "acme     https://acme.example"), "{issuers}");
    assert_eq!(place.run(&["client", "list", "--issuer", "acme", "--json"]).json(), json!([]));
    assert!(place.run(&["keys", "list", "--issuer", "nobody"]).bad(1).contains("404"));
    place.run(&["keys", "list", "--issuer", "No Body"]).bad(2);
}

#[test]
fn commands_open_the_data_directory_where_nothing_holds_it() {
    everyday(&Place::new());
}

#[test]
fn commands_go_to_the_server_that_holds_the_data_directory() {
    let place = Place::new();
    let mut server = place.serve(&[]);
    everyday(&place);
    assert!(server.is_running());
    // It knows at once, not only at its next start.
    assert_eq!(place.admin("GET", "/clients/app", "").0, 200);
}

#[test]
fn what_the_server_did_is_there_without_it_and_in_the_audit_log() {
    let place = Place::new();
    let create = |id| {
        let arguments =
            ["client", "create", "--grant-type", "client_credentials", "--name", id, "--client-id", id];
        place.run(&arguments).good()
    };
    create("one");
    let server = place.serve(&[]);
    create("two");
    let (_, log) = place.admin("GET", "/audit-logs?event=client.created", "");
    assert!(log.to_string().contains("\"one\""), "{log}");
    drop(server);
    let clients = place.run(&["client", "list"]).good();
    assert!(clients.contains("one") && clients.contains("two"), "{clients}");
}

#[test]
fn mistakes_of_the_caller_end_with_2_and_the_rest_with_1() {
    let place = Place::new();
    for arguments in [
        &["frobnicate"][..],
        &["user"],
        &["user", "create", "--password", "seen by everybody"],
        &["keys", "revoke"],
        &["keys", "list", "--server", "ftp://x"],
        &["restore", "x", "--server", "http://127.0.0.1:1"],
    ] {
        place.run(arguments).bad(2);
    }
    assert!(
        place.run_with(&["keys", "list"], &[("SYMBOLON_LISTEN", "nonsense")], "").bad(2).contains("listen")
    );
    let named = [("SYMBOLON_MANAGEMENT_URL", "ftp://x")];
    assert!(place.run_with(&["keys", "list"], &named, "").bad(2).contains("ftp://x"));
    let unreachable = place.run(&["keys", "list", "--server", "http://127.0.0.1:1"]).bad(1);
    assert!(unreachable.contains("127.0.0.1:1"), "{unreachable}");
    let server = place.serve(&[]);
    let wrong = place
        .run_with(&["keys", "list"], &[("SYMBOLON_ADMIN_SECRET", "another-secret-of-the-tests")], "")
        .bad(1);
    assert!(wrong.contains("401"), "{wrong}");
    drop(server);
}

#[test]
fn a_flag_before_the_command_is_refused_as_it_would_be_of_no_effect() {
    let place = Place::new();
    for arguments in [
        &["--data-dir", "elsewhere", "serve"][..],
        &["--data-dir", "elsewhere", "client", "list"],
        &["--config", "nothing.toml", "config", "check"],
    ] {
        let told = place.run(arguments).bad(2);
        assert!(told.contains("cannot be used with"), "{told}");
    }
    assert!(!place.path("data").exists() && !place.path("elsewhere").exists());
}

#[test]
fn a_data_directory_of_a_newer_program_is_told_by_the_check_too() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    std::fs::write(place.path("data/format"), "99\n").unwrap();
    for arguments in [&["config", "check"][..], &["serve"]] {
        let told = place.run(arguments).bad(2);
        assert!(told.contains("data_dir = \"data\" (env SYMBOLON_DATA_DIR): has format 99"), "{told}");
    }
    // Beside every other mistake.
    let tls = ("SYMBOLON_MANAGEMENT_TLS_CERTIFICATE_FILE", "/nonexistent/a.pem");
    let key = ("SYMBOLON_MANAGEMENT_TLS_KEY_FILE", "/nonexistent/a.key");
    let told = place.run_with(&["config", "check"], &[tls, key], "").bad(2);
    assert!(told.contains("has format 99") && told.contains("management_tls.certificate_file"), "{told}");
    std::fs::remove_file(place.path("data/format")).unwrap();
    std::fs::create_dir(place.path("data/format")).unwrap();
    let told = place.run(&["config", "check"]).bad(2);
    assert!(told.contains("data_dir = \"data\"") && told.contains("data/format: "), "{told}");
}

#[test]
fn a_first_start_without_the_room_that_is_reserved_is_refused_by_its_key() {
    let place = Place::new();
    let huge = [("SYMBOLON_STORAGE_RESERVE", "1024GiB")];
    for arguments in [&["config", "check"][..], &["serve"]] {
        let told = place.run_with(arguments, &huge, "").bad(2);
        let named = "storage.reserve = \"1024GiB\" (env SYMBOLON_STORAGE_RESERVE): is more than what is free";
        assert!(told.contains(named) && told.contains("data_dir (") && told.contains("make room"), "{told}");
    }
    assert!(!place.path("data").exists());
    place.run(&["client", "list"]).good();
    place.run_with(&["config", "check"], &huge, "").good();
}

/// What root wrote, the service's user could not read.
#[test]
fn the_data_directory_of_somebody_else_is_left_alone() {
    let place = Place::new();
    place.run(&["client", "list"]).good();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let server = place.serve(&[]);
    std::os::unix::fs::chown(place.path("data"), Some(65_534), None).unwrap();
    // Its server can be asked all the same.
    place.run(&["client", "list"]).good();
    drop(server);
    for arguments in [&["client", "list"][..], &["serve"], &["serve", "--accept-clock"]] {
        let told = place.run(arguments).bad(1);
        let names_all = told.contains("data_dir") && told.contains("65534") && told.contains("setpriv");
        assert!(names_all, "{arguments:?}: {told}");
    }
    std::os::unix::fs::chown(place.path("data"), Some(0), None).unwrap();
    place.run(&["client", "list"]).good();
}

#[test]
fn what_weakens_is_said_when_the_configuration_is_taken_over_too() {
    let place = Place::new();
    let file = place.path("symbolon.toml");
    std::fs::write(&file, "test_endpoints = false\n").unwrap();
    let server = place.serve(&[("SYMBOLON_CONFIG", file.to_str().unwrap())]);
    std::fs::write(&file, "test_endpoints = true\n").unwrap();
    server.hang_up();
    server.wait_for_log("The test endpoints make sessions and tokens without a login");
    server.wait_for_log("the configuration was taken over");
}

/// At each start the log names the issuers, and whenever one is saved, the client, that ask for less than RFC 9700.
#[test]
fn a_pkce_setting_below_the_default_is_told_at_the_start_and_when_a_client_is_saved() {
    let place = Place::new();
    let client = |settings: &str| {
        let body = format!(
            r#"{{"client_name":"x","redirect_uris":["https://rp.example/cb"],"settings":{settings}}}"#
        );
        let (status, answer) = place.admin("POST", "/clients", &body);
        assert_eq!(status, 201, "{answer}");
        answer["client"]["client_id"].as_str().unwrap().to_owned()
    };
    let server = place.serve(&[]);
    let usual = client(r#"{"pkce":"or_nonce"}"#);
    let lax = client(r#"{"pkce":"optional"}"#);
    assert_eq!(place.admin("PATCH", "/settings", r#"{"pkce":"optional"}"#).0, 200);
    let log = server.into_log();
    let told = |log: &[String], parts: &[&str]| {
        log.iter().any(|line| line.contains("WARN") && parts.iter().all(|part| line.contains(part)))
    };
    assert!(told(&log, &["the client has pkce=optional", "http://issuer.test", &lax]), "{log:?}");
    assert!(!told(&log, &[&usual]), "{log:?}");
    assert!(told(&log, &["the issuer has pkce=optional", "http://issuer.test"]), "{log:?}");
    // A later start says it again, of the issuer and of its clients.
    let log = place.serve(&[]).into_log_with("clients have pkce=optional");
    assert!(told(&log, &["the issuer has pkce=optional", "http://issuer.test"]), "{log:?}");
    assert!(told(&log, &["clients have pkce=optional", "http://issuer.test", &lax]), "{log:?}");
    assert!(!told(&log, &[&usual]), "{log:?}");
}

/// An issuer of an earlier version stays at `required`, which keeps out applications that send a nonce alone: whoever looks for
/// the reason finds it in the log of the start.
#[test]
fn a_pkce_setting_above_the_default_is_told_at_the_start() {
    let place = Place::new();
    let server = place.serve(&[]);
    for settings in [r#"{"pkce":"required"}"#, r#"{"pkce":"or_nonce"}"#] {
        let body = format!(
            r#"{{"client_name":"x","redirect_uris":["https://rp.example/cb"],"settings":{settings}}}"#
        );
        assert_eq!(place.admin("POST", "/clients", &body).0, 201);
    }
    assert_eq!(place.admin("PATCH", "/settings", r#"{"require_pkce":true}"#).0, 200);
    let log = server.into_log();
    assert!(!log.iter().any(|line| line.contains("pkce=required")), "not told at the start: {log:?}");
    let log = place.serve(&[]).into_log_with("clients have pkce=required");
    let told = |parts: &[&str]| {
        log.iter().any(|line| line.contains("INFO") && parts.iter().all(|part| line.contains(part)))
    };
    assert!(told(&["the issuer has pkce=required", "http://issuer.test", "pkce=or_nonce"]), "{log:?}");
    assert!(told(&["clients have pkce=required", "http://issuer.test"]), "{log:?}");
}
