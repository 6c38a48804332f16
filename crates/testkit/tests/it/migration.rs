//! A store that is to be moved: what the admin API does for `symbolon store migrate`.

use serde_json::json;
use symbolon_testkit::{Options, TestServer, is_clustered};

fn is_writable(server: &TestServer) -> bool {
    server.admin("POST", "/users", Some(json!({ "preferred_username": "ann" }))).status == 201
}

#[test]
fn a_request_that_is_refused_refuses_no_writes() {
    let server = TestServer::start_with(Options::default().one_node());
    let full = tempfile::tempdir().unwrap();
    std::fs::write(full.path().join("a file"), "").unwrap();
    for path in ["relative", "/proc/none", full.path().to_str().unwrap()] {
        let refused = server.admin("POST", "/migration", Some(json!({ "path": path })));
        assert_eq!((refused.status, refused.error()), (400, "invalid_request".to_owned()), "{path}");
        assert!(is_writable(&server), "{path}");
    }
}

#[test]
fn nothing_was_moved_that_was_not_frozen() {
    if is_clustered() {
        // There the command freezes the engines by itself.
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let options = Options::default().env("SYMBOLON_BACKUP_DIR", parent.path().to_str().unwrap());
    let server = TestServer::start_with(options);
    let refused = server.admin("POST", "/migration/finished", None);
    assert_eq!((refused.status, refused.error()), (409, "conflict".to_owned()));
    assert!(is_writable(&server));
    let path = parent.path().join("copy");
    assert_eq!(server.admin("POST", "/migration", Some(json!({ "path": path }))).status, 201);
    assert!(!is_writable(&server));
    assert_eq!(server.admin("POST", "/migration/finished", None).status, 204);
}
