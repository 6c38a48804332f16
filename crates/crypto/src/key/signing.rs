//! Private keys.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair, Signature as LibrarySignature,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use smol_str::SmolStr;

use super::{KeyError, Signature, VerifyingKey, rsa_der};
use crate::algorithm::Algorithm;
use crate::jwk::{Jwk, KeyParameters};
use crate::secret::{SecretBytes, SecretString};
use crate::signer::{SignError, SigningInput};

/// The sizes in which RSA keys are made. Others from 2048 to 8192 bits can be imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RsaSize {
    /// The smallest that RFC 7518 3.3 allows, and the default.
    #[default]
    Bits2048,
    /// 3072 bits.
    Bits3072,
    /// 4096 bits.
    Bits4096,
}

enum Pair {
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// A private key with its id and algorithm, parsed once: parsing an RSA key costs half a signature.
///
/// The library wipes the key when it is dropped. Put it into an `Arc` to share it.
pub struct SigningKey {
    pair: Pair,
    public: VerifyingKey,
}

impl SigningKey {
    /// Makes a new key: RSA of 2048 bits (which takes some 50 ms), P-256 or Ed25519. Without `kid`, its id is the
    /// beginning of its RFC 7638 thumbprint.
    ///
    /// # Errors
    /// [`KeyError::Failed`]
    pub fn generate(algorithm: Algorithm, kid: Option<&str>) -> Result<Self, KeyError> {
        match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => Self::generate_rsa(algorithm, RsaSize::default(), kid),
            Algorithm::Es256 => EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
                .map_err(|_| KeyError::Failed)
                .and_then(|pair| Self::new(algorithm, kid, Pair::P256(pair))),
            Algorithm::EdDsa => Ed25519KeyPair::generate()
                .map_err(|_| KeyError::Failed)
                .and_then(|pair| Self::new(algorithm, kid, Pair::Ed25519(pair))),
        }
    }

    /// Makes a new RSA key of this size for RS256 or PS256.
    ///
    /// # Errors
    /// [`KeyError::AlgorithmMismatch`] for another algorithm, [`KeyError::Failed`]
    pub fn generate_rsa(algorithm: Algorithm, size: RsaSize, kid: Option<&str>) -> Result<Self, KeyError> {
        let encoding = rsa_encoding(algorithm).ok_or(KeyError::AlgorithmMismatch(algorithm))?;
        let size = match size {
            RsaSize::Bits2048 => rsa::KeySize::Rsa2048,
            RsaSize::Bits3072 => rsa::KeySize::Rsa3072,
            RsaSize::Bits4096 => rsa::KeySize::Rsa4096,
        };
        let pair = RsaKeyPair::generate(size).map_err(|_| KeyError::Failed)?;
        Self::new(algorithm, kid, Pair::Rsa(pair, encoding))
    }

    /// Reads an unencrypted PKCS#8 key in DER (RFC 5958). Without `kid`, its id is the beginning of its thumbprint.
    ///
    /// # Errors
    /// [`KeyError::Pkcs8`] when it is no valid key of the algorithm's type, which includes RSA under 2048 bits
    /// (RFC 7518 3.3).
    pub fn from_pkcs8(
        algorithm: Algorithm,
        kid: Option<&str>,
        pkcs8: &SecretBytes,
    ) -> Result<Self, KeyError> {
        Self::new(algorithm, kid, Pair::from_pkcs8(algorithm, pkcs8)?)
    }

    /// Reads an unencrypted PKCS#8 key in PEM (RFC 7468 10).
    ///
    /// # Errors
    /// As [`Self::from_pkcs8`].
    pub fn from_pkcs8_pem(
        algorithm: Algorithm,
        kid: Option<&str>,
        pem: &SecretString,
    ) -> Result<Self, KeyError> {
        let refused = KeyError::Pkcs8(algorithm);
        let body = pem.expose().trim().strip_prefix(PEM_BEGIN).and_then(|body| body.strip_suffix(PEM_END));
        let body: String = body.ok_or_else(|| refused.clone())?.split_ascii_whitespace().collect();
        let body = SecretString::new(body);
        let der = SecretBytes::new(STANDARD.decode(body.expose()).map_err(|_| refused)?);
        Self::from_pkcs8(algorithm, kid, &der)
    }

    fn new(algorithm: Algorithm, kid: Option<&str>, pair: Pair) -> Result<Self, KeyError> {
        let mut jwk = Jwk::new(pair.public_parameters().ok_or(KeyError::Failed)?)?;
        jwk.kid = Some(kid.map_or_else(|| own_kid(&jwk), SmolStr::new));
        jwk.alg = Some(SmolStr::new_static(algorithm.as_str()));
        jwk.key_use = Some(SmolStr::new_static("sig"));
        let public = VerifyingKey::from_jwk(jwk, Some(algorithm))?;
        Ok(Self { pair, public })
    }

