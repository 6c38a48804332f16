use std::fs;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::expiry::GRACE_MILLIS;
use super::*;
use crate::fatal::OnFatal;

const NOW: u64 = 1_700_000_000_000;

fn clock() -> UnixMillis {
    Arc::new(|| NOW)
}

fn options() -> JournalOptions {
    JournalOptions {
        hold: Duration::ZERO,
        on_fatal: OnFatal::observed(|what| panic!("{what}")),
        ..JournalOptions::default()
    }
}

pub(super) fn open(path: &Path) -> Journal {
    Journal::open(path, clock(), options()).unwrap()
}

pub(super) fn put(key: u32, record: &[u8]) -> Op {
    Op::put(Table::Sessions, &key.to_be_bytes(), NEVER, record)
}

pub(super) fn wait(journal: &Journal, commit: CommitNumber) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(journal.wait(commit));
}

pub(super) fn get(journal: &Journal, key: u32) -> Option<Vec<u8>> {
    journal
        .get(Table::Sessions, &key.to_be_bytes())
        .unwrap()
        .map(|value| split_value(&value).unwrap().1.to_vec())
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_files(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A writer that stops before each sync until the test lets it continue.
struct Gate {
    reached: mpsc::Receiver<()>,
    go_on: mpsc::Sender<io::Result<()>>,
}

fn gated(options: JournalOptions) -> (JournalOptions, Gate) {
    let (reach, reached) = mpsc::channel();
    let (go_on, gone) = mpsc::channel::<io::Result<()>>();
    let gone = Mutex::new((reach, gone));
    let before_sync: BeforeSync = Arc::new(move || {
        let gate = gone.lock();
        // When the test is over, its ends of the channels are closed: then the writer drains.
        gate.0.send(()).unwrap_or_default();
        gate.1.recv().unwrap_or(Ok(()))
    });
    (JournalOptions { before_sync: Some(before_sync), ..options }, Gate { reached, go_on })
}

#[test]
fn what_was_appended_is_read_once_durable_and_removed_when_removed() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    assert!(journal.durable(CommitNumber::LOADED));
    let commit = journal.append([put(1, b"one"), put(2, b"two"), Op::put(Table::Meta, b"m", 7, b"mark")]);
    wait(&journal, commit);
    assert!(journal.durable(commit));
    assert_eq!(get(&journal, 1).as_deref(), Some(&b"one"[..]));
    let mark = journal.get(Table::Meta, b"m").unwrap().unwrap();
    assert_eq!(split_value(&mark), Some((7, &b"mark"[..])));
    let commit = journal.append([Op::remove(Table::Sessions, &1u32.to_be_bytes())]);
    wait(&journal, commit);
    assert_eq!(get(&journal, 1), None);
    let keys: Vec<_> =
        journal.scan(Table::Sessions, ..).unwrap().map(|record| record.unwrap().0.to_vec()).collect();
    assert_eq!(keys, [2u32.to_be_bytes()]);
}

#[test]
fn scans_stay_in_their_prefix_and_range_in_the_order_of_keys() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    let keys = ["b2", "a1", "b1", "c1"];
    wait(&journal, journal.append(keys.map(|key| Op::put(Table::Families, key.as_bytes(), NEVER, b""))));
    let names = |scan: Scan| -> Vec<String> {
        scan.map(|record| String::from_utf8(record.unwrap().0.to_vec()).unwrap()).collect()
    };
    assert_eq!(names(journal.scan_prefix(Table::Families, b"b").unwrap()), ["b1", "b2"]);
    assert_eq!(names(journal.scan(Table::Families, b"b1".to_vec()..=b"b2".to_vec()).unwrap()), ["b1", "b2"]);
    assert_eq!(names(journal.scan(Table::Families, ..b"b1".to_vec()).unwrap()), ["a1"]);
}

#[test]
fn many_appends_share_one_sync_and_the_last_write_of_a_key_wins() {
    let directory = tempfile::tempdir().unwrap();
    let (options, gate) = gated(options());
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    let first = journal.append([put(0, b"0")]);
    gate.reached.recv().unwrap();
    let commits: Vec<_> = (0..1_000u32).map(|n| journal.append([put(7, &n.to_be_bytes())])).collect();
    assert!(commits.iter().all(|commit| *commit == commits[0] && *commit > first));
    gate.go_on.send(Ok(())).unwrap();
    gate.go_on.send(Ok(())).unwrap();
    wait(&journal, commits[0]);
    let stats = journal.stats();
    assert_eq!((stats.batches, stats.appends, stats.ops), (2, 1_001, 1_001));
    assert_eq!(get(&journal, 7), Some(999u32.to_be_bytes().to_vec()));
}

#[test]
fn nothing_is_acknowledged_or_read_before_its_sync() {
    let directory = tempfile::tempdir().unwrap();
    let (options, gate) = gated(options());
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    let commit = journal.append([put(1, b"one")]);
    gate.reached.recv().unwrap();
    let mut waiting = pin!(journal.wait(commit));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
    assert!(!journal.durable(commit));
    assert_eq!(get(&journal, 1), None);
    gate.go_on.send(Ok(())).unwrap();
    wait(&journal, commit);
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(()));
    assert_eq!(get(&journal, 1).as_deref(), Some(&b"one"[..]));
}

