//! Revocations hold although Redis loses data or fails over.

use std::sync::Arc;
use std::time::Duration;

use ::redis::cmd;
use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::grant::{GrantId, Slot};
use symbolon_protocol::id::{ClientId, Jti, Sid, UserId};
use symbolon_protocol::revocation::Target;
use symbolon_protocol::time::KEPT_AFTER_END;
use symbolon_store::Store;
use symbolon_store::port::{Assertions, Use};

use super::*;
use crate::engines::{RedisCluster, RedisServer, RedisServerOptions};
use crate::redis::{Answered, Script, ScriptCall, Tag};
use crate::testing::{NOW, Place};

const HOUR: Duration = Duration::from_secs(3_600);

fn issuer() -> IssuerId {
    IssuerId::default_issuer()
}

/// A lineage with everything, in a slot of its own.
fn lineage(user: &str) -> Lineage {
    let grant = GrantId::draw(&issuer(), user, NOW, &SeededRandom::new(1));
    Lineage {
        slot: grant.slot(),
        tokens: vec![Jti::parse(&format!("token-{user}")).unwrap()],
        grant: Some(grant),
        session: Some(Sid::trusted(format!("sid-{user}"))),
        user: Some(UserId::parse(user).unwrap()),
        client: Some(ClientId::parse(&format!("client-{user}")).unwrap()),
        grantor: None,
        born: NOW,
        issued: None,
    }
}

/// Lineages of different users, each with a tombstone, of all kinds in turn; and one lineage that nothing revokes.
fn ended() -> (Vec<(Lineage, Tombstone)>, Lineage) {
    let targets = [
        |lineage: &Lineage| Target::Token(lineage.tokens[0].clone()),
        |lineage: &Lineage| Target::Grant(lineage.grant.unwrap()),
        |lineage: &Lineage| Target::Session(lineage.session.clone().unwrap()),
        |lineage: &Lineage| Target::User(lineage.user.clone().unwrap()),
        |lineage: &Lineage| Target::Client(lineage.client.clone().unwrap()),
        |lineage: &Lineage| {
            let (user, client) = lineage.consent().unwrap();
            Target::Consent(user.clone(), client.clone())
        },
    ];
    let all = (0..20).map(|n| {
        let lineage = lineage(&format!("user-{n}"));
        let target = targets[n % targets.len()](&lineage);
        let tombstone = Tombstone::up_to(target, lineage.slot, NOW, NOW + HOUR);
        (lineage, tombstone)
    });
    (all.collect(), lineage("nobody"))
}

async fn revoke_all(store: &ClusterStore, ended: &[(Lineage, Tombstone)]) {
    let tombstones: Vec<_> = ended.iter().map(|(_, tombstone)| tombstone.clone()).collect();
    let _ = available(async || store.revoke(&issuer(), &tombstones).await).await;
}

async fn assert_revoked(store: &ClusterStore, ended: &[(Lineage, Tombstone)], live: &Lineage) {
    for (lineage, tombstone) in ended {
        assert!(answered(store, lineage).await, "{:?}", tombstone.target);
    }
    assert!(!answered(store, live).await);
}

async fn answered(store: &ClusterStore, lineage: &Lineage) -> bool {
    available(async || store.revoked(&issuer(), lineage).await).await.in_memory()
}

