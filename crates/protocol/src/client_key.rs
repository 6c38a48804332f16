//! The keys by which a client signs: those of its registered `jwks`, or those at its `jwks_uri`.

use std::time::Duration;

use symbolon_crypto::jwk::{Jwk, JwkSet};
use symbolon_crypto::jws::{Compact, Header};
use symbolon_crypto::key::VerifyingKey;

use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::id::ClientId;
use crate::refusal::{Details, Reason, Refusal};

/// The most keys of a client.
pub const MOST_KEYS: usize = 32;
/// How many keys are tried for a token without `kid`.
const MAX_TRIED_KEYS: usize = 4;
/// The shortest and the longest time for which fetched keys are believed, whatever the client's server says.
const BELIEVED: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3_600));

/// The keys among these that a token's header fits.
pub(crate) fn fitting<'k>(keys: &'k [Jwk], header: &'k Header) -> impl Iterator<Item = VerifyingKey> {
    let Header { alg, kid, .. } = header;
    keys.iter()
        .filter(move |key| kid.is_none() || key.kid == *kid)
        // The key must be meant for the algorithm (RFC 8725 3.1): otherwise `from_jwk` fails.
        .filter_map(move |key| VerifyingKey::from_jwk(key.clone(), Some(*alg)).ok())
}

/// The key among these that verifies a token's signature.
pub(crate) fn verifying(keys: &[Jwk], token: &Compact<'_>) -> Option<VerifyingKey> {
    fitting(keys, token.header()).take(MAX_TRIED_KEYS).find(|key| token.verify(key).is_ok())
}

/// The refusal of an assertion that none of these keys verified.
pub(crate) fn not_verified(keys: &[Jwk], header: &Header) -> Refusal {
    let reason = match fits(keys, header) {
        true => Reason::AssertionSignatureWrong,
        false => Reason::AssertionKeyUnknown,
    };
    let Header { alg, kid, .. } = header;
    let details = Details::of("kid")
        .sent(&format!("{} ({alg})", kid.as_deref().unwrap_or("none")))
        .registered(keys.iter().map(|key| key.kid.as_deref().unwrap_or("a key without kid")));
    Refusal::about(reason, details)
}

/// Whether one of these keys may have signed a token with this header. If not, the client may have published another since
/// (OpenID Connect Core 10.1.1).
#[must_use]
pub fn fits(keys: &[Jwk], header: &Header) -> bool {
    fitting(keys, header).next().is_some()
}

/// Reads the document at a `jwks_uri` (RFC 7517 5). A set without a key is an answer too: the client has withdrawn all.
///
/// # Errors
/// Why it cannot be used, as the end of a sentence.
pub fn parse_published(document: &[u8]) -> Result<JwkSet, String> {
    let set = JwkSet::parse(document).map_err(|error| error.to_string())?;
    match set.keys.len() > MOST_KEYS {
        true => Err(format!("it has more than {MOST_KEYS} keys")),
        false => Ok(set),
    }
}

/// For how long fetched keys are believed: for the `max-age` of `Cache-Control` (RFC 9111 5.2.2.1), from a minute to an hour;
/// an hour if the answer says nothing, and a minute if it is not to be kept (5.2.2.4, 5.2.2.5).
#[must_use]
pub fn believed_for(cache_control: Option<&str>) -> Duration {
    let (least, most) = BELIEVED;
    let directives = || cache_control.unwrap_or_default().split(',').map(str::trim);
    let is = |own: &str, name: &str| own.eq_ignore_ascii_case(name);
    if directives().any(|own| is(own, "no-store") || is(own, "no-cache")) {
        return least;
    }
    let named = directives().filter_map(|own| own.split_once('='));
    let max_age = named.filter(|(name, _)| is(name.trim(), "max-age")).map(|(_, value)| {
        // What is no number is as if the answer had already ended (RFC 9111 4.2.1).
        value.trim().trim_matches('"').parse::<u64>().unwrap_or(0)
    });
    max_age.min().map_or(most, |seconds| Duration::from_secs(seconds).clamp(least, most))
}

/// The keys at the `jwks_uri` of a client cannot be had, and none are known of before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysUnreachable {
    client: ClientId,
    uri: String,
    why: String,
}

impl KeysUnreachable {
    /// `why`: as the end of a sentence.
    #[must_use]
    pub fn new(client: &Client, why: String) -> Self {
        let uri = client.jwks_uri.clone().unwrap_or_default();
        Self { client: client.client_id.clone(), uri, why }
    }

