//! Freezing: the store refuses writes while it is being moved to another back-end, and afterwards.
//!
//! The state is kept in a file in the data directory, so that it survives a restart. In the process the journal is
//! sealed and the database refuses writes. A request that passed every check just before gets a commit number that
//! never becomes durable, and is therefore answered with 503. Its change stays in memory; so a store has to be opened
//! again before it may take writes again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use symbolon_store::StoreError;
use symbolon_store::transfer::{Freeze, FreezeError};

use crate::database::WriteError;
use crate::directory::{OpenError, sync_directory};
use crate::{EmbeddedStore, failed};

/// The file in the data directory that holds the state.
const FILE: &str = "moved";

/// The error for a write to a frozen store.
pub(crate) fn frozen() -> StoreError {
    StoreError::Unavailable("the store takes no writes: it is being moved to another back-end".into())
}

/// The freeze state of a data directory.
///
/// # Errors
/// [`OpenError::Io`]: the file cannot be read, or holds no known state.
pub fn stored(directory: &Path) -> Result<Freeze, OpenError> {
    let path = directory.join(FILE);
    let io = |source| OpenError::Io { path: path.clone(), source };
    match fs::read_to_string(&path) {
        Ok(text) => {
            Freeze::parse(text.trim()).ok_or_else(|| io(io::Error::other("it is not known what this says")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Freeze::Lifted),
        Err(source) => Err(io(source)),
    }
}

/// Stores the freeze state of a data directory durably.
///
/// # Errors
/// [`OpenError::Io`].
pub fn store(directory: &Path, freeze: Freeze) -> Result<(), OpenError> {
    let path = directory.join(FILE);
    let io = |source| OpenError::Io { path: path.clone(), source };
    if freeze == Freeze::Lifted {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => return sync_directory(directory),
        }
    }
    let aside = path.with_extension("new");
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
        writeln!(file, "{}", freeze.as_str())?;
        file.sync_all()?;
        fs::rename(&aside, &path)
    };
    written().map_err(io)?;
    sync_directory(directory)
}

/// Stores a freeze state durably, if it may follow the stored one.
fn follow(directory: &Path, freeze: Freeze) -> Result<(), FreezeError> {
    let found = stored(directory).map_err(failed)?;
    if !freeze.may_follow(found) {
        return Err(FreezeError::OutOfOrder { found, wanted: freeze });
    }
    Ok(store(directory, freeze).map_err(failed)?)
}

impl EmbeddedStore {
    /// Whether writes are refused because the store is being moved.
    pub(crate) fn check_not_frozen(&self) -> Result<(), StoreError> {
        if self.journal.is_sealed() { Err(frozen()) } else { Ok(()) }
    }

    pub(crate) async fn set_frozen(&self, freeze: Freeze) -> Result<(), FreezeError> {
        let directory = self.directory.path().to_owned();
        // The file is written first: otherwise a restart from here on would take writes that nobody moves.
        tokio::task::spawn_blocking(move || follow(&directory, freeze)).await.map_err(failed)??;
        if freeze == Freeze::Lifted {
            return Ok(());
        }
        self.write_proofs_down().await?;
        self.journal.seal();
        self.journal.flush().await;
        // An empty write as a barrier: it is done after every write that was queued without seeing the seal.
        let barrier = self.database.write(|_| Ok::<_, WriteError<StoreError>>(()));
        Ok(barrier.await.map_err(failed)?)
    }

    /// Applies the stored state at startup.
    pub(crate) fn heed(&self, freeze: Freeze) {
        if freeze == Freeze::Migrating {
            tracing::warn!(
                "this data directory is being moved to another store: reads are answered, writes are refused \
                 (`symbolon store thaw` ends that)"
            );
            self.journal.seal();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use symbolon_protocol::id::{ClientId, IssuerId, UserId};
    use symbolon_store::Store;
    use symbolon_store::port::{Audit, Consents};

    use super::*;
    use crate::EmbeddedError;
    use crate::open::tests::options;

    #[tokio::test]
    async fn a_change_that_passed_every_check_before_is_not_acknowledged_and_a_restart_forgets_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let open = || EmbeddedStore::open(options(directory.path()));
        let store = open().unwrap();
        store.freeze(Freeze::Migrating).await.unwrap();
        let outcome = store.outcome((), store.journal.append([]));
        let refused = outcome.told().await.unwrap_err();
        assert!(matches!(refused, StoreError::Unavailable(why) if why.contains("moved")));
        let (issuer, user) = (IssuerId::default_issuer(), UserId::parse("ann").unwrap());
        let withdrawn = store.withdraw(&issuer, &user, &ClientId::parse("app").unwrap()).await;
        assert!(matches!(withdrawn, Err(StoreError::Unavailable(_))));
        store.write_audit(Arc::default()).await.unwrap();
        store.ready().await.unwrap();
        store.close().await.unwrap();
        drop(store);
        let store = open().unwrap();
        assert!(matches!(store.check_writable(), Err(StoreError::Unavailable(_))));
        store.freeze(Freeze::Migrated).await.unwrap();
        drop(store);
        assert!(matches!(open().map(drop), Err(EmbeddedError::Migrated(_))));
        super::store(directory.path(), Freeze::Lifted).unwrap();
        open().unwrap().check_writable().unwrap();
    }

    #[test]
    fn what_is_put_down_is_found_until_it_is_lifted() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(stored(directory.path()).unwrap(), Freeze::Lifted);
        for freeze in [Freeze::Migrating, Freeze::Migrated, Freeze::Lifted, Freeze::Lifted] {
            store(directory.path(), freeze).unwrap();
            assert_eq!(stored(directory.path()).unwrap(), freeze);
        }
        fs::write(directory.path().join(FILE), "somewhere").unwrap();
        assert!(stored(directory.path()).unwrap_err().to_string().contains(FILE));
    }
}
