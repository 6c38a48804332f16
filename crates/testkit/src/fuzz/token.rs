//! JSON Web Tokens and keys.

use symbolon_crypto::JwkSet;
use symbolon_crypto::encoding::encode;
use symbolon_crypto::jws::{Compact, Header};
use symbolon_crypto::key::VerifyingKey;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::refresh_token::RegisteredToken;

use super::fixture::{CLIENT_KEY, NOW, URL};

/// A compact JWS, and header and claims as JSON on two lines: each token has one text, no foreign signature passes, and
/// claims that are read are written as the same.
pub fn jws(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(token) = Compact::parse(text) {
        assert_eq!(format!("{}.{}", token.signing_input(), encode(token.signature())), text);
        assert!(token.verify(CLIENT_KEY.public()).is_err(), "a foreign signature passed");
        if let Ok(payload) = token.payload() {
            assert!(token.signing_input().ends_with(&format!(".{}", encode(&payload))));
            claims(token.header(), &payload);
        }
    }
    let Some((header, payload)) = text.split_once('\n') else { return };
    if let Ok(header) = Header::parse(header.as_bytes()) {
        claims(&header, payload.as_bytes());
    }
}

fn claims(header: &Header, payload: &[u8]) {
    let issuer = IssuerId::default_issuer();
    if let Ok(token) = AccessToken::parse(header, payload) {
        let written = token.to_json();
        let again = AccessToken::parse(header, &written);
        assert_eq!(again.as_ref(), Ok(&token), "claims change when they are written");
        if token.check(URL, NOW).is_ok() {
            assert!(token.iss == URL && token.expires_at() > NOW);
        }
        let lineage = token.lineage(&issuer);
        assert_eq!(lineage.tokens.first(), Some(&token.jti));
        assert_eq!(
            (lineage.grant.as_ref(), lineage.client.as_ref()),
            (token.gid.as_ref(), Some(&token.client_id))
        );
        let presented =
            RegisteredToken::parse(payload).and_then(|it| it.presented(header, &issuer, URL, NOW));
        assert!(
            presented.is_none() || !header.is_type("at+jwt"),
            "an access token passed for a refresh token"
        );
    } else if let Some(token) = RegisteredToken::parse(payload) {
        let _ = token.presented(header, &issuer, URL, NOW);
    }
}

/// A JWK Set: public halves only, each written as it was read.
pub fn jwk_set(data: &[u8]) {
    let Ok(set) = JwkSet::parse(data) else { return };
    let written = serde_json::to_vec(&set).expect("JSON");
    let again = JwkSet::parse(&written)
        .unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(&written)));
    assert_eq!(again.keys, set.keys);
    let text: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
    for (key, shown) in set.keys.iter().zip(text["keys"].as_array().into_iter().flatten()) {
        assert!(
            ["d", "p", "q", "dp", "dq", "qi", "k"].iter().all(|name| shown.get(name).is_none()),
            "a private key"
        );
        assert_eq!(key.thumbprint().len(), 43);
        if let Ok(verifying) = VerifyingKey::from_jwk(key.clone(), None) {
            assert!(verifying.verify(b"input", &[0; 64]).is_err(), "a signature of zeros passed");
        }
    }
}
