//! Clients that keep to a profile of FAPI 2.0, or to FAPI 1.0 Advanced.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::{digest, encoding, random};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, RelyingParty, Signing, TestServer, TokenSet, decode_jwt,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A client that signs its assertions and request objects by one key and its proofs by another.
struct Bank<'a> {
    server: &'a TestServer,
    rp: RelyingParty,
    key: Signing,
    /// Registered too, though the profile allows nothing that it signs.
    weak: Signing,
    holder: Signing,
}

fn new_id() -> String {
    random::base64url::<16>(&SystemRandom)
}

impl<'a> Bank<'a> {
    fn register(server: &'a TestServer, profile: &str) -> Self {
        Self::register_with(server, profile, &json!({}))
    }

    fn register_with(server: &'a TestServer, profile: &str, more: &Value) -> Self {
        let (key, weak) = (Signing::generate(Algorithm::Es256), Signing::generate(Algorithm::Rs256));
        let keys = [&key, &weak].map(|own| own.jwks()["keys"][0].clone());
        let mut metadata = json!({
            "token_endpoint_auth_method": "private_key_jwt", "jwks": { "keys": keys },
            "id_token_signed_response_alg": "ES256", "settings": { "profile": profile },
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            metadata[name] = value.clone();
        }
        let rp = RelyingParty::register(server, metadata);
        Self { server, rp, key, weak, holder: Signing::generate(Algorithm::Es256) }
    }

    fn assertion(&self) -> String {
        let now = self.server.now().seconds();
        self.key.assertion(&self.rp.client_id, &self.server.issuer, &new_id(), now)
    }

    fn proof(&self, key: &Signing, method: &str, path: &str, ath: Option<&str>) -> String {
        let htu = format!("{}{path}", self.server.issuer);
        let now = self.server.now().seconds();
        let mut claims = json!({ "jti": new_id(), "htm": method, "htu": htu, "iat": now });
        if let Some(token) = ath {
            claims["ath"] = json!(encoding::encode(&digest::sha256(&[token.as_bytes()])));
        }
        key.jws(&key.dpop_header(), &claims)
    }

    /// A request of the client with an assertion.
    fn post_with(&self, path: &str, form: &[(&str, &str)], headers: &[(&str, &str)], by: &str) -> Answer {
        let mut form = form.to_vec();
        form.extend([("client_assertion", by), ("client_assertion_type", ASSERTION)]);
        self.server.browser().post_with(path, &form, headers)
    }

    fn push_by(&self, request: &AuthorizationRequest, assertion: &str) -> Answer {
        let form: Vec<(&str, &str)> =
            request.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post_with("/par", &form, &[], assertion)
    }

    fn push(&self, request: &AuthorizationRequest) -> Answer {
        self.push_by(request, &self.assertion())
    }

    /// The answer to a request that was pushed.
    fn authorize(&self, browser: &Browser, pushed: &Answer) -> Answer {
        assert_eq!(pushed.status, 201, "{pushed:?}");
        let uri = pushed.json()["request_uri"].as_str().unwrap().to_owned();
        let parameters = [("client_id", &self.rp.client_id), ("request_uri", &uri)];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.clone())).to_vec();
        browser.get(&AuthorizationRequest { parameters, verifier: String::new() }.path())
    }

    fn token(&self, form: &[(&str, &str)]) -> Answer {
        let proof = self.proof(&self.holder, "POST", "/token", None);
        self.post_with("/token", form, &[("dpop", &proof)], &self.assertion())
    }

    fn redeem(&self, code: &str, verifier: &str) -> Answer {
        self.token(&self.redeeming(code, verifier))
    }

    fn redeeming<'f>(&'f self, code: &'f str, verifier: &'f str) -> [(&'f str, &'f str); 4] {
        [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.rp.redirect_uri),
            ("code_verifier", verifier),
        ]
    }

    /// A request object with the parameters of a request, signed by one of the client's keys.
    fn signed(&self, key: &Signing, request: &AuthorizationRequest) -> AuthorizationRequest {
        let now = self.server.now().seconds();
        let mut claims =
            json!({ "iss": self.rp.client_id, "aud": self.server.issuer, "nbf": now, "exp": now + 300 });
        for (name, value) in &request.parameters {
            claims[name] = json!(value);
        }
        let object = key.jwt("oauth-authz-req+jwt", &claims);
        let parameters =
            vec![("client_id".to_owned(), self.rp.client_id.clone()), ("request".to_owned(), object)];
        AuthorizationRequest { parameters, verifier: request.verifier.clone() }
    }
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.error())
}

