//! PKCE or a nonce (RFC 9700 2.1.1): what confidential and public clients must send, and the setting that changes it.

use serde_json::{Value, json};
use symbolon_testkit::{AuthorizationRequest, Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

fn without_pkce(rp: &RelyingParty) -> AuthorizationRequest {
    rp.authorization_request().without("code_challenge").without("code_challenge_method")
}

/// What a request is refused with; `None` if it gets a code.
fn refused(browser: &Browser, request: &AuthorizationRequest) -> Option<String> {
    let answer = browser.get(&request.path());
    if answer.redirected("code").is_some() {
        return None;
    }
    assert_eq!(answer.redirected("error").as_deref(), Some("invalid_request"), "{answer:?}");
    Some(answer.redirected("error_description").expect("a description"))
}

/// Whether a client gets a code by a nonce alone, and by neither PKCE nor a nonce.
fn accepted(browser: &Browser, rp: &RelyingParty) -> (bool, bool) {
    let request = without_pkce(rp);
    (refused(browser, &request).is_none(), refused(browser, &request.without("nonce")).is_none())
}

fn set(server: &TestServer, path: &str, change: Value) -> Value {
    let answer = server.admin("PATCH", path, Some(change));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn a_confidential_client_signs_in_with_a_nonce_and_without_pkce() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = without_pkce(&rp).with("nonce", "n-1");
    let code = browser.get(&request.path()).redirected("code").expect("a code");
    let form = [("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", &*rp.redirect_uri)];
    let tokens = TokenSet::of(&rp.token(&form));
    assert_eq!(decode_jwt(tokens.id_token.as_deref().unwrap()).1["nonce"], "n-1");
    // RFC 9700 4.8.2: a verifier for a code without a challenge is refused.
    let code = browser.get(&request.path()).redirected("code").expect("a code");
    assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant");
}

#[test]
fn without_pkce_and_nonce_the_client_is_told_what_to_send() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = without_pkce(&rp);
    for request in [request.clone().without("nonce"), request.with("scope", "profile")] {
        let told = refused(&browser, &request).expect("refused");
        assert!(told.contains("code_challenge") && told.contains("S256") && told.contains("nonce"), "{told}");
    }
    // A public client must use PKCE: nothing that is set changes that.
    let metadata = json!({
        "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"],
        "settings": { "pkce": "optional" },
    });
    let public = RelyingParty::register(&server, metadata);
    set(&server, "/settings", json!({ "pkce": "optional" }));
    let told = refused(&browser, &without_pkce(&public)).expect("refused");
    assert!(told.contains("public") && told.contains("code_challenge") && !told.contains("nonce"), "{told}");
    assert_eq!(refused(&browser, &public.authorization_request()), None);
}

#[test]
fn issuer_and_client_ask_for_more_or_less() {
    let server = TestServer::start();
    let plain = RelyingParty::register(&server, json!({}));
    let own = RelyingParty::register(&server, json!({ "settings": { "pkce": "required" } }));
    let (_, browser) = server.signed_in("a@example.com");
    let path = format!("/clients/{}", own.client_id);
    assert_eq!(accepted(&browser, &plain), (true, false), "the default");
    assert_eq!(accepted(&browser, &own), (false, false));
    for (policy, expected) in
        [("optional", (true, true)), ("required", (false, false)), ("or_nonce", (true, false))]
    {
        set(&server, "/settings", json!({ "pkce": policy }));
        assert_eq!(accepted(&browser, &plain), expected, "{policy}");
        assert_eq!(accepted(&browser, &own), (false, false), "a client's setting wins over {policy}");
        set(&server, &path, json!({ "settings": { "pkce": policy } }));
        assert_eq!(accepted(&browser, &own), expected, "{policy}");
        set(&server, &path, json!({ "settings": { "pkce": "required" } }));
    }
}

#[test]
fn require_pkce_is_another_name_of_the_strictest_and_the_laxest_policy() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let path = format!("/clients/{}", rp.client_id);
    let shown = server.admin("GET", "/settings", None).json();
    assert_eq!(shown["settings"]["pkce"], "or_nonce");
    assert_eq!(shown["settings"].get("require_pkce"), None, "neither true nor false");
    for (required, policy, expected) in
        [(true, "required", (false, false)), (false, "optional", (true, true))]
    {
        let shown = set(&server, "/settings", json!({ "require_pkce": required }));
        assert_eq!(
            (&shown["settings"]["pkce"], &shown["settings"]["require_pkce"]),
            (&json!(policy), &json!(required))
        );
        assert_eq!(accepted(&browser, &rp), expected);
        // What is shown can be sent back whole.
        let again = server.admin("PUT", "/settings", Some(shown["settings"].clone()));
        assert_eq!((again.status, &again.json()["settings"]), (200, &shown["settings"]));
        // A client's settings go by both names too.
        set(&server, "/settings", json!({ "pkce": null }));
        for change in
            [json!({ "settings": { "require_pkce": required } }), json!({ "require_pkce": required })]
        {
            let shown = set(&server, &path, change);
            let settings = &shown["client"]["settings"];
            assert_eq!((&settings["pkce"], &settings["require_pkce"]), (&json!(policy), &json!(required)));
            assert_eq!(accepted(&browser, &rp), expected);
            set(&server, &path, json!({ "settings": { "pkce": null } }));
            assert_eq!(accepted(&browser, &rp), (true, false), "back to the default");
        }
    }
    for (path, bad) in [
        ("/settings", json!({ "pkce": "or_nonce", "require_pkce": true })),
        ("/settings", json!({ "pkce": "never" })),
        ("/settings", json!({ "require_pkce": "or_nonce" })),
        (&*path, json!({ "settings": { "pkce": "or_nonce", "require_pkce": false } })),
        (&*path, json!({ "settings": { "pkce": "never" } })),
    ] {
        let answer = server.admin("PATCH", path, Some(bad.clone()));
        assert_eq!(answer.status, 400, "{path} {bad}: {answer:?}");
        assert!(answer.json()["error_description"].as_str().unwrap().contains("pkce"), "{answer:?}");
    }
}
