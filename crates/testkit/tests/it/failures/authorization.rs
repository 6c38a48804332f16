//! Authorization requests.

use std::time::Duration;

use serde_json::json;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, AuthorizationRequest};

use super::{Bench, Case, run};
use crate::authorization_details::set_types;

const INVALID: (u16, &str) = (302, "invalid_request");
const PAGE: (u16, &str) = (400, "invalid_request");
const DETAILS: (u16, &str) = (302, "invalid_authorization_details");

/// The request with one more or other parameter.
fn with(bench: &Bench, id: &str, name: &str, value: &str) -> Answer {
    bench.authorize(id, &bench.rp.authorization_request().with(name, value))
}

fn silent(bench: &Bench) -> AuthorizationRequest {
    bench.rp.authorization_request().with("prompt", "none")
}

pub(super) const CASES: [Case<Bench>; 43] = [
    Case::new(Reason::ClientUnknown, PAGE, &["`client_id` was nobody"], |bench, id| {
        with(bench, id, "client_id", "nobody")
    }),
    Case::new(
        Reason::RedirectUriMissing,
        PAGE,
        &["`redirect_uri`, registered is https://rp.example/callback"],
        |bench, id| bench.authorize(id, &bench.rp.authorization_request().without("redirect_uri")),
    ),
    Case::new(
        Reason::RedirectUriNotRegistered,
        PAGE,
        &[
            "was https://rp.example/callback/, registered is https://rp.example/callback: it differs in the slash",
        ],
        |bench, id| with(bench, id, "redirect_uri", "https://rp.example/callback/"),
    ),
    Case::new(Reason::AuthorizationDetailsMalformed, DETAILS, &["`authorization_details`"], |bench, id| {
        with(bench, id, "authorization_details", "{}")
    }),
    Case::new(Reason::AuthorizationDetailsTypeUnknown, DETAILS, &["`type` was payment"], |bench, id| {
        with(bench, id, "authorization_details", r#"[{"type":"payment"}]"#)
    }),
    Case::new(Reason::AuthorizationDetailsInvalid, DETAILS, &["was folder", "lacks path"], |bench, id| {
        set_types(&bench.server);
        let rp = bench.client(json!({ "authorization_details_types": ["folder"] }));
        let asked = rp.authorization_request().with("authorization_details", r#"[{"type":"folder"}]"#);
        bench.authorize(id, &asked)
    }),
    Case::new(Reason::StateTooLong, PAGE, &["`state`"], |bench, id| {
        with(bench, id, "state", &"x".repeat(5_000))
    }),
    Case::new(Reason::ResponseModeUnsupported, INVALID, &["was web_message"], |bench, id| {
        with(bench, id, "response_mode", "web_message")
    }),
    Case::new(Reason::ResponseModeNeedsHttp, INVALID, &["com.example.app:/cb"], |bench, id| {
        let native = bench.client(json!({ "redirect_uris": ["com.example.app:/cb"] }));
        bench.authorize(id, &native.authorization_request().with("response_mode", "form_post"))
    }),
    Case::new(
        Reason::RequestParameterUnsupported,
        (302, "registration_not_supported"),
        &["`registration`"],
        |bench, id| with(bench, id, "registration", "{}"),
    ),
    Case::new(
        Reason::RequestUriUnregistered,
        (302, "invalid_request_uri"),
        &["https://rp.example/other.jwt", "registered is https://rp.example/request.jwt"],
        |bench, id| {
            let rp = bench.client(json!({ "request_uris": ["https://rp.example/request.jwt"] }));
            let request = rp.authorization_request().with("request_uri", "https://rp.example/other.jwt");
            bench.authorize(id, &request)
        },
    ),
    Case::new(
        Reason::RequestUriUnreachable,
        (302, "invalid_request_uri"),
        &["https://127.0.0.1:1/request.jwt", "which is not public"],
        |bench, id| {
            let uri = "https://127.0.0.1:1/request.jwt";
            let rp = bench.client(json!({ "request_uris": [uri] }));
            bench.authorize(id, &rp.authorization_request().with("request_uri", uri))
        },
    ),
    Case::new(Reason::PushedRequestUnknown, (400, "invalid_request_uri"), &["`request_uri`"], |bench, id| {
        with(bench, id, "request_uri", "urn:ietf:params:oauth:request_uri:tx_1_0_A")
    }),
    Case::new(Reason::PushedRequestMissing, INVALID, &["`request_uri`"], |bench, id| {
        let strict = bench.client(json!({ "require_pushed_authorization_requests": true }));
        bench.authorize(id, &strict.authorization_request())
    }),
    Case::new(
        Reason::ResponseTypeUnsupported,
        (302, "unsupported_response_type"),
        &["`response_type` was banana, expected are code, id_token"],
        |bench, id| with(bench, id, "response_type", "banana"),
    ),
    Case::new(
        Reason::ResponseTypeNotRegistered,
        (302, "unsupported_response_type"),
        &["`response_type` was id_token, registered is code"],
        |bench, id| with(bench, id, "response_type", "id_token"),
    ),
    Case::new(Reason::ResponseModeShowsTokens, INVALID, &["`response_mode` was query"], |bench, id| {
        let implicit = bench.client(json!({ "grant_types": ["implicit"], "response_types": ["id_token"] }));
        let asked = implicit.authorization_request().with("response_type", "id_token");
        bench.authorize(id, &asked.with("response_mode", "query"))
    }),
    Case::new(Reason::NonceMissing, INVALID, &["`nonce`"], |bench, id| {
        let implicit = bench.client(json!({ "grant_types": ["implicit"], "response_types": ["id_token"] }));
        bench.authorize(
            id,
            &implicit.authorization_request().with("response_type", "id_token").without("nonce"),
        )
    }),
    Case::new(Reason::ScopeLacksOpenid, INVALID, &["`scope`"], |bench, id| {
        let implicit = bench.client(json!({ "grant_types": ["implicit"], "response_types": ["id_token"] }));
        let asked = implicit.authorization_request().with("response_type", "id_token");
        bench.authorize(id, &asked.with("scope", "profile"))
    }),
    Case::new(Reason::PromptInvalid, INVALID, &["was none login"], |bench, id| {
        with(bench, id, "prompt", "none login")
    }),
    Case::new(Reason::MaxAgeMalformed, INVALID, &["was soon"], |bench, id| {
        with(bench, id, "max_age", "soon")
    }),
    Case::new(Reason::NonceTooLong, INVALID, &[], |bench, id| with(bench, id, "nonce", &"x".repeat(2_049))),
    Case::new(Reason::ClaimsMalformed, INVALID, &["`claims`"], |bench, id| with(bench, id, "claims", "[]")),
    Case::new(Reason::ScopeMalformed, (302, "invalid_scope"), &["`scope` was a\"b"], |bench, id| {
        with(bench, id, "scope", "a\"b")
    }),
    Case::new(
        Reason::ScopeNotRegistered,
        (302, "invalid_scope"),
        &["`scope` was payments, registered is openid profile email offline_access"],
        |bench, id| with(bench, id, "scope", "payments"),
    ),
    Case::new(
        Reason::ScopeMissing,
        (302, "invalid_scope"),
        &["`scope` was missing or empty, registered is offline_access"],
        |bench, id| {
            let rp = bench.client(json!({ "scope": "offline_access" }));
            bench.authorize(id, &rp.authorization_request().without("scope"))
        },
    ),
    Case::new(Reason::PkceOrNonceMissing, INVALID, &["`code_challenge` was missing"], |bench, id| {
        let request = bench.rp.authorization_request().without("nonce");
        bench.authorize(id, &request.without("code_challenge").without("code_challenge_method"))
    }),
    Case::new(Reason::PkceMissing, INVALID, &["`code_challenge` was missing"], |bench, id| {
        let request = bench.public().authorization_request();
        bench.authorize(id, &request.without("code_challenge").without("code_challenge_method"))
    }),
    Case::new(Reason::PkceMethodUnsupported, INVALID, &["was plain, expected is S256"], |bench, id| {
        with(bench, id, "code_challenge_method", "plain")
    }),
    Case::new(Reason::PkceChallengeMalformed, INVALID, &[], |bench, id| {
        with(bench, id, "code_challenge", "short")
    }),
    Case::new(Reason::ResourceMalformed, INVALID, &["was api"], |bench, id| {
        with(bench, id, "resource", "api")
    }),
    Case::new(Reason::ResourceTooMany, INVALID, &["`resource`"], |bench, id| {
        let mut request = bench.rp.authorization_request();
        let many = (0..300).map(|number| ("resource".to_owned(), format!("https://{number}.example")));
        request.parameters.extend(many.take(240));
        bench.authorize(id, &request)
    }),
    Case::new(
        Reason::ResourceNotRegistered,
        (302, "invalid_target"),
        &["was https://other.example, registered is https://api.example"],
        |bench, id| {
            let rp = bench.client(json!({ "access_token_audiences": ["https://api.example"] }));
            let request = rp.authorization_request().with("resource", "https://other.example");
            bench.authorize(id, &request)
        },
    ),
    Case::new(Reason::SessionMissing, (302, "login_required"), &[], |bench, id| {
        bench.server.browser().get_with(&silent(bench).path(), &[("x-request-id", id)])
    }),
    Case::new(Reason::AccountNotSelected, (302, "account_selection_required"), &[], |bench, id| {
        let (_, other) = bench.server.signed_in("parked@example.com");
        let browser = bench.server.browser();
        browser.set_cookie("symbolon_accounts", &other.cookie("symbolon_session").unwrap());
        browser.get_with(&silent(bench).path(), &[("x-request-id", id)])
    }),
    Case::new(Reason::SessionOfOtherUser, (302, "login_required"), &[], |bench, id| {
        let (_, other) = bench.server.signed_in("other@example.com");
        let hint = bench.rp.sign_in(&other).id_token.unwrap();
        bench.authorize(id, &silent(bench).with("id_token_hint", &hint))
    }),
    Case::new(Reason::SignInTooOld, (302, "login_required"), &[], |bench, id| {
        bench.server.clock.advance(Duration::from_secs(5));
        bench.authorize(id, &silent(bench).with("max_age", "3"))
    }),
    Case::new(
        Reason::AcrUnmet,
        (302, "unmet_authentication_requirements"),
        &["`claims`", "phrh"],
        |bench, id| {
            let claims = json!({ "id_token": { "acr": { "essential": true, "value": "gold" } } });
            with(bench, id, "claims", &claims.to_string())
        },
    ),
    Case::new(Reason::IdTokenHintUnverifiable, (302, "login_required"), &[], |bench, id| {
        bench.authorize(id, &silent(bench).with("id_token_hint", "a.b.c"))
    }),
    Case::new(Reason::ConsentMissing, (302, "consent_required"), &[], |bench, id| {
        let asking = bench.client(json!({ "skip_consent": false }));
        bench.authorize(id, &asking.authorization_request().with("prompt", "none"))
    }),
    Case::new(
        Reason::ScopeNotGrantable,
        (302, "invalid_scope"),
        &["`scope` was offline_access"],
        |bench, id| {
            let metadata = json!({ "scope": "openid offline_access", "grant_types": ["authorization_code"] });
            let request = bench.client(metadata).authorization_request().with("scope", "offline_access");
            bench.authorize(id, &request)
        },
    ),
    Case::new(Reason::RequestTooLongForPage, INVALID, &[], |bench, id| {
        let request = bench.rp.authorization_request().with("login_hint", &"x".repeat(9_000));
        bench.server.browser().get_with(&request.path(), &[("x-request-id", id)])
    }),
    Case::new(Reason::PageNotOurs, PAGE, &[], |bench, id| {
        bench.server.browser().get_with("/login?transaction=x", &[("x-request-id", id)])
    }),
];

#[test]
fn authorization_requests() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
    let of_session = super::explained(&bench.server, "", "case-sign_in_too_old");
    assert_eq!(of_session["user_id"], json!(bench.user), "{of_session}");
}

/// The page says the id by which the operator finds the cause.
#[test]
fn an_error_page_has_the_id_of_its_request() {
    let bench = Bench::new();
    let request = bench.rp.authorization_request().with("redirect_uri", "http://rp.example/callback");
    let page = bench.session.get_with(&request.path(), &[("accept", "text/html")]);
    assert_eq!(page.status, 400);
    let id = page.header("x-request-id").unwrap().to_owned();
    assert!(page.body.contains(&id), "{page:?}");
    let failure = super::explained(&bench.server, "", &id);
    assert_eq!(failure["difference"], "it differs in the scheme", "{failure}");
    let told = page.body.contains("it differs") || page.body.contains("redirect_uri_not_registered");
    assert!(!told, "the person is told no more than before: {page:?}");
}
