//! `symbolon client`: every command, with a server and without.

use serde_json::{Value, json};

use crate::place::Place;

/// Registers a client that gets tokens for itself; its secret.
fn register(place: &Place, id: &str, name: &str) -> String {
    let made = place.run(&[
        "client",
        "create",
        "--client-id",
        id,
        "--name",
        name,
        "--grant-type",
        "client_credentials",
        "--json",
    ]);
    made.json()["client_secret"].as_str().unwrap().to_owned()
}

fn shows_and_changes(place: &Place) {
    register(place, "app", "App");
    let shown = place.run(&["client", "show", "app"]).good();
    assert!(shown.starts_with("client_id "), "{shown}");
    for wanted in ["client_name ", "App", "client_credentials", "created_at ", "20"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(!shown.contains("client_secret "), "{shown}");

    let changed = place.run(&[
        "client",
        "update",
        "App",
        "--name",
        "Application",
        "--grant-type",
        "authorization_code",
        "--redirect-uri",
        "https://a.example/cb",
        "--redirect-uri",
        "https://b.example/cb",
        "--set",
        "settings.access_token_lifetime=600",
        "--set",
        "policy_uri=https://a.example/policy",
        "--json",
    ]);
    let changed = changed.json();
    assert_eq!(changed["client_name"], "Application");
    assert_eq!(changed["redirect_uris"], json!(["https://a.example/cb", "https://b.example/cb"]));
    assert_eq!(changed["settings"]["access_token_lifetime"], 600);
    assert_eq!(changed["policy_uri"], "https://a.example/policy");
    assert!(changed.get("client_secret").is_none(), "the secret stays");
    let table = place.run(&["client", "update", "app", "--set", "policy_uri=null"]).good();
    assert!(table.contains("settings.access_token_lifetime") && !table.contains("policy_uri"), "{table}");

    assert!(place.run(&["client", "update", "app"]).bad(2).contains("nothing to change"));
    let refused = place.run(&["client", "update", "app", "--set", "settings.code_lifetime=99999"]).bad(2);
    assert!(refused.contains("settings.code_lifetime"), "{refused}");
    let refused = place.run(&["client", "update", "app", "--set", "client_secret=x"]).bad(2);
    assert!(refused.contains("never given on the command line"), "{refused}");
    let shown = place.run(&["client", "show", "app", "--json"]).json();
    assert_eq!(
        (&shown["client_name"], &shown["settings"]["code_lifetime"]),
        (&json!("Application"), &Value::Null)
    );
}

fn is_named_by_id_or_name(place: &Place) {
    register(place, "one", "Twin");
    register(place, "two", "Twin");
    register(place, "three", "one");
    let both = place.run(&["client", "show", "Twin"]).bad(2);
    assert!(
        both.contains("one (Twin)") && both.contains("two (Twin)") && both.contains("give the id"),
        "{both}"
    );
    assert_eq!(both.lines().count(), 1, "{both}");
    assert!(place.run(&["client", "delete", "twin"]).bad(2).contains("2 clients"), "whatever the case");
    // An id comes before a name, so that each can be reached.
    assert_eq!(place.run(&["client", "show", "one", "--json"]).json()["client_id"], "one");
    for verb in ["show", "delete", "new-secret"] {
        let told = place.run(&["client", verb, "nobody"]).bad(1);
        assert!(told.contains("there is no client \"nobody\"") && told.contains("client list"), "{told}");
        assert!(place.run(&["client", verb, " "]).bad(2).contains("empty"));
    }
    let elsewhere = place.run(&["client", "show", "one", "--issuer", "nobody"]).bad(1);
    assert!(elsewhere.contains("no such issuer") && elsewhere.contains("issuer list"), "{elsewhere}");
}

fn is_deleted(place: &Place) {
    let told = place.run(&["client", "delete", "two"]).good();
    assert_eq!(told, "two (Twin) is deleted\n");
    assert_eq!(
        place.run(&["client", "delete", "Twin", "--yes", "--json"]).json(),
        json!({ "client_id": "one" })
    );
    place.run(&["client", "show", "Twin"]).bad(1);
}

fn all(place: &Place) {
    shows_and_changes(place);
    is_named_by_id_or_name(place);
    is_deleted(place);
}

#[test]
fn clients_are_managed_at_the_server() {
    let place = Place::new();
    let _server = place.serve(&[]);
    all(&place);
}

#[test]
fn clients_are_managed_without_a_server() {
    all(&Place::new());
}

#[test]
fn a_new_secret_replaces_the_old_one_at_the_token_endpoint() {
    let place = Place::new();
    let _server = place.serve(&[]);
    let old = register(&place, "app", "App");
    let token = |secret: &str| {
        let form = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
        place.form("/token", &form).0
    };
    assert_eq!(token(&old), 200);
    let told = place.run(&["client", "new-secret", "App"]).good();
    let new = told.lines().find_map(|line| line.strip_prefix("client_secret")).unwrap().trim().to_owned();
    assert!(told.contains("shown this once") && told.contains("The old secret ends at once."), "{told}");
    assert_eq!((token(&new), token(&old)), (200, 401));
    place
        .run(&[
            "client",
            "create",
            "--name",
            "Page",
            "--client-id",
            "page",
            "--auth-method",
            "none",
            "--redirect-uri",
            "https://a.example/cb",
        ])
        .good();
    let refused = place.run(&["client", "new-secret", "page"]).bad(2);
    assert!(refused.contains("token_endpoint_auth_method"), "{refused}");
}

#[test]
fn an_old_secret_goes_on_beside_the_new_one_for_as_long_as_is_said() {
    let place = Place::new();
    let _server = place.serve(&[]);
    let old = register(&place, "app", "App");
    let token = |secret: &str| {
        let form = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
        place.form("/token", &form).0
    };
    let told = place.run(&["client", "new-secret", "app", "--keep-old", "1h"]).good();
    let new = told.lines().find_map(|line| line.strip_prefix("client_secret ")).unwrap().trim().to_owned();
    assert!(told.contains("The old secret is accepted until 20"), "{told}");
    assert_eq!((token(&new), token(&old)), (200, 200));
    let secrets = place.run(&["client", "show", "app", "--json"]).json()["client_secrets"].clone();
    let (created, end) =
        (secrets[0]["created_at"].as_u64().unwrap(), secrets[1]["expires_at"].as_u64().unwrap());
    assert_eq!((end - created, secrets.as_array().unwrap().len()), (3_600_000, 2), "{secrets}");
    let shown = place.run(&["client", "show", "app"]).good();
    let line = shown.lines().find(|line| line.starts_with("client_secrets ")).unwrap();
    assert!(line.contains("(created 20") && line.contains(", ends 20"), "{line}");
    // Of two that are alive the older one ends.
    let told = place.run(&["client", "new-secret", "app", "--keep-old", "90"]).good();
    assert!(told.contains("accepted until"), "{told}");
    assert_eq!((token(&new), token(&old)), (200, 401), "two are alive at most");
    for bad in ["soon", "31d", "1500ms"] {
        let refused = place.run(&["client", "new-secret", "app", "--keep-old", bad]).bad(2);
        assert!(refused.contains(bad) && refused.contains("--keep-old"), "{refused}");
    }
    assert_eq!(token(&new), 200, "nothing changed");
}

fn warns(place: &Place) {
    let create = ["client", "create", "--client-id", "moved", "--metadata", "-"];
    let metadata = r#"{"client_name":"Moved in","grant_types":["client_credentials"],"client_secret":"kT4w-9xQ.v7Zb2Lr"}"#;
    let made = place.run_with(&create, &[], metadata);
    assert_eq!(made.code, 0, "{}{}", made.out, made.error);
    assert!(made.error.contains("symbolon: warning: client_secret has 16 characters"), "{}", made.error);
    assert!(!made.error.contains("kT4w"), "{}", made.error);
    let allow = [
        "client",
        "update",
        "moved",
        "--redirect-uri-form",
        "http_private_host",
        "--redirect-uri",
        "http://10.0.0.5/cb",
        "--json",
    ];
    let allowed = place.run(&allow);
    assert!(
        allowed.error.contains("symbolon: warning: redirect_uri_forms allows http_private_host"),
        "{}",
        allowed.error
    );
    assert_eq!(allowed.json()["redirect_uri_forms"], json!(["http_private_host"]));
    let plain = place.run(&["client", "create", "--name", "x", "--grant-type", "client_credentials"]);
    assert!(!plain.error.contains("warning"), "{}", plain.error);
    plain.good();
}

#[test]
fn what_is_accepted_although_it_is_weak_is_warned_of() {
    warns(&Place::new());
    let place = Place::new();
    let server = place.serve(&[]);
    warns(&place);
    // The log of the server has each as a line of its own, which names the client.
    let log = server.into_log();
    for warned in ["client_secret has 16 characters", "redirect_uri_forms allows http_private_host"] {
        let lines = log.iter().filter(|line| line.contains("WARN") && line.contains(warned));
        let lines: Vec<&String> = lines.filter(|line| line.contains("moved")).collect();
        assert_eq!(lines.len(), 1, "{warned}: {log:?}");
    }
    assert!(!log.iter().any(|line| line.contains("kT4w")), "{log:?}");
}

#[test]
fn a_server_that_is_not_there_is_told_in_a_line_with_what_mends_it() {
    let place = Place::new();
    let told = place.run(&["client", "show", "app", "--server", "http://127.0.0.1:1"]).bad(1);
    assert_eq!(told.lines().count(), 1, "{told}");
    for wanted in ["127.0.0.1:1", "does the server run", "management_listen", "--server"] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}