#[test]
fn a_failed_sync_is_fatal_and_its_waiters_hear_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (fatal, died) = mpsc::channel();
    let options = JournalOptions {
        on_fatal: OnFatal::observed(move |what| fatal.send(what.to_owned()).unwrap()),
        ..options()
    };
    let (options, gate) = gated(options);
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    let commit = journal.append([put(1, b"one")]);
    gate.reached.recv().unwrap();
    gate.go_on.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
    assert!(died.recv().unwrap().contains("durable"));
    let mut waiting = pin!(journal.wait(commit));
    assert_eq!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    assert!(!journal.writable());
    assert!(!journal.durable(journal.append([put(2, b"two")])));
}

#[test]
fn a_panic_in_the_engine_is_fatal_too() {
    let directory = tempfile::tempdir().unwrap();
    let (fatal, died) = mpsc::channel();
    let options = JournalOptions {
        on_fatal: OnFatal::observed(move |what| fatal.send(what.to_owned()).unwrap()),
        before_sync: Some(Arc::new(|| panic!("as an engine may"))),
        ..options()
    };
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    let commit = journal.append([put(1, b"one")]);
    assert!(died.recv().unwrap().contains("panicked"));
    assert!(!journal.writable() && !journal.durable(commit));
}

#[test]
fn a_full_disk_refuses_writes_before_they_are_made_and_reads_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(1_000));
    let probe = Arc::clone(&free);
    let options = JournalOptions {
        reserve_bytes: 500,
        free_bytes: Some(Arc::new(move || Some(probe.load(Ordering::Relaxed)))),
        ..options()
    };
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    assert!(journal.writable());
    let before = journal.append([put(1, b"one")]);
    free.store(500, Ordering::Relaxed);
    journal.space.look();
    assert!(!journal.writable());
    wait(&journal, before);
    assert_eq!(get(&journal, 1).as_deref(), Some(&b"one"[..]));
    free.store(501, Ordering::Relaxed);
    journal.space.look();
    assert!(journal.writable());
}

#[test]
fn everything_acknowledged_survives_a_crash_and_half_a_batch_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let crashed = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    for round in 0..50u32 {
        let commit = journal.append((0..20).map(|n| put(round * 20 + n, &[7; 300])));
        wait(&journal, commit);
    }
    // The files that a killed process leaves: nothing was closed.
    copy_files(directory.path(), crashed.path());
    // A state that a power cut may leave: the end of a batch never reached the disk.
    let active = crashed.path().join("0.jnl");
    let mut log = fs::read(&active).unwrap();
    let written = log.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    log.truncate(written - 100);
    log.resize(64 << 20, 0);
    fs::write(&active, log).unwrap();
    let reopened = open(crashed.path());
    let count = reopened.scan(Table::Sessions, ..).unwrap().map(Result::unwrap).count();
    assert_eq!(count, 49 * 20);
    wait(&reopened, reopened.append([put(5_000, b"goes on")]));
    drop(reopened);
    assert_eq!(get(&open(crashed.path()), 5_000).as_deref(), Some(&b"goes on"[..]));
}

#[test]
fn dropping_drains_what_was_appended() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    for n in 0..100 {
        journal.append([put(n, b"x")]);
    }
    drop(journal);
    assert_eq!(open(directory.path()).scan(Table::Sessions, ..).unwrap().count(), 100);
}

#[test]
fn a_snapshot_stays_at_its_commit_while_writes_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    let commit = journal.append([put(1, b"old"), Op::put(Table::Meta, b"m", NEVER, b"old")]);
    wait(&journal, commit);
    let snapshot = journal.snapshot().unwrap();
    assert_eq!(snapshot.commit(), commit);
    let removed = Op::remove(Table::Meta, b"m");
    wait(&journal, journal.append([put(1, b"new"), put(2, b"new"), removed]));
    let records: Vec<_> = snapshot
        .records()
        .map(|record| {
            let (table, (key, value)) = record.unwrap();
            (table, key.to_vec(), split_value(&value).unwrap().1.to_vec())
        })
        .collect();
    let expected = [
        (Table::Sessions, 1u32.to_be_bytes().to_vec(), b"old".to_vec()),
        (Table::Meta, b"m".to_vec(), b"old".to_vec()),
    ];
    assert_eq!(records, expected);
}

#[test]
fn compaction_drops_what_ended_a_quarter_of_an_hour_ago_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    let ends = [NEVER, NOW - GRACE_MILLIS - 1, NOW - GRACE_MILLIS, NOW + 1];
    wait(&journal, journal.append(ends.map(|end| Op::put(Table::Revocations, &end.to_be_bytes(), end, b""))));
    journal.engine().unwrap().tables.revocations.rotate_memtable_and_wait().unwrap();
    journal.compact(Table::Revocations).unwrap();
    let mut left: Vec<_> = journal
        .scan(Table::Revocations, ..)
        .unwrap()
        .map(|record| split_value(&record.unwrap().1).unwrap().0)
        .collect();
    left.sort_unstable();
    assert_eq!(left, [NEVER, NOW - GRACE_MILLIS, NOW + 1]);
}

