//! UserInfo says what it is, and who is sent away learns where (RFC 9728).

use serde_json::json;
use symbolon_testkit::{Options, RelyingParty, TestServer, decode_jwt};

/// The value of a parameter of a challenge.
fn parameter<'a>(challenge: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!("{name}=\"");
    challenge.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn a_client_that_is_sent_away_finds_the_issuer() {
    let server = TestServer::start();
    let (userinfo, browser) = (format!("{}/userinfo", server.issuer), server.browser());
    let metadata = format!("{}/.well-known/oauth-protected-resource/userinfo", server.issuer);
    let bearer = [("authorization", "Bearer x")];
    let dpop = [("authorization", "DPoP x")];
    for (headers, challenges) in [(&[][..], 2), (&bearer[..], 1), (&dpop[..], 1)] {
        let refused = browser.get_with("/userinfo", headers);
        assert_eq!(refused.status, 401, "{refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert_eq!(parameter(challenge, "resource_metadata"), vec![&*metadata; challenges], "{challenge}");
    }
    let found = browser.get("/.well-known/oauth-protected-resource/userinfo");
    assert_eq!((found.status, found.header("content-type")), (200, Some("application/json")), "{found:?}");
    let found = found.json();
    // RFC 9728 3.3: what was called is what the metadata are about.
    assert_eq!(found["resource"], json!(userinfo));
    assert_eq!(found["authorization_servers"], json!([server.issuer]));
    let issuer = browser.get("/.well-known/openid-configuration").json();
    assert_eq!((&found["resource"], &found["jwks_uri"]), (&issuer["userinfo_endpoint"], &issuer["jwks_uri"]));
    // The issuer itself is no resource, and no other endpoint takes access tokens.
    for path in ["", "/", "/token", "/introspect"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        assert_eq!(browser.get(&path).status, 404, "{path}");
    }
    let registration = browser.get("/connect/register/x");
    let challenge = registration.header("www-authenticate").unwrap_or_default();
    assert!(parameter(challenge, "resource_metadata").is_empty(), "{challenge}");
}

#[test]
fn an_issuer_with_a_path_has_the_metadata_of_its_own_userinfo() {
    let server = TestServer::start_with(Options::default());
    let acme = format!("{}/acme", server.url);
    let made = server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": acme })));
    assert_eq!(made.status, 201, "{made:?}");
    let inserted = format!("{}/.well-known/oauth-protected-resource/acme/userinfo", server.url);
    let refused = server.browser().get(&format!("{acme}/userinfo"));
    let challenge = refused.header("www-authenticate").unwrap();
    assert_eq!(parameter(challenge, "resource_metadata"), [&*inserted, &*inserted]);
    for place in [inserted, format!("{acme}/.well-known/oauth-protected-resource/userinfo")] {
        let found = server.browser().get(&place).json();
        assert_eq!(found["resource"], json!(format!("{acme}/userinfo")), "{place}");
        assert_eq!(found["authorization_servers"], json!([acme]), "{place}");
    }
    let nobody = format!("{}/.well-known/oauth-protected-resource/nobody/userinfo", server.url);
    assert_eq!(server.browser().get(&nobody).status, 404);
}

/// RFC 8707 2: a client names as `resource` what the metadata call so.
#[test]
fn the_resource_of_the_metadata_is_a_resource_indicator() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let resource = format!("{}/userinfo", server.issuer);
    let request = rp.authorization_request().with("resource", &resource);
    let token = rp.sign_in_with(&browser, request).access_token;
    assert_eq!(decode_jwt(&token).1["aud"], json!(resource));
    let bearer = format!("Bearer {token}");
    let answer = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
    assert_eq!((answer.status, &answer.json()["sub"]), (200, &json!(user)), "{answer:?}");
    let elsewhere = rp.authorization_request().with("resource", &format!("{}/other", server.issuer));
    let refused = browser.get(&elsewhere.path());
    assert_eq!(refused.redirected("error").as_deref(), Some("invalid_target"));
}