fn algorithm(token: &str) -> Value {
    decode_jwt(token).0["alg"].clone()
}

#[test]
fn a_person_signs_in_at_a_client_of_the_security_profile() {
    let server = TestServer::start();
    let bank = Bank::register(&server, "fapi2_security");
    let (user, browser) = server.signed_in("a@example.com");
    let request = bank.rp.authorization_request();
    let answer = bank.authorize(&browser, &bank.push(&request));
    assert_eq!(answer.redirected("iss").as_deref(), Some(&*server.issuer), "{answer:?}");
    let tokens = TokenSet::of(&bank.redeem(&answer.redirected("code").unwrap(), &request.verifier));
    assert_eq!(tokens.body["token_type"], "DPoP");
    // The issuer's algorithm is RS256, which the profile does not allow.
    for token in [&tokens.access_token, tokens.id_token.as_ref().unwrap()] {
        assert_eq!(algorithm(token), "ES256");
    }

    let token = &*tokens.access_token;
    let proof = bank.proof(&bank.holder, "GET", "/userinfo", Some(token));
    let authorization = format!("DPoP {token}");
    let headers = [("authorization", &*authorization), ("dpop", &*proof)];
    let told = server.browser().get_with("/userinfo", &headers);
    assert_eq!((told.status, &told.json()["sub"]), (200, &json!(user)), "{told:?}");

    // The refresh token does not rotate, though the issuer's do, and serves a key that the client has replaced.
    let refresh_token = tokens.refresh_token.unwrap();
    let bank = Bank { holder: Signing::generate(Algorithm::EdDsa), ..bank };
    for _ in 0..2 {
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token)];
        let refreshed = TokenSet::of(&bank.token(&form));
        assert_eq!(refreshed.refresh_token.as_deref().unwrap_or(&refresh_token), refresh_token);
        let jkt = json!({ "jkt": bank.holder.thumbprint() });
        assert_eq!(decode_jwt(&refreshed.access_token).1["cnf"], jkt);
        server.clock.advance(Duration::from_secs(60));
    }
}

#[test]
fn what_the_security_profile_demands_is_refused_otherwise() {
    let server = TestServer::start();
    let bank = Bank::register(&server, "fapi2_security");
    let (_, browser) = server.signed_in("a@example.com");
    let request = bank.rp.authorization_request();
    // FAPI 2.0 Security Profile 5.3.2.2: pushed, with PKCE, and `code` alone.
    assert_eq!(browser.get(&request.path()).redirected("error").as_deref(), Some("invalid_request"));
    let without = request.clone().without("code_challenge").without("code_challenge_method");
    assert_eq!(told(&bank.push(&without)), (400, "invalid_request".to_owned()));
    let hybrid = request.clone().with("response_type", "code id_token");
    assert_eq!(told(&bank.push(&hybrid)), (400, "unsupported_response_type".to_owned()));
    // 5.3.2.1: the audience is the issuer, as a text; 5.4: no RS256.
    let (id, now) = (&*bank.rp.client_id, server.now().seconds());
    let mut claims =
        json!({ "iss": id, "sub": id, "aud": [server.issuer], "jti": new_id(), "iat": now, "exp": now + 60 });
    let array = bank.key.jwt("JWT", &claims);
    claims["aud"] = json!(format!("{}/par", server.issuer));
    let endpoint = bank.key.jwt("JWT", &claims);
    let weak = bank.weak.assertion(id, &server.issuer, &new_id(), now);
    for assertion in [&array, &endpoint, &weak] {
        assert_eq!(told(&bank.push_by(&request, assertion)), (401, "invalid_client".to_owned()));
    }
    // 5.3.2.1: tokens are bound; 5.4: by no proof of RS256.
    let answer = bank.authorize(&browser, &bank.push(&request));
    let code = answer.redirected("code").unwrap();
    let form = bank.redeeming(&code, &request.verifier);
    let unproven = bank.post_with("/token", &form, &[], &bank.assertion());
    assert_eq!(told(&unproven), (400, "invalid_dpop_proof".to_owned()));
    let proof = bank.proof(&Signing::generate(Algorithm::Rs256), "POST", "/token", None);
    let weakly = bank.post_with("/token", &form, &[("dpop", &proof)], &bank.assertion());
    assert_eq!(told(&weakly), (400, "invalid_dpop_proof".to_owned()));
    assert_eq!(bank.redeem(&code, &request.verifier).status, 200, "and the code is still there");
}

