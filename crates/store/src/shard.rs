//! Kinds of hot state, and where an id lives: its generation and shard.

mod generation;

pub use generation::{FirstShards, Generation, MOST_SHARDS, opened, without_the_dead};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::authorize::pushed_request::PushedRequestId;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::device_authorization::UserCode;
use symbolon_protocol::family::{Family, FamilyId};
use symbolon_protocol::grant::Slot;
use symbolon_protocol::id::{ClientId, IssuerId, Sid, UserId, leading_number};
use symbolon_protocol::id_text::IdText;
use symbolon_protocol::session::SessionId;
use symbolon_protocol::time::Timestamp;

/// A kind of hot state that is split into shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShardKind {
    /// Authorization codes.
    Code,
    /// Sessions.
    Session,
    /// Login and consent transactions.
    Challenge,
    /// Refresh-token families.
    Refresh,
    /// Tombstones.
    Revocation,
    /// Client assertions that were used.
    Assertion,
}

impl ShardKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Code, Self::Session, Self::Challenge, Self::Refresh, Self::Revocation, Self::Assertion];

    /// The name in settings, paths and figures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Session => "session",
            Self::Challenge => "challenge",
            Self::Refresh => "refresh",
            Self::Revocation => "revocation",
            Self::Assertion => "assertion",
        }
    }

    /// Reads a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The prefix of the kind's ids.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Code => "ac_",
            Self::Session => "se_",
            Self::Challenge => "tx_",
            Self::Refresh => "rt_",
            Self::Revocation => "at_",
            Self::Assertion => "ja_",
        }
    }
}

/// The length of a drawn family's name, and how many bytes of it are the time of drawing, in milliseconds.
const FAMILY_NAME: usize = 15;
const BIRTH: usize = 6;

/// Where an id lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The generation it was drawn in; 0 means by hash, and `shard` is then one of the 1,024 constant slots.
    pub generation: u32,
    /// The shard inside the generation.
    pub shard: u32,
}

impl Route {
    /// The route of an id that no store of this program drew: it names no shard, so its hash gives the slot.
    pub fn hashed(issuer: &IssuerId, id: &str) -> Self {
        Self { generation: 0, shard: u32::from(Slot::of(issuer, id).number()) }
    }

    /// Reads the route in an id that a store drew, `<prefix><generation>_<shard>_<rest>`; `None` for other texts. The
    /// store has to check whether the generation exists, and has such a shard.
    pub fn of_id(kind: ShardKind, id: &str) -> Option<Self> {
        Self::split(kind, id).map(|(route, _)| route)
    }

    /// The route in an id that a store drew, and the rest of the id.
    pub fn split(kind: ShardKind, id: &str) -> Option<(Self, &str)> {
        let (generation, rest) = leading_number(id.strip_prefix(kind.prefix())?)?;
        let (shard, rest) = leading_number(rest)?;
        (generation > 0).then_some((Self { generation, shard }, rest))
    }

    /// Draws an id of `BYTES` random bytes that carries this route.
    pub fn draw<const BYTES: usize>(self, kind: ShardKind, random: &dyn Random) -> SmolStr {
        self.id(kind, &random::bytes::<BYTES>(random))
    }

    /// The id that carries this route and these bytes.
    pub fn id<const BYTES: usize>(self, kind: ShardKind, bytes: &[u8; BYTES]) -> SmolStr {
        self.after(kind.prefix()).text("_").base64url(bytes).build()
    }

    /// The beginning of an id, up to the route.
    fn after(self, prefix: &str) -> IdText {
        let mut text = IdText::new(prefix);
        text.number(self.generation.into()).text("_").number(self.shard.into());
        text
    }

    /// Draws a refresh-token family that lives here. Its name begins with the millisecond, see [`family_key`]; 72
    /// random bits distinguish families of the same millisecond. The name need not be secret, because a refresh token
    /// also needs its HMAC.
    pub fn draw_family(self, now: Timestamp, random: &dyn Random) -> FamilyId {
        let mut name = [0; FAMILY_NAME];
        let (born, rest) = name.split_at_mut(BIRTH);
        let [_, _, millis @ ..] = now.millis().to_be_bytes();
        born.copy_from_slice(&millis);
        random.fill(rest);
        let name = IdText::new("").base64url(&name).build();
        FamilyId { generation: self.generation, shard: self.shard, name }
    }
}

/// The key of a record of hot state. A digest, so that nothing at rest discloses a secret; over issuer and id, so that
/// an id means nothing to another issuer.
pub fn record_key(issuer: &IssuerId, id: &str) -> [u8; 16] {
    let digest = digest::sha256(&[issuer.as_str().as_bytes(), &[0], id.as_bytes()]);
    digest.first_chunk().copied().unwrap_or_default()
}

/// The key of a pushed request: a digest over issuer, client and id, so that an id means nothing to another client.
pub fn pushed_request_key(issuer: &IssuerId, client: &ClientId, id: &PushedRequestId) -> [u8; 16] {
    let parts = [issuer.as_str(), client.as_str(), id.expose()].map(str::as_bytes);
    let [issuer, client, id] = parts;
    // No id contains a space.
    let digest = digest::sha256(&[b"pushed request ", issuer, b" ", client, b" ", id]);
    digest.first_chunk().copied().unwrap_or_default()
}

