//! The implicit and the hybrid flow (OpenID Connect Core 3.2, 3.3).

use serde_json::{Value, json};
use symbolon_crypto::{digest, encoding};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, RelyingParty, TestServer, TokenSet, decode_jwt,
};

const ALL: [&str; 6] =
    ["code", "id_token", "id_token token", "code id_token", "code token", "code id_token token"];

fn register(server: &TestServer) -> RelyingParty {
    RelyingParty::register(
        server,
        json!({
            "response_types": ALL, "grant_types": ["authorization_code", "implicit", "refresh_token"],
        }),
    )
}

fn asked(rp: &RelyingParty, response_type: &str) -> AuthorizationRequest {
    rp.authorization_request()
        .with("response_type", response_type)
        .with("scope", "openid email offline_access")
}

fn parameter(request: &AuthorizationRequest, name: &str) -> String {
    request.parameters.iter().find(|(own, _)| own == name).expect("it is sent").1.clone()
}

/// The claims of the ID token that was returned, if one was.
fn id_token(answer: &Answer) -> Option<Value> {
    answer.redirected("id_token").map(|token| decode_jwt(&token).1)
}

fn left_half(text: &str) -> String {
    encoding::encode(&digest::sha256(&[text.as_bytes()])[..16])
}

fn userinfo(browser: &Browser, token: &str) -> Answer {
    browser.get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
}

#[test]
fn each_response_type_returns_what_it_names() {
    let server = TestServer::start();
    let rp = register(&server);
    let (user, browser) = server.signed_in("a@example.com");
    for response_type in ALL {
        let has = |word| response_type.split(' ').any(|own| own == word);
        let request = asked(&rp, response_type);
        let answer = browser.get(&request.path());
        assert_eq!(answer.location().contains('#'), response_type != "code", "{answer:?}");
        let (code, token) = (answer.redirected("code"), answer.redirected("access_token"));
        assert_eq!((code.is_some(), token.is_some()), (has("code"), has("token")), "{response_type}");
        assert_eq!(answer.redirected("state"), Some(parameter(&request, "state")));
        assert_eq!(answer.redirected("iss"), Some(server.issuer.clone()));
        assert_eq!(answer.redirected("token_type").is_some(), has("token"));
        if let Some(token) = &token {
            assert!(answer.redirected("expires_in").and_then(|life| life.parse::<u64>().ok()) > Some(0));
            let info = userinfo(&browser, token);
            assert_eq!((info.status, info.json()["sub"].as_str()), (200, Some(&*user)));
        }
        let id = id_token(&answer);
        assert_eq!(id.is_some(), has("id_token"), "{response_type}");
        if let Some(id) = id {
            assert_eq!((id["sub"].as_str(), id["aud"].as_str()), (Some(&*user), Some(&*rp.client_id)));
            assert_eq!(id["nonce"].as_str(), Some(&*parameter(&request, "nonce")));
            assert_eq!(id["at_hash"].as_str().map(str::to_owned), token.as_deref().map(left_half));
            assert_eq!(id["c_hash"].as_str().map(str::to_owned), code.as_deref().map(left_half));
            assert_eq!(id["s_hash"].as_str(), Some(&*left_half(&parameter(&request, "state"))));
            // Beside a code the claims about the person come from the token endpoint.
            assert_eq!(id.get("email").is_some(), !has("code"), "{id}");
        }
        if let Some(code) = code {
            let tokens = TokenSet::of(&rp.redeem(&code, &request.verifier));
            let (_, id) = decode_jwt(&tokens.id_token.expect("an ID token"));
            assert_eq!((id["sub"].as_str(), id["email"].as_str()), (Some(&*user), Some("a@example.com")));
        } else {
            let scope = answer.redirected("scope").unwrap_or_default();
            assert!(!scope.contains("offline_access"), "nothing can be refreshed: {scope}");
        }
    }
}

#[test]
fn a_form_carries_tokens_and_an_error_stands_in_the_fragment() {
    let server = TestServer::start();
    let rp = register(&server);
    let (_, browser) = server.signed_in("a@example.com");
    let page = browser.get(&asked(&rp, "code id_token token").with("response_mode", "form_post").path());
    assert_eq!(page.status, 200);
    for field in ["code", "access_token", "id_token", "state", "iss", "expires_in"] {
        assert!(page.field(field).is_some(), "{field}: {page:?}");
    }
    let silent = asked(&rp, "id_token token").with("prompt", "none");
    let refused = server.browser().get(&silent.path());
    assert!(
        refused.location().starts_with("https://rp.example/callback#error=login_required"),
        "{refused:?}"
    );
    assert_eq!(refused.redirected("access_token"), None);
}

#[test]
fn what_the_browser_was_given_ends_with_the_grant_and_with_the_session() {
    let server = TestServer::start();
    let rp = register(&server);
    let (user, browser) = server.signed_in("a@example.com");
    let request = asked(&rp, "code token");
    let answer = browser.get(&request.path());
    let (code, token) = (answer.redirected("code").unwrap(), answer.redirected("access_token").unwrap());
    assert_eq!(rp.redeem(&code, &request.verifier).status, 200);
    assert_eq!(userinfo(&browser, &token).status, 200);
    assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant");
    assert_eq!(userinfo(&browser, &token).status, 401, "a replayed code ends what was returned beside it");

    let token = browser.get(&asked(&rp, "id_token token").path()).redirected("access_token").unwrap();
    assert_eq!(userinfo(&browser, &token).status, 200);
    let ended = server.admin("DELETE", &format!("/users/{user}/sessions"), None);
    assert_eq!(ended.status / 100, 2, "{ended:?}");
    assert_eq!(userinfo(&browser, &token).status, 401);
}

/// JWT Secured Authorization Response Mode.
#[test]
fn a_signed_answer_carries_codes_tokens_and_errors() {
    let server = TestServer::start();
    let rp = register(&server);
    let (user, browser) = server.signed_in("a@example.com");
    let claims = |answer: &Answer| decode_jwt(&answer.redirected("response").expect("a signed answer")).1;
    let request = asked(&rp, "code").with("response_mode", "jwt");
    let answer = browser.get(&request.path());
    assert!(answer.location().starts_with("https://rp.example/callback?response="), "{answer:?}");
    assert_eq!(answer.redirected("code"), None);
    let signed = claims(&answer);
    assert_eq!(
        (signed["iss"].as_str(), signed["aud"].as_str()),
        (Some(&*server.issuer), Some(&*rp.client_id))
    );
    assert_eq!(signed["state"].as_str(), Some(&*parameter(&request, "state")));
    assert_eq!(rp.redeem(signed["code"].as_str().unwrap(), &request.verifier).status, 200);

    let hybrid = browser.get(&asked(&rp, "code id_token").with("response_mode", "jwt").path());
    assert!(hybrid.location().contains("#response="), "{hybrid:?}");
    let id = decode_jwt(claims(&hybrid)["id_token"].as_str().unwrap()).1;
    assert_eq!(id["sub"].as_str(), Some(&*user));

    let page = browser.get(&asked(&rp, "code").with("response_mode", "form_post.jwt").path());
    assert_eq!((page.status, page.field("response").is_some(), page.field("code")), (200, true, None));

    let silent = asked(&rp, "code").with("response_mode", "query.jwt").with("prompt", "none");
    let refused = server.browser().get(&silent.path());
    assert_eq!(claims(&refused)["error"], "login_required");
    assert_eq!(refused.redirected("error"), None);
    // What is signed here is no token of another kind.
    let jwt = answer.redirected("response").unwrap();
    assert_eq!(userinfo(&browser, &jwt).status, 401);
}
