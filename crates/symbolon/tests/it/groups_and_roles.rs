//! `symbolon group`, `symbolon role`, `symbolon user groups` and `user roles`, with a server and without.

use serde_json::{Value, json};

use crate::place::Place;

/// Two users and two clients.
fn prepare(place: &Place) {
    for (id, email) in [("ann", "ann@example.com"), ("bob", "bob@example.com")] {
        let user = [
            "user",
            "create",
            "--no-password",
            "--id",
            id,
            "--email",
            email,
            "--username",
            &id.to_uppercase(),
        ];
        place.run(&user).good();
    }
    for (id, name) in [("wiki", "The wiki"), ("shop", "The shop")] {
        let client =
            ["client", "create", "--client-id", id, "--name", name, "--redirect-uri", "https://a.example/cb"];
        place.run(&client).good();
    }
}

fn json_of(place: &Place, arguments: &[&str]) -> Value {
    place.run(&[arguments, &["--json"]].concat()).json()
}

/// One member of each entry of a listing.
fn of_each(place: &Place, arguments: &[&str], member: &str) -> Vec<Value> {
    json_of(place, arguments).as_array().unwrap().iter().map(|entry| entry[member].clone()).collect()
}

fn groups(place: &Place) {
    let staff = json_of(place, &["group", "create", "Staff", "--description", "All of us"]);
    let id = staff["id"].as_str().unwrap();
    let shown = place.run(&["group", "create", "On call", "--id", "on-call", "--parent", "staff"]).good();
    assert!(shown.contains("/Staff/On call") && shown.contains(id), "{shown}");
    assert!(place.run(&["group", "create", "STAFF"]).bad(1).contains("name"));
    assert!(
        place.run(&["group", "create", "x", "--parent", "nothing"]).bad(1).contains("no group \"nothing\"")
    );
    assert_eq!(of_each(place, &["group", "list"], "name"), [json!("On call"), json!("Staff")]);
    assert_eq!(of_each(place, &["group", "list", "--topmost"], "name"), [json!("Staff")]);
    assert_eq!(of_each(place, &["group", "list", "--below", id], "name"), [json!("On call")]);
    assert_eq!(of_each(place, &["group", "list", "--search", "CALL"], "id"), [json!("on-call")]);
    let cut = place.run(&["group", "list", "--limit", "1"]);
    assert!(cut.error.contains("there are more"), "{}", cut.error);
    assert_eq!(json_of(place, &["group", "show", "ON CALL"])["path"], "/Staff/On call");
    let table = place.run(&["group", "list"]).good();
    assert!(table.starts_with("ID ") && table.contains("All of us"), "{table}");

    let told = place.run(&["group", "add", "on call", "ann@example.com", "BOB"]).good();
    assert_eq!(told, "ann is in On call (on-call)\nbob is in On call (on-call)\n");
    let again = json_of(place, &["group", "add", "on-call", "ann"]);
    assert_eq!(again, json!({ "group_id": "on-call", "user_ids": ["ann"] }), "as often as one likes");
    assert_eq!(of_each(place, &["group", "members", "on-call"], "id"), [json!("ann"), json!("bob")]);
    assert_eq!(of_each(place, &["group", "members", "on-call", "--search", "bob@"], "id"), [json!("bob")]);
    // A misspelt user leaves everything as it was.
    assert!(place.run(&["group", "remove", "on-call", "ann", "bbo"]).bad(1).contains("no user \"bbo\""));
    place.run(&["group", "remove", "on-call", "bob"]).good();
    let gone = place.run(&["group", "remove", "on-call", "bob"]).bad(1);
    assert!(gone.contains("bob: ") && gone.contains("not in this group"), "{gone}");
    assert_eq!(of_each(place, &["group", "members", "on-call"], "id"), [json!("ann")]);
    let held = json_of(place, &["user", "groups", "ann"]);
    let direct: Vec<(&Value, &Value)> =
        held.as_array().unwrap().iter().map(|group| (&group["name"], &group["direct"])).collect();
    assert_eq!(direct, [(&json!("On call"), &json!(true)), (&json!("Staff"), &json!(false))]);
    assert!(place.run(&["user", "groups", "ann"]).good().starts_with("ID "));

    let renamed = json_of(place, &["group", "update", "on-call", "--name", "Pager", "--topmost"]);
    assert_eq!((&renamed["path"], renamed.get("parent_id")), (&json!("/Pager"), None));
    let moved = json_of(place, &["group", "update", "pager", "--parent", "Staff"]);
    assert_eq!(moved["path"], "/Staff/Pager");
    let circle = place.run(&["group", "update", "Staff", "--parent", "Pager"]).bad(2);
    assert!(circle.contains("below it"), "{circle}");
    let refused = place.run(&["group", "delete", "Staff"]).bad(1);
    assert!(refused.contains("groups below it"), "{refused}");
    for arguments in [
        &["group", "create"][..],
        &["group", "add", "Staff"],
        &["group", "update", "Staff"],
        &["group", "update", "Staff", "--parent", "x", "--topmost"],
    ] {
        place.run(arguments).bad(2);
    }
}

