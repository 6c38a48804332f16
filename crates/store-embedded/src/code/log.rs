//! A queue of entries in the order of arrival, in pieces of memory that are allocated and freed as a whole.
//!
//! One allocation for each entry would cost time when it is made, when the entry is read a minute later among millions
//! of others, and when it is freed. Here an entry is copied to the end of the last piece.

use std::collections::VecDeque;

use smallvec::SmallVec;
use symbolon_figures::ShareNumber;
use symbolon_protocol::time::Timestamp;

use crate::sharded::Key;

/// Bytes of a piece; more if a single entry needs more.
const PIECE: usize = 16 << 10;

/// Key, due time in milliseconds, whether it was used, whose share it counts for, length of the grant.
const HEADER: usize = 16 + 8 + 1 + 2 + 4;

/// Offset in an entry of the byte that says whether it was used.
const USED: usize = 16 + 8;

/// How many bytes are copied at first: most entries are shorter.
const USUAL: usize = 448;

/// A copy of an entry, and of the bytes that follow it.
///
/// An entry that was not touched for a while is in no CPU cache. Read field by field, the next cache line would be
/// fetched only when the length in the line before is known; a copy fetches all lines at once.
#[derive(Default)]
pub(super) struct Copied(SmallVec<[u8; USUAL]>);

impl Copied {
    /// The entry.
    pub(super) fn entry(&self) -> Option<LogEntry<'_>> {
        LogEntry::read(&self.0)
    }
}

/// The place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogPlace {
    piece: u64,
    /// Less than [`PIECE`]: a longer entry has a piece of its own.
    offset: u16,
}

impl LogPlace {
    /// The place in 64 bits, which is enough for 2^48 pieces.
    pub(super) fn number(self) -> u64 {
        self.piece << 16 | u64::from(self.offset)
    }

    pub(super) fn of_number(number: u64) -> Self {
        let [low, high, ..] = number.to_le_bytes();
        Self { piece: number >> 16, offset: u16::from_le_bytes([low, high]) }
    }
}

/// One entry.
pub(super) struct LogEntry<'a> {
    /// The key of the code.
    pub(super) key: Key,
    /// When the code expires or, if it is remembered beyond that, when it may be forgotten.
    pub(super) due: Timestamp,
    /// Whether it was used.
    pub(super) used: bool,
    /// The issuer for which it counts.
    pub(super) share: ShareNumber,
    /// The serialized grant.
    pub(super) grant: &'a [u8],
}

impl<'a> LogEntry<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk::<16>()?;
        let (due, rest) = rest.split_first_chunk::<8>()?;
        let (used, rest) = rest.split_first()?;
        let (share, rest) = rest.split_first_chunk::<2>()?;
        let share = ShareNumber::of_u16(u16::from_le_bytes(*share));
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let due = Timestamp::from_millis(u64::from_le_bytes(*due));
        Some(Self { key: *key, due, used: *used != 0, share, grant: rest.get(..length)? })
    }

    pub(super) fn bytes(&self) -> usize {
        bytes_with(self.grant)
    }
}

/// The bytes of an entry with a grant.
pub(super) fn bytes_with(grant: &[u8]) -> usize {
    HEADER + grant.len()
}

/// A queue whose entries can be read at any place.
#[derive(Default)]
pub(super) struct Log {
    pieces: VecDeque<Vec<u8>>,
    /// The number of the first piece.
    first: u64,
    /// Offset of the oldest entry in the first piece.
    oldest: usize,
    /// The memory of all pieces.
    bytes: usize,
}

impl Log {
    /// Adds an entry at the end.
    pub(super) fn append(&mut self, key: &Key, due: Timestamp, share: ShareNumber, grant: &[u8]) -> LogPlace {
        let bytes = bytes_with(grant);
        if self.pieces.back().is_none_or(|piece| piece.len() + bytes > PIECE) {
            let piece = Vec::with_capacity(bytes.max(PIECE));
            self.bytes += piece.capacity();
            self.pieces.push_back(piece);
        }
        let piece = self.first + self.pieces.len() as u64 - 1;
        let Some(last) = self.pieces.back_mut() else { return LogPlace { piece, offset: 0 } };
        let offset = u16::try_from(last.len()).unwrap_or(u16::MAX);
        last.extend_from_slice(key);
        last.extend_from_slice(&due.millis().to_le_bytes());
        last.push(0);
        last.extend_from_slice(&share.to_u16().to_le_bytes());
        last.extend_from_slice(&u32::try_from(grant.len()).unwrap_or(u32::MAX).to_le_bytes());
        last.extend_from_slice(grant);
        LogPlace { piece, offset }
    }

