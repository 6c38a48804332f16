//! Opening the store: directory, engines, generations, tombstones.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use symbolon_figures::StoreFigures;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::shard::{FirstShards, ShardKind};
use symbolon_store::transfer::Freeze;

use crate::database::{Database, DatabaseError, DatabaseOptions, OnLog};
use crate::directory::{DataDirectory, OpenError};
use crate::journal::{
    Journal, JournalError, JournalOptions, NEVER, OnCommit, Table, UnixMillis, split_value,
};
use crate::record::Records;
use crate::revocation::Everywhere;
use crate::session::SessionIssuers;
use crate::sharded::Sharded;
use crate::{EmbeddedStore, decode, failed, freeze, put_record};

/// How far the clock may be behind the last time that the store saw.
const CLOCK_BEHIND: Duration = Duration::from_secs(15 * 60);

const TIME_MARK: &[u8] = b"time";

/// How to open the store.
pub struct EmbeddedOptions {
    /// The data directory; created if it does not exist.
    pub path: PathBuf,
    /// The number of shards of each kind at the first start.
    pub shards: FirstShards,
    /// The journal's own options.
    pub journal: JournalOptions,
    /// The database's own options.
    pub database: DatabaseOptions,
    /// The clock.
    pub now: UnixMillis,
    /// Accept the clock even if it is far behind the last time that the store noted.
    pub accept_clock: bool,
}

/// How to recover the store.
pub struct Recovery {
    shards: FirstShards,
    now: UnixMillis,
    accept_clock: bool,
}

impl Recovery {
    /// The part of the options that recovery needs.
    #[must_use]
    pub fn of(options: &EmbeddedOptions) -> Self {
        Self { shards: options.shards, now: Arc::clone(&options.now), accept_clock: options.accept_clock }
    }
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EmbeddedError {
    #[error(transparent)]
    Directory(#[from] OpenError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the data directory {} was moved to another store and is as it was then: start on that one, or take this one \
         back with `symbolon store thaw --force`, without anything that happened there", .0.display()
    )]
    Migrated(PathBuf),
    #[error(
        "the clock says {now} ms but this data directory has seen {seen} ms, which is {behind} s later: set the clock, \
         or if it is right now start once with `symbolon serve --accept-clock`, as the user that the server runs as \
         (docs/setup/operations.md, \"The data directory\")"
    )]
    ClockBehind { now: u64, seen: u64, behind: u64 },
}

impl EmbeddedStore {
    /// Opens the store and recovers it. Blocks.
    ///
    /// # Errors
    /// As [`records`](Self::records) and [`recover`](Self::recover).
    pub fn open(options: EmbeddedOptions) -> Result<Self, EmbeddedError> {
        let recovery = Recovery::of(&options);
        let store = Self::records(options)?;
        store.recover(&recovery)?;
        Ok(store)
    }

