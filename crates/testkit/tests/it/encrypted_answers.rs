//! ID tokens and UserInfo answers that are encrypted for the client (OpenID Connect Core 10.2). Others' software decrypts them in
//! `clients/openid-client`; `symbolon-crypto` does in its own tests.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::encoding;
use symbolon_testkit::{RelyingParty, Signing, TestServer};

use crate::upstream::fake::{Fake, ok};
use crate::upstream::options;

const ALG: &str = "id_token_encrypted_response_alg";
const ENC: &str = "id_token_encrypted_response_enc";

/// A P-256 key to encrypt for. Its private half is of no use here.
fn key(kid: &str) -> Value {
    let mut key = Signing::generate(Algorithm::Es256).jwks()["keys"][0].clone();
    key["kid"] = json!(kid);
    key["use"] = json!("enc");
    key["alg"] = json!("ECDH-ES");
    key
}

/// The header of a JWE, of which nothing else can be read.
fn header(jwe: &str) -> Value {
    let parts: Vec<&str> = jwe.split('.').collect();
    assert_eq!(parts.len(), 5, "{jwe}");
    serde_json::from_slice(&encoding::decode(parts[0]).unwrap()).unwrap()
}

#[test]
fn what_a_client_asked_for_encrypted_it_gets_in_no_other_way() {
    let server = TestServer::start();
    let metadata = json!({
        "jwks": { "keys": [key("e")] }, ALG: "ECDH-ES", ENC: "A256GCM", "userinfo_encrypted_response_alg": "ECDH-ES",
        "response_types": ["code", "code id_token"],
        "grant_types": ["authorization_code", "implicit", "refresh_token"],
    });
    let rp = RelyingParty::register(&server, metadata);
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request().without("scope").with("scope", "openid email offline_access");
    let tokens = rp.sign_in_with(&browser, request);
    let refreshed = rp.refresh(tokens.refresh_token.as_deref().unwrap()).json();
    let hybrid = rp.authorization_request().without("response_type").with("response_type", "code id_token");
    let hybrid = browser.get(&hybrid.with("nonce", "n").path()).location();
    let hybrid = hybrid.split(['#', '&']).find_map(|pair| pair.strip_prefix("id_token=")).unwrap().to_owned();
    for token in [tokens.id_token.as_deref().unwrap(), refreshed["id_token"].as_str().unwrap(), &hybrid] {
        let header = header(token);
        let told = (&header["alg"], &header["enc"], &header["cty"], &header["kid"]);
        assert_eq!(told, (&json!("ECDH-ES"), &json!("A256GCM"), &json!("JWT"), &json!("e")));
    }
    let bearer = format!("Bearer {}", tokens.access_token);
    let answer = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/jwt")), "{answer:?}");
    // Only encrypted, not signed: there is no token inside. OpenID Connect Registration 2: the default of enc.
    let header = header(&answer.body);
    assert_eq!((&header["enc"], &header["cty"]), (&json!("A128CBC-HS256"), &Value::Null));

    // Nobody but the client reads it, so as a hint it says nothing; the session alone decides.
    let hint = tokens.id_token.as_deref().unwrap();
    let silent = rp.authorization_request().with("prompt", "none").with("id_token_hint", hint);
    let answer = browser.get(&silent.path());
    assert_eq!(answer.redirected("error").as_deref(), Some("login_required"), "{answer:?}");
}

#[test]
fn what_cannot_be_encrypted_is_refused_when_the_client_is_saved() {
    let server = TestServer::start();
    let refused = |changes: Value| {
        let mut metadata = json!({ "client_name": "A", "redirect_uris": ["https://rp.example/callback"], "jwks": { "keys": [key("e")] } });
        metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let answer = server.admin("POST", "/clients", Some(metadata));
        assert_eq!(answer.status, 400, "{changes}: {answer:?}");
        answer.body
    };
    for alg in ["RSA1_5", "RSA-OAEP", "dir", "A128KW", "none ", "ecdh-es", "PBES2-HS256+A128KW"] {
        let told = refused(json!({ ALG: alg }));
        assert!(told.contains(ALG), "{alg}: {told}");
    }
    assert!(refused(json!({ ALG: "ECDH-ES", ENC: "A192GCM" })).contains(ENC));
    assert!(refused(json!({ ENC: "A128GCM" })).contains("stands alone"));
    assert!(refused(json!({ ALG: "RSA-OAEP-256" })).contains("an RSA key"), "a key of another type");
    assert!(refused(json!({ ALG: "ECDH-ES", "jwks": null })).contains("a P-256 key"));
    let mut signs = key("s");
    signs["use"] = json!("sig");
    assert!(refused(json!({ ALG: "ECDH-ES", "jwks": { "keys": [signs] } })).contains("a P-256 key"));
    let mut huge = Signing::generate(Algorithm::Rs256).jwks()["keys"][0].clone();
    huge["use"] = json!("enc");
    huge["alg"] = json!("RSA-OAEP-256");
    huge["n"] = json!(encoding::encode(&[0xff; 4_096]));
    assert!(refused(json!({ ALG: "RSA-OAEP-256", "jwks": { "keys": [huge] } })).contains("an RSA key"));
    let mut off = key("off");
    off["y"] = off["x"].clone();
    assert!(refused(json!({ ALG: "ECDH-ES", "jwks": { "keys": [off] } })).contains("a P-256 key"));
}

/// Keys that the client publishes are read when they are needed; until it has one, it gets no token that others could read.
#[test]
fn published_keys_are_encrypted_for() {
    let server = TestServer::start_with(options().one_node());
    let fake = Fake::start(&json!({ "keys": [] }));
    let rp = RelyingParty::register(
        &server,
        json!({ "jwks_uri": format!("{}/jwks", fake.issuer), ALG: "ECDH-ES" }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let redeem = || {
        let request = rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        rp.redeem(&code, &request.verifier)
    };
    let without = redeem();
    assert_eq!((without.status, &*without.error()), (400, "invalid_request"), "{without:?}");
    assert!(without.body.contains("no key"), "{without:?}");
    fake.set("/jwks", ok(&json!({ "keys": [key("new")] })));
    server.clock.advance(std::time::Duration::from_secs(61));
    let with = redeem();
    assert_eq!(with.status, 200, "{with:?}");
    assert_eq!(header(with.json()["id_token"].as_str().unwrap())["kid"], "new");
}
