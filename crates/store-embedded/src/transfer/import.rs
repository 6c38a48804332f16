//! Imports records into a data directory, which gets its final name when it is complete.

use std::fs;
use std::path::Path;

use async_trait::async_trait;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::transfer::{Export, Import, Record, Records};

use super::EmbeddedExport;
use crate::backup::{BackupFailure, Staging, is_taken};
use crate::directory::{DataDirectory, OpenError};
use crate::journal::{Op, Table};
use crate::{
    EmbeddedError, EmbeddedOptions, EmbeddedStore, email_code, epoch, failed, generation, refresh_token,
    revocation, session,
};

/// The suffix of the directory's name until everything is in it.
const SUFFIX: &str = ".migrating";

/// Why a data directory cannot be filled.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ImportError {
    #[error(transparent)]
    Directory(#[from] BackupFailure),
    #[error(transparent)]
    Store(#[from] EmbeddedError),
}

/// A data directory that is being filled.
pub struct EmbeddedImport {
    store: EmbeddedStore,
    staging: Staging,
}

impl EmbeddedImport {
    /// Begins to fill the data directory of `options`, which must not exist or be empty. Remains of an earlier attempt
    /// are removed. Blocks.
    ///
    /// # Errors
    /// [`ImportError`]: the path is not empty, another process uses it, or an engine fails.
    pub fn begin(options: EmbeddedOptions) -> Result<Self, ImportError> {
        let path = options.path.clone();
        if is_taken(&path)? {
            return Err(BackupFailure::DataNotEmpty(path).into());
        }
        clear(&Staging::path_of(&path, SUFFIX)?)?;
        let staging = Staging::begin(&path, SUFFIX)?;
        let now = Timestamp::from_millis((options.now)());
        let store = EmbeddedStore::open(EmbeddedOptions { path: staging.path().to_owned(), ..options })?;
        store.mark_time(now).map_err(EmbeddedError::from)?;
        Ok(Self { store, staging })
    }

    async fn put_in_journal(&self, records: &[Record]) -> Result<(), StoreError> {
        let mut ops = Vec::with_capacity(records.len());
        for record in records {
            match record {
                Record::Shards(kind, generations) => ops.push(generation::put(*kind, generations)?),
                Record::Epoch(at) => ops.push(epoch::put(*at)?),
                Record::Session { issuer, key, session, used_at, origin } => {
                    ops.extend(session::opened(issuer, key, session, *used_at, origin.as_ref())?);
                }
                // The users' lists of families are built when the directory is opened: only then are all users there.
                Record::Family(key, family) => {
                    ops.extend([refresh_token::put(key, family)?, refresh_token::forget_lists()]);
                }
                Record::Revocation(issuer, tombstone) => ops.push(revocation::put(issuer, tombstone)?),
                Record::Assertion(key, until) => {
                    ops.push(Op::put(Table::AssertionMarks, key, until.millis(), &[]));
                }
                Record::EmailCode(key, until, used) => ops.push(email_code::put(key, *until, used, "")),
                _ => {}
            }
        }
        if ops.is_empty() {
            return Ok(());
        }
        let commit = self.store.journal.append(ops);
        self.store.outcome((), commit).told().await
    }
}

/// Removes the remains of an attempt that is not running any more.
fn clear(left: &Path) -> Result<(), ImportError> {
    if !left.exists() {
        return Ok(());
    }
    // A running attempt holds the lock. The directory need not be complete: it is never started on.
    if DataDirectory::is_held(left) {
        return Err(EmbeddedError::from(OpenError::Locked(left.to_owned())).into());
    }
    fs::remove_dir_all(left).map_err(|source| BackupFailure::Io { path: left.to_owned(), source }.into())
}

#[async_trait]
impl Export for EmbeddedImport {
    async fn records(&self, ended: Timestamp) -> Result<Box<dyn Records>, StoreError> {
        EmbeddedExport::of(&self.store).await?.records(ended).await
    }
}

#[async_trait]
impl Import for EmbeddedImport {
    async fn put(&self, records: Vec<Record>) -> Result<(), StoreError> {
        self.put_in_journal(&records).await?;
        self.store.records.import(records).await
    }

    async fn leave(self: Box<Self>) -> Result<(), StoreError> {
        symbolon_store::Store::close(&self.store).await
    }

    async fn finish(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, staging } = *self;
        store.records.normalize_login_names().await?;
        symbolon_store::Store::close(&store).await?;
        drop(store);
        tokio::task::spawn_blocking(move || staging.finish()).await.map_err(failed)?.map_err(failed)
    }
}
