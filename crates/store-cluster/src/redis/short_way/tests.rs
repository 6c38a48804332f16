//! The short way, its map and its failures, on a real cluster. These tests run on one thread, as a worker does.

use std::time::Duration;

use redis::AsyncConnectionConfig;
use redis::cluster_async::Connect;
use symbolon_crypto::SecretString;
use symbolon_protocol::grant::Slot;

use super::*;
use crate::engines::{self, RedisCluster, RedisServerOptions};
use crate::redis::{Key, Redis, ReplicaPolicy};

async fn connect(cluster: &RedisCluster, prefix: &str) -> Redis {
    let options = RedisOptions {
        urls: cluster.urls().split(',').map(SecretString::from).collect(),
        timeout: Duration::from_secs(5),
        replicas: ReplicaPolicy::Wait,
        prefix: prefix.into(),
    };
    Redis::connect(&options).await.unwrap()
}

fn key(redis: &Redis, slot: u32) -> Key {
    redis.tags().slot(Slot::new(slot)).key('z', b"key")
}

async fn set(redis: &Redis, key: &Key, value: &str) -> Result<Answered, symbolon_store::StoreError> {
    redis.ask_at(key.hash_slot(), redis::cmd("SET").arg(key.as_bytes()).arg(value)).await
}

async fn get(redis: &Redis, key: &Key) -> Result<Answered, symbolon_store::StoreError> {
    redis.ask_at(key.hash_slot(), redis::cmd("GET").arg(key.as_bytes())).await
}

