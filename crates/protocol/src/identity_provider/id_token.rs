//! Checking the ID token of another provider (OpenID Connect Core 3.1.3.7).

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::digest;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::jws::{Compact, Header, JwsError};
use symbolon_crypto::key::VerifyingKey;

use crate::time::Timestamp;

/// The tolerated difference between the provider's clock and the server's.
const LEEWAY: Duration = Duration::from_secs(60);
/// How long ago a token may have been issued: it comes straight from the token endpoint.
const OLDEST: Duration = Duration::from_secs(600);
/// How many keys are tried if the token has no `kid`.
const MOST_TRIED_KEYS: usize = 8;
/// The longest `sub` (Core 2: 255 ASCII characters).
const LONGEST_SUBJECT: usize = 255;

/// Why an ID token proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenRefused {
    /// It is no JWS with the claims that an ID token has, or is not signed.
    #[error("it is not a signed ID token")]
    Malformed,
    /// It is signed by an algorithm that the provider does not announce, or that is not supported.
    #[error("its algorithm is not one that the provider announces and this server supports")]
    Algorithm,
    /// The provider's key set has no key that fits.
    #[error("no key of the provider fits it")]
    KeyUnknown,
    /// The signature is not one of the key.
    #[error("its signature is wrong")]
    Signature,
    /// `iss` is another provider.
    #[error("it is of another issuer")]
    Issuer,
    /// `aud` or `azp` is another client.
    #[error("it is for another client")]
    Audience,
    /// Its time is over, or it was issued in the future or too long ago.
    #[error("its time is over, or has not come")]
    Time,
    /// It is not the answer to this request.
    #[error("its nonce is not the request's")]
    Nonce,
}

/// What an ID token must say.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// `iss`.
    pub issuer: &'a str,
    /// `aud`.
    pub client_id: &'a str,
    /// `nonce`.
    pub nonce: &'a str,
    /// What the provider signs with.
    pub algorithms: &'a [Algorithm],
    /// The time.
    pub now: Timestamp,
}

#[derive(Deserialize)]
struct Checked {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nonce: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Verifies an ID token by a provider's keys; returns its claims, among them a `sub` of sound form.
///
/// # Errors
/// [`IdTokenRefused`]; after [`IdTokenRefused::KeyUnknown`] the key set may be read anew (Core 10.1.1).
pub fn verify(
    token: &str,
    keys: &JwkSet,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, IdTokenRefused> {
    let compact = Compact::parse(token).map_err(|error| match error {
        JwsError::UnsupportedAlgorithm(_) | JwsError::Unsecured => IdTokenRefused::Algorithm,
        _ => IdTokenRefused::Malformed,
    })?;
    // Core 3.1.3.7, item 7, RFC 8725 3.1: only what the provider announces; never what the token chooses.
    if !expected.algorithms.contains(&compact.header().alg) {
        return Err(IdTokenRefused::Algorithm);
    }
    // Item 6: the signature MUST be validated; the token endpoint's TLS is not taken in its place.
    verify_signature(&compact, keys)?;
    let payload = compact.payload().map_err(|_| IdTokenRefused::Malformed)?;
    let checked: Checked = serde_json::from_slice(&payload).map_err(|_| IdTokenRefused::Malformed)?;
    checked.check(expected)?;
    match serde_json::from_slice(&payload) {
        Ok(Value::Object(claims)) => Ok(claims),
        _ => Err(IdTokenRefused::Malformed),
    }
}

fn verify_signature(compact: &Compact<'_>, keys: &JwkSet) -> Result<(), IdTokenRefused> {
    let Header { alg, kid, .. } = compact.header();
    let fits = |key: &&symbolon_crypto::jwk::Jwk| kid.is_none() || key.kid == *kid;
    let mut is_known = false;
    for key in keys.keys.iter().filter(fits).take(MOST_TRIED_KEYS) {
        // The key must be meant for the algorithm: otherwise `from_jwk` fails.
        let Ok(key) = VerifyingKey::from_jwk(key.clone(), Some(*alg)) else { continue };
        is_known = true;
        if compact.verify(&key).is_ok() {
            return Ok(());
        }
    }
    Err(if is_known { IdTokenRefused::Signature } else { IdTokenRefused::KeyUnknown })
}

impl Checked {
    fn check(&self, expected: &Expected<'_>) -> Result<(), IdTokenRefused> {
        // Item 2: the issuer MUST exactly match.
        if self.iss != expected.issuer {
            return Err(IdTokenRefused::Issuer);
        }
        let audiences = match &self.aud {
            Audience::One(one) => std::slice::from_ref(one),
            Audience::Many(many) => many.as_slice(),
        };
        // Item 3: it MUST be refused if it does not name the client, or names others that are not trusted: none is. Item 5:
        // azp, where there is one, is the client.
        let is_ours = |text: &String| text == expected.client_id;
        if audiences.is_empty() || !audiences.iter().all(is_ours) || !self.azp.iter().all(is_ours) {
            return Err(IdTokenRefused::Audience);
        }
        // Items 9 and 10. The casts saturate: negative numbers become the epoch, too large ones the end of time.
        let (exp, iat) = (Timestamp::from_seconds(self.exp as u64), Timestamp::from_seconds(self.iat as u64));
        let now = expected.now;
        if exp + LEEWAY <= now || iat > now + LEEWAY || now.since(iat) > OLDEST {
            return Err(IdTokenRefused::Time);
        }
        // Item 11: the nonce MUST be the one that was sent.
        let nonce = self.nonce.as_deref().unwrap_or_default();
        if !digest::constant_time_eq(nonce.as_bytes(), expected.nonce.as_bytes()) {
            return Err(IdTokenRefused::Nonce);
        }
        match is_subject(&self.sub) {
            true => Ok(()),
            false => Err(IdTokenRefused::Malformed),
        }
    }
}

/// Whether a text may be a `sub`: 1 to 255 ASCII characters (Core 2), none of them a control character.
pub fn is_subject(text: &str) -> bool {
    (1..=LONGEST_SUBJECT).contains(&text.len()) && text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
}
