//! Sends commands to the right process: by the cluster's map of slots, or straight to a single server.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::aio::ConnectionLike;
use redis::cluster::ClusterClient;
use redis::cluster_async::{ClusterConnection, Connect};
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Cmd, IntoConnectionInfo, RedisError, RedisResult, Value};
use tokio::sync::Mutex;

use super::RedisOptions;

/// How often a command is repeated, within its timeout, when the cluster's answer asks for it.
const RETRIES: u32 = 6;

/// Connections of one kind.
pub(super) enum Link<C> {
    /// To every primary of a cluster.
    Cluster(ClusterConnection<C>),
    /// To one server.
    Single(Box<Single<C>>),
}

/// One server, connected to again when its connection is lost.
pub(super) struct Single<C> {
    url: symbolon_crypto::SecretString,
    timeout: Duration,
    current: ArcSwapOption<C>,
    connecting: Mutex<()>,
}

impl<C> Link<C>
where
    C: ConnectionLike + Connect + Clone + Send + Sync + Unpin + 'static,
{
    /// Connects. The flag says whether the server belongs to a cluster.
    pub(super) async fn connect(options: &RedisOptions) -> Result<(Self, bool), RedisError> {
        if let [url] = options.urls.as_slice()
            && !is_cluster(url.expose(), options.timeout).await?
        {
            let single = Single {
                url: symbolon_crypto::SecretString::from(url.expose()),
                timeout: options.timeout,
                current: ArcSwapOption::empty(),
                connecting: Mutex::new(()),
            };
            single.connection().await?;
            return Ok((Self::Single(Box::new(single)), false));
        }
        let client = ClusterClient::builder(options.urls.iter().map(|url| url.expose()))
            .retries(RETRIES)
            .min_retry_wait(20)
            .max_retry_wait(200)
            .connection_timeout(options.timeout)
            .response_timeout(options.timeout)
            .overall_response_timeout(Some(options.timeout))
            // Requests share the connection: without `nodelay`, a command could be held back until the one before it is
            // acknowledged.
            .tcp_settings(TcpSettings::default().set_nodelay(true))
            .build()?;
        Ok((Self::Cluster(client.get_async_generic_connection::<C>().await?), true))
    }

    /// The cluster, if it is one.
    pub(super) fn cluster(&self) -> Option<&ClusterConnection<C>> {
        match self {
            Self::Cluster(connection) => Some(connection),
            Self::Single(_) => None,
        }
    }

    /// Sends a command to where its first key lives.
    pub(super) async fn send(&self, cmd: &Cmd) -> RedisResult<Value> {
        match self {
            Self::Cluster(connection) => {
                connection.clone().req_packed_command(cmd).await.and_then(Value::extract_error)
            }
            Self::Single(single) => single.send(cmd).await,
        }
    }
}

impl<C: ConnectionLike + Connect + Clone + Send + Sync + 'static> Single<C> {
    async fn connection(&self) -> RedisResult<Arc<C>> {
        if let Some(current) = self.current.load_full() {
            return Ok(current);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(current) = self.current.load_full() {
            return Ok(current);
        }
        let connection = Arc::new(connect(self.url.expose(), self.timeout).await?);
        self.current.store(Some(Arc::clone(&connection)));
        Ok(connection)
    }

    async fn send(&self, cmd: &Cmd) -> RedisResult<Value> {
        let used = self.connection().await?;
        let answer = C::clone(&used).req_packed_command(cmd).await.and_then(Value::extract_error);
        if answer.as_ref().is_err_and(RedisError::is_unrecoverable_error) {
            // The next command connects again.
            let unchanged = arc_swap::Guard::into_inner(self.current.load());
            if unchanged.is_some_and(|current| Arc::ptr_eq(&current, &used)) {
                self.current.store(None);
            }
        }
        answer
    }
}

async fn connect<C: Connect>(url: &str, timeout: Duration) -> RedisResult<C> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    C::connect_with_config(url.into_connection_info()?, config).await
}

/// Whether a server is part of a cluster.
async fn is_cluster(url: &str, timeout: Duration) -> RedisResult<bool> {
    let mut connection: redis::aio::MultiplexedConnection = connect(url, timeout).await?;
    let info: String = redis::cmd("INFO").arg("cluster").query_async(&mut connection).await?;
    Ok(info.lines().any(|line| line.trim() == "cluster_enabled:1"))
}
