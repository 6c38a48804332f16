//! Marks of a block: whether a refusal of a client, a request, an address or a typed name may be in it, which is known without
//! unpacking it. A Bloom filter: it may say yes in vain, and never says no of what is there.

use std::collections::BTreeSet;

use symbolon_crypto::digest;
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::ClientId;
use symbolon_store::port::AuditFilter;

/// Bits for each value, and how many of all bits each value sets. By calculation some three blocks in a thousand are unpacked in
/// vain, and fewer where a block has few values.
const BITS: usize = 12;
const SET: u64 = 8;
/// The fewest bytes of a block with a refusal: of fewer bits, many would be shared.
const LEAST: usize = 8;

/// A value of a refusal: two words of its digest, from which its bits follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64, u64);

impl Key {
    fn of(kind: &str, value: &str) -> Self {
        let digest = digest::sha256(&[kind.as_bytes(), &[0], value.as_bytes()]);
        let mut words = digest.chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).unwrap_or_default());
        let mut word = || words.next().map(u64::from_le_bytes).unwrap_or_default();
        // An odd step, because an even one would come back to the same bits.
        Self(word(), word() | 1)
    }

    /// The places of its bits in so many bytes, of which there is one at least.
    fn places(self, bytes: usize) -> impl Iterator<Item = usize> {
        let bits = (bytes as u64).saturating_mul(8).max(1);
        (0..SET).map(move |n| (self.0.wrapping_add(n.wrapping_mul(self.1)) % bits) as usize)
    }
}

/// The values that a refusal is searched by.
fn keys<'a>(values: [(&'a str, Option<&'a str>); 4]) -> impl Iterator<Item = Key> {
    values.into_iter().filter_map(|(kind, value)| Some(Key::of(kind, value?)))
}

fn is_refusal(event: Event) -> bool {
    Event::REFUSALS.contains(&event)
}

/// The marks of a block that is being filled.
#[derive(Default)]
pub(super) struct Marks {
    keys: BTreeSet<Key>,
    /// Whether a refusal could not be read, or a record has an event of a later version, which may be a refusal: nothing is known
    /// of the block.
    is_unknown: bool,
}

impl Marks {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.is_unknown = false;
    }

    pub(super) fn add(&mut self, record: &AuditRecord) {
        if !is_refusal(record.event) {
            return;
        }
        // A block with any refusal has a bit.
        self.keys.insert(Key::of("refusal", ""));
        let name = record.detail.get("login_name_digest").and_then(|digest| digest.as_str());
        self.keys.extend(keys([
            ("client", record.client.as_ref().map(ClientId::as_str)),
            ("request", record.request.as_deref()),
            ("address", record.address.as_deref()),
            ("name", name),
        ]));
    }

    /// Adds a line of another block, with the name of its event.
    pub(super) fn add_line(&mut self, line: &[u8], event: &str) {
        match Event::ALL.iter().find(|known| known.name() == event) {
            None => self.is_unknown = true,
            Some(known) if !is_refusal(*known) => {}
            Some(_) => match serde_json::from_slice::<AuditRecord>(line) {
                Ok(record) => self.add(&record),
                Err(_) => self.is_unknown = true,
            },
        }
    }

    /// The marks as they are stored; `None` where nothing is known.
    pub(super) fn stored(&self) -> Option<Vec<u8>> {
        if self.is_unknown {
            return None;
        }
        let bytes = match self.keys.len() {
            0 => 0,
            values => (values * BITS).div_ceil(8).max(LEAST),
        };
        let mut stored = vec![0_u8; bytes];
        for place in self.keys.iter().flat_map(|key| key.places(bytes)) {
            if let Some(byte) = stored.get_mut(place / 8) {
                *byte |= 1 << (place % 8);
            }
        }
        Some(stored)
    }
}

/// What must be marked in a block that has a record of a filter; `None` where other records than refusals may match.
pub(super) fn wanted(filter: &AuditFilter) -> Option<Vec<Key>> {
    let AuditFilter { event, client, refused, address, request, login_name_digest, .. } = filter;
    let is_of_refusals = *refused || event.is_some_and(is_refusal);
    is_of_refusals.then(|| {
        let values = [
            ("client", client.as_ref().map(ClientId::as_str)),
            ("request", request.as_deref()),
            ("address", address.as_deref()),
            ("name", login_name_digest.as_deref()),
        ];
        keys(values).collect()
    })
}

/// Whether a block with these marks may have a refusal with all of these values.
pub(super) fn may_have(stored: &[u8], wanted: &[Key]) -> bool {
    let is_set = |place: usize| stored.get(place / 8).is_some_and(|byte| byte & (1 << (place % 8)) != 0);
    !stored.is_empty() && wanted.iter().all(|key| key.places(stored.len()).all(is_set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_never_denied_and_little_else_is_said() {
        let key = |n: u32| Key::of("client", &format!("client-{n}"));
        for count in [1, 7, 500] {
            let marks = Marks { keys: (0..count).map(key).collect(), is_unknown: false };
            let stored = marks.stored().unwrap();
            assert!((0..count).all(|n| may_have(&stored, &[key(n)])), "{count}");
            let in_vain = (count..count + 10_000).filter(|n| may_have(&stored, &[key(*n)])).count();
            assert!(in_vain < 300, "{in_vain} of 10,000 in vain, of {count}");
        }
        assert!(!may_have(&[], &[]), "a block without refusals");
    }

    #[test]
    fn values_of_two_kinds_are_not_the_same() {
        let marks = Marks { keys: [Key::of("client", "app")].into(), is_unknown: false };
        let first = marks.stored().unwrap();
        let places: Vec<usize> = Key::of("client", "app").places(first.len()).collect();
        assert_eq!((first.len(), places.len()), (LEAST, SET as usize));
        assert!(places.iter().all(|place| first[place / 8] & (1 << (place % 8)) != 0), "{places:?}");
        assert_ne!(Key::of("client", "app"), Key::of("request", "app"));
        assert_ne!(Key::of("client", "app"), Key::of("clienta", "pp"));
    }

    /// A node of a later version may have written it, and reads the marks after the upgrade.
    #[test]
    fn nothing_is_said_of_a_block_with_an_event_of_a_later_version() {
        let mut marks = Marks::default();
        marks.add_line(br#"{"event":"session.created"}"#, Event::SessionCreated.name());
        assert_eq!(marks.stored(), Some(Vec::new()), "no refusal");
        marks.add_line(br#"{"event":"request.refused_later"}"#, "request.refused_later");
        assert_eq!(marks.stored(), None);
        marks.clear();
        assert_eq!(marks.stored(), Some(Vec::new()));
    }
}
