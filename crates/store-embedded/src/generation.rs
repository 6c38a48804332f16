//! Generations of shards: kept in the journal's `Meta` table, opened while running, dropped after their last id has
//! expired.

use async_trait::async_trait;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Shards;
use symbolon_store::shard::{Generation, Route, ShardKind, opened, without_the_dead};

use crate::journal::{Journal, NEVER, Op, Table, split_value};
use crate::sharded::Sharded;
use crate::{EmbeddedStore, decode, failed, put_record};

/// Where the generations of a kind are kept.
pub(crate) fn key(kind: ShardKind) -> Vec<u8> {
    format!("generations/{}", kind.as_str()).into_bytes()
}

/// The stored generations of a kind; none before the first start.
pub(crate) fn stored(journal: &Journal, kind: ShardKind) -> Result<Option<Vec<Generation>>, StoreError> {
    let Some(value) = journal.get(Table::Meta, &key(kind)).map_err(failed)? else { return Ok(None) };
    let (_, record) = split_value(&value).ok_or_else(|| failed("generations are cut short"))?;
    decode(record).map(Some)
}

/// The change that stores the generations of a kind.
pub(crate) fn put(kind: ShardKind, generations: &[Generation]) -> Result<Op, StoreError> {
    put_record(Table::Meta, &key(kind), NEVER, &generations)
}

impl EmbeddedStore {
    fn on_kind<R>(&self, kind: ShardKind, run: impl Run<R>) -> R {
        match kind {
            ShardKind::Code => run.on(&self.codes),
            ShardKind::Session => run.on(&self.sessions),
            ShardKind::Challenge => run.on(&self.challenges),
            ShardKind::Refresh => run.on(&self.families),
            ShardKind::Revocation => run.on(&self.revocations),
            ShardKind::Assertion => run.on(&self.assertions),
        }
    }

    /// Opens the shards of a kind: the stored generations or, at the first start, one generation with the configured
    /// number. Returns whether it is the first start.
    pub(crate) fn open_generations(
        &self,
        kind: ShardKind,
        shards: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // Also for kinds that are only in memory, such as codes: their shards are empty after a restart, so earlier ids
        // find nothing.
        let stored = stored(&self.journal, kind)?;
        let is_first_start = stored.is_none();
        let generations = match stored {
            Some(stored) => stored,
            None => {
                let (first, _) = opened(&[], shards, now);
                self.journal.append([put(kind, &first)?]);
                first
            }
        };
        self.on_kind(kind, Set(&generations));
        Ok(is_first_start)
    }

    /// Drops closed generations whose last id has expired.
    pub(crate) async fn sweep_generations(&self, now: Timestamp) -> Result<(), StoreError> {
        let _changing = self.generations_change.lock().await;
        for kind in ShardKind::ALL {
            let live = self.on_kind(kind, List);
            let kept = without_the_dead(kind, &live, now);
            if kept.len() < live.len() {
                self.journal.append([put(kind, &kept)?]);
                self.on_kind(kind, Set(&kept));
            }
        }
        Ok(())
    }
}

/// Work on the shards of a kind, whatever the type of their state.
trait Run<R> {
    fn on<T: Default>(self, sharded: &Sharded<T>) -> R;
}

struct Place;
impl Run<Route> for Place {
    fn on<T: Default>(self, sharded: &Sharded<T>) -> Route {
        sharded.place()
    }
}

struct Find<'a>(&'a IssuerId, &'a str);
impl Run<Route> for Find<'_> {
    fn on<T: Default>(self, sharded: &Sharded<T>) -> Route {
        sharded.route(self.0, self.1)
    }
}

struct List;
impl Run<Vec<Generation>> for List {
    fn on<T: Default>(self, sharded: &Sharded<T>) -> Vec<Generation> {
        sharded.generations()
    }
}

struct Set<'a>(&'a [Generation]);
impl Run<()> for Set<'_> {
    fn on<T: Default>(self, sharded: &Sharded<T>) {
        sharded.set_generations(self.0);
    }
}

#[async_trait]
impl Shards for EmbeddedStore {
    fn place(&self, kind: ShardKind) -> Route {
        self.on_kind(kind, Place)
    }

    fn route(&self, issuer: &IssuerId, kind: ShardKind, id: &str) -> Route {
        self.on_kind(kind, Find(issuer, id))
    }

    fn generations(&self, kind: ShardKind) -> Vec<Generation> {
        self.on_kind(kind, List)
    }

    async fn set_shards(
        &self,
        kind: ShardKind,
        shards: u32,
        now: Timestamp,
    ) -> Result<Generation, StoreError> {
        self.check_writable()?;
        // Only one change at a time: two at once would open the same generation.
        let _changing = self.generations_change.lock().await;
        let (list, opened) = opened(&self.on_kind(kind, List), shards, now);
        let commit = self.journal.append([put(kind, &list)?]);
        // Ids of the new generation may only be given out once a restart would know it.
        self.outcome((), commit).told().await?;
        self.on_kind(kind, Set(&list));
        Ok(opened)
    }
}