fn roles(place: &Place) {
    let own = json_of(place, &["role", "create", "Admin"])["id"].as_str().unwrap().to_owned();
    let of_wiki =
        json_of(place, &["role", "create", "Editor", "--client", "The wiki", "--description", "May write"]);
    assert_eq!(of_wiki["client_id"], "wiki");
    let of_wiki = of_wiki["id"].as_str().unwrap();
    for client in ["wiki", "shop"] {
        place
            .run(&["role", "create", "Admin", "--client", client, "--id", &format!("admin-{client}")])
            .good();
        place.run(&["role", "create", "Guest", "--client", client]).good();
    }
    assert!(place.run(&["role", "create", "admin"]).bad(1).contains("name"));
    assert_eq!(of_each(place, &["role", "list"], "id").len(), 6);
    assert_eq!(
        of_each(place, &["role", "list", "--client", "shop"], "client_id"),
        [json!("shop"), json!("shop")]
    );
    // The issuer's own role comes first; then the only client that has one.
    assert_eq!(json_of(place, &["role", "show", "ADMIN"])["id"], json!(own));
    assert_eq!(json_of(place, &["role", "show", "admin", "--client", "wiki"])["id"], "admin-wiki");
    assert_eq!(json_of(place, &["role", "show", "editor"])["id"], json!(of_wiki));
    let several = place.run(&["role", "show", "Guest"]).bad(2);
    assert!(several.contains("wiki") && several.contains("shop"), "{several}");
    assert!(place.run(&["role", "show", own.as_str(), "--client", "wiki"]).bad(1).contains("no role"));

    let told = place.run(&["role", "give", "Editor", "--user", "ann@example.com"]).good();
    assert_eq!(told, format!("ann has the role Editor ({of_wiki}) of the client wiki\n"));
    place.run(&["role", "give", "Admin", "--group", "staff"]).good();
    place.run(&["role", "give", "Admin", "--group", "staff"]).good();
    assert_eq!(of_each(place, &["role", "list", "--user", "ann"], "name"), [json!("Editor")]);
    assert_eq!(of_each(place, &["role", "list", "--group", "Staff"], "name"), [json!("Admin")]);
    place.run(&["role", "give", "Admin", "--user", "bob"]).good();
    assert_eq!(of_each(place, &["role", "holders", "Admin"], "kind"), [json!("group"), json!("user")]);
    assert_eq!(of_each(place, &["role", "holders", "Admin"], "name")[0], json!("Staff"));
    assert_eq!(of_each(place, &["role", "holders", "Editor"], "id"), [json!("ann")]);
    let one = place.run(&["role", "holders", "Admin", "--limit", "1"]);
    assert!(one.error.contains("there are more than these 1"), "{}", one.error);
    let table = one.good();
    assert!(table.contains("Staff") && !table.contains("bob"), "{table}");
    place.run(&["role", "take", "Admin", "--user", "bob"]).good();
    let held = json_of(place, &["user", "roles", "ANN"]);
    let direct: Vec<(&Value, &Value)> =
        held.as_array().unwrap().iter().map(|role| (&role["name"], &role["direct"])).collect();
    assert_eq!(direct, [(&json!("Admin"), &json!(false)), (&json!("Editor"), &json!(true))]);
    let table = place.run(&["user", "roles", "ann"]).good();
    assert!(table.lines().next().unwrap().ends_with("BY GROUPS"), "{table}");
    let taken = json_of(place, &["role", "take", "Editor", "--user", "ann"]);
    assert_eq!(taken, json!({ "role_id": of_wiki, "user_id": "ann" }));
    let again = place.run(&["role", "take", "Editor", "--user", "ann"]).bad(1);
    assert!(again.contains("not given this role"), "{again}");

    let renamed = json_of(place, &["role", "update", "Editor", "--name", "Writer"]);
    assert_eq!((&renamed["name"], &renamed["description"]), (&json!("Writer"), &json!("May write")));
    place.run(&["role", "delete", "Admin", "--yes"]).good();
    assert_eq!(of_each(place, &["user", "roles", "ann"], "name"), [] as [Value; 0]);
    for arguments in [
        &["role", "give", "Writer"][..],
        &["role", "give", "Writer", "--user", "ann", "--group", "Staff"],
        &["role", "update", "Writer"],
    ] {
        place.run(arguments).bad(2);
    }
    place.run(&["group", "delete", "Pager"]).good();
    assert_eq!(of_each(place, &["user", "groups", "ann"], "name"), [] as [Value; 0]);
}

#[test]
fn groups_and_roles_without_a_server() {
    let place = Place::new();
    prepare(&place);
    groups(&place);
    roles(&place);
}

#[test]
fn groups_and_roles_at_the_server() {
    let place = Place::new();
    prepare(&place);
    let mut server = place.serve(&[]);
    groups(&place);
    roles(&place);
    assert!(server.is_running());
}
