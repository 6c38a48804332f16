use std::time::Duration;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::family::Family;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::Sid;
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::Amr;
use symbolon_store::port::{Created, RefreshTokens, Shards};
use symbolon_store::shard::sid_of;

use super::*;
use crate::open::tests::options;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
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
