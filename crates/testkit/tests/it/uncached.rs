//! What holds tokens or credentials, or is about a person, is kept by no cache.

use serde_json::json;
use symbolon_testkit::{Answer, RelyingParty, TestServer, TokenSet};

use crate::device::television;

fn assert_not_kept(what: &str, answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}: {answer:?}");
    assert_eq!(answer.header("pragma"), Some("no-cache"), "{what}: {answer:?}");
}

/// RFC 6749 5.1, RFC 8628 3.2, RFC 9126 2.2, RFC 7591 3.2.1, RFC 7662 4: answers and errors of every endpoint that clients call.
#[test]
fn what_holds_tokens_or_is_about_a_person_is_not_kept() {
    let server = TestServer::start();
    let changed = server.admin("PATCH", "/settings", Some(json!({ "client_registration": "open" })));
    assert_eq!(changed.status, 200, "{changed:?}");
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    let redeemed = rp.redeem(&code, &request.verifier);
    assert_not_kept("a code", &redeemed, 200);
    let tokens = TokenSet::of(&redeemed);
    assert_not_kept("an error", &rp.redeem("x", &request.verifier), 400);
    assert_not_kept("an unknown client", &server.browser().post("/token", &[]), 401);
    let refreshed = rp.refresh(tokens.refresh_token.as_deref().unwrap());
    assert_not_kept("a refresh token", &refreshed, 200);
    let token = TokenSet::of(&refreshed).access_token;
    let bearer = format!("Bearer {token}");
    let userinfo = |bearer: &str| server.browser().get_with("/userinfo", &[("authorization", bearer)]);
    assert_not_kept("claims", &userinfo(&bearer), 200);
    assert_not_kept("a challenge", &userinfo("Bearer x"), 401);
    assert_not_kept("introspection", &rp.post("/introspect", &[("token", &token)]), 200);
    assert_not_kept("what is not active", &rp.post("/introspect", &[("token", "x")]), 200);
    let pushed: Vec<(&str, &str)> =
        request.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_not_kept("a pushed request", &rp.post("/par", &pushed), 201);
    assert_not_kept("codes of a device", &television(&server).post("/device_authorization", &[]), 200);
    assert_not_kept("a revocation", &rp.post("/revoke", &[("token", &token)]), 200);
    let metadata = json!({ "redirect_uris": ["https://other.example/callback"] }).to_string();
    let json = [("content-type", "application/json")];
    let registered = server.browser().send("POST", "/connect/register", &json, metadata.as_bytes());
    assert_not_kept("a registration", &registered, 201);
}
