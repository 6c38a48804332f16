//! Grants: what a user allowed a client in one login, or a client obtained for itself.
//!
//! A grant is an id created with the code, not a stored record. The code, the refresh-token family and every access
//! token of one login carry it. It contains the slot in which its tombstones are stored, and the millisecond of its
//! creation.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};

use crate::id::{ClientId, IssuerId, Jti, Sid, UserId, leading_number};
use crate::id_text::IdText;
use crate::time::Timestamp;

/// The number of constant slots: records that are found by hash are stored by slot.
pub const SLOTS: u16 = 1024;

/// One of the [`SLOTS`] constant slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u16);

impl Slot {
    /// The slot for any number.
    pub const fn new(number: u32) -> Self {
        Self((number % SLOTS as u32) as u16)
    }

    /// The slot of a text within an issuer, by FNV-1a. Must never change, because stored records are found by it.
    pub fn of(issuer: &IssuerId, text: &str) -> Self {
        let bytes = issuer.as_str().bytes().chain([0]).chain(text.bytes());
        let hash =
            bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        // FNV's low bits are its weakest, so the high half is folded in.
        Self::new(hash ^ (hash >> 16))
    }

    /// The number, below [`SLOTS`].
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// Random bytes of a grant's name, so that it cannot be guessed (RFC 6749 10.10).
const NAME: usize = 16;

/// Length of a grant in binary records: slot, millisecond, name.
const RECORD: usize = size_of::<u16>() + size_of::<u64>() + NAME;

/// The id of a grant: `gr_<slot>_<milliseconds>_<22 random characters>`. Kept in binary, because every code, family
/// and token of a login holds one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrantId {
    slot: Slot,
    at: Timestamp,
    name: [u8; NAME],
}

impl GrantId {
    /// Creates a grant for `subject` (a user's id, or `client:<client_id>`).
    pub fn draw(issuer: &IssuerId, subject: &str, now: Timestamp, random: &dyn Random) -> Self {
        Self { slot: Slot::of(issuer, subject), at: now, name: random::bytes(random) }
    }

    /// Parses a grant id.
    pub fn parse(text: &str) -> Option<Self> {
        let (slot, rest) = leading_number(text.strip_prefix("gr_")?)?;
        let (at, name) = leading_number(rest)?;
        let name = encoding::decode_array(name).ok()?;
        (slot < SLOTS).then_some(Self { slot: Slot(slot), at: Timestamp::from_millis(at), name })
    }

    /// The id as text.
    pub fn text(&self) -> IdText {
        let slot = u64::from(self.slot.number());
        let mut text = IdText::new("gr_");
        text.number(slot).text("_").number(self.at.millis()).text("_").base64url(&self.name);
        text
    }

    /// The slot of the tombstones for this grant, its tokens, its session and its user.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// When the grant was created.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    fn to_record(self) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        let (slot, rest) = record.split_at_mut(size_of::<u16>());
        let (at, name) = rest.split_at_mut(size_of::<u64>());
        slot.copy_from_slice(&self.slot.number().to_be_bytes());
        at.copy_from_slice(&self.at.millis().to_be_bytes());
        name.copy_from_slice(&self.name);
        record
    }

    /// Reads a binary record. Records of early versions contain the text, which is longer.
    fn of_record(record: &[u8]) -> Option<Self> {
        if record.len() != RECORD {
            return Self::parse(std::str::from_utf8(record).ok()?);
        }
        let (slot, rest) = record.split_first_chunk()?;
        let (at, name) = rest.split_first_chunk()?;
        let (slot, at) = (u16::from_be_bytes(*slot), u64::from_be_bytes(*at));
        let name = name.try_into().ok()?;
        (slot < SLOTS).then_some(Self { slot: Slot(slot), at: Timestamp::from_millis(at), name })
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text in JSON (claims, and records in the cluster store), bytes in binary formats.
impl Serialize for GrantId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(self.text().as_str())
        } else {
            serializer.serialize_bytes(&self.to_record())
        }
    }
}

impl<'de> Deserialize<'de> for GrantId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(GrantIdVisitor)
        } else {
            deserializer.deserialize_bytes(GrantIdVisitor)
        }
    }
}

struct GrantIdVisitor;

impl Visitor<'_> for GrantIdVisitor {
    type Value = GrantId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a grant id")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<GrantId, E> {
        GrantId::parse(text).ok_or_else(|| E::custom("not a grant id"))
    }

    fn visit_bytes<E: de::Error>(self, record: &[u8]) -> Result<GrantId, E> {
        GrantId::of_record(record).ok_or_else(|| E::custom("not a grant id"))
    }
}

/// What stands for the remembered browsers of a user where a consent has a client: a name that no client may have, because no
/// path would lead to it ([`refused_in_paths`](crate::id::refused_in_paths)).
pub(crate) fn remembered_browsers() -> ClientId {
    ClientId::trusted("..")
}

