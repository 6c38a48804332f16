//! PostgreSQL: pooled connections whose statements are prepared once, counted and bounded in time.

mod connector;
mod error;
mod migration;

pub use migration::MigrationError;
pub(crate) use migration::{Migration, migrate};

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    GenericClient, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use rustls::ClientConfig;
use symbolon_crypto::SecretString;
use symbolon_figures::StoreFigures;
use symbolon_store::StoreError;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::breaker::Breaker;
use connector::Connector;
use error::cause;
pub(crate) use error::of_database;

/// How to reach PostgreSQL.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`, several hosts with `target_session_attrs=read-write`, TLS with
    /// `sslmode=require`.
    pub url: SecretString,
    /// Connections that this process holds at most.
    pub connections: usize,
    /// How long one statement, or the wait for a connection, may take.
    pub timeout: Duration,
}

impl PostgresOptions {
    /// Reads the URL. Nothing is connected.
    ///
    /// # Errors
    /// [`PostgresError::Url`], which names the option that is wrong, but contains no value.
    pub fn check(&self) -> Result<(), PostgresError> {
        config(self)?;
        Ok(())
    }
}

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PostgresError {
    #[error("the URL of PostgreSQL cannot be read: {}", cause(.0))]
    Url(#[from] tokio_postgres::Error),
    #[error("there can be no connections to PostgreSQL: {0}")]
    Pool(#[from] deadpool_postgres::BuildError),
}

/// How many requests per connection may wait for one. Beyond that, a request fails at once.
const WAITING_PER_CONNECTION: usize = 512;

/// A parameter of a statement.
pub(crate) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// The database.
pub(crate) struct Postgres {
    pool: Pool,
    figures: Arc<StoreFigures>,
    breaker: Breaker,
    timeout: Duration,
}

/// Statements on one connection, or inside one transaction.
pub(crate) struct Statements<C> {
    client: C,
    figures: Arc<StoreFigures>,
    timeout: Duration,
}

/// A connection that no other request uses at the same time.
pub(crate) type Connection = Statements<Object>;

/// A transaction; rolled back unless it is committed.
pub(crate) type Transaction<'a> = Statements<deadpool_postgres::Transaction<'a>>;

impl Postgres {
    /// Makes a pool, whose connections will live on the runtime of the caller. Nothing is connected yet.
    pub(crate) fn new(options: &PostgresOptions, figures: &Arc<StoreFigures>) -> Result<Self, PostgresError> {
        let manager = Manager::from_connect(
            config(options)?,
            Connector::here(MakeRustlsConnect::new(tls())),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(options.connections)
            .wait_timeout(Some(options.timeout))
            .create_timeout(Some(options.timeout))
            .recycle_timeout(Some(options.timeout))
            .runtime(Runtime::Tokio1)
            .build()?;
        Ok(Self {
            pool,
            figures: Arc::clone(figures),
            breaker: Breaker::new("PostgreSQL"),
            timeout: options.timeout,
        })
    }

    /// Takes a connection from the pool.
    pub(crate) async fn connection(&self) -> Result<Connection, StoreError> {
        let status = self.pool.status();
        if status.waiting > status.max_size * WAITING_PER_CONNECTION {
            return Err(StoreError::Unavailable("too many requests wait for PostgreSQL".into()));
        }
        let admitted = self.breaker.admit()?;
        let client = admitted.judge(self.pool.get().await.map_err(pool_error))?;
        Ok(Statements { client, figures: Arc::clone(&self.figures), timeout: self.timeout })
    }

    /// How long the database may still work on a request after its caller gave it up: one timeout until the request has
    /// arrived at the latest, and another until the database ends the statement.
    pub(crate) fn settles_within(&self) -> Duration {
        self.timeout * 2
    }

    /// Closes every connection.
    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

impl Connection {
    /// Begins a transaction (read committed).
    pub(crate) async fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        let (figures, limit) = (Arc::clone(&self.figures), self.timeout);
        let client = bounded(limit, self.client.transaction()).await?;
        Ok(Statements { client, figures, timeout: limit })
    }

    /// Runs several statements of the program itself, without parameters, in one request.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.client.batch_execute(sql).await.map_err(|error| of_database(&error))
    }
}

impl Transaction<'_> {
    /// Commits. Durable on return.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        bounded(self.timeout, self.client.commit()).await
    }

    /// Runs several statements of the program itself, without parameters, in one request.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.client.batch_execute(sql).await.map_err(|error| of_database(&error))
    }
}

