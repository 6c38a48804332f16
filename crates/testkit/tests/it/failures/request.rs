//! What may be wrong with any request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use symbolon_protocol::refusal::Reason;
use symbolon_testkit::Answer;

use super::{Bench, Case, run};
use crate::connections::address;

/// Sends the beginning of a form and no more; the answer.
fn cut_off(bench: &Bench, id: &str) -> Answer {
    let mut stream = TcpStream::connect(address(&bench.server.url)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!(
        "POST /token HTTP/1.1\r\nhost: localhost\r\nx-request-id: {id}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n\r\ngrant_type="
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    };
    Answer { status, headers: lines.filter_map(header).collect(), body: body.to_owned() }
}

pub(super) const CASES: [Case<Bench>; 8] = [
    Case::new(Reason::BodyIncomplete, (400, "invalid_request"), &[], cut_off),
    Case::new(Reason::RequestTooLong, (400, "invalid_request"), &[], |bench, id| {
        let many = "a=1&".repeat(257);
        let kind = ("content-type", "application/x-www-form-urlencoded");
        bench.server.browser().send("POST", "/token", &[kind, ("x-request-id", id)], many.as_bytes())
    }),
    Case::new(Reason::FormMalformed, (400, "invalid_request"), &[], |bench, id| {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        bench.server.browser().send("POST", "/token", &[kind, ("x-request-id", id)], b"grant_type=%zz")
    }),
    Case::new(Reason::NotAForm, (415, "invalid_request"), &[], |bench, id| {
        let kind = ("content-type", "application/json");
        bench.server.browser().send("POST", "/token", &[kind, ("x-request-id", id)], b"{}")
    }),
    Case::new(Reason::BodyTooLong, (413, "invalid_request"), &[], |bench, id| {
        let long = format!("a={}", "x".repeat(70_000));
        let kind = ("content-type", "application/x-www-form-urlencoded");
        bench.server.browser().send("POST", "/token", &[kind, ("x-request-id", id)], long.as_bytes())
    }),
    Case::new(Reason::MethodNotAllowed, (405, "invalid_request"), &[], |bench, id| {
        bench.server.browser().get_with("/token", &[("x-request-id", id)])
    }),
    Case::new(Reason::ParameterRepeated, (400, "invalid_request"), &["`scope`"], |bench, id| {
        let form = [("grant_type", "client_credentials"), ("scope", "a"), ("scope", "b")];
        bench.post(id, &bench.rp, "/token", &form)
    }),
    Case::new(Reason::ParameterMissing, (400, "invalid_request"), &["`code`"], |bench, id| {
        bench.post(id, &bench.rp, "/token", &[("grant_type", "authorization_code")])
    }),
];

#[test]
fn requests() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
