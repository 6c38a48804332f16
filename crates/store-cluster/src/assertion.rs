//! Marks of used client assertions. They are in PostgreSQL, because a failover of Redis could lose them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::{ShareNumber, StoreKind};
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::grant::Slot;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::{Assertions, Use};
use symbolon_store::shard::{assertion_key, assertion_key_before};
use symbolon_store::{Outcome, StoreError};

use crate::ClusterStore;
use crate::batch::Batch;
use crate::postgres::{Postgres, column, retried};
use crate::revocation::{capped, sweep_by};
use crate::share::ShareCounts;

/// The most marks in one batch, and the most batches at a time.
const MOST: usize = 512;
const LANES: usize = 4;

/// Sets no mark for an assertion that has one under the key of earlier releases.
const MARK: &str = "
    INSERT INTO assertion_marks (key, until)
    SELECT n.key, n.until FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS n(key, until, before)
    WHERE NOT EXISTS (SELECT 1 FROM assertion_marks m WHERE m.key = n.before)
    ON CONFLICT (key) DO NOTHING RETURNING key";

const IMPORT: &str = "
    INSERT INTO assertion_marks (key, until) SELECT * FROM unnest($1::bytea[], $2::bigint[])
    ON CONFLICT (key) DO NOTHING";

const SWEEP: &str = "
    DELETE FROM assertion_marks WHERE key IN
        (SELECT key FROM assertion_marks WHERE until <= $1 ORDER BY until LIMIT $2)";

/// A mark to set: its key, its key in earlier releases, and until when it is needed.
pub(crate) struct Mark {
    key: [u8; 16],
    before: [u8; 16],
    until: u64,
    /// For whom it counts, and when it was asked for.
    counted: (ShareNumber, Timestamp),
}

/// The queue of marks to write.
pub(crate) type Marking = Batch<Mark, Use>;

pub(crate) fn start(postgres: &Arc<Postgres>, shares: &Arc<ShareCounts>) -> Marking {
    let (postgres, shares) = (Arc::clone(postgres), Arc::clone(shares));
    Batch::start("client assertions", MOST, LANES, move |marks: Vec<Mark>| {
        let (postgres, shares) = (Arc::clone(&postgres), Arc::clone(&shares));
        async move {
            let uses = set(&postgres, &marks).await?;
            // Here, because whoever asked may have given up waiting.
            for (mark, used) in marks.iter().zip(&uses) {
                if matches!(used, Ok(Use::First)) {
                    let (share, now) = mark.counted;
                    shares.count_mark(share, Timestamp::from_millis(mark.until) + KEPT_AFTER_END, now);
                }
            }
            Ok(uses)
        }
    })
}

/// Sets marks. Returns for each whether it is the first use of the assertion.
async fn set(postgres: &Postgres, marks: &[Mark]) -> Result<Vec<Result<Use, StoreError>>, StoreError> {
    // If several requests have the same key, the first of them is the first use, and the mark lasts until the latest
    // expiry of them all.
    let mut wanted: BTreeMap<&[u8], (usize, u64)> = BTreeMap::new();
    for (index, mark) in marks.iter().enumerate() {
        let (_, until) = wanted.entry(&mark.key).or_insert((index, mark.until));
        *until = mark.until.max(*until);
    }
    let (keys, untils): (Vec<&[u8]>, Vec<i64>) =
        wanted.iter().map(|(key, (_, until))| (*key, until.cast_signed())).unzip();
    let before: Vec<Option<&[u8]>> =
        wanted.values().map(|(index, _)| marks.get(*index).map(|mark| &mark.before[..])).collect();
    let set =
        || async { postgres.connection().await?.change_returning(MARK, &[&keys, &untils, &before]).await };
    let rows = retried(set).await?;
    let mut uses: Vec<_> = marks.iter().map(|_| Ok(Use::Replayed)).collect();
    for row in &rows {
        let first = wanted.get(column::<&[u8]>(row, 0)?).and_then(|(index, _)| uses.get_mut(*index));
        if let Some(first) = first {
            *first = Ok(Use::First);
        }
    }
    Ok(uses)
}

impl ClusterStore {
    /// Imports marks: the key of each, and until when it is needed.
    pub(crate) async fn import_assertions(&self, marks: &[([u8; 16], Timestamp)]) -> Result<(), StoreError> {
        if marks.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = marks.iter().map(|(key, _)| key.as_slice()).collect();
        let untils: Vec<i64> = marks.iter().map(|(_, until)| capped(*until).cast_signed()).collect();
        self.postgres.connection().await?.change(IMPORT, &[&keys, &untils]).await.map(drop)
    }

    /// Deletes a bounded number of marks that are no longer needed; returns how many.
    pub(crate) async fn sweep_assertions(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep_by(&self.postgres, SWEEP, now).await
    }
}

impl ClusterStore {
    /// Sets the mark `key`, unless it is there, or the mark `before` of earlier releases.
    async fn set_mark(
        &self,
        issuer: &IssuerId,
        (key, before): ([u8; 16], [u8; 16]),
        expires_at: Timestamp,
    ) -> Result<Outcome<Use>, StoreError> {
        let _pass = self.gate.enter()?;
        let share = self.share_of_marks(issuer).await;
        self.admit_assertion(share)?;
        let [.., high, low] = key;
        let slot = u32::from(Slot::new(u32::from_be_bytes([0, 0, high, low])).number());
        let timer = self.figures.kind(StoreKind::Assertion).start(self.counted_under(slot));
        let mark = Mark { key, before, until: capped(expires_at), counted: (share, self.now()) };
        let used = self.assertions.submit(mark).await;
        timer.finish(used.is_ok());
        used.map(Outcome::settled)
    }
}

#[async_trait]
impl Assertions for ClusterStore {
    async fn use_assertion(
        &self,
        issuer: &IssuerId,
        assertion: &AssertionUse,
    ) -> Result<Outcome<Use>, StoreError> {
        let keys = (assertion_key(assertion), assertion_key_before(issuer, assertion));
        self.set_mark(issuer, keys, assertion.expires_at).await
    }

    async fn use_proof(
        &self,
        issuer: &IssuerId,
        mark: [u8; 16],
        expires_at: Timestamp,
    ) -> Result<Outcome<Use>, StoreError> {
        // Earlier releases knew no proofs.
        self.set_mark(issuer, (mark, mark), expires_at).await
    }
}
