//! Tombstones: durable in PostgreSQL, read from Redis.

mod look;
mod marks;
mod restored;
mod row;
mod tombstones;

#[cfg(test)]
mod tests;

pub(crate) use marks::{Marks, Reach};
pub(crate) use restored::restored_at;
pub use restored::{EpochError, open_epoch};
pub(crate) use row::{EVERYWHERE, Ended, Row, capped};
pub(crate) use tombstones::{Applied, Tombstones, closed, sweep_by};

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::Revocations;
use symbolon_store::{Outcome, StoreError};

use crate::ClusterStore;
use crate::complete_primary::unconfirmed;
use look::Look;

impl ClusterStore {
    /// Writes tombstones to both engines. On return they are durable, and every node sees them. The write is completed
    /// even if the caller gives up.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when one of the engines could not be written to. PostgreSQL may have the tombstones by
    /// then. This node writes them to Redis later, and until it has done so it does not accept "not revoked" from there.
    pub(crate) async fn bury(&self, issuer: &IssuerId, tombstones: &[Tombstone]) -> Result<(), StoreError> {
        self.tombstones.bury(tombstones.iter().map(|tombstone| Row::of(issuer, tombstone)).collect()).await
    }

    /// Deletes a bounded number of tombstones that are no longer needed; returns how many.
    pub(crate) async fn sweep_tombstones(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.tombstones.sweep(now).await
    }

    async fn look_for_tombstones(&self, issuer: &IssuerId, lineage: &Lineage) -> Result<bool, StoreError> {
        let tag = self.redis.tags().slot(lineage.slot);
        let look = Look::at(tag, issuer, lineage);
        // If the first answer is not accepted, the command is sent once more.
        for _ in 0..2 {
            let answered = self.redis.ask_at(tag.hash_slot(), &look.cmd).await?;
            let no_answer = || StoreError::Failed("Redis answers MGET with no such list".into());
            let (complete, ended) = look.read(&answered.value).ok_or_else(no_answer)?;
            if self.complete_primaries.confirmed(tag, complete, answered.primary).await? {
                return Ok(ended);
            }
        }
        Err(unconfirmed(tag))
    }
}

#[async_trait]
impl Revocations for ClusterStore {
    async fn revoke(&self, issuer: &IssuerId, tombstones: &[Tombstone]) -> Result<Outcome<()>, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(first) = tombstones.first() else { return Ok(Outcome::settled(())) };
        let shard = self.counted_under(u32::from(first.slot));
        let timer = self.figures.kind(StoreKind::Revocation).start(shard);
        let buried = self.bury(issuer, tombstones).await;
        timer.finish(buried.is_ok());
        buried.map(Outcome::settled)
    }

    async fn revoked(&self, issuer: &IssuerId, lineage: &Lineage) -> Result<Outcome<bool>, StoreError> {
        self.nodes.check()?;
        if lineage.issued.is_some_and(|issued| self.restored_at.is_some_and(|at| issued <= at)) {
            return Ok(Outcome::settled(true));
        }
        let shard = self.counted_under(u32::from(lineage.slot.number()));
        let timer = self.figures.kind(StoreKind::Revocation).start(shard);
        let ended = self.look_for_tombstones(issuer, lineage).await;
        timer.finish(ended.is_ok());
        ended.map(Outcome::settled)
    }
}
