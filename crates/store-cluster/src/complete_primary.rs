//! Whether a Redis process has every tombstone. Each tag (a group of keys that live on one primary) has a key with the run
//! id of its complete primary: of the process that is known to have all tombstones of the tag's keys.
//!
//! A primary that restarted empty, or a replica that took over before it had received everything, has another run id than
//! that key says, or lacks the key. Its answer "not revoked" is not accepted. First the rows of the table `tombstones`
//! are written to it again, then its run id is written into that key.
//!
//! These writes do not wait for a replica. They need not: the rows are durable in PostgreSQL, and a replica that takes over
//! has another run id, so it is confirmed in the same way. And they could not: right after a failover there may be no
//! replica left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_protocol::time::KEPT_AFTER_END;
use symbolon_store::StoreError;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::ClusterStore;
use crate::postgres::{Postgres, column};
use crate::redis::{Primary, Tag};
use crate::revocation::{EVERYWHERE, Marks, Reach, Row};

/// The most confirmations at a time: after a failover a third of all tags wait for one, and other work needs the
/// database too.
const AT_ONCE: usize = 8;

/// Rows that are read at a time.
const PAGE: i64 = 2_000;

/// How many times a confirmation is attempted: it fails if the primary changes meanwhile.
const TRIES: u32 = 3;

/// How long a tag that could not be confirmed is left alone before the next attempt.
const PAUSE: Duration = Duration::from_millis(250);

const ROWS: &str = "SELECT id, value, until FROM tombstones
    WHERE tag = $1 AND id > $2 AND until > $3 ORDER BY id LIMIT $4";

/// The result of a running confirmation, for which several requests may wait.
type Flight = watch::Receiver<Option<Result<(), StoreError>>>;

/// Confirms the primaries of tags, and remembers which tags are in doubt.
pub(crate) struct CompletePrimaries {
    postgres: Arc<Postgres>,
    marks: Marks,
    flights: Mutex<HashMap<Tag, Flight>>,
    doubts: Mutex<Doubts>,
    /// The number of tags in doubt, nearly always 0. Read without the lock.
    doubted: AtomicUsize,
    gate: Semaphore,
}

/// Tags that may lack what PostgreSQL has, because this node could not write it to Redis.
#[derive(Default)]
struct Doubts {
    tags: HashMap<Tag, u64>,
    last: u64,
}

