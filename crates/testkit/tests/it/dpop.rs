//! Tokens that are bound to a key of the client (RFC 9449).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::{digest, encoding, random};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, Options, RelyingParty, Signing, TestServer, TokenSet, decode_jwt,
};

use crate::device;

/// A client's key, and the server to which it sends proofs.
struct Holder<'a> {
    server: &'a TestServer,
    key: Signing,
}

impl<'a> Holder<'a> {
    fn new(server: &'a TestServer) -> Self {
        Self { server, key: Signing::generate(Algorithm::Es256) }
    }

    /// A new proof for a request; `more` are further claims.
    fn proof(&self, method: &str, path: &str, more: &Value) -> String {
        let mut claims = json!({
            "jti": random::base64url::<16>(&SystemRandom), "htm": method,
            "htu": format!("{}{path}", self.server.issuer), "iat": self.server.now().seconds(),
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        self.key.jws(&self.key.dpop_header(), &claims)
    }

    /// A token request with a proof.
    fn token(&self, rp: &RelyingParty, form: &[(&str, &str)]) -> Answer {
        self.token_with(rp, form, &self.proof("POST", "/token", &json!({})))
    }

    fn token_with(&self, rp: &RelyingParty, form: &[(&str, &str)], proof: &str) -> Answer {
        let browser = self.server.browser();
        if rp.client_secret.is_some() {
            return browser.post_with("/token", form, &[("authorization", &rp.basic()), ("dpop", proof)]);
        }
        let mut form = form.to_vec();
        form.push(("client_id", &rp.client_id));
        browser.post_with("/token", &form, &[("dpop", proof)])
    }

    fn redeem(&self, rp: &RelyingParty, (code, verifier): &(String, String)) -> Answer {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &rp.redirect_uri),
            ("code_verifier", verifier),
        ];
        self.token(rp, &form)
    }

