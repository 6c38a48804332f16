//! Look-ups during scans, and the log between scans.

use std::sync::mpsc;

use parking_lot::Mutex;
use rusqlite::Transaction;
use tokio::sync::oneshot;

use super::*;
use crate::database::tests::{MIGRATIONS, options};
use crate::database::{Database, DatabaseOptions, WriteError};

const MOST: u64 = 256 << 10;

fn open(directory: &Path) -> Database {
    let options = DatabaseOptions { log_bytes: MOST, ..options() };
    Database::open(&directory.join("test.db"), MIGRATIONS, options).unwrap()
}

/// A scan that has begun, and runs until the sender is dropped.
async fn begun_scan(database: &Database) -> (impl Future<Output = usize> + use<>, mpsc::Sender<()>) {
    let (begin, begun) = oneshot::channel();
    let (go_on, wait) = mpsc::channel::<()>();
    let scan = database.scan(move |connection| {
        let mut statement = connection.prepare("SELECT name FROM item")?;
        let mut rows = statement.query(())?;
        let mut found = usize::from(rows.next()?.is_some());
        begin.send(()).unwrap_or_default();
        wait.recv().unwrap_or_default();
        while rows.next()?.is_some() {
            found += 1;
        }
        Ok(found)
    });
    begun.await.unwrap();
    (async move { scan.await.unwrap() }, go_on)
}

async fn insert(database: &Database, name: String) {
    let insert = move |transaction: &Transaction<'_>| {
        transaction.execute("INSERT INTO item (name) VALUES (?1)", [name])?;
        Ok::<_, WriteError<()>>(())
    };
    database.write(insert).await.unwrap();
}

/// Makes the log longer than its limit.
async fn write_much(database: &Database, directory: &Path, what: &str) {
    for n in 0..40 {
        insert(database, format!("{what} {n} {}", "x".repeat(16 << 10))).await;
    }
    assert!(log_bytes(directory) > MOST);
}

fn log_bytes(directory: &Path) -> u64 {
    std::fs::metadata(directory.join("test.db-wal")).unwrap().len()
}

/// Waits until the writer has emptied the log.
async fn emptied(directory: &Path) {
    while log_bytes(directory) > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn look_ups_go_on_beside_scans_which_wait_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    insert(&database, "one".into()).await;
    let (first, go_on) = begun_scan(&database).await;
    let mut second = std::pin::pin!(database.scan(|_| Ok(())));
    for _ in 0..3 {
        let count =
            |connection: &Connection| connection.query_row("SELECT count(*) FROM item", (), |row| row.get(0));
        assert_eq!(database.read::<i64, _>(count).await.unwrap(), 1);
    }
    assert!(tokio::time::timeout(Duration::from_millis(20), second.as_mut()).await.is_err());
    drop(go_on);
    assert_eq!(first.await, 1);
    second.await.unwrap();
}

#[tokio::test]
async fn the_log_is_emptied_between_two_scans_that_follow_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    insert(&database, "one".into()).await;
    let (first, go_on) = begun_scan(&database).await;
    write_much(&database, directory.path(), "first").await;
    let log = directory.path().to_owned();
    let second = database.scan(move |_| Ok(log_bytes(&log)));
    drop(go_on);
    assert_eq!((first.await, second.await.unwrap()), (1, 0));
    // The records that were read from the log are now read from the database's file.
    let (third, go_on) = begun_scan(&database).await;
    drop(go_on);
    assert_eq!(third.await, 41);
}

#[tokio::test]
async fn the_log_is_emptied_after_the_last_scan_and_after_a_snapshot_though_nobody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    insert(&database, "one".into()).await;
    let (scan, go_on) = begun_scan(&database).await;
    write_much(&database, directory.path(), "scan").await;
    drop(go_on);
    scan.await;
    emptied(directory.path()).await;
    let (snapshot, ()) = database.snapshot_with(|| ()).await.unwrap();
    write_much(&database, directory.path(), "snapshot").await;
    // The scan does not wait, because the snapshot is still held.
    database.scan(|_| Ok(())).await.unwrap();
    drop(snapshot);
    emptied(directory.path()).await;
}

#[tokio::test]
async fn how_long_the_log_is_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let on_log: OnLog = Arc::new(move |bytes| heard.lock().push(bytes));
    let options = DatabaseOptions { log_bytes: MOST, on_log: Some(on_log), ..options() };
    let database = Database::open(&directory.path().join("test.db"), MIGRATIONS, options).unwrap();
    for n in 0..40 {
        insert(&database, format!("{n} {}", "x".repeat(16 << 10))).await;
    }
    database.close();
    let told = told.lock();
    assert!(told.iter().any(|bytes| *bytes > MOST) && told.contains(&0), "{told:?}");
    assert_eq!(told.last(), Some(&database.stats().log_bytes));
}
