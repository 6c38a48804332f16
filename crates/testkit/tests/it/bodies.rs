//! Bodies of requests: read no further than their endpoint takes, and no more at once than fits the budget.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::Request;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Ping, PingPong, SendStream};
use symbolon_testkit::{Options, TestServer, is_clustered};

use crate::connections::{address, connect_from, metric};

/// What a stalled body has sent of a form: no more fits beside it into what [`BUDGET`] leaves of seventeen.
const SENT: usize = 60_000;
const BUDGET: u64 = 1 << 20;

fn with_budget(rate_limits: &str) -> TestServer {
    let options = Options::default().one_node().env("SYMBOLON_RATE_LIMITS", rate_limits);
    TestServer::start_with(options.env("SYMBOLON_HTTP_BODY_BUDGET", "1MiB"))
}

/// Begins a form of a length, and sends some of it.
fn begin(stream: &mut TcpStream, length: usize, sent: usize) {
    let head = format!(
        "POST /token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; sent]).unwrap();
}

/// The head of an answer.
fn head(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0; 1];
        stream.read_exact(&mut byte).expect("an answer");
        answer.push(byte[0]);
    }
    String::from_utf8(answer).expect("text")
}

fn bytes_in_flight(server: &TestServer) -> u64 {
    metric(server, "symbolon_request_body_bytes")
}

/// Waits until something is so that is about to be.
fn eventually(holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never came about");
}

#[test]
fn a_body_is_read_no_further_than_its_endpoint_takes() {
    let server = TestServer::start_with(Options::default().one_node());
    let public = address(&server.url);
    let mut stream = TcpStream::connect(public).unwrap();
    // Not a byte of it has come: its length is enough.
    begin(&mut stream, (64 << 10) + 1, 0);
    assert!(head(&mut stream).starts_with("HTTP/1.1 413"));
    let mut stream = TcpStream::connect(public).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let chunked = "POST /token HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\
                   content-type: application/x-www-form-urlencoded\r\n\r\n10001\r\n";
    stream.write_all(chunked.as_bytes()).unwrap();
    stream.write_all(&[b'x'; 0x10001]).unwrap();
    assert!(head(&mut stream).starts_with("HTTP/1.1 413"), "it goes on, and nobody waits for that");
    let mut stream = TcpStream::connect(public).unwrap();
    begin(&mut stream, 64 << 10, 64 << 10);
    assert!(head(&mut stream).starts_with("HTTP/1.1 401"), "a form of this length is taken");
}

#[test]
fn all_bodies_in_flight_have_one_budget() {
    let server = with_budget("off");
    let public = address(&server.url);
    let mut held: Vec<TcpStream> = (0..17).map(|_| TcpStream::connect(public).unwrap()).collect();
    for stream in &mut held {
        begin(stream, SENT + 5, SENT);
    }
    eventually(|| bytes_in_flight(&server) == 17 * SENT as u64);
    let mut next = TcpStream::connect(public).unwrap();
    begin(&mut next, SENT, SENT);
    let refused = head(&mut next);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    let mut small = TcpStream::connect(public).unwrap();
    begin(&mut small, 1_000, 1_000);
    assert!(head(&mut small).starts_with("HTTP/1.1 401"), "what fits is taken");
    // Administrators go on.
    let name = "x".repeat(100_000);
    let client = serde_json::json!({ "client_name": name });
    assert_ne!(server.admin("POST", "/clients", Some(client)).status, 503);
    held[0].write_all(b"=1&b=").unwrap();
    assert!(head(&mut held[0]).starts_with("HTTP/1.1 401"));
    let mut next = TcpStream::connect(public).unwrap();
    begin(&mut next, SENT, SENT);
    assert!(head(&mut next).starts_with("HTTP/1.1 401"));
    assert_eq!(metric(&server, "symbolon_request_bodies_refused_total{reason=\"budget\"}"), 1);
    drop(held);
    eventually(|| bytes_in_flight(&server) == 0);
}

#[test]
fn one_address_does_not_take_the_whole_budget() {
    let server = with_budget("on");
    let public = address(&server.url);
    let mut held: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(public).unwrap()).collect();
    for stream in &mut held {
        begin(stream, SENT + 5, SENT);
    }
    eventually(|| bytes_in_flight(&server) == 2 * SENT as u64);
    let mut third = TcpStream::connect(public).unwrap();
    begin(&mut third, SENT + 5, SENT);
    let refused = head(&mut third);
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("retry-after: 1"), "{refused}");
    let mut other = connect_from(&server, "127.0.0.2", public);
    begin(&mut other, SENT, SENT);
    assert!(head(&mut other).starts_with("HTTP/1.1 401"));
}

