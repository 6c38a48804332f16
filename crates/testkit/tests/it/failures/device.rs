//! Devices (RFC 8628).

use std::time::Duration;

use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty};

use super::{Bench, Case, run};
use crate::device::{Codes, DEVICE, ask, decide, poll, television};

const INVALID: (u16, &str) = (400, "invalid_grant");

/// A token request of a public client with a request id.
fn polled(bench: &Bench, id: &str, rp: &RelyingParty, codes: &Codes) -> Answer {
    let form = [("grant_type", DEVICE), ("device_code", &*codes.device), ("client_id", &*rp.client_id)];
    bench.bare(id, "/token", &form)
}

/// A device whose code a person has decided about.
fn decided(bench: &Bench, decision: &str) -> (RelyingParty, Codes) {
    let rp = television(&bench.server);
    let codes = ask(&rp, "openid");
    assert_eq!(decide(&bench.session, &codes, decision).status, 303);
    (rp, codes)
}

pub(super) const CASES: [Case<Bench>; 9] = [
    Case::new(Reason::DevicePending, (400, "authorization_pending"), &[], |bench, id| {
        let rp = television(&bench.server);
        polled(bench, id, &rp, &ask(&rp, "openid"))
    }),
    Case::new(Reason::DeviceSlowDown, (400, "slow_down"), &[], |bench, id| {
        let rp = television(&bench.server);
        let codes = ask(&rp, "openid");
        assert_eq!(poll(&rp, &codes).error(), "authorization_pending");
        polled(bench, id, &rp, &codes)
    }),
    Case::new(Reason::DeviceRefused, (400, "access_denied"), &[], |bench, id| {
        let (rp, codes) = decided(bench, "deny");
        polled(bench, id, &rp, &codes)
    }),
    Case::new(Reason::DeviceCodeExpired, (400, "expired_token"), &[], |bench, id| {
        let rp = television(&bench.server);
        let codes = ask(&rp, "openid");
        bench.server.clock.advance(Duration::from_secs(600));
        polled(bench, id, &rp, &codes)
    }),
    Case::new(Reason::DeviceCodeNotOurs, INVALID, &[], |bench, id| {
        let codes = Codes { device: "abc".to_owned(), user: String::new() };
        polled(bench, id, &television(&bench.server), &codes)
    }),
    Case::new(Reason::DeviceCodeOfOtherClient, INVALID, &["`client_id` was "], |bench, id| {
        let codes = ask(&television(&bench.server), "openid");
        polled(bench, id, &television(&bench.server), &codes)
    }),
    Case::new(Reason::DeviceCodeUsed, INVALID, &[], |bench, id| {
        let (rp, codes) = decided(bench, "allow");
        assert_eq!(poll(&rp, &codes).status, 200);
        polled(bench, id, &rp, &codes)
    }),
    Case::new(Reason::DeviceCodeRevoked, INVALID, &[], |bench, id| {
        let (user, browser) = bench.server.signed_in("leaving-a-device@example.com");
        let rp = television(&bench.server);
        let codes = ask(&rp, "openid");
        assert_eq!(decide(&browser, &codes, "allow").status, 303);
        let path = format!("/users/{user}/sign-out");
        assert!(bench.server.admin("POST", &path, None).status < 300);
        polled(bench, id, &rp, &codes)
    }),
    Case::new(Reason::UserCodeUnknown, (400, ""), &[], |bench, id| {
        bench.session.get_with("/device?user_code=BCDF-GHJK", &[("x-request-id", id)])
    }),
];

#[test]
fn devices() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    bench.server.drain_audit();
    let all = bench.server.admin("GET", "/audit-logs?event=request.refused&limit=100", None).body;
    assert!(!all.contains("dc_"), "no device code is kept: {all}");
}
