//! On a terminal, commands that cannot be undone ask first.

use crate::passwords::typed;
use crate::place::Place;

#[test]
fn what_cannot_be_undone_is_asked_on_a_terminal() {
    let place = Place::new();
    let exists = |id: &str| place.run(&["client", "show", id]).code == 0;
    for id in ["one", "two", "three"] {
        let create =
            ["client", "create", "--name", "App", "--grant-type", "client_credentials", "--client-id", id];
        place.run(&create).good();
    }
    let prompt = "Delete one (App) and end its tokens? [y/N] ";
    for no in ["\n", "n\n", "yes please\n"] {
        assert_eq!(typed(&place, &["client", "delete", "one"], &[(prompt, no)]).0, 1, "{no:?}");
        assert!(exists("one"), "{no:?}");
    }
    assert_eq!(typed(&place, &["client", "delete", "one"], &[(prompt, "y\n")]).0, 0);
    assert!(!exists("one"));
    assert_eq!(typed(&place, &["client", "delete", "two", "--yes"], &[]).0, 0);
    assert!(!exists("two"));
    // A script has no terminal: it is not asked.
    place.run(&["client", "delete", "three"]).good();
    assert!(!exists("three"));
}

#[test]
fn every_command_that_ends_something_asks() {
    let place = Place::new();
    place.run(&["user", "create", "--no-password", "--id", "ann", "--email", "ann@example.com"]).good();
    let client =
        ["client", "create", "--name", "App", "--grant-type", "client_credentials", "--client-id", "app"];
    place.run(&client).good();
    let keys = place.run(&["keys", "list", "--json"]).json();
    let kid = keys[0]["kid"].as_str().unwrap();
    for arguments in [
        &["user", "delete", "ann"][..],
        &["user", "disable", "ann"],
        &["user", "sign-out", "ann"],
        &["user", "end-grant", "ann", "app"],
        &["grant", "end", "ann", "--all"],
        &["session", "end", "--user", "ann"],
        &["session", "end", "some-sid"],
        &["client", "new-secret", "app"],
        &["client", "delete", "app"],
        &["keys", "revoke", kid],
    ] {
        assert_eq!(typed(&place, arguments, &[("[y/N] ", "n\n")]).0, 1, "{arguments:?}");
    }
    assert_eq!(place.run(&["user", "show", "ann", "--json"]).json()["active"], true);
    assert_eq!(place.run(&["keys", "list", "--json"]).json(), keys);
}
