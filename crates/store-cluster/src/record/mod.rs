//! What lasts, in PostgreSQL: issuers, keys, settings, clients, users, consents and the audit log.
//!
//! Records are JSON documents with a column for whatever is looked up, compared or unique. Clients, users and
//! consents are read through [caches](symbolon_store::cache) that a write drops after its commit, here and, by
//! [word](crate::changes), on the other nodes.

mod audit;
mod audit_size;
mod client;
mod consent;
mod import;
mod issuer;
mod listing;
mod reseal;
mod text;
mod user;
mod user_creation;
mod user_row;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::client::Client;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::cache::{Held, RecordCache};
use symbolon_store::figures::{StoreFigures, StoreKind};
use symbolon_store::port::{Changed, Given};
use tokio_postgres::Row;

use crate::changes::Changes;
use crate::failed;
use crate::freeze::Gate;
use crate::postgres::{Connection, Parameter, Postgres};

/// Clients kept in memory.
const CLIENTS_CACHED: usize = 10_000;

/// Users kept in memory.
const USERS_CACHED: usize = 100_000;

/// Users whose consents are kept in memory.
const CONSENTS_CACHED: usize = 100_000;

/// How often a write is tried again that another transaction was in the way of.
const TRIES: u32 = 5;

/// The pause before the first of them; each later one is twice as long.
const PAUSE: Duration = Duration::from_millis(5);

/// What a write achieved; none, and nothing was written, where the record is not as it was seen.
type Written<T> = Result<Option<T>, StoreError>;

/// What this node keeps of the records in memory.
struct Caches {
    clients: RecordCache<Client>,
    users: RecordCache<User>,
    /// By the user's id.
    consents: RecordCache<Given>,
}

impl Caches {
    /// Drops what a change will make old, and holds it from before its commit until it is announced.
    fn hold(&self, changed: &Changed) -> Vec<Held<'_>> {
        match changed {
            Changed::Client(issuer, id) => vec![self.clients.hold(issuer, id.as_str())],
            Changed::ClientDeleted(issuer, id) => {
                vec![self.clients.hold(issuer, id.as_str()), self.consents.hold_issuer(issuer)]
            }
            Changed::User(issuer, id) => {
                vec![self.users.hold(issuer, id.as_str()), self.consents.hold(issuer, id.as_str())]
            }
            Changed::Consents(issuer, user) => vec![self.consents.hold(issuer, user.as_str())],
            Changed::Keys(_) | Changed::Settings(_) | Changed::Issuers | Changed::Everything => Vec::new(),
        }
    }

    /// Drops what a change made old.
    fn forget(&self, changed: &Changed) {
        match changed {
            Changed::Client(issuer, id) => self.clients.drop_entry(issuer, id.as_str()),
            Changed::ClientDeleted(issuer, id) => {
                self.clients.drop_entry(issuer, id.as_str());
                // Nobody knows which of the cached users had allowed it.
                self.consents.drop_issuer(issuer);
            }
            Changed::User(issuer, id) => {
                self.users.drop_entry(issuer, id.as_str());
                self.consents.drop_entry(issuer, id.as_str());
            }
            Changed::Consents(issuer, user) => self.consents.drop_entry(issuer, user.as_str()),
            Changed::Keys(_) | Changed::Settings(_) | Changed::Issuers => {}
            Changed::Everything => {
                self.clients.drop_all();
                self.users.drop_all();
                self.consents.drop_all();
            }
        }
    }
}

/// Why a write has no answer.
enum Failure {
    /// Nothing was written.
    Refused(StoreError),
    /// It may have been written, or may be before long.
    Unknown(StoreError),
}

impl Failure {
    /// For whoever asked, who may try again in either case.
    fn into_error(self) -> StoreError {
        match self {
            Self::Refused(error) | Self::Unknown(error) => error,
        }
    }
}

/// The database with the caches before it.
pub(crate) struct Records {
    postgres: Arc<Postgres>,
    figures: Arc<StoreFigures>,
    changes: Arc<Changes>,
    caches: Arc<Caches>,
    gate: Arc<Gate>,
}

impl Records {
    /// Nothing is cached yet; what `changes` tells of is dropped from now on.
    pub(crate) fn new(
        postgres: &Arc<Postgres>,
        figures: &Arc<StoreFigures>,
        changes: &Arc<Changes>,
        gate: &Arc<Gate>,
    ) -> Arc<Self> {
        let caches = Arc::new(Caches {
            clients: RecordCache::new(CLIENTS_CACHED, figures.cache("client")).with_copies(),
            users: RecordCache::new(USERS_CACHED, figures.cache("user")),
            consents: RecordCache::new(CONSENTS_CACHED, figures.cache("consent")),
        });
        let dropped = Arc::clone(&caches);
        changes.listen(Box::new(move |changed| {
            dropped.forget(changed);
            Box::pin(std::future::ready(()))
        }));
        let (postgres, figures, changes) = (Arc::clone(postgres), Arc::clone(figures), Arc::clone(changes));
        Arc::new(Self { postgres, figures, changes, caches, gate: Arc::clone(gate) })
    }

    /// Counts an operation of a kind and its time.
    async fn measured<T>(
        &self,
        kind: StoreKind,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timer = self.figures.kind(kind).start(0);
        let result = work.await;
        timer.finish(matches!(result, Ok(_) | Err(StoreError::Conflict)));
        result
    }

