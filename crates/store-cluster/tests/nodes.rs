//! Several nodes on the same engines: what one changes the others know, or they do not serve.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic; clippy does not take this file's plain functions for tests"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, IssuerId, Sid, UserId};
use symbolon_protocol::key::KeyState;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::contract::sample;
use symbolon_store::port::{Changed, Clients, Codes, Groups, Issuers, Roles, Shards, Store, Users};
use symbolon_store::shard::ShardKind;
use symbolon_store::transfer::Freeze;
use symbolon_store_cluster::engines::{self, Engines};
use symbolon_store_cluster::{ClusterStore, engines::options};
use tokio::sync::Notify;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// How long something may take that takes a moment.
const SOON: Duration = Duration::from_secs(60);

async fn node(engines: &Engines, name: &str) -> Arc<ClusterStore> {
    let (postgres, redis) = (engines.postgres.url(name), engines.redis.urls());
    let options = options(postgres, &redis, name, Arc::new(|| NOW.millis()));
    Arc::new(ClusterStore::open(options).await.unwrap())
}

async fn nodes(name: &str) -> [Arc<ClusterStore>; 2] {
    let engines = tokio::task::spawn_blocking(engines::shared).await.unwrap();
    engines.postgres.create_database_with_schema(name);
    [node(engines, name).await, node(engines, name).await]
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, waiting).await.unwrap_or_else(|_| panic!("{what}"));
}

fn issuer() -> IssuerId {
    IssuerId::parse("one").unwrap()
}

/// Renames a client on a node.
async fn rename(node: &ClusterStore, name: &str) {
    let id = ClientId::parse("app").unwrap();
    let before = node.client(&issuer(), &id).await.unwrap().unwrap();
    let updated_at = before.updated_at + Duration::from_millis(1);
    let after =
        symbolon_protocol::client::Client { client_name: name.to_owned(), updated_at, ..(*before).clone() };
    assert!(node.update_client(&issuer(), after, before.updated_at).await.unwrap());
}

fn code_grant() -> CodeGrant {
    let random = SeededRandom::new(0);
    CodeGrant {
        grant: GrantId::draw(&issuer(), "ann", NOW, &random),
        client: ClientId::parse("app").unwrap(),
        user: UserId::parse("ann").unwrap(),
        sid: Sid::trusted("sid"),
        redirect_uri: "https://app.example/callback".to_owned(),
        scope: Scope::parse("openid").unwrap(),
        nonce: None,
        code_challenge: None,
        auth_time: NOW,
        amr: Amr::of(AuthenticationMethod::Pwd),
        session_expires_at: NOW + SOON,
        expires_at: NOW + SOON,
        resources: Vec::new(),
        authorization_details: Default::default(),
        acr: None,
        dpop_jkt: None,
    }
}

async fn name_on(node: &ClusterStore) -> String {
    let id = ClientId::parse("app").unwrap();
    node.client(&issuer(), &id).await.unwrap().unwrap().client_name.clone()
}

