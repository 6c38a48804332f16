//! Refresh-token families: rows of PostgreSQL, each with a revision that every update checks.

mod chain;
mod lane;
mod listing;
mod table;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use symbolon_figures::{OperationTimer, StoreKind};
use symbolon_protocol::family::{Family, FamilyId, Rotation, RotationRequest};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::{Created, FamilyCursor, NextFamilies, RefreshTokens};
use symbolon_store::shard::{families_key, family_key};
use symbolon_store::{Outcome, StoreError};

use crate::ClusterStore;
use crate::batch::Batch;
use crate::postgres::Postgres;
use crate::revocation::{Tombstones, capped};
use chain::{Answer, Ask, Stored};
use lane::{Done, Job, Lanes};
use table::{Key, New, Seen, Table};

/// The most look-ups or new families in one batch, and the most batches at a time.
const MOST: usize = 512;
const AT_ONCE: usize = 2;

/// How many families that were read are kept for the rotation that may follow.
const MOST_SEEN: usize = 4_096;

/// Families in one statement of a bulk creation.
const BULK: usize = 1_000;

/// Rows in one piece of the table, and pieces in one sweep.
const PIECE: i64 = 2_000;
const PIECES: u32 = 10;

/// A new family.
struct Begin {
    key: Key,
    /// The key of its user's list.
    owner: Key,
    family: Arc<Family>,
}

impl Begin {
    fn of(issuer: &IssuerId, id: &FamilyId, family: Arc<Family>) -> Self {
        Self { key: family_key(issuer, id), owner: families_key(issuer, &family.user), family }
    }

    fn new_row(&self) -> New<'_> {
        New { key: &self.key, owner: Some(&self.owner), family: &self.family }
    }
}

/// The table of families, and the queues of requests to it.
pub(crate) struct Families {
    table: Table,
    looks: Batch<Key, Option<Seen>>,
    begins: Batch<Begin, Created>,
    lanes: Lanes,
    /// Families as look-ups have read them, for the rotations that follow. They may be out of date: an update that is
    /// based on one must check the revision.
    seen: Cache<Key, Seen>,
    /// Where the last sweep stopped.
    swept: Mutex<Option<Key>>,
    lists_swept: listing::Swept,
}

impl Families {
    pub(crate) fn start(postgres: &Arc<Postgres>, tombstones: &Arc<Tombstones>) -> Self {
        let table = Table::new(postgres);
        let of_looks = table.clone();
        let looks = Batch::start("refresh tokens", MOST, AT_ONCE, move |keys: Vec<Key>| {
            let table = of_looks.clone();
            async move {
                let found = table.read(&keys.iter().collect::<Vec<_>>()).await?;
                Ok(keys.iter().map(|key| found.get(key).cloned().transpose()).collect())
            }
        });
        let of_begins = table.clone();
        let begins = Batch::start("new refresh tokens", MOST, AT_ONCE, move |begins: Vec<Begin>| {
            let table = of_begins.clone();
            async move { begin(&table, &begins).await }
        });
        let lanes = Lanes::start(postgres, tombstones);
        Self {
            table,
            looks,
            begins,
            lanes,
            seen: Cache::new(MOST_SEEN),
            swept: Mutex::default(),
            lists_swept: Mutex::default(),
        }
    }
}

/// Begins families. If several have the same key, the first one is begun.
async fn begin(table: &Table, begins: &[Begin]) -> Result<Vec<Result<Created, StoreError>>, StoreError> {
    let mut first: HashMap<&Key, (usize, &Begin)> = HashMap::with_capacity(begins.len());
    for (index, begin) in begins.iter().enumerate() {
        first.entry(&begin.key).or_insert((index, begin));
    }
    let mut families: Vec<_> = first.values().map(|(_, begin)| begin.new_row()).collect();
    let begun = table.insert(&mut families).await?;
    let created = |(index, Begin { key, .. }): (usize, &Begin)| {
        let is_first = first.get(key).is_some_and(|(first, _)| *first == index);
        Ok(if is_first && begun.contains(key) { Created::Created } else { Created::Exists })
    };
    Ok(begins.iter().enumerate().map(created).collect())
}

/// The family of a document of the table, if it has not ended.
pub(crate) fn live(document: &str) -> Result<Option<Family>, StoreError> {
    match crate::from_document(document)? {
        Stored::Live(family) => Ok(Some(Arc::unwrap_or_clone(family))),
        Stored::Ended(_) => Ok(None),
    }
}

