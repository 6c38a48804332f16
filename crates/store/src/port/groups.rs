//! The port of groups, and of what a token needs of a user's groups and roles.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::entitlement::{EntitlementName, Entitlements};
use symbolon_protocol::group::{Group, Membership, Misplaced};
use symbolon_protocol::id::{GroupId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

use super::{Page, PageRequest};
use crate::StoreError;

/// Whether a group was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupCreation {
    /// Written.
    Created,
    /// Another group has the same id, or a name with the same normal form.
    Exists,
    /// There is no group of the id in `parent`.
    NoSuchParent,
    /// It would be nested deeper than [`MOST_DEPTH`](symbolon_protocol::group::MOST_DEPTH).
    TooDeep,
    /// The issuer has [`MOST_GROUPS`](symbolon_protocol::group::MOST_GROUPS) groups already.
    TooMany,
}

impl From<Misplaced> for GroupCreation {
    fn from(misplaced: Misplaced) -> Self {
        match misplaced {
            Misplaced::NoSuchParent => Self::NoSuchParent,
            // There is a group of this id already, above its own new place.
            Misplaced::Cycle => Self::Exists,
            Misplaced::TooDeep => Self::TooDeep,
        }
    }
}

/// Whether a group was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupUpdate {
    /// Written.
    Updated,
    /// There is no such group.
    NoSuchGroup,
    /// Another group has a name with the same normal form.
    NameTaken,
    /// There is no group of the id in `parent`.
    NoSuchParent,
    /// The new parent is the group itself or a group below it.
    Cycle,
    /// The group, or one below it, would be nested deeper than
    /// [`MOST_DEPTH`](symbolon_protocol::group::MOST_DEPTH).
    TooDeep,
}

impl From<Misplaced> for GroupUpdate {
    fn from(misplaced: Misplaced) -> Self {
        match misplaced {
            Misplaced::NoSuchParent => Self::NoSuchParent,
            Misplaced::Cycle => Self::Cycle,
            Misplaced::TooDeep => Self::TooDeep,
        }
    }
}

/// Whether a group was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupDeletion {
    /// Deleted, with its memberships and the roles that it was given.
    Deleted {
        /// How many members it had.
        members: u64,
    },
    /// There are groups below it: nothing was deleted.
    HasChildren,
    /// There is no such group.
    NoSuchGroup,
}

/// Whether a user was added to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberAddition {
    /// Added now.
    Added,
    /// The user was a member before.
    WasMember,
    /// There is no such user.
    NoSuchUser,
    /// There is no such group.
    NoSuchGroup,
    /// The user is a member of
    /// [`MOST_GROUPS_OF_USER`](symbolon_protocol::group::MOST_GROUPS_OF_USER) groups already.
    TooMany,
}

/// Whether a user was removed from a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRemoval {
    /// Removed now.
    Removed,
    /// The user was not a member, or there is no such user or group.
    WasNotMember,
}

impl MemberRemoval {
    /// The result of a removal that did, or did not, find a membership.
    pub const fn of(was_there: bool) -> Self {
        if was_there { Self::Removed } else { Self::WasNotMember }
    }
}

/// Which groups to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GroupFilter {
    /// All.
    #[default]
    All,
    /// Those without a parent.
    Topmost,
    /// Those directly below a group.
    Below(GroupId),
}

