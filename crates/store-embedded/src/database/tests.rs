use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;

use rusqlite::OptionalExtension;

use super::*;

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;",
        then: None,
    },
    Migration {
        number: 2,
        sql: "CREATE TABLE part (item INTEGER NOT NULL REFERENCES item(id)) STRICT;",
        then: None,
    },
];

type Refused = WriteError<&'static str>;

pub(super) fn options() -> DatabaseOptions {
    DatabaseOptions {
        hold: Duration::ZERO,
        on_fatal: OnFatal::observed(|what| panic!("{what}")),
        ..DatabaseOptions::default()
    }
}

fn open(directory: &tempfile::TempDir) -> Database {
    Database::open(&directory.path().join("test.db"), MIGRATIONS, options()).unwrap()
}

fn insert(transaction: &Transaction<'_>, name: &str) -> Result<i64, Refused> {
    transaction.prepare_cached("INSERT INTO item (name) VALUES (?1)")?.execute([name])?;
    Ok(transaction.last_insert_rowid())
}

fn names(database: &Database) -> Vec<String> {
    let read = |connection: &Connection| {
        let mut statement = connection.prepare_cached("SELECT name FROM item ORDER BY id")?;
        statement.query_map((), |row| row.get(0))?.collect()
    };
    // On a thread of its own, because some tests call this from a runtime's.
    std::thread::scope(|scope| scope.spawn(|| database.read_blocking(read).unwrap()).join().unwrap())
}

/// Options whose first commit waits until the returned sender is used or dropped, and a receiver that is signalled when
/// the writer reaches that commit.
fn held_up() -> (DatabaseOptions, mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (go_on, wait) = mpsc::channel::<()>();
    let (reach, reached) = mpsc::channel();
    let ends = Mutex::new((reach, wait));
    let before_commit: BeforeCommit = Arc::new(move || {
        let ends = ends.lock();
        ends.0.send(()).unwrap_or_default();
        ends.1.recv().unwrap_or_default();
        Ok(())
    });
    (DatabaseOptions { before_commit: Some(before_commit), ..options() }, go_on, reached)
}

#[tokio::test]
async fn a_write_is_read_after_it_was_awaited() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    let id = database.write(|transaction| insert(transaction, "one")).await.unwrap();
    let name = database
        .read(move |connection| {
            connection
                .query_row("SELECT name FROM item WHERE id = ?1", [id], |row| row.get::<_, String>(0))
                .optional()
        })
        .await
        .unwrap();
    assert_eq!(name.as_deref(), Some("one"));
}

#[tokio::test]
async fn writes_in_flight_share_one_commit_and_nobody_is_answered_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let (options, go_on, reached) = held_up();
    let database = Database::open(&directory.path().join("test.db"), MIGRATIONS, options).unwrap();
    let first = database.write(|transaction| insert(transaction, "first"));
    reached.recv().unwrap();
    let mut first = std::pin::pin!(first);
    assert!(futures_poll(first.as_mut()).is_none());
    let rest: Vec<_> =
        (0..500).map(|n| database.write(move |transaction| insert(transaction, &n.to_string()))).collect();
    drop(go_on);
    first.await.unwrap();
    for write in rest {
        write.await.unwrap();
    }
    let stats = database.stats();
    assert_eq!((stats.writes, stats.commits, stats.rows_written), (501, 2, 501));
}

fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn a_refused_a_failed_and_a_panicking_write_are_rolled_back_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (options, go_on, reached) = held_up();
    let database = Database::open(&directory.path().join("test.db"), MIGRATIONS, options).unwrap();
    let opening = database.write(|transaction| insert(transaction, "opening"));
    reached.recv().unwrap();
    let good = database.write(|transaction| insert(transaction, "good"));
    let refused = database.write(|transaction| {
        insert(transaction, "refused")?;
        Err::<(), _>(WriteError::Rejected("no"))
    });
    let failed = database.write(|transaction| {
        insert(transaction, "failed")?;
        insert(transaction, "good")
    });
    let panicking = database.write(|transaction| -> Result<(), Refused> {
        insert(transaction, "panicking")?;
        panic!("as the test wants")
    });
    let last = database.write(|transaction| insert(transaction, "last"));
    drop(go_on);
    opening.await.unwrap();
    good.await.unwrap();
    assert!(matches!(refused.await, Err(WriteError::Rejected("no"))));
    assert!(matches!(failed.await, Err(WriteError::Sqlite(_))));
    assert!(matches!(panicking.await, Err(WriteError::Unavailable)));
    last.await.unwrap();
    assert_eq!(names(&database), ["opening", "good", "last"]);
    let stats = database.stats();
    assert_eq!((stats.commits, stats.errors), (2, 1));
}

