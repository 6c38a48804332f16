//! `symbolon invitation`, with a server and without.

use serde_json::{Value, json};

use crate::place::Place;

fn listed(place: &Place, more: &[&str]) -> Vec<Value> {
    let all = place.run(&[&["invitation", "list", "--json"][..], more].concat()).json();
    all.as_array().unwrap().clone()
}

fn create(place: &Place, address: &str) -> String {
    let made = place.run(&["invitation", "create", address, "--print-link", "--json"]).json();
    assert!(made["link"].as_str().unwrap().contains("/register?invitation="), "{made}");
    made["invitation"]["id"].as_str().unwrap().to_owned()
}

fn all(place: &Place) {
    assert!(listed(place, &[]).is_empty());
    let group = place.run(&["group", "create", "staff", "--json"]).json()["id"].clone();
    let first =
        place.run(&["invitation", "create", "ann@example.com", "--group", "staff", "--print-link"]).good();
    assert!(first.contains("ann@example.com") && first.contains("/register?invitation="), "{first}");
    let bob = create(place, "bob@example.com");
    let told = listed(place, &[]);
    assert_eq!(told.len(), 2);
    let ann = told.iter().find(|one| one["email"] == "ann@example.com").unwrap();
    assert_eq!(
        (&ann["groups"], &ann["made_by"], &ann["used_at"]),
        (&json!([group]), &json!("admin"), &Value::Null)
    );
    let table = place.run(&["invitation", "list"]).good();
    assert!(table.starts_with("ID ") && table.contains("bob@example.com") && table.contains(&bob), "{table}");
    assert!(!table.contains("/register"), "the link is told once: {table}");
    assert_eq!(listed(place, &["--search", "BOB"]).len(), 1);
    let cut = place.run(&["invitation", "list", "--limit", "1"]);
    assert!(cut.error.contains("there are more"), "{}", cut.error);

    let told = place.run(&["invitation", "delete", &bob]).good();
    assert!(told.contains(&bob) && told.contains("is withdrawn"), "{told}");
    assert!(place.run(&["invitation", "delete", &bob]).bad(1).contains("no such invitation"));
    assert_eq!(listed(place, &[]).len(), 1);
    // What the commands were called before.
    let made = place.run(&["user", "invite", "cid@example.com", "--print-link", "--json"]).json();
    let cid = made["invitation"]["id"].as_str().unwrap();
    place.run(&["user", "withdraw-invitation", cid]).good();
    assert!(!place.run(&["user", "--help"]).good().contains("invite"), "they are not offered any more");
    place.run(&["invitation", "create"]).bad(2);
}

const INVITED: &str = r#"{"registration":"invited"}"#;

#[test]
fn invitations_at_the_server() {
    let place = Place::new();
    let _server = place.serve(&[]);
    assert_eq!(place.admin("PATCH", "/settings", INVITED).0, 200);
    all(&place);
}

#[test]
fn invitations_without_a_server() {
    let place = Place::new();
    let mut server = place.serve(&[]);
    assert_eq!(place.admin("PATCH", "/settings", INVITED).0, 200);
    server.terminate();
    assert_eq!(server.ended(), Some(0));
    all(&place);
}