impl CompletePrimaries {
    pub(crate) fn new(postgres: &Arc<Postgres>, marks: Marks) -> Arc<Self> {
        Arc::new(Self {
            postgres: Arc::clone(postgres),
            marks,
            flights: Mutex::default(),
            doubts: Mutex::default(),
            doubted: AtomicUsize::new(0),
            gate: Semaphore::new(AT_ONCE),
        })
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Whether to accept an answer that came from `primary` together with `complete`, the run id in the tag's key.
    /// False: do not accept it, but the tag has just been confirmed, so read again, once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the tag could not be confirmed within the timeout of one Redis command.
    pub(crate) async fn confirmed(
        self: &Arc<Self>,
        tag: &Tag,
        complete: Option<&[u8]>,
        primary: Primary,
    ) -> Result<bool, StoreError> {
        if complete.and_then(Primary::parse) == Some(primary) && !self.is_doubted(tag) {
            return Ok(true);
        }
        let mut flight = self.join(tag);
        let landed = timeout(self.marks.redis().timeout(), flight.wait_for(Option::is_some)).await;
        let result = landed.ok().and_then(Result::ok).and_then(|result| result.clone());
        result.unwrap_or_else(|| Err(unconfirmed(tag)))?;
        Ok(false)
    }

    /// Puts a tag in doubt: this node accepts no answer for it before it is confirmed again, which a task now attempts.
    pub(crate) fn doubt(self: &Arc<Self>, tag: &Tag) {
        let mut doubts = self.doubts.lock();
        let first = doubts.tags.is_empty();
        doubts.last += 1;
        let number = doubts.last;
        doubts.tags.insert(tag.clone(), number);
        self.doubted.store(doubts.tags.len(), Ordering::Release);
        if first {
            tokio::spawn(repair(Arc::downgrade(self)));
        }
    }

    fn is_doubted(&self, tag: &Tag) -> bool {
        self.doubted.load(Ordering::Acquire) != 0 && self.doubts.lock().tags.contains_key(tag)
    }

    fn doubt_of(&self, tag: &Tag) -> Option<u64> {
        self.doubts.lock().tags.get(tag).copied()
    }

    /// Ends a tag's doubt, unless the tag was put in doubt again meanwhile.
    fn settle(&self, tag: &Tag, doubt: Option<u64>) {
        let mut doubts = self.doubts.lock();
        if doubt.is_some() && doubts.tags.get(tag).copied() == doubt {
            doubts.tags.remove(tag);
            self.doubted.store(doubts.tags.len(), Ordering::Release);
        }
    }

    /// The running confirmation of a tag, or a new one. It is completed even if no request waits for it.
    fn join(self: &Arc<Self>, tag: &Tag) -> Flight {
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(tag)
            && flight.has_changed().is_ok()
        {
            return flight.clone();
        }
        let (landing, flight) = watch::channel(None);
        flights.insert(tag.clone(), flight.clone());
        let (complete_primaries, tag) = (Arc::clone(self), tag.clone());
        tokio::spawn(async move {
            let result = complete_primaries.confirm(&tag).await;
            complete_primaries.flights.lock().remove(&tag);
            let _ = landing.send(Some(result));
        });
        flight
    }

    async fn confirm(&self, tag: &Tag) -> Result<(), StoreError> {
        let _turn = self.gate.acquire().await.map_err(|_| unconfirmed(tag))?;
        for _ in 0..TRIES {
            let doubt = self.doubt_of(tag);
            if self.write_again(tag).await? {
                self.settle(tag, doubt);
                return Ok(());
            }
        }
        Err(unconfirmed(tag))
    }

    /// Writes all tombstones of a tag to its primary again. False: the primary changed meanwhile.
    async fn write_again(&self, tag: &Tag) -> Result<bool, StoreError> {
        let (redis, complete) = (self.marks.redis(), tag.complete_primary());
        let primary = redis.ask(redis::cmd("GET").arg(complete.as_bytes())).await?.primary;
        // A row that PostgreSQL gets from here on is written to Redis by the node that inserts it.
        let mut written = 0;
        for source in [tag.name(), EVERYWHERE] {
            if source == EVERYWHERE && !tag.is_slot() {
                continue;
            }
            let mut after = String::new();
            loop {
                let rows = self.page(source, &after).await?;
                let Some(last) = rows.last() else { break };
                after.clone_from(&last.id);
                let rows: Vec<&Row> = rows.iter().collect();
                let by = self.marks.put(tag, &rows, Reach::Primary).await?;
                if by.iter().any(|by| *by != primary) {
                    return Ok(false);
                }
                written += rows.len();
            }
        }
        let mut set = redis::cmd("SET");
        set.arg(complete.as_bytes()).arg(primary.to_string());
        if redis.ask(&set).await?.primary != primary {
            return Ok(false);
        }
        tracing::debug!(target: "symbolon::store", tag = tag.as_str(), written, "a tag of Redis was confirmed");
        Ok(true)
    }

    /// The next rows of a tag that are still needed.
    async fn page(&self, tag: &str, after: &str) -> Result<Vec<Row>, StoreError> {
        let needed = self.marks.now() - KEPT_AFTER_END;
        let needed = i64::try_from(needed.millis()).unwrap_or(i64::MAX);
        let connection = self.postgres.connection().await?;
        let rows = connection.all(ROWS, &[&tag, &after, &needed, &PAGE]).await?;
        rows.iter()
            .map(|row| {
                let (value, until): (i64, i64) = (column(row, 1)?, column(row, 2)?);
                let (value, until) = (value.cast_unsigned(), until.cast_unsigned());
                Ok(Row { tag: tag.to_owned(), id: column(row, 0)?, value, until })
            })
            .collect()
    }
}

/// The error for a tag that is not confirmed.
pub(crate) fn unconfirmed(tag: &Tag) -> StoreError {
    StoreError::Unavailable(format!("what ended in {} is not confirmed", tag.as_str()))
}

/// Confirms the tags in doubt, repeatedly, until none is left.
async fn repair(complete_primaries: Weak<CompletePrimaries>) {
    loop {
        let Some(complete_primaries) = complete_primaries.upgrade() else { return };
        let tags: Vec<Tag> = complete_primaries.doubts.lock().tags.keys().cloned().collect();
        if tags.is_empty() {
            return;
        }
        for mut flight in tags.iter().map(|tag| complete_primaries.join(tag)).collect::<Vec<_>>() {
            let _ = flight.wait_for(Option::is_some).await;
        }
        let settled = complete_primaries.doubts.lock().tags.is_empty();
        drop(complete_primaries);
        if !settled {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl ClusterStore {
    /// Whether to accept an answer of Redis; see [`CompletePrimaries::confirmed`].
    pub(crate) async fn confirmed(
        &self,
        tag: &Tag,
        complete: Option<&[u8]>,
        primary: Primary,
    ) -> Result<bool, StoreError> {
        self.complete_primaries.confirmed(tag, complete, primary).await
    }
}