/// Repeats an operation while the store is unavailable: right after a failover, and while no replica acknowledges in
/// time.
async fn available<T>(ask: impl AsyncFn() -> Result<T, StoreError>) -> T {
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn ask(store: &ClusterStore, name: &str, key: &crate::redis::Key) -> Answered {
    store.redis.ask(cmd(name).arg(key.as_bytes())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_ended_stays_so_though_redis_forgets_or_fails_over() {
    let redis = RedisCluster::start(RedisServerOptions::default());
    let place = Place::on(&redis, "revocations-forgotten");
    let (store, other) = (place.open().await, place.open().await);
    let (ended, live) = ended();
    revoke_all(&store, &ended).await;
    assert_revoked(&store, &ended, &live).await;
    redis.flush_all();
    assert_revoked(&other, &ended, &live).await;
    assert_revoked(&store, &ended, &live).await;

    // The primary of one of them dies. The replica that takes over lacks the tombstones, but has the run ids of the
    // complete primaries.
    let tag = store.redis.tags().slot(ended[0].0.slot).clone();
    let primary = redis.primary_of(tag.as_str());
    for (lineage, tombstone) in &ended {
        let key = store.redis.tags().slot(lineage.slot).followed_by(&Row::of(&issuer(), tombstone).id);
        store.redis.write_durably(cmd("DEL").arg(key.as_bytes())).await.unwrap();
    }
    redis.kill(primary);
    assert_ne!(redis.primary_of(tag.as_str()), primary);
    // No replica is left, and reads still work.
    for store in [&store, &other] {
        assert!(answered(store, &ended[0].0).await);
    }
    // Revocations wait for a replica.
    let again = store.revoke(&issuer(), &[ended[0].1.clone()]).await;
    assert!(matches!(again, Err(StoreError::Unavailable(_))), "{again:?}");
    assert!(answered(&store, &ended[0].0).await);
    redis.restart(primary);
    redis.wait_until_in_order();
    revoke_all(&store, &ended).await;
    assert_revoked(&other, &ended, &live).await;
}

/// A single server loses all data.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_may_forget_too() {
    let redis = RedisServer::start(RedisServerOptions::default());
    let place = Place::with("revocations-on-one-server", redis.url());
    let store = place.open().await;
    let (ended, live) = ended();
    revoke_all(&store, &ended).await;
    assert_revoked(&store, &ended, &live).await;
    redis.flush_all();
    assert_revoked(&store, &ended, &live).await;
}

/// A tag in doubt, of which PostgreSQL has rows that Redis may lack, is not trusted, and is confirmed without a
/// request.
#[tokio::test(flavor = "multi_thread")]
async fn doubt_is_settled_from_postgres() {
    let place = Place::new("revocations-in-doubt");
    let store = place.open().await;
    let (ended, _) = ended();
    let (lineage, tombstone) = &ended[0];
    assert!(!answered(&store, lineage).await);
    let row = Row::of(&issuer(), tombstone);
    place.psql(&format!(
        "INSERT INTO tombstones VALUES ('{}', '{}', {}, {})",
        row.tag, row.id, row.value, row.until
    ));
    assert!(!answered(&store, lineage).await, "Redis was not told, and nobody doubts it");
    let tag = store.redis.tags().slot(lineage.slot).clone();
    store.complete_primaries.doubt(&tag);
    assert!(answered(&store, lineage).await);

    let (lineage, tombstone) = &ended[1];
    let (row, tag) = (Row::of(&issuer(), tombstone), store.redis.tags().slot(lineage.slot).clone());
    place.psql(&format!(
        "INSERT INTO tombstones VALUES ('{}', '{}', {}, {})",
        row.tag, row.id, row.value, row.until
    ));
    store.complete_primaries.doubt(&tag);
    while ask(&store, "GET", &tag.followed_by(&row.id)).await.value == ::redis::Value::Nil {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The value and the end of a row can only grow, in both engines.
#[tokio::test(flavor = "multi_thread")]
async fn a_weaker_tombstone_changes_nothing() {
    let place = Place::new("revocations-stronger");
    let store = place.open().await;
    let (user, slot) = (UserId::parse("user").unwrap(), Slot::new(5));
    let target = Target::User(user);
    let up_to = |now, end| Tombstone::up_to(target.clone(), slot, now, end);
    let tag = store.redis.tags().slot(slot).clone();
    let key = tag.followed_by("u:default:user");
    let ttl = Script::new("return redis.call('PTTL', KEYS[1])");
    let expected = [
        (up_to(NOW, NOW + HOUR), NOW, NOW + HOUR),
        (up_to(NOW - HOUR, NOW + HOUR / 2), NOW, NOW + HOUR),
        (up_to(NOW + HOUR, NOW), NOW + HOUR, NOW + HOUR),
        (up_to(NOW, NOW + 2 * HOUR), NOW + HOUR, NOW + 2 * HOUR),
        (up_to(Timestamp::FOREVER, NOW), Timestamp::from_millis((1 << 53) - 1), NOW + 2 * HOUR),
        (
            up_to(Timestamp::from_millis((1 << 53) - 2), NOW),
            Timestamp::from_millis((1 << 53) - 1),
            NOW + 2 * HOUR,
        ),
    ];
    for (tombstone, not_before, until) in expected {
        let _ = store.revoke(&issuer(), &[tombstone]).await.unwrap();
        let row = place.psql("SELECT value, until FROM tombstones");
        assert_eq!(row, format!("{}|{}", not_before.millis(), until.millis()));
        let held: String = ask(&store, "GET", &key).await.read().unwrap();
        assert_eq!(held, not_before.millis().to_string());
        let kept: i64 = store
            .redis
            .run(&ttl, ScriptCall { keys: &[&key], arguments: &[] })
            .await
            .unwrap()
            .read()
            .unwrap();
        let wanted = i64::try_from((until + KEPT_AFTER_END).since(NOW).as_millis()).unwrap();
        assert!(kept <= wanted && kept > wanted - 600_000, "{kept} of {wanted}");
    }
}

/// If Redis has lost the end of a session, the row in PostgreSQL replaces the session's record again.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_does_not_come_back() {
    let place = Place::new("revocations-of-sessions");
    let store = place.open().await;
    let tag: Tag = store.redis.tags().named("session:1:7");
    let (record, value) = (tag.followed_by("r:one"), b"{\"live\":1}".as_slice());
    store.redis.ask(cmd("SET").arg(record.as_bytes()).arg(value)).await.unwrap();
    let ended = Ended { tag: tag.clone(), id: "r:one".to_owned(), until: NOW + HOUR };
    let sid = Tombstone::session(&issuer(), Sid::trusted("sid"), &UserId::parse("user").unwrap(), NOW, HOUR);
    store.tombstones.bury(vec![Row::of(&issuer(), &sid), Row::ended(ended)]).await.unwrap();
    let held: Vec<u8> = ask(&store, "GET", &record).await.read().unwrap();
    assert_eq!(held, value, "whoever ends it replaces it");
    assert_eq!(place.psql("SELECT tag, id FROM tombstones WHERE tag LIKE 'session%'"), "session:1:7|r:one");
    let of_session = Lineage { session: Some(Sid::trusted("sid")), ..bare(Slot::of(&issuer(), "user")) };
    assert!(answered(&store, &of_session).await);

    // As after a failover to a replica that lacks the session's end: it has the record, and no confirmed primary.
    let epoch = ask(&store, "GET", &tag.complete_primary()).await;
    assert_eq!(epoch.value, ::redis::Value::Nil);
    assert!(!store.confirmed(&tag, None, epoch.primary).await.unwrap());
    let held: String = ask(&store, "GET", &record).await.read().unwrap();
    assert_eq!(held, "E");
    let epoch = ask(&store, "GET", &tag.complete_primary()).await;
    let primary = epoch.primary;
    let text: String = epoch.read().unwrap();
    assert!(store.confirmed(&tag, Some(text.as_bytes()), primary).await.unwrap());
}

fn bare(slot: Slot) -> Lineage {
    let (grant, session, user, client, grantor) = (None, None, None, None, None);
    Lineage { slot, tokens: Vec::new(), grant, session, user, client, grantor, born: NOW, issued: None }
}

/// More rows than one page, one call or one statement holds.
#[tokio::test(flavor = "multi_thread")]
async fn many_in_one_slot_are_confirmed_together() {
    let place = Place::new("revocations-of-one-slot");
    let store = place.open().await;
    let slot = Slot::new(77);
    let jti = |n: usize| Jti::parse(&format!("token-{n}")).unwrap();
    let tombstones: Vec<_> = (0..4_500).map(|n| Tombstone::token(jti(n), slot, NOW + HOUR)).collect();
    let _ = store.revoke(&issuer(), &tombstones).await.unwrap();
    let tag = store.redis.tags().slot(slot).clone();
    let mut delete = cmd("DEL");
    for n in 0..4_500 {
        delete.arg(tag.followed_by(&format!("t:default:token-{n}")).as_bytes());
    }
    store.redis.ask(&delete).await.unwrap();
    store.redis.ask(cmd("DEL").arg(tag.complete_primary().as_bytes())).await.unwrap();
    for n in (0..4_500).step_by(300) {
        let lineage = Lineage { tokens: vec![jti(n)], ..bare(slot) };
        assert!(answered(&store, &lineage).await, "{n}");
    }
}

/// A restored database lacks the revocations made after the backup, so access tokens issued before the restore are
/// revoked.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_from_before_a_restore_are_revoked() {
    let place = Place::new("revocations-restored");
    let store = place.open().await;
    let issued = |at| Lineage { issued: Some(at), ..bare(Slot::new(5)) };
    assert!(!answered(&store, &issued(NOW)).await);
    let database = place.options().postgres;
    assert!(matches!(open_epoch(&database).await, Err(EpochError::Running(1))));
    place.psql(&format!("INSERT INTO meta VALUES ('epoch', '{}')", NOW.millis()));
    let restored = place.open().await;
    assert!(answered(&restored, &issued(NOW)).await);
    assert!(!answered(&restored, &issued(NOW + Duration::from_millis(1))).await);
    assert!(!answered(&restored, &bare(Slot::new(5))).await, "families go on");

    for store in [store, restored] {
        Store::close(&*store).await.unwrap();
    }
    let kept = open_epoch(&database).await.unwrap();
    assert_eq!(kept, NOW, "it never goes back, and the database's clock is before the test's");
    place.psql("UPDATE meta SET value = '1' WHERE name = 'epoch'");
    assert!(open_epoch(&database).await.unwrap() > Timestamp::from_seconds(1_700_000_000));
    place.psql("DROP TABLE leases");
    assert!(matches!(open_epoch(&database).await, Err(EpochError::Empty)));
}

/// Tombstones and marks are deleted a quarter of an hour after their end, a piece at a time.
#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_needs_any_more_is_swept() {
    let place = Place::new("revocations-swept");
    let store = place.open().await;
    let jti = |n: u32| Jti::parse(&format!("token-{n}")).unwrap();
    let tombstones: Vec<_> = (0..12_000)
        .map(|n| {
            let end = if n < 11_500 { NOW + HOUR } else { NOW + 2 * HOUR };
            Tombstone::token(jti(n), Slot::new(n), end)
        })
        .collect();
    let _ = store.revoke(&issuer(), &tombstones).await.unwrap();
    let client = ClientId::parse("client").unwrap();
    for n in 0..10 {
        let end = if n < 4 { NOW + HOUR } else { NOW + 2 * HOUR };
        let (client_id, key_thumbprint) = (client.clone(), "thumbprint".into());
        let assertion = AssertionUse { client_id, key_thumbprint, jti: jti(n), expires_at: end };
        let used = store.use_assertion(&issuer(), &assertion).await.unwrap().in_memory();
        assert_eq!(used, Use::First);
    }
    let end = NOW + HOUR + KEPT_AFTER_END;
    let early = end - Duration::from_millis(1);
    assert_eq!(store.sweep_tombstones(early).await.unwrap(), 0);
    assert_eq!(store.sweep_assertions(early).await.unwrap(), 0);
    assert_eq!(store.sweep_tombstones(end).await.unwrap(), 10_000);
    assert_eq!(store.sweep_tombstones(end).await.unwrap(), 1_500);
    assert_eq!(store.sweep_tombstones(end).await.unwrap(), 0);
    assert_eq!(store.sweep_assertions(end).await.unwrap(), 4);
    assert_eq!(place.psql("SELECT count(*) FROM tombstones"), "500");
    assert_eq!(place.psql("SELECT count(*) FROM assertion_marks"), "6");
}

/// A revocation whose caller gives up is completed.
#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_goes_on_without_its_caller() {
    let place = Place::new("revocations-abandoned");
    let store = place.open().await;
    let (lineage, tombstone) = ended().0.swap_remove(0);
    let revoking = Arc::clone(&store);
    let mut abandoned = Box::pin(async move { revoking.revoke(&issuer(), &[tombstone]).await.map(|_| ()) });
    tokio::select! {
        biased;
        done = &mut abandoned => panic!("nothing is done at once: {done:?}"),
        () = std::future::ready(()) => {}
    }
    drop(abandoned);
    while !answered(&store, &lineage).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