    /// The refusal of a client's assertion (RFC 6749 5.2). The client is told what it is told of every failed authentication.
    #[must_use]
    pub fn of_assertion(&self) -> OAuthError {
        OAuthError::invalid_client(Reason::ClientKeysUnreachable).about(self.details())
    }

    /// The refusal of a request object (RFC 9101 6.2: it MUST be verified).
    #[must_use]
    pub fn of_request_object(&self) -> OAuthError {
        let description = "the keys at the client's jwks_uri, by which request is verified, cannot be read";
        OAuthError::new(ErrorCode::InvalidRequestObject, Reason::ClientKeysUnreachable, description)
            .about(self.details())
    }

    /// The refusal of a request whose answer is to be encrypted.
    #[must_use]
    pub fn of_recipient(&self) -> OAuthError {
        let description =
            "the keys at the client's jwks_uri, for which the answer is encrypted, cannot be read";
        OAuthError::new(ErrorCode::InvalidRequest, Reason::ClientKeysUnreachable, description)
            .about(self.details())
    }

    fn details(&self) -> Details {
        let details = Details::of("jwks_uri").registered([self.uri.as_str()]).client(&self.client);
        details.differing(Some(&self.why))
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::Algorithm;
    use symbolon_crypto::key::SigningKey;

    use super::*;
    use crate::token::fixture;

    fn key(kid: &str) -> Jwk {
        SigningKey::generate(Algorithm::Es256, Some(kid)).unwrap().public().jwk().clone()
    }

    #[test]
    fn keys_are_believed_for_a_minute_to_an_hour() {
        for (header, seconds) in [
            (None, 3_600),
            (Some(""), 3_600),
            (Some("public"), 3_600),
            (Some("public, max-age=600"), 600),
            (Some("Max-Age=\"600\" , must-revalidate"), 600),
            (Some("max-age=600, max-age=300"), 300),
            (Some("max-age=0"), 60),
            (Some("max-age=-5"), 60),
            (Some("max-age=soon"), 60),
            (Some("max-age=59"), 60),
            (Some("max-age=86400"), 3_600),
            (Some("no-cache, max-age=600"), 60),
            (Some("no-store"), 60),
            (Some("s-maxage=5"), 3_600),
        ] {
            assert_eq!(believed_for(header).as_secs(), seconds, "{header:?}");
        }
    }

    #[test]
    fn a_published_set_has_32_keys_at_most_and_no_private_one() {
        let written = |keys: usize| {
            let keys = (0..keys).map(|number| key(&format!("k{number}"))).collect();
            serde_json::to_vec(&JwkSet::new(keys)).unwrap()
        };
        assert_eq!(parse_published(&written(MOST_KEYS)).unwrap().keys.len(), MOST_KEYS);
        assert_eq!(parse_published(&written(0)).unwrap().keys.len(), 0, "all are withdrawn");
        assert!(parse_published(&written(MOST_KEYS + 1)).unwrap_err().contains("32"));
        for bad in ["", "{}", "[]", "<html>", r#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","d":"AQAB"}]}"#]
        {
            assert!(parse_published(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_fits_by_its_id_and_its_algorithm() {
        let keys = [key("one"), key("two")];
        let header = |alg, kid: Option<&str>| Header { alg, kid: kid.map(Into::into), typ: None, cty: None };
        assert!(fits(&keys, &header(Algorithm::Es256, Some("two"))));
        assert!(fits(&keys, &header(Algorithm::Es256, None)));
        assert!(!fits(&keys, &header(Algorithm::Es256, Some("three"))));
        assert!(!fits(&keys, &header(Algorithm::EdDsa, Some("two"))));
        assert!(!fits(&[], &header(Algorithm::Es256, None)));
    }

    #[test]
    fn a_refusal_names_the_address_and_the_cause_for_the_operator_alone() {
        let uri = Some("https://app.example/keys".to_owned());
        let client = Client { jwks_uri: uri, ..fixture::client("app") };
        let unreachable = KeysUnreachable::new(&client, "it answered 302 Found".to_owned());
        let (assertion, object) = (unreachable.of_assertion(), unreachable.of_request_object());
        assert_eq!(assertion.told(), OAuthError::invalid_client(Reason::ClientUnknown).told());
        assert_eq!(object.code, ErrorCode::InvalidRequestObject);
        for error in [assertion, object] {
            assert_eq!(error.reason, Reason::ClientKeysUnreachable);
            let sentence = error.details.and_then(|details| details.sentence()).unwrap();
            let told = "registered is https://app.example/keys: it answered 302 Found.";
            assert!(sentence.ends_with(told), "{sentence}");
        }
    }
}
