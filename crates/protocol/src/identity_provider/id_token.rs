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
    /// A new sign-in was asked for, and it tells of an older one.
    #[error("its auth_time is older than the request, which asked for a new sign-in")]
    SignInTooOld,
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
    /// When a new sign-in was asked for, if it was.
    pub signed_in_since: Option<Timestamp>,
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
    auth_time: Option<f64>,
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
        // Item 13: too much time may not have gone by since the sign-in. Not every provider says when it was.
        let auth_time = self.auth_time.map(|at| Timestamp::from_seconds(at as u64));
        if auth_time.zip(expected.signed_in_since).is_some_and(|(at, since)| at + LEEWAY < since) {
            return Err(IdTokenRefused::SignInTooOld);
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use symbolon_crypto::jwk::Jwk;
    use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
    use symbolon_crypto::key::SigningKey;

    use super::*;

    const NOW: u64 = 1_000_000;

    fn key(algorithm: Algorithm, kid: &str) -> SigningKey {
        SigningKey::generate(algorithm, Some(kid)).unwrap()
    }

    fn signed(key: &SigningKey, claims: &Value) -> String {
        let input = signing_input(EncodedHeader::for_key(key, None).as_str(), claims.to_string().as_bytes());
        let signature = key.sign(input.as_bytes()).unwrap();
        finish(input, &signature)
    }

    fn claims() -> Value {
        json!({
            "iss": "https://acme.example", "sub": "s", "aud": "us", "exp": NOW + 300, "iat": NOW, "nonce": "n",
            "email": "ann@acme.example",
        })
    }

    fn set(keys: &[&SigningKey]) -> JwkSet {
        JwkSet::new(keys.iter().map(|key| key.public().jwk().clone()).collect::<Vec<Jwk>>())
    }

    fn check(
        token: &str,
        keys: &JwkSet,
        algorithms: &[Algorithm],
    ) -> Result<Map<String, Value>, IdTokenRefused> {
        let expected = Expected {
            issuer: "https://acme.example",
            client_id: "us",
            nonce: "n",
            signed_in_since: Some(Timestamp::from_seconds(NOW)),
            algorithms,
            now: Timestamp::from_seconds(NOW),
        };
        verify(token, keys, &expected)
    }

    #[test]
    fn each_claim_is_what_it_must_be() {
        let own = key(Algorithm::EdDsa, "k");
        let all = [Algorithm::EdDsa];
        let read = check(&signed(&own, &claims()), &set(&[&own]), &all).unwrap();
        assert_eq!(read["email"], "ann@acme.example");
        for (name, value, why) in [
            ("iss", json!("https://acme.example/"), IdTokenRefused::Issuer),
            ("aud", json!("them"), IdTokenRefused::Audience),
            ("aud", json!([]), IdTokenRefused::Audience),
            ("aud", json!(["us", "them"]), IdTokenRefused::Audience),
            ("azp", json!("them"), IdTokenRefused::Audience),
            ("exp", json!(NOW - 60), IdTokenRefused::Time),
            ("exp", json!(-1), IdTokenRefused::Time),
            ("iat", json!(NOW + 61), IdTokenRefused::Time),
            ("iat", json!(NOW - 601), IdTokenRefused::Time),
            ("nonce", json!("m"), IdTokenRefused::Nonce),
            ("nonce", Value::Null, IdTokenRefused::Nonce),
            ("auth_time", json!(NOW - 61), IdTokenRefused::SignInTooOld),
            ("auth_time", json!(-1), IdTokenRefused::SignInTooOld),
            ("auth_time", json!("now"), IdTokenRefused::Malformed),
            ("sub", json!(""), IdTokenRefused::Malformed),
            ("sub", json!("a\u{0}"), IdTokenRefused::Malformed),
            ("sub", json!(5), IdTokenRefused::Malformed),
            ("exp", Value::Null, IdTokenRefused::Malformed),
        ] {
            let mut bad = claims();
            bad[name] = value.clone();
            assert_eq!(check(&signed(&own, &bad), &set(&[&own]), &all), Err(why), "{name} {value}");
        }
        let good = [
            ("aud", json!(["us"])),
            ("azp", json!("us")),
            ("exp", json!(NOW - 59)),
            ("auth_time", json!(NOW - 60)),
        ];
        for (name, value) in good {
            let mut good = claims();
            good[name] = value;
            assert!(check(&signed(&own, &good), &set(&[&own]), &all).is_ok(), "{name}");
        }
    }

    #[test]
    fn only_announced_algorithms_and_published_keys_count() {
        let (own, other) = (key(Algorithm::EdDsa, "k"), key(Algorithm::EdDsa, "k"));
        let elliptic = key(Algorithm::Es256, "e");
        let token = signed(&own, &claims());
        let all = [Algorithm::EdDsa, Algorithm::Es256];
        assert_eq!(check(&token, &set(&[&own]), &[Algorithm::Es256]), Err(IdTokenRefused::Algorithm));
        assert_eq!(check(&token, &set(&[&other]), &all), Err(IdTokenRefused::Signature));
        assert_eq!(check(&token, &set(&[&elliptic]), &all), Err(IdTokenRefused::KeyUnknown));
        assert_eq!(check(&token, &set(&[]), &all), Err(IdTokenRefused::KeyUnknown));
        assert!(check(&token, &set(&[&elliptic, &other, &own]), &all).is_ok(), "two keys of one id");
        let (_, rest) = token.split_once('.').unwrap();
        let payload = rest.split_once('.').unwrap().0;
        // {"alg":"none"} and {"alg":"HS256"}
        for header in ["eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzI1NiJ9"] {
            let unsigned = format!("{header}.{payload}.");
            assert_eq!(check(&unsigned, &set(&[&own]), &all), Err(IdTokenRefused::Algorithm));
        }
        assert_eq!(check("", &set(&[&own]), &all), Err(IdTokenRefused::Malformed));
    }
}
