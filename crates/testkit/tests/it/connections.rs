//! Connections of many and of one: nobody holds all of them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use symbolon_testkit::{Options, TestServer};

use crate::stopping::assert_silent;

const DISCOVERY: &str = "/.well-known/openid-configuration";

fn limited(connections: &str) -> Options {
    Options::default()
        .one_node()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_HTTP_MAX_CONNECTIONS", connections)
}

pub(crate) fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").parse().expect("an address")
}

/// Connects from another address of the loopback network.
pub(crate) fn connect_from(server: &TestServer, from: &str, to: SocketAddr) -> TcpStream {
    let stream = server.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(format!("{from}:0").parse().expect("an address")).expect("an address of ours");
        socket.connect(to).await.expect("a connection").into_std().expect("a stream")
    });
    stream.set_nonblocking(false).expect("a stream that waits");
    stream
}

/// The status of one request; none where the connection was closed.
fn status(stream: &mut TcpStream, path: &str) -> Option<u16> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(piece.get(..length)?),
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer to {path}"),
            Err(_) => break,
        }
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_ascii_lowercase();
        let length =
            length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            break;
        }
    }
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    match stream.read(&mut [0; 1]) {
        Ok(length) => length == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

pub(crate) fn metric(server: &TestServer, line: &str) -> u64 {
    let page = server.app.registry.render(&[]);
    let found =
        page.lines().find_map(|shown| shown.strip_prefix(line)).unwrap_or_else(|| panic!("no {line}"));
    found.trim().parse().expect("a number")
}

/// By default one address has a quarter of the connections at most.
#[test]
fn one_address_never_holds_every_connection() {
    let server = TestServer::start_with(limited("80"));
    let public = address(&server.url);
    let mut held: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(public).unwrap()).collect();
    for stream in &mut held {
        assert_eq!(status(stream, DISCOVERY), Some(200));
    }
    for _ in 0..80 {
        assert!(is_closed(&mut TcpStream::connect(public).unwrap()), "beyond what one address may have");
    }
    let mut other = connect_from(&server, "127.0.0.2", public);
    assert_eq!(status(&mut other, DISCOVERY), Some(200));
    let mut management = TcpStream::connect(address(&server.management)).unwrap();
    assert_eq!(status(&mut management, "/readyz"), Some(200));
    for stream in &mut held {
        assert_eq!(status(stream, DISCOVERY), Some(200), "what was open goes on");
    }
    assert_eq!(metric(&server, "symbolon_connections_refused_total{listener=\"public\"}"), 80);
    assert_eq!(metric(&server, "symbolon_connections{listener=\"public\"}"), 21);
    drop(held);
}

#[test]
fn the_switch_lifts_the_limit_of_connections_too() {
    let server = TestServer::start_with(limited("80").env("SYMBOLON_RATE_LIMITS", "off"));
    let mut held: Vec<TcpStream> =
        (0..80).map(|_| TcpStream::connect(address(&server.url)).unwrap()).collect();
    for stream in &mut held {
        assert_eq!(status(stream, DISCOVERY), Some(200));
    }
}

#[test]
fn where_the_house_is_full_the_longest_idle_goes_first() {
    let server = TestServer::start_with(limited("4").env("SYMBOLON_RATE_LIMIT_CONNECTIONS_ADDRESS", "0"));
    let public = address(&server.url);
    let mut open: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(public).unwrap()).collect();
    for stream in &mut open {
        assert_eq!(status(stream, DISCOVERY), Some(200));
    }
    // The first is not the one that was idle longest, once it has asked again.
    assert_eq!(status(&mut open[0], DISCOVERY), Some(200));
    let mut newcomer = TcpStream::connect(public).unwrap();
    assert_eq!(status(&mut newcomer, DISCOVERY), Some(200));
    assert!(is_closed(&mut open[1]));
    for stream in [0, 2, 3] {
        assert_silent(&mut open[stream]);
        assert_eq!(status(&mut open[stream], DISCOVERY), Some(200));
    }
    assert_eq!(metric(&server, "symbolon_connections_idle_closed_total{listener=\"public\"}"), 1);
}

/// Sends the head of a form of ten bytes, and waits until the server asks for the body.
fn begin_form(stream: &mut TcpStream, forwarded_for: &str) {
    let head = format!(
        "POST /token HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: {forwarded_for}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut said = [0; 25];
    stream.read_exact(&mut said).unwrap();
    assert!(said.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_connection_with_a_request_in_flight_is_never_closed() {
    let server = TestServer::start_with(limited("2").env("SYMBOLON_RATE_LIMIT_CONNECTIONS_ADDRESS", "0"));
    let public = address(&server.url);
    let mut busy = TcpStream::connect(public).unwrap();
    begin_form(&mut busy, "192.0.2.1");
    for _ in 0..10 {
        let mut newcomer = TcpStream::connect(public).unwrap();
        assert_eq!(status(&mut newcomer, DISCOVERY), Some(200));
    }
    busy.write_all(b"a=b&c=d&e=").unwrap();
    let mut answer = [0; 12];
    busy.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

#[test]
fn behind_a_trusted_proxy_requests_in_flight_count_by_the_forwarded_address() {
    let proxied = limited("80").env("SYMBOLON_RATE_LIMIT_CONNECTIONS_ADDRESS", "2");
    let server = TestServer::start_with(proxied.env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.1"));
    let public = address(&server.url);
    let mut held: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(public).unwrap()).collect();
    for stream in &mut held {
        begin_form(stream, "192.0.2.1");
    }
    // The proxy itself has any number of connections.
    let mut third = TcpStream::connect(public).unwrap();
    let body = "POST /token HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 192.0.2.1\r\nconnection: close\r\n\
                content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\na=b";
    third.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 1"), "{answer}");
    assert!(answer.contains("rate_limit_exceeded"), "in the endpoint's form: {answer}");
    let mut other = TcpStream::connect(public).unwrap();
    begin_form(&mut other, "192.0.2.2");
    // What has ended makes room.
    held[0].write_all(b"a=b&c=d&e=").unwrap();
    let mut answered = [0; 12];
    held[0].read_exact(&mut answered).unwrap();
    begin_form(&mut TcpStream::connect(public).unwrap(), "192.0.2.1");
}

#[test]
fn the_management_listener_answers_whoever_fills_it_with_idle_connections() {
    let server = TestServer::start_with(limited("80"));
    let management = address(&server.management);
    let held: Vec<TcpStream> = (0..1_100).map(|_| TcpStream::connect(management).unwrap()).collect();
    let mut newcomer = TcpStream::connect(management).unwrap();
    assert_eq!(status(&mut newcomer, "/readyz"), Some(200));
    drop(held);
}
