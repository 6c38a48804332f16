//! `symbolon user`: every command on a user's record, with a server and without.

use serde_json::{Value, json};

use crate::place::Place;

fn create(place: &Place, more: &[&str]) -> String {
    let made = place.run(&[&["user", "create", "--no-password", "--json"][..], more].concat()).json();
    made["id"].as_str().unwrap().to_owned()
}

fn shown(place: &Place, name: &str) -> Value {
    place.run(&["user", "show", name, "--json"]).json()
}

fn is_shown_and_changed(place: &Place) {
    let id = create(place, &["--email", "ann@example.com", "--username", "Ann", "--set", "locale=de-AT"]);
    for name in [&*id, "ann@example.com", "ANN@example.com", "ann", "Ann"] {
        assert_eq!(shown(place, name)["id"], *id, "{name}");
    }
    let table = place.run(&["user", "show", "ann"]).good();
    assert!(table.starts_with("id ") && table.contains("locale") && table.contains("de-AT"), "{table}");

    let changed = place.run(&[
        "user",
        "update",
        "ann",
        "--name",
        "Ann Lee",
        "--email-verified",
        "--set",
        "address.country=AT",
        "--json",
    ]);
    let changed = changed.json();
    assert_eq!((&changed["name"], &changed["email_verified"]), (&json!("Ann Lee"), &json!(true)));
    assert_eq!((&changed["address"]["country"], &changed["locale"]), (&json!("AT"), &json!("de-AT")));
    let table =
        place.run(&["user", "update", "ann", "--email-verified=false", "--set", "address=null"]).good();
    let verified = table.lines().find(|line| line.starts_with("email_verified ")).unwrap();
    assert!(verified.ends_with(" false") && !table.contains("address"), "{table}");
    assert!(place.run(&["user", "update", "ann"]).bad(2).contains("nothing to change"));
    assert!(
        place
            .run(&["user", "update", "ann", "--set", "password=correct horse"])
            .bad(2)
            .contains("never given")
    );
    assert!(place.run(&["user", "update", "ann", "--email", "nonsense"]).bad(2).contains("email"));
    let set = place.run_with(&["user", "password", "ann"], &[], "correct horse battery\n").good();
    assert!(set.contains(&id), "also by its short name: {set}");
}

fn has_attributes(place: &Place) {
    place.run(&["attribute", "set", "number", "--type", "string", "--unique", "--scope", "work"]).good();
    let defined =
        place.run(&["attribute", "set", "team", "--type", "list", "--pattern", "[a-z]+", "--json"]).json();
    assert_eq!((&defined["name"], &defined["pattern"]), (&json!("team"), &json!("[a-z]+")));
    let table = place.run(&["attribute", "list"]).good();
    assert!(table.starts_with("NAME ") && table.contains("number") && table.contains("work"), "{table}");
    assert!(place.run(&["attribute", "set", "sub", "--type", "string"]).bad(2).contains("attributes.sub"));

    create(place, &["--username", "eve", "--attribute", "number=12", "--attribute", "team=[\"a\"]"]);
    assert_eq!(shown(place, "eve")["attributes"], json!({ "number": "12", "team": ["a"] }));
    let by_number = |number: &str| place.run(&["user", "list", "--attribute", number, "--json"]).json();
    assert_eq!(by_number("number=12").as_array().unwrap().len(), 1);
    assert_eq!(by_number("number=12")[0]["preferred_username"], "eve");
    assert_eq!(by_number("number=13"), json!([]));
    place.run(&["user", "list", "--attribute", "number"]).bad(2);
    let taken = place.run(&["user", "update", "ann", "--attribute", "number=12"]).bad(1);
    assert!(taken.contains("attributes.number is unique"), "{taken}");
    assert!(
        place
            .run(&["user", "update", "eve", "--attribute", "team=[\"A\"]"])
            .bad(2)
            .contains("attributes.team")
    );
    let table = place.run(&["user", "update", "eve", "--attribute", "team=null"]).good();
    assert!(table.contains("attributes.number") && !table.contains("team"), "{table}");

    let told = place.run(&["attribute", "remove", "team", "--yes"]).good();
    assert!(told.contains("team is removed"), "{told}");
    assert!(place.run(&["attribute", "remove", "team", "--yes"]).bad(1).contains("no such attribute"));
    place.run(&["user", "delete", "eve", "--yes"]).good();
}

