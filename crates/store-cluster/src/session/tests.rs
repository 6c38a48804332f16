//! Commands that a network delivers twice or late, and primaries without replicas.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::code::AuthorizationCode;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
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
    };
    (id, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_what_opened_a_session_does_not_bring_it_back() {
    let (store, issuer) = (TestPlace::new("late-sessions").open().await, IssuerId::default_issuer());
    let (id, opened) = session(&store, 1);
    drop(store.open_session(&issuer, &id, opened.clone()).await.unwrap());
    let client = ClientId::parse("app").unwrap();
    drop(store.note_client(&issuer, &id, &client).await.unwrap());

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
