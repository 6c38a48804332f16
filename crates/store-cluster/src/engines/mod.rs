//! Real servers for tests and drills: a PostgreSQL and a Redis Cluster of their own, on free loopback ports.
//!
//! ```no_run
//! use symbolon_store_cluster::engines;
//!
//! let engines = engines::shared();
//! engines.postgres.create_database("mine");
//! let (postgres, redis) = (engines.postgres.url("mine"), engines.redis.urls());
//! ```
//!
//! - [`shared`] is one of each per test process. Tests keep apart by databases and key prefixes. A test that kills or
//!   pauses servers starts its own: [`PostgresServer::start`], [`RedisCluster::start`], [`RedisServer::start`].
//! - No server outlives the process that started it, and no directory either, however the process ends: the kernel
//!   kills every server with the thread that spawned it, which lives as long as the process (`spawner.rs`), and a
//!   shell that waits for the process's end removes the directories (`directory.rs`).
//! - Nothing here waits for a fixed time: [`until`] asks again until the answer is there, and gives up late.
//! - The servers come from Debian's packages `postgresql` and `redis-server`; `setpriv` from `util-linux`.
//!
//! Everything panics when it fails, with the last lines of the server's log: this is test support.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support: a failure is a failed test"
)]

mod cluster_view;
mod directory;
mod options;
mod port;
mod postgres;
mod process;
mod program;
mod redis_cluster;
mod redis_node;
mod redis_server;
mod spawner;
mod until;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;
use std::thread;

pub use directory::temporary as temporary_directory;
pub use options::options;
pub use port::Port;
pub use postgres::{PostgresServer, PostgresServerOptions};
pub use redis_cluster::{RedisCluster, RedisClusterNode};
pub use redis_node::RedisServerOptions;
pub use redis_server::RedisServer;
pub use until::until;

/// The servers that the tests of one process share.
pub struct Engines {
    /// With PostgreSQL's own settings, but for two. Without `autovacuum`, which would visit hundreds of databases in turn, of
    /// which none lives long enough to need it; and with `max_connections` for a dozen tests at three nodes each at once.
    /// Every test creates its databases.
    pub postgres: PostgresServer,
    /// Three primaries and three replicas; every test has its key prefix.
    pub redis: RedisCluster,
}

/// The shared servers. The first caller starts them, both at once; the others wait for it.
pub fn shared() -> &'static Engines {
    static ENGINES: OnceLock<Engines> = OnceLock::new();
    ENGINES.get_or_init(|| {
        thread::scope(|scope| {
            let settings = [("autovacuum", "off"), ("max_connections", "500")];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let options = PostgresServerOptions { settings: settings.into(), ..Default::default() };
            let postgres = scope.spawn(|| PostgresServer::start(options));
            let redis = RedisCluster::start(RedisServerOptions::default());
            Engines { postgres: postgres.join().expect("PostgreSQL starts"), redis }
        })
    })
}

/// 64 bits that differ from process to process and from call to call. Not for secrets.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