    /// Opens the directory and the database: issuers, keys, clients, users, consents and the audit log. Nothing else
    /// may be used before the store is [recovered](Self::recover). Blocks.
    ///
    /// # Errors
    /// [`EmbeddedError`]: the directory is held by another process, has a newer format, was moved to another store or
    /// lacks a part; or the database cannot read its files.
    pub fn records(options: EmbeddedOptions) -> Result<Self, EmbeddedError> {
        let directory = DataDirectory::open(options.path)?;
        let freeze = freeze::stored(directory.path())?;
        if freeze == Freeze::Migrated {
            return Err(EmbeddedError::Migrated(directory.path().to_owned()));
        }
        let figures = Arc::new(StoreFigures::new());
        crate::room::set_bounds(&figures);
        let counted = Arc::clone(&figures);
        let on_commit: OnCommit =
            Arc::new(move |operations, nanos| counted.commit().batch(operations, nanos));
        let journal_options = JournalOptions { on_commit: Some(on_commit), ..options.journal };
        let journal = Arc::new(Journal::new(&directory.journal(), journal_options));
        let counted = Arc::clone(&figures);
        let on_log: OnLog = Arc::new(move |bytes| counted.database().set_log_bytes(bytes));
        let database_options = DatabaseOptions { on_log: Some(on_log), ..options.database };
        let database =
            Arc::new(Database::open(&directory.database(), crate::record::MIGRATIONS, database_options)?);
        let store = Self {
            codes: Sharded::new(ShardKind::Code, Arc::clone(&figures), &[]),
            code_salt: crate::code::CodeSalt::draw(),
            sessions: Sharded::new(ShardKind::Session, Arc::clone(&figures), &[]),
            session_issuers: SessionIssuers::default(),
            claims_of_ends: tokio::sync::Mutex::default(),
            challenges: Sharded::new(ShardKind::Challenge, Arc::clone(&figures), &[]),
            families: Sharded::new(ShardKind::Refresh, Arc::clone(&figures), &[]),
            revocations: Sharded::new(ShardKind::Revocation, Arc::clone(&figures), &[]),
            assertions: Sharded::new(ShardKind::Assertion, Arc::clone(&figures), &[]),
            proofs: crate::proof::Proofs::default(),
            email_codes: crate::email_code::EmailCodes::default(),
            pushed_requests: crate::pushed_request::PushedRequests::default(),
            device_authorizations: crate::device_authorization::none(),
            backchannel_authentications: crate::backchannel_authentication::none(),
            everywhere: Everywhere::default(),
            generations_change: tokio::sync::Mutex::default(),
            epoch: OnceLock::new(),
            records: Records::new(Arc::clone(&database), Arc::clone(&journal), &figures),
            directory,
            journal,
            database,
            figures,
        };
        store.heed(freeze);
        Ok(store)
    }

    /// Recovers the hot state: reads the journal, opens the shards, and loads all live tombstones, assertion marks
    /// and codes by e-mail.
    /// To be called once. Blocks; [`Journal::recover`] says for how long after a crash.
    ///
    /// # Errors
    /// [`EmbeddedError`]: the journal cannot be read, or the clock is more than 15 minutes behind the last time seen.
    pub fn recover(&self, recovery: &Recovery) -> Result<(), EmbeddedError> {
        let now = Timestamp::from_millis((recovery.now)());
        self.journal.recover(Arc::clone(&recovery.now))?;
        self.directory.note_whole()?;
        if !recovery.accept_clock {
            check_clock(&self.journal, now)?;
        }
        let mut is_first_start = true;
        for kind in ShardKind::ALL {
            is_first_start &= self.open_generations(kind, recovery.shards.of(kind), now)?;
        }
        self.load_tombstones()?;
        self.load_assertion_marks()?;
        self.list_families()?;
        let epoch = crate::epoch::stored(&self.journal)?;
        // A restored store, which has an epoch, may have no generations yet.
        let is_new = is_first_start && epoch.is_none();
        let begun = not_before_last_seen(&self.journal, now)?;
        self.begin_proofs((!is_new).then_some(begun))?;
        self.epoch.get_or_init(|| epoch);
        Ok(())
    }

    /// The data directory.
    pub fn directory(&self) -> &DataDirectory {
        &self.directory
    }

    /// Notes the time, so that a later start can tell that its clock is behind.
    pub(crate) fn mark_time(&self, now: Timestamp) -> Result<(), StoreError> {
        self.journal.append([put_record(Table::Meta, TIME_MARK, NEVER, &now)?]);
        Ok(())
    }
}

/// The last time that the store noted.
pub(crate) fn last_seen(journal: &Journal) -> Result<Option<Timestamp>, StoreError> {
    let Some(value) = journal.get(Table::Meta, TIME_MARK).map_err(failed)? else { return Ok(None) };
    let Some((_, record)) = split_value(&value) else { return Ok(None) };
    decode(record).map(Some)
}

/// The present time; the last that the store noted, if the clock was set back a little since.
fn not_before_last_seen(journal: &Journal, now: Timestamp) -> Result<Timestamp, StoreError> {
    let seen = last_seen(journal)?.filter(|seen| seen.since(now) <= CLOCK_BEHIND);
    Ok(seen.map_or(now, |seen| seen.max(now)))
}

