//! The part of the port for invitations.

use async_trait::async_trait;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::invitation::KeptInvitation;
use symbolon_protocol::time::Timestamp;

use super::{Page, PageRequest};
use crate::StoreError;

/// The result of keeping an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum InvitationKeeping {
    /// It is kept now.
    Kept,
    /// As many as may be kept have not ended yet; nothing was written.
    Full,
}

/// Invitations, each kept until 15 minutes after its end, used or not. Not cached.
#[async_trait]
pub trait Invitations: Send + Sync {
    /// Keeps a new invitation; durable when it returns. `most` is how many of the issuer may wait for their end: of many that
    /// come at the same time to a back-end of several nodes, a few more may be kept.
    async fn keep_invitation(
        &self,
        issuer: &IssuerId,
        kept: KeptInvitation,
        most: u32,
    ) -> Result<InvitationKeeping, StoreError>;
    /// The invitation of an id, whether it was used or has ended, or neither.
    async fn invitation(&self, issuer: &IssuerId, id: &str) -> Result<Option<KeptInvitation>, StoreError>;
    /// Those whose time is not over, used or not, newest first. What is searched for is a part of the address.
    async fn list_invitations(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<KeptInvitation>, StoreError>;
    /// Uses an invitation; durable when it returns. True for one caller at most, and for nobody once it was withdrawn or its
    /// time is over.
    async fn use_invitation(&self, issuer: &IssuerId, id: &str, now: Timestamp) -> Result<bool, StoreError>;
    /// Withdraws an invitation: it is gone when this returns true. False, and nothing is written, if it was used, withdrawn or
    /// is over.
    async fn withdraw_invitation(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}
