//! Callers who go away in the middle of a change: of the admin API, and browsers whose button is pressed twice.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{ADMIN_SECRET, TestServer};

use crate::login::hidden;
use crate::registration;

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

/// Sends a form and goes away.
fn post_and_leave(server: &TestServer, path: &str, cookies: &str, form: &str, after: Duration) {
    let address = server.issuer.trim_start_matches("http://").trim_end_matches('/');
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookies}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    );
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("room for a request");
    std::thread::sleep(after);
    stream.shutdown(Shutdown::Both).expect("a connection");
}

/// Pressed again before the answer: the browser gives the first request up, wherever it is by then.
#[test]
fn a_registration_whose_first_request_was_given_up_is_completed_by_the_second() {
    let scene = registration::Scene::with(|options| options.one_node());
    for round in 0..20_u64 {
        let browser = scene.server.browser();
        let waiting = scene.apply(&browser, &browser.get("/register"), &format!("p{round}@example.com"));
        let code = scene.mailbox.next().code();
        let (transaction, csrf) = hidden(&waiting);
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code)])
            .append_pair("password", registration::PASSWORD)
            .finish();
        let after = Duration::from_micros(round * round * 250);
        post_and_leave(&scene.server, "/register/confirm", &browser.cookies(), &form, after);
        let second = registration::confirm(&browser, &waiting, &code, registration::PASSWORD);
        assert_eq!(second.status, 303, "round {round}: {second:?}");
        assert!(browser.cookie("symbolon_session").is_some(), "round {round}");
    }
}
