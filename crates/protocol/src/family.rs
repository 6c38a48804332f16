//! Refresh-token families: one per login. Rotation replaces the live token by the next version within the family.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

use crate::authorization_details::AuthorizationDetails;
use crate::grant::GrantId;
use crate::id::{ClientId, Sid, UserId};
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::session::Amr;
use crate::time::Timestamp;

/// The id of a family, and where it is stored: the part of a refresh token that rotation does not change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FamilyId {
    /// The generation of shards in which it was created; 0 for families that are found by hash.
    pub generation: u32,
    /// The shard, or the constant slot if `generation` is 0.
    pub shard: u32,
    /// 20 characters, made of the time of creation and random ones; or 22, the digest of a registered token's `jti`.
    pub name: SmolStr,
}

/// A family as stored. Its tokens are not stored: they are derived from id and version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// The grant it belongs to.
    pub grant: GrantId,
    /// The client that may refresh.
    pub client: ClientId,
    /// The user that the tokens are about.
    pub user: UserId,
    /// The session in which it began; `None` for a registered one. Whether it ends with that session:
    /// [`Self::bound_to`].
    pub sid: Option<Sid>,
    /// The widest scope of a refresh.
    pub scope: Scope,
    /// When the user last authenticated.
    pub auth_time: Timestamp,
    /// How the user authenticated.
    pub amr: Amr,
    /// The version of the live token; the first is 1.
    pub version: u32,
    /// When the family began.
    pub created_at: Timestamp,
    /// When the live version was created.
    pub rotated_at: Timestamp,
    /// When it expires unless it is used.
    pub idle_expires_at: Timestamp,
    /// When it expires in any case.
    pub expires_at: Timestamp,
    /// The thumbprint of the key to which its tokens are bound (RFC 9449 5), for clients that prove possession of
    /// one; or, after `x5t#S256:`, that of a TLS certificate (RFC 8705 4).
    pub binding: Option<SmolStr>,
    /// The resources that its tokens may be for (RFC 8707 2.2); empty if none were requested. Records of earlier versions end
    /// before it.
    #[serde(default, deserialize_with = "at_the_end")]
    pub resources: Vec<String>,
    /// The authorization details that were granted (RFC 9396). The last field, because records of earlier versions, and those without
    /// details, end before it.
    #[serde(
        default,
        skip_serializing_if = "AuthorizationDetails::is_empty",
        deserialize_with = "at_the_end"
    )]
    pub authorization_details: AuthorizationDetails,
}

/// Reads a field at the end of a record, which records of earlier versions lack.
fn at_the_end<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    if deserializer.is_human_readable() {
        return T::deserialize(deserializer);
    }
    Ok(T::deserialize(deserializer).unwrap_or_default())
}

impl Family {
    /// The session with which the family ends; `None` with `offline_access`, which outlives the session (OpenID
    /// Connect Core 11).
    pub fn bound_to(&self) -> Option<&Sid> {
        self.sid.as_ref().filter(|_| !self.scope.contains(OFFLINE_ACCESS))
    }

    /// Whether it has expired.
    pub fn ended(&self, now: Timestamp) -> bool {
        now >= self.ends_at()
    }

    /// When it expires unless it is used.
    pub fn ends_at(&self) -> Timestamp {
        self.expires_at.min(self.idle_expires_at)
    }
}

/// The result of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The family was rotated, by this call alone. Holds the family after it.
    Rotated(Arc<Family>),
    /// The answer to this refresh was lost, and the successor that was then issued is unused: issue the same one
    /// again.
    Retry(Arc<Family>),
    /// A rotated version was presented again. This operation has ended the family, and written a tombstone for its
    /// grant.
    Reused(Arc<Family>),
    /// There is no such live family.
    Unknown,
}

/// The parameters of a rotation.
#[derive(Clone, Copy, Debug)]
pub struct RotationRequest {
    /// The version that the presented token is authentic for.
    pub presented: u32,
    /// The current time.
    pub now: Timestamp,
    /// How long after a rotation the previous version may be presented again, in case its answer was lost.
    pub retry_window: std::time::Duration,
    /// How long a family may stay unused.
    pub idle: std::time::Duration,
    /// Whether tokens rotate; if not, the same token stays live.
    pub rotate: bool,
    /// Until when the tombstone of a reused family must be kept.
    pub tombstone_until: Timestamp,
}

/// Decides what a presented version means, and changes the family accordingly.
///
/// Every back-end calls this under the lock, or inside the transaction, that makes it atomic. So the rule is the same
/// in all of them.
pub fn rotate(family: &mut Family, request: &RotationRequest) -> Step {
    let RotationRequest { presented, now, retry_window, idle, rotate, .. } = *request;
    if family.ended(now) {
        return Step::Unknown;
    }
    if !rotate && presented == family.version {
        // `rotated_at` is not changed, so that the retry window of the previous version does not begin again.
        family.idle_expires_at = now + idle;
        return Step::Moved;
    }
    if presented >= family.version {
        // An authentic version above the stored one proves that the store has lost writes, for example by a restored
        // backup. The family continues from the presented version.
        family.version = presented.saturating_add(1);
        family.rotated_at = now;
        family.idle_expires_at = now + idle;
        return Step::Moved;
    }
    if presented + 1 == family.version && now.since(family.rotated_at) <= retry_window {
        return Step::Retry;
    }
    Step::Reused
}

/// What the back-end has to do after [`rotate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The family was changed: store it, and answer [`Rotation::Rotated`].
    Moved,
    /// Nothing changed: answer [`Rotation::Retry`].
    Retry,
    /// End the family and its grant: answer [`Rotation::Reused`].
    Reused,
    /// Answer [`Rotation::Unknown`].
    Unknown,
}

#[cfg(test)]
mod tests;
