//! `symbolon user grants`, `end-grant`, `sign-out` and `authenticators`.

use serde_json::{Value, json};

use crate::place::Place;

fn listed(place: &Place) -> Vec<(Value, Value)> {
    let grants = place.run(&["user", "grants", "ann@example.com", "--json"]).json();
    let grants = grants.as_array().unwrap().iter();
    grants.map(|grant| (grant["client_id"].clone(), grant["refresh_tokens"].clone())).collect()
}

/// Two clients with a refresh token each.
fn begin(place: &Place, user: &str) {
    for client in ["mail", "shop"] {
        let line = json!({ "client_id": client, "user_id": user, "scope": "openid offline_access" });
        assert_eq!(place.admin("POST", "/refresh-tokens/bulk", &line.to_string()).0, 200);
    }
}

/// The same with a server and without.
fn end(place: &Place) {
    assert_eq!(listed(place), [(json!("mail"), json!(1)), (json!("shop"), json!(1))]);
    let table = place.run(&["user", "grants", "ann@example.com"]).good();
    assert!(table.lines().next().unwrap().starts_with("CLIENT"), "{table}");
    assert!(table.contains("Mail") && table.contains("openid offline_access"), "{table}");
    assert!(
        table.contains("20") && table.contains('T') && table.contains('Z'),
        "times as people read them: {table}"
    );

    let password = "correct horse battery\n";
    let set = place.run_with(&["user", "set-password", "ann@example.com"], &[], password).good();
    assert!(set.contains("2 clients with refresh tokens") && set.contains("user sign-out"), "{set}");

    for _ in 0..2 {
        place.run(&["user", "end-grant", "ann@example.com", "mail"]).good();
        assert_eq!(listed(place), [(json!("shop"), json!(1))]);
    }
    let out = place.run(&["user", "sign-out", "ann@example.com"]).good();
    assert!(out.contains("signed out everywhere"), "{out}");
    assert_eq!(listed(place), []);
    let set =
        place.run_with(&["user", "set-password", "ann@example.com", "--sign-out"], &[], password).good();
    assert!(!set.contains("refresh tokens"), "{set}");
    place.run(&["user", "end-grant", "ann@example.com", "--all"]).good();

    let none = place.run(&["user", "authenticators", "ann@example.com"]).good();
    assert!(none.contains("no passkeys") && none.contains("recovery codes: 0"), "{none}");
    let gone = place.run(&["user", "authenticators", "ann@example.com", "--remove", "all"]).good();
    assert!(gone.contains("removed from the authenticators"), "{gone}");
    let nothing =
        place.run(&["user", "authenticators", "ann@example.com", "--remove", "-key", "--remove", "totp"]);
    assert!(nothing.bad(1).contains("no such authenticator"));

    for arguments in [&["user", "grants", "nobody"], &["user", "sign-out", "nobody"]] {
        assert!(place.run(arguments).bad(1).contains("there is no user \"nobody\""));
    }
    for arguments in [&["user", "end-grant", "ann"][..], &["user", "end-grant", "ann", "mail", "--all"]] {
        place.run(arguments).bad(2);
    }
}

fn with_a_user(place: &Place) -> String {
    let made = place.run(&["user", "create", "--email", "ann@example.com", "--json"]).json();
    for (client, name) in [("mail", "Mail"), ("shop", "Shop")] {
        let grants = ["--grant-type", "authorization_code", "--grant-type", "refresh_token"];
        let client = [
            "client",
            "create",
            "--client-id",
            client,
            "--name",
            name,
            "--redirect-uri",
            "https://a.example/cb",
        ];
        place.run(&[&client[..], &grants, &["--scope", "openid offline_access"]].concat()).good();
    }
    made["id"].as_str().unwrap().to_owned()
}

#[test]
fn grants_are_ended_at_the_server() {
    let place = Place::new();
    let user = with_a_user(&place);
    let _server = place.serve(&[]);
    begin(&place, &user);
    end(&place);
}

#[test]
fn grants_are_ended_without_a_server() {
    let place = Place::new();
    let user = with_a_user(&place);
    let server = place.serve(&[]);
    begin(&place, &user);
    drop(server);
    end(&place);
}