/// Everything whose end revokes a token. One look-up checks all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The slot of the tombstones for token, grant, session and user.
    pub slot: Slot,
    /// The token's own `jti`, and those of the tokens that it was exchanged from.
    pub tokens: Vec<Jti>,
    /// The grant; `None` for a token that was signed elsewhere with the issuer's key.
    pub grant: Option<GrantId>,
    /// The session, unless the grant outlives it (`offline_access`).
    pub session: Option<Sid>,
    /// The user; `None` if a client acts for itself.
    pub user: Option<UserId>,
    /// The client that the token was issued to.
    pub client: Option<ClientId>,
    /// The client whose grant it is, if token exchange issued the token to another client: the end of that client
    /// revokes the token too.
    pub grantor: Option<ClientId>,
    /// The creation time of the grant, else the token's `iat`. Compared with the not-before of session, user,
    /// consent, client and issuer.
    pub born: Timestamp,
    /// The `iat` of an access token. A restored backup begins a new epoch of the store, and no access token from
    /// before the epoch is accepted. `None` for codes, which do not survive a restart, and for families, which
    /// continue across epochs by the version in the refresh token.
    pub issued: Option<Timestamp>,
}

impl Lineage {
    /// The lineage of what ends with a user and is neither of a session nor of a client.
    pub fn of_user(issuer: &IssuerId, user: &UserId, born: Timestamp) -> Self {
        Self {
            slot: Slot::of(issuer, user.as_str()),
            tokens: Vec::new(),
            grant: None,
            session: None,
            user: Some(user.clone()),
            client: None,
            grantor: None,
            born,
            issued: None,
        }
    }

    /// The lineage of a browser that stands in for a user's second factor since `born`. It ends with the user, and with all
    /// such browsers of the user: [`Tombstone::remembered_browsers`](crate::revocation::Tombstone::remembered_browsers).
    pub fn of_remembered_browser(issuer: &IssuerId, user: &UserId, born: Timestamp) -> Self {
        Self { client: Some(remembered_browsers()), ..Self::of_user(issuer, user, born) }
    }

    /// The clients whose end revokes the token.
    pub fn clients(&self) -> impl Iterator<Item = &ClientId> {
        self.client.iter().chain(&self.grantor)
    }

    /// The user and client of the consent whose withdrawal revokes the token; `None` if a client acts for itself.
    pub fn consent(&self) -> Option<(&UserId, &ClientId)> {
        self.user.as_ref().zip(self.grantor.as_ref().or(self.client.as_ref()))
    }
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
            let read = GrantId::parse(drawn.text().as_str()).expect("own form");
            assert_eq!((read, read.slot(), read.at()), (drawn, drawn.slot(), drawn.at()));
        }
    }

    #[test]
    fn records_hold_bytes_where_machines_read_them_and_the_text_is_read_there_too() {
        let grant =
            GrantId::draw(&IssuerId::default_issuer(), "ann", Timestamp::FOREVER, &SeededRandom::new(7));
        let text = grant.to_string();
        assert_eq!(serde_json::to_value(grant).unwrap(), text);
        assert_eq!(serde_json::from_value::<GrantId>(text.as_str().into()).unwrap(), grant);
        let record = postcard::to_allocvec(&grant).unwrap();
        assert_eq!(record.len(), 1 + RECORD);
        assert_eq!(postcard::from_bytes::<GrantId>(&record).unwrap(), grant);
        let text = postcard::to_allocvec(&text).unwrap();
        assert_eq!(postcard::from_bytes::<GrantId>(&text).unwrap(), grant);
        let shortest = "gr_0_0_AAAAAAAAAAAAAAAAAAAAAA";
        assert!(GrantId::parse(shortest).is_some() && shortest.len() > RECORD);
    }

    #[test]
    fn damaged_records_are_refused() {
        for damaged in [vec![], vec![7; RECORD - 1], vec![0xff; RECORD], vec![b'g'; RECORD + 3]] {
            let record = postcard::to_allocvec(&damaged).unwrap();
            assert!(postcard::from_bytes::<GrantId>(&record).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn a_grant_has_one_text() {
        let tail = "aaaaaaaaaaaaaaaaaaaaag";
        assert!(GrantId::parse("gr_0_5_aaaaaaaaaaaaaaaaaaaaaa").is_none(), "bits that say nothing");
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
            ["", "gr_", "gr_1_2_x", "gr_1024_5_aaaaaaaaaaaaaaaaaaaaag", "at_1_5_aaaaaaaaaaaaaaaaaaaaag"]
        {
            assert!(GrantId::parse(bad).is_none(), "{bad}");
        }
    }
}
