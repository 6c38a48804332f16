//! Connections that live on the runtime on which the store was opened, whoever asks for one: a worker that stops takes
//! none with it, and one that computes delays no answer to another.

use std::future::pending;
use std::pin::Pin;

use deadpool_postgres::{ConfigConnectImpl, Connect};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

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
            let connecting =
                self.runtime.spawn(async move { ConfigConnectImpl { tls }.connect(&config).await });
            match connecting.await {
                Ok(connected) => connected,
                // The runtime ends: whoever waits gives up at the pool's timeout.
                Err(_) => pending().await,
            }
        })
    }
}