    fn refresh(&self, rp: &RelyingParty, token: &str) -> Answer {
        self.token(rp, &[("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    /// A call of UserInfo with a proof for the token; `more` are further claims of the proof.
    fn userinfo(&self, token: &str, more: &Value) -> Answer {
        let mut claims = json!({ "ath": encoding::encode(&digest::sha256(&[token.as_bytes()])) });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        userinfo(self.server, &format!("DPoP {token}"), Some(&self.proof("GET", "/userinfo", &claims)))
    }
}

fn userinfo(server: &TestServer, authorization: &str, proof: Option<&str>) -> Answer {
    let mut headers = vec![("authorization", authorization)];
    headers.extend(proof.map(|proof| ("dpop", proof)));
    server.browser().get_with("/userinfo", &headers)
}

fn public(server: &TestServer) -> RelyingParty {
    let grants = ["authorization_code", "refresh_token"];
    RelyingParty::register(server, json!({ "token_endpoint_auth_method": "none", "grant_types": grants }))
}

/// A code of a request, and the request's verifier.
fn code(browser: &Browser, request: &AuthorizationRequest) -> (String, String) {
    let answer = browser.get(&request.path());
    (answer.redirected("code").unwrap_or_else(|| panic!("{answer:?}")), request.verifier.clone())
}

/// A refusal by UserInfo, with a challenge of the scheme DPoP (RFC 9449 7.1).
fn assert_challenged(answer: &Answer, error: &str) {
    assert_eq!((answer.status, &*answer.error()), (401, error), "{answer:?}");
    let challenge = answer.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("DPoP ") && challenge.contains(&format!("error=\"{error}\"")),
        "{challenge}"
    );
    assert!(challenge.contains("algs=\"RS256 PS256 ES256 EdDSA Ed25519\""), "{challenge}");
}

#[test]
fn a_bound_token_is_used_with_proofs_of_its_key_and_in_no_other_way() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let (holder, thief) = (Holder::new(&server), Holder::new(&server));
    let answer = holder.redeem(&rp, &code(&browser, &rp.authorization_request()));
    let tokens = TokenSet::of(&answer);
    assert_eq!(tokens.body["token_type"], "DPoP");
    let (_, claims) = decode_jwt(&tokens.access_token);
    assert_eq!(claims["cnf"], json!({ "jkt": holder.key.thumbprint() }));
    let token = &*tokens.access_token;

    // Twice, so that the second comes from the cache of verified tokens.
    for _ in 0..2 {
        let answer = holder.userinfo(token, &json!({}));
        assert_eq!((answer.status, &answer.json()["sub"]), (200, &json!(user)), "{answer:?}");
        assert_eq!(answer.header("dpop-nonce"), None);
    }
    // RFC 9449 7.2: it is no bearer token, wherever it stands.
    assert_challenged(&userinfo(&server, &format!("Bearer {token}"), None), "invalid_token");
    let in_form = server.browser().post("/userinfo", &[("access_token", token)]);
    assert_challenged(&in_form, "invalid_token");
    assert_challenged(&thief.userinfo(token, &json!({})), "invalid_token");
    assert_challenged(&userinfo(&server, &format!("DPoP {token}"), None), "invalid_dpop_proof");
    for wrong in [
        json!({ "htm": "POST" }),
        json!({ "htu": format!("{}/token", server.issuer) }),
        json!({ "iat": server.now().seconds() - 400 }),
        json!({ "ath": encoding::encode(&digest::sha256(&[b"another token"])) }),
        json!({ "jti": "" }),
    ] {
        assert_challenged(&holder.userinfo(token, &wrong), "invalid_dpop_proof");
    }
    // A proof is used once.
    let once = json!({ "jti": "once" });
    assert_eq!(holder.userinfo(token, &once).status, 200);
    assert_challenged(&holder.userinfo(token, &once), "invalid_dpop_proof");

    // An unbound token does not come by this scheme.
    let plain = rp.sign_in(&browser);
    assert_eq!(plain.body["token_type"], "Bearer");
    assert_challenged(&holder.userinfo(&plain.access_token, &json!({})), "invalid_token");
    assert_eq!(userinfo(&server, &format!("Bearer {}", plain.access_token), None).status, 200);
    // Who has no token is told of both schemes.
    let challenge = server.browser().get("/userinfo");
    let challenge = challenge.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("Bearer ") && challenge.contains("DPoP ") && challenge.contains("algs="));

    // RFC 9449 6.2.
    let told = rp.post("/introspect", &[("token", token)]).json();
    assert_eq!((&told["active"], &told["token_type"]), (&json!(true), &json!("DPoP")));
    assert_eq!(told["cnf"], json!({ "jkt": holder.key.thumbprint() }));
}

#[test]
fn every_grant_binds_its_token_and_takes_a_proof_once() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let holder = Holder::new(&server);
    let subject = rp.sign_in(&browser).access_token;
    let exchange = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token", &*subject),
    ];
    for form in [&exchange[..], &[("grant_type", "client_credentials")]] {
        let proof = holder.proof("POST", "/token", &json!({}));
        let tokens = TokenSet::of(&holder.token_with(&rp, form, &proof));
        assert_eq!(tokens.body["token_type"], "DPoP", "{form:?}");
        assert_eq!(decode_jwt(&tokens.access_token).1["cnf"]["jkt"], holder.key.thumbprint());
        let again = holder.token_with(&rp, form, &proof);
        assert_eq!((again.status, &*again.error()), (400, "invalid_dpop_proof"), "{again:?}");
        // Without a proof the result is bound to nothing, whatever the subject token is.
        assert_eq!(TokenSet::of(&rp.token(form)).body["token_type"], "Bearer");
    }
    // A replayed proof uses up neither code nor refresh token.
    let proof = holder.proof("POST", "/token", &json!({}));
    let first = rp.sign_in(&browser).refresh_token.unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*first)];
    assert_eq!(holder.token_with(&rp, &[("grant_type", "client_credentials")], &proof).status, 200);
    assert_eq!(holder.token_with(&rp, &form, &proof).error(), "invalid_dpop_proof");
    assert_eq!(holder.token(&rp, &form).status, 200);
    // Who is refused anyway leaves no mark: a second time the answer is the same.
    let public = public(&server);
    let proof = holder.proof("POST", "/token", &json!({}));
    for _ in 0..2 {
        let refused = holder.token_with(&public, &[("grant_type", "client_credentials")], &proof);
        assert_eq!(refused.error(), "unauthorized_client", "{refused:?}");
    }
    // A client does not get rid of the key of its own token by exchanging it.
    let proof = holder.proof("POST", "/token", &json!({}));
    let bound = TokenSet::of(&holder.token_with(&rp, &[("grant_type", "client_credentials")], &proof));
    let mut exchange = exchange.to_vec();
    exchange[2] = ("subject_token", &*bound.access_token);
    assert_eq!(rp.token(&exchange).error(), "invalid_grant");
    assert_eq!(Holder::new(&server).token(&rp, &exchange).error(), "invalid_grant", "another key");
    assert_eq!(TokenSet::of(&holder.token(&rp, &exchange)).body["token_type"], "DPoP");
    // Two headers are no proof (RFC 9449 4.3).
    let (one, two) = (holder.proof("POST", "/token", &json!({})), holder.proof("POST", "/token", &json!({})));
    let basic = rp.basic();
    let headers = [("authorization", &*basic), ("dpop", &*one), ("dpop", &*two)];
    let twice = server.browser().post_with("/token", &[("grant_type", "client_credentials")], &headers);
    assert_eq!(twice.error(), "invalid_dpop_proof", "{twice:?}");
}

