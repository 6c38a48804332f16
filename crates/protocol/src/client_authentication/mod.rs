//! Client authentication at the token endpoint and its like (RFC 6749 2.3, RFC 7523, OpenID Connect Core 9).
//!
//! [`PresentedCredentials::read`] takes the credentials from the request, [`PresentedCredentials::client_id`] names the client to load,
//! and [`verify`] compares. A `private_key_jwt` leaves one thing to the store: its `jti` must be used once.

mod assertion;
mod basic;
mod presented;

#[cfg(test)]
mod tests;

pub use assertion::{Assertion, CLIENT_ASSERTION_TYPE, MAX_ASSERTION_LIFE};
pub use presented::{PresentedCredentials, Transport};

use smol_str::SmolStr;
use symbolon_crypto::digest;

use crate::client::{Client, SecretDigest, TokenEndpointAuthMethod};
use crate::error::OAuthError;
use crate::id::{ClientId, Jti};
use crate::time::Timestamp;

/// The client is not who it says, or says it in a way that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct AuthenticationFailed {
    /// What the client is told: `invalid_client`, or `invalid_request` where the form is wrong.
    pub error: OAuthError,
    /// Whether the answer must carry `WWW-Authenticate: Basic` because the client tried that (RFC 6749 5.2).
    pub basic_challenge: bool,
}

impl AuthenticationFailed {
    fn invalid_client(basic: bool) -> Self {
        Self { error: OAuthError::invalid_client(), basic_challenge: basic }
    }

    fn invalid_request(description: &'static str) -> Self {
        OAuthError::invalid_request(description).into()
    }
}

impl From<OAuthError> for AuthenticationFailed {
    fn from(error: OAuthError) -> Self {
        Self { error, basic_challenge: false }
    }
}

impl From<AuthenticationFailed> for OAuthError {
    fn from(failed: AuthenticationFailed) -> Self {
        failed.error
    }
}

/// What an assertion is held against.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// The issuer's URL, which every `aud` may be (RFC 7523 3, item 3).
    pub issuer: &'a str,
    /// The token endpoint's URL, which `aud` may be too (OpenID Connect Core 9).
    pub token_endpoint: &'a str,
    /// Whether the issuer alone may be the `aud`, where the client's own settings do not say.
    pub audience_is_issuer: bool,
    /// The clock.
    pub now: Timestamp,
}

/// An assertion that must be used once, before the client counts as authenticated (RFC 7523 3, item 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionUse {
    /// The client that signed it.
    pub client_id: ClientId,
    /// The RFC 7638 thumbprint of the key that verified it. Where two issuers know one `client_id`, the keys tell whether
    /// it is one client: only then do the two share the client's `jti` values.
    pub key_thumbprint: SmolStr,
    /// Its `jti`.
    pub jti: Jti,
    /// Until when it would be accepted: the mark must last as long.
    pub expires_at: Timestamp,
}

/// The client is who it says, once `assertion_use` is marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "an assertion counts only once its use is marked"]
pub struct Verified {
    /// What the store must mark; none for other methods.
    pub assertion_use: Option<AssertionUse>,
}

/// Whether the client is who it says. `client` is the record of [`PresentedCredentials::client_id`], none where there is no such client.
///
/// # Errors
/// [`AuthenticationFailed`] with one and the same error for an unknown client, another method than the registered
/// one, and a wrong secret: nobody learns which clients exist. What is wrong with an assertion is told only once
/// its signature is good.
pub fn verify(
    presented: &PresentedCredentials<'_>,
    client: Option<&Client>,
    expected: &Expectation<'_>,
) -> Result<Verified, AuthenticationFailed> {
    use TokenEndpointAuthMethod as Method;
    let refused = || AuthenticationFailed::invalid_client(presented.is_basic());
    let client = client.filter(|client| client.client_id == *presented.client_id()).ok_or_else(refused)?;
    match (presented, client.token_endpoint_auth_method) {
        // A secret is as good in the header as in the form: libraries guess, so both ways are one method here.
        (
            PresentedCredentials::Secret { digest, verbatim, .. },
            Method::ClientSecretBasic | Method::ClientSecretPost,
        ) => {
            let good = is_live_secret(client, digest)
                | verbatim.as_ref().is_some_and(|digest| is_live_secret(client, digest));
            good.then(Verified::default).ok_or_else(refused)
        }
        (PresentedCredentials::Assertion(assertion), Method::PrivateKeyJwt) => {
            let assertion_use = assertion.verify(client, expected)?;
            Ok(Verified { assertion_use: Some(assertion_use) })
        }
        // RFC 6749 3.2.1: only a public client identifies itself without proof.
        (PresentedCredentials::Public { .. }, Method::None) => Ok(Verified::default()),
        // RFC 6749 2.3.1: an empty secret may be left out; some libraries send it with the id of a public client.
        (PresentedCredentials::Secret { digest, transport: Transport::Basic, .. }, Method::None)
            if *digest == secret_digest("") =>
        {
            Ok(Verified::default())
        }
        _ => Err(refused()),
    }
}

/// Compares with every live secret, whichever fits, in constant time.
fn is_live_secret(client: &Client, presented: &SecretDigest) -> bool {
    let same = |own: &SecretDigest| digest::constant_time_eq(&own.0, &presented.0);
    client.client_secrets.iter().fold(false, |found, own| found | same(own))
}

/// The digest under which a secret is stored.
pub fn secret_digest(secret: &str) -> SecretDigest {
    SecretDigest(digest::sha256(&[secret.as_bytes()]))
}
