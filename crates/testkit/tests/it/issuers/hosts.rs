//! Which host counts when a request says several things, tried as bytes on a socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use symbolon_testkit::TestServer;

use super::{start, urls};

const DISCOVERY: &str = "/.well-known/openid-configuration";

fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.trim_start_matches("http://")).unwrap()
}

/// Status and body of a request without a body.
fn ask(url: &str, line: &str, hosts: &[&str]) -> (u16, String) {
    let mut stream = connect(url);
    let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
    stream.write_all(format!("{line}\r\n{hosts}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The issuer whose discovery document answers, or the status that refuses.
fn issuer((status, body): (u16, String)) -> Result<String, u16> {
    if status != 200 {
        return Err(status);
    }
    let document: Value = serde_json::from_str(&body).unwrap();
    Ok(document["issuer"].as_str().unwrap().to_owned())
}

/// The server's `default` and `other`, and the hosts that they are on.
fn two() -> (TestServer, [String; 2], [String; 2]) {
    let server = start();
    let [root, _, other] = urls(&server);
    let host = |url: &String| url.trim_start_matches("http://").to_owned();
    let hosts = [host(&root), host(&other)];
    (server, [root, other], hosts)
}

/// RFC 9112 3.2.2.
#[test]
fn a_target_in_absolute_form_says_the_host() {
    let (server, [root, other], [root_host, other_host]) = two();
    let line = format!("GET {other}{DISCOVERY} HTTP/1.1");
    assert_eq!(issuer(ask(&server.url, &line, &[&root_host])), Ok(other));
    let line = format!("GET {root}{DISCOVERY} HTTP/1.1");
    assert_eq!(issuer(ask(&server.url, &line, &[&other_host])), Ok(root.clone()));
    // RFC 9112 3.2: the Host header has to be there, and well-formed, all the same.
    assert_eq!(issuer(ask(&server.url, &line, &[])), Err(400));
    // Inside an issuer with a path too.
    let line = format!("GET {root}/acme{DISCOVERY} HTTP/1.1");
    assert_eq!(issuer(ask(&server.url, &line, &[&other_host])), Ok(format!("{root}/acme")));
}

/// RFC 9112 3.2.
#[test]
fn http_1_1_has_one_host_line() {
    let (server, [root, _], hosts) = two();
    let [root_host, other_host] = [hosts[0].as_str(), hosts[1].as_str()];
    for url in [&server.url, &server.management] {
        for path in [DISCOVERY, "/healthz", "/assets/nothing"] {
            for hosts in [&[][..], &[root_host, other_host], &[root_host, root_host], &["a b"]] {
                let (status, _) = ask(url, &format!("GET {path} HTTP/1.1"), hosts);
                assert_eq!(status, 400, "{url}{path} {hosts:?}");
            }
        }
    }
    assert_eq!(issuer(ask(&server.url, &format!("GET {DISCOVERY} HTTP/1.1"), &[root_host])), Ok(root));
}

#[test]
fn http_1_0_can_do_without_a_host() {
    let (server, ..) = two();
    for path in ["/healthz", "/readyz"] {
        assert_eq!(ask(&server.management, &format!("GET {path} HTTP/1.0"), &[]).0, 200, "{path}");
    }
    assert_eq!(
        issuer(ask(&server.url, &format!("GET {DISCOVERY} HTTP/1.0"), &[])),
        Err(404),
        "which of several"
    );
    let single = TestServer::start();
    let answer = ask(&single.url, &format!("GET {DISCOVERY} HTTP/1.0"), &[]);
    assert_eq!(issuer(answer), Ok(single.issuer.clone()));
}

/// RFC 9110 4.2.3.
#[test]
fn the_port_of_the_scheme_may_be_named() {
    let (server, ..) = two();
    for (id, url) in [("named", "https://op.example"), ("plain", "http://plain.example")] {
        let made = server.admin("POST", "/issuers", Some(serde_json::json!({ "id": id, "url": url })));
        assert_eq!(made.status, 201, "{made:?}");
    }
    let line = format!("GET {DISCOVERY} HTTP/1.1");
    for (host, found) in [
        ("op.example", Ok("https://op.example")),
        ("OP.example:443", Ok("https://op.example")),
        ("op.example:80", Err(404)),
        ("plain.example:80", Ok("http://plain.example")),
        ("plain.example:443", Err(404)),
    ] {
        assert_eq!(issuer(ask(&server.url, &line, &[host])), found.map(str::to_owned), "{host}");
    }
}

/// A frame of RFC 9113 4.1.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// GET of the discovery document by HTTP/2, its fields as literals that HPACK keeps in no table.
fn ask_http2(url: &str, authority: Option<&str>, hosts: &[&str]) -> (u16, String) {
    let field = |index: &[u8], value: &str| [index, &[value.len() as u8], value.as_bytes()].concat();
    let mut fields = vec![vec![0x82, 0x86], field(&[0x04], DISCOVERY)];
    fields.extend(authority.map(|authority| field(&[0x01], authority)));
    fields.extend(hosts.iter().map(|host| field(&[0x0f, 0x17], host)));
    let mut stream = connect(url);
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    // SETTINGS; HEADERS with END_HEADERS and END_STREAM.
    stream.write_all(&[frame(4, 0, 0, &[]), frame(1, 5, 1, &fields.concat())].concat()).unwrap();
    let (mut status, mut body) = (0, Vec::new());
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let [_, high, low, kind, flags, ..] = head;
        let mut payload = vec![0; usize::from(high) << 8 | usize::from(low)];
        stream.read_exact(&mut payload).unwrap();
        match kind {
            0 => body.extend_from_slice(&payload),
            // The statuses that HPACK has an index for.
            1 => status = [200, 204, 206, 304, 400, 404, 500][usize::from(payload[0] - 0x88)],
            _ => continue,
        }
        if flags & 1 == 1 {
            return (status, String::from_utf8(body).unwrap());
        }
    }
}

/// RFC 9113 8.3.1.
#[test]
fn by_http2_the_authority_says_the_host() {
    let (server, [root, other], [root_host, other_host]) = two();
    for (authority, hosts, found) in [
        (Some(&other_host), &[][..], Ok(&other)),
        (Some(&other_host), &[root_host.as_str()], Ok(&other)),
        (Some(&root_host), &[other_host.as_str()], Ok(&root)),
        (None, &[other_host.as_str()], Ok(&other)),
        (None, &[other_host.as_str(), other_host.as_str()], Err(400)),
        (None, &[], Err(404)),
    ] {
        let answer = ask_http2(&server.url, authority.map(String::as_str), hosts);
        assert_eq!(issuer(answer), found.cloned(), "{authority:?} {hosts:?}");
    }
}
