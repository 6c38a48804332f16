//! A session in memory, kept small because there are millions of them.

use std::sync::Arc;

use parking_lot::RwLock;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::session::{Session, USE_WRITTEN_EVERY};
use symbolon_protocol::time::Timestamp;

use crate::resident::Ends;

/// A session in memory: two words.
pub(crate) struct Live {
    pub(super) session: Arc<Session>,
    pub(super) issuer: IssuerNumber,
    /// The last use that counts, in seconds, rounded up: the last one that was written, or that was due to be written while the
    /// store took no writes. The number suffices until 2106.
    counted_use: u32,
}

impl Ends for Live {
    fn ends_at(&self) -> Timestamp {
        self.session.ends_at(self.counted_use())
    }
}

impl Live {
    pub(super) fn new(issuer: IssuerNumber, session: Session, used_at: Timestamp) -> Self {
        Self { session: Arc::new(session), issuer, counted_use: rounded_up(used_at) }
    }

    /// The last use that counts.
    pub(super) fn counted_use(&self) -> Timestamp {
        Timestamp::from_seconds(self.counted_use.into())
    }

    /// Whether a use is to be written.
    pub(super) fn use_is_due(&self, now: Timestamp) -> bool {
        now >= self.counted_use() + USE_WRITTEN_EVERY
    }

    /// Has a use count.
    pub(super) fn count_use(&mut self, now: Timestamp) {
        self.counted_use = rounded_up(now);
    }
}

/// A use as it counts, in memory and on the disk: in whole seconds, rounded up.
pub(super) fn as_it_counts(used_at: Timestamp) -> Timestamp {
    Timestamp::from_seconds(rounded_up(used_at).into())
}

fn rounded_up(at: Timestamp) -> u32 {
    u32::try_from(at.millis().div_ceil(1_000)).unwrap_or(u32::MAX)
}

/// A small number that stands for an issuer in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IssuerNumber(u32);

/// The issuers of the sessions in memory, numbered in the order in which they are first seen. A session's issuer is
/// compared only when its key comes from a `sid`: a `sid` can be forged, and so name another issuer's session.
#[derive(Default)]
pub(crate) struct SessionIssuers(RwLock<Vec<IssuerId>>);

impl SessionIssuers {
    /// The number of an issuer, found by a linear search: issuers are few, and the number is needed only when a session
    /// begins, is loaded from the disk, is found by its `sid`, or ends.
    pub(super) fn number(&self, issuer: &IssuerId) -> IssuerNumber {
        let known = Self::find(&self.0.read(), issuer);
        known.unwrap_or_else(|| {
            let mut issuers = self.0.write();
            Self::find(&issuers, issuer).unwrap_or_else(|| {
                issuers.push(issuer.clone());
                IssuerNumber(issuers.len() as u32 - 1)
            })
        })
    }

    fn find(issuers: &[IssuerId], issuer: &IssuerId) -> Option<IssuerNumber> {
        issuers.iter().zip(0..).find(|(known, _)| *known == issuer).map(|(_, number)| IssuerNumber(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_has_one_number() {
        let issuers = SessionIssuers::default();
        let (one, two) = (IssuerId::parse("one").unwrap(), IssuerId::parse("two").unwrap());
        assert_ne!(issuers.number(&one), issuers.number(&two));
        assert_eq!(issuers.number(&one), issuers.number(&one));
        assert_eq!(issuers.number(&two), issuers.number(&two));
    }

    #[test]
    fn a_session_in_memory_is_small() {
        assert_eq!(size_of::<Option<Live>>(), 16);
    }
}
