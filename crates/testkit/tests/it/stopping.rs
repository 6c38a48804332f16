//! A server that stops.

use std::io::{Read, Write};
use std::net::TcpStream;

use symbolon_testkit::{Options, TestServer};

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
