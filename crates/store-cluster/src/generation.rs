//! Generations of shards, stored in PostgreSQL. Every node knows a generation before ids in its shards are given out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Shards;
use symbolon_store::shard::{FirstShards, Generation, Route, ShardKind, opened, without_the_dead};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::ClusterStore;
use crate::nodes::{LEASE, next_control};
use crate::postgres::{Connection, column};

const LIST: &str = "SELECT generation, shards, opened_at, closed_at,
                           CAST(extract(epoch FROM now() - known_since) * 1000 AS BIGINT)
                    FROM generations WHERE kind = $1 ORDER BY generation";

/// So long after a generation was opened, every node with a lease knows it: a node that has not learnt of it has lost
/// its lease.
const KNOWN_TO_ALL_AFTER: Duration = LEASE.saturating_mul(2);

/// The generations of one kind, as this node knows them.
struct OfKind {
    /// Ordered; the current one is last.
    list: Vec<Generation>,
    /// From this time on, ids are given out in the current generation; before it, in the previous one.
    placing_from: Instant,
}

/// The generations of every kind.
pub(crate) struct Generations {
    kinds: [ArcSwap<OfKind>; ShardKind::ALL.len()],
    next: AtomicU32,
    figures: Arc<StoreFigures>,
}

impl Generations {
    /// Creates the first generation of each kind that has none, and reads all generations.
    pub(crate) async fn load(
        connection: &Connection,
        first: FirstShards,
        now: Timestamp,
        figures: &Arc<StoreFigures>,
    ) -> Result<Self, StoreError> {
        for kind in ShardKind::ALL {
            let (_, generation) = opened(&[], first.of(kind), now);
            let first = "INSERT INTO generations (kind, generation, shards, opened_at, known_since)
                         SELECT $1, CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), now() - interval '1 day'
                         WHERE NOT EXISTS (SELECT 1 FROM generations WHERE kind = $1) ON CONFLICT DO NOTHING";
            let (number, shards) = (i64::from(generation.generation), i64::from(generation.shards));
            connection.change(first, &[&kind.as_str(), &number, &shards, &millis(now)]).await?;
        }
        let none = || ArcSwap::from_pointee(OfKind { list: Vec::new(), placing_from: Instant::now() });
        let generations = Self {
            kinds: ShardKind::ALL.map(|_| none()),
            next: AtomicU32::new(0),
            figures: Arc::clone(figures),
        };
        generations.reload(connection).await?;
        Ok(generations)
    }

    /// Reads all generations again.
    pub(crate) async fn reload(&self, connection: &Connection) -> Result<(), StoreError> {
        for kind in ShardKind::ALL {
            let rows = connection.all(LIST, &[&kind.as_str()]).await?;
            let list = rows.iter().map(generation).collect::<Result<Vec<_>, _>>()?;
            let age: i64 = rows.last().map_or(Ok(0), |last| column(last, 4))?;
            let age = Duration::from_millis(age.unsigned_abs());
            self.set(kind, list, Instant::now() + KNOWN_TO_ALL_AFTER.saturating_sub(age));
        }
        Ok(())
    }

    /// Applies a list that was read from the database. Reads may overlap: a list without the newest known generation
    /// was read before that generation was opened, and is ignored.
    fn set(&self, kind: ShardKind, list: Vec<Generation>, placing_from: Instant) {
        let newest = |list: &[Generation]| list.last().map_or(0, |current| current.generation);
        self.of(kind).rcu(|known| match newest(&list).cmp(&newest(&known.list)) {
            std::cmp::Ordering::Less => Arc::clone(known),
            // Keep the earlier time: ids of this generation may already be given out.
            std::cmp::Ordering::Equal => {
                let placing_from = placing_from.min(known.placing_from);
                Arc::new(OfKind { list: list.clone(), placing_from })
            }
            std::cmp::Ordering::Greater => Arc::new(OfKind { list: list.clone(), placing_from }),
        });
        let current = self.of(kind).load().list.last().map_or(1, |current| current.shards);
        self.figures.kind(store_kind(kind)).set_shards(current);
    }

    /// Replaces the known list, even by an older one: an earlier import that was not finished may have left newer
    /// generations.
    fn replace(&self, kind: ShardKind, list: Vec<Generation>) {
        self.of(kind).store(Arc::new(OfKind { list, placing_from: Instant::now() }));
    }

    fn of(&self, kind: ShardKind) -> &ArcSwap<OfKind> {
        let [code, session, challenge, refresh, revocation, assertion] = &self.kinds;
        match kind {
            ShardKind::Code => code,
            ShardKind::Session => session,
            ShardKind::Challenge => challenge,
            ShardKind::Refresh => refresh,
            ShardKind::Revocation => revocation,
            ShardKind::Assertion => assertion,
        }
    }

    /// Whether a route names a shard of a live generation.
    pub(crate) fn exists(&self, kind: ShardKind, route: Route) -> bool {
        let known = self.of(kind).load();
        known.list.iter().any(|g| g.generation == route.generation && route.shard < g.shards)
    }

    /// The shard of an id: the one that the id names, if its generation exists, else a constant slot by hash.
    pub(crate) fn route(&self, kind: ShardKind, issuer: &IssuerId, id: &str) -> Route {
        Route::of_id(kind, id)
            .filter(|route| self.exists(kind, *route))
            .unwrap_or_else(|| Route::hashed(issuer, id))
    }

    /// How many shards new records of a kind are spread over.
    pub(crate) fn shards(&self, kind: ShardKind) -> u32 {
        self.of(kind).load().list.last().map_or(0, |current| current.shards)
    }

    fn place(&self, kind: ShardKind) -> Route {
        let known = self.of(kind).load();
        let current =
            match known.list.as_slice() {
                [.., before, current] if current.closed_at.is_none() => {
                    if Instant::now() >= known.placing_from { current } else { before }
                }
                [.., current] => current,
                [] => return Route { generation: 0, shard: 0 },
            };
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        Route { generation: current.generation, shard: turn.checked_rem(current.shards).unwrap_or(0) }
    }
}

