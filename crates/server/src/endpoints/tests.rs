//! What the table promises of every endpoint.

use std::collections::BTreeSet;

use http::Method;

use super::table::ENDPOINTS;
use super::{authorize, find, introspect, is_taken, methods, token, userinfo};
use symbolon_app::http::{Call, Cors, Limit};

fn size<'a, F>(_handler: impl Fn(&'a mut Call) -> F) -> usize {
    size_of::<F>()
}

/// Each is allocated for one request: what is larger than a kilobyte leaves the allocator's fast path.
#[test]
fn the_futures_of_the_loaded_endpoints_are_small() {
    let sizes = [
        size(authorize::authorize),
        size(token::token),
        size(userinfo::userinfo),
        size(introspect::introspect),
        size_of::<Call>(),
    ];
    assert!(sizes.iter().all(|size| *size <= 1_024), "{sizes:?}");
}

#[test]
fn a_path_and_a_method_are_one_endpoint() {
    let mut seen = BTreeSet::new();
    for endpoint in &ENDPOINTS {
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
    for endpoint in &ENDPOINTS {
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
fn what_is_at_the_root_is_taken() {
    for taken in [
        "/authorize",
        "/token/x",
        "/login",
        "/.well-known",
        "/assets/x",
        "/api",
        "/logout/confirm",
        "/demo",
        "/callback",
    ] {
        assert!(is_taken(taken), "{taken}");
    }
    for free in ["/", "", "/acme", "/acme/token", "/tokens"] {
        assert!(!is_taken(free), "{free}");
    }
}
