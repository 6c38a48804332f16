//! Writes tombstones and ends of sessions: to PostgreSQL first, then to Redis.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use futures_util::{StreamExt, stream};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use tokio::task::JoinError;

use super::marks::Reach;
use super::row::{EVERYWHERE, Row};
use crate::batch::Batch;
use crate::complete_primary::CompletePrimaries;
use crate::postgres::{Postgres, retried};
use crate::redis::Tag;

/// The most requests in one batch, and the most batches at a time.
const MOST: usize = 512;
const LANES: usize = 4;

/// The most rows in one statement.
const ROWS: usize = 2_000;

/// Tags that one request writes at a time: an issuer's tombstone goes to every slot.
const TAGS_AT_ONCE: usize = 256;

/// How many rows one statement of a sweep deletes, and how many statements one sweep runs at most.
pub(crate) const SWEPT_AT_ONCE: i64 = 1_000;
pub(crate) const SWEEPS: u32 = 10;

/// A second tombstone of the same target can only raise `value` and `until`.
const WRITE: &str = "
    INSERT INTO tombstones (tag, id, value, until)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
    ON CONFLICT (tag, id) DO UPDATE SET
        value = greatest(tombstones.value, excluded.value), until = greatest(tombstones.until, excluded.until)
    WHERE tombstones.value < excluded.value OR tombstones.until < excluded.until";

const SWEEP: &str = "
    DELETE FROM tombstones WHERE until <= $1 AND (tag, id) IN
        (SELECT tag, id FROM tombstones WHERE until <= $1 ORDER BY until LIMIT $2)";

/// A write to Redis for which several requests may wait. It is completed even if none does.
pub(crate) type Applied = Shared<BoxFuture<'static, Result<(), StoreError>>>;

/// Writes tombstones and ends of sessions.
pub(crate) struct Tombstones {
    postgres: Arc<Postgres>,
    complete_primaries: Arc<CompletePrimaries>,
    batch: Batch<Arc<[Row]>, ()>,
}

impl Tombstones {
    pub(crate) fn start(postgres: &Arc<Postgres>, complete_primaries: &Arc<CompletePrimaries>) -> Arc<Self> {
        let database = Arc::clone(postgres);
        let batch = Batch::start("revocations", MOST, LANES, move |requests: Vec<Arc<[Row]>>| {
            let database = Arc::clone(&database);
            async move {
                write(&database, &requests).await?;
                Ok(requests.iter().map(|_| Ok(())).collect())
            }
        });
        Arc::new(Self {
            postgres: Arc::clone(postgres),
            complete_primaries: Arc::clone(complete_primaries),
            batch,
        })
    }

    /// Writes tombstones to PostgreSQL alone, for an import: afterwards every slot must be confirmed before an answer
    /// of Redis is accepted.
    pub(crate) async fn put_down(&self, tombstones: &[(IssuerId, Tombstone)]) -> Result<(), StoreError> {
        let rows: Arc<[Row]> =
            tombstones.iter().map(|(issuer, tombstone)| Row::of(issuer, tombstone)).collect();
        write(&self.postgres, &[rows]).await
    }

