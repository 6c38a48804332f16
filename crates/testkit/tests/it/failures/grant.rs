//! Codes and refresh tokens.

use std::time::Duration;

use serde_json::json;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, TokenSet, decode_jwt};

use super::{Bench, Case, explained, run};

const INVALID: (u16, &str) = (400, "invalid_grant");
const CALLBACK: &str = "https://rp.example/callback";

/// Redeems a code with what its request had.
fn redeem(bench: &Bench, id: &str, rp: &RelyingParty, (code, verifier): &(String, String)) -> Answer {
    bench.redeem(id, rp, code, &[("redirect_uri", CALLBACK), ("code_verifier", verifier)])
}

fn refresh_token(bench: &Bench, rp: &RelyingParty) -> String {
    rp.sign_in(&bench.session).refresh_token.unwrap()
}

/// A refresh token whose session has ended.
fn of_ended_session(bench: &Bench) -> String {
    let (_, browser) = bench.server.signed_in("leaving@example.com");
    let tokens = bench.rp.sign_in(&browser);
    let (_, claims) = decode_jwt(tokens.id_token.as_deref().unwrap());
    let path = format!("/sessions/{}", claims["sid"].as_str().unwrap());
    assert_eq!(bench.server.admin("DELETE", &path, None).status, 204);
    tokens.refresh_token.unwrap()
}

const A: &str = "https://a.example";
const B: &str = "https://b.example";

/// A client that was granted one resource of two.
fn for_a(bench: &Bench) -> (RelyingParty, (String, String)) {
    let rp = bench.client(json!({ "access_token_audiences": [A, B] }));
    let code = bench.code_of(&rp.authorization_request().with("resource", A));
    (rp, code)
}

