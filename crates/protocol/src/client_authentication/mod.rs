//! Client authentication at the token, introspection and revocation endpoints (RFC 6749 2.3, RFC 7523, RFC 8705 2, OpenID
//! Connect Core 9).
//!
//! [`PresentedCredentials::read`] takes the credentials from the request, [`PresentedCredentials::client_id`] names
//! the client to load, and [`verify`] compares. Where the client publishes its keys (`jwks_uri`), the caller fetches them
//! before, and so for an assertion of another issuer. For `private_key_jwt` the caller must then have the store mark the `jti` as used.

mod assertion;
mod basic;
mod issued;
mod presented;

#[cfg(test)]
mod tests;

pub use assertion::{Assertion, CLIENT_ASSERTION_TYPE, MAX_ASSERTION_LIFE};
pub use presented::{PresentedCredentials, Transport};

use smol_str::SmolStr;
use symbolon_crypto::digest::{self, HmacKey};
use symbolon_crypto::jwk::Jwk;

use crate::client::{Client, TokenEndpointAuthMethod};
use crate::client_secret::{ClientSecret, SecretDigest};
use crate::error::OAuthError;
use crate::id::{ClientId, Jti};
use crate::mutual_tls::{self, ClientCertificate};
use crate::refusal::{Details, Reason};
use crate::time::Timestamp;
use crate::trusted_issuer::TrustedIssuer;

/// Client authentication failed, or was attempted in a way that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct AuthenticationFailed {
    /// The error for the client: `invalid_client`, or `invalid_request` if the request is malformed.
    pub error: OAuthError,
    /// Whether the answer needs `WWW-Authenticate: Basic`, because the client used that scheme (RFC 6749 5.2).
    pub basic_challenge: bool,
}

impl AuthenticationFailed {
    fn invalid_client(reason: Reason, basic: bool) -> Self {
        Self { error: OAuthError::invalid_client(reason), basic_challenge: basic }
    }

    fn invalid_request(reason: Reason, description: &'static str) -> Self {
        OAuthError::invalid_request(reason, description).into()
    }

    /// Adds the values that explain the reason.
    fn about(self, details: Details) -> Self {
        Self { error: self.error.about(details), ..self }
    }

    /// Names the client that the request claims to be from.
    fn naming(mut self, client: &ClientId) -> Self {
        let refusal = self.error.take_refusal().naming(client);
        Self { error: self.error.because(refusal), ..self }
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

/// The values with which an assertion is compared.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// The issuer's URL, which is always accepted as the `aud` (RFC 7523 3, item 3).
    pub issuer: &'a str,
    /// The token endpoint's URL, which may also be accepted as the `aud` (OpenID Connect Core 9).
    pub token_endpoint: &'a str,
    /// The URL of the endpoint that is asked, if it is another that may be accepted as the `aud` (RFC 9126 2).
    pub asked_endpoint: Option<&'a str>,
    /// Whether only the issuer is accepted as the `aud`; the client's own setting overrides this.
    pub audience_is_issuer: bool,
    /// The issuer of the assertion, where it is another than the client, if it is trusted.
    pub trusted_issuer: Option<&'a TrustedIssuer>,
    /// The TLS certificate that came with the request, if the client is one that authenticates by it.
    pub certificate: Option<&'a ClientCertificate>,
    /// The issuer's key for client secrets ([`ClientSecret::is_keyed`]).
    pub secret_key: &'a HmacKey,
    /// The current time.
    pub now: Timestamp,
}

/// A verified assertion. The client is authenticated only if this is its first use (RFC 7523 3, item 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionUse {
    /// The client that signed it, or the trusted issuer, by its `iss`.
    pub client_id: ClientId,
    /// The RFC 7638 thumbprint of the key that verified the assertion. If two issuers have a client of the same
    /// `client_id`, it is treated as one client only if the key is the same; only then do the two share used `jti`
    /// values.
    pub key_thumbprint: SmolStr,
    /// Its `jti`.
    pub jti: Jti,
    /// Until when the assertion would be accepted, so the mark of its use must be kept until then.
    pub expires_at: Timestamp,
}

/// The client is authenticated, once `assertion_use` is marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "an assertion counts only once its use is marked"]
pub struct Verified {
    /// The use that the store must mark; `None` for other methods, and for another issuer's assertion that may be used again.
    pub assertion_use: Option<AssertionUse>,
    /// The id of the secret whose use should be noted in the client's record; `None` if that was done lately.
    pub secret_use: Option<SmolStr>,
}

