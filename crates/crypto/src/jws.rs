//! JSON Web Signatures in compact serialisation (RFC 7515 3.1, 7.1), and nothing else.
//!
//! Signing writes `header.payload` into one string and appends the signature to it; verifying borrows from the token.
//! The key determines the algorithm, never the token (RFC 8725 3.1).

mod compact;
mod header;

#[cfg(test)]
mod tests;

pub use compact::Compact;
pub use header::{EncodedHeader, Header};

use smol_str::SmolStr;

use crate::digest::Sha256;
use crate::encoding;
use crate::key::{Signature, SigningKey};
use crate::signer::{SignError, Signer, SigningInput};

/// The longest token that is accepted, in bytes.
pub const MAX_LEN: usize = 64 * 1024;

/// Why a text is not a JWS that can be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// Longer than [`MAX_LEN`].
    #[error("the token is longer than 64 KiB")]
    TooLong,
    /// Not three parts of base64url (RFC 7515 7.1). Five parts would be an encrypted token (RFC 7516).
    #[error("not a JWS in compact serialisation")]
    NotCompact,
    /// The header is not a JSON object of the right types (RFC 7515 4).
    #[error("the JWS header is malformed: {0}")]
    Header(String),
    /// A header member occurs twice (RFC 7515 4).
    #[error("the JWS header names \"{0}\" twice")]
    DuplicateMember(SmolStr),
    /// `alg` is `none`: an unsecured token (RFC 7515 6, RFC 8725 3.2).
    #[error("the token is not signed")]
    Unsecured,
    /// `alg` is not supported. No HMAC algorithm is.
    #[error("the signature algorithm \"{0}\" is not supported")]
    UnsupportedAlgorithm(SmolStr),
    /// A critical extension that is not understood (RFC 7515 4.1.11).
    #[error("the critical header extension \"{0}\" is not supported")]
    Critical(SmolStr),
    /// The payload is not encoded, `b64` is false (RFC 7797).
    #[error("unencoded payloads are not supported")]
    UnencodedPayload,
    /// The header's algorithm is not the key's (RFC 8725 3.1).
    #[error("the token's algorithm is not the key's")]
    AlgorithmMismatch,
    /// The signature is not one of this input by this key.
    #[error("the signature is not valid")]
    BadSignature,
}

/// The signing input `BASE64URL(header) . BASE64URL(payload)` (RFC 7515 5.1), with room for a signature.
/// `header_prefix_b64` is the encoded header without its dot: [`EncodedHeader::as_str`].
pub fn signing_input(header_prefix_b64: &str, payload_json: &[u8]) -> String {
    let mut token = String::with_capacity(room(header_prefix_b64, payload_json));
    token.push_str(header_prefix_b64);
    token.push('.');
    encoding::encode_into(&mut token, payload_json);
    token
}

/// Capacity for an RSA-2048 signature, which takes 342 characters. For a larger key the string grows once, which costs
/// little.
fn room(header_prefix_b64: &str, payload_json: &[u8]) -> usize {
    header_prefix_b64.len() + encoding::encoded_len(payload_json.len()) + 2 + 342
}

/// Appends the signature, which completes the token (RFC 7515 7.1).
pub fn finish(mut signing_input: String, signature: &Signature) -> String {
    signing_input.push('.');
    encoding::encode_into(&mut signing_input, signature.as_bytes());
    signing_input
}

/// Makes a whole token: assembles the signing input, signs it through the port, and appends the signature.
///
/// # Errors
/// As [`append_compact`].
pub async fn sign_compact(
    signer: &dyn Signer,
    key: &SigningKey,
    header: &EncodedHeader,
    payload_json: &[u8],
) -> Result<String, SignError> {
    let mut token = Vec::with_capacity(room(header.as_str(), payload_json));
    append_compact(&mut token, signer, key, header, payload_json).await?;
    // Cannot fail: the header and everything appended to it are base64url.
    String::from_utf8(token).map_err(|_| SignError::HeaderMismatch)
}

/// Appends a whole token to `out`, so that it need not be copied into the answer.
///
/// # Errors
/// [`SignError::HeaderMismatch`] if the header was encoded for another key or algorithm, else the error of the signer.
/// In that case `out` may have been extended.
pub async fn append_compact(
    out: &mut Vec<u8>,
    signer: &dyn Signer,
    key: &SigningKey,
    header: &EncodedHeader,
    payload_json: &[u8],
) -> Result<(), SignError> {
    check_header(key, header)?;
    let begin = append_signing_input(out, header, payload_json);
    let input = out.get(begin..).unwrap_or_default();
    let signature = signer.sign(key, input.into()).await?;
    append_signature(out, &signature);
    Ok(())
}

/// As [`append_compact`], but for an algorithm that signs the SHA-256 of its input also returns the SHA-256 of the
/// token. The signing input, most of the token, is hashed only once for both. `None` for other algorithms.
///
/// # Errors
/// As [`append_compact`].
pub async fn append_compact_digested(
    out: &mut Vec<u8>,
    signer: &dyn Signer,
    key: &SigningKey,
    header: &EncodedHeader,
    payload_json: &[u8],
) -> Result<Option<[u8; 32]>, SignError> {
    if !key.algorithm().signs_sha256() {
        append_compact(out, signer, key, header, payload_json).await?;
        return Ok(None);
    }
    check_header(key, header)?;
    let begin = append_signing_input(out, header, payload_json);
    let input = out.get(begin..).unwrap_or_default();
    let mut whole = Sha256::default();
    whole.update(input);
    let sha256 = Some(&whole.so_far());
    let signature = signer.sign(key, SigningInput { bytes: input, sha256 }).await?;
    let end = out.len();
    append_signature(out, &signature);
    whole.update(out.get(end..).unwrap_or_default());
    Ok(Some(whole.finish()))
}

/// RFC 7515 4.1.1, 4.1.4: `alg` and `kid` must name the algorithm and the key of the signature.
fn check_header(key: &SigningKey, header: &EncodedHeader) -> Result<(), SignError> {
    let fits = header.algorithm() == key.algorithm() && header.kid() == key.kid();
    fits.then_some(()).ok_or(SignError::HeaderMismatch)
}

/// Appends the signing input (RFC 7515 5.1); returns the offset at which it begins.
fn append_signing_input(out: &mut Vec<u8>, header: &EncodedHeader, payload_json: &[u8]) -> usize {
    let begin = out.len();
    out.extend_from_slice(header.as_str().as_bytes());
    out.push(b'.');
    encoding::append_to(out, payload_json);
    begin
}

fn append_signature(out: &mut Vec<u8>, signature: &Signature) {
    out.push(b'.');
    encoding::append_to(out, signature.as_bytes());
}
