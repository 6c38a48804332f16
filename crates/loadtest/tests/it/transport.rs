//! HTTP/2 and TLS, against servers that have them, lack them or end connections in mid-run.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::Response;
use h2::RecvStream;
use h2::server::SendResponse;
use symbolon_crypto::SecretString;
use symbolon_loadtest::client::{self, ClientError, Connection, Peer, Protocol, Timeouts, Way, request};
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Mix, Next, Right, Scenario, Visitor, Wrong};
use symbolon_loadtest::seed::{SeedOptions, plant};
use symbolon_loadtest::{LoadtestError, Target};
use url::Url;

use crate::fake::{Fake, SECRET};
use crate::tls::{Front, trusting};

const HTTP2: Protocol = Protocol::Http2 { streams: 4 };

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn discover(way: &Way, url: &str) -> Result<Target, LoadtestError> {
    block_on(Target::discover_by(way, url, Some(SecretString::new(SECRET.into()))))
}

/// Seeds the fake and asks it for what most scenarios ask for.
fn ask_for_everything(way: &Way, url: &str) {
    let options = SeedOptions { users: 20, tokens: 50, families: 8, ..SeedOptions::default() };
    let seed = block_on(async {
        let target = Target::discover_by(way, url, Some(SecretString::new(SECRET.into()))).await.unwrap();
        Arc::new(plant(target, &options, &mut Vec::new()).await.unwrap())
    });
    for scenario in [Scenario::Silent, Scenario::Userinfo, Scenario::Refresh, Scenario::Login] {
        let visitors = scenario.visitors(&seed, 6, Mix::Pure).unwrap();
        let load = Load { threads: 2, ..Load::to(seed.target.peer.clone()) };
        let tally = closed(&Closed { load, until: Until::Requests(60) }, visitors).unwrap().tally;
        assert!(tally.is_clean(), "{scenario}: {:?} {:?}", tally.first_wrong(), tally.failures);
        assert_eq!(tally.right, 60, "{scenario}");
    }
}

#[test]
fn a_provider_is_asked_by_http2_with_prior_knowledge() {
    ask_for_everything(&Way { protocol: HTTP2, trust: None }, &Fake::start(true).url());
}

#[test]
fn a_provider_is_asked_over_tls_by_either_protocol_and_sessions_are_resumed() {
    for protocol in [Protocol::Http1, HTTP2] {
        let fake = Fake::start(true);
        let front = Front::of(fake.address, "127.0.0.1", &[b"h2", b"http/1.1"]);
        ask_for_everything(&front.way(protocol), &front.url());
        assert!(front.resumed() > 0, "{protocol}");
    }
}

#[test]
fn megabytes_go_through_tls_both_ways() {
    const LEN: usize = 8 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut sent = Vec::new();
    request::with_body(&mut sent, ("POST", "/"), "localhost", &[], &vec![b'x'; LEN]);
    let length = sent.len();
    // Answers each piece at once, and reads nothing more until that is written.
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").unwrap();
        let (mut left, mut buffer) = (length, vec![0; 64 * 1024]);
        while left > 0 {
            let read = stream.read(&mut buffer).unwrap();
            left -= read;
            stream.write_all(&buffer[..read]).unwrap();
        }
        // Until the client hangs up.
        let _ = stream.read(&mut buffer);
    });
    let front = Front::of(address, "127.0.0.1", &[]);
    block_on(async {
        let peer = Peer::of(&Url::parse(&front.url()).unwrap(), &front.way(Protocol::Http1)).unwrap();
        let mut connection = Connection::open(&peer, Timeouts::default()).await.unwrap();
        assert!(connection.exchange(&sent).await.unwrap().body == sent);
        assert!(connection.is_reusable());
    });
}

#[test]
fn who_is_not_trusted_or_has_another_name_is_told_with_the_mend() {
    let fake = Fake::start(true);
    let (right, other) = (
        Front::of(fake.address, "127.0.0.1", &[b"h2", b"http/1.1"]),
        Front::of(fake.address, "other.test", &[b"h2", b"http/1.1"]),
    );
    for protocol in [Protocol::Http1, HTTP2] {
        let complaint = |way: &Way, url: &str| discover(way, url).err().unwrap().to_string();
        let untrusted = complaint(&other.way(protocol), &right.url());
        assert!(untrusted.contains("TLS with 127.0.0.1") && untrusted.contains("--ca"), "{untrusted}");
        let nobody = complaint(&Way { protocol, trust: None }, &right.url());
        assert!(nobody.contains("nobody is trusted"), "{nobody}");
        let misnamed = complaint(&other.way(protocol), &other.url());
        assert!(misnamed.contains("other.test") && misnamed.contains("the URL must name it"), "{misnamed}");
        let plain = complaint(&right.way(protocol), &format!("https://{}", fake.address));
        assert!(plain.contains("it may speak plain http"), "{plain}");
    }
    let encrypted = discover(&Way::default(), &format!("http://{}", right.address)).err().unwrap();
    assert!(encrypted.to_string().contains("it may speak https"), "{encrypted}");
}

