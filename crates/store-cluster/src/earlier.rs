//! What is done to records of earlier versions when a node starts.

use symbolon_store::StoreError;

use crate::ClusterStore;
use crate::postgres::column;

/// Nodes that may write records as they were before: of a version that says no schema.
const OLDER: &str =
    "SELECT count(*) FROM leases WHERE until > now() AND NOT closed AND version NOT LIKE '% schema %'";

impl ClusterStore {
    /// Does something at the start of every node, until a node did it with no older one beside it: then `mark` stands in
    /// the table `meta`. It must change nothing where it was done before.
    pub(crate) async fn once(
        &self,
        mark: &str,
        work: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        // What is being moved stays as it is.
        let Ok(_pass) = self.gate.enter() else { return Ok(()) };
        let connection = self.postgres.connection().await?;
        if connection.first("SELECT 1 FROM meta WHERE name = $1", &[&mark]).await?.is_some() {
            return Ok(());
        }
        // Before anything is read: whatever an older node writes afterwards may be missed.
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
