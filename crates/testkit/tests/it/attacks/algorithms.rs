//! Forged JWTs (RFC 8725 2.1, 3.1 to 3.3): each forgery at each place that verifies a signature.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;
use symbolon_testkit::{RelyingParty, Signing, TestServer};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A JWS by this header, signed by `sign`.
fn jws(header: &Value, payload: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let input = format!("{}.{payload}", encoding::encode(header.to_string().as_bytes()));
    let signature = encoding::encode(&sign(input.as_bytes()));
    format!("{input}.{signature}")
}

fn with(header: &Value, more: Value) -> Value {
    let mut all = header.clone();
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

/// Tokens that somebody makes who has seen an honest one and knows the public key, but has no key of the signer.
fn forgeries(honest: &str, public: &Value) -> Vec<(String, String)> {
    let parts: Vec<&str> = honest.split('.').collect();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    let header: Value = serde_json::from_slice(&encoding::decode(header).unwrap()).unwrap();
    let thief = Signing::generate(Algorithm::Es256);
    let thief_jwk = thief.jwks()["keys"][0].clone();
    let mut all: Vec<(String, String)> = Vec::new();
    for none in ["none", "None", "NONE", "nOnE", ""] {
        let unsigned = jws(&with(&header, json!({ "alg": none })), payload, |_| Vec::new());
        all.push((format!("alg {none:?} without a signature"), unsigned));
        let signed = jws(&with(&header, json!({ "alg": none })), payload, |_| b"signature".to_vec());
        all.push((format!("alg {none:?} with a signature"), signed));
    }
    // The public key as the secret of a MAC, in the forms in which libraries hold it.
    let point: Vec<u8> = ["x", "y", "n"]
        .iter()
        .filter_map(|name| public[*name].as_str())
        .flat_map(|text| encoding::decode(text).unwrap())
        .collect();
    for (form, secret) in
        [("JSON", public.to_string().into_bytes()), ("bytes", point), ("nothing", Vec::new())]
    {
        let key = HmacKey::new(&secret);
        for alg in ["HS256", "HS512"] {
            let mac =
                jws(&with(&header, json!({ "alg": alg })), payload, |input| key.sign(&[input]).to_vec());
            all.push((format!("{alg} by the public key as {form}"), mac));
        }
    }
    // A key that comes along, or is to be fetched.
    for more in [
        json!({ "jwk": thief_jwk }),
        json!({ "jwk": thief_jwk, "kid": thief_jwk["kid"] }),
        json!({ "jku": "https://attacker.example/jwks" }),
        json!({ "x5u": "https://attacker.example/chain.pem" }),
        json!({ "x5c": ["MIIB"] }),
        json!({ "kid": "../../../../dev/null" }),
        json!({ "kid": "' OR '1'='1" }),
        json!({ "kid": "k".repeat(5_000) }),
        json!({ "kid": ["a", "b"] }),
        json!({ "kid": null }),
    ] {
        let told =
            format!("a key of the attacker's, {}", more.to_string().chars().take(40).collect::<String>());
        let claims = serde_json::from_slice(&encoding::decode(payload).unwrap()).unwrap();
        all.push((told, thief.jws(&with(&header, with(&json!({ "alg": "ES256" }), more)), &claims)));
    }
    all.extend(encrypted(payload));
    // The same signature under another algorithm, or less of it.
    let raw = encoding::decode(signature).unwrap();
    for alg in ["ES384", "ES512", "PS256", "RS512", "es256", "EdDSA", "ES256K"] {
        if header["alg"] != alg {
            all.push((
                format!("renamed {alg}"),
                jws(&with(&header, json!({ "alg": alg })), payload, |_| raw.clone()),
            ));
        }
    }
    // All zeros is what some libraries took of ECDSA (CVE-2022-21449).
    all.push(("zeros".to_owned(), jws(&header, payload, |_| vec![0; raw.len()])));
    let (first, second) = (parts[0], payload);
    for (told, text) in [
        ("no signature", format!("{first}.{second}.")),
        ("two parts", format!("{first}.{second}")),
        ("four parts", format!("{honest}.{signature}")),
        ("five parts", format!("{first}.{second}.{signature}.{first}.{second}")),
        ("padding", format!("{honest}=")),
        ("padding of the payload", format!("{first}.{second}=.{signature}")),
        ("half of the signature", format!("{first}.{second}.{}", &signature[..signature.len() / 2])),
        ("a signature longer by a byte", jws(&header, payload, |_| [&*raw, &[0]].concat())),
        ("a line break", format!("{first}.{second}\n.{signature}")),
    ] {
        all.push((told.to_owned(), text));
    }
    all
}

/// Encrypted tokens (RFC 7516), in the forms by which others were tricked. Nothing is decrypted here (decision 085), so that none is tried.
fn encrypted(payload: &str) -> Vec<(String, String)> {
    let off_the_curve = json!({ "kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA" });
    [
        json!({ "alg": "dir", "enc": "A128GCM" }),
        json!({ "alg": "dir", "enc": "A128GCM", "zip": "DEF" }),
        json!({ "alg": "none", "enc": "none" }),
        json!({ "alg": "RSA1_5", "enc": "A128CBC-HS256" }),
        json!({ "alg": "RSA-OAEP-256", "enc": "A256GCM", "cty": "JWT" }),
        json!({ "alg": "RS256", "enc": "A128GCM" }),
        json!({ "alg": "PBES2-HS256+A128KW", "enc": "A128GCM", "p2s": "AAAA", "p2c": 2_000_000_000 }),
        json!({ "alg": "ECDH-ES", "enc": "A128GCM", "epk": off_the_curve }),
    ]
    .iter()
    .map(|header| {
        let head = encoding::encode(header.to_string().as_bytes());
        (format!("encrypted, {header}"), format!("{head}.AAAA.AAAAAAAAAAAAAAAA.{payload}.{}", "A".repeat(22)))
    })
    .collect()
}

/// Tokens that the signer's own key signed, in a form that must not be taken.
fn malformed(key: &Signing, header: &Value, claims: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for more in [
        // RFC 7515 4.1.11: what must be understood and is not.
        json!({ "crit": ["exp"] }),
        json!({ "crit": ["http://example.com/policy"], "http://example.com/policy": true }),
        json!({ "crit": [] }),
        // RFC 7797: the payload would not be in base64url.
        json!({ "b64": false, "crit": ["b64"] }),
        json!({ "b64": false }),
        // RFC 7516: a compressed or encrypted token is another kind.
        json!({ "zip": "DEF", "crit": ["zip"] }),
        json!({ "enc": "A128GCM", "crit": ["enc"] }),
        json!({ "typ": "logout+jwt" }),
        json!({ "typ": "secevent+jwt" }),
        json!({ "typ": ["JWT"] }),
    ] {
        all.push((more.to_string(), key.jws(&with(header, more), claims)));
    }
    all
}

/// Presents every token, the honest one last; no other may be taken.
fn assert_none_is_taken(
    place: &str,
    tokens: &[(String, String)],
    taken: &dyn Fn(&str) -> bool,
    honest: &str,
) {
    for (told, token) in tokens {
        assert!(!taken(token), "{place}: {told} was taken");
    }
    assert!(taken(honest), "{place}: the honest one is refused, so that this test says nothing");
}

fn public_of(key: &Signing) -> Value {
    key.jwks()["keys"][0].clone()
}

/// A header as the key's honest tokens have it.
fn header_of(token: &str) -> Value {
    serde_json::from_slice(&encoding::decode(token.split('.').next().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_client_assertion() {
    let server = TestServer::start();
    let key = Signing::generate(Algorithm::Es256);
    let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks() });
    let rp = RelyingParty::register(&server, metadata);
    let now = server.now().seconds();
    let claims = json!({
        "iss": rp.client_id, "sub": rp.client_id, "aud": server.issuer, "jti": "one", "iat": now, "exp": now + 60,
    });
    let honest = key.jwt("JWT", &claims);
    let taken = |token: &str| {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", ASSERTION),
            ("client_assertion", token),
        ];
        server.browser().post("/token", &form).status == 200
    };
    let mut tokens = forgeries(&honest, &public_of(&key));
    tokens.extend(malformed(&key, &header_of(&honest), &claims));
    assert_none_is_taken("client assertion", &tokens, &taken, &honest);
}

/// RFC 7517 9.2, RFC 7518 3.3: keys that are too short, too long, of no use or not public.
#[test]
fn keys_that_nobody_should_believe_are_not_registered() {
    let server = TestServer::start();
    let rsa = |bytes: usize| json!({ "kty": "RSA", "e": "AQAB", "n": encoding::encode(&vec![0xff; bytes]) });
    let own = public_of(&Signing::generate(Algorithm::Es256));
    let register = |jwk: &Value| {
        let metadata = json!({
            "client_name": "x", "redirect_uris": ["https://rp.example/callback"],
            "token_endpoint_auth_method": "private_key_jwt", "jwks": { "keys": [jwk] },
        });
        server.admin("POST", "/clients", Some(metadata))
    };
    for jwk in [
        rsa(128),
        rsa(1_025),
        rsa(4_096),
        json!({ "kty": "oct", "k": "c2VjcmV0" }),
        json!({ "kty": "EC", "crv": "P-384", "x": "AAAA", "y": "AAAA" }),
        with(&own, json!({ "crv": "secp256k1" })),
        with(&own, json!({ "x": "AAAA" })),
        with(&own, json!({ "d": "AAAA" })),
        with(&own, json!({ "use": "enc" })),
    ] {
        let refused = register(&jwk);
        assert_eq!(refused.status, 400, "{jwk}: {refused:?}");
        assert!(refused.body.contains("jwks"), "{jwk}: {refused:?}");
    }
    assert_eq!(register(&own).status, 201);
}

#[test]
fn a_request_object() {
    let server = TestServer::start();
    let key = Signing::generate(Algorithm::Es256);
    let rp = RelyingParty::register(&server, json!({ "jwks": key.jwks() }));
    let (_, browser) = server.signed_in("a@example.com");
    let now = server.now().seconds();
    let mut claims = json!({ "iss": rp.client_id, "aud": server.issuer, "nbf": now, "exp": now + 300 });
    for (name, value) in &rp.authorization_request().parameters {
        claims[name] = json!(value);
    }
    let honest = key.jwt("oauth-authz-req+jwt", &claims);
    let taken = |token: &str| {
        let parameters = [("client_id", &*rp.client_id), ("request", token)];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        {
            let answer = browser.get(&format!("/authorize?{query}"));
            answer.status == 302 && answer.redirected("code").is_some()
        }
    };
    let mut tokens = forgeries(&honest, &public_of(&key));
    tokens.extend(malformed(&key, &header_of(&honest), &claims));
    assert_none_is_taken("request object", &tokens, &taken, &honest);
}

#[test]
fn a_dpop_proof() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let key = Signing::generate(Algorithm::Es256);
    let claims = json!({
        "jti": "one", "htm": "POST", "htu": format!("{}/token", server.issuer), "iat": server.now().seconds(),
    });
    let header = key.dpop_header();
    let honest = key.jws(&header, &claims);
    let taken = |proof: &str| {
        let form = [("grant_type", "client_credentials")];
        let headers = [("authorization", &*rp.basic()), ("dpop", proof)];
        // A header cannot carry a line break; the client would never send it.
        !proof.contains('\n') && server.browser().post_with("/token", &form, &headers).status == 200
    };
    // A proof brings its own key: one of another key is honest, as long as it is signed by it.
    let brings_its_key = |told: &str| told.contains("\"jwk\"");
    let mut tokens = forgeries(&honest, &public_of(&key));
    tokens.retain(|(told, _)| !brings_its_key(told));
    tokens.extend(malformed(&key, &header, &claims));
    // RFC 9449 4.3: the key in the header is public, and asymmetric.
    for jwk in [json!({ "kty": "oct", "k": "AAAA" }), json!({}), json!("key"), json!(null)] {
        tokens.push((format!("jwk {jwk}"), key.jws(&with(&header, json!({ "jwk": jwk })), &claims)));
    }
    let mut private = public_of(&key);
    private["d"] = json!("AAAA");
    tokens.push(("a private key".to_owned(), key.jws(&with(&header, json!({ "jwk": private })), &claims)));
    let mut huge = public_of(&Signing::generate(Algorithm::Rs256));
    huge["n"] = json!(encoding::encode(&vec![0xff; 4_096]));
    let oversized = with(&header, json!({ "jwk": huge, "alg": "RS256" }));
    tokens.push(("an RSA key of 32,768 bits".to_owned(), key.jws(&oversized, &claims)));
    let mut off_the_curve = public_of(&key);
    off_the_curve["y"] = off_the_curve["x"].clone();
    tokens.push((
        "a point that is not on the curve".to_owned(),
        key.jws(&with(&header, json!({ "jwk": off_the_curve })), &claims),
    ));
    assert_none_is_taken("DPoP proof", &tokens, &taken, &honest);
}

