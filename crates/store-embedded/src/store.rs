//! The port as a whole: readiness, sweeping, closing.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreFigures;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::backup::{BackupError, BackupReport};
use symbolon_store::port::{ChangeListener, Store};
use symbolon_store::transfer::{Freeze, FreezeError};

use crate::EmbeddedStore;

#[async_trait]
impl Store for EmbeddedStore {
    fn on_change(&self, listener: ChangeListener) {
        self.records.on_change(listener);
    }

    fn figures(&self) -> &Arc<StoreFigures> {
        &self.figures
    }

    fn forgets_proofs_until(&self) -> Option<Timestamp> {
        self.proofs.forgets_until()
    }

    fn is_recovered(&self) -> bool {
        self.epoch.get().is_some()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        if !self.is_recovered() {
            return Err(StoreError::Unavailable("the journal is being read".into()));
        }
        if !self.database.is_writable() {
            return Err(StoreError::Unavailable("the database's writer has ended".into()));
        }
        // A frozen store is ready, because it still answers reads.
        if self.journal.is_sealed() { Ok(()) } else { self.check_writable() }
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut gone = self.sweep_codes(now).await
            + self.sweep_challenges(now).await
            + self.sweep_sessions(now).await
            + self.sweep_families(now).await
            + self.sweep_tombstones(now).await
            + self.sweep_assertions(now).await
            + self.sweep_email_codes(now).await
            + self.sweep_pushed_requests(now).await
            + self.sweep_device_authorizations(now).await
            + self.sweep_backchannel_authentications(now).await;
        if self.journal.writable() {
            gone += self.records.sweep_deliveries(now).await?;
            gone += self.records.sweep_invitations(now).await?;
            self.sweep_generations(now).await?;
            self.mark_time(now)?;
        }
        Ok(gone)
    }

    async fn reseal(
        &self,
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<(), StoreError> {
        self.records.reseal(seen, sealed).await
    }

    async fn backup(&self, target: &Path, now: Timestamp) -> Result<BackupReport, BackupError> {
        Ok(Self::backup(self, target, now).await?)
    }

    async fn check_backup_target(&self, target: &Path) -> Result<(), BackupError> {
        Ok(Self::check_backup_target(self, target)?)
    }

    async fn freeze(&self, freeze: Freeze) -> Result<(), FreezeError> {
        self.set_frozen(freeze).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.write_proofs_down().await?;
        let (journal, database) = (Arc::clone(&self.journal), Arc::clone(&self.database));
        tokio::task::spawn_blocking(move || {
            database.close();
            journal.close().map_err(crate::failed)
        })
        .await
        .map_err(crate::failed)?
    }
}