/// The key of what a device asks for: a digest over the issuer and the code that the person types. The device's own code has it
/// too, so that one record is found by both codes, and changed at one place.
pub fn device_key(issuer: &IssuerId, code: &UserCode) -> [u8; 16] {
    let digest = digest::sha256(&[b"device ", issuer.as_str().as_bytes(), b" ", code.as_str().as_bytes()]);
    digest.first_chunk().copied().unwrap_or_default()
}

/// The key of the mark of a used client assertion: a digest over the client, its key and the `jti`. The issuer is not
/// in it, so that one assertion is used once in the whole installation. The client's key is, because two issuers may
/// know different clients by one `client_id`: neither client can use up the other's `jti` values.
pub fn assertion_key(assertion: &AssertionUse) -> [u8; 16] {
    let AssertionUse { client_id, key_thumbprint, jti, .. } = assertion;
    // No id contains a space, so the parts are separated unambiguously.
    let text = format!("assertion {client_id} {key_thumbprint} {jti}");
    digest::sha256(&[text.as_bytes()]).first_chunk().copied().unwrap_or_default()
}

/// The key of the mark in earlier releases, when an assertion counted per issuer: a digest over the issuer that was
/// asked, the client and the `jti`. No new mark has this key. Existing ones are still checked, so that an upgrade does
/// not let an assertion be used a second time.
pub fn assertion_key_before(issuer: &IssuerId, assertion: &AssertionUse) -> [u8; 16] {
    record_key(issuer, &format!("{} {}", assertion.client_id, assertion.jti))
}

/// The key of a refresh-token family: a record's key, which begins with the millisecond of the family's birth if its
/// name does. So new families are neighbours in every ordered index: the pages at the end of an index are in the cache,
/// others are not.
pub fn family_key(issuer: &IssuerId, id: &FamilyId) -> [u8; 16] {
    let digest = record_key(issuer, &id.name);
    let Ok(name) = encoding::decode_array::<FAMILY_NAME>(&id.name) else { return digest };
    let mut key = [0; 16];
    let born = name.iter().take(BIRTH);
    key.iter_mut().zip(born.chain(&digest)).for_each(|(to, byte)| *to = *byte);
    key
}

/// The key of the list of a user's refresh-token families.
pub fn families_key(issuer: &IssuerId, user: &UserId) -> [u8; 16] {
    record_key(issuer, user.as_str())
}

/// Whether a family can belong to an issuer, for a back-end that did not store the issuer: a grant lies in the slot of
/// its issuer and user. One of 1,024 other issuers gives the same slot.
pub fn may_be_of(issuer: &IssuerId, family: &Family) -> bool {
    family.grant.slot() == Slot::of(issuer, family.user.as_str())
}

/// The public name of a session: where it lives, and a digest of its secret.
pub fn sid_of(issuer: &IssuerId, id: &SessionId) -> Sid {
    let route =
        Route::of_id(ShardKind::Session, id.expose()).unwrap_or_else(|| Route::hashed(issuer, id.expose()));
    Sid::trusted(route.after("").text("_").base64url(&record_key(issuer, id.expose())).build())
}

/// Reads route and record key from a `sid` that a store made.
pub fn session_of_sid(sid: &str) -> Option<(Route, [u8; 16])> {
    let (generation, rest) = leading_number(sid)?;
    let (shard, key) = leading_number(rest)?;
    let key = encoding::decode_array(key).ok()?;
    Some((Route { generation, shard }, key))
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    #[test]
    fn families_are_kept_in_the_order_of_their_birth() {
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(5));
        let route = Route { generation: 1, shard: 20 };
        let draw = |second| route.draw_family(Timestamp::from_seconds(second), &random);
        let ids: Vec<FamilyId> = [1, 255, 256, 1_700_000_000, 4_000_000_000].map(draw).to_vec();
        let keys: Vec<[u8; 16]> = ids.iter().map(|id| family_key(&issuer, id)).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        let (one, other) = (draw(7), draw(7));
        assert_eq!(one.name[..8], other.name[..8]);
        assert_ne!(family_key(&issuer, &one)[6..], family_key(&issuer, &other)[6..]);
        let another = IssuerId::parse("another").unwrap();
        assert_ne!(family_key(&issuer, &one), family_key(&another, &one));
    }

    #[test]
    fn a_registered_family_is_kept_under_its_digest() {
        let issuer = IssuerId::default_issuer();
        let id = FamilyId { generation: 0, shard: 3, name: "AAAAAAAAAAAAAAAAAAAAAA".into() };
        assert_eq!(family_key(&issuer, &id), record_key(&issuer, &id.name));
    }

    #[test]
    fn a_place_has_one_text() {
        let route = Route { generation: 1, shard: 20 };
        assert_eq!(Route::of_id(ShardKind::Code, "ac_1_20_x"), Some(route));
        for other in
            ["ac_+1_20_x", "ac_01_20_x", "ac_1_+20_x", "ac_1_020_x", "ac_0_20_x", "ac_1_20", "se_1_20_x"]
        {
            assert_eq!(Route::of_id(ShardKind::Code, other), None, "{other}");
        }
        assert_eq!(session_of_sid("1_20_AAAAAAAAAAAAAAAAAAAAAA"), Some((route, [0; 16])));
        for other in
            ["+1_20_AAAAAAAAAAAAAAAAAAAAAA", "1_020_AAAAAAAAAAAAAAAAAAAAAA", "1_20_AAAAAAAAAAAAAAAAAAAAAB"]
        {
            assert_eq!(session_of_sid(other), None, "{other}");
        }
    }
}
