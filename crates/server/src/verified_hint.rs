//! ID tokens that come back as hints: they say who is meant, and prove nothing.

use serde::Deserialize;
use symbolon_crypto::jws::Compact;

use crate::issuer::IssuerState;

/// Of an ID token that this issuer signed, what RP-Initiated Logout 1.0 section 2 looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdTokenHintClaims {
    /// Whom it is about.
    pub sub: String,
    /// The session that it was issued in.
    pub sid: Option<String>,
    /// The client that it was issued to.
    pub aud: String,
}

/// The claims of an ID token of this issuer, expired or not (RP-Initiated Logout 1.0 section 4); none for anything else.
pub fn id_token_hint(issuer: &IssuerState, token: &str) -> Option<IdTokenHintClaims> {
    #[derive(Deserialize)]
    struct Claims {
        iss: String,
        sub: String,
        sid: Option<String>,
        aud: String,
    }
    let jws = Compact::parse(token).ok()?;
    // RFC 8725 3.11: an access token is no hint.
    if jws.header().is_type("at+jwt") {
        return None;
    }
    let payload = {
        let keys = issuer.keys.load();
        jws.verified_payload(keys.verifying(jws.header().kid.as_deref()?)?).ok()?
    };
    let Claims { iss, sub, sid, aud } = serde_json::from_slice(&payload).ok()?;
    (*iss == *issuer.url).then_some(IdTokenHintClaims { sub, sid, aud })
}
