use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::family::{Family, FamilyId, Rotation, RotationRequest};
use symbolon_protocol::grant::{GrantId, Lineage, Slot};
use symbolon_protocol::id::{ClientId, IssuerId, Jti, Sid, UserId};
use symbolon_protocol::revocation::{SessionEnd, Target, Tombstone};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, Session, SessionId};
use symbolon_protocol::user::{User, UserProfile};
use symbolon_store::backup::BackupError;
use symbolon_store::port::{PageRequest, RefreshTokens, Revocations, Sessions, Store, Users};
use symbolon_store::shard::{FirstShards, Route, ShardKind, sid_of};

use super::*;
use crate::database::DatabaseOptions;
use crate::fatal::OnFatal;
use crate::journal::JournalOptions;
use crate::{EmbeddedOptions, EmbeddedStore};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_500);
const HOUR: Duration = Duration::from_secs(3_600);

fn issuer() -> IssuerId {
    IssuerId::default_issuer()
}

pub(super) fn open(path: &Path) -> EmbeddedStore {
    let on_fatal = OnFatal::observed(|what| panic!("{what}"));
    let options = EmbeddedOptions {
        path: path.to_owned(),
        shards: FirstShards::default(),
        journal: JournalOptions { on_fatal: on_fatal.clone(), reserve_bytes: 0, ..JournalOptions::default() },
        database: DatabaseOptions { on_fatal, ..DatabaseOptions::default() },
        now: Arc::new(|| NOW.millis()),
        accept_clock: false,
    };
    EmbeddedStore::open(options).unwrap()
}

pub(super) fn restore_at(backup: &Path, data: &Path, keep_sessions: bool) -> Result<Restored, BackupFailure> {
    // On a thread outside of the test's runtime, as on the command line.
    let (backup, data) = (backup.to_owned(), data.to_owned());
    let options = RestoreOptions { keep_sessions, now: Arc::new(|| (NOW + HOUR).millis()) };
    std::thread::spawn(move || restore(&backup, &data, &options)).join().unwrap()
}

