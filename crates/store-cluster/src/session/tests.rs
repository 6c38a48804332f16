//! Commands that a network delivers twice or late, and primaries without replicas.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::code::AuthorizationCode;
use symbolon_protocol::session::{Amr, AuthenticationMethod, EndByTime, TOLD_WITHIN, USE_WRITTEN_EVERY};
use symbolon_protocol::time::KEPT_AFTER_END;
use symbolon_store::port::{Codes, Redemption, Shards};
use symbolon_store::shard::sid_of;

use super::*;
use crate::engines::{RedisCluster, RedisServerOptions};
use crate::redis::{Script, ScriptCall};
use crate::testing::{NOW, Place as TestPlace, code_grant};

fn session(store: &ClusterStore, number: u64) -> (SessionId, Session) {
    let id = SessionId::new(
        store.place(ShardKind::Session).draw::<16>(ShardKind::Session, &SeededRandom::new(number)),
    );
    let session = Session {
        user: UserId::parse("ann").unwrap(),
        sid: sid_of(&IssuerId::default_issuer(), &id),
        auth_time: NOW,
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(3_600),
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: Default::default(),
    };
    (id, session)
}

/// How long the sessions of these tests may be idle, and how long they live.
const IDLE: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3_600);

/// Opens a session that ends as `by_time` says.
async fn open_session(store: &ClusterStore, number: u64, by_time: EndByTime) -> (SessionId, SessionPlace) {
    let (id, mut opened) = session(store, number);
    opened.by_time = by_time;
    let issuer = IssuerId::default_issuer();
    drop(store.open_session(&issuer, &id, opened).await.unwrap());
    let place = store.session_place(&issuer, &id);
    (id, place)
}

/// What Redis has of a session: last use and document.
async fn stored(store: &ClusterStore, place: SessionPlace) -> String {
    let script = Script::new("return redis.call('GET', KEYS[1])");
    let key = store.session_key(place);
    let call = ScriptCall { keys: &[&key], arguments: &[] };
    store.redis.run(&script, call).await.unwrap().read().unwrap()
}

/// Replaces that, as somebody does who knows nothing of the keys beside it.
async fn store_record(store: &ClusterStore, place: SessionPlace, record: &str) {
    let script = Script::new("redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL') return 1");
    let key = store.session_key(place);
    let call = ScriptCall { keys: &[&key], arguments: &[record.as_bytes()] };
    store.redis.run(&script, call).await.unwrap();
}

