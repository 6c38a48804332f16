//! The keys of one issuer, parsed once: the ones that sign, by algorithm, and all that verify.

use std::sync::Arc;

use bytes::Bytes;
use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::jws::EncodedHeader;
use symbolon_crypto::key::{KeyError, SigningKey, VerifyingKey};
use symbolon_crypto::seal::{MasterKey, SealError};
use symbolon_protocol::back_channel_logout;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::introspection;
use symbolon_protocol::key::{KeyRecord, KeyState};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessTokenTyp;
use symbolon_protocol::token::id_jag;

/// The type of a token (`typ`, RFC 8725 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// `at+jwt` (RFC 9068 2.1).
    AccessToken,
    /// `JWT`: an access token of a client that has this type.
    JwtAccessToken,
    /// `JWT`: an ID token.
    IdToken,
    /// `JWT`: a signed answer of the authorization endpoint (JARM 2.1).
    AuthorizationResponse,
    /// `JWT`: a signed answer of UserInfo (OpenID Connect Core 5.3.2).
    UserInfo,
    /// `token-introspection+jwt` (RFC 9701 5).
    Introspection,
    /// `logout+jwt` (Back-Channel Logout 1.0 2.4).
    LogoutToken,
    /// `oauth-id-jag+jwt` (draft-ietf-oauth-identity-assertion-authz-grant 3.1).
    IdJag,
}

impl From<AccessTokenTyp> for TokenType {
    fn from(typ: AccessTokenTyp) -> Self {
        match typ {
            AccessTokenTyp::AtJwt => Self::AccessToken,
            AccessTokenTyp::Jwt => Self::JwtAccessToken,
        }
    }
}

/// A signing key with its JWS headers encoded in advance.
pub struct ActiveKey {
    /// The key.
    pub key: SigningKey,
    at_jwt: EncodedHeader,
    jwt: EncodedHeader,
    logout_jwt: EncodedHeader,
    introspection_jwt: EncodedHeader,
    id_jag: EncodedHeader,
}

impl ActiveKey {
    fn new(key: SigningKey) -> Self {
        let at_jwt = EncodedHeader::for_key(&key, Some("at+jwt"));
        let jwt = EncodedHeader::for_key(&key, Some("JWT"));
        let logout_jwt = EncodedHeader::for_key(&key, Some(back_channel_logout::TYP));
        let introspection_jwt = EncodedHeader::for_key(&key, Some(introspection::JWT_TYP));
        let id_jag = EncodedHeader::for_key(&key, Some(id_jag::TYP));
        Self { key, at_jwt, jwt, logout_jwt, introspection_jwt, id_jag }
    }

    /// The encoded JWS header for a type of token.
    pub fn header(&self, typ: TokenType) -> &EncodedHeader {
        match typ {
            TokenType::AccessToken => &self.at_jwt,
            TokenType::JwtAccessToken
            | TokenType::IdToken
            | TokenType::AuthorizationResponse
            | TokenType::UserInfo => &self.jwt,
            TokenType::LogoutToken => &self.logout_jwt,
            TokenType::Introspection => &self.introspection_jwt,
            TokenType::IdJag => &self.id_jag,
        }
    }
}

/// A signing key, and from when on relying parties are expected to know it.
struct Signer {
    algorithm: Algorithm,
    /// When every relying party has had time to fetch it from the JWKS.
    from: Timestamp,
    key: Arc<ActiveKey>,
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
    // An issuer has few keys: searching a list costs less than hashing a `kid`.
    signers: Vec<Signer>,
    verifying: Vec<(SmolStr, VerifyingKey)>,
    jwks: Bytes,
}

/// Associated data that binds a sealed key to its issuer and `kid`, so that it cannot be used in place of another.
pub(super) fn aad(issuer: &IssuerId, kid: &str) -> Vec<u8> {
    [b"signing-key\0", issuer.as_str().as_bytes(), b"\0", kid.as_bytes()].concat()
}

impl KeyRing {
    /// Opens the keys of an issuer that verify at `now`. A key that `old` holds unchanged is reused without parsing.
    ///
    /// # Errors
    /// [`KeyRingError`]: a key was sealed under another master key, or is corrupt.
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
            let known = old.signers.iter().find(|signer| signer.key.key.kid() == kid);
            let key = match known {
                Some(signer) => Arc::clone(&signer.key),
                None => Arc::new(ActiveKey::new(unseal(issuer, record, master)?)),
            };
            published.push(key.key.public().jwk().clone());
            ring.verifying.push((SmolStr::new(kid), key.key.public().clone()));
            let from = match record.state {
                KeyState::Active => Some(record.known_from.unwrap_or(Timestamp::EPOCH)),
                KeyState::Next => record.signs_from,
                KeyState::Retiring | KeyState::Revoked => None,
            };
            ring.signers.extend(from.map(|from| Signer { algorithm: record.algorithm, from, key }));
        }
        ring.jwks = serde_json::to_vec(&JwkSet::new(published)).unwrap_or_default().into();
        ring.records = records;
        Ok(ring)
    }

    /// The records that the ring was built from.
    pub fn records(&self) -> &[KeyRecord] {
        &self.records
    }

    /// Whether a key has stopped verifying since the ring was built, which must then be rebuilt.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.records
            .iter()
            .any(|record| self.verifying(record.kid.as_str()).is_some() && !record.verifies_at(now))
    }

    /// The algorithm for clients that name none: the issuer's `signing_algorithm`. After a change of this setting the
    /// previous one is used until relying parties know a key of the new one.
    pub fn algorithm(&self, settings: &IssuerSettings, now: Timestamp) -> Algorithm {
        let wanted = settings.signing_algorithm;
        match settings.signing_algorithm_before {
            Some(before) if self.known(wanted, now).is_none() && self.known(before, now).is_some() => before,
            _ => wanted,
        }
    }

    /// The newest key of an algorithm that relying parties know.
    pub fn known(&self, algorithm: Algorithm, now: Timestamp) -> Option<&Arc<ActiveKey>> {
        let known = self.signers.iter().filter(|signer| signer.algorithm == algorithm && signer.from <= now);
        known.max_by_key(|signer| signer.from).map(|signer| &signer.key)
    }

    /// The signing key of an algorithm. Prefers one that relying parties know. If there is none yet, the first key of
    /// the algorithm, which only clients get that ask for the algorithm by name.
    pub fn signing(&self, algorithm: Algorithm, now: Timestamp) -> Option<&Arc<ActiveKey>> {
        self.known(algorithm, now).or_else(|| {
            self.signers.iter().find(|signer| signer.algorithm == algorithm).map(|signer| &signer.key)
        })
    }

    /// When relying parties will know a key of an algorithm; `None` if they already do, or if there is no such key.
    pub fn signs_from(&self, algorithm: Algorithm, now: Timestamp) -> Option<Timestamp> {
        if self.known(algorithm, now).is_some() {
            return None;
        }
        self.signers.iter().find(|signer| signer.algorithm == algorithm).map(|signer| signer.from)
    }

    /// The key with this `kid`, if it verifies.
    pub fn verifying(&self, kid: &str) -> Option<&VerifyingKey> {
        self.verifying.iter().find(|(own, _)| own == kid).map(|(_, key)| key)
    }

    /// The published JWK Set (RFC 7517 5).
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
