use std::fs;

use crate::place::{Place, text};

fn new_key(place: &Place, name: &str, byte: &str) -> String {
    let path = place.path(name);
    fs::write(&path, byte.repeat(32)).unwrap();
    text(&path).to_owned()
}

#[test]
fn keys_are_rotated_and_revoked() {
    let place = Place::new();
    let before = place.run(&["keys", "list", "--json"]).json();
    let active = |keys: &serde_json::Value| {
        let found = keys.as_array().unwrap().iter().find(|key| key["state"] == "active").unwrap();
        found["kid"].as_str().unwrap().to_owned()
    };
    let first = active(&before);
    let rotated = place.run(&["keys", "rotate", "--json"]).json();
    assert_ne!(active(&rotated), first);
    let revoked = place.run(&["keys", "revoke", &first, "--reason", "leaked", "--json"]).json();
    let gone = revoked.as_array().unwrap().iter().find(|key| key["kid"] == first.as_str()).unwrap();
    assert_eq!((&gone["state"], &gone["reason"]), (&"revoked".into(), &"leaked".into()));
    assert!(place.run(&["keys", "revoke", "nonesuch"]).bad(1).contains("404"));
    place.run(&["keys", "rotate", "--algorithm", "HS256"]).bad(2);
}

#[test]
fn the_master_key_beside_the_data_is_replaced() {
    let place = Place::new();
    let key = new_key(&place, "new.key", "ab");
    let before = place.run(&["keys", "list"]).good();
    place.run(&["keys", "rewrap", "--new-master-key-file", &key]).good();
    assert_eq!(fs::read_to_string(place.path("data/master.key")).unwrap(), "ab".repeat(32));
    // The next key may have been made meanwhile; every key of before is still readable.
    let after = place.run(&["keys", "list"]).good();
    assert!(before.lines().skip(1).all(|key| after.contains(key)), "{before}{after}");
    // The same again does no harm.
    place.run(&["keys", "rewrap", "--new-master-key-file", &key]).good();
    drop(place.serve(&[]));
}

#[test]
fn a_running_server_goes_on_under_the_new_master_key_and_the_old_one_opens_nothing() {
    let place = Place::new();
    let (old, new) = (new_key(&place, "old.key", "01"), new_key(&place, "new.key", "02"));
    let server = place.serve(&[("SYMBOLON_MASTER_KEY_FILE", &old)]);
    place.run(&["issuer", "create", "acme", "--url", "https://acme.example"]).good();
    let told = place.run(&["keys", "rewrap", "--new-master-key-file", &new]).good();
    assert!(told.contains("issuers     2"), "{told}");
    place.run(&["keys", "rotate"]).good();
    place.run(&["keys", "rotate", "--issuer", "acme"]).good();
    drop(server);
    let with = |key: &str| place.run_with(&["keys", "list"], &[("SYMBOLON_MASTER_KEY_FILE", key)], "");
    let file = [("SYMBOLON_MASTER_KEY_FILE", &*old)];
    for command in [&["keys", "list"][..], &["serve"], &["config", "check"]] {
        let told = place.run_with(command, &file, "").bad(2);
        let named = format!("master_key_file = {old:?} (env SYMBOLON_MASTER_KEY_FILE): is not the right one");
        assert!(told.contains(&named) && told.contains("sealed under the master key"), "{command:?}: {told}");
    }
    with(&new).good();
    place.run_with(&["config", "check"], &[("SYMBOLON_MASTER_KEY_FILE", &new)], "").good();
    // And without any: it is asked for, not made.
    let missing = place.run(&["keys", "list"]).bad(1);
    assert!(missing.contains("master.key") && !place.path("data/master.key").exists(), "{missing}");
}

#[test]
fn a_file_that_is_no_key_changes_nothing() {
    let place = Place::new();
    place.run(&["keys", "list"]).good();
    let before = fs::read(place.path("data/master.key")).unwrap();
    fs::write(place.path("bad.key"), "too short").unwrap();
    place.run(&["keys", "rewrap", "--new-master-key-file", text(&place.path("bad.key"))]).bad(2);
    place.run(&["keys", "rewrap", "--new-master-key-file", "/nonexistent"]).bad(1);
    fs::write(place.path("raw.key"), [0xff; 32]).unwrap();
    let told = place.run(&["keys", "rewrap", "--new-master-key-file", text(&place.path("raw.key"))]);
    assert!(told.error.contains("64 hexadecimal digits"), "{}", told.error);
    fs::write(place.path("data/master.key"), "ab".repeat(32)).unwrap();
    let told = place.run(&["config", "check"]).bad(2);
    assert!(told.contains("data_dir = \"data\"") && told.contains("has a master.key that is not"), "{told}");
    fs::write(place.path("data/master.key"), &before).unwrap();
    assert_eq!(fs::read(place.path("data/master.key")).unwrap(), before);
    assert!(!place.path("data/master.key.new").exists());
    place.run(&["keys", "list"]).good();
}
