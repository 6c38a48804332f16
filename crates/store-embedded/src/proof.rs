//! Marks of DPoP proofs that were used (RFC 9449 11.1). They are in memory beside those of [assertions](crate::assertion), and no
//! request waits for the disk.
//!
//! When the store is closed or moved, its marks are written down, and a note says so. Whoever opens it takes the note away,
//! durably, before the first proof is used. So where there is none the process was killed, and what it had in memory is gone:
//! then the store [says](symbolon_store::port::Store::forgets_proofs_until) up to when it does not know what was used, and stays
//! with that for as long as it lives.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use crate::journal::{CommitNumber, NEVER, Op, Table, split_value};
use crate::{EmbeddedStore, decode, failed, put_record};

/// Key of the note in [`Table::Meta`]. It has the moment of the last forgetting, if there was one.
const KEY: &[u8] = b"proofs";

/// What the store knows about the proofs of earlier processes.
#[derive(Default)]
pub(crate) struct Proofs {
    /// No more are used, because the marks are written down.
    closed: AtomicBool,
    begun: OnceLock<Begun>,
}

struct Begun {
    forgets_until: Option<Timestamp>,
    /// The commit from which on the next start sees no note, and no new store.
    commit: CommitNumber,
}

impl Proofs {
    /// Refuses a proof once the marks are being written down.
    pub(crate) fn check_open(&self) -> Result<(), StoreError> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(StoreError::Unavailable("the store is being closed".into())),
            false => Ok(()),
        }
    }

    /// The commit on which every use of a proof rests: before it is durable, a crash would leave the note of a clean end.
    pub(crate) fn begun(&self) -> Result<CommitNumber, StoreError> {
        let unread = || StoreError::Unavailable("the journal is being read".into());
        self.begun.get().map(|begun| begun.commit).ok_or_else(unread)
    }

    pub(crate) fn forgets_until(&self) -> Option<Timestamp> {
        self.begun.get()?.forgets_until
    }
}

impl EmbeddedStore {
    /// Takes the note away. `now`: the moment up to which proofs are forgotten if there is none; `None` at the first start of all.
    pub(crate) fn begin_proofs(&self, now: Option<Timestamp>) -> Result<(), StoreError> {
        let (forgets_until, commit) = match self.journal.get(Table::Meta, KEY).map_err(failed)? {
            // What was appended at the first start tells the next one that it is not the first.
            None => (now, self.journal.youngest()),
            Some(note) => {
                let (_, record) = split_value(&note)
                    .ok_or_else(|| StoreError::Failed("the note about proofs is cut short".into()))?;
                (decode(record)?, self.journal.append([Op::remove(Table::Meta, KEY)]))
            }
        };
        self.proofs.begun.get_or_init(|| Begun { forgets_until, commit });
        Ok(())
    }

    /// Writes the marks of proofs down, and then that this was done. From now on no proof is used.
    pub(crate) async fn write_proofs_down(&self) -> Result<(), StoreError> {
        // Nothing was loaded, and nothing used.
        let Some(begun) = self.proofs.begun.get() else { return Ok(()) };
        self.proofs.closed.store(true, Ordering::Release);
        self.write_marks_down().await;
        self.journal.append([put_record(Table::Meta, KEY, NEVER, &begun.forgets_until)?]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use symbolon_protocol::id::IssuerId;
    use symbolon_store::Store;
    use symbolon_store::port::{Assertions, Use};
    use symbolon_store::transfer::Freeze;

    use super::*;
    use crate::open::tests::options;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const MARK: [u8; 16] = [7; 16];

    async fn used(store: &EmbeddedStore, mark: [u8; 16]) -> Use {
        let end = NOW + Duration::from_secs(330);
        let outcome = store.use_proof(&IssuerId::default_issuer(), mark, end).await.unwrap();
        outcome.told().await.unwrap()
    }

    #[tokio::test]
    async fn a_clean_end_remembers_and_any_other_one_is_known() {
        let home = tempfile::tempdir().unwrap();
        let open = || EmbeddedStore::open(options(home.path())).unwrap();
        let store = open();
        assert_eq!(used(&store, MARK).await, Use::First);
        assert_eq!(store.forgets_proofs_until(), None, "nobody has used a proof before");
        store.close().await.unwrap();
        assert!(store.use_proof(&IssuerId::default_issuer(), [8; 16], NOW).await.is_err());
        drop(store);

        let store = open();
        assert_eq!(store.forgets_proofs_until(), None);
        assert_eq!(used(&store, MARK).await, Use::Replayed);
        assert_eq!(used(&store, [8; 16]).await, Use::First);
        drop(store);

        let store = open();
        assert_eq!(store.forgets_proofs_until(), Some(NOW), "it was not closed");
        assert_eq!(used(&store, MARK).await, Use::Replayed, "written down before");
        store.close().await.unwrap();
        drop(store);
        assert_eq!(open().forgets_proofs_until(), Some(NOW), "a clean end brings nothing back");
    }

    #[tokio::test]
    async fn a_store_that_is_moved_takes_its_marks_along() {
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(home.path())).unwrap();
        assert_eq!(used(&store, MARK).await, Use::First);
        assert!(store.journal.get(Table::AssertionMarks, &MARK).unwrap().is_none());
        store.freeze(Freeze::Migrating).await.unwrap();
        assert!(store.journal.get(Table::AssertionMarks, &MARK).unwrap().is_some());
        assert!(store.use_proof(&IssuerId::default_issuer(), [8; 16], NOW).await.is_err());
    }
}