fn user(name: &str) -> User {
    User {
        id: UserId::trusted(name),
        email: Some(format!("{name}@example.com")),
        email_verified: true,
        profile: UserProfile::default(),
        active: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn session_id(name: &str) -> SessionId {
    SessionId::new(format!("se_1_{}_{name}", name.len() % 64))
}

fn session(user: &str, id: &SessionId) -> Session {
    Session {
        user: UserId::trusted(user),
        sid: sid_of(&issuer(), id),
        auth_time: NOW,
        created_at: NOW,
        expires_at: NOW + 24 * HOUR,
        amr: Amr::default(),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: Default::default(),
    }
}

fn user_tombstone(name: &str) -> Tombstone {
    Tombstone::up_to(Target::User(UserId::trusted(name)), Slot::of(&issuer(), name), NOW, NOW + 48 * HOUR)
}

/// The lineage of a token of the user that was issued long after every epoch of these tests.
fn lineage(name: &str) -> Lineage {
    Lineage {
        slot: Slot::of(&issuer(), name),
        tokens: Vec::new(),
        grant: None,
        session: None,
        user: Some(UserId::trusted(name)),
        client: None,
        grantor: None,
        born: NOW,
        issued: Some(NOW + 10 * HOUR),
    }
}

fn family(grant: GrantId) -> Family {
    Family {
        grant,
        client: ClientId::trusted("app"),
        user: UserId::trusted("ann"),
        sid: Some(Sid::trusted("gone")),
        scope: Scope::parse("openid").unwrap(),
        auth_time: NOW,
        amr: Amr::default(),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: NOW + 240 * HOUR,
        expires_at: NOW + 240 * HOUR,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    }
}

fn rotation(presented: u32) -> RotationRequest {
    RotationRequest {
        presented,
        now: NOW + 2 * HOUR,
        retry_window: Duration::ZERO,
        idle: 24 * HOUR,
        rotate: true,
        tombstone_until: NOW + 48 * HOUR,
    }
}

async fn revoked(store: &EmbeddedStore, lineage: &Lineage) -> bool {
    Revocations::revoked(store, &issuer(), lineage).await.unwrap().in_memory()
}

/// A store with one of each kind of record, and its backup's directory.
pub(super) async fn backed_up(root: &Path) -> (EmbeddedStore, PathBuf) {
    let store = open(&root.join("data"));
    store.create_user(&issuer(), user("ann"), None).await.unwrap();
    let id = session_id("ann");
    store.open_session(&issuer(), &id, session("ann", &id)).await.unwrap().told().await.unwrap();
    store.revoke(&issuer(), &[user_tombstone("bob")]).await.unwrap().told().await.unwrap();
    let target = root.join("backup");
    let report = Store::backup(&store, &target, NOW).await.unwrap();
    assert!(report.records >= 3 && report.commit >= 2 && report.bytes > 0, "{report:?}");
    (store, target)
}

fn entries(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// One writer: creates users with a session each, and ends every third of them, tombstone first. `acknowledged` counts
/// the completed rounds.
async fn write_on(
    store: Arc<EmbeddedStore>,
    writer: u32,
    acknowledged: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) {
    let end = SessionEnd::WithTokens { now: NOW, longest: HOUR };
    let mut round = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let name = format!("user-{writer}-{round}");
        store.create_user(&issuer(), user(&name), None).await.unwrap();
        let id = session_id(&name);
        store.open_session(&issuer(), &id, session(&name, &id)).await.unwrap().told().await.unwrap();
        if round.is_multiple_of(3) {
            store.revoke(&issuer(), &[user_tombstone(&name)]).await.unwrap().told().await.unwrap();
            let ended =
                store.end_sessions_of(&issuer(), &UserId::trusted(name.as_str()), &end).await.unwrap();
            ended.told().await.unwrap();
            assert!(store.delete_user(&issuer(), &UserId::trusted(name.as_str())).await.unwrap());
        }
        round += 1;
        acknowledged.store(round, Ordering::Release);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_the_halves_fit_and_nothing_acknowledged_is_missing() {
    const WRITERS: u32 = 8;
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&root.path().join("data")));
    let stop = Arc::new(AtomicBool::new(false));
    let counts: Vec<Arc<AtomicU64>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let writers: Vec<_> = (0..WRITERS)
        .zip(&counts)
        .map(|(n, count)| tokio::spawn(write_on(Arc::clone(&store), n, Arc::clone(count), Arc::clone(&stop))))
        .collect();
    let mut backups = Vec::new();
    for n in 0..5 {
        // Each backup is made some rounds of every writer after the one before.
        while counts.iter().any(|count| count.load(Ordering::Acquire) < 10 * (n + 1)) {
            tokio::task::yield_now().await;
        }
        let before: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Acquire)).collect();
        let target = root.path().join(format!("backup-{n}"));
        Store::backup(&*store, &target, NOW).await.unwrap();
        backups.push((target, before));
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    for (n, (target, before)) in backups.iter().enumerate() {
        let data = root.path().join(format!("restored-{n}"));
        restore_at(target, &data, true).unwrap();
        let restored = open(&data);
        for (writer, acknowledged) in before.iter().enumerate() {
            for round in 0..acknowledged + 5 {
                check_round(&restored, &format!("user-{writer}-{round}"), round, round < *acknowledged).await;
            }
        }
    }
}

/// If `complete`, the round was acknowledged before the backup began. If not, any prefix of its changes may be there.
async fn check_round(store: &EmbeddedStore, name: &str, round: u64, complete: bool) {
    let id = UserId::trusted(name);
    let known = store.user(&issuer(), &id).await.unwrap().is_some();
    let ended = revoked(store, &lineage(name)).await;
    let session = store.session(&issuer(), &session_id(name), NOW).await.unwrap().in_memory().is_some();
    let page = PageRequest { page: 1, limit: 10, search: None };
    let listed = store.list_sessions(&issuer(), &id, &page, NOW).await.unwrap().total == 1;
    assert_eq!(session, listed, "{name}: a session without its entry under the user, or the other way round");
    let is_ended_at_last = round.is_multiple_of(3);
    if complete {
        assert_eq!(
            (known, session, ended),
            (!is_ended_at_last, !is_ended_at_last, is_ended_at_last),
            "{name}"
        );
        return;
    }
    assert!(known || !session, "{name}: a session whose user was not there yet, or is gone");
    assert!(known || ended || !session, "{name}: a user is gone whose tokens live");
}

#[tokio::test]
async fn a_restore_begins_an_epoch_that_ends_sessions_and_access_tokens_but_not_families() {
    let root = tempfile::tempdir().unwrap();
    let (store, _) = backed_up(root.path()).await;
    let random = SeededRandom::new(7);
    let grant = GrantId::draw(&issuer(), "ann", NOW, &random);
    let route: Route = symbolon_store::port::Shards::place(&store, ShardKind::Refresh);
    let id: FamilyId = route.draw_family(NOW, &random);
    let begun = store.begin_family(&issuer(), &id, family(grant).into()).await.unwrap();
    begun.told().await.unwrap();
    let target = root.path().join("second");
    store.backup(&target, NOW).await.unwrap();
    // A change that is not in the backup: the family is rotated.
    store.rotate(&issuer(), &id, &rotation(1)).await.unwrap().told().await.unwrap();

    let data = root.path().join("restored");
    let result = restore_at(&target, &data, false).unwrap();
    assert_eq!((result.made_at, result.left_out, result.epoch), (NOW, 2, Some(NOW + HOUR)));
    let restored = open(&data);
    let session = restored.session(&issuer(), &session_id("ann"), NOW).await.unwrap().in_memory();
    assert!(session.is_none(), "a session of before");
    let token =
        |issued| Lineage { tokens: vec![Jti::trusted("any")], grant: Some(grant), issued, ..lineage("ann") };
    assert!(revoked(&restored, &token(Some(NOW))).await, "an access token of before");
    assert!(revoked(&restored, &token(Some(NOW + HOUR))).await, "one of the same moment");
    assert!(
        !revoked(&restored, &token(Some(NOW + HOUR + Duration::from_millis(1)))).await,
        "a new one of the grant"
    );
    assert!(!revoked(&restored, &token(None)).await, "the family's own check");
    assert!(revoked(&restored, &lineage("bob")).await, "an earlier tombstone");
    let step = restored.rotate(&issuer(), &id, &rotation(2)).await.unwrap().in_memory();
    assert!(matches!(step, Rotation::Rotated(family) if family.version == 3), "the family goes forward");
    assert!(restored.user(&issuer(), &UserId::trusted("ann")).await.unwrap().is_some());

    drop(restored);
    assert!(revoked(&open(&data), &token(Some(NOW))).await, "the epoch outlives a restart");
}

#[tokio::test]
async fn sessions_and_access_tokens_are_kept_on_demand() {
    let root = tempfile::tempdir().unwrap();
    let (_store, target) = backed_up(root.path()).await;
    let data = root.path().join("restored");
    let result = restore_at(&target, &data, true).unwrap();
    assert_eq!((result.left_out, result.epoch), (0, None));
    let restored = open(&data);
    assert!(restored.session(&issuer(), &session_id("ann"), NOW).await.unwrap().in_memory().is_some());
    assert!(!revoked(&restored, &Lineage { issued: Some(NOW), ..lineage("ann") }).await);
}

#[tokio::test]
async fn a_backup_is_private_complete_and_has_no_master_key() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("data")).unwrap();
    fs::write(root.path().join("data/master.key"), "secret").unwrap();
    let (_store, target) = backed_up(root.path()).await;
    assert_eq!(entries(&target), [SUMS, MANIFEST, JOURNAL, DATABASE]);
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!root.path().join("backup.partial").exists());
}

