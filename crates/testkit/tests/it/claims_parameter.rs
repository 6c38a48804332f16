//! Claims that a request asks for by name (OpenID Connect Core 5.5).

use serde_json::{Value, json};
use symbolon_testkit::{AuthorizationRequest, Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::login::hidden;

/// A request with the scope `openid` alone.
fn asking(rp: &RelyingParty, claims: &Value) -> AuthorizationRequest {
    rp.authorization_request().with("scope", "openid").with("claims", &claims.to_string())
}

fn userinfo(browser: &Browser, token: &str) -> Value {
    let answer = browser.get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))]);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn claims_are_told_that_were_asked_for_by_name_after_a_refresh_too() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let without = rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid"));
    assert_eq!(userinfo(&browser, &without.access_token), json!({ "sub": user }));

    let claims = json!({ "userinfo": { "email": { "essential": true }, "unheard_of": null }, "other": 1 });
    let tokens = rp.sign_in_with(&browser, asking(&rp, &claims));
    // RFC 6749 5.1: the client is told that the scope is another than it sent.
    assert_eq!(tokens.body["scope"], "openid email");
    let told = userinfo(&browser, &tokens.access_token);
    assert_eq!(told, json!({ "sub": user, "email": "a@example.com", "email_verified": true }));
    let refreshed = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    assert_eq!(userinfo(&browser, &refreshed.access_token), told);

    let in_id_token = rp.sign_in_with(&browser, asking(&rp, &json!({ "id_token": { "name": null } })));
    assert_eq!(decode_jwt(&in_id_token.id_token.unwrap()).1["name"], "A person");

    let discovery = browser.get("/.well-known/openid-configuration").json();
    assert_eq!(discovery["claims_parameter_supported"], true);
}

/// What a client is not registered for it does not get by another name.
#[test]
fn a_claim_is_not_told_to_a_client_without_its_scope() {
    let server = TestServer::start();
    let narrow = RelyingParty::register(&server, json!({ "scope": "openid profile" }));
    let (_, browser) = server.signed_in("a@example.com");
    let claims = json!({ "userinfo": { "email": { "essential": true } }, "id_token": { "email": null } });
    let tokens = narrow.sign_in_with(&browser, asking(&narrow, &claims));
    assert_eq!(tokens.body["scope"], "openid");
    assert_eq!(userinfo(&browser, &tokens.access_token).get("email"), None);
    assert_eq!(decode_jwt(&tokens.id_token.unwrap()).1.get("email"), None);
}

#[test]
fn the_person_is_asked_for_the_scope_of_a_claim() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "skip_consent": false }));
    let (_, browser) = server.signed_in("a@example.com");
    let request = asking(&rp, &json!({ "userinfo": { "email": null } }));
    let silent = browser.get(&request.clone().with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("consent_required"));
    let page = browser.get(&browser.get(&request.path()).location());
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
    let code = browser.post("/consent", &form).redirected("code").expect("a code");
    let tokens = TokenSet::of(&rp.redeem(&code, &request.verifier));
    assert_eq!(userinfo(&browser, &tokens.access_token)["email"], "a@example.com");
    // From now on it is allowed, and a request for the claim alone is answered silently.
    assert!(browser.get(&request.with("prompt", "none").path()).redirected("code").is_some());
}

#[test]
fn a_sub_with_a_value_names_the_account() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let (other, elsewhere) = server.signed_in("b@example.com");
    let of =
        |sub: &str| asking(&rp, &json!({ "id_token": { "sub": { "value": sub } } })).with("prompt", "none");
    let refused = |sub: &str| browser.get(&of(sub).path()).redirected("error");
    assert_eq!(refused(&user), None);
    for nobody in [&*other, "nobody", "not an id"] {
        assert_eq!(refused(nobody).as_deref(), Some("login_required"), "{nobody}");
    }
    // Another account of the browser is found, as by a hint.
    browser.set_cookie("symbolon_accounts", &elsewhere.cookie("symbolon_session").unwrap());
    let tokens = rp.sign_in_with(&browser, of(&other));
    assert_eq!(decode_jwt(&tokens.id_token.unwrap()).1["sub"], json!(other));
}

#[test]
fn what_is_malformed_or_cannot_be_reached_is_told() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let gold =
        |essential: bool| json!({ "id_token": { "acr": { "essential": essential, "value": "gold" } } });
    for (claims, error) in [
        (json!([]), Some("invalid_request")),
        (json!({ "userinfo": { "email": 1 } }), Some("invalid_request")),
        (gold(true), Some("unmet_authentication_requirements")),
        (gold(false), None),
    ] {
        let answer = browser.get(&asking(&rp, &claims).path());
        assert_eq!(answer.redirected("error").as_deref(), error, "{claims}: {answer:?}");
    }
}
