//! Backchannel authentication (CIBA Core 1.0).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, Signing};

use super::{Bench, Case, run};
use crate::ciba::{CIBA, ask, decide, poll, till};

const INVALID: (u16, &str) = (400, "invalid_grant");
const PERSON: &str = "person@example.com";
const HINT: [(&str, &str); 2] = [("scope", "openid"), ("login_hint", PERSON)];

/// A request of a client with a request id.
fn sent(bench: &Bench, id: &str, rp: &RelyingParty, (path, form): (&str, &[(&str, &str)])) -> Answer {
    let basic = rp.basic();
    let headers = [("authorization", &*basic), ("x-request-id", id)];
    bench.server.browser().post_with(path, form, &headers)
}

fn polled(bench: &Bench, id: &str, rp: &RelyingParty, auth_req_id: &str) -> Answer {
    sent(bench, id, rp, ("/token", &[("grant_type", CIBA), ("auth_req_id", auth_req_id)]))
}

fn asked(bench: &Bench, id: &str, form: &[(&str, &str)]) -> Answer {
    sent(bench, id, &till(&bench.server, json!({})), ("/bc-authorize", form))
}

/// A request that the person has decided about.
fn decided(bench: &Bench, decision: &str) -> (RelyingParty, String) {
    let rp = till(&bench.server, json!({}));
    let auth_req_id = ask(&rp, PERSON);
    assert_eq!(decide(&bench.session, &auth_req_id, decision).status, 303);
    (rp, auth_req_id)
}

pub(super) const CASES: [Case<Bench>; 17] = [
    Case::new(Reason::CibaPending, (400, "authorization_pending"), &[], |bench, id| {
        let rp = till(&bench.server, json!({}));
        polled(bench, id, &rp, &ask(&rp, PERSON))
    }),
    Case::new(Reason::CibaSlowDown, (400, "slow_down"), &[], |bench, id| {
        let rp = till(&bench.server, json!({}));
        let auth_req_id = ask(&rp, PERSON);
        assert_eq!(poll(&rp, &auth_req_id).error(), "authorization_pending");
        polled(bench, id, &rp, &auth_req_id)
    }),
    Case::new(Reason::CibaRefused, (400, "access_denied"), &[], |bench, id| {
        let (rp, auth_req_id) = decided(bench, "deny");
        polled(bench, id, &rp, &auth_req_id)
    }),
    Case::new(Reason::AuthReqIdExpired, (400, "expired_token"), &[], |bench, id| {
        let rp = till(&bench.server, json!({}));
        let auth_req_id = ask(&rp, PERSON);
        bench.server.clock.advance(Duration::from_secs(300));
        polled(bench, id, &rp, &auth_req_id)
    }),
    Case::new(Reason::AuthReqIdNotOurs, INVALID, &[], |bench, id| {
        polled(bench, id, &till(&bench.server, json!({})), "abc")
    }),
    Case::new(Reason::AuthReqIdOfOtherClient, INVALID, &["`client_id` was "], |bench, id| {
        let auth_req_id = ask(&till(&bench.server, json!({})), PERSON);
        polled(bench, id, &till(&bench.server, json!({})), &auth_req_id)
    }),
    Case::new(Reason::AuthReqIdUsed, INVALID, &[], |bench, id| {
        let (rp, auth_req_id) = decided(bench, "allow");
        assert_eq!(poll(&rp, &auth_req_id).status, 200);
        polled(bench, id, &rp, &auth_req_id)
    }),
    Case::new(Reason::AuthReqIdRevoked, INVALID, &[], |bench, id| {
        let (user, browser) = bench.server.signed_in("leaving-a-till@example.com");
        let rp = till(&bench.server, json!({}));
        let auth_req_id = ask(&rp, "leaving-a-till@example.com");
        assert_eq!(decide(&browser, &auth_req_id, "allow").status, 303);
        let path = format!("/users/{user}/sign-out");
        assert!(bench.server.admin("POST", &path, None).status < 300);
        polled(bench, id, &rp, &auth_req_id)
    }),
    Case::new(Reason::HintNotOne, (400, "invalid_request"), &["none"], |bench, id| {
        asked(bench, id, &HINT[..1])
    }),
    Case::new(Reason::BackchannelParameterUnsupported, (400, "invalid_request"), &[], |bench, id| {
        asked(bench, id, &[HINT[0], HINT[1], ("user_code", "1234")])
    }),
    Case::new(Reason::BackchannelUserUnknown, (400, "unknown_user_id"), &[], |bench, id| {
        asked(bench, id, &[HINT[0], ("login_hint", "nobody@example.com")])
    }),
    Case::new(Reason::BackchannelScopeLacksOpenid, (400, "invalid_scope"), &["email"], |bench, id| {
        asked(bench, id, &[("scope", "email"), HINT[1]])
    }),
    Case::new(Reason::BindingMessageInvalid, (400, "invalid_binding_message"), &[], |bench, id| {
        asked(bench, id, &[HINT[0], HINT[1], ("binding_message", " ")])
    }),
    Case::new(Reason::NotificationTokenInvalid, (400, "invalid_request"), &[], |bench, id| {
        let metadata = json!({
            "backchannel_token_delivery_mode": "ping",
            "backchannel_client_notification_endpoint": "https://rp.example/ciba",
        });
        let form = [HINT[0], HINT[1], ("client_notification_token", "short")];
        sent(bench, id, &till(&bench.server, metadata), ("/bc-authorize", &form))
    }),
    Case::new(Reason::RequestedExpiryInvalid, (400, "invalid_request"), &["soon"], |bench, id| {
        asked(bench, id, &[HINT[0], HINT[1], ("requested_expiry", "soon")])
    }),
    Case::new(Reason::SignedRequestReplayed, (400, "invalid_request"), &[], |bench, id| {
        let key = Signing::generate(Algorithm::Es256);
        let rp = till(&bench.server, json!({ "jwks": key.jwks() }));
        let now = bench.server.now().seconds();
        let claims: Value = json!({
            "iss": rp.client_id, "aud": bench.server.issuer, "iat": now, "nbf": now, "exp": now + 60,
            "jti": "once", "scope": "openid", "login_hint": PERSON,
        });
        let request = key.jwt("JWT", &claims);
        assert_eq!(rp.post("/bc-authorize", &[("request", &request)]).status, 200);
        sent(bench, id, &rp, ("/bc-authorize", &[("request", &request)]))
    }),
    Case::new(Reason::BackchannelRequestsTooMany, (429, "rate_limit_exceeded"), &[], |bench, id| {
        let rp = till(&bench.server, json!({}));
        for _ in 0..10 {
            ask(&rp, PERSON);
        }
        sent(bench, id, &rp, ("/bc-authorize", &HINT))
    }),
];

#[test]
fn backchannel_authentication() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    bench.server.drain_audit();
    let all = bench.server.admin("GET", "/audit-logs?event=request.refused&limit=100", None).body;
    let is_whole = |rest: &str| rest.as_bytes().get(22) == Some(&b'.');
    assert!(!all.split("ar_").skip(1).any(is_whole), "no auth_req_id is kept: {all}");
}
