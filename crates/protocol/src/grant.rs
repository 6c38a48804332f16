//! Grants: what a user, or a client for itself, allowed a client in one login.
//!
//! A grant is an id drawn with the code, not a stored record: codes, the refresh-token family and every access
//! token of one login carry it. It holds the slot in which its tombstones live and the millisecond of its birth.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;
use symbolon_crypto::random::Random;

use crate::id::{ClientId, IssuerId, Jti, Sid, UserId, leading_number};
use crate::id_text::IdText;
use crate::time::Timestamp;

/// The number of slots that no setting changes: map key and hash tag of everything routed by hash.
pub const SLOTS: u16 = 1024;

/// One of the [`SLOTS`] constant slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u16);

impl Slot {
    /// The slot of a number, wherever it came from.
    pub const fn new(number: u32) -> Self {
        Self((number % SLOTS as u32) as u16)
    }

    /// The slot of a text inside an issuer: FNV-1a, fixed for ever because stored state is found by it.
    pub fn of(issuer: &IssuerId, text: &str) -> Self {
        let bytes = issuer.as_str().bytes().chain([0]).chain(text.bytes());
        let hash =
            bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        // FNV's low bits are its weakest: fold the high half in.
        Self::new(hash ^ (hash >> 16))
    }

    /// The number, below [`SLOTS`].
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// Names a grant: `gr_<slot>_<milliseconds>_<22 random characters>`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GrantId {
    text: SmolStr,
    slot: Slot,
    at: Timestamp,
}

impl GrantId {
    /// Draws a grant of `subject` (a user's id, or `client:<client_id>`), born now.
    pub fn draw(issuer: &IssuerId, subject: &str, now: Timestamp, random: &dyn Random) -> Self {
        let slot = Slot::of(issuer, subject);
        let number = u64::from(slot.number());
        let text = IdText::new("gr_")
            .number(number)
            .text("_")
            .number(now.millis())
            .text("_")
            .random::<16>(random)
            .build();
        Self { text, slot, at: now }
    }

    /// Reads a grant id back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text).map(|(slot, at)| Self { text: SmolStr::new(text), slot, at })
    }

    /// What the text of a grant id says.
    fn read(text: &str) -> Option<(Slot, Timestamp)> {
        let (slot, rest) = leading_number(text.strip_prefix("gr_")?)?;
        let (at, tail) = leading_number(rest)?;
        let drawn = slot < SLOTS
            && tail.len() == 22
            && tail.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        drawn.then(|| (Slot(slot), Timestamp::from_millis(at)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where the tombstones of this grant, its tokens, its session and its user live.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// When the grant was drawn.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for GrantId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for GrantId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SmolStr::deserialize(deserializer)?;
        let (slot, at) = Self::read(&text).ok_or_else(|| serde::de::Error::custom("not a grant id"))?;
        Ok(Self { text, slot, at })
    }
}

/// Everything whose end ends a token: one look-up asks for all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Where the tombstones of token, grant, session and user live.
    pub slot: Slot,
    /// The token itself, and the tokens that it was exchanged from.
    pub tokens: Vec<Jti>,
    /// The grant; none in a token that something else signed with our key.
    pub grant: Option<GrantId>,
    /// The session, unless the grant outlives it (`offline_access`).
    pub session: Option<Sid>,
    /// The user; none where a client acts for itself.
    pub user: Option<UserId>,
    /// The client that the token was issued to.
    pub client: Option<ClientId>,
    /// Compared with the not-before of session, user, client and issuer: the grant's birth, else the token's `iat`.
    pub born: Timestamp,
    /// When the access token in question was issued (`iat`): none is accepted from before the store's epoch, which a
    /// restored backup begins. None where no access token is in question: codes do not survive a restart anyway, and
    /// families go on across epochs, by the version in the refresh token.
    pub issued: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_crypto::random::SeededRandom;

    #[test]
    fn a_grant_id_round_trips_with_slot_and_time() {
        let issuer = IssuerId::default_issuer();
        let random = SeededRandom::new(7);
        for n in 0..200 {
            let drawn = GrantId::draw(
                &issuer,
                &format!("user-{n}"),
                Timestamp::from_millis(1_700_000_000_000),
                &random,
            );
            let read = GrantId::parse(drawn.as_str()).expect("own form");
            assert_eq!((read.slot(), read.at()), (drawn.slot(), drawn.at()));
        }
    }

    #[test]
    fn a_grant_has_one_text() {
        let tail = "aaaaaaaaaaaaaaaaaaaaaa";
        assert!(GrantId::parse(&format!("gr_0_5_{tail}")).is_some());
        let twice = ["gr_+1_5", "gr_01_5", "gr_1_+5", "gr_1_05", "gr_00_5", "gr_-0_5", "gr__5"];
        // 65,537 would be slot 1 in 16 bits, 2^64 would be 0 in 64.
        let too_large = ["gr_65537_5", "gr_1_18446744073709551616", "gr_1_99999999999999999999"];
        for head in twice.iter().chain(&too_large) {
            assert!(GrantId::parse(&format!("{head}_{tail}")).is_none(), "{head}");
        }
    }

    #[test]
    fn foreign_texts_are_no_grant_ids() {
        for bad in
            ["", "gr_", "gr_1_2_x", "gr_1024_5_aaaaaaaaaaaaaaaaaaaaaa", "at_1_5_aaaaaaaaaaaaaaaaaaaaaa"]
        {
            assert!(GrantId::parse(bad).is_none(), "{bad}");
        }
    }
}
