//! Refresh-token families: one per login, of which one version is live.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

use crate::grant::GrantId;
use crate::id::{ClientId, Sid, UserId};
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::session::Amr;
use crate::time::Timestamp;

/// Where a family is kept and how it is found: the part of a refresh token that stays the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FamilyId {
    /// The generation of shards it was drawn in; 0 for families found by hash.
    pub generation: u32,
    /// The shard, or the constant slot where `generation` is 0.
    pub shard: u32,
    /// 20 characters, its birth and random ones; or 22, the digest of a registered token's `jti`.
    pub name: SmolStr,
}

/// A family as it is stored. The tokens themselves are derived again from id and version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// The grant it belongs to.
    pub grant: GrantId,
    /// Who may refresh.
    pub client: ClientId,
    /// For whom.
    pub user: UserId,
    /// The session that it began in; none where it was registered. Whether it ends with that is [`Self::bound_to`].
    pub sid: Option<Sid>,
    /// The widest scope that a refresh may ask for.
    pub scope: Scope,
    /// When the user last proved who they are.
    pub auth_time: Timestamp,
    /// How.
    pub amr: Amr,
    /// The version whose token is live; the first is 1.
    pub version: u32,
    /// When the family began.
    pub created_at: Timestamp,
    /// When the live version was made.
    pub rotated_at: Timestamp,
    /// When it ends unless it is used.
    pub idle_expires_at: Timestamp,
    /// When it ends whatever happens.
    pub expires_at: Timestamp,
    /// The thumbprint of the key that its tokens are bound to (RFC 9449 5), for clients that prove one.
    pub binding: Option<SmolStr>,
    /// The resources that its tokens may be for (RFC 8707 2.2); none were named where it is empty. Last, because records of
    /// before end here.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "at_the_end")]
    pub resources: Vec<String>,
}

/// What stands at the end of a record, or nothing. A record without it ends before it.
fn at_the_end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    if deserializer.is_human_readable() {
        return Vec::deserialize(deserializer);
    }
    Ok(Vec::deserialize(deserializer).unwrap_or_default())
}

impl Family {
    /// The session that it ends with; none with `offline_access`, which outlives it (OpenID Connect Core 11).
    pub fn bound_to(&self) -> Option<&Sid> {
        self.sid.as_ref().filter(|_| !self.scope.contains(OFFLINE_ACCESS))
    }

    /// Whether its time is over.
    pub fn ended(&self, now: Timestamp) -> bool {
        now >= self.ends_at()
    }

    /// When it ends unless it is used.
    pub fn ends_at(&self) -> Timestamp {
        self.expires_at.min(self.idle_expires_at)
    }
}

/// What became of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// This caller alone moved the family on; the family as it is now.
    Rotated(Arc<Family>),
    /// The answer to this very refresh was lost: the successor that was made is still unused, hand it out again.
    Retry(Arc<Family>),
    /// An older version came back: the family is ended, and its grant has a tombstone, by this very operation.
    Reused(Arc<Family>),
    /// There is no such live family.
    Unknown,
}

/// What a rotation needs to know beside the family.
#[derive(Clone, Copy, Debug)]
pub struct RotationRequest {
    /// The version that the presented token is authentic for.
    pub presented: u32,
    /// The clock.
    pub now: Timestamp,
    /// For how long after a rotation its loss is forgiven.
    pub retry_window: std::time::Duration,
    /// How long a family may stay unused.
    pub idle: std::time::Duration,
    /// Whether versions move on; where not, the same token stays live.
    pub rotate: bool,
    /// How long the tombstone of a reused family is needed: the longest life of an access token.
    pub tombstone_until: Timestamp,
}

/// Decides what a presented version means, and changes the family accordingly (DESIGN, refresh tokens).
///
/// Every back-end calls this under the lock (or inside the transaction) that makes it atomic, so that the
/// rule is one and the same everywhere.
pub fn rotate(family: &mut Family, request: &RotationRequest) -> Step {
    let RotationRequest { presented, now, retry_window, idle, rotate, .. } = *request;
    if family.ended(now) {
        return Step::Unknown;
    }
    if !rotate && presented == family.version {
        // Not `rotated_at`: the window in which the version before is forgiven does not begin anew.
        family.idle_expires_at = now + idle;
        return Step::Moved;
    }
    if presented >= family.version {
        // An authentic version above ours proves that the store went backwards: go forward.
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

/// The answer of [`rotate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The family moved: store it, answer [`Rotation::Rotated`].
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