impl ClusterStore {
    fn family_timer(&self, id: &FamilyId) -> OperationTimer<'_> {
        let shard = if id.generation == 0 { self.counted_under(id.shard) } else { id.shard };
        self.figures.kind(StoreKind::Refresh).start(shard)
    }

    async fn look_at_family(&self, key: Key) -> Result<Option<Arc<Family>>, StoreError> {
        match self.families.looks.submit(key).await? {
            None => Ok(None),
            Some(Seen { stored: Stored::Ended(row), .. }) => {
                // The node that ended the family may have crashed before it wrote the tombstone to Redis.
                self.tombstones.applied(row).await?;
                Ok(None)
            }
            Some(Seen { revision, stored: Stored::Live(family) }) => {
                let seen = Seen { revision, stored: Stored::Live(Arc::clone(&family)) };
                self.families.seen.insert(key, seen);
                Ok(Some(family))
            }
        }
    }

    async fn change_family(&self, issuer: &IssuerId, id: &FamilyId, ask: Ask) -> Result<Answer, StoreError> {
        let key = family_key(issuer, id);
        let seen = self.families.seen.remove(&key).map(|(_, seen)| seen);
        let job = Job { key, issuer: issuer.clone(), ask, seen };
        let Done { answer, applied } = self.families.lanes.submit(job).await?;
        if let Some(applied) = applied {
            applied.await?;
        }
        Ok(answer)
    }

    async fn begin_many(
        &self,
        issuer: &IssuerId,
        families: Vec<(FamilyId, Family)>,
    ) -> Result<(), StoreError> {
        let begins: Vec<Begin> =
            families.into_iter().map(|(id, family)| Begin::of(issuer, &id, Arc::new(family))).collect();
        let pieces: Vec<_> = begins.chunks(BULK).map(|piece| begin(&self.families.table, piece)).collect();
        stream::iter(pieces).buffer_unordered(AT_ONCE).try_for_each(async |_| Ok(())).await
    }

    /// Imports families, whose keys must be free. They are not in their users' lists yet.
    pub(crate) async fn import_families(&self, families: Vec<(Key, Arc<Family>)>) -> Result<(), StoreError> {
        for piece in families.chunks(BULK) {
            let mut rows: Vec<_> =
                piece.iter().map(|(key, family)| New { key, owner: None, family }).collect();
            if self.families.table.insert(&mut rows).await?.len() < rows.len() {
                return Err(StoreError::Failed("a refresh-token family came twice".into()));
            }
        }
        Ok(())
    }

    /// Deletes families that ended more than 15 minutes ago, and list entries without a family, in the next pieces of
    /// the tables; returns how many.
    pub(crate) async fn sweep_families(&self, now: Timestamp) -> Result<u64, StoreError> {
        let ended = capped(now - KEPT_AFTER_END).cast_signed();
        let mut gone = 0;
        for _ in 0..PIECES {
            let after = *self.families.swept.lock();
            let after = after.as_ref().map_or(&[][..], |key| key);
            let (of_piece, last) = self.families.table.sweep(after, PIECE, ended).await?;
            *self.families.swept.lock() = last;
            gone += of_piece;
            if last.is_none() {
                break;
            }
        }
        Ok(gone + self.sweep_lists().await?)
    }
}

#[async_trait]
impl RefreshTokens for ClusterStore {
    async fn begin_family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        family: Arc<Family>,
    ) -> Result<Outcome<Created>, StoreError> {
        let _pass = self.gate.enter()?;
        let timer = self.family_timer(id);
        let begin = Begin::of(issuer, id, family);
        let created = self.families.begins.submit(begin).await;
        timer.finish(created.is_ok());
        created.map(Outcome::settled)
    }

    async fn begin_families(
        &self,
        issuer: &IssuerId,
        families: Vec<(FamilyId, Family)>,
    ) -> Result<Outcome<()>, StoreError> {
        let _pass = self.gate.enter()?;
        let Some((first, _)) = families.first() else { return Ok(Outcome::settled(())) };
        let timer = self.family_timer(first);
        let begun = self.begin_many(issuer, families).await;
        timer.finish(begun.is_ok());
        begun.map(Outcome::settled)
    }

    async fn family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
    ) -> Result<Outcome<Option<Arc<Family>>>, StoreError> {
        let timer = self.family_timer(id);
        let family = self.look_at_family(family_key(issuer, id)).await;
        timer.finish(family.is_ok());
        family.map(Outcome::settled)
    }

    async fn rotate(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        request: &RotationRequest,
    ) -> Result<Outcome<Rotation>, StoreError> {
        let _pass = self.gate.enter()?;
        self.nodes.check()?;
        let timer = self.family_timer(id);
        let answer = self.change_family(issuer, id, Ask::Rotate(*request)).await;
        timer.finish(answer.is_ok());
        match answer? {
            Answer::Rotation(rotation) => Ok(Outcome::settled(rotation)),
            Answer::Ended(_) => Err(StoreError::Failed("a rotation was answered as an end".into())),
        }
    }

    async fn end_family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        tombstone: &Tombstone,
    ) -> Result<Outcome<Option<Arc<Family>>>, StoreError> {
        let _pass = self.gate.enter()?;
        let timer = self.family_timer(id);
        let answer = self.change_family(issuer, id, Ask::End(tombstone.clone())).await;
        timer.finish(answer.is_ok());
        match answer? {
            Answer::Ended(family) => Ok(Outcome::settled(family)),
            Answer::Rotation(_) => Err(StoreError::Failed("an end was answered as a rotation".into())),
        }
    }

    async fn next_families_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        after: Option<FamilyCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextFamilies, StoreError> {
        self.next_listed_families(issuer, user, after, limit, now).await
    }
}
