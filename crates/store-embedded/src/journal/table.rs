//! The closed list of tables, and the form of what is written to them.

use smallvec::SmallVec;

/// A table of the journal. Each is a keyspace of its own in fjall; a batch may touch any of them atomically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Sessions.
    Sessions,
    /// The keys of each user's sessions.
    SessionsOfUser,
    /// Refresh-token families.
    Families,
    /// The keys of each user's refresh-token families.
    FamiliesOfUser,
    /// Tombstones: tokens and grants by id; sessions, users, consents, clients and issuers by time.
    Revocations,
    /// The `jti` of client assertions that were used, without a value; and what became of codes sent by e-mail, with one. A release
    /// that knows no such codes takes theirs for marks, and none of them opens anything.
    AssertionMarks,
    /// The store's own marks: the last time noted, shard generations, the epoch, completed one-time steps.
    Meta,
}

impl Table {
    /// Every table, in the order of the declaration.
    pub const ALL: [Self; 7] = [
        Self::Sessions,
        Self::SessionsOfUser,
        Self::Families,
        Self::FamiliesOfUser,
        Self::Revocations,
        Self::AssertionMarks,
        Self::Meta,
    ];

    /// The name on disk; never changes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::SessionsOfUser => "sessions_of_user",
            Self::Families => "families",
            Self::FamiliesOfUser => "families_of_user",
            Self::Revocations => "revocations",
            Self::AssertionMarks => "assertion_marks",
            Self::Meta => "meta",
        }
    }
}

/// The end time of a record that never expires.
pub const NEVER: u64 = 0;

/// The length of the end time in front of every value.
pub const END_BYTES: usize = size_of::<u64>();

/// One change of one record.
///
/// Values start with their end: Unix time in milliseconds, eight bytes, big-endian, [`NEVER`] if they have none.
/// [`Op::put`] writes this form; [`split_value`] and the compaction filter read it. Keep a value under 4 KiB: the
/// journal's recovery then always recognises a batch that a power cut tore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The table.
    pub table: Table,
    /// The key, at most 65,535 bytes.
    pub key: KeyBytes,
    /// The end time and the record; `None` removes the record.
    pub value: Option<ValueBytes>,
}

/// A key. Nearly every key is short enough to need no heap memory.
///
/// Keys and values are made on request threads and dropped on the writer's thread, and memory that is freed on another
/// thread than it was allocated on is the most expensive kind.
pub type KeyBytes = SmallVec<[u8; 32]>;

/// A value. Nearly every value is short enough to need no heap memory.
pub type ValueBytes = SmallVec<[u8; 256]>;

impl Op {
    /// Writes `record` under `key`. `end`: Unix milliseconds, or [`NEVER`].
    #[must_use]
    pub fn put(table: Table, key: &[u8], end: u64, record: &[u8]) -> Self {
        let mut value = ValueBytes::with_capacity(END_BYTES + record.len());
        value.extend_from_slice(&end.to_be_bytes());
        value.extend_from_slice(record);
        Self { table, key: KeyBytes::from_slice(key), value: Some(value) }
    }

    /// Removes the record under `key`.
    #[must_use]
    pub fn remove(table: Table, key: &[u8]) -> Self {
        Self { table, key: KeyBytes::from_slice(key), value: None }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.key.len() + self.value.as_ref().map_or(0, SmallVec::len)) as u64
    }
}

/// Splits a stored value into its end (Unix milliseconds or [`NEVER`]) and the record. `None` if it is too short to
/// have an end.
#[must_use]
pub fn split_value(value: &[u8]) -> Option<(u64, &[u8])> {
    let (end, record) = value.split_first_chunk::<END_BYTES>()?;
    Some((u64::from_be_bytes(*end), record))
}
