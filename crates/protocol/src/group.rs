//! Groups of users.

use serde::{Deserialize, Serialize};

use crate::entitlement::{Description, EntitlementName};
use crate::id::{GroupId, UserId};
use crate::time::Timestamp;

/// How many groups an issuer may have.
pub const MOST_GROUPS: u64 = 200_000;

/// How deep groups may be nested: a group without a parent has depth 1.
pub const MOST_DEPTH: u32 = 8;

/// How many groups a user may be a member of, not counting the groups above them.
pub const MOST_GROUPS_OF_USER: u64 = 1_000;

/// A group as stored. A member of a group is in all groups above it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its id.
    pub id: GroupId,
    /// Its name, unique within the issuer by its [`key`](EntitlementName::key).
    pub name: EntitlementName,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The group above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<GroupId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A user's membership of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Membership {
    /// The group.
    pub group: GroupId,
    /// The member.
    pub user: UserId,
}
