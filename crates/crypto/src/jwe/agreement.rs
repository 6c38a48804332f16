//! ECDH-ES on P-256 with direct key agreement (RFC 7518 4.6).

use aws_lc_rs::agreement::{
    ECDH_P256, EphemeralPrivateKey, ParsedPublicKey, UnparsedPublicKey, agree_ephemeral,
};
use aws_lc_rs::kdf::{SskdfDigestAlgorithmId, get_sskdf_digest_algorithm, sskdf_digest};
use aws_lc_rs::rand::SystemRandom;
use serde::Serialize;

use super::{ContentEncryption, JweError, KeyManagement};
use crate::encoding;
use crate::secret::SecretBytes;

/// The first byte of a point that is written with both coordinates (SEC 1 2.3.3).
const UNCOMPRESSED: u8 = 4;

/// The sender's public key of one JWE (`epk`, RFC 7518 4.6.1.1).
#[derive(Serialize)]
pub(super) struct EphemeralKey {
    kty: &'static str,
    crv: &'static str,
    x: String,
    y: String,
}

/// A key for the content, and what the recipient needs to derive it too. The library checks that the recipient's point lies on the
/// curve, so that nothing is told of a key (RFC 8725 3.4). The ephemeral key comes from the library's own generator: it takes no other.
pub(super) fn agree(
    x: &[u8; 32],
    y: &[u8; 32],
    enc: ContentEncryption,
) -> Result<(SecretBytes, EphemeralKey), JweError> {
    let own =
        EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).map_err(|_| JweError::Failed)?;
    let public = own.compute_public_key().map_err(|_| JweError::Failed)?;
    let coordinates =
        public.as_ref().get(1..).and_then(|both| both.split_at_checked(32)).ok_or(JweError::Failed)?;
    let epk = EphemeralKey {
        kty: "EC",
        crv: "P-256",
        x: encoding::encode(coordinates.0),
        y: encoding::encode(coordinates.1),
    };
    let of_recipient = UnparsedPublicKey::new(&ECDH_P256, point(x, y));
    let key = agree_ephemeral(own, of_recipient, JweError::Key(KeyManagement::EcdhEs), |z| {
        derive(z, enc.as_str(), enc.key_bytes())
    })?;
    Ok((key, epk))
}

fn point(x: &[u8; 32], y: &[u8; 32]) -> Vec<u8> {
    [&[UNCOMPRESSED][..], x, y].concat()
}

/// Whether a point lies on P-256.
pub(super) fn is_on_curve(x: &[u8; 32], y: &[u8; 32]) -> bool {
    ParsedPublicKey::try_from(&UnparsedPublicKey::new(&ECDH_P256, point(x, y))).is_ok()
}

/// The Concat KDF with SHA-256 (RFC 7518 4.6.2), without information of the parties.
pub(super) fn derive(z: &[u8], algorithm: &str, bytes: usize) -> Result<SecretBytes, JweError> {
    derive_between(z, algorithm, (b"", b""), bytes)
}

/// The same with what identifies both parties (`apu`, `apv`).
fn derive_between(
    z: &[u8],
    algorithm: &str,
    (sender, recipient): (&[u8], &[u8]),
    bytes: usize,
) -> Result<SecretBytes, JweError> {
    let mut info = Vec::with_capacity(32);
    for part in [algorithm.as_bytes(), sender, recipient] {
        let length = u32::try_from(part.len()).map_err(|_| JweError::Failed)?;
        info.extend_from_slice(&length.to_be_bytes());
        info.extend_from_slice(part);
    }
    let bits = u32::try_from(bytes * 8).map_err(|_| JweError::Failed)?;
    info.extend_from_slice(&bits.to_be_bytes());
    let sha256 = get_sskdf_digest_algorithm(SskdfDigestAlgorithmId::Sha256).ok_or(JweError::Failed)?;
    let mut key = vec![0; bytes];
    sskdf_digest(sha256, z, &info, &mut key).map_err(|_| JweError::Failed)?;
    Ok(SecretBytes::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7518 appendix C.
    #[test]
    fn the_derived_key_is_that_of_the_rfc() {
        let z = [
            158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163,
            218, 128, 106, 72, 246, 218, 167, 121, 140, 254, 144, 196,
        ];
        let key = derive_between(&z, "A128GCM", (b"Alice", b"Bob"), 16).unwrap();
        assert_eq!(encoding::encode(key.expose()), "VqqN6vgjbSBcIijNcacQGg");
    }
}