/// Waits until this thread has its own connection to the primary of a key. Commands before that take the long way.
async fn until_short(redis: &Redis, key: &Key) {
    while redis.short.as_ref().unwrap().to(key.hash_slot()).is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Repeats a command while it is unavailable; fails if it is unavailable for a minute.
async fn until_done(again: impl AsyncFn() -> Result<Answered, symbolon_store::StoreError>) -> Answered {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        match again().await {
            Ok(answered) => return answered,
            Err(symbolon_store::StoreError::Unavailable(text)) => {
                assert!(Instant::now() < patience, "{text}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn the_short_way_says_what_the_long_way_says() {
    let engines = tokio::task::spawn_blocking(engines::shared).await.unwrap();
    let redis = connect(&engines.redis, "short_way").await;
    for slot in 0..100 {
        let key = key(&redis, slot);
        let long = set(&redis, &key, "value").await.unwrap().primary;
        until_short(&redis, &key).await;
        let found = redis.short.as_ref().unwrap().to(key.hash_slot()).unwrap();
        let cmd = redis::cmd("GET").arg(key.as_bytes()).to_owned();
        let short = redis.short.as_ref().unwrap().send(found, &cmd).await.ok().unwrap();
        assert_eq!(short.primary, long, "both ask the process that has slot {slot}");
        assert_eq!(short.read::<String>().unwrap(), "value");
    }
    let wrong = key(&redis, 1);
    let error =
        redis.ask_at(wrong.hash_slot(), redis::cmd("ZADD").arg(wrong.as_bytes())).await.err().unwrap();
    assert!(matches!(error, symbolon_store::StoreError::Failed(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_no_worker_goes_the_long_way() {
    let engines = tokio::task::spawn_blocking(engines::shared).await.unwrap();
    let redis = connect(&engines.redis, "no_worker").await;
    let key = key(&redis, 1);
    for _ in 0..100 {
        set(&redis, &key, "value").await.unwrap();
        assert!(redis.short.as_ref().unwrap().to(key.hash_slot()).is_none());
    }
}

/// A slot moves to another primary, and its former owner redirects commands.
#[tokio::test]
async fn a_failover_is_followed() {
    let cluster =
        tokio::task::spawn_blocking(|| RedisCluster::start(RedisServerOptions::default())).await.unwrap();
    let redis = connect(&cluster, "failover").await;
    let key = key(&redis, 1);
    set(&redis, &key, "before").await.unwrap();
    until_short(&redis, &key).await;
    let before = get(&redis, &key).await.unwrap().primary;
    let text = String::from_utf8(key.as_bytes().to_vec()).unwrap();
    // The replica takes over by agreement: connections to the old primary stay open, and answer MOVED.
    let primary = cluster.primary_of(&text);
    let replica = cluster.nodes().iter().find(|node| node.replicates == Some(primary)).unwrap().index;
    cluster.cli(replica, &["cluster", "failover"]);
    let new = loop {
        let answered = get(&redis, &key).await.unwrap();
        if answered.primary != before {
            break answered;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let primary = new.primary;
    assert_eq!(new.read::<String>().unwrap(), "before");
    loop {
        let found = redis.short.as_ref().unwrap().to(key.hash_slot());
        if found.is_some_and(|found| found.primary == primary) {
            break;
        }
        get(&redis, &key).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Now without agreement: the primary is killed, and the connection is lost.
    cluster.kill(replica);
    assert_ne!(until_done(async || set(&redis, &key, "after").await).await.primary, primary);
    until_short(&redis, &key).await;
    assert_eq!(get(&redis, &key).await.unwrap().read::<String>().unwrap(), "after");
}

/// A primary is paused until another has taken over. When it resumes, a command waits for it that was sent a moment
/// ago: it answers from stale data before it learns that it was replaced.
#[tokio::test]
async fn a_primary_that_stood_still_is_not_believed() {
    let cluster = tokio::task::spawn_blocking(|| RedisCluster::start(RedisServerOptions::default()));
    let cluster = Arc::new(cluster.await.unwrap());
    let redis = connect(&cluster, "silence").await;
    let key = key(&redis, 1);
    set(&redis, &key, "before").await.unwrap();
    let text = String::from_utf8(key.as_bytes().to_vec()).unwrap();
    let old = cluster.primary_of(&text);
    let info = cluster.urls().split(',').nth(old).unwrap().into_connection_info().unwrap();
    let patient = Duration::from_secs(60);
    let cmd = redis::cmd("GET").arg(key.as_bytes()).to_owned();
    let short = super::connect(&info, patient).await.unwrap().pipe;
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(patient));
    let mut long = Answering::connect_with_config(info.clone(), config).await.unwrap();
    assert_eq!(short.ask(&cmd).unwrap().await, Ok(Ok(redis::Value::BulkString("before".into()))));
    long.req_packed_command(&cmd).await.unwrap();

    cluster.pause(old);
    // Sent while an answer would still be accepted.
    let by_long = tokio::spawn(async move { (long.req_packed_command(&cmd).await, cmd, long) });
    let (of_cluster, of_key) = (Arc::clone(&cluster), text.clone());
    let new = tokio::task::spawn_blocking(move || of_cluster.primary_of(&of_key)).await.unwrap();
    assert_ne!(new, old);
    // The old primary hangs and closes no connection, but every kind of connection finds its successor.
    until_done(async || set(&redis, &key, "meanwhile").await).await;
    let durably = redis::cmd("SET").arg(key.as_bytes()).arg("durably").to_owned();
    // The new primary has no replica left, and durable writes fail for that reason.
    let missing = async || match redis.write_durably(&durably).await {
        Err(symbolon_store::StoreError::Unavailable(text)) if text.contains("NOREPLICAS") => {
            get(&redis, &key).await
        }
        other => other,
    };
    assert_eq!(until_done(missing).await.read::<String>().unwrap(), "durably");
    cluster.cli(new, &["SET", &text, "after"]);
    let cmd = redis::cmd("GET").arg(key.as_bytes()).to_owned();
    let by_short = short.ask(&cmd).unwrap();
    let anew = tokio::spawn(async move { super::connect(&info, patient).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    cluster.resume(old);
    assert_eq!(by_short.await, Err(Lost));
    let (answered, cmd, mut long) = by_long.await.unwrap();
    // Both connections are lost: their users must connect again.
    for answered in [answered, long.req_packed_command(&cmd).await] {
        assert!(answered.is_err_and(|error| error.is_connection_dropped()));
    }
    // A client that connects to the old primary at this moment learns that it was replaced.
    let anew = anew.await.unwrap().unwrap().pipe;
    assert!(matches!(anew.ask(&cmd).unwrap().await, Ok(Err(moved)) if moved.contains("MOVED")));
    let answered = until_done(async || get(&redis, &key).await).await;
    assert_eq!(answered.read::<String>().unwrap(), "after");
}
