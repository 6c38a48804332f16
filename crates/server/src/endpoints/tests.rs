//! What the table promises of every endpoint.

use std::collections::BTreeSet;

use http::Method;

use super::{all, find, methods, reserved_segments};
use symbolon_app::http::{Cors, Endpoint, Limit};

#[test]
fn a_path_and_a_method_are_one_endpoint() {
    let mut seen = BTreeSet::new();
    for endpoint in all() {
        for method in endpoint.methods {
            assert!(seen.insert((endpoint.path, method.as_str())), "{} {method}", endpoint.path);
            let found = find(endpoint.path, method).unwrap();
            assert!(std::ptr::eq(found, endpoint), "{} {method}", endpoint.path);
        }
    }
    assert!(find("/nowhere", &Method::GET).is_none());
    assert_eq!(methods("/login"), "GET, POST");
}

#[test]
fn whoever_authenticates_clients_or_looks_at_tokens_needs_the_lease() {
    for endpoint in all() {
        let looks = matches!(endpoint.limit, Limit::Client(_)) || endpoint.cors == Cors::Client;
        assert!(!looks || endpoint.needs_lease, "{}", endpoint.path);
    }
}

#[test]
fn a_head_never_changes_anything() {
    for path in ["/authorize", "/login", "/consent", "/logout"] {
        assert!(!methods(path).contains("HEAD"), "{path}");
    }
}

#[test]
fn what_is_at_the_root_is_reserved() {
    let reserved = reserved_segments();
    let by_hand = ["authorize", "token", "login", ".well-known", "assets", "api", "logout", "device"];
    for segment in by_hand.into_iter().chain(["demo", "callback"]) {
        assert!(reserved.contains(&segment), "{segment}");
    }
    for endpoint in all() {
        let first = endpoint.path.split('/').nth(1).unwrap();
        assert!(first.is_empty() || reserved.contains(&first), "{}", endpoint.path);
    }
    assert!(!reserved.contains(&""));
    // No name stands in the first segment of a row: then every path would be one of ours.
    assert!(!reserved.contains(&Endpoint::NAMED));
}