impl<C: GenericClient> Statements<C> {
    /// Returns every row.
    pub(crate) async fn all(&self, sql: &str, values: &[Parameter<'_>]) -> Result<Vec<Row>, StoreError> {
        let rows = bounded(self.timeout, async {
            let statement = self.client.prepare_cached(sql).await?;
            self.client.query(&statement, values).await
        })
        .await?;
        self.figures.database().read(rows.len() as u64);
        Ok(rows)
    }

    /// The first row, if there is one.
    pub(crate) async fn first(&self, sql: &str, values: &[Parameter<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.all(sql, values).await?.into_iter().next())
    }

    /// Changes rows; returns how many.
    pub(crate) async fn change(&self, sql: &str, values: &[Parameter<'_>]) -> Result<u64, StoreError> {
        let changed = bounded(self.timeout, async {
            let statement = self.client.prepare_cached(sql).await?;
            self.client.execute(&statement, values).await
        })
        .await?;
        self.figures.database().write(changed);
        Ok(changed)
    }

    /// Changes rows, and gives back what the statement returns of them.
    pub(crate) async fn change_returning(
        &self,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let rows = bounded(self.timeout, async {
            let statement = self.client.prepare_cached(sql).await?;
            self.client.query(&statement, values).await
        })
        .await?;
        self.figures.database().write(rows.len() as u64);
        Ok(rows)
    }
}

/// How many times work that conflicts with another transaction is attempted.
const TRIES: u32 = 8;

/// Repeats work while it conflicts with another transaction, as in a deadlock with another node's batch. The work must
/// be safe to repeat.
pub(crate) async fn retried<T, F>(mut work: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..TRIES {
        match work().await {
            Err(StoreError::Conflict) => {}
            done => return done,
        }
    }
    work().await
}

/// One column of a row.
pub(crate) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| StoreError::Failed(format!("PostgreSQL: {error}")))
}

async fn bounded<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(|error| of_database(&error)),
        Err(_) => Err(StoreError::Unavailable("PostgreSQL does not answer in time".into())),
    }
}

fn pool_error(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => of_database(&error),
        PoolError::Closed => StoreError::Unavailable("the store is closed".into()),
        other => StoreError::Unavailable(format!("PostgreSQL: {other}")),
    }
}

/// The connection settings of this process.
pub(crate) fn config(options: &PostgresOptions) -> Result<Config, tokio_postgres::Error> {
    let mut config: Config = options.url.expose().parse()?;
    let limit = format!("-c statement_timeout={}", options.timeout.as_millis());
    let given = config.get_options().map(|given| format!("{given} ")).unwrap_or_default();
    config.options(format!("{given}{limit}"));
    config.application_name("symbolon");
    config.connect_timeout(options.timeout);
    config.tcp_user_timeout(options.timeout);
    config.keepalives_idle(Duration::from_secs(10));
    Ok(config)
}

/// TLS with the root certificates that the system trusts, or those of `SSL_CERT_FILE`.
pub(crate) fn tls() -> ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_read_is_told_by_the_name_of_what_is_wrong() {
        let checked = |url: &str| {
            let (connections, timeout) = (2, Duration::from_secs(1));
            PostgresOptions { url: SecretString::from(url), connections, timeout }.check()
        };
        checked("postgres://u:p@a:1,b:2/db?sslmode=require&target_session_attrs=read-write").unwrap();
        let told = checked("postgres://u:hunter2@a/db?sslrootcert=/ca.pem").unwrap_err().to_string();
        assert!(told.contains("`sslrootcert`") && !told.contains("hunter2"), "{told}");
    }
}
