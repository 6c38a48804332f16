//! Imports records into engines on which no node starts before the import is finished.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::session::Session;
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{Created, Issuers};
use symbolon_store::shard::session_of_sid;
use symbolon_store::transfer::{Export, Import, Record, RecordKey, Records};

use super::ClusterExport;
use crate::nodes::next_control;
use crate::open::{FILLING, UNFINISHED};
use crate::redis::Tag;
use crate::{ClusterError, ClusterOptions, ClusterStore};

/// How many sessions are written at a time.
const SESSIONS_AT_ONCE: usize = 256;

/// How many keys of Redis are read or deleted at a time.
const KEYS_AT_ONCE: usize = 128;

/// The tables that must be empty before an import, and are emptied after an unfinished one.
const TABLES: [&str; 25] = [
    "issuers",
    "signing_keys",
    "clients",
    "logos",
    "users",
    "user_attribute",
    "emails",
    "authenticators",
    "identities",
    "consents",
    "user_groups",
    "roles",
    "memberships",
    "user_roles",
    "group_roles",
    "entitlement_counts",
    "invitations",
    "deliveries",
    "audit",
    "audit_sizes",
    "families",
    "families_of_users",
    "tombstones",
    "assertion_marks",
    "email_codes",
];

/// Why an import cannot begin.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ImportError {
    #[error(transparent)]
    Open(#[from] ClusterError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the table {0} of the database is not empty: a store is moved to an empty database (drop this one and create it \
         again, or name another one in postgres.url)"
    )]
    NotEmpty(&'static str),
    #[error(
        "Redis holds the state of another installation under the prefix {0:?}: empty it, or choose another redis.prefix"
    )]
    RedisNotEmpty(String),
    #[error("{0} nodes run on this database, or ran a moment ago: stop them")]
    InUse(i64),
}

/// An import that has begun.
pub struct ClusterImport {
    store: Arc<ClusterStore>,
}

impl ClusterImport {
    /// Begins an import into the engines of `options`, which must be empty. No node starts on them before the import is
    /// finished. What an earlier, unfinished import left is removed. Needs a tokio runtime, on which the store's
    /// background tasks run.
    ///
    /// # Errors
    /// [`ImportError`]: an engine cannot be reached, has an unsuitable setting, is not empty, or is in use.
    pub async fn begin(options: ClusterOptions) -> Result<Self, ImportError> {
        let prefix = options.redis.prefix.clone();
        let store = Arc::new(ClusterStore::open_whatever_moves(options).await?);
        let begun = begin(&store, prefix).await;
        if begun.is_err() {
            drop(symbolon_store::Store::close(&*store).await);
        }
        begun.map(|()| Self { store })
    }

    async fn put_sessions(&self, sessions: Vec<Opened>) -> Result<(), StoreError> {
        let opened = stream::iter(sessions).map(|session| self.put_session(session));
        opened.buffer_unordered(SESSIONS_AT_ONCE).try_for_each(async |()| Ok(())).await
    }

    async fn put_session(&self, opened: Opened) -> Result<(), StoreError> {
        let Opened { issuer, key, session, used_at, origin } = opened;
        let said = session_of_sid(session.sid.as_str()).map(|(said, _)| said);
        let place = self.store.session_at(said, key);
        self.store.open_at(&issuer, place, &session, used_at).await?;
        match origin {
            Some(origin) => self.store.write_origin(&issuer, place, (session.expires_at, &origin)).await,
            None => Ok(()),
        }
    }

    async fn put_issuer(
        &self,
        (issuer, settings, keys): (Issuer, IssuerSettings, Vec<KeyRecord>),
    ) -> Result<(), StoreError> {
        let id = issuer.id.clone();
        match self.store.create_issuer(issuer, settings).await? {
            Created::Created => self.store.put_keys(&id, &[], &keys).await,
            Created::Exists => Err(StoreError::Failed(format!("the issuer {id} came twice"))),
        }
    }

    async fn put_epoch(&self, at: Timestamp) -> Result<(), StoreError> {
        let sql = "INSERT INTO meta (name, value) VALUES ('epoch', $1)
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.store.postgres.connection().await?.change(sql, &[&at.millis().to_string()]).await.map(drop)
    }
}

/// A session to import.
struct Opened {
    issuer: IssuerId,
    key: RecordKey,
    session: Box<Session>,
    used_at: Timestamp,
    origin: Option<SessionOrigin>,
}

