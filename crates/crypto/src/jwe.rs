//! Encrypts for whoever holds the private half of a key: JWEs in their compact form (RFC 7516), with those algorithms of RFC 7518 4 and 5
//! that OpenID Connect clients ask for.
//!
//! Nothing is decrypted here, so that no ciphertext of an attacker's choice ever meets a private key of ours.

use std::fmt;

use aws_lc_rs::rsa::{
    OAEP_SHA256_MGF1SHA256, OaepPublicEncryptingKey, PublicEncryptingKey, PublicKeyComponents,
};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::encoding;
use crate::jwk::{Jwk, KeyParameters};
use crate::random::Random;
use crate::secret::SecretBytes;

mod agreement;
mod content;

/// How the key that encrypts the content is agreed upon (`alg`, RFC 7518 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyManagement {
    /// A random key, encrypted by RSAES-OAEP with SHA-256 (4.3).
    #[serde(rename = "RSA-OAEP-256")]
    RsaOaep256,
    /// A key that follows from an ephemeral key on P-256 and the recipient's (4.6, direct key agreement).
    #[serde(rename = "ECDH-ES")]
    EcdhEs,
}

/// How the content is encrypted (`enc`, RFC 7518 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentEncryption {
    /// AES in CBC mode with HMAC SHA-256 (5.2.3).
    #[default]
    #[serde(rename = "A128CBC-HS256")]
    A128CbcHs256,
    /// AES in GCM mode with a key of 128 bits (5.3).
    #[serde(rename = "A128GCM")]
    A128Gcm,
    /// AES in GCM mode with a key of 256 bits (5.3).
    #[serde(rename = "A256GCM")]
    A256Gcm,
}

impl KeyManagement {
    /// All of them, in the order in which they are announced.
    pub const ALL: [Self; 2] = [Self::RsaOaep256, Self::EcdhEs];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RsaOaep256 => "RSA-OAEP-256",
            Self::EcdhEs => "ECDH-ES",
        }
    }
}

impl ContentEncryption {
    /// All of them, in the order in which they are announced.
    pub const ALL: [Self; 3] = [Self::A128CbcHs256, Self::A128Gcm, Self::A256Gcm];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A128CbcHs256 => "A128CBC-HS256",
            Self::A128Gcm => "A128GCM",
            Self::A256Gcm => "A256GCM",
        }
    }

    /// The length of its key in bytes.
    const fn key_bytes(self) -> usize {
        match self {
            Self::A128Gcm => 16,
            // A128CBC-HS256 has one key for AES and one for the MAC in it (RFC 7518 5.2.2.1).
            Self::A128CbcHs256 | Self::A256Gcm => 32,
        }
    }
}

impl fmt::Display for KeyManagement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ContentEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why nothing was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JweError {
    /// The key is of another type than the algorithm needs, or is no point on the curve.
    #[error("the key cannot be used for {0}")]
    Key(KeyManagement),
    /// The library failed.
    #[error("encryption failed")]
    Failed,
}

/// Whether the owner allows the key for encryption by this algorithm (RFC 7517 4.2 to 4.4), and it can be used for it: of its type, and a
/// point that lies on the curve.
pub fn may_encrypt(key: &Jwk, alg: KeyManagement) -> bool {
    let (is_usable, operation) = match (alg, key.parameters()) {
        (KeyManagement::RsaOaep256, KeyParameters::Rsa { n, e }) => (rsa_key(n, e).is_ok(), "wrapKey"),
        (KeyManagement::EcdhEs, KeyParameters::P256 { x, y }) => (agreement::is_on_curve(x, y), "deriveKey"),
        _ => (false, ""),
    };
    is_usable
        && key.key_use.as_deref().is_none_or(|key_use| key_use == "enc")
        && key.alg.as_deref().is_none_or(|own| own == alg.as_str())
        && key.key_ops.as_ref().is_none_or(|ops| {
            ops.iter().any(|own| own == operation || own == "encrypt" || own == "deriveBits")
        })
}

/// The protected header (RFC 7516 4). There is no `zip`: how long a compressed secret is tells something of it.
#[derive(Serialize)]
struct Header<'a> {
    alg: KeyManagement,
    enc: ContentEncryption,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a SmolStr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cty: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epk: Option<agreement::EphemeralKey>,
}

/// Encrypts a text for a recipient. `cty` is the type of what is encrypted, `JWT` for a signed token (RFC 7519 5.2).
///
/// # Errors
/// [`JweError`]: a key that is of no use for the algorithm, or a failure of the library.
pub fn encrypt(
    recipient: &Jwk,
    (alg, enc): (KeyManagement, ContentEncryption),
    cty: Option<&str>,
    plaintext: &[u8],
    random: &dyn Random,
) -> Result<String, JweError> {
    let (key, encrypted_key, epk) = match (alg, recipient.parameters()) {
        (KeyManagement::RsaOaep256, KeyParameters::Rsa { n, e }) => {
            let mut key = vec![0; enc.key_bytes()];
            random.fill(&mut key);
            let key = SecretBytes::new(key);
            let encrypted = rsa_encrypted(n, e, key.expose())?;
            (key, encrypted, None)
        }
        (KeyManagement::EcdhEs, KeyParameters::P256 { x, y }) => {
            let (key, epk) = agreement::agree(x, y, enc)?;
            (key, Vec::new(), Some(epk))
        }
        _ => return Err(JweError::Key(alg)),
    };
    let header = Header { alg, enc, kid: recipient.kid.as_ref(), cty, epk };
    let header = serde_json::to_vec(&header).map_err(|_| JweError::Failed)?;
    let mut jwe = encoding::encode(&header);
    // RFC 7516 5.1, step 14: the encoded header is authenticated with the content.
    let sealed = content::encrypt(enc, key.expose(), jwe.as_bytes(), plaintext, random)?;
    for part in [&*encrypted_key, &sealed.iv, &sealed.ciphertext, &sealed.tag] {
        jwe.push('.');
        encoding::encode_into(&mut jwe, part);
    }
    Ok(jwe)
}

fn rsa_key(n: &[u8], e: &[u8]) -> Result<OaepPublicEncryptingKey, JweError> {
    let unfit = |_| JweError::Key(KeyManagement::RsaOaep256);
    let public: PublicEncryptingKey = PublicKeyComponents { n, e }.try_into().map_err(unfit)?;
    OaepPublicEncryptingKey::new(public).map_err(unfit)
}

fn rsa_encrypted(n: &[u8], e: &[u8], key: &[u8]) -> Result<Vec<u8>, JweError> {
    let public = rsa_key(n, e)?;
    let mut out = vec![0; public.ciphertext_size()];
    let written =
        public.encrypt(&OAEP_SHA256_MGF1SHA256, key, &mut out, None).map_err(|_| JweError::Failed)?.len();
    out.truncate(written);
    Ok(out)
}

#[cfg(test)]
mod tests;
