use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::backup::tests::{backed_up, open, restore_at};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// There are password hashes in the database, and a backup is carried elsewhere.
#[tokio::test]
async fn every_database_is_its_owners_alone_in_the_data_in_a_backup_and_restored() {
    let root = tempfile::tempdir().unwrap();
    let (_store, backup) = backed_up(root.path()).await;
    for file in ["data/symbolon.db", "data/symbolon.db-wal", "data/symbolon.db-shm", "backup/symbolon.db"] {
        assert_eq!(mode(&root.path().join(file)), 0o600, "{file}");
    }
    for file in fs::read_dir(&backup).unwrap().flatten() {
        assert_eq!(mode(&file.path()), 0o600, "{}", file.path().display());
    }
    // As earlier releases left it.
    fs::set_permissions(backup.join(DATABASE), fs::Permissions::from_mode(0o644)).unwrap();
    let data = root.path().join("restored");
    restore_at(&backup, &data, false).unwrap();
    let database = data.join("symbolon.db");
    assert_eq!(mode(&database), 0o600);
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let restored = open(&data);
    assert_eq!(mode(&database), 0o600);
    drop(restored);
}