/// An HTTP/2 connection, and requests on it whose bodies do not end.
struct Http2 {
    client: SendRequest<Bytes>,
    pings: PingPong,
    begun: Vec<(ResponseFuture, SendStream<Bytes>)>,
}

impl Http2 {
    async fn connect(to: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(to).await.expect("a connection");
        let (client, mut connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let pings = connection.ping_pong().expect("pings");
        tokio::spawn(connection);
        let mut connected = Self { client, pings, begun: Vec::new() };
        connected.settle().await;
        connected
    }

    /// Returns once everything has come that the server sent until now.
    async fn settle(&mut self) {
        self.pings.ping(Ping::opaque()).await.expect("an echo");
    }

    async fn begin(&mut self) {
        let client = std::future::poll_fn(|context| self.client.poll_ready(context));
        client.await.expect("a connection that goes on");
        let request = Request::post("http://localhost/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(())
            .expect("a request");
        self.begun.push(self.client.send_request(request, false).expect("a stream"));
    }

    /// Sends as much on all streams as flow control lets through, and says how much.
    async fn send_all_that_goes(&mut self) -> usize {
        let mut all = 0;
        loop {
            for (_, stream) in &mut self.begun {
                stream.reserve_capacity(1 << 20);
            }
            // The connection's task gives out what the windows allow.
            self.settle().await;
            let mut sent = 0;
            for (_, stream) in &mut self.begun {
                let capacity = stream.capacity();
                if capacity > 0 && stream.send_data(vec![b'x'; capacity].into(), false).is_ok() {
                    sent += capacity;
                }
            }
            if sent == 0 {
                return all;
            }
            all += sent;
        }
    }

    /// Sends part of a form on the last stream, unless that is answered before; its status then.
    async fn send(&mut self) -> Option<u16> {
        let (response, stream) = self.begun.last_mut().expect("a stream");
        let sending = async {
            let mut left = SENT;
            while left > 0 {
                stream.reserve_capacity(left);
                let capacity = poll_fn(|context| stream.poll_capacity(context)).await;
                let Some(Ok(capacity)) = capacity else { return };
                let piece = capacity.min(left);
                if stream.send_data(vec![b'x'; piece].into(), false).is_err() {
                    return;
                }
                left -= piece;
            }
        };
        tokio::select! {
            answer = response => answer.ok().map(|answer| answer.status().as_u16()),
            () = sending => None,
        }
    }
}

#[test]
fn a_connection_sends_no_more_than_its_window_before_anybody_reads() {
    if is_clustered() {
        // A cluster's store is not recovered by this process, so requests are read at once.
        return;
    }
    // Nobody reads what comes before the store is recovered.
    let mut server = TestServer::start_with(Options::default().one_node().recover_later());
    let public = address(&server.url);
    let (streams, sent, begun) = server.block_on(async {
        let mut connection = Http2::connect(public).await;
        let streams = connection.client.current_max_send_streams();
        for _ in 0..streams.min(1_000) {
            connection.begin().await;
        }
        let sent = connection.send_all_that_goes().await;
        (streams, sent, connection.begun)
    });
    assert_eq!(streams, 100);
    assert!(sent > 0 && sent <= 128 << 10, "{sent} bytes were taken that nobody read");
    drop(begun);
    server.recover();
}

#[test]
fn many_streams_hold_no_more_than_the_budget() {
    let server = with_budget("off");
    let public = address(&server.url);
    let held = server.block_on(async {
        let mut held = Vec::new();
        for _ in 0..4 {
            let mut connection = Http2::connect(public).await;
            for _ in 0..100 {
                connection.begin().await;
                assert!(matches!(connection.send().await, None | Some(503)));
                assert!(
                    bytes_in_flight(&server) <= BUDGET + (64 << 10),
                    "a piece that is refused counts for a moment"
                );
            }
            held.push(connection);
        }
        held
    });
    let refused = || metric(&server, "symbolon_request_bodies_refused_total{reason=\"budget\"}");
    eventually(|| refused() >= 400 - 18);
    assert!(bytes_in_flight(&server) <= BUDGET);
    drop(held);
    eventually(|| bytes_in_flight(&server) == 0);
}