#[test]
fn a_target_without_http2_is_told() {
    let complaint = |way: &Way, url: &str| {
        let error = discover(way, url).err().unwrap();
        assert!(
            matches!(&error, LoadtestError::Http { source: ClientError::NoHttp2 { .. }, .. }),
            "{error:?}"
        );
        error.to_string()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let told = complaint(&Way { protocol: HTTP2, trust: None }, &format!("http://{address}"));
    assert!(told.contains("does not speak HTTP/2 over plain TCP"), "{told}");
    assert!(told.contains("without --http2"), "{told}");
    for protocols in [&[&b"http/1.1"[..]][..], &[]] {
        let front = Front::of(address, "127.0.0.1", protocols);
        let told = complaint(&front.way(HTTP2), &front.url());
        assert!(told.contains("does not speak HTTP/2 over TLS"), "{told}");
    }
}

/// How a server ends each connection after so many requests.
#[derive(Clone, Copy)]
enum End {
    Never,
    /// GOAWAY, and answers to all that came before (RFC 9113 6.8).
    Gracefully(u64),
    /// Without a word.
    Abruptly(u64),
}

/// A server of HTTP/2, and how many connections it has had.
struct Server {
    peer: Peer,
    connections: Arc<AtomicU64>,
}

impl Server {
    fn start(end: End) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&connections);
        std::thread::spawn(move || {
            block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    counter.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(stream, end));
                }
            });
        });
        Self { peer: Peer::plain(address, HTTP2), connections }
    }

    fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(stream: tokio::net::TcpStream, end: End) {
    // Who leaves at once, leaves.
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let mut requests = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        requests += 1;
        tokio::spawn(answer(request, respond));
        match end {
            End::Gracefully(limit) if requests == limit => connection.graceful_shutdown(),
            End::Abruptly(limit) if requests == limit => return,
            _ => {}
        }
    }
}

/// `/echo` answers with the body, `/refuse` before it has read it, `/never` not at all; anything else with `right`.
async fn answer(request: axum::http::Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let (head, mut body) = request.into_parts();
    let status = if head.uri.path() == "/refuse" { 413 } else { 200 };
    let response = Response::builder().status(status).header("x-method", head.method.as_str());
    let response = response.header("x-authority", head.uri.authority().unwrap().as_str()).body(()).unwrap();
    match head.uri.path() {
        "/refuse" => drop(respond.send_response(response, true)),
        "/never" => std::future::pending().await,
        "/echo" => {
            let mut out = respond.send_response(response, false).unwrap();
            while let Some(Ok(piece)) = body.data().await {
                let _ = body.flow_control().release_capacity(piece.len());
                let _ = out.send_data(piece, false);
            }
            let _ = out.send_data(Bytes::new(), true);
        }
        _ => {
            // The connection may be gone.
            let Ok(mut out) = respond.send_response(response, false) else { return };
            let _ = out.send_data(Bytes::from_static(b"right"), true);
        }
    }
}

/// Wants the body `right`.
struct Asker;

impl Visitor for Asker {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        request::get(out, "/", "localhost", &[("connection", "keep-alive")]);
        Next::Send
    }

    fn check(&mut self, response: &client::Response<'_>) -> Result<Right, Wrong> {
        let right = response.body == b"right" && response.header("x-authority") == Some("localhost");
        if right { Ok(Right::default()) } else { Err(Wrong::new("body", response.text())) }
    }
}

fn askers(count: usize) -> Vec<Box<dyn Visitor>> {
    (0..count).map(|_| Box::new(Asker) as Box<dyn Visitor>).collect()
}

fn run(server: &Server, threads: usize, visitors: usize) -> symbolon_loadtest::Tally {
    let load = Load { threads, ..Load::to(server.peer.clone()) };
    closed(&Closed { load, until: Until::Requests(1_000) }, askers(visitors)).unwrap().tally
}

