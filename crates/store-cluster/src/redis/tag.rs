//! Hash tags and keys. Keys that share a tag share a slot of the cluster, so one command or script can work on all of
//! them.

use std::fmt::{self, Write};

use crc16::{State, XMODEM};
use symbolon_protocol::grant::{SLOTS, Slot};
use symbolon_store::shard::{Route, ShardKind};

/// How many slots Redis Cluster has.
pub(super) const HASH_SLOTS: u16 = 16_384;

/// Makes the tags of one installation.
pub(crate) struct Tags {
    prefix: String,
    /// The tags of the constant slots, made in advance, because the most frequent look-ups need them.
    slots: Box<[Tag; SLOTS as usize]>,
}

impl Tags {
    pub(crate) fn new(prefix: &str) -> Self {
        let slots = std::array::from_fn(|slot| Tag::new(prefix, format_args!("{slot}")));
        Self { prefix: prefix.to_owned(), slots: Box::new(slots) }
    }

    /// The prefix of every key, and of every channel's name.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The tag of one of the 1,024 constant slots.
    #[allow(clippy::indexing_slicing, reason = "a slot's number is below SLOTS")]
    pub(crate) fn slot(&self, slot: Slot) -> &Tag {
        &self.slots[usize::from(slot.number())]
    }

    /// The tags of all constant slots.
    pub(crate) fn slots(&self) -> &[Tag] {
        self.slots.as_slice()
    }

    /// The tag of a shard of a kind: of a generation, or of a constant slot where the generation is 0.
    pub(crate) fn shard(&self, kind: ShardKind, route: Route) -> Tag {
        Tag::new(&self.prefix, format_args!("{}:{}:{}", kind.as_str(), route.generation, route.shard))
    }

    /// The tag of a [name](Tag::name).
    pub(crate) fn named(&self, name: &str) -> Tag {
        Tag::new(&self.prefix, format_args!("{name}"))
    }
}

/// A hash tag, in its braces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tag {
    text: String,
    /// The offset of its name, after brace and prefix.
    name: usize,
    hash_slot: u16,
}

impl Tag {
    fn new(prefix: &str, name: fmt::Arguments<'_>) -> Self {
        let mut text = String::with_capacity(prefix.len() + 24);
        // Writing to a string does not fail.
        let _ = write!(text, "{{{prefix}:{name}}}");
        // Redis Cluster specification, "Hash tags": what is between the first pair of braces is hashed.
        let hashed = text.as_bytes().get(1..text.len() - 1).unwrap_or_default();
        let hash_slot = State::<XMODEM>::calculate(hashed) % HASH_SLOTS;
        Self { text, name: prefix.len() + 2, hash_slot }
    }

    /// Its text, with the braces.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Its name in PostgreSQL: its text without the prefix, because the prefix may change.
    pub(crate) fn name(&self) -> &str {
        self.text.get(self.name..self.text.len() - 1).unwrap_or_default()
    }

    /// The slot of Redis Cluster that it hashes to.
    pub(crate) fn hash_slot(&self) -> u16 {
        self.hash_slot
    }

    /// Whether it is one of the constant slots.
    pub(crate) fn is_slot(&self) -> bool {
        self.name().bytes().all(|byte| byte.is_ascii_digit())
    }

    /// A key of this tag: `letter` is the kind of record, `id` names the record.
    pub(crate) fn key(&self, letter: char, id: &[u8]) -> Key {
        let mut key = Vec::with_capacity(self.text.len() + 2 + id.len());
        key.extend_from_slice(self.text.as_bytes());
        let mut utf8 = [0; 4];
        key.extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
        key.push(b':');
        key.extend_from_slice(id);
        Key { bytes: key, hash_slot: self.hash_slot }
    }

    /// The key of this tag that ends in `rest`: letter, colon, id.
    pub(crate) fn followed_by(&self, rest: &str) -> Key {
        Key { bytes: [self.text.as_bytes(), rest.as_bytes()].concat(), hash_slot: self.hash_slot }
    }

    /// The key with the run id of the process that is known to have all tombstones of this tag.
    pub(crate) fn complete_primary(&self) -> Key {
        self.key('e', b"")
    }
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    bytes: Vec<u8>,
    hash_slot: u16,
}

impl Key {
    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The slot of Redis Cluster that it is in.
    pub(crate) fn hash_slot(&self) -> u16 {
        self.hash_slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_by_its_name() {
        let tags = Tags::new("demo");
        let (slot, shard) =
            (tags.slot(Slot::new(7)), tags.shard(ShardKind::Session, Route { generation: 2, shard: 5 }));
        assert_eq!((slot.as_str(), slot.name(), slot.is_slot()), ("{demo:7}", "7", true));
        assert_eq!(
            (shard.as_str(), shard.name(), shard.is_slot()),
            ("{demo:session:2:5}", "session:2:5", false)
        );
        assert_eq!((&tags.named("7"), tags.named("session:2:5")), (slot, shard));
        assert_eq!(slot.complete_primary().as_bytes(), b"{demo:7}e:");
        assert_eq!(slot.key('t', b"x"), slot.followed_by("t:x"));
        assert_eq!(tags.slots().len(), 1_024);
    }

    #[test]
    fn a_tag_hashes_to_where_redis_finds_its_keys() {
        // What CLUSTER KEYSLOT {demo:7}x says.
        assert_eq!(Tags::new("demo").slot(Slot::new(7)).hash_slot(), 6_358);
        assert_eq!(State::<XMODEM>::calculate(b"123456789"), 0x31c3);
    }
}
