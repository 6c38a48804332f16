//! Mutual TLS (RFC 8705): a client proves by its TLS certificate who it is, and tokens are bound to that certificate.
//!
//! Whoever terminates TLS hands over a [`ClientCertificate`]; that the other end has its private key was proven in the
//! handshake. Here is what the certificate says: whether it is the client's (`authenticate`), and whether it is the one
//! to which a token is bound ([`check_binding`]).

mod certificate;
mod distinguished_name;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod header;
mod subject;

pub use certificate::ClientCertificate;
pub use header::{MAX_HEADER, read_header};
pub use subject::CertificateSubject;

use symbolon_crypto::jwk::Jwk;

use crate::client::{Client, TokenEndpointAuthMethod};
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason, Refusal};

/// What [`Family::binding`](crate::family::Family::binding) begins with where it is a certificate's thumbprint. A key's
/// thumbprint has no `#`.
pub(crate) const BOUND_TO_CERTIFICATE: &str = "x5t#S256:";

/// Whether a certificate is that of a client which authenticates by one (RFC 8705 2). `keys` are the client's
/// ([`Client::verifying_keys`]).
///
/// # Errors
/// The refusal, of which the client is told no more than of any other failed authentication.
pub(crate) fn authenticate(
    client: &Client,
    keys: &[Jwk],
    certificate: Option<&ClientCertificate>,
) -> Result<(), Refusal> {
    let certificate = certificate.ok_or_else(|| Refusal::from(Reason::ClientCertificateMissing))?;
    match client.token_endpoint_auth_method {
        TokenEndpointAuthMethod::SelfSignedTlsClientAuth => of_own_keys(keys, certificate),
        _ => of_authority(client, certificate),
    }
}

/// RFC 8705 2.2: the chain does not matter, the certificate must be one that the client registered. It is registered by its
/// key: RFC 7517 4.7 has the key of `x5c` be that of the other members.
fn of_own_keys(keys: &[Jwk], certificate: &ClientCertificate) -> Result<(), Refusal> {
    let read = certificate.read().ok_or_else(|| Refusal::from(Reason::ClientCertificateUnreadable))?;
    if keys.iter().any(|key| read.has_key(key)) {
        return Ok(());
    }
    let registered = keys.iter().map(|key| key.kid.as_deref().unwrap_or("a key without kid"));
    let details = Details::of("jwks").sent(&read.subject_text()).registered(registered);
    Err(Refusal::about(Reason::ClientCertificateOther, details))
}

/// RFC 8705 2.1: the chain is valid, and the subject is the one that the client registered.
fn of_authority(client: &Client, certificate: &ClientCertificate) -> Result<(), Refusal> {
    let read = certificate.read().ok_or_else(|| Refusal::from(Reason::ClientCertificateUnreadable))?;
    if !certificate.is_vouched_for {
        let details = Details::of("tls.client_ca_file").sent(&read.subject_text());
        return Err(Refusal::about(Reason::ClientCertificateUntrusted, details));
    }
    // A client that has none registered could not have been registered for this method.
    let Some(expected) = &client.certificate_subject else {
        return Err(Reason::ClientCertificateOther.into());
    };
    match read.is_of(expected) {
        true => Ok(()),
        false => {
            let details = Details::of(expected.member()).sent(&read.shown_for(expected));
            Err(Refusal::about(Reason::ClientCertificateOther, details.registered([expected.value()])))
        }
    }
}

/// The error where a client gets only tokens that are bound to its certificate, and sent none. RFC 8705 3.4 leaves it to the
/// server whether to answer with an error: an unbound token would not be what the client registered for.
pub const fn missing() -> OAuthError {
    OAuthError::invalid_request(
        Reason::ClientCertificateMissing,
        "the client gets only tokens that are bound to its TLS certificate, and sent none",
    )
}

/// The error for a certificate that cannot be read.
pub const fn unreadable() -> OAuthError {
    OAuthError::invalid_request(Reason::ClientCertificateUnreadable, "the client certificate cannot be read")
}

/// Whether a token may be used with the certificate that came with it. Both are thumbprints.
///
/// # Errors
/// `invalid_token` (RFC 8705 3).
pub fn check_binding(bound: Option<&str>, presented: Option<&str>) -> Result<(), OAuthError> {
    let (reason, description) = match (bound, presented) {
        (None, _) => return Ok(()),
        (Some(bound), Some(presented)) if bound == presented => return Ok(()),
        // RFC 8705 3: the certificate MUST match the one that the token is bound to.
        (Some(_), Some(_)) => {
            (Reason::TokenCertificateOther, "the access token is bound to another TLS certificate")
        }
        (Some(_), None) => (
            Reason::TokenCertificateMissing,
            "the access token is bound to a TLS certificate, and none came with it",
        ),
    };
    Err(OAuthError::new(ErrorCode::InvalidToken, reason, description))
}

/// Whether a refresh token's binding is met by what the request proved: the thumbprint of a DPoP key (RFC 9449 5), or of a
/// certificate (RFC 8705 4).
pub(crate) fn meets(binding: &str, jkt: Option<&str>, x5t_s256: Option<&str>) -> bool {
    match binding.strip_prefix(BOUND_TO_CERTIFICATE) {
        Some(certificate) => x5t_s256 == Some(certificate),
        None => jkt == Some(binding),
    }
}

#[cfg(test)]
mod tests;