#[tokio::test]
async fn foreign_keys_are_enforced_and_readers_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    let orphan = database.write(|transaction| -> Result<(), Refused> {
        transaction.execute("INSERT INTO part VALUES (42)", ())?;
        Ok(())
    });
    assert!(matches!(orphan.await, Err(WriteError::Sqlite(_))));
    let written = database.read(|connection| connection.execute("INSERT INTO item (name) VALUES ('x')", ()));
    assert!(matches!(written.await, Err(ReadError::Sqlite(_))));
}

#[test]
fn committed_writes_survive_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    database.write_blocking(|transaction| insert(transaction, "kept")).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for file in ["test.db", "test.db-wal"] {
        std::fs::copy(directory.path().join(file), crashed.path().join(file)).unwrap();
    }
    assert_eq!(names(&open(&crashed)), ["kept"]);
}

#[test]
fn migrations_run_once_and_newer_schemas_are_refused_by_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let first = MIGRATIONS.split_at(1).0;
    let database = Database::open(&path, first, options()).unwrap();
    database.write_blocking(|transaction| insert(transaction, "kept")).unwrap();
    drop(database);
    drop(open(&directory));
    let database = open(&directory);
    assert_eq!(names(&database), ["kept"]);
    drop(database);
    let error = Database::open(&path, first, options()).unwrap_err();
    assert!(matches!(error, DatabaseError::NewerSchema { found: 2, known: 1 }));
}

#[test]
fn a_broken_migration_leaves_nothing_and_gaps_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let broken =
        [MIGRATIONS[0], Migration { number: 2, sql: "CREATE TABLE half (id); SELECT nonsense;", then: None }];
    assert!(matches!(
        Database::open(&path, &broken, options()),
        Err(DatabaseError::Migration { number: 2, .. })
    ));
    drop(open(&directory));
    let gap = [MIGRATIONS[0], Migration { number: 3, sql: "", then: None }];
    assert!(matches!(
        Database::open(&path, &gap, options()),
        Err(DatabaseError::MigrationOrder { expected: 2, found: 3 })
    ));
}

/// SQLite's own limit on pages gives the same error as a full disk.
#[test]
fn a_full_disk_refuses_a_write_and_leaves_the_database_usable() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    let limit = |pages: u32| {
        database
            .write_blocking(move |transaction| -> Result<(), Refused> {
                transaction.pragma_update(None, "max_page_count", pages).or_else(|error| match error {
                    rusqlite::Error::ExecuteReturnedResults => Ok(()),
                    error => Err(error),
                })?;
                Ok(())
            })
            .unwrap();
    };
    database.write_blocking(|transaction| insert(transaction, "before")).unwrap();
    limit(8);
    let full = database.write_blocking(|transaction| insert(transaction, &"x".repeat(1 << 20)));
    assert!(matches!(full, Err(WriteError::Full)));
    assert_eq!(names(&database), ["before"]);
    limit(1_000_000);
    database.write_blocking(|transaction| insert(transaction, "after")).unwrap();
    assert_eq!(names(&database), ["before", "after"]);
}

fn sqlite_failure(extended_code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(extended_code), None)
}

#[test]
fn a_disk_full_at_the_commit_refuses_the_whole_batch_and_the_next_one_works() {
    let directory = tempfile::tempdir().unwrap();
    let full = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&full);
    let before_commit: BeforeCommit = Arc::new(move || {
        if seen.swap(false, Ordering::Relaxed) {
            Err(sqlite_failure(rusqlite::ffi::SQLITE_FULL))
        } else {
            Ok(())
        }
    });
    let options = DatabaseOptions { before_commit: Some(before_commit), ..options() };
    let database = Database::open(&directory.path().join("test.db"), MIGRATIONS, options).unwrap();
    let refused = database.write_blocking(|transaction| insert(transaction, "refused"));
    assert!(matches!(refused, Err(WriteError::Full)));
    database.write_blocking(|transaction| insert(transaction, "taken")).unwrap();
    assert_eq!(names(&database), ["taken"]);
}

#[test]
fn a_failed_sync_is_fatal_and_its_writers_are_not_told_of_success() {
    let directory = tempfile::tempdir().unwrap();
    let deaths = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&deaths);
    let on_fatal = OnFatal::observed(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let before_commit: BeforeCommit = Arc::new(|| Err(sqlite_failure(rusqlite::ffi::SQLITE_IOERR_FSYNC)));
    let options = DatabaseOptions { on_fatal, before_commit: Some(before_commit), ..options() };
    let database = Database::open(&directory.path().join("test.db"), MIGRATIONS, options).unwrap();
    for _ in 0..2 {
        let answer = database.write_blocking(|transaction| insert(transaction, "lost"));
        assert!(matches!(answer, Err(WriteError::Unavailable)));
    }
    assert_eq!(deaths.load(Ordering::Relaxed), 1);
}

