//! The port of roles. What a user has by them is in [`Groups::entitlements`](super::Groups::entitlements).

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::group::Group;
use symbolon_protocol::id::{ClientId, IssuerId, RoleId};
use symbolon_protocol::role::{GivenRole, Role, RoleHolder};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

use super::{Page, PageRequest};
use crate::StoreError;

/// Whether a role was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleCreation {
    /// Written.
    Created,
    /// Another role has the same id; or another role of the issuer, or of the same client, has a name with the same
    /// normal form.
    Exists,
    /// There is no client of the id in `client_id`.
    NoSuchClient,
    /// The issuer has [`MOST_ROLES`](symbolon_protocol::role::MOST_ROLES) roles already.
    TooMany,
}

/// Whether a role was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleUpdate {
    /// Written.
    Updated,
    /// There is no such role.
    NoSuchRole,
    /// Another role of the issuer, or of the same client, has a name with the same normal form.
    NameTaken,
    /// The role belongs to another client, or to the issuer: that never changes.
    OtherClient,
}

/// Whether a role was given to a user or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleGrant {
    /// Given now.
    Given,
    /// The user or group was given it before.
    WasGiven,
    /// There is no such user.
    NoSuchUser,
    /// There is no such group.
    NoSuchGroup,
    /// There is no such role.
    NoSuchRole,
    /// The user or group was given
    /// [`MOST_ROLES_OF_HOLDER`](symbolon_protocol::role::MOST_ROLES_OF_HOLDER) roles already.
    TooMany,
}

/// Whether a role was taken from a user or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleRemoval {
    /// Taken now.
    Taken,
    /// The user or group was not given it, or there is no such role, user or group.
    WasNotGiven,
}

impl RoleRemoval {
    /// The result of a removal that did, or did not, find the role given.
    pub const fn of(was_there: bool) -> Self {
        if was_there { Self::Taken } else { Self::WasNotGiven }
    }
}

/// How many had a role that was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleHolders {
    /// Users that it was given to.
    pub users: u64,
    /// Groups that it was given to.
    pub groups: u64,
}

/// Which roles to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RoleFilter {
    /// All.
    #[default]
    All,
    /// The issuer's own.
    OfIssuer,
    /// Those of a client.
    OfClient(ClientId),
}

/// Roles, and who has them.
#[async_trait]
pub trait Roles: Send + Sync {
    /// Creates a role.
    async fn create_role(&self, issuer: &IssuerId, role: Role) -> Result<RoleCreation, StoreError> {
        let created = self.create_roles(issuer, vec![role]).await?;
        Ok(created.into_iter().next().unwrap_or(RoleCreation::Exists))
    }
    /// Creates many roles; each is created or not, independently of the others. A role never outlives its client.
    async fn create_roles(
        &self,
        issuer: &IssuerId,
        roles: Vec<Role>,
    ) -> Result<Vec<RoleCreation>, StoreError>;
    /// The role of an id.
    async fn role(&self, issuer: &IssuerId, id: &RoleId) -> Result<Option<Role>, StoreError>;
    /// The role of a name, in any spelling with the same normal form: among those of a client, or the issuer's own.
    async fn role_by_name(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
        name: &EntitlementName,
    ) -> Result<Option<Role>, StoreError>;
    /// Replaces a role whose `updated_at` is still `seen`; [`StoreError::Conflict`] if it is another.
    async fn update_role(
        &self,
        issuer: &IssuerId,
        role: Role,
        seen: Timestamp,
    ) -> Result<RoleUpdate, StoreError>;
    /// Deletes a role and takes it from all who have it; `None` if there is no such role.
    async fn delete_role(&self, issuer: &IssuerId, id: &RoleId) -> Result<Option<RoleHolders>, StoreError>;
    /// Lists roles, newest first. Searches ids and names.
    async fn list_roles(
        &self,
        issuer: &IssuerId,
        filter: &RoleFilter,
        page: &PageRequest,
    ) -> Result<Page<Role>, StoreError>;
    /// The next roles in the order of their ids, at most `limit` (1 to 1,000); fewer at the end only. A role that
    /// exists during the whole listing comes exactly once, even if others are created or deleted.
    async fn next_roles(
        &self,
        issuer: &IssuerId,
        after: Option<&RoleId>,
        limit: u32,
    ) -> Result<Vec<Role>, StoreError>;

    /// Gives a role to a user or group.
    async fn give_role(&self, issuer: &IssuerId, given: GivenRole) -> Result<RoleGrant, StoreError> {
        let granted = self.give_roles(issuer, vec![given]).await?;
        Ok(granted.into_iter().next().unwrap_or(RoleGrant::NoSuchRole))
    }
    /// Gives many roles; each is given or not, independently of the others. The results have the order of `given`. A
    /// given role never outlives the role, or its user or group.
    async fn give_roles(
        &self,
        issuer: &IssuerId,
        given: Vec<GivenRole>,
    ) -> Result<Vec<RoleGrant>, StoreError>;
    /// Takes a role from a user or group.
    async fn take_role(&self, issuer: &IssuerId, given: GivenRole) -> Result<RoleRemoval, StoreError> {
        let taken = self.take_roles(issuer, vec![given]).await?;
        Ok(taken.into_iter().next().unwrap_or(RoleRemoval::WasNotGiven))
    }
    /// Takes many roles. The results have the order of `given`.
    async fn take_roles(
        &self,
        issuer: &IssuerId,
        given: Vec<GivenRole>,
    ) -> Result<Vec<RoleRemoval>, StoreError>;
    /// The roles that a user or group was given, not those by groups, in the order of their names' normal forms; none
    /// if there is no such user or group. Searches ids and names.
    async fn roles_of(
        &self,
        issuer: &IssuerId,
        holder: &RoleHolder,
        page: &PageRequest,
    ) -> Result<Page<Role>, StoreError>;
    /// The next given roles, those of users first, then those of groups, each in the order of the holders' ids, then of
    /// the roles'; at most `limit` (1 to 1,000), fewer at the end only. One that exists during the whole listing comes
    /// exactly once, whatever is given or taken meanwhile.
    async fn next_given_roles(
        &self,
        issuer: &IssuerId,
        after: Option<&GivenRole>,
        limit: u32,
    ) -> Result<Vec<GivenRole>, StoreError>;
    /// The users that a role was given to, not those who have it by groups, in the order of their ids; none if there is
    /// no such role. Searches as [`list_users`](super::Users::list_users) does.
    async fn list_users_with_role(
        &self,
        issuer: &IssuerId,
        role: &RoleId,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError>;
    /// The groups that a role was given to, in the order of their ids; none if there is no such role. Searches ids and
    /// names.
    async fn list_groups_with_role(
        &self,
        issuer: &IssuerId,
        role: &RoleId,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError>;
}
