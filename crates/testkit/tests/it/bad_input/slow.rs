//! Clients that send slowly, or nothing: cut off in time, and nobody else waits for them.

use super::{FORM, Well, alone, resident_mib};
use symbolon_testkit::Options;

/// A server that waits a second for one thing and minutes for the others, however slow this machine is.
fn impatient(about: &str) -> Well {
    let timeouts = ["HEADER", "REQUEST", "IDLE"].into_iter().fold(Options::default(), |options, name| {
        let patience = if name == about { "1s" } else { "300s" };
        options.env(&format!("SYMBOLON_HTTP_{name}_TIMEOUT"), patience)
    });
    Well::start_with(timeouts)
}

fn post(path: &str, framing: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\n{framing}\r\n\r\n").into_bytes()
}

#[test]
fn a_slow_body_is_408() {
    let server = impatient("REQUEST");
    for path in ["/token", "/introspect", "/revoke", "/userinfo", "/authorize", "/logout"] {
        for (framing, drip) in
            [("Content-Length: 60000", &b"x"[..]), ("Transfer-Encoding: chunked", b"1\r\nx\r\n")]
        {
            let mut wire = server.wire();
            wire.write(&post(path, framing));
            let reply = wire.trickle(drip);
            assert_eq!(reply.status, 408, "{path} {framing} {reply:?}");
            // RFC 9110 15.5.9: what is left of the body must not be taken for the next request.
            assert_eq!(reply.header("connection"), Some("close"));
        }
    }
    let mut wire = server.wire();
    let head =
        "POST /api/admin/users HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer an-admin-secret-for-tests\r\n";
    wire.write(format!("{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n").as_bytes());
    assert_eq!(wire.trickle(b" ").status, 408);
}

#[test]
fn a_body_that_stops_is_408() {
    let server = impatient("REQUEST");
    let mut wire = server.wire();
    wire.write(&post("/token", "Content-Length: 1000"));
    wire.write(b"grant_type=");
    assert_eq!(wire.reply().status, 408);
}

#[test]
fn a_bulk_stream_may_take_its_time() {
    let server = impatient("REQUEST");
    let mut wire = server.wire();
    let head = "POST /api/admin/users/bulk HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer an-admin-secret-for-tests\r\n";
    let head = format!(
        "{head}Connection: close\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    wire.write(head.as_bytes());
    // Three times as long as any other body may take.
    let lines = 30;
    for number in 0..lines {
        let line = format!("{{\"email\":\"u{number}@example.com\"}}\n");
        assert!(wire.write(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()), "cut off");
        std::thread::park_timeout(std::time::Duration::from_millis(100));
    }
    wire.write(b"0\r\n\r\n");
    let reply = wire.reply();
    assert_eq!((reply.status, reply.body.matches("\"email\"").count()), (200, lines), "{reply:?}");
}

#[test]
fn a_slow_head_ends() {
    let server = impatient("HEADER");
    for first in [&b"GET / HTTP/1.1\r\nX-Slow: "[..], b"G", b"PRI * HTTP/2.0\r\n\r\n"] {
        let mut wire = server.wire();
        wire.write(first);
        let reply = wire.trickle(b"x");
        assert!(matches!(reply.status, 0 | 400 | 408), "{reply:?}");
    }
}

#[test]
fn a_connection_that_says_nothing_ends() {
    let server = impatient("HEADER");
    assert_eq!(server.wire().reply().status, 0);
    let server = impatient("IDLE");
    let mut wire = server.wire();
    wire.write(b"GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n\r\n");
    // Everything until the server closes: the answer, then nothing.
    assert_eq!(wire.reply().status, 200);
}

#[test]
fn many_slow_clients_hold_no_memory_and_keep_nobody_waiting() {
    if !alone("bad_input::slow::many_slow_clients_hold_no_memory_and_keep_nobody_waiting") {
        return;
    }
    let server = impatient("REQUEST");
    let before = resident_mib();
    let mut slow: Vec<_> = (0..300).map(|_| server.wire()).collect();
    let begun = [post("/token", "Content-Length: 60000").as_slice(), &[b'x'; 1000]].concat();
    for wire in &mut slow {
        wire.write(&begun);
    }
    for _ in 0..20 {
        assert_eq!(server.send("GET", "/userinfo", &[], b"").status, 401);
    }
    for mut wire in slow {
        assert_eq!(wire.reply().status, 408);
    }
    assert!(resident_mib() < before + 128, "{before} MiB became {}", resident_mib());
}
