//! `typ` of access tokens: `at+jwt`, or `JWT` for clients whose resource servers refuse that (RFC 9068 2.1).

use serde_json::json;
use symbolon_testkit::{RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::admin::bulk;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

fn typ(token: &str) -> String {
    decode_jwt(token).0["typ"].as_str().expect("a typ").to_owned()
}

#[test]
fn each_grant_signs_the_type_of_its_client() {
    let server = TestServer::start();
    let (user, browser) = server.signed_in("a@example.com");
    for (settings, expected) in [
        (json!({}), "at+jwt"),
        (json!({ "access_token_typ": "at+jwt" }), "at+jwt"),
        (json!({ "access_token_typ": "JWT" }), "JWT"),
    ] {
        let rp = RelyingParty::register(&server, json!({ "settings": settings }));
        let tokens = rp.sign_in(&browser);
        let refreshed = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
        let own = TokenSet::of(&rp.token(&[("grant_type", "client_credentials")]));
        let exchanged = TokenSet::of(&rp.token(&[
            ("grant_type", EXCHANGE),
            ("subject_token", &*tokens.access_token),
            ("subject_token_type", ACCESS_TOKEN),
        ]));
        let line = json!({ "user_id": user, "client_id": rp.client_id });
        let in_bulk = bulk(&server, "/tokens/bulk", &[line])[0]["access_token"].as_str().unwrap().to_owned();
        for token in [
            &tokens.access_token,
            &refreshed.access_token,
            &own.access_token,
            &exchanged.access_token,
            &in_bulk,
        ] {
            assert_eq!(typ(token), expected, "{settings}");
            assert_eq!(rp.post("/introspect", &[("token", token)]).json()["active"], true, "{settings}");
        }
        assert_eq!(typ(tokens.id_token.as_deref().unwrap()), "JWT");
        for token in [&tokens.access_token, &refreshed.access_token, &exchanged.access_token, &in_bulk] {
            let bearer = format!("Bearer {token}");
            let info = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
            assert_eq!((info.status, info.json()["sub"].as_str()), (200, Some(&*user)), "{settings}");
        }
        assert_eq!(rp.post("/revoke", &[("token", &tokens.access_token)]).status, 200);
        let ended = rp.post("/introspect", &[("token", &exchanged.access_token)]);
        assert_eq!(ended.json()["active"], false, "what was exchanged from a revoked token");
    }
}

/// RFC 8725 3.12: ID tokens have the type JWT as well. Neither passes for the other.
#[test]
fn an_access_token_of_the_type_jwt_is_no_id_token_and_an_id_token_no_access_token() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("a@example.com");
    let rp = RelyingParty::register(&server, json!({ "settings": { "access_token_typ": "JWT" } }));
    let tokens = rp.sign_in(&browser);
    let silent = |hint: &str| {
        let request = rp.authorization_request().with("prompt", "none").with("id_token_hint", hint);
        browser.get(&request.path()).redirected("error")
    };
    let id_token = tokens.id_token.as_deref().unwrap();
    assert_eq!(silent(id_token), None);
    assert_eq!(silent(&tokens.access_token).as_deref(), Some("login_required"));
    let bearer = format!("Bearer {id_token}");
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    assert_eq!(rp.post("/introspect", &[("token", id_token)]).json()["active"], false);
}
