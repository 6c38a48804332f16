//! Roles, of the issuer or of one client.

use serde::{Deserialize, Serialize};

use crate::entitlement::{Description, EntitlementName};
use crate::id::{ClientId, GroupId, RoleId, UserId};
use crate::time::Timestamp;

/// How many roles an issuer may have, those of its clients included.
pub const MOST_ROLES: u64 = 100_000;

/// How many roles may be given to a user or a group, not counting those that a user has by groups.
pub const MOST_ROLES_OF_HOLDER: u64 = 1_000;

/// A role as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its id.
    pub id: RoleId,
    /// Its name, unique within the issuer's own roles or the client's by its [`key`](EntitlementName::key).
    pub name: EntitlementName,
    /// The client whose role it is; `None` for a role of the issuer. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    /// What it allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Who a role is given to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleHolder {
    /// One user.
    User(UserId),
    /// The members of a group, and of the groups below it.
    Group(GroupId),
}

/// A role that is given to a user or group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GivenRole {
    /// The role.
    pub role: RoleId,
    /// Who has it.
    pub holder: RoleHolder,
}