#[test]
fn so_many_visitors_share_a_connection() {
    // Four streams each: (threads, visitors, connections).
    for (threads, visitors, connections) in [(1, 4, 1), (1, 5, 2), (2, 8, 2), (2, 9, 3), (3, 2, 2)] {
        let server = Server::start(End::Never);
        let tally = run(&server, threads, visitors);
        assert!(tally.is_clean() && tally.right == 1_000, "{:?}", tally.failures);
        assert_eq!(server.connections(), connections, "{threads} threads, {visitors} visitors");
        let load = Load { threads, ..Load::to(server.peer.clone()) };
        assert_eq!(load.connections(visitors) as u64, connections);
    }
    assert_eq!(Load::to(SocketAddr::from(([127, 0, 0, 1], 1))).connections(7), 7);
}

#[test]
fn a_server_that_says_that_it_goes_loses_nothing() {
    let server = Server::start(End::Gracefully(50));
    let tally = run(&server, 1, 8);
    assert!(tally.is_clean(), "{:?} {:?}", tally.failures, tally.first_wrong());
    assert_eq!(tally.right, 1_000);
    assert!(server.connections() > 2, "{}", server.connections());
}

#[test]
fn a_connection_that_breaks_is_counted_and_opened_anew() {
    let server = Server::start(End::Abruptly(50));
    let tally = run(&server, 1, 8);
    assert_eq!(tally.right + tally.failures_total(), 1_000);
    assert!(tally.right > 500 && tally.failures_total() > 0, "{:?}", tally.failures);
    // By what was under way: nothing, reading, or writing.
    let ends = ["closed", "connection_reset", "connection_aborted", "broken_pipe"];
    assert!(tally.failures.keys().all(|kind| ends.contains(kind)), "{:?}", tally.failures);
    assert!(server.connections() > 2, "{}", server.connections());
}

#[test]
fn a_stream_without_an_answer_ends_and_its_connection_goes_on() {
    let server = Server::start(End::Never);
    let timeouts = Timeouts { request: Duration::from_millis(100), ..Timeouts::default() };
    let (mut never, mut right) = (Vec::new(), Vec::new());
    request::get(&mut never, "/never", "localhost", &[]);
    request::get(&mut right, "/", "localhost", &[]);
    block_on(async {
        let mut connection = Connection::open(&server.peer, timeouts).await.unwrap();
        let mut beside = connection.beside().unwrap();
        assert_eq!(connection.exchange(&never).await.err().unwrap().kind(), "timeout");
        // The same, with all the time that a slow machine needs.
        let mut patient = Connection::open(&server.peer, Timeouts::default()).await.unwrap();
        assert_eq!(patient.exchange(&right).await.unwrap().text(), "right");
        assert!(connection.is_reusable() && beside.is_reusable());
        beside.renew(&server.peer, timeouts).await.unwrap();
    });
    assert_eq!(server.connections(), 2, "nobody had to connect again");
}

#[test]
fn megabytes_go_through_http2_both_ways_and_a_refusal_needs_no_body() {
    let server = Server::start(End::Never);
    let body = vec![b'x'; 8 << 20];
    let post = |path| {
        let mut bytes = Vec::new();
        request::with_body(&mut bytes, ("POST", path), "localhost:1", &[], &body);
        bytes
    };
    block_on(async {
        let mut connection = Connection::open(&server.peer, Timeouts::default()).await.unwrap();
        let response = connection.exchange(&post("/echo")).await.unwrap();
        assert_eq!((response.status, response.header("X-Method")), (200, Some("POST")));
        assert_eq!(response.header("x-authority"), Some("localhost:1"));
        assert!(response.body == body, "{} bytes", response.body.len());
        assert_eq!(connection.exchange(&post("/refuse")).await.unwrap().status, 413);
        let mut bytes = Vec::new();
        request::get(&mut bytes, "/", "localhost", &[]);
        assert_eq!(connection.exchange(&bytes).await.unwrap().text(), "right");
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn who_cannot_be_asked_by_http2_is_named() {
    let peer = Peer::plain(SocketAddr::from(([127, 0, 0, 1], 1)), HTTP2);
    let error = closed(&Closed { load: Load::to(peer), until: Until::Requests(1) }, askers(1)).err().unwrap();
    assert!(error.to_string().contains("cannot connect to 127.0.0.1:1"), "{error}");
    let way = trusting(HTTP2, None);
    let error = Peer::of(&Url::parse("ftp://x").unwrap(), &way).err().unwrap();
    assert!(error.contains("http and https"), "{error}");
}
