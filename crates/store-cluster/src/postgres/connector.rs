//! Connections that run on the runtime on which the store was opened, whichever thread asks for one. So a worker that
//! stops closes none of them, and a worker that is busy computing delays no answer to another.

use std::future::pending;
use std::pin::Pin;

use deadpool_postgres::{ConfigConnectImpl, Connect};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How statements are planned, as far as the database has these settings (not every database that speaks PostgreSQL's
/// protocol does).
///
/// `force_generic_plan`: each statement is planned once. By default, PostgreSQL plans a statement on a partitioned
/// table at every execution: it estimates the cost of the generic plan over all partitions that the plan could touch,
/// and compares it with a plan for the one partition that it will touch. `enable_…`: the generic plan uses indexes. One
/// that was made while a table was small would otherwise read the whole table, also when it is large. `jit`: without
/// it, a statement for which there is no index would have so high an estimated cost that it would be compiled at every
/// execution.
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
    /// The connections will run on the runtime of the caller.
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
                // The runtime is shutting down: the caller gives up at the pool's timeout.
                Err(_) => pending().await,
            }
        })
    }
}
