//! Secrets, signing keys, JWK and JWS, password hashing and digests. CPU only.
//!
//! Everything here is synchronous except [`signer::Signer`], the asynchronous port through which tokens are signed: it
//! lets an implementation make several pending signatures together. Nothing reads a clock, a file or the network. All
//! cryptography is aws-lc-rs, but for what it does not have: Argon2, and bcrypt, scrypt and sha-crypt for the passwords
//! that were hashed elsewhere, are the crates of these names.

pub mod algorithm;
pub mod digest;
pub mod encoding;
pub mod jwe;
pub mod jwk;
pub mod jws;
pub mod key;
pub mod one_time_password;
pub mod password;
pub mod random;
pub mod seal;
pub mod sealed_text;
pub mod secret;
pub mod signer;

pub use algorithm::Algorithm;
pub use jwk::{Jwk, JwkSet};
pub use key::{Signature, SigningKey, VerifyingKey};
pub use random::{Random, SeededRandom, SystemRandom};
pub use secret::{SecretArray, SecretBytes, SecretString};
pub use signer::{InlineSigner, SignError, Signer};
