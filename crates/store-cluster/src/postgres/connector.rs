//! Connections that live on the runtime on which the store was opened, whoever asks for one: a worker that stops takes
//! none with it, and one that computes delays no answer to another.

use std::future::pending;
use std::pin::Pin;

use deadpool_postgres::{ConfigConnectImpl, Connect};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How statements are planned, as far as the database has these settings (not all that speak PostgreSQL's protocol do).
///
/// A statement is planned once: left to itself, PostgreSQL plans whatever touches a partitioned table at every execution,
/// because it counts all partitions that the kept plan could touch against the one that it will. And a plan goes by the
/// indexes: one that was made and kept while a table was small would read all of it when it is large. Where there is no
/// index it would count as so dear that it were compiled each time.
const PLANNING: &str = "
    SELECT set_config(given.name, wanted.setting, false)
    FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'),
        ('enable_mergejoin', 'off'), ('jit', 'off')) AS wanted(name, setting)
    JOIN pg_settings AS given ON given.name = wanted.name";

type Connecting<'a> = Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + 'a>>;

pub(super) struct Connector {
    tls: MakeRustlsConnect,
    runtime: Handle,
}

impl Connector {
    /// Connects on the runtime of the caller.
    pub(super) fn here(tls: MakeRustlsConnect) -> Self {
        Self { tls, runtime: Handle::current() }
    }
}

impl Connect for Connector {
    fn connect(&self, config: &Config) -> Connecting<'_> {
        let (tls, config) = (self.tls.clone(), config.clone());
        Box::pin(async move {
            let connecting = self.runtime.spawn(async move {
                let (client, connection) = ConfigConnectImpl { tls }.connect(&config).await?;
                client.simple_query(PLANNING).await?;
                Ok((client, connection))
            });
            match connecting.await {
                Ok(connected) => connected,
                // The runtime ends: whoever waits gives up at the pool's timeout.
                Err(_) => pending().await,
            }
        })
    }
}
