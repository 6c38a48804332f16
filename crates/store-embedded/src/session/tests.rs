use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::family::Family;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::Sid;
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, EndByTime, USE_WRITTEN_EVERY};
use symbolon_store::port::{Created, RefreshTokens, Shards, Store as _};
use symbolon_store::shard::sid_of;

use super::*;
use crate::open::tests::options;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
const IDLE: Duration = Duration::from_secs(600);
const END: SessionEnd = SessionEnd::WithTokens { now: NOW, longest: HOUR };

fn session(issuer: &IssuerId, id: &SessionId, user: &str) -> Session {
    Session {
        user: UserId::parse(user).unwrap(),
        sid: sid_of(issuer, id),
        auth_time: NOW,
        created_at: NOW,
        expires_at: NOW + HOUR,
        amr: Amr::default(),
        clients: Box::default(),
        predecessors: Vec::from(["a", "b"].map(Sid::trusted)).into(),
        by_time: Default::default(),
    }
}

fn draw(store: &EmbeddedStore, random: &SeededRandom) -> SessionId {
    SessionId::new(store.place(ShardKind::Session).draw::<16>(ShardKind::Session, random))
}

/// Opens sessions, one for each way to end, of the users `user-0`, `user-1` and so on.
async fn open(store: &EmbeddedStore, by_time: &[EndByTime]) -> Vec<SessionId> {
    let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(7));
    let mut ids = Vec::new();
    for (number, by_time) in by_time.iter().enumerate() {
        let id = draw(store, &random);
        let opened = Session { by_time: *by_time, ..session(&issuer, &id, &format!("user-{number}")) };
        store.open_session(&issuer, &id, opened).await.unwrap().told().await.unwrap();
        ids.push(id);
    }
    ids
}

/// The users of the sessions that are claimed.
async fn claimed(store: &EmbeddedStore, at: Timestamp) -> Vec<String> {
    let ended = store.claim_ended_sessions(at, at + HOUR, 1_000).await.unwrap();
    ended.sessions.iter().map(|(_, session)| session.user.as_str().to_owned()).collect()
}

#[tokio::test]
async fn a_session_that_cannot_be_read_holds_up_no_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let issuer = IssuerId::default_issuer();
    let ids = open(&store, &[EndByTime::default().told(); 3]).await;
    let (_, key) = store.session_route(&issuer, &ids[1]);
    let end = (NOW + 2 * HOUR).millis();
    store.journal.append([Op::put(Table::Sessions, &key, end, b"no session")]);
    let mut users = claimed(&store, NOW + HOUR).await;
    users.sort_unstable();
    assert_eq!(users, ["user-0", "user-2"]);
    assert_eq!(claimed(&store, NOW + 2 * HOUR).await.len(), 2, "its entry is gone, the others come again");
}

#[tokio::test]
async fn memory_and_disk_say_the_same_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, user) = (IssuerId::default_issuer(), UserId::parse("ann").unwrap());
    let id = draw(&store, &SeededRandom::new(1));
    let created_at = NOW + Duration::from_millis(1);
    let by_time = EndByTime::after_idle(IDLE);
    let opened = Session { created_at, by_time, ..session(&issuer, &id, "ann") };
    let sid = opened.sid.clone();
    store.open_session(&issuer, &id, opened).await.unwrap().told().await.unwrap();
    let page = PageRequest { page: 1, limit: 10, search: None };
    for millis in [0, 1, 2, 999, 1_000] {
        let at = NOW + IDLE + USE_WRITTEN_EVERY + Duration::from_millis(millis);
        let in_memory = store.session_by_sid(&issuer, sid.as_str(), at).await.unwrap().in_memory();
        let listed = store.list_sessions(&issuer, &user, &page, at).await.unwrap();
        assert_eq!(listed.total, u64::from(in_memory.is_some()), "{millis} ms later");
        let is_given = !claimed(&store, at).await.is_empty();
        assert_eq!(is_given, in_memory.is_none(), "{millis} ms later");
    }
}

