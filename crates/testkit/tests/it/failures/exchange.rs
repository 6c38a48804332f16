//! Token exchange.

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty};

use super::{Bench, Case, run};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const INVALID: (u16, &str) = (400, "invalid_grant");

fn exchange(bench: &Bench, id: &str, rp: &RelyingParty, subject: &str, more: &[(&str, &str)]) -> Answer {
    let mut form = vec![("grant_type", GRANT), ("subject_token", subject)];
    if !more.iter().any(|(name, _)| *name == "subject_token_type") {
        form.push(("subject_token_type", ACCESS_TOKEN));
    }
    form.extend_from_slice(more);
    bench.post(id, rp, "/token", &form)
}

fn own(bench: &Bench, id: &str, more: &[(&str, &str)]) -> Answer {
    let subject = bench.rp.sign_in(&bench.session).access_token;
    exchange(bench, id, &bench.rp, &subject, more)
}

/// A client that may name one target only.
fn bound(bench: &Bench, id: &str, more: &[(&str, &str)]) -> Answer {
    let rp = bench.client(json!({ "allowed_token_exchange_resources": ["https://api.example"] }));
    let subject = rp.sign_in(&bench.session).access_token;
    exchange(bench, id, &rp, &subject, more)
}

/// Asks for an ID-JAG, at an issuer that makes them.
fn id_jag(bench: &Bench, id: &str, more: &[(&str, &str)]) -> Answer {
    bench.patch("/settings", json!({ "token_exchange_id_jag": true }));
    let mut form = vec![("subject_token_type", ID_TOKEN), ("requested_token_type", ID_JAG)];
    form.extend_from_slice(more);
    let answer = exchange(bench, id, &bench.rp, "x", &form);
    bench.patch("/settings", json!({ "token_exchange_id_jag": false }));
    answer
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, number| match inner {
        Value::Null => json!({ "sub": format!("actor-{number}") }),
        inner => json!({ "sub": format!("actor-{number}"), "act": inner }),
    })
}

pub(super) const CASES: [Case<Bench>; 16] = [
    Case::new(Reason::ExchangeOff, (400, "unsupported_grant_type"), &[], |bench, id| {
        bench.patch("/settings", json!({ "token_exchange": false }));
        let answer = own(bench, id, &[]);
        bench.patch("/settings", json!({ "token_exchange": true }));
        answer
    }),
    Case::new(Reason::ExchangeNotAllowed, (400, "unauthorized_client"), &[], |bench, id| {
        let rp = bench.client(json!({ "token_exchange_allowed": false }));
        exchange(bench, id, &rp, "x", &[])
    }),
    Case::new(Reason::IdTokenExchangeNotAllowed, (400, "unauthorized_client"), &[], |bench, id| {
        let types =
            |all: Value| bench.patch("/settings", json!({ "token_exchange_subject_token_types": all }));
        types(json!([ACCESS_TOKEN, ID_TOKEN]));
        let answer = exchange(bench, id, &bench.rp, "x", &[("subject_token_type", ID_TOKEN)]);
        types(json!([ACCESS_TOKEN]));
        answer
    }),
    Case::new(Reason::IdJagOff, (400, "invalid_request"), &[], |bench, id| {
        let more = [("subject_token_type", ID_TOKEN), ("requested_token_type", ID_JAG)];
        exchange(bench, id, &bench.rp, "x", &more)
    }),
    Case::new(Reason::IdJagAudienceNotOne, (400, "invalid_request"), &[], |bench, id| id_jag(bench, id, &[])),
    Case::new(
        Reason::IdJagTargetNotAllowed,
        (400, "invalid_target"),
        &["`audience` was https://chat.example"],
        |bench, id| id_jag(bench, id, &[("audience", "https://chat.example")]),
    ),
    Case::new(Reason::TokenTypeUnsupported, (400, "invalid_request"), &["was urn:x"], |bench, id| {
        own(bench, id, &[("subject_token_type", "urn:x")])
    }),
    Case::new(
        Reason::TargetMissing,
        (400, "invalid_target"),
        &["registered is https://api.example"],
        |bench, id| bound(bench, id, &[]),
    ),
    Case::new(
        Reason::TargetNotAllowed,
        (400, "invalid_target"),
        &["was https://other.example, registered is https://api.example"],
        |bench, id| bound(bench, id, &[("audience", "https://other.example")]),
    ),
    Case::new(Reason::ExchangeScopeEmpty, (400, "invalid_scope"), &["`scope` was payments"], |bench, id| {
        own(bench, id, &[("scope", "payments")])
    }),
    Case::new(Reason::ExchangedTooOften, INVALID, &[], |bench, id| {
        let ancestors: Vec<String> = (0..16).map(|number| format!("at_1_ancestor-{number}")).collect();
        let subject = bench.signed_token(json!({ "anc": ancestors }));
        exchange(bench, id, &bench.rp, &subject, &[])
    }),
    Case::new(Reason::ActorChainTooLong, INVALID, &[], |bench, id| {
        let subject = bench.signed_token(json!({ "act": nested(16) }));
        exchange(bench, id, &bench.rp, &subject, &[])
    }),
    Case::new(Reason::ActorNotAllowed, INVALID, &["`may_act` was client:"], |bench, id| {
        let subject = bench.signed_token(json!({ "may_act": { "sub": "client:somebody-else" } }));
        exchange(bench, id, &bench.rp, &subject, &[])
    }),
    Case::new(Reason::SubjectOfOtherSector, INVALID, &["`client_id` was "], |bench, id| {
        let own =
            json!({ "subject_type": "pairwise", "allowed_subject_token_clients": [bench.rp.client_id] });
        let subject = bench.rp.sign_in(&bench.session).access_token;
        exchange(bench, id, &bench.client(own), &subject, &[])
    }),
    Case::new(Reason::TokenOfOtherClient, INVALID, &["of client "], |bench, id| {
        let subject = bench.rp.sign_in(&bench.session).access_token;
        exchange(bench, id, &bench.client(json!({})), &subject, &[])
    }),
    Case::new(Reason::TokenMalformed, INVALID, &[], |bench, id| exchange(bench, id, &bench.rp, "x", &[])),
];

#[test]
fn exchanges() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    let failure = super::explained(&bench.server, "", "case-token_malformed");
    assert!(failure["error_description"].as_str().unwrap().contains("subject_token"), "{failure}");
}
