//! A server that stops.

use std::io::ErrorKind::{TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use symbolon_testkit::{ADMIN_SECRET, Options, TestServer};

/// Nothing comes for a while.
pub(crate) fn assert_silent(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let silent = stream.read(&mut [0; 1]);
    assert!(silent.as_ref().is_err_and(|error| matches!(error.kind(), TimedOut | WouldBlock)), "{silent:?}");
    stream.set_read_timeout(None).expect("no timeout");
}

/// Whoever was connected when the server began to stop is answered, also where the server had not yet looked.
#[test]
fn whoever_has_come_is_answered() {
    for _ in 0..5 {
        let server = TestServer::start_with(Options::default().one_node());
        let address = server.url.trim_start_matches("http://").to_owned();
        let mut streams: Vec<TcpStream> =
            (0..40).map(|_| TcpStream::connect(&address).expect("a connection")).collect();
        for stream in &mut streams {
            let request =
                format!("GET /.well-known/openid-configuration HTTP/1.1\r\nhost: {address}\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("room for a request");
        }
        drop(server);
        for mut stream in streams {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    }
}

/// What is in flight when the server stops is let finish, on both listeners.
#[test]
fn whoever_has_begun_is_let_finish() {
    let server = TestServer::start_with(Options::default().one_node());
    let addresses = [&server.url, &server.management].map(|url| url.trim_start_matches("http://").to_owned());
    let users = [r#"{"email":"ann@example.com"}"#, r#"{"email":"bob@example.com"}"#];
    let mut begun: Vec<TcpStream> = addresses
        .iter()
        .zip(users)
        .map(|(address, user)| {
            let mut stream = TcpStream::connect(address).expect("a connection");
            let head = format!(
                "POST /api/admin/users HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN_SECRET}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
                user.len()
            );
            stream.write_all(head.as_bytes()).expect("room for a request");
            // Whoever waits for the body says so (RFC 9110 10.1.1): the request is being handled.
            let mut said = [0; 25];
            stream.read_exact(&mut said).expect("an invitation to go on");
            assert!(said.starts_with(b"HTTP/1.1 100"));
            stream
        })
        .collect();
    let stopped = std::thread::spawn(move || drop(server));
    while addresses.iter().any(|address| TcpStream::connect(address).is_ok()) {
        std::thread::yield_now();
    }
    for stream in &mut begun {
        assert_silent(stream);
    }
    for (stream, user) in begun.iter_mut().zip(users) {
        stream.write_all(user.as_bytes()).expect("room for the body");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
    stopped.join().expect("the server has stopped");
}
