//! Stores for tests, on servers that the tests start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, IssuerId, Sid, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::time::Timestamp;

use crate::engines::{RedisCluster, options, shared};
use crate::{ClusterOptions, ClusterStore};

pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// What a code stands for that is valid for a minute.
pub(crate) fn code_grant(issuer: &IssuerId, random: &SeededRandom, now: Timestamp) -> CodeGrant {
    CodeGrant {
        grant: GrantId::draw(issuer, "ann", now, random),
        client: ClientId::parse("app").unwrap(),
        user: UserId::parse("ann").unwrap(),
        sid: Sid::trusted("sid"),
        redirect_uri: "https://app.example/callback".to_owned(),
        scope: Scope::parse("openid").unwrap(),
        nonce: None,
        code_challenge: Some([7; 32]),
        auth_time: now,
        amr: Amr::of(AuthenticationMethod::Pwd),
        session_expires_at: now + Duration::from_secs(3_600),
        expires_at: now + Duration::from_secs(60),
        resources: Vec::new(),
        authorization_details: Default::default(),
        acr: None,
        dpop_jkt: None,
    }
}

/// Where a test's stores keep their state.
pub(crate) struct Place {
    pub(crate) name: String,
    redis: String,
    now: Arc<AtomicU64>,
}

impl Place {
    /// On the shared servers, with a database and a key prefix of its own.
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, shared().redis.urls())
    }

    /// On a Redis Cluster of the test's own, which it may break.
    pub(crate) fn on(redis: &RedisCluster, name: &str) -> Self {
        Self::with(name, redis.urls())
    }

    pub(crate) fn with(name: &str, redis: String) -> Self {
        let name = name.replace('-', "_");
        shared().postgres.create_database_with_schema(&name);
        Self { name, redis, now: Arc::new(AtomicU64::new(NOW.millis())) }
    }

    pub(crate) fn options(&self) -> ClusterOptions {
        let now = Arc::clone(&self.now);
        let now = Arc::new(move || now.load(Ordering::Relaxed));
        options(shared().postgres.url(&self.name), &self.redis, &self.name, now)
    }

    /// Advances the clock of the test's stores.
    pub(crate) fn advance(&self, by: Duration) {
        self.now.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::Relaxed))
    }

    pub(crate) async fn open(&self) -> Arc<ClusterStore> {
        Arc::new(ClusterStore::open(self.options()).await.unwrap())
    }

    pub(crate) fn psql(&self, sql: &str) -> String {
        shared().postgres.psql(&self.name, sql)
    }
}

/// Gives every node of a cluster a `maxmemory` of what it uses now and `spare` parts of a hundred more.
pub(crate) fn leave_spare(redis: &RedisCluster, spare: u64) {
    for node in 0..redis.nodes().len() {
        let most = used_memory(redis, node) / 100 * (100 + spare);
        redis.cli(node, &["CONFIG", "SET", "maxmemory", &most.to_string()]);
    }
}

/// What a node uses, in bytes.
pub(crate) fn used_memory(redis: &RedisCluster, node: usize) -> u64 {
    let info = redis.cli(node, &["INFO", "memory"]);
    let used = info.lines().find_map(|line| line.trim().strip_prefix("used_memory:"));
    used.expect("used_memory").parse().expect("a number")
}
