//! Callers of the admin API who go away in the middle of a change.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{ADMIN_SECRET, TestServer};

/// Makes the user inactive and goes away `after` the request was sent.
fn deactivate_and_leave(server: &TestServer, user: &str, after: Duration) {
    let address = server.management.trim_start_matches("http://");
    let body = r#"{"active":false}"#;
    let request = format!(
        "PATCH /api/admin/users/{user} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN_SECRET}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("room for a request");
    std::thread::sleep(after);
    stream.shutdown(Shutdown::Both).expect("a connection");
}

/// Whether `done` comes true, within a minute or more.
fn comes(done: impl Fn() -> bool) -> bool {
    (0..12_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        done()
    })
}

/// A user who was made inactive is signed out, and it is put down, whether or not anybody waits for the answer.
#[test]
fn a_change_that_was_begun_is_made_whole() {
    let server = TestServer::start();
    let mut changed = Vec::new();
    for round in 0..40_u64 {
        let (user, _) = server.signed_in(&format!("u{round}@example.com"));
        deactivate_and_leave(&server, &user, Duration::from_micros(round * 25));
        let path = format!("/users/{user}");
        let active = || server.admin("GET", &path, None).json()["user"]["active"] == true;
        // Some leave before they are heard.
        if (0..20).all(|_| active()) {
            continue;
        }
        let sessions = format!("/users/{user}/sessions");
        let none = || server.admin("GET", &sessions, None).json()["sessions"] == json!([]);
        assert!(comes(none), "round {round}: inactive, and still signed in");
        changed.push(user);
    }
    assert!(!changed.is_empty(), "each of them left before it was heard");
    for user in changed {
        let records = || server.admin("GET", &format!("/audit-logs?user_id={user}&limit=100"), None).body;
        let recorded = || records().contains("user.updated");
        assert!(comes(recorded), "nobody put it down: {}", records());
    }
}
