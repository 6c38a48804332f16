//! Generations of shards: kept in the journal's `Meta` table, opened while running, dropped after their last id.

use std::time::Duration;

use async_trait::async_trait;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::Shards;
use symbolon_store::shard::{Generation, Kind, Route};

use crate::journal::{Journal, NEVER, Op, Table, split_value};
use crate::sharded::Sharded;
use crate::{EmbeddedStore, decode, failed, put_record};

const MOST_SHARDS: u32 = 1024;

fn key(kind: Kind) -> Vec<u8> {
    format!("generations/{}", kind.as_str()).into_bytes()
}

/// The stored generations of a kind; none before the first start.
pub(crate) fn stored(journal: &Journal, kind: Kind) -> Result<Option<Vec<Generation>>, StoreError> {
    let Some(value) = journal.get(Table::Meta, &key(kind)).map_err(failed)? else { return Ok(None) };
    let (_, record) = split_value(&value).ok_or_else(|| failed("generations are cut short"))?;
    decode(record).map(Some)
}

/// Puts down the generations of a kind.
pub(crate) fn put(kind: Kind, generations: &[Generation]) -> Result<Op, StoreError> {
    put_record(Table::Meta, &key(kind), NEVER, &generations)
}

/// How long an id of a kind may live: a closed generation is dropped that long after it was closed.
const fn longest_life(kind: Kind) -> Duration {
    const DAY: u64 = 86_400;
    Duration::from_secs(match kind {
        Kind::Code | Kind::Challenge | Kind::Assertion => DAY,
        Kind::Session | Kind::Revocation => 400 * DAY,
        Kind::Refresh => 1_500 * DAY,
    })
}

/// The list with one generation more; the one before it is closed.
pub(crate) fn opened(
    generations: &[Generation],
    shards: u32,
    now: Timestamp,
) -> (Vec<Generation>, Generation) {
    let mut list: Vec<Generation> = generations.to_vec();
    let number = list.last().map_or(0, |last| last.generation) + 1;
    if let Some(last) = list.last_mut() {
        last.closed_at = Some(now);
    }
    let opened = Generation {
        generation: number,
        shards: shards.clamp(1, MOST_SHARDS),
        opened_at: now,
        closed_at: None,
    };
    list.push(opened);
    (list, opened)
}

/// The list without what no living id can name.
fn without_the_dead(kind: Kind, generations: &[Generation], now: Timestamp) -> Vec<Generation> {
    let life = longest_life(kind) + KEPT_AFTER_END;
    generations.iter().copied().filter(|g| g.closed_at.is_none_or(|closed| closed + life > now)).collect()
}

impl EmbeddedStore {
    fn on_kind<R>(&self, kind: Kind, run: impl Run<R>) -> R {
        match kind {
            Kind::Code => run.on(&self.codes),
            Kind::Session => run.on(&self.sessions),
            Kind::Challenge => run.on(&self.challenges),
            Kind::Refresh => run.on(&self.families),
            Kind::Revocation => run.on(&self.revocations),
            Kind::Assertion => run.on(&self.assertions),
        }
    }

    /// Drops closed generations whose last id has ended.
    pub(crate) async fn sweep_generations(&self, now: Timestamp) -> Result<(), StoreError> {
        let _changing = self.generations_change.lock().await;
        for kind in Kind::ALL {
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

/// Something to do with the shards of any kind.
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
    fn place(&self, kind: Kind) -> Route {
        self.on_kind(kind, Place)
    }

    fn route(&self, issuer: &IssuerId, kind: Kind, id: &str) -> Route {
        self.on_kind(kind, Find(issuer, id))
    }

    fn generations(&self, kind: Kind) -> Vec<Generation> {
        self.on_kind(kind, List)
    }

    async fn set_shards(&self, kind: Kind, shards: u32, now: Timestamp) -> Result<Generation, StoreError> {
        self.check_writable()?;
        // One change at a time, or two would open the same generation.
        let _changing = self.generations_change.lock().await;
        let (list, opened) = opened(&self.on_kind(kind, List), shards, now);
        let commit = self.journal.append([put(kind, &list)?]);
        // Ids of the new generation may only be given out once a restart would know it.
        self.outcome((), commit).durable.wait().await?;
        self.on_kind(kind, Set(&list));
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_generation_lives_as_long_as_its_ids() {
        let start = Timestamp::from_seconds(1_000_000);
        let (list, first) = opened(&[], 64, start);
        assert_eq!((first.generation, first.shards), (1, 64));
        let (list, second) = opened(&list, 4_000, start + Duration::from_secs(5));
        assert_eq!((second.generation, second.shards), (2, 1024));
        let soon = start + Duration::from_secs(86_400);
        assert_eq!(without_the_dead(Kind::Code, &list, soon).len(), 2);
        let late = soon + KEPT_AFTER_END + Duration::from_secs(6);
        assert_eq!(without_the_dead(Kind::Code, &list, late), [second]);
        assert_eq!(without_the_dead(Kind::Session, &list, late).len(), 2);
    }
}