/// The metrics of a kind of shard.
pub(crate) const fn store_kind(kind: ShardKind) -> StoreKind {
    match kind {
        ShardKind::Code => StoreKind::Code,
        ShardKind::Session => StoreKind::Session,
        ShardKind::Challenge => StoreKind::Challenge,
        ShardKind::Refresh => StoreKind::Refresh,
        ShardKind::Revocation => StoreKind::Revocation,
        ShardKind::Assertion => StoreKind::Assertion,
    }
}

fn generation(row: &Row) -> Result<Generation, StoreError> {
    let number = |index| Ok(u32::try_from(column::<i64>(row, index)?).unwrap_or(u32::MAX));
    let closed_at: Option<i64> = column(row, 3)?;
    Ok(Generation {
        generation: number(0)?,
        shards: number(1)?,
        opened_at: Timestamp::from_millis(column::<i64>(row, 2)?.unsigned_abs()),
        closed_at: closed_at.map(|at| Timestamp::from_millis(at.unsigned_abs())),
    })
}

fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

impl ClusterStore {
    /// Replaces all generations of a kind. No other node may run at that time.
    pub(crate) async fn replace_generations(
        &self,
        kind: ShardKind,
        generations: &[Generation],
    ) -> Result<(), StoreError> {
        let mut connection = self.postgres.connection().await?;
        let transaction = connection.transaction().await?;
        transaction.change("DELETE FROM generations WHERE kind = $1", &[&kind.as_str()]).await?;
        for one in generations {
            let sql = "INSERT INTO generations (kind, generation, shards, opened_at, closed_at, known_since)
                       VALUES ($1, $2, $3, $4, $5, now() - interval '1 day')";
            let (number, shards) = (i64::from(one.generation), i64::from(one.shards));
            let (opened, closed) = (millis(one.opened_at), one.closed_at.map(millis));
            transaction.change(sql, &[&kind.as_str(), &number, &shards, &opened, &closed]).await?;
        }
        transaction.commit().await?;
        self.generations.replace(kind, generations.to_vec());
        Ok(())
    }

    /// Deletes closed generations in which every id has expired.
    pub(crate) async fn sweep_generations(&self, now: Timestamp) -> Result<(), StoreError> {
        for kind in ShardKind::ALL {
            let known = self.generations.of(kind).load_full();
            let kept = without_the_dead(kind, &known.list, now);
            let Some(first) = kept.first().filter(|_| kept.len() < known.list.len()) else { continue };
            let connection = self.postgres.connection().await?;
            let delete = "DELETE FROM generations WHERE kind = $1 AND generation < $2";
            connection.change(delete, &[&kind.as_str(), &i64::from(first.generation)]).await?;
            self.generations.reload(&connection).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Shards for ClusterStore {
    fn place(&self, kind: ShardKind) -> Route {
        self.generations.place(kind)
    }

    fn route(&self, issuer: &IssuerId, kind: ShardKind, id: &str) -> Route {
        self.generations.route(kind, issuer, id)
    }

    fn generations(&self, kind: ShardKind) -> Vec<Generation> {
        self.generations.of(kind).load().list.clone()
    }

    async fn set_shards(
        &self,
        kind: ShardKind,
        shards: u32,
        now: Timestamp,
    ) -> Result<Generation, StoreError> {
        let pass = self.gate.enter()?;
        let mut connection = self.postgres.connection().await?;
        let transaction = connection.transaction().await?;
        // Lock the control row first: two changes at a time would open the same generation.
        let control = next_control(&transaction).await?;
        let rows = transaction.all(LIST, &[&kind.as_str()]).await?;
        let list = rows.iter().map(generation).collect::<Result<Vec<_>, _>>()?;
        let (list, opened) = opened(&list, shards, now);
        let close = "UPDATE generations SET closed_at = $2 WHERE kind = $1 AND closed_at IS NULL";
        transaction.change(close, &[&kind.as_str(), &millis(now)]).await?;
        let open = "INSERT INTO generations (kind, generation, shards, opened_at, known_since)
                    VALUES ($1, $2, $3, $4, now())";
        let (number, count) = (i64::from(opened.generation), i64::from(opened.shards));
        transaction.change(open, &[&kind.as_str(), &number, &count, &millis(now)]).await?;
        transaction.commit().await?;
        drop((connection, pass));
        // Ids of the new generation may be given out only when every node can find them.
        self.nodes.followed(control).await?;
        self.generations.set(kind, list, Instant::now());
        Ok(opened)
    }
}