    /// The entry at a place that [`append`](Self::append) returned, unless it was forgotten. Any other place gives
    /// `None` or meaningless bytes, so the caller has to compare the key.
    pub(super) fn get(&self, place: LogPlace) -> Option<LogEntry<'_>> {
        LogEntry::read(self.bytes_at(place)?)
    }

    /// All bytes of a piece from a place on; `None` if the entry there was forgotten.
    fn bytes_at(&self, place: LogPlace) -> Option<&[u8]> {
        let index = usize::try_from(place.piece.checked_sub(self.first)?).ok()?;
        let offset = usize::from(place.offset);
        if index == 0 && offset < self.oldest {
            return None;
        }
        self.pieces.get(index)?.get(offset..)
    }

    /// Copies the entry at a place, as [`get`](Self::get) would return it. Fills the caller's buffer, because returning
    /// the copy would move it and so copy it again.
    pub(super) fn copy(&self, place: LogPlace, copied: &mut Copied) {
        copied.0.clear();
        let Some(bytes) = self.bytes_at(place) else { return };
        copied.0.extend_from_slice(bytes.get(..USUAL).unwrap_or(bytes));
        if copied.entry().is_none()
            && let Some(entry) = LogEntry::read(bytes)
        {
            copied.0.extend_from_slice(bytes.get(USUAL..entry.bytes()).unwrap_or_default());
        }
    }

    /// Marks the entry at a place that [`append`](Self::append) returned as used, unless its piece is gone.
    pub(super) fn mark_used(&mut self, place: LogPlace) {
        let index = place.piece.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let piece = index.and_then(|index| self.pieces.get_mut(index));
        if let Some(used) = piece.and_then(|piece| piece.get_mut(usize::from(place.offset) + USED)) {
            *used = 1;
        }
    }

    /// The oldest entry that was not forgotten.
    pub(super) fn oldest(&self) -> Option<LogEntry<'_>> {
        LogEntry::read(self.pieces.front()?.get(self.oldest..)?)
    }

    /// Forgets the oldest entry. Its memory is freed with its whole piece.
    pub(super) fn forget_oldest(&mut self) {
        let Some(entry) = self.oldest() else { return };
        self.oldest += entry.bytes();
        if self.pieces.front().is_some_and(|piece| self.oldest >= piece.len()) {
            let gone = self.pieces.pop_front();
            self.bytes -= gone.map_or(0, |piece| piece.capacity());
            self.first += 1;
            self.oldest = 0;
        }
    }

    /// The memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_all_sizes_are_found_where_they_were_put_until_they_are_forgotten() {
        let mut log = Log::default();
        let mut copied = Copied::default();
        let sizes = [0, 1, 300, PIECE - HEADER, 5_000, PIECE, 100_000, 7, 60_000];
        for round in 0..50_u64 {
            let entries: Vec<(LogPlace, Vec<u8>)> = sizes
                .iter()
                .map(|size| {
                    let grant = vec![u8::try_from(round).unwrap(); *size];
                    let share = ShareNumber::of_u16(u16::try_from(round).unwrap());
                    (log.append(&[9; 16], Timestamp::from_millis(round), share, &grant), grant)
                })
                .collect();
            for (at, (place, grant)) in entries.iter().enumerate() {
                assert_eq!(LogPlace::of_number(place.number()), *place);
                if at % 2 == 0 {
                    log.mark_used(*place);
                }
                assert_eq!(log.get(*place).unwrap().used, at % 2 == 0);
                let entry = log.get(*place).unwrap();
                assert_eq!(u64::from(entry.share.to_u16()), round);
                assert_eq!((entry.key, entry.due.millis(), entry.grant), ([9; 16], round, grant.as_slice()));
                log.copy(*place, &mut copied);
                assert_eq!(copied.entry().unwrap().grant, grant.as_slice());
            }
            // One stays, so that rounds overlap.
            for _ in 0..sizes.len() - usize::from(round == 0) {
                log.forget_oldest();
            }
            assert_eq!(log.oldest().unwrap().grant.len(), 60_000);
            assert!(log.bytes() < 200_000, "{} bytes are held for one entry", log.bytes());
            assert!(log.get(entries[0].0).is_none());
        }
    }
}
