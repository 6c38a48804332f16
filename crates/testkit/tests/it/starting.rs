//! A server that starts.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use symbolon_testkit::{ADMIN_SECRET, Browser, Options, TestServer, is_clustered};

use crate::stopping::assert_silent;

/// While the journal is read, which takes its time after a crash, clients find the provider and its keys. What needs more
/// waits, and sees everything that was there.
#[test]
fn discovery_is_answered_before_the_store_is_recovered_and_the_rest_waits() {
    if is_clustered() {
        // Its store is another machine's, and is not recovered by this process.
        return;
    }
    let server = TestServer::start();
    let user = server.admin("POST", "/users", Some(json!({ "email": "ann@example.com" }))).json();
    let opened = server.admin("POST", "/test/sessions", Some(json!({ "user_id": user["user"]["id"] })));
    assert_eq!(opened.status, 201, "{opened:?}");
    let mut server = server.restart(Options::default().recover_later());
    for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
        assert_eq!(server.browser().get(path).status, 200, "{path}");
    }
    let management = Browser::new(&server.management);
    let ready = management.get("/readyz");
    assert!(ready.status == 503 && ready.body.ends_with("the journal is being read"), "{ready:?}");
    assert_eq!((management.get("/healthz").status, management.get("/metrics").status), (200, 200));
    let listing = format!("/api/admin/users/{}/sessions", user["user"]["id"].as_str().unwrap());
    let mut waiting = [&server.url, &server.management].map(|url| {
        let address = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("a connection");
        let request = format!(
            "GET {listing} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN_SECRET}\r\n\
             connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("room for a request");
        stream
    });
    for stream in &mut waiting {
        assert_silent(stream);
    }
    server.recover();
    for mut stream in waiting {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"sid\""), "{answer}");
    }
    assert_eq!(management.get("/readyz").status, 200);
}