/// That version compares the document that it would write with the one that is stored, and tries until they are the same. And it
/// writes nothing that it does not know.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_the_version_before_neither_see_nor_lose_how_a_session_ends() {
    let (store, issuer) = (TestPlace::new("versions-of-sessions").open().await, IssuerId::default_issuer());
    let (told, silent) = (ClientId::parse("told").unwrap(), ClientId::parse("silent").unwrap());
    let (id, place) = open_session(&store, 20, EndByTime::after_idle(IDLE)).await;
    drop(store.note_client(&issuer, &id, &told, true).await.unwrap());
    let record = stored(&store, place).await;
    assert!(!record.contains("by_time"), "{record}");
    assert!(record.contains(r#""clients":["told"]"#), "{record}");

    store_record(&store, place, &record.replace(r#"["told"]"#, r#"["told","older"]"#)).await;
    let found = store.session(&issuer, &id, NOW).await.unwrap().in_memory().unwrap();
    assert_eq!((found.clients.len(), found.by_time), (2, EndByTime::after_idle(IDLE).told()));
    assert!(store.note_client(&issuer, &id, &silent, false).await.unwrap().in_memory());
    let found = store.session(&issuer, &id, NOW).await.unwrap().in_memory().unwrap();
    assert_eq!((found.clients.len(), found.by_time), (3, EndByTime::after_idle(IDLE).told()));

    let over = NOW + IDLE + USE_WRITTEN_EVERY;
    let claimed = store.claim_ended_sessions(over, over + HOUR, 10).await.unwrap();
    assert_eq!(claimed.sessions.len(), 1);
    drop(store.end_session(&issuer, &id, &SessionEnd::Succeeded { dropped: None }).await.unwrap());
    let script = Script::new("return redis.call('EXISTS', KEYS[1])");
    let key = store.by_time_key(place);
    let call = ScriptCall { keys: &[&key], arguments: &[] };
    assert_eq!(
        store.redis.run(&script, call).await.unwrap().read::<u8>().unwrap(),
        0,
        "it ends with the session"
    );
}

/// A newer version may write more than this one knows.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_a_newer_version_takes_a_client() {
    let (store, issuer) = (TestPlace::new("newer-sessions").open().await, IssuerId::default_issuer());
    let (id, place) = open_session(&store, 21, EndByTime::default()).await;
    let record = stored(&store, place).await;
    store_record(&store, place, &record.replace(r#""session":{"#, r#""session":{"newer":1,"#)).await;
    let client = ClientId::parse("app").unwrap();
    let noted = store.note_client(&issuer, &id, &client, false);
    let noted = tokio::time::timeout(Duration::from_secs(10), noted).await.expect("it comes to an end");
    assert!(noted.unwrap().in_memory());
    let found = store.session(&issuer, &id, NOW).await.unwrap().in_memory().unwrap();
    assert_eq!(*found.clients, [client]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_read_holds_up_no_end() {
    let store = TestPlace::new("unreadable-sessions").open().await;
    let by_time = EndByTime::default().told();
    let (_, unreadable) = open_session(&store, 22, by_time).await;
    let (other, _) = open_session(&store, 23, by_time).await;
    store_record(&store, unreadable, "L1800000000000{").await;
    let over = NOW + HOUR;
    let claimed = store.claim_ended_sessions(over, over + HOUR, 10).await.unwrap();
    let sids: Vec<_> = claimed.sessions.iter().map(|(_, session)| session.sid.clone()).collect();
    assert_eq!(sids, [sid_of(&IssuerId::default_issuer(), &other)]);
}

/// The list by which sessions are moved to another store has them for as long as they are kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_to_be_told_of_is_exported_until_it_is_kept_no_more() {
    let (store, issuer) = (TestPlace::new("listed-ends").open().await, IssuerId::default_issuer());
    open_session(&store, 24, EndByTime::default().told()).await;
    let exported = async |at: Timestamp| {
        // One sweep looks through a part of the list.
        let mut gone = 0;
        for _ in 0..16 {
            gone += store.sweep_session_lists(std::slice::from_ref(&issuer), at).await.unwrap();
        }
        let (records, _) = store.next_found(&issuer, None, 10, at - KEPT_AFTER_END).await.unwrap();
        (gone, records.len())
    };
    let told_until = NOW + HOUR + TOLD_WITHIN;
    assert_eq!(exported(told_until - Duration::from_secs(1)).await, (0, 1));
    assert_eq!(exported(told_until + KEPT_AFTER_END).await, (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_what_opened_a_session_does_not_bring_it_back() {
    let (store, issuer) = (TestPlace::new("late-sessions").open().await, IssuerId::default_issuer());
    let (id, opened) = session(&store, 1);
    drop(store.open_session(&issuer, &id, opened.clone()).await.unwrap());
    let client = ClientId::parse("app").unwrap();
    drop(store.note_client(&issuer, &id, &client, false).await.unwrap());

    drop(store.open_session(&issuer, &id, opened.clone()).await.unwrap());
    let found = store.session(&issuer, &id, NOW).await.unwrap().in_memory().unwrap();
    assert_eq!(*found.clients, [client]);

    drop(store.end_session(&issuer, &id, &SessionEnd::Succeeded { dropped: None }).await.unwrap());
    drop(store.open_session(&issuer, &id, opened).await.unwrap());
    assert!(store.session(&issuer, &id, NOW).await.unwrap().in_memory().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_what_kept_a_code_does_not_make_it_fresh() {
    let (store, issuer) = (TestPlace::new("late-codes").open().await, IssuerId::default_issuer());
    let random = SeededRandom::new(2);
    let code = AuthorizationCode::new(store.place(ShardKind::Code).draw::<32>(ShardKind::Code, &random));
    let grant = code_grant(&issuer, &random, NOW);
    store.keep_drawn_code(&issuer, &code, &grant, NOW).await.unwrap();
    let at = store.code(&issuer, &code, NOW).await.unwrap().unwrap().at;
    let key = store.code_key(&at);
    let ttl = Script::new("return redis.call('PTTL', KEYS[1])");
    let left = async || {
        let call = ScriptCall { keys: &[&key], arguments: &[] };
        store.redis.run(&ttl, call).await.unwrap().read::<u64>().unwrap()
    };
    assert!((1..=60_000).contains(&left().await), "an unused one is kept until its end and no longer");
    assert_eq!(store.redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
    assert!((900_001..=960_000).contains(&left().await), "that it was used is known for a while after");
    store.keep_drawn_code(&issuer, &code, &grant, NOW).await.unwrap();
    assert_eq!(store.redeem_code(&at, NOW).await.unwrap(), Redemption::Replayed);
}

/// An error in place of the number of replicas does not show that a replica has the write.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_no_replica_is_known_to_have_is_not_told() {
    let redis = tokio::task::spawn_blocking(|| RedisCluster::start(RedisServerOptions::default()));
    let redis = Arc::new(redis.await.unwrap());
    let (store, issuer) = (TestPlace::on(&redis, "no-wait").open().await, IssuerId::default_issuer());
    let (id, opened) = session(&store, 3);
    drop(store.open_session(&issuer, &id, opened.clone()).await.unwrap());
    for node in 0..6 {
        redis.cli(node, &["ACL", "SETUSER", "default", "-wait"]);
    }
    let (another, session) = session(&store, 4);
    let refused = store.open_session(&issuer, &another, session.clone()).await;
    let Err(StoreError::Unavailable(why)) = refused else { panic!("it was told") };
    assert!(why.contains("NOREPLICAS") && why.contains("WAIT"), "{why}");
    for node in 0..6 {
        redis.cli(node, &["ACL", "SETUSER", "default", "+wait"]);
    }
    while let Err(error) = store.open_session(&issuer, &another, session.clone()).await {
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(store.session(&issuer, &another, NOW).await.unwrap().in_memory().is_some());
}

/// In the call that ends it, so that an end asks Redis no more than it did before anything was noted.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_deletes_where_the_session_began() {
    let (store, issuer) = (TestPlace::new("ended-origins").open().await, IssuerId::default_issuer());
    let origin = SessionOrigin { device: Some("Firefox".into()), address: None };
    for (number, end) in [
        SessionEnd::Succeeded { dropped: None },
        SessionEnd::WithTokens { now: NOW, longest: Duration::from_secs(60) },
    ]
    .iter()
    .enumerate()
    {
        let (id, opened) = session(&store, 5 + number as u64);
        drop(store.open_session(&issuer, &id, opened.clone()).await.unwrap());
        store.note_origin(&issuer, &opened, &origin).await.unwrap();
        let place = store.session_place(&issuer, &id);
        let is_kept = async || store.origin_at(&issuer, place).await.unwrap().is_some();
        assert!(is_kept().await);
        let place_of_sid = store.sid_place(opened.sid.as_str()).unwrap();
        let ending = store.ending(place_of_sid);
        assert!(ending.run(Arc::from([])).await.unwrap());
        assert!(!is_kept().await, "the one call that ends a session deletes it");
        assert!(store.end_session(&issuer, &id, end).await.unwrap().in_memory().is_none(), "it has ended");
    }
}

/// A browser may disconnect at any moment of a logout: every end of a session that PostgreSQL has reaches Redis too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_end_that_nobody_waits_for_is_not_cut_in_half() {
    let place = TestPlace::new("abandoned-ends");
    let (store, issuer) = (place.open().await, IssuerId::default_issuer());
    let mut ids = Vec::new();
    for number in 0..100 {
        let (id, opened) = session(&store, 100 + number);
        drop(store.open_session(&issuer, &id, opened).await.unwrap());
        let end = SessionEnd::WithTokens { now: NOW, longest: Duration::from_secs(60) };
        let patience = Duration::from_millis(number / 10);
        let _ = tokio::time::timeout(patience, store.end_session(&issuer, &id, &end)).await;
        ids.push(id);
    }
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let known = place.psql("SELECT count(*) FROM tombstones WHERE id LIKE 'r:%'");
        let mut gone = 0;
        for id in &ids {
            gone += usize::from(store.session(&issuer, id, NOW).await.unwrap().in_memory().is_none());
        }
        if gone.to_string() == known {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{known} ended, {gone} are gone");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