async fn begin(store: &Arc<ClusterStore>, prefix: String) -> Result<(), ImportError> {
    let mut connection = store.postgres.connection().await?;
    let transaction = connection.transaction().await?;
    // Locks the control row, so that no other import begins at the same time.
    next_control(&transaction).await?;
    let said = transaction.first("SELECT value FROM meta WHERE name = $1", &[&FILLING]).await?;
    let again = said.is_some();
    if !again {
        for table in TABLES {
            let one = format!("SELECT 1 FROM {table} LIMIT 1");
            if transaction.first(&one, &[]).await?.is_some() {
                return Err(ImportError::NotEmpty(table));
            }
        }
        if store.redis_is_used().await? {
            return Err(ImportError::RedisNotEmpty(prefix));
        }
        let mark = "INSERT INTO meta (name, value) VALUES ($1, $2)";
        transaction.change(mark, &[&FILLING, &UNFINISHED]).await?;
    }
    transaction.commit().await?;
    // A node that starts takes its lease before it reads the mark, and an import sets the mark before it reads the
    // leases: at least one of them sees the other.
    let others = store.nodes.others_after_a_lease().await?;
    if others > 0 {
        if !again {
            connection.change("DELETE FROM meta WHERE name = $1", &[&FILLING]).await?;
        }
        return Err(ImportError::InUse(others));
    }
    if again {
        store.forget_sessions().await?;
        connection.script(&format!("TRUNCATE {}", TABLES.join(", "))).await?;
        connection.change("DELETE FROM meta WHERE name = 'epoch'", &[]).await?;
    }
    Ok(())
}

impl ClusterStore {
    /// Whether a store was in use under this prefix: then some constant slot has a complete primary.
    async fn redis_is_used(&self) -> Result<bool, StoreError> {
        for tags in self.redis.tags().slots().chunks(KEYS_AT_ONCE) {
            let mut looks = Vec::with_capacity(tags.len());
            for tag in tags {
                looks.push(self.has_complete_primary(tag));
            }
            if try_join_all(looks).await?.contains(&true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn has_complete_primary(&self, tag: &Tag) -> Result<bool, StoreError> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(tag.complete_primary().as_bytes());
        Ok(self.redis.ask(&cmd).await?.read::<Option<Vec<u8>>>()?.is_some())
    }

    /// Deletes the run ids of complete primaries, so that every constant slot is confirmed from PostgreSQL before an
    /// answer is accepted.
    async fn forget_complete_primaries(&self) -> Result<(), StoreError> {
        for tags in self.redis.tags().slots().chunks(KEYS_AT_ONCE) {
            let mut deletions = Vec::with_capacity(tags.len());
            for tag in tags {
                deletions.push(self.forget_complete_primary(tag));
            }
            try_join_all(deletions).await?;
        }
        Ok(())
    }

    async fn forget_complete_primary(&self, tag: &Tag) -> Result<(), StoreError> {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(tag.complete_primary().as_bytes());
        self.redis.write_durably(&cmd).await.map(drop)
    }
}

#[async_trait]
impl Export for ClusterImport {
    async fn records(&self, ended: Timestamp) -> Result<Box<dyn Records>, StoreError> {
        ClusterExport::of(Arc::clone(&self.store)).await?.records(ended).await
    }
}

#[async_trait]
impl Import for ClusterImport {
    async fn put(&self, records: Vec<Record>) -> Result<(), StoreError> {
        let (mut sessions, mut families) = (Vec::new(), Vec::new());
        let (mut revocations, mut assertions, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut email_codes = Vec::new();
        for record in records {
            match record {
                Record::Shards(kind, generations) => {
                    self.store.replace_generations(kind, &generations).await?;
                }
                Record::Epoch(at) => self.put_epoch(at).await?,
                Record::Issuer(whole) => self.put_issuer(*whole).await?,
                Record::Session { issuer, key, session, used_at, origin } => {
                    sessions.push(Opened { issuer, key, session, used_at, origin });
                }
                Record::Family(key, family) => families.push((key, Arc::new(*family))),
                Record::Revocation(issuer, tombstone) => revocations.push((issuer, tombstone)),
                Record::Assertion(key, until) => assertions.push((key, until)),
                Record::EmailCode(key, until, used) => email_codes.push((key, until, used)),
                row => rows.push(row),
            }
        }
        self.put_sessions(sessions).await?;
        self.store.import_families(families).await?;
        self.store.tombstones.put_down(&revocations).await?;
        self.store.import_assertions(&assertions).await?;
        self.store.import_email_codes(&email_codes).await?;
        self.store.records.import(rows).await
    }

    async fn leave(self: Box<Self>) -> Result<(), StoreError> {
        symbolon_store::Store::close(&*self.store).await
    }

    async fn finish(self: Box<Self>) -> Result<(), StoreError> {
        self.store.forget_complete_primaries().await?;
        self.store.records.normalize_login_names().await?;
        // The issuers of families can be determined only now, when every user is imported.
        self.store.list_every_family().await?;
        let finished = "DELETE FROM meta WHERE name = $1";
        self.store.postgres.connection().await?.change(finished, &[&FILLING]).await?;
        symbolon_store::Store::close(&*self.store).await
    }
}
