//! Changes of families, many in one commit.
//!
//! A node has a few lanes, each of which writes one batch at a time, and a family always goes through the same lane. So two
//! batches of one node never wait for each other's row locks. Two nodes may change one family at the same time: each row has
//! a revision, and the update of the second node finds another revision than it had read. That node reads the family again
//! and decides anew.

use std::collections::HashMap;
use std::sync::Arc;

use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;

use super::chain::{Answer, Ask, Stored, decide};
use super::table::{Key, Seen, Table, Write};
use crate::batch::Batch;
use crate::postgres::Postgres;
use crate::revocation::{Applied, Tombstones};

/// Requests in one batch at most.
const MOST: usize = 512;

/// Batches at a time.
const LANES: usize = 2;

/// How many times a batch is decided at most, when other nodes change the same families.
const ROUNDS: u32 = 16;

/// One request.
pub(super) struct Job {
    pub(super) key: Key,
    pub(super) issuer: IssuerId,
    pub(super) ask: Ask,
    /// The family as an earlier look-up has read it.
    pub(super) seen: Option<Seen>,
}

/// The result of a request.
pub(super) struct Done {
    pub(super) answer: Answer,
    /// The write of the family's tombstone to Redis, if the family has ended. It must be done before the answer is
    /// returned.
    pub(super) applied: Option<Applied>,
}

/// The lanes.
pub(super) struct Lanes {
    lanes: [Batch<Job, Done>; LANES],
}

impl Lanes {
    pub(super) fn start(postgres: &Arc<Postgres>, tombstones: &Arc<Tombstones>) -> Self {
        let (table, tombstones) = (Table::new(postgres), Arc::clone(tombstones));
        let lane = |_| {
            let (table, tombstones) = (table.clone(), Arc::clone(&tombstones));
            Batch::start("refresh tokens", MOST, 1, move |jobs| {
                let (table, tombstones) = (table.clone(), Arc::clone(&tombstones));
                async move { Round::of(jobs).run(&table, &tombstones).await }
            })
        };
        Self { lanes: std::array::from_fn(lane) }
    }

    /// Queues a request and waits until its result is committed.
    pub(super) async fn submit(&self, job: Job) -> Result<Done, StoreError> {
        // The last byte, which is part of a digest: the first ones may be the family's creation time.
        let [.., last] = job.key;
        let lane = self.lanes.get(usize::from(last) % LANES);
        lane.ok_or_else(|| StoreError::Failed("no such lane".into()))?.submit(job).await
    }
}

/// The requests for one family.
struct Group {
    key: Key,
    issuer: IssuerId,
    asks: Vec<Ask>,
    /// The positions of their answers in the batch.
    places: Vec<usize>,
    known: Known,
}

/// What is known of a family's row.
enum Known {
    Not,
    /// Read before the last of the requests came: it may be out of date.
    Before(Seen),
    Now(Option<Seen>),
}

/// A batch under way.
struct Round {
    groups: Vec<Group>,
    done: Vec<Option<Result<Done, StoreError>>>,
}

impl Round {
    fn of(jobs: Vec<Job>) -> Self {
        let done = jobs.iter().map(|_| None).collect();
        let mut groups: Vec<Group> = Vec::with_capacity(jobs.len());
        let mut of_key: HashMap<Key, usize> = HashMap::with_capacity(jobs.len());
        for (place, job) in jobs.into_iter().enumerate() {
            let index = *of_key.entry(job.key).or_insert_with(|| {
                let (key, issuer) = (job.key, job.issuer);
                groups.push(Group { key, issuer, asks: Vec::new(), places: Vec::new(), known: Known::Not });
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(index) {
                group.asks.push(job.ask);
                group.places.push(place);
                if let Some(seen) = job.seen {
                    group.known = Known::Before(seen);
                }
            }
        }
        Self { groups, done }
    }

    async fn run(
        mut self,
        table: &Table,
        tombstones: &Arc<Tombstones>,
    ) -> Result<Vec<Result<Done, StoreError>>, StoreError> {
        for _ in 0..ROUNDS {
            self.read(table).await?;
            self.decide_and_write(table, tombstones).await?;
            if self.groups.is_empty() {
                break;
            }
        }
        Ok(self.done.into_iter().map(|done| done.unwrap_or(Err(StoreError::Conflict))).collect())
    }

    /// Reads the families that are not known.
    async fn read(&mut self, table: &Table) -> Result<(), StoreError> {
        let unknown = self.groups.iter().filter(|group| matches!(group.known, Known::Not));
        let keys: Vec<&Key> = unknown.map(|group| &group.key).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut found = table.read(&keys).await?;
        for group in &mut self.groups {
            if !matches!(group.known, Known::Not) {
                continue;
            }
            match found.remove(&group.key).transpose() {
                Ok(seen) => group.known = Known::Now(seen),
                Err(error) => {
                    for place in group.places.drain(..) {
                        answer(&mut self.done, place, Err(error.clone()));
                    }
                }
            }
        }
        self.groups.retain(|group| !group.places.is_empty());
        Ok(())
    }

    /// Decides every group, writes what changed, and keeps the groups that must be decided again.
    async fn decide_and_write(
        &mut self,
        table: &Table,
        tombstones: &Arc<Tombstones>,
    ) -> Result<(), StoreError> {
        let mut decided = Vec::with_capacity(self.groups.len());
        let mut again = Vec::new();
        for mut group in std::mem::take(&mut self.groups) {
            let (seen, fresh) = match std::mem::replace(&mut group.known, Known::Not) {
                Known::Now(seen) => (seen, true),
                Known::Before(seen) => (Some(seen), false),
                Known::Not => (None, false),
            };
            let revision = seen.as_ref().map(|seen| seen.revision);
            let stored = seen.map(|seen| seen.stored);
            match decide(&group.issuer, stored, fresh, group.asks.iter()) {
                Some(chain) => decided.push((group, revision, chain)),
                None => again.push(group),
            }
        }
        let mut writes: Vec<Write<'_>> = decided
            .iter()
            .filter(|(_, _, chain)| chain.changed)
            .filter_map(|(group, revision, chain)| {
                Some(Write { key: &group.key, revision: (*revision)?, next: chain.state.as_ref()? })
            })
            .collect();
        let written = match writes.as_mut_slice() {
            [] => Ok(Default::default()),
            writes => table.write(writes).await,
        };
        let written = match written {
            // A deadlock with another node's batch: nothing was written.
            Err(StoreError::Conflict) => Default::default(),
            written => written?,
        };
        for (group, _, chain) in decided {
            if chain.changed && !written.contains(&group.key) {
                again.push(group);
                continue;
            }
            let applied = match chain.state {
                Some(Stored::Ended(row)) => Some(tombstones.applied(row)),
                _ => None,
            };
            for (place, (answer, ended)) in group.places.into_iter().zip(chain.answers) {
                let applied = applied.clone().filter(|_| ended);
                self::answer(&mut self.done, place, Ok(Done { answer, applied }));
            }
        }
        self.groups = again;
        Ok(())
    }
}

fn answer(done: &mut [Option<Result<Done, StoreError>>], place: usize, result: Result<Done, StoreError>) {
    if let Some(done) = done.get_mut(place) {
        *done = Some(result);
    }
}