#[test]
fn an_older_version_with_a_later_end_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    for end in [NOW + 1, 1] {
        wait(&journal, journal.append([Op::put(Table::Sessions, b"k", end, b"")]));
        journal.engine().unwrap().tables.sessions.rotate_memtable_and_wait().unwrap();
    }
    journal.compact(Table::Sessions).unwrap();
    assert!(journal.get(Table::Sessions, b"k").unwrap().is_none());
}

#[test]
fn a_waiter_polled_often_is_listed_once_per_waker() {
    struct Counting(AtomicUsize);
    impl std::task::Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let (options, gate) = gated(options());
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    let commit = journal.append([put(1, b"one")]);
    let counting = Arc::new(Counting(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&counting));
    let mut waiting = pin!(journal.wait(commit));
    for _ in 0..5 {
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    gate.reached.recv().unwrap();
    gate.go_on.send(Ok(())).unwrap();
    journal.close().unwrap();
    assert_eq!(counting.0.load(Ordering::Relaxed), 1);
}

/// Rewriting the same keys until many times the size of the journals was written must not fill the disk. The bound:
/// three of fjall's journals (one being written, up to two waiting for memtables), and the live records some times
/// over.
#[test]
fn the_disk_stays_bounded_under_rewriting() {
    let directory = tempfile::tempdir().unwrap();
    let journal = open(directory.path());
    let mut most = 0;
    for round in 0..320u32 {
        // Sessions take nearly all; a rare write of another table must not hold the journals back.
        let ops = (0..1_000).map(|n| put(n, &[round.to_le_bytes()[0]; 1_000]));
        let rare = Op::put(Table::Meta, b"seen", NEVER, &round.to_be_bytes());
        wait(&journal, journal.append(ops.chain([rare])));
        most = most.max(journal.disk_bytes().unwrap());
    }
    let bytes = journal.stats().bytes;
    assert!(bytes > 320_000_000);
    assert!(most < (3 * 64 + 64) << 20, "{most} bytes on disk");
}

#[test]
fn without_sync_a_batch_is_with_the_system_when_it_is_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("journal"), directory.path().join("copy"));
    let journal = Journal::open(&path, clock(), JournalOptions { sync: SyncMode::Off, ..options() }).unwrap();
    wait(&journal, journal.append([put(1, b"one")]));
    copy_files(&path, &copy);
    assert_eq!(get(&open(&copy), 1).as_deref(), Some(&b"one"[..]));
}

fn journal_bytes(path: &Path) -> u64 {
    fs::metadata(torn_tail::newest(path).unwrap().unwrap()).unwrap().len()
}

#[test]
fn after_a_clean_stop_there_is_nothing_to_replay_and_nothing_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..3u32 {
        let journal = open(directory.path());
        // The records that earlier rounds wrote, overwrote and removed.
        for earlier in 0..round {
            assert_eq!(get(&journal, 10 * earlier).as_deref(), Some(&round.to_be_bytes()[..]));
            assert_eq!(get(&journal, 10 * earlier + 1), None);
            assert_eq!(get(&journal, 10 * earlier + 2).as_deref(), Some(&b"kept"[..]));
        }
        wait(&journal, journal.append([put(10 * round + 1, b"for a while"), put(10 * round + 2, b"kept")]));
        let overwritten = (0..=round).map(|of| put(10 * of, &(round + 1).to_be_bytes()));
        let removed = Op::remove(Table::Sessions, &(10 * round + 1).to_be_bytes());
        wait(&journal, journal.append(overwritten.chain([removed])));
        journal.append([Op::put(Table::Meta, b"unawaited", NEVER, &round.to_be_bytes())]);
        assert!(journal_bytes(directory.path()) > 0);
        journal.close().unwrap();
        assert_eq!(journal_bytes(directory.path()), 0);
        let value = journal.get(Table::Meta, b"unawaited").unwrap().unwrap();
        assert_eq!(split_value(&value).unwrap().1, round.to_be_bytes());
    }
}

#[test]
fn without_room_on_the_disk_a_clean_stop_leaves_the_journal_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let probed = Arc::clone(&free);
    let free_bytes: crate::free_space::FreeBytes = Arc::new(move || Some(probed.load(Ordering::Relaxed)));
    let options = JournalOptions { free_bytes: Some(free_bytes), ..options() };
    let journal = Journal::open(directory.path(), clock(), options).unwrap();
    wait(&journal, journal.append([put(1, b"one")]));
    free.store(0, Ordering::Relaxed);
    journal.look_at_the_disk();
    journal.close().unwrap();
    assert!(journal_bytes(directory.path()) > 0);
    drop(journal);
    assert_eq!(get(&open(directory.path()), 1).as_deref(), Some(&b"one"[..]));
}
