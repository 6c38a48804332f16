//! Redirect URIs that resemble a registered one (RFC 9700 2.1, 4.1): compared as strings, at each place that takes one.

use serde_json::json;
use symbolon_testkit::{Answer, AuthorizationRequest, RelyingParty, TestServer};

/// What `https://rp.example/callback` is not.
const ALIKE: [&str; 38] = [
    "https://rp.example@attacker.example/callback",
    "https://rp.example%40attacker.example/callback",
    "https://rp.example:x@attacker.example/callback",
    "https://attacker.example\\@rp.example/callback",
    "https://attacker.example/https://rp.example/callback",
    "https://attacker.example?https://rp.example/callback",
    "https://rp.example/callback#",
    "https://rp.example/callback#code",
    "https://rp.example/callback?",
    "https://rp.example/callback?next=https://attacker.example",
    "https://rp.example/callback/",
    "https://rp.example/callback/../open-redirect",
    "https://rp.example/callback/%2e%2e/open-redirect",
    "https://rp.example/other/../callback",
    "https://rp.example/./callback",
    "https://rp.example//callback",
    "https://rp.example/%63allback",
    "https://rp.example/Callback",
    "https://rp.example%2Fcallback",
    "https://rp.example\\callback",
    "https://RP.example/callback",
    "HTTPS://rp.example/callback",
    "https://rp.example:443/callback",
    "https://rp.example:8443/callback",
    "https://rp.example./callback",
    "https://rp.example.attacker.example/callback",
    "https://xn--rp-example/callback",
    "http://rp.example/callback",
    "https://*/callback",
    "https://*.example/callback",
    "https://[::1]/callback",
    "https://[::ffff:127.0.0.1]/callback",
    "javascript:alert(1)//https://rp.example/callback",
    "data:text/html,https://rp.example/callback",
    "//rp.example/callback",
    "/callback",
    " https://rp.example/callback",
    "https://rp.example/callback\u{0}",
];

/// Refused without leading anywhere.
fn assert_stays(answer: &Answer, uri: &str) {
    assert_eq!(answer.status, 400, "{uri:?}: {answer:?}");
    assert_eq!(answer.header("location"), None, "{uri:?}: {answer:?}");
}

fn with_uri(request: AuthorizationRequest, uri: &str) -> AuthorizationRequest {
    request.without("redirect_uri").with("redirect_uri", uri)
}

#[test]
fn nothing_that_resembles_a_redirect_uri_gets_a_code() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    assert_eq!(rp.redirect_uri, "https://rp.example/callback");
    let (_, browser) = server.signed_in("a@example.com");
    for uri in ALIKE {
        for prompt in ["none", "login"] {
            let request = with_uri(rp.authorization_request(), uri).with("prompt", prompt);
            assert_stays(&browser.get(&request.path()), uri);
        }
        let request = with_uri(rp.authorization_request(), uri);
        let form: Vec<(&str, &str)> =
            request.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
        let pushed = rp.post("/par", &form);
        assert_eq!((pushed.status, &*pushed.error()), (400, "invalid_request"), "{uri:?}: {pushed:?}");

        // The token endpoint asks for the one that the code was made for (RFC 6749 4.1.3).
        let request = rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", uri),
            ("code_verifier", &*request.verifier),
        ];
        let answer = rp.token(&form);
        assert!(matches!(&*answer.error(), "invalid_grant" | "invalid_request"), "{uri:?}: {answer:?}");
        assert_eq!(answer.status, 400, "{uri:?}");
    }
    let request = rp.authorization_request();
    let both = format!("{}&redirect_uri=https%3A%2F%2Fattacker.example%2F", request.path());
    assert_stays(&browser.get(&both), "two of them");
}

#[test]
fn nothing_that_resembles_an_address_after_logout_is_led_to() {
    let server = TestServer::start();
    let rp = RelyingParty::register(
        &server,
        json!({ "post_logout_redirect_uris": ["https://rp.example/callback"] }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let hint = rp.sign_in(&browser).id_token.unwrap();
    for uri in ALIKE {
        let parameters = [("id_token_hint", &*hint), ("post_logout_redirect_uri", uri)];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        let answer = browser.get(&format!("/logout?{query}"));
        assert_eq!(answer.header("location"), None, "{uri:?}: {answer:?}");
    }
}
