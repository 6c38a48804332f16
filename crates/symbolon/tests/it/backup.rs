use std::fs;

use serde_json::{Value, json};

use crate::place::Place;

const KEY: (&str, &str) =
    ("SYMBOLON_MASTER_KEY", "0000000000000000000000000000000000000000000000000000000000000001");

fn with_data(data: &str) -> [(&'static str, &str); 2] {
    [KEY, ("SYMBOLON_DATA_DIR", data)]
}

fn open_session(place: &Place, user: &str) {
    let (status, body) = place.admin("POST", "/test/sessions", &json!({ "user_id": user }).to_string());
    assert_eq!(status, 201, "{body}");
}

/// How many sessions are live: few enough for a few pieces of the list.
fn sessions(place: &Place) -> usize {
    let (mut count, mut path) = (0, "/sessions".to_owned());
    loop {
        let (status, body) = place.admin("GET", &path, "");
        assert_eq!(status, 200, "{body}");
        count += body["sessions"].as_array().unwrap().len();
        match body["next_cursor"].as_str() {
            Some(next) => path = format!("/sessions?cursor={next}"),
            None => return count,
        }
    }
}

#[test]
fn a_backup_of_a_running_server_is_restored_without_and_with_its_sessions() {
    let place = Place::new();
    let server = place.serve(&[KEY]);
    let user = place.run(&["user", "create", "--email", "ann@example.com", "--json"]).json();
    let id = user["id"].as_str().unwrap();
    open_session(&place, id);
    assert_eq!(sessions(&place), 1);
    let scope = "openid offline_access";
    let app = ["client", "create", "--name", "App", "--client-id", "app", "--scope", scope];
    let more = ["--redirect-uri", "https://a.example/cb", "--grant-type", "authorization_code"];
    place.run(&[&app[..], &more, &["--grant-type", "refresh_token"]].concat()).good();
    let family = json!({ "user_id": id, "client_id": "app", "scope": scope }).to_string();
    assert_eq!(place.admin("POST", "/refresh-tokens/bulk", &family).0, 200);
    let other = place.run(&["user", "create", "--email", "bob@example.com", "--json"]).json();
    // Whoever is deleted leaves a revocation.
    assert_eq!(place.admin("DELETE", &format!("/users/{}", other["id"].as_str().unwrap()), "").0, 204);
    let report = place.run(&["backup", "copy", "--json"]).json();
    assert!(report["records"].as_u64().unwrap() > 0 && report["bytes"].as_u64().unwrap() > 0);
    assert!(place.run(&["backup", "copy"]).bad(2).contains("not empty"));
    drop(server);

    let restore = |data: &str, more: &[&str]| {
        let arguments = [&["restore", "copy", "--json"], more].concat();
        place.run_with(&arguments, &with_data(data), "").json()
    };
    let without = restore("without", &[]);
    let counts = |restored: &Value| {
        let names = ["issuers", "users", "clients", "sessions", "families", "revocations"];
        names.map(|name| restored[name].as_u64().unwrap())
    };
    assert_eq!((counts(&without), without["epoch"].is_u64()), ([1, 1, 1, 0, 1, 1], true));
    let server = place.serve(&with_data("without"));
    assert_eq!(sessions(&place), 0);
    assert_eq!(place.admin("GET", &format!("/users/{}", user["id"].as_str().unwrap()), "").0, 200);
    drop(server);
    let with = restore("with", &["--keep-sessions"]);
    assert_eq!((counts(&with), &with["epoch"]), ([1, 1, 1, 1, 1, 1], &Value::Null));
    let _server = place.serve(&with_data("with"));
    assert_eq!(sessions(&place), 1);
}

/// The credentials of a back-end's client, as a form has them.
fn client(place: &Place) -> String {
    let arguments = ["client", "create", "--name", "Service", "--grant-type", "client_credentials"];
    let more = ["--auth-method", "client_secret_post", "--json"];
    let client = place.run(&[&arguments[..], &more].concat()).json();
    let member = |name: &str| client[name].as_str().unwrap().to_owned();
    format!("client_id={}&client_secret={}", member("client_id"), member("client_secret"))
}

fn token(place: &Place, client: &str) -> String {
    let (status, body) = place.form("/token", &format!("grant_type=client_credentials&{client}"));
    assert_eq!(status, 200, "{body}");
    body["access_token"].as_str().unwrap().to_owned()
}

fn is_active(place: &Place, client: &str, token: &str) -> bool {
    let (status, body) = place.form("/introspect", &format!("token={token}&{client}"));
    assert_eq!(status, 200, "{body}");
    body["active"].as_bool().unwrap()
}

#[test]
fn access_tokens_of_before_are_refused_and_new_ones_are_good_at_once() {
    let place = Place::new();
    let server = place.serve(&[KEY]);
    let client = client(&place);
    let before = token(&place, &client);
    assert!(is_active(&place, &client, &before));
    place.run(&["backup", "copy"]).good();
    let meanwhile = token(&place, &client);
    drop(server);
    place.run_with(&["restore", "copy"], &with_data("new"), "").good();
    let server = place.serve(&with_data("new"));
    assert!(!is_active(&place, &client, &before));
    assert!(!is_active(&place, &client, &meanwhile));
    assert!(is_active(&place, &client, &token(&place, &client)));
    drop(server);
    place.run_with(&["restore", "copy", "--keep-sessions"], &with_data("kept"), "").good();
    let _server = place.serve(&with_data("kept"));
    assert!(is_active(&place, &client, &before));
}

#[test]
fn what_cannot_be_restored_is_named_and_nothing_is_made() {
    let place = Place::new();
    place.run(&["backup", "copy"]).good();
    assert!(place.run(&["restore", "copy"]).bad(1).contains("data"), "there is a data directory already");
    let key = ("SYMBOLON_MASTER_KEY", "0000000000000000000000000000000000000000000000000000000000000002");
    let told = place.run_with(&["restore", "copy", "--data-dir", "other"], &[key], "").bad(2);
    assert!(told.contains("master_key (env SYMBOLON_MASTER_KEY)") && told.contains("sealed under"), "{told}");
    assert_eq!(fs::read_dir(place.path("copy")).unwrap().count(), 4, "nothing is left beside the backup");
    let journal = place.path("copy/journal.records");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[30] ^= 1;
    fs::write(&journal, bytes).unwrap();
    let damaged = place.run(&["restore", "copy", "--data-dir", "other"]).bad(1);
    assert!(damaged.contains("journal.records"), "{damaged}");
    assert!(!place.path("other").exists());
    fs::create_dir(place.path("empty")).unwrap();
    for none in ["nowhere", "empty"] {
        let told = place.run(&["restore", none, "--data-dir", "other"]).bad(1);
        assert!(
            told.contains(&format!("{none} is no backup")) && told.contains("`symbolon backup`"),
            "{told}"
        );
    }
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let place = Place::new();
    place.run(&["client", "list"]).good();
    for entry in fs::read_dir(place.path("data")).unwrap().map(Result::unwrap) {
        if entry.file_name().to_str().unwrap().starts_with("symbolon.db") {
            fs::write(entry.path(), "this is no database, whatever its name says").unwrap();
        }
    }
    let told = place.run(&["client", "list"]).bad(1);
    assert!(told.contains("data/symbolon.db is no database") && told.contains("restore a backup"), "{told}");
}