#[tokio::test]
async fn a_damaged_file_is_named_and_leaves_no_data_directory() {
    let root = tempfile::tempdir().unwrap();
    let (_store, target) = backed_up(root.path()).await;
    let data = root.path().join("restored");
    for name in FILES {
        let path = target.join(name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        for damaged in [flipped, whole[..whole.len() - 1].to_vec(), Vec::new()] {
            fs::write(&path, damaged).unwrap();
            let error = restore_at(&target, &data, false).unwrap_err();
            assert!(
                matches!(&error, BackupFailure::Damaged { path: named, .. } if *named == path),
                "{error}"
            );
        }
        fs::remove_file(&path).unwrap();
        assert!(restore_at(&target, &data, false).unwrap_err().to_string().contains(name));
        fs::write(&path, whole).unwrap();
    }
    let sums = fs::read_to_string(target.join(SUMS)).unwrap();
    fs::write(target.join(SUMS), sums.lines().next().unwrap()).unwrap();
    assert!(restore_at(&target, &data, false).unwrap_err().to_string().contains(SUMS));
    assert!(!data.exists() && !root.path().join("restored.restoring").exists());
    fs::write(target.join(SUMS), sums).unwrap();
    restore_at(&target, &data, false).unwrap();
}

/// Changes a file and rewrites the sums to match.
fn tampered(target: &Path, name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let path = target.join(name);
    fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    fs::write(target.join(SUMS), verify::sums(target).unwrap().0).unwrap();
}

#[tokio::test]
async fn a_newer_format_and_nonsense_under_a_right_digest_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let (_store, target) = backed_up(root.path()).await;
    let data = root.path().join("restored");
    let manifest = fs::read(target.join(MANIFEST)).unwrap();
    tampered(&target, MANIFEST, |_| br#"{"format":2,"what":"ever"}"#.to_vec());
    assert!(matches!(restore_at(&target, &data, false), Err(BackupFailure::NewerFormat { found: 2, .. })));
    tampered(&target, MANIFEST, |_| b"{}".to_vec());
    assert!(matches!(restore_at(&target, &data, false), Err(BackupFailure::Damaged { .. })));
    tampered(&target, MANIFEST, |_| manifest);
    let journal = fs::read(target.join(JOURNAL)).unwrap();
    let cuts = [0, 5, 20, 40, journal.len() / 2, journal.len() - 1];
    let mut bad: Vec<Vec<u8>> = cuts.iter().map(|cut| journal[..*cut].to_vec()).collect();
    bad.push([&journal[..], b"more"].concat());
    bad.push([&journal[..19], &[4], b"what", &[0, 0]].concat());
    bad.push([&journal[..28], &[0, 1, 255, 255, 255, 255, 1]].concat());
    for bytes in bad {
        tampered(&target, JOURNAL, |_| bytes);
        let error = restore_at(&target, &data, false).unwrap_err();
        assert!(error.to_string().contains(JOURNAL), "{error}");
        assert!(!data.exists());
    }
}

#[tokio::test]
async fn what_is_there_already_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    let (store, target) = backed_up(root.path()).await;
    let error = Store::backup(&store, &target, NOW).await.unwrap_err();
    assert!(matches!(&error, BackupError::Target(text) if text.contains("not empty")), "{error}");
    let taken = root.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("mine"), "1").unwrap();
    assert!(matches!(restore_at(&target, &taken, false), Err(BackupFailure::DataNotEmpty(_))));
    assert_eq!(entries(&taken), ["mine"]);
    let left = root.path().join("other.partial");
    fs::create_dir(&left).unwrap();
    let error = store.backup(&root.path().join("other"), NOW).await.unwrap_err();
    assert!(matches!(error, BackupFailure::Leftover(path) if path == left));
    let error = Store::backup(&store, &root.path().join("no/such/parent"), NOW).await.unwrap_err();
    assert!(matches!(error, BackupError::Target(_)));
    // An empty directory may be the target too.
    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    store.backup(&empty, NOW).await.unwrap();
    let data = root.path().join("data-2");
    fs::create_dir(&data).unwrap();
    restore_at(&empty, &data, false).unwrap();
    open(&data);
}