/// Groups of users. No operation leaves a cycle of groups, or one nested too deep, whatever runs at the same time.
#[async_trait]
pub trait Groups: Send + Sync {
    /// Creates a group.
    async fn create_group(&self, issuer: &IssuerId, group: Group) -> Result<GroupCreation, StoreError> {
        let created = self.create_groups(issuer, vec![group]).await?;
        Ok(created.into_iter().next().unwrap_or(GroupCreation::Exists))
    }
    /// Creates many groups in their order, so that a group's parent may be one before it; each is created or not,
    /// independently of the others.
    async fn create_groups(
        &self,
        issuer: &IssuerId,
        groups: Vec<Group>,
    ) -> Result<Vec<GroupCreation>, StoreError>;
    /// The group of an id.
    async fn group(&self, issuer: &IssuerId, id: &GroupId) -> Result<Option<Group>, StoreError>;
    /// The group of a name, in any spelling with the same normal form.
    async fn group_by_name(
        &self,
        issuer: &IssuerId,
        name: &EntitlementName,
    ) -> Result<Option<Group>, StoreError>;
    /// Replaces a group whose `updated_at` is still `seen`; [`StoreError::Conflict`] if it is another. A new `parent`
    /// moves it with all groups below it.
    async fn update_group(
        &self,
        issuer: &IssuerId,
        group: Group,
        seen: Timestamp,
    ) -> Result<GroupUpdate, StoreError>;
    /// Deletes a group that has no groups below it, with its memberships and the roles that it was given.
    async fn delete_group(&self, issuer: &IssuerId, id: &GroupId) -> Result<GroupDeletion, StoreError>;
    /// Lists groups, newest first. Searches ids and names.
    async fn list_groups(
        &self,
        issuer: &IssuerId,
        filter: &GroupFilter,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError>;
    /// The next groups in the order of their ids, at most `limit` (1 to 1,000); fewer at the end only. A group that
    /// exists during the whole listing comes exactly once, even if others are created or deleted.
    async fn next_groups(
        &self,
        issuer: &IssuerId,
        after: Option<&GroupId>,
        limit: u32,
    ) -> Result<Vec<Group>, StoreError>;

    /// Adds a user to a group.
    async fn add_member(
        &self,
        issuer: &IssuerId,
        membership: Membership,
    ) -> Result<MemberAddition, StoreError> {
        let added = self.add_members(issuer, vec![membership]).await?;
        Ok(added.into_iter().next().unwrap_or(MemberAddition::NoSuchGroup))
    }
    /// Adds many users to groups; each is added or not, independently of the others. The results have the order of the
    /// memberships. A membership never outlives its user or group, because a later user or group with the same id would
    /// inherit it.
    async fn add_members(
        &self,
        issuer: &IssuerId,
        memberships: Vec<Membership>,
    ) -> Result<Vec<MemberAddition>, StoreError>;
    /// Removes a user from a group.
    async fn remove_member(
        &self,
        issuer: &IssuerId,
        membership: Membership,
    ) -> Result<MemberRemoval, StoreError> {
        let removed = self.remove_members(issuer, vec![membership]).await?;
        Ok(removed.into_iter().next().unwrap_or(MemberRemoval::WasNotMember))
    }
    /// Removes many users from groups. The results have the order of the memberships.
    async fn remove_members(
        &self,
        issuer: &IssuerId,
        memberships: Vec<Membership>,
    ) -> Result<Vec<MemberRemoval>, StoreError>;
    /// The direct members of a group, in the order of their ids; none if there is no such group. Searches as
    /// [`list_users`](super::Users::list_users) does.
    async fn list_members(
        &self,
        issuer: &IssuerId,
        group: &GroupId,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError>;
    /// The next memberships in the order of the users' ids, then of the groups', at most `limit` (1 to 1,000); fewer at
    /// the end only. A membership that exists during the whole listing comes exactly once, whatever is added or removed
    /// meanwhile.
    async fn next_memberships(
        &self,
        issuer: &IssuerId,
        after: Option<&Membership>,
        limit: u32,
    ) -> Result<Vec<Membership>, StoreError>;
    /// The groups that a user is a direct member of, in the order of their names' normal forms; none if there is no
    /// such user. Searches ids and names.
    async fn groups_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError>;

    /// The groups and roles of a user, direct and by groups; empty if there is no such user. Cached: a read that begins
    /// after a change was answered sees the change, on this node at once and on every other node within the time that a
    /// notification takes.
    async fn entitlements(&self, issuer: &IssuerId, user: &UserId) -> Result<Arc<Entitlements>, StoreError>;
}