#[test]
fn refresh_tokens_of_public_clients_are_bound_and_others_may_change_their_key() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("a@example.com");
    let (holder, other) = (Holder::new(&server), Holder::new(&server));
    let app = public(&server);
    let tokens = TokenSet::of(&holder.redeem(&app, &code(&browser, &app.authorization_request())));
    let refresh_token = tokens.refresh_token.unwrap();
    assert_eq!(other.refresh(&app, &refresh_token).error(), "invalid_grant");
    assert_eq!(app.refresh(&refresh_token).error(), "invalid_grant", "without a proof");
    let next = TokenSet::of(&holder.refresh(&app, &refresh_token));
    assert_eq!(next.body["token_type"], "DPoP");
    assert_eq!(other.refresh(&app, next.refresh_token.as_deref().unwrap()).error(), "invalid_grant");

    // RFC 9449 5: a client that authenticates is known without its key.
    let rp = RelyingParty::register(&server, json!({}));
    let tokens = TokenSet::of(&holder.redeem(&rp, &code(&browser, &rp.authorization_request())));
    let next = TokenSet::of(&other.refresh(&rp, &tokens.refresh_token.unwrap()));
    assert_eq!(decode_jwt(&next.access_token).1["cnf"]["jkt"], other.key.thumbprint());
}

#[test]
fn a_code_for_a_key_is_redeemed_by_that_key() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("a@example.com");
    let (holder, other) = (Holder::new(&server), Holder::new(&server));
    let app = public(&server);
    let request = || app.authorization_request().with("dpop_jkt", &holder.key.thumbprint());
    let bound = code(&browser, &request());
    assert_eq!(other.redeem(&app, &bound).error(), "invalid_grant");
    assert_eq!(app.redeem(&bound.0, &bound.1).error(), "invalid_grant", "without a proof");
    assert_eq!(holder.redeem(&app, &bound).status, 200, "it was not used up");
    let malformed = browser.get(&request().with("dpop_jkt", "no thumbprint").path());
    assert_eq!(malformed.redirected("error").as_deref(), Some("invalid_request"), "{malformed:?}");
}

/// RFC 9449 10.1.
#[test]
fn what_a_device_gets_is_bound_to_the_key_of_its_proof() {
    let server = TestServer::start();
    let holder = Holder::new(&server);
    let (_, browser) = server.signed_in("device@example.com");
    let rp = device::television(&server);
    let codes = device::ask(&rp, "openid");
    device::decide(&browser, &codes, "allow");
    let answer = holder.token(&rp, &[("grant_type", device::DEVICE), ("device_code", &codes.device)]);
    assert_eq!((answer.status, &answer.json()["token_type"]), (200, &json!("DPoP")), "{answer:?}");
    let token = answer.json()["refresh_token"].as_str().unwrap().to_owned();
    assert_eq!(rp.refresh(&token).status, 400, "a public client's refresh token is bound too");
    assert_eq!(holder.refresh(&rp, &token).status, 200);
}

#[test]
fn a_proof_with_a_pushed_request_binds_its_code() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("a@example.com");
    let rp = RelyingParty::register(&server, json!({}));
    let (holder, other) = (Holder::new(&server), Holder::new(&server));
    let request = rp.authorization_request();
    let form: Vec<(&str, &str)> =
        request.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
    let proof = holder.proof("POST", "/par", &json!({}));
    let push =
        || server.browser().post_with("/par", &form, &[("authorization", &rp.basic()), ("dpop", &proof)]);
    let uri = push().json()["request_uri"].as_str().unwrap().to_owned();
    assert_eq!(
        push().status,
        201,
        "the same proof makes another request for the same key, and leaves no mark"
    );
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("client_id", &*rp.client_id), ("request_uri", &uri)])
        .finish();
    let answer = browser.get(&format!("/authorize?{query}"));
    let bound = (answer.redirected("code").unwrap(), request.verifier.clone());
    assert_eq!(other.redeem(&rp, &bound).error(), "invalid_grant");
    assert_eq!(holder.redeem(&rp, &bound).status, 200);
}

