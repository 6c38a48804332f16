//! Which pages of other origins may read what (Fetch standard).

use serde_json::json;
use symbolon_testkit::{Answer, RelyingParty, TestServer};

fn allowed(answer: &Answer) -> Option<&str> {
    assert!(answer.header("access-control-allow-credentials").is_none(), "{answer:?}");
    answer.header("access-control-allow-origin")
}

#[test]
fn public_documents_are_for_everybody() {
    let server = TestServer::start();
    for path in [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/userinfo",
        "/.well-known/jwks.json",
    ] {
        let answer = server.browser().get_with(path, &[("origin", "https://anyone.example")]);
        assert_eq!((answer.status, allowed(&answer)), (200, Some("*")), "{path}");
    }
}

#[test]
fn preflights_are_answered_where_pages_call() {
    let server = TestServer::start();
    let ask = |path: &str| {
        let headers = [
            ("origin", "https://spa.example"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type,traceparent,x-of-a-library"),
        ];
        server.browser().send("OPTIONS", path, &headers, b"")
    };
    for path in ["/token", "/userinfo", "/revoke"] {
        let answer = ask(path);
        assert_eq!((answer.status, allowed(&answer)), (204, Some("https://spa.example")), "{path}");
        let allowed_headers = answer.header("access-control-allow-headers").unwrap();
        for name in ["authorization", "content-type", "traceparent", "x-of-a-library"] {
            assert!(allowed_headers.contains(name), "{path}: {name}");
        }
        assert!(answer.header("vary").unwrap().eq_ignore_ascii_case("origin"), "{path}");
    }
    for path in ["/authorize", "/introspect", "/login", "/logout", "/api/admin/users"] {
        let answer = ask(path);
        assert!(answer.status >= 400 && allowed(&answer).is_none(), "{path}: {answer:?}");
    }
}

#[test]
fn answers_are_for_the_pages_of_the_client() {
    let server = TestServer::start();
    let spa = RelyingParty::register(
        &server,
        json!({
            "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
            "redirect_uris": ["https://spa.example/callback"], "allowed_redirect_origins": ["https://more.example"],
        }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = spa.sign_in(&browser);
    let bearer = format!("Bearer {}", tokens.access_token);
    for (origin, may) in [
        ("https://spa.example", true),
        ("https://more.example", true),
        ("https://evil.example", false),
        ("http://spa.example", false),
        ("https://spa.example:8443", false),
        ("null", false),
    ] {
        let expected = may.then_some(origin);
        let answer =
            server.browser().get_with("/userinfo", &[("authorization", &bearer), ("origin", origin)]);
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{origin}");
        let exposed = answer.header("access-control-expose-headers");
        assert_eq!(exposed, may.then_some("www-authenticate, retry-after, dpop-nonce"), "{origin}");
        assert!(answer.header("vary").unwrap().eq_ignore_ascii_case("origin"), "{origin}");
        let request = spa.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &*spa.client_id),
            ("code", &*code),
            ("redirect_uri", &*spa.redirect_uri),
            ("code_verifier", &*request.verifier),
        ];
        let answer = server.browser().post_with("/token", &form, &[("origin", origin)]);
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{origin}");
        let form = [("client_id", &*spa.client_id), ("token", "x")];
        let answer = server.browser().post_with("/revoke", &form, &[("origin", origin)]);
        assert_eq!((answer.status, allowed(&answer)), (200, expected), "{origin}");
    }
    let plain = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
    assert_eq!(allowed(&plain), None, "nobody asked");
}

#[test]
fn pages_and_back_channels_are_for_no_other_origin() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let origin = ("origin", "https://rp.example");
    let answer = server.browser().get_with(&rp.authorization_request().path(), &[origin]);
    assert_eq!(allowed(&answer), None);
    let headers = [origin, ("authorization", &*rp.basic())];
    let answer = server.browser().post_with("/introspect", &[("token", "x")], &headers);
    assert_eq!((answer.status, allowed(&answer)), (200, None));
    let answer = server.browser().get_with("/", &[origin]);
    assert_eq!(allowed(&answer), None);
}