pub(super) const CASES: [Case<Bench>; 22] = [
    Case::new(
        Reason::GrantTypeUnsupported,
        (400, "unsupported_grant_type"),
        &["was password"],
        |bench, id| bench.post(id, &bench.rp, "/token", &[("grant_type", "password")]),
    ),
    Case::new(Reason::CodeNotOurs, INVALID, &[], |bench, id| bench.redeem(id, &bench.rp, "abc", &[])),
    Case::new(Reason::CodeExpired, INVALID, &[], |bench, id| {
        let code = bench.code(&bench.rp);
        bench.server.clock.advance(Duration::from_secs(61));
        redeem(bench, id, &bench.rp, &code)
    }),
    Case::new(Reason::CodeUsed, INVALID, &[], |bench, id| {
        let code = bench.code(&bench.rp);
        assert_eq!(redeem(bench, "the-first-redemption", &bench.rp, &code).status, 200);
        redeem(bench, id, &bench.rp, &code)
    }),
    Case::new(Reason::CodeRevoked, INVALID, &[], |bench, id| {
        let (user, browser) = bench.server.signed_in("signing-out@example.com");
        let request = bench.rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let path = format!("/users/{user}/sign-out");
        assert!(bench.server.admin("POST", &path, None).status < 300);
        redeem(bench, id, &bench.rp, &(code, request.verifier))
    }),
    Case::new(Reason::CodeOfOtherClient, INVALID, &["`client_id` was "], |bench, id| {
        let code = bench.code(&bench.rp);
        redeem(bench, id, &bench.client(json!({})), &code)
    }),
    Case::new(
        Reason::CodeRedirectUriOther,
        INVALID,
        &[
            "was https://rp.example/Callback, expected is https://rp.example/callback: it differs in upper and lower case",
        ],
        |bench, id| {
            let (code, verifier) = bench.code(&bench.rp);
            let other = [("redirect_uri", "https://rp.example/Callback"), ("code_verifier", &*verifier)];
            bench.redeem(id, &bench.rp, &code, &other)
        },
    ),
    Case::new(Reason::PkceVerifierMissing, INVALID, &[], |bench, id| {
        let (code, _) = bench.code(&bench.rp);
        let answer = bench.redeem(id, &bench.rp, &code, &[("redirect_uri", CALLBACK)]);
        assert_eq!(explained(&bench.server, "", id)["user_id"], json!(bench.user), "whose code it is");
        answer
    }),
    Case::new(Reason::PkceVerifierWrong, INVALID, &[], |bench, id| {
        let (code, verifier) = bench.code(&bench.rp);
        redeem(bench, id, &bench.rp, &(code, verifier.to_uppercase()))
    }),
    Case::new(Reason::PkceVerifierUnexpected, INVALID, &[], |bench, id| {
        let rp = bench.client(json!({ "settings": { "require_pkce": false } }));
        let request = rp.authorization_request();
        let without = request.clone().without("code_challenge").without("code_challenge_method");
        redeem(bench, id, &rp, &bench.code_of(&without))
    }),
    Case::new(
        Reason::ScopeNoLongerRegistered,
        (400, "invalid_scope"),
        &["registered is api"],
        |bench, id| {
            let rp = bench.client(json!({}));
            let code = bench.code(&rp);
            bench.patch(&format!("/clients/{}", rp.client_id), json!({ "scope": "api" }));
            redeem(bench, id, &rp, &code)
        },
    ),
    Case::new(
        Reason::ScopeBeyondGrant,
        (400, "invalid_scope"),
        &["`scope` was openid offline_access, expected is openid profile email"],
        |bench, id| {
            let token = refresh_token(bench, &bench.rp);
            let answer = bench.refresh(id, &bench.rp, &token, &[("scope", "openid offline_access")]);
            assert_eq!(explained(&bench.server, "", id)["user_id"], json!(bench.user), "whose token it is");
            answer
        },
    ),
    Case::new(Reason::RefreshTokenNotOurs, INVALID, &[], |bench, id| bench.refresh(id, &bench.rp, "x", &[])),
    Case::new(Reason::RefreshTokenEnded, INVALID, &[], |bench, id| {
        let token = refresh_token(bench, &bench.rp);
        assert_eq!(bench.rp.post("/revoke", &[("token", &token)]).status, 200);
        bench.refresh(id, &bench.rp, &token, &[])
    }),
    Case::new(Reason::RefreshTokenExpired, INVALID, &[], |bench, id| {
        let rp = bench.client(json!({ "settings": { "refresh_token_idle_lifetime": 60 } }));
        let token = refresh_token(bench, &rp);
        bench.server.clock.advance(Duration::from_secs(61));
        bench.refresh(id, &rp, &token, &[])
    }),
    Case::new(Reason::RefreshTokenRevoked, INVALID, &[], |bench, id| {
        bench.refresh(id, &bench.rp, &of_ended_session(bench), &[])
    }),
    Case::new(Reason::RefreshTokenReused, INVALID, &[], |bench, id| {
        let first = refresh_token(bench, &bench.rp);
        let second = TokenSet::of(&bench.rp.refresh(&first)).refresh_token.unwrap();
        assert_eq!(bench.rp.refresh(&second).status, 200);
        bench.refresh(id, &bench.rp, &first, &[])
    }),
    Case::new(Reason::RefreshTokenOfOtherClient, INVALID, &["`client_id` was "], |bench, id| {
        let token = refresh_token(bench, &bench.rp);
        bench.refresh(id, &bench.client(json!({})), &token, &[])
    }),
    Case::new(
        Reason::ResourceBeyondGrant,
        (400, "invalid_target"),
        &["`resource` was https://b.example, expected is https://a.example"],
        |bench, id| {
            let (rp, (code, verifier)) = for_a(bench);
            let form = [("redirect_uri", CALLBACK), ("code_verifier", &*verifier), ("resource", B)];
            bench.redeem(id, &rp, &code, &form)
        },
    ),
    Case::new(
        Reason::ResourceNoLongerRegistered,
        (400, "invalid_target"),
        &["`resource` was https://a.example, registered is https://b.example"],
        |bench, id| {
            let (rp, code) = for_a(bench);
            bench.patch(&format!("/clients/{}", rp.client_id), json!({ "access_token_audiences": [B] }));
            redeem(bench, id, &rp, &code)
        },
    ),
    Case::new(
        Reason::AuthorizationDetailsBeyondGrant,
        (400, "invalid_authorization_details"),
        &["`authorization_details`"],
        |bench, id| {
            let asked = [("authorization_details", r#"[{"type":"payment"}]"#)];
            bench.refresh(id, &bench.rp, &refresh_token(bench, &bench.rp), &asked)
        },
    ),
    Case::new(Reason::RedirectUriMissing, (400, "invalid_request"), &[CALLBACK], |bench, id| {
        let (code, verifier) = bench.code(&bench.rp);
        bench.redeem(id, &bench.rp, &code, &[("code_verifier", &verifier)])
    }),
];

#[test]
fn grants() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    // Of all that was sent, nothing secret was kept.
    bench.server.drain_audit();
    let all = bench.server.admin("GET", "/audit-logs?event=request.refused&limit=100", None).body;
    assert!(!all.contains("ac_") && !all.contains("rt_"), "{all}");
    assert!(!all.contains(bench.rp.client_secret.as_deref().unwrap()), "{all}");
}