#[test]
fn a_client_that_is_registered_for_bound_tokens_gets_no_other() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "dpop_bound_access_tokens": true }));
    let shown = server.admin("GET", &format!("/clients/{}", rp.client_id), None).json();
    assert!(shown.to_string().contains("\"dpop_bound_access_tokens\":true"), "{shown}");
    let form = [("grant_type", "client_credentials")];
    let without = rp.token(&form);
    assert_eq!((without.status, &*without.error()), (400, "invalid_dpop_proof"), "{without:?}");
    assert_eq!(Holder::new(&server).token(&rp, &form).status, 200);
    let discovery = server.browser().get("/.well-known/openid-configuration").json();
    let algorithms = json!(["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]);
    assert_eq!(discovery["dpop_signing_alg_values_supported"], algorithms);
}

#[test]
fn nonces_are_asked_for_where_they_are_needed_and_must_be_ours_everywhere() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let holder = Holder::new(&server);
    let form = [("grant_type", "client_credentials")];
    let with = |nonce: &str| holder.proof("POST", "/token", &json!({ "nonce": nonce }));
    let made_up = holder.token_with(&rp, &form, &with("made-up"));
    assert_eq!((made_up.status, &*made_up.error()), (400, "use_dpop_nonce"), "{made_up:?}");

    let answer = server.admin("PATCH", "/settings", Some(json!({ "dpop_nonce": "required" })));
    assert_eq!(answer.status, 200, "{answer:?}");
    let code = code(&browser, &rp.authorization_request());
    let asked = holder.redeem(&rp, &code);
    assert_eq!((asked.status, &*asked.error()), (400, "use_dpop_nonce"), "{asked:?}");
    let nonce = asked.header("dpop-nonce").unwrap().to_owned();
    let redeem = [
        ("grant_type", "authorization_code"),
        ("code", &*code.0),
        ("redirect_uri", &*rp.redirect_uri),
        ("code_verifier", &*code.1),
    ];
    let redeemed = holder.token_with(&rp, &redeem, &with(&nonce));
    for answer in [&asked, &redeemed] {
        let nonces = answer.headers.iter().filter(|(name, _)| name == "dpop-nonce").count();
        assert_eq!(nonces, 1, "RFC 9449 8: never more than one: {answer:?}");
    }
    let token = TokenSet::of(&redeemed).access_token;

    let asked = holder.userinfo(&token, &json!({}));
    assert_challenged(&asked, "use_dpop_nonce");
    let nonce = asked.header("dpop-nonce").unwrap().to_owned();
    let answer = holder.userinfo(&token, &json!({ "nonce": nonce }));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.header("dpop-nonce").is_some());
    server.clock.advance(Duration::from_secs(11 * 60));
    assert_challenged(&holder.userinfo(&token, &json!({ "nonce": nonce })), "use_dpop_nonce");

    // A client may be let off.
    let path = format!("/clients/{}", rp.client_id);
    let off = server.admin("PATCH", &path, Some(json!({ "settings": { "dpop_nonce": "off" } })));
    assert_eq!(off.status, 200, "{off:?}");
    assert_eq!(holder.token(&rp, &form).status, 200);
}

#[test]
fn a_proof_that_was_used_is_no_good_after_a_restart_or_a_crash() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let issuer = server.issuer.clone();
    let form = [("grant_type", "client_credentials")];
    let holder = Holder::new(&server);
    let used = [(); 2].map(|()| holder.proof("POST", "/token", &json!({})));
    TokenSet::of(&holder.token_with(&rp, &form, &used[0]));

    let key = holder.key;
    let server = server.restart(Options { seed: 2, ..Options::default() }.issuer(&issuer));
    let holder = Holder { server: &server, key };
    assert_eq!(holder.token_with(&rp, &form, &used[0]).error(), "invalid_dpop_proof");
    TokenSet::of(&holder.token_with(&rp, &form, &used[1]));

    let key = holder.key;
    let server = server.crash(Options { seed: 3, ..Options::default() }.issuer(&issuer));
    let holder = Holder { server: &server, key };
    let again = holder.token_with(&rp, &form, &used[1]);
    assert_eq!(again.status, 400, "{again:?}");
    // A store that has forgotten it cannot tell it from others of its time, and asks for a nonce.
    if let Some(nonce) = again.header("dpop-nonce") {
        assert_eq!(again.error(), "use_dpop_nonce");
        let proof = holder.proof("POST", "/token", &json!({ "nonce": nonce }));
        TokenSet::of(&holder.token_with(&rp, &form, &proof));
        server.clock.advance(Duration::from_secs(31));
    }
    TokenSet::of(&holder.token(&rp, &form));
    assert_eq!(holder.token_with(&rp, &form, &used[1]).status, 400);
}
