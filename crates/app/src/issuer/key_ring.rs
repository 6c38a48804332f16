//! The keys of one issuer in use: parsed once, one that signs per algorithm, and all that verify.

use std::sync::Arc;

use bytes::Bytes;
use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::jws::EncodedHeader;
use symbolon_crypto::key::{KeyError, SigningKey, VerifyingKey};
use symbolon_crypto::seal::{MasterKey, SealError};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::key::{KeyRecord, KeyState};
use symbolon_protocol::time::Timestamp;

/// What a token says it is (`typ`, RFC 8725 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// `at+jwt` (RFC 9068 2.1).
    AccessToken,
    /// `JWT`: an ID token.
    IdToken,
}

/// A key that signs, with its headers encoded.
pub struct ActiveKey {
    /// The key.
    pub key: SigningKey,
    access_token: EncodedHeader,
    id_token: EncodedHeader,
}

impl ActiveKey {
    fn new(key: SigningKey) -> Self {
        let access_token = EncodedHeader::for_key(&key, Some("at+jwt"));
        let id_token = EncodedHeader::for_key(&key, Some("JWT"));
        Self { key, access_token, id_token }
    }

    /// The encoded header of a token.
    pub fn header(&self, typ: TokenType) -> &EncodedHeader {
        match typ {
            TokenType::AccessToken => &self.access_token,
            TokenType::IdToken => &self.id_token,
        }
    }
}

/// Why a stored key cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum KeyRingError {
    #[error("key {kid}: {source}")]
    Sealed { kid: String, source: SealError },
    #[error("key {kid}: {source}")]
    Key { kid: String, source: KeyError },
}

/// The keys of one issuer.
#[derive(Default)]
pub struct KeyRing {
    records: Vec<KeyRecord>,
    // A handful of each: looking through a list costs less than hashing a name.
    active: Vec<(Algorithm, Arc<ActiveKey>)>,
    verifying: Vec<(SmolStr, VerifyingKey)>,
    jwks: Bytes,
}

/// Binds a sealed key to its issuer and `kid`: it cannot be passed off as another's.
pub(super) fn aad(issuer: &IssuerId, kid: &str) -> Vec<u8> {
    [b"signing-key\0", issuer.as_str().as_bytes(), b"\0", kid.as_bytes()].concat()
}

impl KeyRing {
    /// Opens the keys of an issuer that verify at `now`. Keys that are in `old` and have not changed are not parsed
    /// again.
    ///
    /// # Errors
    /// [`KeyRingError`]: a key was sealed under another master key, or is damaged.
    pub fn open(
        issuer: &IssuerId,
        records: Vec<KeyRecord>,
        master: &MasterKey,
        old: &Self,
        now: Timestamp,
    ) -> Result<Self, KeyRingError> {
        let mut ring = Self::default();
        let mut published = Vec::new();
        for record in &records {
            if !record.verifies_at(now) {
                continue;
            }
            let kid = record.kid.as_str();
            let known = old.signing(record.algorithm).filter(|active| active.key.kid() == kid);
            let key = match known {
                Some(active) => Arc::clone(active),
                None => Arc::new(ActiveKey::new(unseal(issuer, record, master)?)),
            };
            published.push(key.key.public().jwk().clone());
            ring.verifying.push((SmolStr::new(kid), key.key.public().clone()));
            if record.state == KeyState::Active {
                ring.active.retain(|(algorithm, _)| *algorithm != record.algorithm);
                ring.active.push((record.algorithm, key));
            }
        }
        ring.jwks = serde_json::to_vec(&JwkSet::new(published)).unwrap_or_default().into();
        ring.records = records;
        Ok(ring)
    }

    /// The records that the ring was made of.
    pub fn records(&self) -> &[KeyRecord] {
        &self.records
    }

    /// Whether a key in it has come to its end since it was opened.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.records
            .iter()
            .any(|record| self.verifying(record.kid.as_str()).is_some() && !record.verifies_at(now))
    }

    /// The key that signs with an algorithm.
    pub fn signing(&self, algorithm: Algorithm) -> Option<&Arc<ActiveKey>> {
        self.active.iter().find(|(own, _)| *own == algorithm).map(|(_, key)| key)
    }

    /// The key of a `kid`, if it verifies.
    pub fn verifying(&self, kid: &str) -> Option<&VerifyingKey> {
        self.verifying.iter().find(|(own, _)| own == kid).map(|(_, key)| key)
    }

    /// The published set (RFC 7517 5).
    pub fn jwks(&self) -> &Bytes {
        &self.jwks
    }
}

/// Opens one sealed key.
pub(super) fn unseal(
    issuer: &IssuerId,
    record: &KeyRecord,
    master: &MasterKey,
) -> Result<SigningKey, KeyRingError> {
    let kid = record.kid.as_str();
    let pkcs8 = master
        .open(&aad(issuer, kid), &record.sealed)
        .map_err(|source| KeyRingError::Sealed { kid: kid.to_owned(), source })?;
    SigningKey::from_pkcs8(record.algorithm, Some(kid), &pkcs8)
        .map_err(|source| KeyRingError::Key { kid: kid.to_owned(), source })
}
