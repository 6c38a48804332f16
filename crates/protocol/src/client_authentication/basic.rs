//! The Basic scheme as RFC 6749 2.3.1 uses it: id and secret are form-encoded separately.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use symbolon_crypto::secret::{SecretBytes, SecretString};

use super::secret_digest;
use crate::client_secret::SecretDigest;
use crate::id::ClientId;
use crate::params;

/// The scheme and the space after it (RFC 9110 11.4).
const SCHEME: &[u8] = b"Basic ";

/// The longest header that is parsed, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// RFC 7617 2 requires padding; some clients omit it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Credentials from the header.
pub(super) struct Credentials {
    pub(super) client_id: ClientId,
    /// The digest of the secret, form-decoded as RFC 6749 2.3.1 requires.
    pub(super) digest: SecretDigest,
    /// The digest of the secret without form-decoding, if that differs: many clients do not encode.
    pub(super) verbatim: Option<SecretDigest>,
}

/// Parses an `Authorization` header; `None` if it is not Basic or not well-formed.
pub(super) fn read(header: &[u8]) -> Option<Credentials> {
    if header.len() > MAX_LENGTH {
        return None;
    }
    let (scheme, encoded) = header.split_at_checked(SCHEME.len())?;
    // RFC 9110 11.1: the scheme is case-insensitive.
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let decoded = SecretBytes::new(BASE64.decode(encoded.trim_ascii()).ok()?);
    let (id, secret) = std::str::from_utf8(decoded.expose()).ok()?.split_once(':')?;
    // Decoded as RFC 6749 2.3.1 requires, or verbatim if decoding yields no valid id.
    let written = params::decode(id).and_then(|id| ClientId::parse(&id).ok());
    let client_id = written.or_else(|| ClientId::parse(id).ok())?;
    let verbatim = secret_digest(secret);
    let Some(Cow::Owned(form)) = params::decode(secret) else {
        return Some(Credentials { client_id, digest: verbatim, verbatim: None });
    };
    let digest = secret_digest(SecretString::new(form).expose());
    Some(Credentials { client_id, digest, verbatim: Some(verbatim) })
}