#[test]
fn a_client_that_contradicts_its_profile_is_not_saved() {
    let server = TestServer::start();
    let bank = Bank::register(&server, "fapi2_security");
    let path = format!("/clients/{}", bank.rp.client_id);
    for (change, member) in [
        (json!({ "settings": { "pkce": "optional" } }), "settings.pkce"),
        (json!({ "token_endpoint_auth_method": "client_secret_basic" }), "token_endpoint_auth_method"),
        (json!({ "require_pushed_authorization_requests": false }), "require_pushed_authorization_requests"),
    ] {
        let answer = server.admin("PATCH", &path, Some(change));
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains(&format!("{member} must")), "{answer:?}");
    }
    let freed =
        server.admin("PATCH", &path, Some(json!({ "settings": { "profile": null, "pkce": "optional" } })));
    assert_eq!(freed.status, 200, "{freed:?}");
}

#[test]
fn messages_are_signed_at_a_client_of_message_signing() {
    const INTROSPECTION: &str = "application/token-introspection+jwt";
    let server = TestServer::start();
    let bank = Bank::register(&server, "fapi2_message_signing");
    let (_, browser) = server.signed_in("a@example.com");
    let request = bank.rp.authorization_request().with("response_mode", "jwt");
    // FAPI 2.0 Message Signing 5.3.1: signed requests alone, and not by RS256.
    assert_eq!(told(&bank.push(&request)), (400, "invalid_request".to_owned()));
    let weakly = bank.push(&bank.signed(&bank.weak, &request));
    assert_eq!(told(&weakly), (400, "invalid_request_object".to_owned()));

    let answer = bank.authorize(&browser, &bank.push(&bank.signed(&bank.key, &request)));
    assert_eq!(answer.redirected("code"), None, "{answer:?}");
    let signed = answer.redirected("response").unwrap_or_else(|| panic!("{answer:?}"));
    let (header, claims) = decode_jwt(&signed);
    assert_eq!((&header["alg"], &claims["iss"]), (&json!("ES256"), &json!(server.issuer)));
    assert_eq!(claims["aud"], json!(bank.rp.client_id));
    let tokens = TokenSet::of(&bank.redeem(claims["code"].as_str().unwrap(), &request.verifier));

    let form = [("token", &*tokens.access_token)];
    let told = bank.post_with("/introspect", &form, &[("accept", INTROSPECTION)], &bank.assertion());
    assert_eq!((told.status, told.header("content-type")), (200, Some(INTROSPECTION)), "{told:?}");
    assert_eq!(algorithm(&told.body), "ES256");
}

/// What the conformance suite found open while a client of FAPI 1.0 could not say so.
#[test]
fn fapi_1_pushes_with_pkce_and_gets_codes_in_signed_answers_alone() {
    let server = TestServer::start();
    let bound = json!({ "tls_client_certificate_bound_access_tokens": true });
    let bank = Bank::register_with(&server, "fapi1_advanced", &bound);
    let (_, browser) = server.signed_in("a@example.com");
    let request = bank.rp.authorization_request().with("response_mode", "jwt");
    let answer = bank.authorize(&browser, &bank.push(&bank.signed(&bank.key, &request)));
    assert!(answer.redirected("response").is_some() && answer.redirected("code").is_none(), "{answer:?}");
    let without_pkce = request.clone().without("code_challenge").without("code_challenge_method");
    for (refused, code) in [
        // FAPI 1.0 Advanced 5.2.2-18.
        (without_pkce, "invalid_request"),
        // FAPI 1.0 Baseline 5.2.2.2.
        (request.clone().without("nonce"), "invalid_request"),
        // FAPI 1.0 Advanced 5.2.2-2.
        (request.clone().without("response_mode"), "invalid_request"),
        (request.clone().with("response_mode", "query"), "invalid_request"),
    ] {
        let pushed = bank.push(&bank.signed(&bank.key, &refused));
        assert_eq!(told(&pushed), (400, code.to_owned()), "{refused:?}");
    }
    // FAPI 1.0 Advanced 5.2.2-1.
    assert_eq!(told(&bank.push(&request)), (400, "invalid_request".to_owned()));
}
