//! The trait [`Store`]: readiness, sweeping, closing.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreFigures;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::backup::{BackupError, BackupReport};
use symbolon_store::port::{ChangeListener, Issuers, Store};
use symbolon_store::transfer::{Freeze, FreezeError};

use crate::ClusterStore;

#[async_trait]
impl Store for ClusterStore {
    fn on_change(&self, listener: ChangeListener) {
        self.changes.listen(listener);
    }

    fn check_lease(&self) -> Result<(), StoreError> {
        self.nodes.check()
    }

    fn figures(&self) -> &Arc<StoreFigures> {
        &self.figures
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.nodes.check()?;
        self.redis.ready()
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        // Nothing is deleted while the store is being moved.
        let Ok(_pass) = self.gate.enter() else { return Ok(0) };
        let issuers: Vec<_> = self.issuers().await?.into_iter().map(|issuer| issuer.id).collect();
        let gone = self.sweep_session_lists(&issuers, now).await?
            + self.sweep_families(now).await?
            + self.sweep_tombstones(now).await?
            + self.sweep_assertions(now).await?
            + self.sweep_email_codes(now).await?
            + self.sweep_deliveries(now).await?
            + self.sweep_invitations(now).await?;
        self.measure_marks().await?;
        self.sweep_generations(now).await?;
        self.nodes.forget_the_dead().await?;
        Ok(gone)
    }

    async fn reseal(
        &self,
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<(), StoreError> {
        self.reseal_records(seen, sealed).await
    }

    async fn check_backup_target(&self, _target: &Path) -> Result<(), BackupError> {
        Err(no_backup())
    }

    async fn backup(&self, _target: &Path, _now: Timestamp) -> Result<BackupReport, BackupError> {
        Err(no_backup())
    }

    async fn freeze(&self, freeze: Freeze) -> Result<(), FreezeError> {
        self.set_frozen(freeze).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        let left = self.nodes.leave().await;
        self.postgres.close();
        left
    }
}

fn no_backup() -> BackupError {
    let mend = "the cluster store is backed up by its engines' own tools: see docs/setup/cluster.md";
    BackupError::Target(mend.into())
}
