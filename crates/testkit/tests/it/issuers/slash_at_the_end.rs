//! An issuer whose URL ends in a slash, as Auth0 and authentik have them: `iss` is that URL wherever it stands, and no
//! endpoint has two slashes.

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Browser, Options, RelyingParty, Signing, TestServer, TokenSet, decode_jwt};

/// An issuer at the root and one with a path, each with its prefix.
const ISSUERS: [(&str, &str); 2] = [("https://login.example/", ""), ("https://login.example/acme/", "/acme")];

/// The server of such an issuer, and where it is reached.
fn start(issuer: &str, prefix: &str) -> (TestServer, String) {
    let server = TestServer::start_with(Options::default().issuer(issuer));
    let at = format!("{}{prefix}", server.url);
    (server, at)
}

/// A browser at the issuer in which somebody is signed in.
fn signed_in(server: &TestServer, at: &str) -> Browser {
    let body = json!({ "user_id": server.create_user("a@example.com"), "ttl_seconds": 60 });
    let session = server.admin("POST", "/test/sessions", Some(body)).json();
    let (cookie, _) = session["cookie_value"].as_str().unwrap().split_once('=').unwrap();
    let browser = Browser::new(at);
    browser.set_cookie(cookie, session["session_id"].as_str().unwrap());
    browser
}

#[test]
fn discovery_names_the_issuer_as_it_is_and_endpoints_with_one_slash() {
    for (issuer, prefix) in ISSUERS {
        let (server, at) = start(issuer, prefix);
        let mut places = vec![
            format!("{at}/.well-known/openid-configuration"),
            format!("{at}//.well-known/openid-configuration"),
            format!("{at}/.well-known/oauth-authorization-server"),
            format!("{}/.well-known/openid-configuration{prefix}", server.url),
        ];
        if !prefix.is_empty() {
            // RFC 8414 3.1: inserted before the path, whose terminating slash is removed.
            places.push(format!("{}/.well-known/oauth-authorization-server{prefix}", server.url));
            places.push(format!("{}/.well-known/oauth-authorization-server{prefix}/", server.url));
        }
        for place in places {
            let answer = server.browser().get(&place);
            assert_eq!(answer.status, 200, "{place}");
            let document = answer.json();
            assert_eq!(document["issuer"], issuer, "{place}");
            for (name, path) in [
                ("authorization_endpoint", "/authorize"),
                ("token_endpoint", "/token"),
                ("userinfo_endpoint", "/userinfo"),
                ("introspection_endpoint", "/introspect"),
                ("revocation_endpoint", "/revoke"),
                ("end_session_endpoint", "/logout"),
                ("jwks_uri", "/.well-known/jwks.json"),
            ] {
                assert_eq!(document[name], format!("https://login.example{prefix}{path}"), "{place}");
            }
        }
        assert_eq!(Browser::new(&at).get("/.well-known/jwks.json").status, 200);
        assert_eq!(Browser::new(&at).get("//token").status, 404);
        let page = Browser::new(&at).get("/").body;
        let written = format!("https://login.example{prefix}/.well-known/openid-configuration");
        assert!(page.contains(&written), "{page}");
    }
}

#[test]
fn a_login_and_every_token_of_it_bear_the_issuer_with_its_slash() {
    for (issuer, prefix) in ISSUERS {
        let (server, at) = start(issuer, prefix);
        let rp = RelyingParty::register(&server, json!({})).served_at(&at);
        let browser = signed_in(&server, &at);
        let request = rp.authorization_request();
        let answer = browser.get(&request.path());
        assert_eq!(answer.redirected("iss").as_deref(), Some(issuer), "RFC 9207 2");
        let tokens = TokenSet::of(&rp.redeem(&answer.redirected("code").unwrap(), &request.verifier));
        let id_token = tokens.id_token.as_deref().unwrap();
        let claims = decode_jwt(&tokens.access_token).1;
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!(issuer), &json!(issuer)));
        assert_eq!(decode_jwt(id_token).1["iss"], issuer);
        let bearer = format!("Bearer {}", tokens.access_token);
        assert_eq!(Browser::new(&at).get_with("/userinfo", &[("authorization", &bearer)]).status, 200);
        let seen = rp.post("/introspect", &[("token", &tokens.access_token)]).json();
        assert_eq!((&seen["active"], &seen["iss"]), (&json!(true), &json!(issuer)));
        let refreshed = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
        assert_eq!(decode_jwt(&refreshed.access_token).1["iss"], issuer);
        let silent = rp.authorization_request().with("prompt", "none").with("id_token_hint", id_token);
        assert!(browser.get(&silent.path()).redirected("code").is_some(), "the hint is ours");
        let refused = rp.authorization_request().with("prompt", "none").path();
        assert_eq!(Browser::new(&at).get(&refused).redirected("iss").as_deref(), Some(issuer));
    }
}

/// RFC 7523 3: the audience of an assertion is the issuer or the token endpoint, each as discovery has it.
#[test]
fn an_assertion_is_for_the_issuer_with_its_slash_or_the_token_endpoint() {
    for (issuer, prefix) in ISSUERS {
        let (server, at) = start(issuer, prefix);
        let key = Signing::generate(Algorithm::Es256);
        let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks() });
        let client = RelyingParty::register(&server, metadata).client_id;
        let (token_endpoint, without) =
            (format!("https://login.example{prefix}/token"), issuer.strip_suffix('/').unwrap());
        for (audience, id, status) in [(issuer, "1", 200), (&*token_endpoint, "2", 200), (without, "3", 401)]
        {
            let assertion = key.assertion(&client, audience, id, server.now().seconds());
            let form = [
                ("grant_type", "client_credentials"),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", &*assertion),
            ];
            assert_eq!(Browser::new(&at).post("/token", &form).status, status, "{audience}");
        }
    }
}

#[test]
fn several_issuers_may_have_it_and_it_is_no_place_of_its_own() {
    let server = TestServer::start();
    let url = format!("{}/acme/", server.url);
    let made = server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url })));
    assert_eq!((made.status, &made.json()["issuer"]["url"]), (201, &json!(url)));
    let document = server.browser().get("/acme/.well-known/openid-configuration").json();
    assert_eq!(document["issuer"], json!(url));
    assert_eq!(server.browser().get("/.well-known/openid-configuration").json()["issuer"], json!(server.url));
    let same = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "new", "url": same }))).status, 409);
    let two = format!("{}/other//", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "new", "url": two }))).status, 400);
}