    /// The key as unencrypted PKCS#8 v1 in DER, to be sealed before it is stored.
    ///
    /// # Errors
    /// [`KeyError::Failed`]
    pub fn to_pkcs8(&self) -> Result<SecretBytes, KeyError> {
        let document = match &self.pair {
            Pair::Rsa(pair, _) => {
                let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| KeyError::Failed)?;
                return Ok(SecretBytes::from(der.as_ref()));
            }
            Pair::P256(pair) => pair.to_pkcs8v1(),
            Pair::Ed25519(pair) => pair.to_pkcs8v1(),
        };
        document.map(|document| SecretBytes::from(document.as_ref())).map_err(|_| KeyError::Failed)
    }

    /// The key as unencrypted PKCS#8 in PEM (RFC 7468 10).
    ///
    /// # Errors
    /// [`KeyError::Failed`]
    pub fn to_pkcs8_pem(&self) -> Result<SecretString, KeyError> {
        let der = self.to_pkcs8()?;
        let body = SecretString::new(STANDARD.encode(der.expose()));
        // Allocated in full at once: a string that grows would leave copies of the key in memory that are not wiped.
        let mut pem = String::with_capacity(body.expose().len() * 66 / 64 + 64);
        pem.push_str(PEM_BEGIN);
        pem.push('\n');
        let mut rest = body.expose();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(64));
            pem.push_str(line);
            pem.push('\n');
            rest = after;
        }
        pem.push_str(PEM_END);
        pem.push('\n');
        Ok(SecretString::new(pem))
    }

    /// The key's id.
    pub fn kid(&self) -> &str {
        self.public.kid()
    }

    /// The only algorithm that it signs with (RFC 8725 3.1).
    pub fn algorithm(&self) -> Algorithm {
        self.public.algorithm()
    }

    /// The public half.
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }

    /// The raw JWS signature of `input`, on this thread.
    ///
    /// # Errors
    /// [`SignError::Failed`]
    pub fn sign(&self, input: &[u8]) -> Result<Signature, SignError> {
        self.sign_input(input.into())
    }

    /// As [`sign`](Self::sign), for an input whose SHA-256 may be known already. Ed25519 ignores that digest: it hashes
    /// the input itself, twice (RFC 8032 5.1.6).
    ///
    /// # Errors
    /// [`SignError::Failed`]
    pub fn sign_input(&self, input: SigningInput<'_>) -> Result<Signature, SignError> {
        let SigningInput { bytes, sha256 } = input;
        let random = SystemRandom::new();
        let signature = match (&self.pair, sha256) {
            (Pair::Rsa(pair, encoding), sha256) => {
                let mut signature = vec![0; self.public.signature_len()];
                let signed = match sha256 {
                    Some(digest) => pair.sign_digest(*encoding, &digest.0, &mut signature),
                    None => pair.sign(*encoding, &random, bytes, &mut signature),
                };
                signed.map(|()| Signature::from_bytes(&signature))
            }
            (Pair::P256(pair), Some(digest)) => own(&pair.sign_digest(&digest.0)),
            (Pair::P256(pair), None) => own(&pair.sign(&random, bytes)),
            (Pair::Ed25519(pair), _) => own(&pair.try_sign(bytes)),
        };
        signature.map_err(|_| SignError::Failed)
    }
}

/// Copies only the bytes of a signature. The library's type has room for the longest signature of any algorithm, 4,627
/// bytes, all of which a move would copy.
fn own(signature: &Result<LibrarySignature, Unspecified>) -> Result<Signature, Unspecified> {
    signature.as_ref().map(|bytes| Signature::from_bytes(bytes.as_ref())).map_err(|error| *error)
}

/// The id of a key without a given one: the first nine bytes of its thumbprint. An id must distinguish the keys of one
/// issuer (RFC 7517 4.5), and every token contains it; the whole thumbprint would be a tenth of an ID token.
fn own_kid(jwk: &Jwk) -> SmolStr {
    jwk.thumbprint().chars().take(KID_CHARACTERS).collect()
}

/// Nine bytes in base64url.
const KID_CHARACTERS: usize = 12;

const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";

fn rsa_encoding(algorithm: Algorithm) -> Option<&'static dyn RsaEncoding> {
    match algorithm {
        Algorithm::Rs256 => Some(&RSA_PKCS1_SHA256),
        // The salt is as long as the digest (RFC 7518 3.5).
        Algorithm::Ps256 => Some(&RSA_PSS_SHA256),
        Algorithm::Es256 | Algorithm::EdDsa => None,
    }
}

impl Pair {
    fn from_pkcs8(algorithm: Algorithm, pkcs8: &SecretBytes) -> Result<Self, KeyError> {
        let refused = |_| KeyError::Pkcs8(algorithm);
        let der = pkcs8.expose();
        Ok(match rsa_encoding(algorithm) {
            Some(encoding) => Self::Rsa(RsaKeyPair::from_pkcs8(der).map_err(refused)?, encoding),
            None if algorithm == Algorithm::Es256 => {
                Self::P256(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der).map_err(refused)?)
            }
            None => Self::Ed25519(Ed25519KeyPair::from_pkcs8(der).map_err(refused)?),
        })
    }

    fn public_parameters(&self) -> Option<KeyParameters> {
        match self {
            Self::Rsa(pair, _) => {
                let (n, e) = rsa_der::modulus_and_exponent(pair.public_key().as_ref())?;
                Some(KeyParameters::Rsa { n: n.into(), e: e.into() })
            }
            Self::P256(pair) => {
                // SEC 1 2.3.3: 0x04, then both coordinates.
                let point = pair.public_key().as_ref().strip_prefix(&[4])?;
                let (x, y) = point.split_first_chunk::<32>()?;
                Some(KeyParameters::P256 { x: *x, y: y.try_into().ok()? })
            }
            Self::Ed25519(pair) => {
                Some(KeyParameters::Ed25519 { x: pair.public_key().as_ref().try_into().ok()? })
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.kid())
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_sign_with_one_key_at_once() {
        for algorithm in Algorithm::ALL {
            let key = SigningKey::generate(algorithm, None).unwrap();
            let sign = || key.sign(b"input").unwrap();
            let signatures: [Signature; 3] = std::thread::scope(|scope| {
                [sign; 3].map(|sign| scope.spawn(sign)).map(|thread| thread.join().unwrap())
            });
            for signature in signatures {
                key.public().verify(b"input", signature.as_bytes()).unwrap();
            }
        }
    }
}
