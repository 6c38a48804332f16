//! Updates of records that earlier releases wrote, done when a node starts.

use symbolon_store::StoreError;

use crate::ClusterStore;
use crate::postgres::column;

/// Counts the running nodes that may still write records in an older form: the version in their lease names no schema.
const OLDER: &str =
    "SELECT count(*) FROM leases WHERE until > now() AND NOT closed AND version NOT LIKE '% schema %'";

impl ClusterStore {
    /// Runs `work` when a node starts, unless `mark` stands in the table `meta`. The mark is set after a run during
    /// which no older node was running, because an older node may write more records in the older form. `work` must
    /// change nothing if it was done before.
    pub(crate) async fn once(
        &self,
        mark: &str,
        work: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        // Nothing is updated while the store is being moved.
        let Ok(_pass) = self.gate.enter() else { return Ok(()) };
        let connection = self.postgres.connection().await?;
        if connection.first("SELECT 1 FROM meta WHERE name = $1", &[&mark]).await?.is_some() {
            return Ok(());
        }
        // Count before `work` reads anything: `work` may miss what an older node writes after that.
        let older = connection.first(OLDER, &[]).await?;
        let older = older.map(|row| column::<i64>(&row, 0)).transpose()?.unwrap_or_default();
        drop(connection);
        work.await?;
        if older == 0 {
            let sql = "INSERT INTO meta (name, value) VALUES ($1, '') ON CONFLICT DO NOTHING";
            self.postgres.connection().await?.change(sql, &[&mark]).await?;
        }
        Ok(())
    }
}
