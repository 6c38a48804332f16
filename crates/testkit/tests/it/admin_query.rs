//! Query parameters of the admin API.

use symbolon_testkit::TestServer;

#[test]
fn a_query_parameter_that_is_not_known_is_refused_by_name() {
    let server = TestServer::start();
    let refused = |method: &str, path: &str| {
        let answer = server.admin(method, path, None);
        assert_eq!(
            (answer.status, answer.error()),
            (400, "invalid_request".to_owned()),
            "{path}: {answer:?}"
        );
        answer.json()["error_description"].as_str().unwrap().to_owned()
    };
    let told = refused("GET", "/audit-logs?user=ann");
    assert_eq!(
        told,
        "user is no query parameter of this operation, which has page, limit, event, user_id, client_id, from, to, \
         address, request_id, name"
    );
    assert!(
        refused("GET", "/issuers/default/users?mail=a%40example.com").contains("search, email, verified")
    );
    for good in [
        "/users?email=a&verified=true&page=1&limit=2&search=b",
        "/users/export?verified=true",
        "/issuers",
        "/settings?t=1",
    ] {
        assert_eq!(server.admin("GET", good, None).status, 200, "{good}");
    }
}