fn check_clock(journal: &Journal, now: Timestamp) -> Result<(), EmbeddedError> {
    let Some(seen) = last_seen(journal)? else { return Ok(()) };
    let behind = seen.since(now);
    if behind > CLOCK_BEHIND {
        return Err(EmbeddedError::ClockBehind {
            now: now.millis(),
            seen: seen.millis(),
            behind: behind.as_secs(),
        });
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::time::Duration;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::code::CodeGrant;
    use symbolon_protocol::grant::{GrantId, Slot};
    use symbolon_protocol::id::{ClientId, IssuerId, Sid, UserId};
    use symbolon_protocol::revocation::{Target, Tombstone};
    use symbolon_protocol::scope::Scope;
    use symbolon_protocol::session::Amr;
    use symbolon_store::Store;
    use symbolon_store::port::{Revocations, Users};

    use super::*;
    use crate::fatal::OnFatal;

    const NOW: u64 = 1_800_000_000_000;

    pub(crate) fn options(path: &Path) -> EmbeddedOptions {
        EmbeddedOptions {
            path: path.to_owned(),
            shards: FirstShards::default(),
            journal: JournalOptions::default(),
            database: DatabaseOptions::default(),
            now: Arc::new(|| NOW),
            accept_clock: false,
        }
    }

    pub(crate) fn code_grant(issuer: &IssuerId, random: &SeededRandom, now: Timestamp) -> CodeGrant {
        CodeGrant {
            grant: GrantId::draw(issuer, "ann", now, random),
            client: ClientId::parse("app").unwrap(),
            user: UserId::parse("ann").unwrap(),
            sid: Sid::trusted("sid"),
            redirect_uri: "https://app.example/callback".to_owned(),
            scope: Scope::parse("openid").unwrap(),
            nonce: None,
            code_challenge: None,
            auth_time: now,
            amr: Amr::default(),
            session_expires_at: now + Duration::from_secs(99),
            expires_at: now + Duration::from_secs(59),
            resources: Vec::new(),
            authorization_details: Default::default(),
            acr: None,
            dpop_jkt: None,
        }
    }

    #[tokio::test]
    async fn a_clock_that_is_far_behind_is_refused_until_it_is_accepted() {
        let directory = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(directory.path())).unwrap();
        store.sweep(Timestamp::from_millis(NOW)).await.unwrap();
        store.close().await.unwrap();
        drop(store);
        let at = |millis: u64, accept_clock| {
            let now = Arc::new(move || millis);
            EmbeddedStore::open(EmbeddedOptions { now, accept_clock, ..options(directory.path()) }).map(drop)
        };
        let quarter = 15 * 60 * 1_000;
        at(NOW - quarter, false).unwrap();
        let error = at(NOW - quarter - 1, false).unwrap_err();
        assert!(matches!(error, EmbeddedError::ClockBehind { behind: 900, .. }));
        assert!(error.to_string().contains("--accept-clock"));
        at(NOW - quarter - 1, true).unwrap();
    }

    #[tokio::test]
    async fn a_store_whose_databases_writer_has_ended_is_not_ready() {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(directory.path());
        let (fatal, died) = std::sync::mpsc::channel();
        options.database.on_fatal = OnFatal::observed(move |what| fatal.send(what.to_owned()).unwrap());
        options.database.before_commit = Some(Arc::new(|| panic!("as an engine may")));
        let store = EmbeddedStore::open(options).unwrap();
        store.ready().await.unwrap();
        let issuer = IssuerId::default_issuer();
        let refused = store.delete_user(&issuer, &UserId::parse("ann").unwrap()).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
        assert!(died.recv().unwrap().contains("panicked"));
        let refused = store.ready().await;
        assert!(matches!(refused, Err(StoreError::Unavailable(why)) if why.contains("database")));
    }

    #[tokio::test]
    async fn a_closed_store_says_so_instead_of_waiting_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(directory.path())).unwrap();
        store.close().await.unwrap();
        let issuer = IssuerId::default_issuer();
        let now = Timestamp::from_millis(NOW);
        let tombstone = Tombstone::up_to(Target::Issuer, Slot::new(0), now, now);
        let outcome = store.revoke(&issuer, &[tombstone]).await.unwrap();
        assert!(matches!(outcome.told().await, Err(StoreError::Unavailable(_))));
    }
}
