//! A client that gets in at another domain by an ID-JAG, and other subjects of a token exchange.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::random::base64url;
use symbolon_testkit::{Answer, Browser, RelyingParty, Signing, TestServer, TokenSet, decode_jwt};

use crate::upstream::fake::Fake;
use crate::upstream::options;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const API: &str = "https://api.chat.example/";

/// An identity provider, and a chat that lets its people in; a wiki is a client of both.
struct Scene {
    idp: TestServer,
    chat: TestServer,
    wiki: RelyingParty,
    wiki_at_chat: RelyingParty,
    user: String,
    browser: Browser,
}

impl Scene {
    fn new() -> Self {
        let idp = TestServer::start_with(options().one_node());
        let chat = TestServer::start_with(options().one_node());
        trust(&chat, &idp.issuer, &["id_jag"]);
        let metadata = json!({
            "grant_types": [BEARER], "scope": "email profile", "access_token_audiences": [API],
        });
        let wiki_at_chat = RelyingParty::register(&chat, metadata);
        let entry = json!({
            "audience": chat.issuer, "client_id": wiki_at_chat.client_id, "scope": "email phone", "resources": [API],
        });
        let wiki = RelyingParty::register(&idp, json!({ "id_jag_audiences": [entry] }));
        let on = json!({ "idJag": { "enabled": true } });
        let set = idp.admin("PUT", "/settings/token-exchange", Some(on.clone()));
        assert_eq!((set.status, &set.json()["idJag"]), (200, &on["idJag"]));
        let (user, browser) = idp.signed_in("ann@example.com");
        let known = json!({ "id": user, "email": "ann@chat.example" });
        assert_eq!(chat.admin("POST", "/users", Some(known)).status, 201);
        Self { idp, chat, wiki, wiki_at_chat, user, browser }
    }

    fn id_token(&self) -> String {
        self.wiki.sign_in(&self.browser).id_token.expect("an ID token")
    }

    /// Asks for an ID-JAG; `more` is besides the audience, unless it has one.
    fn ask(&self, rp: &RelyingParty, subject: &str, more: &[(&str, &str)]) -> Answer {
        let mut form = vec![
            ("grant_type", EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("subject_token", subject),
            ("subject_token_type", ID_TOKEN),
        ];
        if !more.iter().any(|(name, _)| *name == "audience") {
            form.push(("audience", &self.chat.issuer));
        }
        form.extend_from_slice(more);
        rp.token(&form)
    }

    fn id_jag(&self) -> String {
        TokenSet::of(&self.ask(&self.wiki, &self.id_token(), &[])).access_token
    }
}

/// Trusts an issuer that names people by the ids that they have here.
fn trust(server: &TestServer, issuer: &str, uses: &[&str]) {
    let list = json!([{ "issuer": issuer, "for": uses, "subject": "user_id" }]);
    let answer = server.admin("PATCH", "/settings", Some(json!({ "trusted_issuers": list })));
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn present(rp: &RelyingParty, assertion: &str, more: &[(&str, &str)]) -> Answer {
    let mut form = vec![("grant_type", BEARER), ("assertion", assertion)];
    form.extend_from_slice(more);
    rp.token(&form)
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.error())
}

fn refused(error: &str) -> (u16, String) {
    (400, error.to_owned())
}

fn discovered(server: &TestServer, member: &str) -> Value {
    server.browser().get("/.well-known/openid-configuration").json()[member].clone()
}

#[test]
fn an_id_jag_is_made_at_one_issuer_and_taken_at_another() {
    let scene = Scene::new();
    let asked = [("resource", API), ("scope", "email more")];
    let answer = scene.ask(&scene.wiki, &scene.id_token(), &asked);
    let body = TokenSet::of(&answer).body;
    assert_eq!((&body["issued_token_type"], &body["token_type"]), (&json!(ID_JAG), &json!("N_A")));
    assert_eq!((&body["expires_in"], &body["scope"]), (&json!(300), &json!("email")));
    assert!(body["refresh_token"].is_null() && body["id_token"].is_null(), "{body}");
    let id_jag = body["access_token"].as_str().unwrap();
    let (header, claims) = decode_jwt(id_jag);
    assert_eq!(header["typ"], "oauth-id-jag+jwt");
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(scene.idp.issuer), &json!(scene.chat.issuer)));
    assert_eq!((&claims["sub"], &claims["resource"]), (&json!(scene.user), &json!(API)));
    assert_eq!(claims["client_id"], json!(scene.wiki_at_chat.client_id));
    assert!(claims["auth_time"].is_u64() && claims["sid"].is_null() && claims["gid"].is_null(), "{claims}");

    let taken = TokenSet::of(&present(&scene.wiki_at_chat, id_jag, &[]));
    assert!(taken.refresh_token.is_none() && taken.id_token.is_none());
    let (_, own) = decode_jwt(&taken.access_token);
    assert_eq!((&own["iss"], &own["sub"]), (&json!(scene.chat.issuer), &json!(scene.user)));
    assert_eq!((&own["aud"], &own["scope"]), (&json!(API), &json!("email")));
    assert_eq!(told(&present(&scene.wiki_at_chat, id_jag, &[])), refused("invalid_grant"), "it counts once");

    // It is no access token of the issuer that made it, no hint, no subject, and its own issuer does not take it.
    let browser = scene.idp.browser();
    let as_bearer = format!("Bearer {id_jag}");
    assert_eq!(browser.get_with("/userinfo", &[("authorization", &*as_bearer)]).status, 401);
    assert_eq!(scene.wiki.post("/introspect", &[("token", id_jag)]).json()["active"], false);
    assert_eq!(told(&scene.ask(&scene.wiki, id_jag, &[])), refused("invalid_grant"));
    let at_home = RelyingParty::register(&scene.idp, json!({ "grant_types": [BEARER] }));
    assert_eq!(told(&present(&at_home, &scene.id_jag(), &[])), refused("invalid_grant"));

    assert_eq!(discovered(&scene.idp, "identity_chaining_requested_token_types_supported"), json!([ID_JAG]));
    let profile = "urn:ietf:params:oauth:grant-profile:id-jag";
    assert_eq!(discovered(&scene.chat, "authorization_grant_profiles_supported"), json!([profile]));
    assert!(discovered(&scene.idp, "authorization_grant_profiles_supported").is_null());
}