/// Authenticates a client. `client` is the record of [`PresentedCredentials::client_id`], if it exists, and `keys` are those that verify
/// its assertions ([`Client::verifying_keys`]), or those of the trusted issuer that made the assertion.
///
/// # Errors
/// [`AuthenticationFailed`], which tells the client the same for an unknown client, a method other than the registered
/// one and a wrong secret, so that it does not reveal which clients exist. Errors in an assertion's claims are described
/// only after its signature was verified.
pub fn verify(
    presented: &PresentedCredentials<'_>,
    client: Option<&Client>,
    keys: &[Jwk],
    expected: &Expectation<'_>,
) -> Result<Verified, AuthenticationFailed> {
    use TokenEndpointAuthMethod as Method;
    let refused = |reason| {
        AuthenticationFailed::invalid_client(reason, presented.is_basic()).naming(presented.client_id())
    };
    let client = client
        .filter(|client| client.client_id == *presented.client_id())
        .ok_or_else(|| refused(Reason::ClientUnknown))?;
    match (presented, client.token_endpoint_auth_method) {
        // A secret is accepted in the header and in the form, whichever of the two methods is registered: libraries
        // guess.
        (
            PresentedCredentials::Secret { digest, verbatim, .. },
            Method::ClientSecretBasic | Method::ClientSecretPost,
        ) => {
            let decoded = live_secret(client, digest, expected);
            let verbatim = verbatim.as_ref().and_then(|digest| live_secret(client, digest, expected));
            let secret = decoded.or(verbatim).ok_or_else(|| refused(Reason::ClientSecretWrong))?;
            Ok(Verified { secret_use: secret.use_to_note(expected.now), ..Verified::default() })
        }
        (PresentedCredentials::Assertion(assertion), Method::PrivateKeyJwt) => {
            let assertion_use = assertion.verify(client, keys, expected);
            let assertion_use = assertion_use.map_err(|failed| failed.naming(&client.client_id))?;
            Ok(Verified { assertion_use: Some(assertion_use), ..Verified::default() })
        }
        (PresentedCredentials::Issued { assertion, .. }, Method::PrivateKeyJwt) => {
            let assertion_use = issued::verify(assertion, client, keys, expected);
            let assertion_use = assertion_use.map_err(|failed| failed.naming(&client.client_id))?;
            Ok(Verified { assertion_use, ..Verified::default() })
        }
        // RFC 8705 2: the request names the client, and the certificate authenticates it.
        (PresentedCredentials::Public { .. }, Method::TlsClientAuth | Method::SelfSignedTlsClientAuth) => {
            mutual_tls::authenticate(client, keys, expected.certificate).map_err(|refusal| {
                let refusal = refusal.naming(&client.client_id);
                OAuthError::invalid_client(refusal.reason).because(refusal)
            })?;
            Ok(Verified::default())
        }
        // RFC 6749 3.2.1: only a public client is identified without authentication.
        (PresentedCredentials::Public { .. }, Method::None) => Ok(Verified::default()),
        // RFC 6749 2.3.1: an empty secret may be omitted; some libraries send it in Basic for a public client.
        (PresentedCredentials::Secret { digest, transport: Transport::Basic, .. }, Method::None)
            if *digest == secret_digest("") =>
        {
            Ok(Verified::default())
        }
        (presented, registered) => {
            let reason = match presented {
                PresentedCredentials::Public { .. } => Reason::ClientAuthenticationMissing,
                _ => Reason::ClientAuthenticationMethodOther,
            };
            let details = Details::of("token_endpoint_auth_method")
                .sent(presented.method().as_str())
                .registered([registered.as_str()])
                .client(&client.client_id);
            Err(refused(reason).about(details))
        }
    }
}

/// The live secret that was presented. Compares with every secret in constant time, even after a match.
fn live_secret<'a>(
    client: &'a Client,
    presented: &SecretDigest,
    expected: &Expectation<'_>,
) -> Option<&'a ClientSecret> {
    client.client_secrets.iter().fold(None, |found, own| {
        let is_same = own.matches(presented, expected.secret_key) & own.is_live(expected.now);
        if is_same { Some(own) } else { found }
    })
}

/// The digest by which a secret is stored.
pub fn secret_digest(secret: &str) -> SecretDigest {
    SecretDigest(digest::sha256(&[secret.as_bytes()]))
}
