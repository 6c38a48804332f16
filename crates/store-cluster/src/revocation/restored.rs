//! A database that was restored from a backup lacks the revocations made after that backup.

use std::sync::Arc;
use std::time::Duration;

use symbolon_figures::StoreFigures;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use tokio::time::sleep;

use crate::postgres::{Connection, Postgres, PostgresError, PostgresOptions, column};

/// The epoch is never set back, whatever the database's clock says.
const OPEN: &str = "
    INSERT INTO meta (name, value)
    VALUES ('epoch', CAST(CAST(extract(epoch FROM now()) * 1000 AS BIGINT) AS TEXT))
    ON CONFLICT (name) DO UPDATE
        SET value = CAST(greatest(CAST(meta.value AS BIGINT), CAST(excluded.value AS BIGINT)) AS TEXT)
    RETURNING value";

/// The precision of the issue time in a token.
const SECOND: Duration = Duration::from_secs(1);

/// Why no epoch was opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EpochError {
    #[error(
        "nodes run on this database ({0}), and they learn of an epoch when they start: stop them first (one that was \
         killed counts for two seconds)"
    )]
    Running(i64),
    #[error("no node was ever started on this database: is it the one that was restored?")]
    Empty,
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Opens an epoch in a restored database: nodes that start from now on accept no access token that was issued before
/// it. Returns its start, by the database's clock, but only once that second is over: a token states its time of issue
/// in whole seconds (RFC 7519 4.1.6), so one that is issued in the same second would be refused too.
///
/// # Errors
/// [`EpochError`]: a node runs, the database is not a store's, or it cannot be reached.
pub async fn open_epoch(options: &PostgresOptions) -> Result<Timestamp, EpochError> {
    let postgres = Postgres::new(options, &Arc::new(StoreFigures::new()))?;
    let connection = postgres.connection().await?;
    let tables = "SELECT count(*) FROM information_schema.tables
                  WHERE table_name IN ('meta', 'leases') AND table_schema = current_schema()";
    if counted(&connection, tables).await? < 2 {
        return Err(EpochError::Empty);
    }
    let running = "SELECT count(*) FROM leases WHERE until > now() AND NOT closed";
    match counted(&connection, running).await? {
        0 => {}
        nodes => return Err(EpochError::Running(nodes)),
    }
    let opened = connection.change_returning(OPEN, &[]).await?;
    let value = opened.first().ok_or_else(|| StoreError::Failed("the epoch was not written".into()))?;
    let opened = moment(column(value, 0)?)?;
    sleep(SECOND - Duration::from_millis(opened.millis() % 1_000)).await;
    Ok(opened)
}

/// The moment at which the database was restored from a backup, if it ever was.
pub(crate) async fn restored_at(postgres: &Postgres) -> Result<Option<Timestamp>, StoreError> {
    let connection = postgres.connection().await?;
    let row = connection.first("SELECT value FROM meta WHERE name = 'epoch'", &[]).await?;
    row.map(|row| moment(column(&row, 0)?)).transpose()
}

fn moment(text: &str) -> Result<Timestamp, StoreError> {
    let millis = text.parse().map_err(|_| StoreError::Failed(format!("the epoch is no time: {text}")))?;
    Ok(Timestamp::from_millis(millis))
}

async fn counted(connection: &Connection, sql: &str) -> Result<i64, StoreError> {
    let row = connection.first(sql, &[]).await?;
    row.map_or(Ok(0), |row| column(&row, 0))
}