#[test]
fn an_id_jag_is_made_for_what_the_metadata_name_and_for_the_clients_own_people() {
    let scene = Scene::new();
    let id_token = scene.id_token();
    for (more, error) in [
        (("audience", "https://other.example"), "invalid_target"),
        (("audience", &*scene.idp.issuer), "invalid_target"),
        (("resource", "https://other.example/"), "invalid_target"),
        (("scope", "profile"), "invalid_scope"),
        (("authorization_details", "[]"), "invalid_authorization_details"),
    ] {
        assert_eq!(told(&scene.ask(&scene.wiki, &id_token, &[more])), refused(error), "{more:?}");
    }
    let entry = json!({ "audience": scene.chat.issuer, "client_id": "x" });
    let metadata = json!({
        "id_jag_audiences": [entry], "allowed_subject_token_clients": [scene.wiki.client_id],
    });
    let other = RelyingParty::register(&scene.idp, metadata);
    assert_eq!(
        told(&scene.ask(&other, &id_token, &[])),
        refused("invalid_grant"),
        "another client's ID token"
    );
    let without = RelyingParty::register(&scene.idp, json!({}));
    let own = without.sign_in(&scene.browser).id_token.unwrap();
    assert_eq!(told(&scene.ask(&without, &own, &[])), refused("invalid_target"));
    // Its own access token is no identity assertion.
    let access = scene.wiki.sign_in(&scene.browser).access_token;
    assert_eq!(told(&scene.ask(&scene.wiki, &access, &[])), refused("invalid_grant"));

    let sid = decode_jwt(&id_token).1["sid"].as_str().unwrap().to_owned();
    assert!(scene.idp.admin("DELETE", &format!("/sessions/{sid}"), None).status < 300);
    assert_eq!(
        told(&scene.ask(&scene.wiki, &id_token, &[])),
        refused("invalid_grant"),
        "the session has ended"
    );
    let off = json!({ "idJag": { "enabled": false } });
    assert_eq!(scene.idp.admin("PUT", "/settings/token-exchange", Some(off)).status, 200);
    assert_eq!(told(&scene.ask(&scene.wiki, &id_token, &[])), refused("invalid_request"));
    assert!(discovered(&scene.idp, "identity_chaining_requested_token_types_supported").is_null());
}

