//! The name of a waiting request, and the secret by which its client polls.

use std::fmt;

use serde::{Serialize, Serializer};
use smol_str::SmolStr;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::{digest, encoding};

use crate::grant::Slot;
use crate::id::{InvalidId, IssuerId, UserId};

/// The prefix of every `auth_req_id`.
const PREFIX: &str = "ar_";

/// Bytes of a request's name, and of the secret.
const NAME: usize = 16;
const SECRET: usize = 32;

/// The name of a waiting request: 112 random bits, and the slot of its user, in which all requests of the user lie. It is no secret:
/// people and administrators decide by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BackchannelRequestId([u8; NAME]);

impl BackchannelRequestId {
    /// The id of a record that a back-end found by these bytes.
    pub const fn of_bytes(bytes: [u8; NAME]) -> Self {
        Self(bytes)
    }

    /// The bytes, by which back-ends find the record.
    pub const fn bytes(&self) -> &[u8; NAME] {
        &self.0
    }

    /// The slot of the user.
    pub fn slot(&self) -> Slot {
        let [.., high, low] = self.0;
        Slot::new(u16::from_be_bytes([high, low]).into())
    }

    fn draw(issuer: &IssuerId, user: &UserId, random: &dyn Random) -> Self {
        let mut bytes = random::bytes::<NAME>(random);
        let slot = Slot::of(issuer, user.as_str()).number().to_be_bytes();
        bytes.iter_mut().rev().zip(slot.into_iter().rev()).for_each(|(to, byte)| *to = byte);
        Self(bytes)
    }
}

impl fmt::Display for BackchannelRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encoding::encode(&self.0))
    }
}

impl fmt::Debug for BackchannelRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for BackchannelRequestId {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let grammar = "22 characters of base64url";
        encoding::decode_array(text)
            .map(Self)
            .map_err(|_| InvalidId { kind: "the id of a backchannel authentication request", grammar })
    }
}

impl Serialize for BackchannelRequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a client polls by (CIBA Core 7.3): `ar_<name>.<secret>`. Of the secret, 256 random bits, only a digest is stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AuthReqId(SmolStr);

/// An `auth_req_id` as it was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuthReqIdParts {
    /// The name of the request.
    pub request: BackchannelRequestId,
    /// The digest of the secret.
    pub secret_digest: [u8; 16],
}

impl AuthReqId {
    /// Takes any text; the store decides whether there is such a request.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// Draws one for a request to a user.
    pub fn draw(issuer: &IssuerId, user: &UserId, random: &dyn Random) -> Self {
        let name = BackchannelRequestId::draw(issuer, user, random);
        let secret = random::bytes::<SECRET>(random);
        Self(SmolStr::from(format!("{PREFIX}{name}.{}", encoding::encode(&secret))))
    }

    /// The text, for the client.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its parts at an issuer, to another of which they mean nothing; `None` for a text of another form.
    pub fn parts(&self, issuer: &IssuerId) -> Option<AuthReqIdParts> {
        let (request, secret) = self.read()?;
        // No id contains a space.
        let digest = digest::sha256(&[b"auth_req_id ", issuer.as_str().as_bytes(), b" ", &secret]);
        Some(AuthReqIdParts { request, secret_digest: *digest.first_chunk()? })
    }

    /// Whether the text has the form of an `auth_req_id`, whether or not there ever was such a request.
    pub fn has_our_form(&self) -> bool {
        self.read().is_some()
    }

    fn read(&self) -> Option<(BackchannelRequestId, [u8; SECRET])> {
        let (name, secret) = self.0.strip_prefix(PREFIX)?.split_once('.')?;
        Some((name.parse().ok()?, encoding::decode_array(secret).ok()?))
    }
}

impl fmt::Debug for AuthReqId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthReqId(..)")
    }
}