/// Writes clients until it is refused; those that were acknowledged.
async fn write_until_refused(node: Arc<ClusterStore>, name: &'static str) -> Vec<ClientId> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let client = sample::client(&format!("{name}-{number}"), NOW);
        let id = client.client_id.clone();
        match node.create_client(&issuer(), client).await {
            Ok(_) => acknowledged.push(id),
            Err(StoreError::Unavailable(_)) => break,
            Err(error) => panic!("{error}"),
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_a_node_has_frozen_the_store_no_node_acknowledges_a_write_any_more() {
    let [one, other] = nodes("nodes_freeze").await;
    let writers = [("one", &one), ("two", &other), ("three", &other)]
        .map(|(name, node)| tokio::spawn(write_until_refused(Arc::clone(node), name)));
    until("all of them write", async || {
        let page = one.list_clients(&issuer(), &sample::page(1, 1)).await.unwrap();
        page.total > 30
    })
    .await;
    one.freeze(Freeze::Migrating).await.unwrap();
    let frozen = one.list_clients(&issuer(), &sample::page(1, 1)).await.unwrap().total;
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    assert_eq!(acknowledged.len() as u64, frozen);
    assert_eq!(other.list_clients(&issuer(), &sample::page(1, 1)).await.unwrap().total, frozen);
    other.ready().await.unwrap();
    other.freeze(Freeze::Lifted).await.unwrap();
    for node in [&one, &other] {
        let id = format!("after-{}", Arc::as_ptr(node).addr());
        node.create_client(&issuer(), sample::client(&id, NOW)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_drops_what_every_node_remembers() {
    let [one, other] = nodes("nodes_change").await;
    one.create_client(&issuer(), sample::client("app", NOW)).await.unwrap();
    assert_eq!(name_on(&other).await, "The app client");
    for number in 0..20 {
        let name = format!("Number {number}");
        let [writer, reader] = if number % 2 == 0 { [&one, &other] } else { [&other, &one] };
        until("the writer reads its own", async || !name_on(writer).await.is_empty()).await;
        rename(writer, &name).await;
        until("the word comes", async || reader.has_heard(writer)).await;
        assert_eq!(name_on(reader).await, name);
    }
}

/// The numbers of groups and roles that a user has by a node.
async fn held_on(node: &ClusterStore, user: &str) -> (usize, usize) {
    let held = node.entitlements(&issuer(), &UserId::parse(user).unwrap()).await.unwrap();
    (held.groups.len(), held.roles.len())
}

/// Whoever was put into a group or given a role on one node has it on every other one, and loses it there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn groups_and_roles_are_had_on_every_node() {
    let [one, other] = nodes("nodes_groups").await;
    one.create_user(&issuer(), sample::user("ann", None, NOW), None).await.unwrap();
    for (id, parent) in [("top", ""), ("low", "top")] {
        one.create_group(&issuer(), sample::group(id, parent, NOW)).await.unwrap();
    }
    one.create_role(&issuer(), sample::role("r", "admin", "", NOW)).await.unwrap();
    let heard = async || until("the word comes", async || other.has_heard(&one)).await;
    assert_eq!(held_on(&other, "ann").await, (0, 0), "from now on the other node remembers");
    let (member, given) = (sample::membership("low", "ann"), sample::given_to_group("r", "top"));
    one.add_member(&issuer(), member.clone()).await.unwrap();
    heard().await;
    assert_eq!(held_on(&other, "ann").await, (2, 0));
    one.give_role(&issuer(), given.clone()).await.unwrap();
    heard().await;
    assert_eq!(held_on(&other, "ann").await, (2, 1));
    let moved = symbolon_protocol::group::Group {
        updated_at: NOW + Duration::from_millis(1),
        ..sample::group("low", "", NOW)
    };
    one.update_group(&issuer(), moved, NOW).await.unwrap();
    heard().await;
    assert_eq!(held_on(&other, "ann").await, (1, 0));
    one.remove_member(&issuer(), member.clone()).await.unwrap();
    heard().await;
    assert_eq!(held_on(&other, "ann").await, (0, 0));
    // More at once than are announced one by one.
    let users = (0..200).map(|n| (sample::user(&format!("u-{n}"), None, NOW), None));
    one.create_users(&issuer(), users.collect()).await.unwrap();
    assert_eq!(held_on(&other, "u-7").await, (0, 0));
    let many = (0..200).map(|n| sample::membership("low", &format!("u-{n}")));
    one.add_members(&issuer(), many.collect()).await.unwrap();
    heard().await;
    assert_eq!(held_on(&other, "u-7").await, (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_message_is_noticed() {
    let [one, other] = nodes("nodes_lost").await;
    one.create_client(&issuer(), sample::client("app", NOW)).await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    // Every connection for messages is cut again and again.
    let cutter = tokio::task::spawn_blocking(move || {
        let redis = &engines::shared().redis;
        while !ended.load(Ordering::SeqCst) {
            for node in 0..redis.nodes().len() {
                drop(redis.try_cli(node, &["CLIENT", "KILL", "TYPE", "pubsub"]));
            }
        }
    });
    for number in 0..5 {
        let name = format!("Number {number}");
        assert!(!name_on(&other).await.is_empty());
        rename(&one, &name).await;
        until("the change is seen", async || name_on(&other).await == name).await;
    }
    over.store(true, Ordering::SeqCst);
    cutter.await.unwrap();
}

/// Whoever revokes a key is answered when every node has taken that over.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_are_followed_by_every_node_before_the_answer() {
    let [one, other] = nodes("nodes_keys").await;
    one.create_issuer(sample::issuer("one", NOW), IssuerSettings::default()).await.unwrap();
    let (asked, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let followed = Arc::new(AtomicBool::new(false));
    let (tell, wait, done) = (Arc::clone(&asked), Arc::clone(&gate), Arc::clone(&followed));
    other.on_change(Box::new(move |changed| {
        if !matches!(changed, Changed::Issuers | Changed::Keys(_)) {
            return Box::pin(std::future::ready(()));
        }
        let (tell, wait, done) = (Arc::clone(&tell), Arc::clone(&wait), Arc::clone(&done));
        Box::pin(async move {
            tell.notify_one();
            wait.notified().await;
            done.store(true, Ordering::SeqCst);
            wait.notify_one();
        })
    }));
    let keys = [sample::key("a", KeyState::Active, NOW)];
    let writer = Arc::clone(&one);
    let put = tokio::spawn(async move { writer.put_keys(&issuer(), &[], &keys).await });
    tokio::time::timeout(SOON, asked.notified()).await.unwrap();
    assert!(!put.is_finished(), "the other node has not followed yet");
    gate.notify_one();
    put.await.unwrap().unwrap();
    // It followed, or its lease ran out while the machine was slow.
    assert!(followed.load(Ordering::SeqCst) || other.check_lease().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_generation_is_known_everywhere_before_its_ids_are_given_out() {
    let [one, other] = nodes("nodes_shards").await;
    for shards in [3, 200, 1] {
        let opened = one.set_shards(ShardKind::Code, shards, NOW).await.unwrap();
        let known = other.generations(ShardKind::Code);
        assert!(known.contains(&opened) || other.check_lease().is_err(), "{known:?}");
        assert_eq!(one.place(ShardKind::Code).generation, opened.generation);
    }
    let opened = other.set_shards(ShardKind::Code, 5, NOW).await.unwrap();
    assert_eq!(opened.generation, 5);
}

/// A node without PostgreSQL lets go of what others may have changed, and comes back with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_without_its_lease_does_not_serve() {
    let (postgres, redis) = tokio::task::spawn_blocking(|| {
        let postgres = engines::PostgresServer::start(engines::PostgresServerOptions::default());
        postgres.create_database("lease");
        (postgres, engines::shared().redis.urls())
    })
    .await
    .unwrap();
    let mut options = options(postgres.url("lease"), &redis, "lease", Arc::new(|| NOW.millis()));
    options.postgres.timeout = Duration::from_secs(2);
    let store = ClusterStore::open(options).await.unwrap();
    store.check_lease().unwrap();
    postgres.psql(
        "lease",
        "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN UPDATE control SET version = version + 1; RETURN NEW; END $$;
         CREATE TRIGGER change BEFORE UPDATE ON leases FOR EACH ROW
         WHEN (OLD.until < now()) EXECUTE FUNCTION change()",
    );
    let postgres = Arc::new(postgres);
    let killed = Arc::clone(&postgres);
    tokio::task::spawn_blocking(move || killed.kill()).await.unwrap();
    until("the lease runs out", async || store.check_lease().is_err()).await;
    assert!(store.ready().await.is_err());
    // Redis would keep it: for a client, a consent and a session that others may have changed.
    let refused = store.keep_code(&issuer(), code_grant(), NOW, &SeededRandom::new(1)).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    let restarted = Arc::clone(&postgres);
    tokio::task::spawn_blocking(move || restarted.restart()).await.unwrap();
    until("the lease is back", async || store.check_lease().is_ok()).await;
    // What was changed after the node had looked, and before it had a lease that others wait for.
    assert_eq!(postgres.psql("lease", "SELECT seen = control.version FROM leases, control"), "t");
}

/// A clock that jumps is no clock to judge a retry or an end by: from that moment, not from the next beat, and until it
/// is right again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_whose_clock_jumps_does_not_serve() {
    let engines = tokio::task::spawn_blocking(engines::shared).await.unwrap();
    engines.postgres.create_database("nodes_clock");
    let (postgres, redis) = (engines.postgres.url("nodes_clock"), engines.redis.urls());
    let off = Arc::new(AtomicI64::new(0));
    let jumps = Arc::clone(&off);
    let now = move || machine_clock().saturating_add_signed(jumps.load(Ordering::SeqCst));
    let mut options = options(postgres, &redis, "nodes_clock", Arc::new(now));
    options.accept_clock = false;
    let store = ClusterStore::open(options).await.unwrap();
    until("the lease is held", async || store.check_lease().is_ok()).await;
    for (by, direction) in [(300_000, "ahead of"), (-300_000, "behind")] {
        off.store(by, Ordering::SeqCst);
        for _ in 0..2 {
            let lease = || engines.postgres.psql("nodes_clock", "SELECT max(until) FROM leases");
            let before = lease();
            until("the lease is renewed", async || {
                let refused = store.check_lease().unwrap_err().to_string();
                assert!(refused.contains("clock") && refused.contains(direction), "{refused}");
                assert!(store.ready().await.is_err());
                lease() != before
            })
            .await;
        }
        off.store(0, Ordering::SeqCst);
        until("the clock is right again", async || store.check_lease().is_ok()).await;
    }
}

/// That of the database too, which runs on this machine.
#[allow(clippy::disallowed_methods, reason = "the database cannot be given another clock")]
fn machine_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// A node that went down is waited for no longer than its lease.
#[test]
fn a_node_that_went_down_holds_nobody_up() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (stays, goes) = (runtime(), runtime());
    let engines = engines::shared();
    engines.postgres.create_database("nodes_down");
    let one = stays.block_on(node(engines, "nodes_down"));
    let other = goes.block_on(node(engines, "nodes_down"));
    goes.shutdown_background();
    drop(other);
    let opened = stays.block_on(one.set_shards(ShardKind::Session, 7, NOW)).unwrap();
    assert_eq!(opened.shards, 7);
}
