//! The client against servers that answer in odd ways.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use symbolon_loadtest::client::{ClientError, Connection, Timeouts, request};

fn server(converse: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| converse(stream.unwrap())));
    address
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn post(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    request::with_body(&mut bytes, ("POST", "/"), "localhost", &[], body);
    bytes
}

#[test]
fn a_server_that_answers_while_it_reads_does_not_lock_up() {
    const LEN: usize = 16 * 1024 * 1024;
    // Echoes each piece at once as a chunk, and reads nothing more until that is written.
    let address = server(|mut stream| {
        let mut buffer = vec![0; 64 * 1024];
        let mut left = post(&vec![b'x'; LEN]).len();
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        while left > 0 {
            let read = stream.read(&mut buffer).unwrap();
            left -= read;
            write!(stream, "{read:x}\r\n").unwrap();
            stream.write_all(&buffer[..read]).unwrap();
            stream.write_all(b"\r\n").unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
        // Until the client hangs up.
        let _ = stream.read(&mut buffer);
    });
    let request = post(&vec![b'x'; LEN]);
    block_on(async {
        let mut connection = Connection::open(&address.into(), Timeouts::default()).await.unwrap();
        let response = connection.exchange(&request).await.unwrap();
        assert!(response.body == request, "{} bytes", response.body.len());
        assert!(connection.is_reusable());
    });
}

#[test]
fn a_refusal_before_the_body_is_read_is_an_answer() {
    let address = server(|mut stream| {
        let _ = stream.read(&mut [0; 100]);
        stream
            .write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
        // Closing with unread data would reset the connection and could discard the answer.
        let mut rest = vec![0; 1024 * 1024];
        while let Ok(1..) = stream.read(&mut rest) {}
    });
    block_on(async {
        let mut connection = Connection::open(&address.into(), Timeouts::default()).await.unwrap();
        let request = post(&vec![b'x'; 32 * 1024 * 1024]);
        assert_eq!(connection.exchange(&request).await.unwrap().status, 413);
        assert!(!connection.is_reusable());
    });
}

#[test]
fn silence_cuts_and_nonsense_have_names() {
    let kind_of = |answer: &'static [u8], hold: bool| {
        let address = server(move |mut stream| {
            let _ = stream.read(&mut [0; 1000]);
            stream.write_all(answer).unwrap();
            while hold && stream.read(&mut [0; 10]).is_ok_and(|read| read > 0) {}
        });
        // Only who holds the connection is to be waited for in vain.
        let request = if hold { Duration::from_millis(100) } else { Timeouts::default().request };
        block_on(async {
            let timeouts = Timeouts { request, ..Timeouts::default() };
            let mut connection = Connection::open(&address.into(), timeouts).await.unwrap();
            let error = connection.exchange(&post(b"x")).await.err().unwrap();
            assert!(!connection.is_reusable());
            error.kind()
        })
    };
    assert_eq!(kind_of(b"", true), "timeout");
    assert_eq!(kind_of(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", true), "timeout");
    assert_eq!(kind_of(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", false), "closed");
    assert_eq!(kind_of(b"", false), "closed");
    assert_eq!(kind_of(b"220 smtp ready\r\n\r\n", false), "malformed");
}

#[test]
fn nobody_there() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let error = block_on(Connection::open(&address.into(), Timeouts::default())).err().unwrap();
    assert!(matches!(error, ClientError::Connect { .. }));
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
