//! Bodies that are too long, of the wrong type, or broken off.

use super::{FORM, MIB, Well, alone, resident_mib};

const FORMS: [&str; 4] = ["/token", "/introspect", "/revoke", "/userinfo"];
const PAGES: [&str; 4] = ["/authorize", "/login", "/consent", "/logout"];
/// What allocators keep is allowed; what these bodies would leave is not.
const FLAT_MIB: usize = 256;

fn admin(server: &Well, method: &str, path: &str, media_type: &str, body: &[u8]) -> super::Reply {
    let headers = [("Authorization", "Bearer an-admin-secret-for-tests"), ("Content-Type", media_type)];
    server.send(method, &format!("/api/admin{path}"), &headers, body)
}

#[test]
fn ten_megabytes_are_413_and_nothing_is_kept() {
    if !alone("bad_input::bodies::ten_megabytes_are_413_and_nothing_is_kept") {
        return;
    }
    let server = Well::start();
    let before = resident_mib();
    let long = [b"a=".as_slice(), &vec![b'x'; 10 * MIB]].concat();
    for path in FORMS.into_iter().chain(PAGES) {
        let reply = server.post_form(path, &long);
        assert_eq!(reply.status, 413, "{path} {reply:?}");
    }
    let reply = admin(&server, "POST", "/clients", "application/json", &long);
    assert_eq!((reply.status, reply.error()), (413, "invalid_request".into()));
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| assert_eq!(server.post_form("/token", &long).status, 413));
        }
    });
    assert!(resident_mib() < before + FLAT_MIB, "{before} MiB became {}", resident_mib());
}

#[test]
fn ten_megabytes_without_a_length_are_413_too() {
    let server = Well::start();
    let chunk = [b"10000\r\n".as_slice(), &vec![b'x'; 0x10000], b"\r\n"].concat();
    for path in FORMS {
        let mut wire = server.wire();
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {FORM}\r\n");
        wire.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
        for _ in 0..160 {
            wire.write(&chunk);
        }
        wire.write(b"0\r\n\r\n");
        assert_eq!(wire.reply().status, 413, "{path}");
    }
}

#[test]
fn a_body_of_another_type_is_refused() {
    let server = Well::start();
    let (_, basic) = server.client();
    for path in ["/token", "/introspect", "/revoke", "/par", "/device_authorization"] {
        for media_type in
            ["application/json", "multipart/form-data; boundary=x", "text/plain", "application/", "\u{1}"]
        {
            let headers = [("Authorization", basic.as_str()), ("Content-Type", media_type)];
            let reply = server.post(path, &headers, b"grant_type=client_credentials&token=x");
            assert!(matches!(reply.status, 400 | 415), "{path} {media_type} {reply:?}");
        }
        let reply = server.post(path, &[("Authorization", basic.as_str())], b"token=x");
        assert_eq!((reply.status, reply.error()), (415, "invalid_request".into()), "{path}");
    }
    for media_type in [FORM, "text/json", ""] {
        let reply = admin(&server, "POST", "/users", media_type, br#"{"email":"a@example.com"}"#);
        assert_eq!((reply.status, reply.error()), (415, "invalid_request".into()), "{media_type}");
    }
}

#[test]
fn json_that_is_none_is_refused() {
    let server = Well::start();
    let deep = "[".repeat(100_000);
    let objects = "{\"a\":".repeat(50_000);
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"text\"",
        deep.as_bytes(),
        objects.as_bytes(),
        b"{\"client_name\":\"\xff\xfe\",\"email\":\"\xff\"}",
        b"{\"client_name\":1e999}",
        b"\x00",
        b"{\"client_name\":\"\\ud800\"}",
        b"NaN",
    ];
    for path in ["/clients", "/users", "/issuers"] {
        for body in bodies {
            let reply = admin(&server, "POST", path, "application/json", body);
            assert_eq!((reply.status, reply.error()), (400, "invalid_request".into()), "{path} {body:.20?}");
        }
    }
    for body in &bodies[1..] {
        let reply = admin(&server, "PATCH", "/settings", "application/json", body);
        assert_eq!(reply.status, 400, "{body:.20?}");
    }
}

#[test]
fn lines_that_are_none_are_answered_each() {
    let server = Well::start();
    let long = "x".repeat(100_000);
    let lines = format!("{{\n[]\n\"\u{fffd}\"\n{long}\n{{}}\n\n{{\"email\":\"last@example.com\"}}");
    let reply = admin(&server, "POST", "/users/bulk", "application/x-ndjson", lines.as_bytes());
    assert_eq!(reply.status, 200);
    let refused = reply.body.matches("\"error\":\"invalid_request\"").count();
    assert_eq!(refused, 5, "{reply:?}");
}

#[test]
fn a_body_that_is_broken_off_is_400() {
    let server = Well::start();
    let head = format!("POST /token HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {FORM}\r\n");
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    for (head, body) in [
        (format!("{head}Content-Length: 100\r\n\r\n"), "grant_type=x"),
        (chunked.clone(), "c\r\ngrant_"),
        (chunked.clone(), "c\r\ngrant_type=x\r\n"),
        (chunked.clone(), "zz\r\ngrant_type=x\r\n0\r\n\r\n"),
        (chunked.clone(), "-1\r\n\r\n"),
        (chunked.clone(), "ffffffffffffffffff\r\nx"),
        (chunked.clone(), "3\r\ngrant_type=x\r\n0\r\n\r\n"),
        (format!("{head}Content-Length: -1\r\n\r\n"), "x"),
        (format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), "xx"),
        (format!("{head}Content-Length: 99999999999999999999999\r\n\r\n"), "xx"),
        (format!("{head}Transfer-Encoding: gzip\r\n\r\n"), "xx"),
    ] {
        let mut wire = server.wire();
        wire.write(head.as_bytes());
        wire.write(body.as_bytes());
        wire.finish();
        let reply = wire.reply();
        assert!(matches!(reply.status, 0 | 400), "{head}{body}: {reply:?}");
    }
}

#[test]
fn a_message_of_two_lengths_is_read_one_way_only() {
    let server = Well::start();
    // RFC 9112 6.3: smuggling. Whatever the first is answered, the second must not be.
    let mut wire = server.wire();
    let smuggled = "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let length = 5 + smuggled.len();
    let head =
        format!("POST /token HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: {length}\r\n");
    wire.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}").as_bytes());
    wire.finish();
    let reply = wire.reply();
    assert!(!reply.body.contains("\"keys\""), "{reply:?}");
}
