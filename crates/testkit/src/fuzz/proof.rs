//! What clients prove possession with: certificates and DPoP proofs; and the requests that they sign.

use std::time::Duration;

use serde_json::{Map, Value, json};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_protocol::dpop::{self, DpopNonce, Expected, Nonces, Proof};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::mutual_tls::fuzz::are_same_names;
use symbolon_protocol::mutual_tls::{ClientCertificate, MAX_HEADER, read_header};
use symbolon_protocol::params::Params;
use symbolon_protocol::request_object::parameters as parameters_of;

use super::fixture::{CLIENT_KEY, CLIENTS, NOW, URL, base64, form, two_lines};

const TOKEN_ENDPOINT: &str = "https://op.example.com/token";

/// A distinguished name as text, or two on two lines: a name is the same in capitals and no other with one more part, and two
/// names are the same from either side.
pub fn distinguished_name(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(same) = are_same_names(text, text) {
        assert!(same, "a name is not itself");
        assert_eq!(are_same_names(text, &text.to_ascii_uppercase()), Some(true), "case counts");
        assert_ne!(are_same_names(text, &format!("{text},CN=more")), Some(true), "a part does not count");
    }
    if let Some((one, other)) = two_lines(data) {
        assert_eq!(are_same_names(one, other), are_same_names(other, one));
    }
}

/// A header in which a proxy hands a certificate on, as it is; and any bytes in both forms in which a proxy writes them, which are read
/// unchanged.
pub fn client_certificate_header(data: &[u8]) {
    if let Some(der) = std::str::from_utf8(data).ok().and_then(read_header) {
        assert!(!der.is_empty() && der.len() < MAX_HEADER, "more than was sent");
        read_certificate(der);
    }
    if data.is_empty() || data.len() > MAX_HEADER / 8 {
        return;
    }
    let encoded = base64(data);
    assert_eq!(read_header(&format!(":{encoded}:")).as_deref(), Some(data), "RFC 9440 2.1");
    let pem = format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
    let escaped = form_urlencoded::byte_serialize(pem.as_bytes()).collect::<String>().replace('+', "%20");
    assert_eq!(read_header(&escaped).as_deref(), Some(data), "percent-encoded PEM");
    read_certificate(data.to_vec());
}

/// No corpus can contain a certificate of a key that was drawn in this process.
fn read_certificate(der: Vec<u8>) {
    let certificate = ClientCertificate { der, is_vouched_for: false };
    assert!(dpop::is_thumbprint(&certificate.thumbprint()));
    assert!(!certificate.has_one_of(&[CLIENT_KEY.public().jwk().clone()]), "another's key");
}

/// A proof as it is; its claims, signed with a good header; and its header but for the key, with good claims. It is good only if it is for
/// this request, of this time, and by the key in its header.
pub fn dpop_proof(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(check(text));
    }
    let jwk = json!(CLIENT_KEY.public().jwk());
    let good = json!({ "typ": "dpop+jwt", "alg": CLIENT_KEY.algorithm(), "jwk": jwk });
    if let Some(proof) = check(&signed(good.to_string().as_bytes(), data)) {
        let claims: Value = serde_json::from_slice(data).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&claims["htm"], proof.thumbprint.as_str()), (&json!("POST"), &*thumbprint()));
        assert!(claims["jti"].as_str().is_some_and(|jti| !jti.is_empty() && jti.len() <= 512));
        assert!(claims["htu"].as_str().is_some_and(|htu| htu.to_ascii_lowercase().starts_with("https://")));
    }
    let claims = json!({ "jti": "j", "htm": "POST", "htu": TOKEN_ENDPOINT, "iat": NOW.seconds() });
    let Ok(mut header) = serde_json::from_slice::<Map<String, Value>>(data) else { return };
    header.insert("jwk".to_owned(), jwk);
    let header = Value::Object(header);
    if check(&signed(header.to_string().as_bytes(), claims.to_string().as_bytes())).is_some() {
        let typ = header["typ"].as_str().unwrap_or_default().to_ascii_lowercase();
        assert!(typ.ends_with("dpop+jwt") && header["alg"] == "ES256", "{header}");
    }
}

fn thumbprint() -> String {
    CLIENT_KEY.public().jwk().thumbprint().to_string()
}

fn signed(header: &[u8], claims: &[u8]) -> String {
    let input = signing_input(&encoding::encode(header), claims);
    let signature = CLIENT_KEY.sign(input.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    finish(input, &signature)
}

fn check(proof: &str) -> Option<Proof> {
    let nonce_key = HmacKey::new(b"nonces");
    let expected = Expected {
        method: "POST",
        uri: TOKEN_ENDPOINT,
        access_token: None,
        nonce: DpopNonce::Off,
        profile: None,
        nonces: Nonces { key: &nonce_key, since: None },
        now: NOW,
    };
    match Proof::check([Some(proof)].into_iter(), &expected) {
        Ok(proof) => {
            assert!(dpop::is_thumbprint(&proof.thumbprint));
            assert_eq!(proof.mark(&IssuerId::default_issuer()).len(), 16);
            assert!(proof.expires_at > NOW && proof.expires_at <= NOW + Duration::from_secs(600));
            Some(proof)
        }
        Err(error) => {
            assert_eq!(error.code.status(), 400);
            None
        }
    }
}

/// A request object as it is, and its claims signed by the client: the first never passes; the second passes only if it is the
/// client's and for this issuer, and makes a request of that client without another object in it.
pub fn request_object(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert_eq!(parameters(text), None, "a foreign request object passed");
    let header = EncodedHeader::for_key(&CLIENT_KEY, Some("oauth-authz-req+jwt"));
    let input = signing_input(header.as_str(), data);
    let signature = CLIENT_KEY.sign(input.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let Some(request) = parameters(&finish(input, &signature)) else { return };
    let claims: Value = serde_json::from_slice(data).unwrap_or_else(|error| panic!("{error}"));
    for name in ["iss", "client_id"] {
        assert!(claims.get(name).is_none_or(|own| own == "signer"), "another's request object passed");
    }
    let is_for_us = |aud: &Value| *aud == URL || aud.as_array().is_some_and(|all| all.contains(&json!(URL)));
    assert!(claims.get("aud").is_none_or(is_for_us), "it is for another issuer");
    let Ok(request) = Params::parse(request.as_bytes()) else { return };
    assert_eq!(request.get_all("client_id").collect::<Vec<_>>(), ["signer"]);
    assert!(["request", "request_uri"].iter().all(|name| request.get_all(name).next().is_none()));
}

fn parameters(object: &str) -> Option<String> {
    let text = form(&[("client_id", "signer"), ("request", object)]);
    let params = Params::parse(text.as_bytes()).ok()?;
    let client = &CLIENTS.signer;
    let read = parameters_of(&params, client, client.verifying_keys(None), URL, NOW);
    // A request without an object is none that passed.
    read.ok().flatten()
}