#[test]
fn only_an_id_jag_for_this_client_and_this_issuer_is_taken() {
    let scene = Scene::new();
    let other = RelyingParty::register(&scene.chat, json!({ "grant_types": [BEARER], "scope": "email" }));
    let id_jag = scene.id_jag();
    assert_eq!(told(&present(&other, &id_jag, &[])), refused("invalid_grant"), "for another client");
    assert_eq!(
        told(&present(&scene.wiki_at_chat, &id_jag, &[("scope", "profile")])),
        refused("invalid_scope")
    );
    let elsewhere = [("resource", "https://other.example/")];
    assert_eq!(told(&present(&scene.wiki_at_chat, &id_jag, &elsewhere)), refused("invalid_target"));
    assert_eq!(present(&scene.wiki_at_chat, &id_jag, &[]).status, 200, "a refusal does not use it up");

    let signed = scene.idp.admin("GET", "/test/signing-key", None).json();
    let key = Signing::from_pem(signed["kid"].as_str().unwrap(), signed["privatePEM"].as_str().unwrap());
    let make = |typ: &str, changes: Value| {
        let now = scene.idp.now().seconds();
        let mut claims = json!({
            "iss": scene.idp.issuer, "sub": scene.user, "aud": scene.chat.issuer, "iat": now, "exp": now + 60,
            "client_id": scene.wiki_at_chat.client_id, "scope": "email", "jti": base64url::<16>(&SystemRandom),
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        present(&scene.wiki_at_chat, &key.jwt(typ, &claims), &[])
    };
    assert_eq!(make("oauth-id-jag+jwt", json!({})).status, 200);
    for (typ, changes) in [
        ("JWT", json!({})),
        ("authorization-grant+jwt", json!({})),
        ("oauth-id-jag+jwt", json!({ "aud": scene.idp.issuer })),
        ("oauth-id-jag+jwt", json!({ "aud": [scene.chat.issuer, "https://other.example"] })),
        ("oauth-id-jag+jwt", json!({ "aud": format!("{}/token", scene.chat.issuer) })),
        ("oauth-id-jag+jwt", json!({ "client_id": null })),
        ("oauth-id-jag+jwt", json!({ "iss": "https://other.example" })),
        ("oauth-id-jag+jwt", json!({ "sub": "nobody" })),
        ("oauth-id-jag+jwt", json!({ "cnf": { "jkt": "another" } })),
    ] {
        assert_eq!(told(&make(typ, changes.clone())), refused("invalid_grant"), "{typ} {changes}");
    }
    // An issuer that is trusted for one kind is not trusted for the other.
    trust(&scene.chat, &scene.idp.issuer, &["jwt_bearer"]);
    assert_eq!(make("JWT", json!({})).status, 200);
    assert_eq!(told(&make("oauth-id-jag+jwt", json!({}))), refused("invalid_grant"));
    assert!(discovered(&scene.chat, "authorization_grant_profiles_supported").is_null());
}

fn exchange(rp: &RelyingParty, (kind, subject): (&str, &str), more: &[(&str, &str)]) -> Answer {
    let mut form = vec![("grant_type", EXCHANGE), ("subject_token", subject), ("subject_token_type", kind)];
    form.extend_from_slice(more);
    rp.token(&form)
}

#[test]
fn an_id_token_is_exchanged_where_issuer_and_client_let_it() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "id_token_exchange_allowed": true }));
    let (user, browser) = server.signed_in("ann@example.com");
    let id_token = rp.sign_in(&browser).id_token.unwrap();
    assert_eq!(told(&exchange(&rp, (ID_TOKEN, &id_token), &[])), refused("invalid_request"));
    let types = json!({ "allowedSubjectTokenTypes": [ACCESS_TOKEN, ID_TOKEN] });
    assert_eq!(server.admin("PUT", "/settings/token-exchange", Some(types)).status, 200);
    let more = [("audience", "https://api.example"), ("scope", "email")];
    let tokens = TokenSet::of(&exchange(&rp, (ID_TOKEN, &id_token), &more));
    let (_, claims) = decode_jwt(&tokens.access_token);
    assert_eq!((&claims["sub"], &claims["aud"]), (&json!(user), &json!("https://api.example")));
    assert_eq!((&claims["scope"], &claims["act"]["client_id"]), (&json!("email"), &json!(rp.client_id)));
    assert_eq!(claims["sid"], decode_jwt(&id_token).1["sid"]);
    assert_eq!(told(&exchange(&rp, (ACCESS_TOKEN, &id_token), &[])), refused("invalid_grant"));
    assert_eq!(told(&exchange(&rp, (ID_TOKEN, &tokens.access_token), &[])), refused("invalid_grant"));

    let not = RelyingParty::register(&server, json!({ "allowed_subject_token_clients": [rp.client_id] }));
    assert_eq!(told(&exchange(&not, (ID_TOKEN, &id_token), &[])), refused("unauthorized_client"));
    let listed = RelyingParty::register(
        &server,
        json!({ "id_token_exchange_allowed": true, "allowed_subject_token_clients": [rp.client_id] }),
    );
    assert_eq!(exchange(&listed, (ID_TOKEN, &id_token), &[]).status, 200);
    let stranger = RelyingParty::register(&server, json!({ "id_token_exchange_allowed": true }));
    assert_eq!(told(&exchange(&stranger, (ID_TOKEN, &id_token), &[])), refused("invalid_grant"));

    // Who ends the session ends what came of it.
    let is_active = || rp.post("/introspect", &[("token", &*tokens.access_token)]).json()["active"] == true;
    assert!(is_active());
    assert!(server.admin("DELETE", &format!("/users/{user}/sessions"), None).status < 300);
    assert_eq!(told(&exchange(&rp, (ID_TOKEN, &id_token), &[])), refused("invalid_grant"));
    assert!(!is_active());
}