    /// Reads one row.
    async fn first(
        &self,
        kind: StoreKind,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Option<Row>, StoreError> {
        self.measured(kind, async { self.postgres.connection().await?.first(sql, values).await }).await
    }

    /// Reads rows.
    async fn all(
        &self,
        kind: StoreKind,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.measured(kind, async { self.postgres.connection().await?.all(sql, values).await }).await
    }

    /// Writes what no cache knows of. Durable when it answers.
    async fn write<T, F>(&self, kind: StoreKind, work: impl Fn(Connection) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Written<T>>,
    {
        // What nodes answer while the store is being moved is audited all the same.
        let _pass = (kind != StoreKind::Audit).then(|| self.gate.enter()).transpose()?;
        self.measured(kind, async {
            let connection = self.postgres.connection().await?;
            self.attempt(connection, work).await.map_err(Failure::into_error)
        })
        .await
    }

    /// Writes, and announces the change once it is durable, even if the caller is gone by then: the write stands
    /// whether or not anybody waits for it, and so must the word of it.
    async fn change<T, F>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Changed,
        work: impl Fn(Connection) -> F + Send + Sync + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Written<T>> + Send + 'static,
    {
        let _pass = self.gate.enter()?;
        let records = Arc::clone(self);
        let task = tokio::spawn(async move {
            let connection = records.postgres.connection().await?;
            let _held = records.caches.hold(&changed);
            let result = records.attempt(connection, work).await;
            match &result {
                Ok(_) => records.changes.announce(&changed),
                // Another node may have changed it, and its word may still be on its way.
                Err(Failure::Refused(StoreError::Conflict)) => records.caches.forget(&changed),
                Err(Failure::Refused(_)) => {}
                Err(Failure::Unknown(_)) => records.announce_in_doubt(changed),
            }
            result.map_err(Failure::into_error)
        });
        self.measured(kind, async { task.await.map_err(failed)? }).await
    }

    /// Tries a write until no other transaction is in its way, each time on a connection of its own.
    async fn attempt<T, F>(
        &self,
        mut connection: Connection,
        work: impl Fn(Connection) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Written<T>>,
    {
        let mut tries = 0;
        loop {
            match work(connection).await {
                Ok(Some(value)) => return Ok(value),
                Err(StoreError::Conflict) if tries < TRIES => {
                    tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
                    tries += 1;
                    connection = self.postgres.connection().await.map_err(Failure::Refused)?;
                }
                Ok(None) | Err(StoreError::Conflict) => return Err(Failure::Refused(StoreError::Conflict)),
                Err(error) => return Err(Failure::Unknown(error)),
            }
        }
    }

    /// Announces what may have been written, and again when the database cannot be at it any more: whoever read
    /// between the first word and the commit has kept what is old.
    fn announce_in_doubt(&self, changed: Changed) {
        self.changes.announce(&changed);
        let (changes, settled) = (Arc::clone(&self.changes), self.postgres.settles_within());
        tokio::spawn(async move {
            tokio::time::sleep(settled).await;
            changes.announce(&changed);
        });
    }
}

/// Milliseconds as the database's integer; times beyond its range are as good as for ever.
fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

/// One column of many rows, for `unnest`.
fn each<'a, R, T>(rows: &'a [R], of: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::id::{ClientId, IssuerId, UserId};

    use super::*;

    /// What is left of two issuers with one record each.
    fn left_after(changed: &Changed) -> Vec<&'static str> {
        let figures = StoreFigures::new();
        let caches = Caches {
            clients: RecordCache::new(10, figures.cache("client")),
            users: RecordCache::new(10, figures.cache("user")),
            consents: RecordCache::new(10, figures.cache("consent")),
        };
        let issuers = [("mine", IssuerId::default_issuer()), ("theirs", IssuerId::parse("other").unwrap())];
        for (_, issuer) in &issuers {
            let epoch = caches.consents.get(issuer, "ann").unwrap_err();
            caches.consents.put(issuer, "ann", Arc::new(Vec::new()), epoch);
        }
        caches.forget(changed);
        let left = |(name, issuer): &(&'static str, IssuerId)| {
            caches.consents.get(issuer, "ann").is_ok().then_some(*name)
        };
        issuers.iter().filter_map(left).collect()
    }

    #[test]
    fn a_change_drops_what_it_made_old_and_nothing_else() {
        let (issuer, ann) = (IssuerId::default_issuer(), UserId::parse("ann").unwrap());
        let (bob, app) = (UserId::parse("bob").unwrap(), ClientId::parse("app").unwrap());
        let both = ["mine", "theirs"];
        for changed in [
            Changed::User(issuer.clone(), ann.clone()),
            Changed::Consents(issuer.clone(), ann),
            Changed::ClientDeleted(issuer.clone(), app.clone()),
        ] {
            assert_eq!(left_after(&changed), ["theirs"], "{changed:?}");
        }
        for changed in [
            Changed::User(issuer.clone(), bob),
            Changed::Client(issuer.clone(), app),
            Changed::Keys(issuer.clone()),
            Changed::Settings(issuer),
            Changed::Issuers,
        ] {
            assert_eq!(left_after(&changed), both, "{changed:?}");
        }
        assert!(left_after(&Changed::Everything).is_empty());
    }
}