    /// Writes rows to both engines. The write is completed even if the caller gives up.
    pub(crate) async fn bury(self: &Arc<Self>, rows: Vec<Row>) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let (all, rows): (_, Arc<[Row]>) = (Arc::clone(self), rows.into());
        tokio::spawn(async move { all.bury_here(rows).await }).await.map_err(closed)?
    }

    /// As [`bury`](Self::bury), for a task that is never cancelled. The end of a session's record is written to
    /// PostgreSQL alone: the caller ends the record in Redis, and learns from the answer whether it is the first to do
    /// so.
    pub(crate) async fn bury_here(&self, rows: Arc<[Row]>) -> Result<(), StoreError> {
        self.batch.submit(Arc::clone(&rows)).await?;
        let applied = self.apply(&rows).await;
        if applied.is_err() {
            // PostgreSQL has the ends of sessions too, but the caller stops here and does not write them to Redis.
            let tags = self.complete_primaries.marks().redis().tags();
            rows.iter()
                .filter(|row| row.is_session())
                .for_each(|row| self.complete_primaries.doubt(&tags.named(&row.tag)));
        }
        applied
    }

    /// Starts to write a row to Redis that PostgreSQL already has.
    pub(crate) fn applied(self: &Arc<Self>, row: Row) -> Applied {
        let all = Arc::clone(self);
        let applying = tokio::spawn(async move { all.apply(&[row]).await });
        applying.map(move |done| done.map_err(closed)?).boxed().shared()
    }

    /// Writes rows to Redis that PostgreSQL already has, without those of sessions' records.
    async fn apply(&self, rows: &[Row]) -> Result<(), StoreError> {
        let mut of_tag: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.is_session()) {
            of_tag.entry(&row.tag).or_default().push(row);
        }
        let everywhere = of_tag.remove(EVERYWHERE).unwrap_or_default();
        let tags = self.complete_primaries.marks().redis().tags();
        let slots = tags.slots().iter().filter(|_| !everywhere.is_empty());
        let in_slots = slots.map(|slot| (slot.clone(), everywhere.clone()));
        let writes: Vec<(Tag, Vec<&Row>)> =
            of_tag.into_iter().map(|(name, rows)| (tags.named(name), rows)).chain(in_slots).collect();
        let writes: Vec<_> = writes.iter().map(|(tag, rows)| self.apply_to(tag, rows)).collect();
        let results: Vec<_> = stream::iter(writes).buffer_unordered(TAGS_AT_ONCE).collect().await;
        results.into_iter().collect()
    }

    async fn apply_to(&self, tag: &Tag, rows: &[&Row]) -> Result<(), StoreError> {
        let written = self.complete_primaries.marks().put(tag, rows, Reach::Replica).await;
        if written.is_err() {
            // PostgreSQL has the rows, and Redis may lack them: this node accepts no answer for the tag until it is
            // confirmed.
            self.complete_primaries.doubt(tag);
        }
        written.map(|_| ())
    }

    /// Deletes a bounded number of rows that are no longer needed; returns how many.
    pub(crate) async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep_by(&self.postgres, SWEEP, now).await
    }
}

/// The error for a task that did not run to its end.
pub(crate) fn closed(_: JoinError) -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// Writes the rows of several requests, in the same order on every node, so that nodes rarely wait for each other.
async fn write(postgres: &Postgres, requests: &[Arc<[Row]>]) -> Result<(), StoreError> {
    let mut strongest: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for row in requests.iter().flat_map(|rows| rows.iter()) {
        match strongest.entry((&row.tag, &row.id)) {
            Entry::Vacant(entry) => {
                entry.insert((row.value, row.until));
            }
            Entry::Occupied(mut entry) => {
                let (value, until) = entry.get_mut();
                (*value, *until) = ((*value).max(row.value), (*until).max(row.until));
            }
        }
    }
    let rows: Vec<_> = strongest.into_iter().collect();
    for piece in rows.chunks(ROWS) {
        let (tags, ids): (Vec<&str>, Vec<&str>) = piece.iter().map(|(name, _)| *name).unzip();
        let (values, untils): (Vec<i64>, Vec<i64>) =
            piece.iter().map(|(_, (value, until))| (value.cast_signed(), until.cast_signed())).unzip();
        retried(|| async {
            postgres.connection().await?.change(WRITE, &[&tags, &ids, &values, &untils]).await
        })
        .await?;
    }
    Ok(())
}

/// Runs a statement that deletes at most `$2` rows which ended by `$1`, until no such rows are left or it has run
/// [`SWEEPS`] times. Returns how many rows were deleted.
pub(crate) async fn sweep_by(postgres: &Postgres, sql: &str, now: Timestamp) -> Result<u64, StoreError> {
    let ended = i64::try_from((now - KEPT_AFTER_END).millis()).unwrap_or(i64::MAX);
    let mut gone = 0;
    for _ in 0..SWEEPS {
        let piece =
            retried(|| async { postgres.connection().await?.change(sql, &[&ended, &SWEPT_AT_ONCE]).await })
                .await?;
        gone += piece;
        if piece < SWEPT_AT_ONCE.cast_unsigned() {
            break;
        }
    }
    Ok(gone)
}
