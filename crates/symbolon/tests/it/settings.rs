//! `symbolon issuer settings`, with a server and without.

use serde_json::json;

use crate::place::Place;

fn settings(place: &Place) {
    let shown = place.run(&["issuer", "settings"]).good();
    assert!(shown.lines().any(|line| line.starts_with("pkce ") && line.ends_with(" or_nonce")), "{shown}");
    let before = place.run(&["issuer", "settings", "--json"]).json();
    let set = |more: &[&str]| place.run(&[&["issuer", "settings", "--json"], more].concat());
    let after = set(&["--set", "pkce=required", "--set", "lifetimes.access_token=600"]).json();
    assert_eq!((&after["pkce"], &after["lifetimes"]["access_token"]), (&json!("required"), &json!(600)));
    assert_eq!(after["lifetimes"]["id_token"], before["lifetimes"]["id_token"], "the others stay");
    assert_eq!(place.run(&["issuer", "settings", "--json"]).json(), after);
    // All or none, and the mistake is named.
    let told = set(&["--set", "pkce=optional", "--set", "pkec=required"]).bad(2);
    assert!(told.contains("unknown member \"pkec\""), "{told}");
    assert_eq!(place.run(&["issuer", "settings", "--json"]).json(), after);
    let reset = set(&["--set", "pkce=null", "--set", "lifetimes=null"]).json();
    assert_eq!((&reset["pkce"], &reset["lifetimes"]), (&json!("or_nonce"), &before["lifetimes"]));
    let text = set(&["--set", "branding.intro=One account", "--set", "branding.intro#de=Ein Konto"]).json();
    assert_eq!(text["branding"], json!({ "intro": "One account", "intro#de": "Ein Konto" }));
    assert_eq!(set(&["--set", "branding=null"]).json()["branding"], json!({}));
    assert!(set(&["--set", "pkce"]).bad(2).contains("MEMBER=VALUE"));
    assert!(set(&["--issuer", "nobody"]).bad(1).contains("404"));
}

#[test]
fn settings_of_an_issuer_are_read_and_changed_with_a_server_and_without() {
    let place = Place::new();
    settings(&place);
    let mut server = place.serve(&[]);
    settings(&place);
    assert!(server.is_running());
}
