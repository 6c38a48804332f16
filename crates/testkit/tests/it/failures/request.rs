//! What may be wrong with any request.

use symbolon_protocol::refusal::Reason;

use super::{Bench, Case, run};

pub(super) const CASES: [Case<Bench>; 7] = [
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
