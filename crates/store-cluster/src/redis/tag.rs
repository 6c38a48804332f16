//! Hash tags and keys: what shares a tag shares a slot of the cluster, and may be worked on in one piece.

use std::fmt::Write;

use symbolon_protocol::grant::Slot;
use symbolon_store::shard::{Kind, Route};

/// Makes the tags of one installation.
pub(crate) struct Tags {
    prefix: String,
}

impl Tags {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// What begins every key, and every channel's name.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The tag of one of the 1,024 constant slots.
    pub(crate) fn slot(&self, slot: Slot) -> Tag {
        let mut text = String::with_capacity(self.prefix.len() + 8);
        // Writing to a string does not fail.
        let _ = write!(text, "{{{}:{}}}", self.prefix, slot.number());
        Tag(text)
    }

    /// The tag of a shard of a kind: of a generation, or of a constant slot where the generation is 0.
    pub(crate) fn shard(&self, kind: Kind, route: Route) -> Tag {
        let mut text = String::with_capacity(self.prefix.len() + 24);
        let _ = write!(text, "{{{}:{}:{}:{}}}", self.prefix, kind.as_str(), route.generation, route.shard);
        Tag(text)
    }
}

/// A hash tag, in its braces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tag(String);

impl Tag {
    /// Its text, which names it in PostgreSQL too.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// A key of this tag: what it is, and which.
    pub(crate) fn key(&self, letter: char, id: &[u8]) -> Key {
        let mut key = Vec::with_capacity(self.0.len() + 2 + id.len());
        key.extend_from_slice(self.0.as_bytes());
        let mut utf8 = [0; 4];
        key.extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
        key.push(b':');
        key.extend_from_slice(id);
        Key(key)
    }

    /// The key that says under which primary everything that this tag must not have forgotten was confirmed.
    pub(crate) fn epoch(&self) -> Key {
        self.key('e', b"")
    }
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