#[test]
fn a_panic_of_the_writers_own_is_fatal_too_and_nobody_waits_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (held_up, go_on, reached) = held_up();
    let (fatal, died) = mpsc::channel();
    let on_fatal = OnFatal::observed(move |what| fatal.send(what.to_owned()).unwrap());
    let wait = held_up.before_commit.unwrap();
    let before_commit: BeforeCommit = Arc::new(move || {
        wait()?;
        panic!("as an engine may")
    });
    let options = DatabaseOptions { on_fatal, before_commit: Some(before_commit), ..options() };
    let database = Database::open(&directory.path().join("test.db"), MIGRATIONS, options).unwrap();
    let first = database.write(|transaction| insert(transaction, "first"));
    reached.recv().unwrap();
    let queued = database.write(|transaction| insert(transaction, "queued"));
    assert!(database.is_writable());
    drop(go_on);
    assert!(died.recv().unwrap().contains("panicked"));
    assert!(!database.is_writable());
    let late = database.write(|transaction| insert(transaction, "late"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for write in [runtime.block_on(first), runtime.block_on(queued), runtime.block_on(late)] {
        assert!(matches!(write, Err(WriteError::Unavailable)));
    }
    assert!(names(&database).is_empty(), "reads go on");
}

#[tokio::test]
async fn queries_and_rows_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    for name in ["a", "b", "c"] {
        database.write(move |transaction| insert(transaction, name)).await.unwrap();
    }
    assert_eq!(names(&database).len(), 3);
    let missing =
        database.read(|connection| connection.query_row("SELECT id FROM item WHERE id = 9", (), |_| Ok(())));
    assert!(missing.await.is_err());
    database.close();
    let stats = database.stats();
    assert_eq!((stats.writes, stats.write_queries, stats.rows_written), (3, 3, 3));
    assert_eq!((stats.reads, stats.read_queries, stats.rows_read, stats.errors), (2, 2, 3, 0));
}

#[tokio::test]
async fn a_snapshot_holds_one_moment_while_writes_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    let copy = tempfile::tempdir().unwrap();
    // Pairs: every committed state has an even number of rows.
    let pair = |n: u32| {
        database.write(move |transaction| {
            insert(transaction, &format!("{n} left"))?;
            insert(transaction, &format!("{n} right"))
        })
    };
    for n in 0..10 {
        pair(n).await.unwrap();
    }
    let under_way: Vec<_> = (10..200).map(pair).collect();
    let (snapshot, ()) = database.snapshot_with(|| ()).await.unwrap();
    for write in under_way {
        write.await.unwrap();
    }
    // These come after the snapshot, whatever the writer had committed by then.
    for n in 200..210 {
        pair(n).await.unwrap();
    }
    assert_eq!(names(&database).len(), 420);
    snapshot.copy_to(&copy.path().join("test.db")).unwrap();
    let held = names(&open(&copy)).len();
    // It contains everything acknowledged before it, no half pair, and nothing that came after it.
    assert!((20..=400).contains(&held) && held.is_multiple_of(2), "{held}");
}

#[tokio::test]
async fn a_closed_database_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    database.close();
    let write = database.write(|transaction| insert(transaction, "late"));
    assert!(matches!(write.await, Err(WriteError::Unavailable)));
    assert!(matches!(database.read(|_| Ok(())).await, Err(ReadError::Closed)));
    assert!(matches!(database.snapshot_with(|| ()).await, Err(DatabaseError::Closed)));
}

#[test]
fn every_commit_is_synced_unless_that_is_switched_off() {
    const FULL: i64 = 2;
    for (sync, wanted) in [(true, FULL), (false, 0)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let database = Database::open(&path, MIGRATIONS, DatabaseOptions { sync, ..options() }).unwrap();
        let found = database.write_blocking(|transaction| -> Result<i64, Refused> {
            Ok(transaction.pragma_query_value(None, "synchronous", |row| row.get(0))?)
        });
        assert_eq!(found.unwrap(), wanted);
    }
}

/// The files contain password hashes, and others may be allowed to list the directory.
#[test]
fn its_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let database = open(&directory);
    names(&database);
    for file in std::fs::read_dir(directory.path()).unwrap().flatten() {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
}

/// In the state in which earlier releases left them after restoring a backup.
#[test]
fn files_that_others_could_read_are_made_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let kept = open(&directory);
    kept.write_blocking(|transaction| insert(transaction, "kept")).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for file in ["test.db", "test.db-wal"] {
        let copy = crashed.path().join(file);
        std::fs::copy(directory.path().join(file), &copy).unwrap();
        std::fs::set_permissions(copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let database = open(&crashed);
    assert_eq!(names(&database), ["kept"]);
    for file in ["test.db", "test.db-wal", "test.db-shm"] {
        let mode = std::fs::metadata(crashed.path().join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
}
