//! A target that fails in every way that a load test tells apart: what the terminal says of it, and what ends it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::results;
use crate::place::{Place, Ran};

/// Starts it; its URL. Of five requests one is answered, one never, one is reset, one cut off, one refused.
fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (issuer, number) = (url.clone(), Arc::new(AtomicU64::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (issuer, number) = (issuer.clone(), Arc::clone(&number));
            // A client that goes away is no trouble of the server's.
            std::thread::spawn(move || drop(converse(stream.unwrap(), &issuer, &number)));
        }
    });
    url
}

fn converse(mut stream: TcpStream, issuer: &str, number: &AtomicU64) -> std::io::Result<()> {
    let mut request = [0; 4_096];
    loop {
        let mut length = stream.peek(&mut request)?;
        while length > 0 && !request[..length].ends_with(b"\r\n\r\n") {
            std::thread::yield_now();
            length = stream.peek(&mut request)?;
        }
        if length == 0 {
            return Ok(());
        }
        let is_discovery = request.starts_with(b"GET /.well-known/");
        let fate = if is_discovery { 0 } else { number.fetch_add(1, Ordering::SeqCst) % 5 };
        if fate == 2 {
            // Closed while there is something left to read: the peer hears of it by a reset.
            return Ok(());
        }
        stream.read_exact(&mut request[..length])?;
        match fate {
            _ if is_discovery => answer(&mut stream, "200 OK", &discovery(issuer))?,
            0 => answer(&mut stream, "200 OK", "{}")?,
            // Until the client hangs up.
            1 => return stream.read(&mut request).map(drop),
            3 => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")?;
                return stream.shutdown(Shutdown::Both);
            }
            _ => answer(&mut stream, "503 Service Unavailable", "not now")?,
        }
    }
}

fn answer(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

fn discovery(issuer: &str) -> String {
    let at = |path: &str| format!("{issuer}/{path}");
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": at("authorize"),
        "token_endpoint": at("token"),
        "userinfo_endpoint": at("userinfo"),
        "introspection_endpoint": at("introspect"),
        "revocation_endpoint": at("revoke"),
        "jwks_uri": at("jwks"),
    });
    document.to_string()
}

/// A load of it with a scenario that asks for one thing.
fn load(place: &Place, more: &[&str]) -> Ran {
    let thing = "[[scenario]]\nname = \"thing\"\n[[scenario.request]]\nname = \"ask\"\nurl = \"/thing\"\nstatus = [200]\n";
    std::fs::write(place.path("thing.toml"), thing).unwrap();
    let url = start();
    let load = ["loadtest", "run", "--scenario-file", "thing.toml", "--target", &url, "--rate", "50"];
    let short = ["--warm-up", "0s", "--timeout", "500ms", "--out", "report"];
    place.run(&[&load[..], &short, more].concat())
}

#[test]
fn the_first_of_each_kind_is_told_with_its_request_and_its_answer() {
    let place = Place::new();
    let ran = load(&place, &["--duration", "1s"]);
    assert!(ran.out.contains("thing 50/s: FAILED"), "{}", ran.out);
    for (kind, detail, answered) in [
        ("timeout", "no answer in time", false),
        ("connection reset", "connection failed: Connection reset by peer", false),
        ("closed", "the connection was closed before the answer was complete", false),
        ("ask: status", "503", true),
    ] {
        let mut lines = ran.out.lines().skip_while(|line| *line != format!("  10 × {kind}")).skip(1);
        let first = lines.next().unwrap_or_else(|| panic!("{kind}: {}", ran.out));
        assert!(first.starts_with("    the first: ") && first.contains(detail), "{kind}: {first}");
        assert_eq!(lines.next(), Some("    > GET /thing HTTP/1.1"), "{kind}: {}", ran.out);
        let answer = lines.find(|line| !line.starts_with("    > ")).unwrap_or_default();
        assert_eq!(answer == "    < HTTP/1.1 503 Service Unavailable", answered, "{kind}: {answer}");
    }
    ran.bad(1);
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    assert!(report.contains("connection reset 10") && report.contains("timeout 10"), "{report}");
}

#[test]
fn a_rule_ends_a_load_at_once_and_its_results_are_kept() {
    let place = Place::new();
    let ran = load(&place, &["--duration", "1h", "--abort-on", "failure_share>0.5 for 1s"]);
    let told = ["partial: thing 50/s: stopped after ", " by --abort-on 'failure_share>0.5 for 1s'"];
    assert!(
        told.iter().all(|part| ran.out.contains(part)) && ran.error.contains("the results are partial"),
        "{}{}",
        ran.out,
        ran.error
    );
    ran.bad(1);
    let results = results(&place);
    let run = &results["runs"][0];
    assert_eq!(run["aborted"]["rule"], "failure_share>0.5 for 1s", "{run}");
    assert!(run["requests"].as_u64() >= Some(50) && run["requests"].as_u64() < Some(50 * 60), "{run}");
    assert!(std::fs::read_to_string(place.path("report/report.html")).unwrap().contains("PARTIAL"));
}
