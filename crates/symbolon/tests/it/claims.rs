//! `symbolon claim`, with a server and without.

use serde_json::json;

use crate::place::Place;

fn claims(place: &Place) {
    place.run(&["user", "create", "--no-password", "--id", "ann", "--email", "ann@example.com"]).good();
    let client = [
        "client",
        "create",
        "--client-id",
        "wiki",
        "--name",
        "Wiki",
        "--redirect-uri",
        "https://a.example/cb",
    ];
    place.run(&client).good();

    let set = ["claim", "set", "https://x.example/mail", "--source", "email", "--scope", "email"];
    let told = place.run(&set).good();
    assert!(told.contains("https://x.example/mail") && told.contains("id_token userinfo"), "{told}");
    place
        .run(&["claim", "set", "size", "--expression", "size(groups)", "--destination", "introspection"])
        .good();
    place.run(&["claim", "set", "https://x.example/mail", "--source", "email", "--form", "list"]).good();
    let listed = place.run(&["claim", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["form"], listed[0].get("scope")), (&json!("list"), None));

    place.run(&["claim", "set", "size", "--client", "Wiki", "--off"]).good();
    place.run(&["claim", "set", "own", "--client", "wiki", "--value", "7"]).good();
    let of_client = place.run(&["claim", "list", "--client", "wiki"]).good();
    assert!(of_client.contains("(off)") && !of_client.contains("https://x.example/mail"), "{of_client}");

    let test = |name: &str| {
        place.run(&["claim", "test", name, "--client", "wiki", "--user", "ann@example.com", "--json"]).json()
    };
    assert_eq!(test("https://x.example/mail")["id_token"], json!(["ann@example.com"]));
    assert_eq!(
        test("own"),
        json!({ "id_token": 7, "access_token": null, "userinfo": 7, "introspection": null, "failures": [] })
    );
    assert!(test("size")["introspection"].is_null(), "switched off for this client");
    let preview = ["client", "preview", "Wiki", "--user", "ann@example.com"];
    let whole = place.run(&[&preview[..], &["--json"]].concat()).json();
    assert_eq!((&whole["id_token"]["sub"], &whole["id_token"]["own"]), (&json!("ann"), &json!(7)));
    let shown = place.run(&preview).good();
    assert!(shown.lines().any(|line| line.starts_with("id_token.own ") && line.ends_with(" 7")), "{shown}");
    let beyond = place.run(&[&preview[..], &["--scope", "nothing-of-it"]].concat()).bad(2);
    assert!(beyond.contains("registered nothing of this scope"), "{beyond}");

    assert!(place.run(&["claim", "set", "sub", "--value", "x"]).bad(2).contains("reserved"));
    let slow = ["claim", "set", "slow", "--expression", "groups.map(g, groups)"];
    assert!(place.run(&slow).bad(2).contains("steps"));
    assert!(place.run(&["claim", "remove", "own"]).bad(1).contains("no claim own"), "it is the client's");
    place.run(&["claim", "remove", "own", "--client", "wiki"]).good();
    place.run(&["claim", "remove", "size"]).good();
    assert_eq!(place.run(&["claim", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn claims_without_a_server() {
    claims(&Place::new());
}

#[test]
fn claims_at_the_server() {
    let place = Place::new();
    let mut server = place.serve(&[]);
    claims(&place);
    assert!(server.is_running());
}