/// Uses are not written then.
#[tokio::test]
async fn a_session_in_use_does_not_end_while_the_disk_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(u64::MAX));
    let probe = Arc::clone(&free);
    let mut options = options(directory.path());
    options.journal.free_bytes = Some(Arc::new(move || Some(probe.load(Ordering::Relaxed))));
    let store = EmbeddedStore::open(options).unwrap();
    let (issuer, user) = (IssuerId::default_issuer(), UserId::parse("user-0").unwrap());
    let ids = open(&store, &[EndByTime::after_idle(IDLE); 2]).await;
    let has_room = |bytes: u64| {
        free.store(bytes, Ordering::Relaxed);
        store.journal.look_at_the_disk();
    };

    has_room(0);
    let mut at = NOW;
    for _ in 0..4 {
        at = at + IDLE;
        let found = store.session(&issuer, &ids[0], at).await.unwrap().in_memory();
        assert!(found.is_some(), "used {:?} after it began", at.since(NOW));
        store.sweep(at).await.unwrap();
    }
    assert!(claimed(&store, at).await.is_empty(), "nothing may be written");
    has_room(u64::MAX);
    assert_eq!(claimed(&store, at).await, ["user-1"]);
    let page = PageRequest { page: 1, limit: 10, search: None };
    assert_eq!(
        store.list_sessions(&issuer, &user, &page, at).await.unwrap().total,
        1,
        "its use is written now"
    );
    assert_eq!(claimed(&store, at + IDLE + USE_WRITTEN_EVERY).await, ["user-0"]);
}

/// Runs `work`, and returns how often it appended to the journal, and how many changes in all.
async fn written<T>(
    store: &EmbeddedStore,
    work: impl Future<Output = Result<Outcome<T>, StoreError>>,
) -> (T, u64, u64) {
    store.journal.flush().await;
    let before = store.journal.stats();
    let mut durable = symbolon_store::Durable::already();
    let value = work.await.unwrap().take(&mut durable);
    durable.wait().await.unwrap();
    let after = store.journal.stats();
    (value, after.appends - before.appends, after.ops - before.ops)
}

/// After a crash the journal holds a prefix of what was appended. So changes that must not be separated are appended at
/// once.
#[tokio::test]
async fn what_ends_together_is_given_to_the_journal_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
    let ids = [(); 4].map(|()| draw(&store, &random));
    for (id, user) in ids.iter().zip(["ann", "ann", "bob", "bob"]) {
        store.open_session(&issuer, id, session(&issuer, id, user)).await.unwrap().told().await.unwrap();
    }
    // The record, the entry in the user's list, and three tombstones: the session's own, and one for each that it
    // stands for.
    let (ended, appends, ops) = written(&store, store.end_session(&issuer, &ids[0], &END)).await;
    assert_eq!((ended.is_some(), appends, ops), (true, 1, 5));
    let sid = sid_of(&issuer, &ids[1]);
    let (ended, appends, ops) = written(&store, store.end_session_by_sid(&issuer, sid.as_str(), &END)).await;
    assert_eq!((ended.is_some(), appends, ops), (true, 1, 5));
    let bob = UserId::parse("bob").unwrap();
    let (ended, appends, ops) = written(&store, store.end_sessions_of(&issuer, &bob, &END)).await;
    assert_eq!((ended, appends, ops), (2, 2, 10), "each by itself");

    let grant = GrantId::draw(&issuer, "ann", NOW, &random);
    let family = Family {
        grant,
        client: ClientId::parse("app").unwrap(),
        user: UserId::parse("ann").unwrap(),
        sid: None,
        scope: Scope::parse("openid").unwrap(),
        auth_time: NOW,
        amr: Amr::default(),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: NOW + HOUR,
        expires_at: NOW + HOUR,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    };
    let id = store.place(ShardKind::Refresh).draw_family(NOW, &random);
    assert_eq!(store.begin_family(&issuer, &id, family.into()).await.unwrap().in_memory(), Created::Created);
    let tombstone = Tombstone::grant(grant, NOW + HOUR);
    let (ended, appends, ops) = written(&store, store.end_family(&issuer, &id, &tombstone)).await;
    assert_eq!((ended.is_some(), appends, ops), (true, 1, 3), "record, entry in the user's list, tombstone");
}

/// A piece of a listing reads a bounded number of records, whichever issuer they belong to.
#[tokio::test]
async fn a_piece_of_a_listing_is_bounded_work() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, other) = (IssuerId::default_issuer(), IssuerId::parse("other").unwrap());
    let random = SeededRandom::new(1);
    let many = (0..5_000).map(|_| {
        let id = draw(&store, &random);
        let session = session(&other, &id, "ann");
        (id, session)
    });
    store.open_sessions(&other, many.collect()).await.unwrap().told().await.unwrap();
    let first = store.next_sessions(&issuer, None, 10, NOW).await.unwrap();
    assert!(first.items.is_empty() && first.next.is_some(), "it stops before the end");
    let second = store.next_sessions(&issuer, first.next, 10, NOW).await.unwrap();
    assert!(second.items.is_empty() && second.next.is_none());
    let full = store.next_sessions(&other, None, 10, NOW).await.unwrap();
    assert_eq!((full.items.len(), full.next.is_some()), (10, true));
}
