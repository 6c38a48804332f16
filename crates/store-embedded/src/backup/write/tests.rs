use std::fs;
use std::io;

use symbolon_store::StoreError;
use symbolon_store::backup::BackupError;

use super::*;
use crate::backup::tests::{NOW, backed_up};
use crate::database::DatabaseError;

#[tokio::test]
async fn a_target_that_cannot_be_made_is_the_callers_mistake() {
    let root = tempfile::tempdir().unwrap();
    let (store, _) = backed_up(root.path()).await;
    fs::write(root.path().join("file"), "1").unwrap();
    let long = "x".repeat(300);
    for target in ["no/such/parent", "file", "file/backup", long.as_str()] {
        let failure = store.backup(&root.path().join(target), NOW).await.unwrap_err();
        assert!(matches!(BackupError::from(failure), BackupError::Target(_)), "{target}");
    }
}

#[test]
fn a_copy_that_fails_is_nobodys_mistake_and_a_full_disk_may_be_tried_again() {
    let io = |kind: io::ErrorKind| BackupFailure::Io { path: "/backup".into(), source: kind.into() };
    let sqlite = |code| {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        BackupFailure::Database(DatabaseError::Sqlite(error))
    };
    let full = io::Error::from(io::ErrorKind::StorageFull);
    for failure in [
        io(io::ErrorKind::StorageFull),
        io(io::ErrorKind::QuotaExceeded),
        sqlite(rusqlite::ffi::SQLITE_FULL),
        BackupFailure::Database(DatabaseError::Io(full)),
    ] {
        let error = BackupError::from(failure);
        assert!(matches!(error, BackupError::Store(StoreError::Unavailable(_))), "{error}");
    }
    // Files that were there when the copy began, and the disk itself.
    for failure in
        [io(io::ErrorKind::NotFound), io(io::ErrorKind::Other), sqlite(rusqlite::ffi::SQLITE_IOERR_WRITE)]
    {
        let error = BackupError::from(failure);
        assert!(matches!(error, BackupError::Store(StoreError::Failed(_))), "{error}");
    }
}