/// The server's own tokens, where they come back: nobody else has its key.
#[test]
fn tokens_of_the_server_itself() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let public = server.browser().get("/jwks").json()["keys"][0].clone();
    let access = &*tokens.access_token;
    let forged = forgeries(access, &public);

    let userinfo = |token: &str| {
        !token.contains('\n')
            && server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))]).status
                == 200
    };
    assert_none_is_taken("UserInfo", &forged, &userinfo, access);
    let active = |token: &str| rp.post("/introspect", &[("token", token)]).json()["active"] == true;
    assert_none_is_taken("introspection", &forged, &active, access);
    let service = RelyingParty::register(&server, json!({ "allowed_subject_token_clients": [rp.client_id] }));
    let exchanged = |token: &str| {
        let form = [("grant_type", EXCHANGE), ("subject_token", token), ("subject_token_type", ACCESS_TOKEN)];
        service.token(&form).status == 200
    };
    assert_none_is_taken("token exchange", &forged, &exchanged, access);

    let hint = tokens.id_token.as_deref().unwrap();
    let silent = |token: &str| {
        let request = rp.authorization_request().with("prompt", "none").with("id_token_hint", token);
        browser.get(&request.path()).redirected("code").is_some()
    };
    assert_none_is_taken("id_token_hint", &forgeries(hint, &public), &silent, hint);
    // One kind of token is not another (RFC 8725 3.11).
    let refresh = tokens.refresh_token.as_deref().unwrap_or_default();
    for (place, taken, token) in [
        ("UserInfo takes an ID token", userinfo(hint), hint),
        ("UserInfo takes a refresh token", userinfo(refresh), refresh),
        ("exchange takes an ID token as an access token", exchanged(hint), hint),
    ] {
        assert!(!taken, "{place}: {token}");
    }
    let as_hint = silent(access);
    assert!(!as_hint, "an access token as id_token_hint");
    // Revocation of a forged token ends nothing.
    for (told, token) in &forged {
        rp.post("/revoke", &[("token", token)]);
        assert!(userinfo(access), "revoking a forged token ended the honest one: {told}");
    }
}