#[test]
fn a_jwt_of_a_trusted_issuer_is_exchanged_once_by_clients_that_name_it() {
    let key = Signing::generate(Algorithm::Es256);
    let (server, idp) = (TestServer::start_with(options().one_node()), Fake::start(&key.jwks()));
    let metadata = json!({ "issuer": idp.issuer, "jwks_uri": format!("{}/jwks", idp.issuer) });
    idp.set("/.well-known/openid-configuration", crate::upstream::fake::ok(&metadata));
    let rp = RelyingParty::register(&server, json!({ "allowed_subject_token_issuers": [idp.issuer] }));
    let user = server.create_user("ann@example.com");
    let token = |changes: Value| {
        let now = server.now().seconds();
        let mut claims = json!({
            "iss": idp.issuer, "sub": user, "aud": server.issuer, "iat": now, "exp": now + 300,
            "jti": base64url::<16>(&SystemRandom),
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        key.jwt("JWT", &claims)
    };
    trust(&server, &idp.issuer, &["jwt_bearer"]);
    let ask = |rp: &RelyingParty, token: &str| exchange(rp, (JWT, token), &[("scope", "email")]);
    assert_eq!(told(&ask(&rp, &token(json!({})))), refused("invalid_grant"), "not trusted for this");
    trust(&server, &idp.issuer, &["token_exchange"]);
    let good = token(json!({ "act": { "sub": "first" } }));
    let unnamed = RelyingParty::register(&server, json!({}));
    assert_eq!(told(&ask(&unnamed, &good)), refused("invalid_grant"), "the client does not name it");
    let tokens = TokenSet::of(&ask(&rp, &good));
    let (_, claims) = decode_jwt(&tokens.access_token);
    assert_eq!((&claims["sub"], &claims["scope"]), (&json!(user), &json!("email")));
    assert_eq!(claims["act"]["act"]["sub"], "first");
    assert_eq!(told(&ask(&rp, &good)), refused("invalid_grant"), "it counts once");
    for changes in [
        json!({ "jti": null }),
        json!({ "aud": "https://other.example" }),
        json!({ "sub": "nobody" }),
        json!({ "may_act": { "sub": "client:another" } }),
    ] {
        assert_eq!(told(&ask(&rp, &token(changes.clone()))), refused("invalid_grant"), "{changes}");
    }
    // The client's own tokens are exchanged as before.
    let (_, browser) = server.signed_in("bob@example.com");
    let own = rp.sign_in(&browser).access_token;
    assert_eq!(ask(&rp, &own).status, 200);
}