fn is_listed(place: &Place) {
    create(place, &["--email", "bob@example.com", "--name", "Bob"]);
    let table = place.run(&["user", "list"]).good();
    assert!(
        table.starts_with("ID ") && table.contains("bob@example.com") && table.contains("Ann Lee"),
        "{table}"
    );
    let found = place.run(&["user", "list", "--search", "BOB", "--json"]).json();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["name"]), (1, &json!("Bob")));
    // A part of the users is never taken for all of them.
    let cut = place.run(&["user", "list", "--limit", "1", "--json"]);
    assert!(cut.error.contains("more than these 1") && cut.error.contains("--limit"), "{}", cut.error);
    assert_eq!(cut.json().as_array().unwrap().len(), 1);
    let all = place.run(&["user", "list", "--limit", "0", "--json"]);
    assert_eq!(all.error, "");
    assert_eq!(all.json().as_array().unwrap().len(), 2);
    place.run(&["user", "list", "--limit", "-1"]).bad(2);
}

fn is_found_without_doubt(place: &Place) {
    let first = create(place, &["--email", "t1@example.com", "--username", "twin"]);
    let second = create(place, &["--email", "t2@example.com", "--username", "Twin"]);
    let told = place.run(&["user", "delete", "TWIN"]).bad(2);
    assert!(told.contains(&first) && told.contains(&second) && told.contains("t2@example.com"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    // A user name that is another's address or id leads to both, or to the id.
    let evil = create(place, &["--username", "t1@example.com"]);
    let told = place.run(&["user", "disable", "t1@example.com"]).bad(2);
    assert!(told.contains(&first) && told.contains(&evil), "{told}");
    place.run(&["user", "update", &evil, "--username", &first]).good();
    assert_eq!(shown(place, &first)["email"], "t1@example.com");
    for verb in ["show", "delete", "disable", "enable", "grants", "sign-out"] {
        let told = place.run(&["user", verb, "nobody@example.com"]).bad(1);
        assert!(told.contains("no user \"nobody@example.com\"") && told.contains("user list"), "{told}");
        assert!(place.run(&["user", verb, ""]).bad(2).contains("empty"), "{verb}");
    }
    for id in [first, second, evil] {
        place.run(&["user", "delete", &id]).good();
    }
}

fn has_identities(place: &Place) {
    assert_eq!(place.run(&["user", "identities", "ann", "--json"]).json(), json!([]));
    let told = place.run(&["user", "identities", "ann"]).good();
    assert!(told.starts_with("ID ") && told.lines().count() == 1, "{told}");
    let told = place.run(&["user", "identities", "ann", "--remove", "google"]).bad(1);
    assert!(told.contains("no identity \"google\""), "{told}");
}

fn is_disabled_and_deleted(place: &Place) {
    let told = place.run(&["user", "disable", "ann"]).good();
    assert!(told.contains("(ann@example.com) is disabled"), "{told}");
    assert_eq!(shown(place, "ann")["active"], false);
    let told = place.run(&["user", "enable", "ann"]).good();
    assert!(told.contains("may sign in again"), "{told}");
    assert_eq!(shown(place, "ann")["active"], true);
    let id = shown(place, "ann")["id"].clone();
    assert_eq!(
        place.run(&["user", "delete", "ann@example.com", "--yes", "--json"]).json(),
        json!({ "id": id })
    );
    place.run(&["user", "show", "ann"]).bad(1);
    let told = place.run(&["user", "delete", "bob@example.com"]).good();
    assert!(told.ends_with("(bob@example.com) is deleted\n"), "{told}");
}

fn all(place: &Place) {
    is_shown_and_changed(place);
    has_attributes(place);
    is_listed(place);
    is_found_without_doubt(place);
    has_identities(place);
    is_disabled_and_deleted(place);
}

#[test]
fn users_are_managed_at_the_server() {
    let place = Place::new();
    let _server = place.serve(&[]);
    all(&place);
}

#[test]
fn users_are_managed_without_a_server() {
    all(&Place::new());
}
