use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use symbolon_store::Store;

use super::*;
use crate::backup::tests::{NOW, backed_up, open, restore_at};

const MINUTE: Duration = Duration::from_secs(60);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The database contains password hashes, and a backup is carried elsewhere.
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
    // The mode that earlier releases left.
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

/// Revocations after the backup are lost, so a slow clock must not make the revoked tokens valid again.
#[tokio::test]
async fn an_epoch_is_no_earlier_than_the_backup_and_what_it_has_seen() {
    let root = tempfile::tempdir().unwrap();
    let (store, backup) = backed_up(root.path()).await;
    let restored = |backup: &Path, name: &str, now: Timestamp| {
        let (backup, data) = (backup.to_owned(), root.path().join(name));
        let options = RestoreOptions { keep_sessions: false, now: Arc::new(move || now.millis()) };
        std::thread::spawn(move || restore(&backup, &data, &options).unwrap().epoch).join().unwrap()
    };
    let slow = Timestamp::from_millis(NOW.millis() - 10 * 60_000);
    assert_eq!(restored(&backup, "by-its-own-time", slow), Some(NOW));
    assert_eq!(restored(&backup, "by-the-clock", NOW + MINUTE), Some(NOW + MINUTE));
    // The sweep notes the time; the backup's own time may come from another clock.
    store.sweep(NOW + MINUTE).await.unwrap();
    store.journal.flush().await;
    let second = root.path().join("second");
    Store::backup(&store, &second, NOW).await.unwrap();
    assert_eq!(restored(&second, "by-the-time-seen", slow), Some(NOW + MINUTE));
    // The new epoch is not earlier than the epoch before it either.
    let again = open(&root.path().join("by-the-clock"));
    let third = root.path().join("third");
    Store::backup(&again, &third, NOW).await.unwrap();
    assert_eq!(restored(&third, "by-the-epoch-before", slow), Some(NOW + MINUTE));
}
