//! Groups and their members. Whoever creates, changes or deletes a group has locked the groups of the issuer, so that
//! two who move groups at the same time cannot make a cycle together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::entitlement::{EntitlementName, Entitlements};
use symbolon_protocol::group::{Group, MOST_DEPTH, Membership, Misplaced, check_place};
use symbolon_protocol::id::{GroupId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::link::{Link, Links};
use symbolon_store::port::{
    Changed, GroupCreation, GroupDeletion, GroupFilter, GroupUpdate, Groups, MemberAddition, MemberRemoval,
    Page, PageRequest,
};

use super::entitlement_count::{add, lock};
use super::group_creation::{create, upwards};
use super::link::delete_some_to;
use super::link_listing::End;
use super::listing::Listing;
use super::text::{TEXT_FORM, looked_up};
use super::{Written, millis};
use crate::postgres::{Connection, Transaction, column};
use crate::{ClusterStore, from_document};

/// Groups that one transaction creates.
const ROWS_PER_WRITE: usize = 500;

/// How many levels a group has with those below it.
const HEIGHT: &str = "
    WITH RECURSIVE down (id, depth) AS (
        SELECT id, 1 FROM user_groups WHERE issuer = $1 AND id = $2
        UNION ALL
        SELECT g.id, down.depth + 1 FROM down, LATERAL
            (SELECT id FROM user_groups WHERE issuer = $1 AND parent = down.id OFFSET 0) AS g
        WHERE down.depth <= $3)
    SELECT max(depth) FROM down";

const UPDATE: &str = "UPDATE user_groups
    SET name = $3, name_key = $4, parent = $5, search = $6, updated_at = $7, document = $8
    WHERE issuer = $1 AND id = $2";

/// Whether a group may be moved below another parent with all groups below it.
async fn check_move(
    issuer: &str,
    row: &NamedColumns,
    transaction: &Transaction<'_>,
) -> Result<Result<(), Misplaced>, StoreError> {
    if row.owner.is_empty() {
        return Ok(Ok(()));
    }
    let values = (issuer, &row.id, MOST_DEPTH.cast_signed());
    let height = transaction.first(HEIGHT, &[&values.0, values.1, &values.2]).await?;
    let height = height.map(|row| column::<Option<i32>>(&row, 0)).transpose()?.flatten();
    let parent = row.owner.as_str();
    let above = upwards(issuer, &[parent], transaction).await?;
    let above = above.get(parent).map(Vec::as_slice).unwrap_or_default();
    Ok(check_place(&row.id, height.unwrap_or(1).unsigned_abs(), above))
}

/// Updates a group. `None`: it is not as the caller had read it.
async fn update(
    changed: Arc<(IssuerId, NamedColumns, i64)>,
    mut connection: Connection,
) -> Written<GroupUpdate> {
    let (issuer, row, seen) = (changed.0.as_str(), &changed.1, changed.2);
    let transaction = connection.transaction().await?;
    lock(issuer, &transaction).await?;
    let sql = "SELECT updated_at, parent FROM user_groups WHERE issuer = $1 AND id = $2";
    let Some(found) = transaction.first(sql, &[&issuer, &row.id]).await? else {
        return Ok(Some(GroupUpdate::NoSuchGroup));
    };
    if column::<i64>(&found, 0)? != seen {
        return Ok(None);
    }
    if column::<&str>(&found, 1)? != row.owner
        && let Err(misplaced) = check_move(issuer, row, &transaction).await?
    {
        return Ok(Some(misplaced.into()));
    }
    let sql = "SELECT 1 FROM user_groups WHERE issuer = $1 AND name_key = $2 AND id <> $3";
    if transaction.first(sql, &[&issuer, &row.key, &row.id]).await?.is_some() {
        return Ok(Some(GroupUpdate::NameTaken));
    }
    transaction
        .change(
            UPDATE,
            &[&issuer, &row.id, &row.name, &row.key, &row.owner, &row.search, &row.updated_at, &row.document],
        )
        .await?;
    transaction.commit().await?;
    Ok(Some(GroupUpdate::Updated))
}

/// A group to delete, and how many of its members were deleted in the transactions so far.
struct Deletion {
    issuer: IssuerId,
    id: GroupId,
    members: AtomicU64,
}

/// Deletes a group and its members, in as many transactions as necessary; the group in the last one.
async fn delete(deletion: Arc<Deletion>, mut connection: Connection) -> Written<GroupDeletion> {
    let (issuer, id) = (deletion.issuer.as_str(), deletion.id.as_str());
    loop {
        let transaction = connection.transaction().await?;
        lock(issuer, &transaction).await?;
        // The lock keeps members from being added until the commit. One that was being added is seen by the next
        // statement.
        let sql = "SELECT 1 FROM user_groups WHERE issuer = $1 AND id = $2 FOR UPDATE";
        if transaction.first(sql, &[&issuer, &id]).await?.is_none() {
            return Ok(Some(GroupDeletion::NoSuchGroup));
        }
        let sql = "SELECT 1 FROM user_groups WHERE issuer = $1 AND parent = $2 LIMIT 1";
        if transaction.first(sql, &[&issuer, &id]).await?.is_some() {
            return Ok(Some(GroupDeletion::HasChildren));
        }
        let deleted = delete_some_to(Links::Memberships, issuer, &[id], &transaction).await?;
        if deleted > 0 {
            // From now on no group comes below it, so that the rest can be deleted too.
            let sql = "UPDATE user_groups SET ending = TRUE WHERE issuer = $1 AND id = $2 AND NOT ending";
            transaction.change(sql, &[&issuer, &id]).await?;
            transaction.commit().await?;
            deletion.members.fetch_add(deleted, Ordering::Relaxed);
            continue;
        }
        let sql = "DELETE FROM group_roles WHERE issuer = $1 AND group_id = $2";
        transaction.change(sql, &[&issuer, &id]).await?;
        let sql = "DELETE FROM user_groups WHERE issuer = $1 AND id = $2";
        transaction.change(sql, &[&issuer, &id]).await?;
        add(issuer, -1, 0, &transaction).await?;
        transaction.commit().await?;
        return Ok(Some(GroupDeletion::Deleted { members: deletion.members.load(Ordering::Relaxed) }));
    }
}

#[async_trait]
impl Groups for ClusterStore {
    async fn create_groups(
        &self,
        issuer: &IssuerId,
        groups: Vec<Group>,
    ) -> Result<Vec<GroupCreation>, StoreError> {
        let mut created = Vec::with_capacity(groups.len());
        for some in groups.chunks(ROWS_PER_WRITE) {
            let row = |group| NamedColumns::of_group(group, TEXT_FORM);
            let rows = some.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            let piece = Arc::new((issuer.clone(), rows));
            // Nobody is in a new group, so nothing that is cached changes.
            let write =
                self.records.write(StoreKind::Group, |connection| create(Arc::clone(&piece), connection));
            created.extend(write.await?);
        }
        Ok(created)
    }

    async fn group(&self, issuer: &IssuerId, id: &GroupId) -> Result<Option<Group>, StoreError> {
        let sql = "SELECT document FROM user_groups WHERE issuer = $1 AND id = $2";
        let found = self.records.first(StoreKind::Group, sql, &[&issuer.as_str(), &id.as_str()]).await?;
        found.map(|row| from_document(column::<&str>(&row, 0)?)).transpose()
    }

    async fn group_by_name(
        &self,
        issuer: &IssuerId,
        name: &EntitlementName,
    ) -> Result<Option<Group>, StoreError> {
        let key = looked_up(name.as_str());
        let sql = "SELECT document FROM user_groups WHERE issuer = $1 AND name_key = $2";
        let found = self.records.first(StoreKind::Group, sql, &[&issuer.as_str(), &key]).await?;
        found.map(|row| from_document(column::<&str>(&row, 0)?)).transpose()
    }

    async fn update_group(
        &self,
        issuer: &IssuerId,
        group: Group,
        seen: Timestamp,
    ) -> Result<GroupUpdate, StoreError> {
        let row = Arc::new((issuer.clone(), NamedColumns::of_group(&group, TEXT_FORM)?, millis(seen)));
        let update = move |connection| update(Arc::clone(&row), connection);
        self.records.change(StoreKind::Group, Changed::Groups(issuer.clone()), update).await
    }

    async fn delete_group(&self, issuer: &IssuerId, id: &GroupId) -> Result<GroupDeletion, StoreError> {
        let (issuer, id) = (issuer.clone(), id.clone());
        let changed = Changed::Groups(issuer.clone());
        let deletion = Arc::new(Deletion { issuer, id, members: AtomicU64::new(0) });
        let delete = move |connection| delete(Arc::clone(&deletion), connection);
        self.records.change(StoreKind::Group, changed, delete).await
    }

    async fn list_groups(
        &self,
        issuer: &IssuerId,
        filter: &GroupFilter,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError> {
        let listing = Listing::of("user_groups", "created_at DESC, sequence DESC", issuer);
        let listing = match filter {
            GroupFilter::All => listing,
            GroupFilter::Topmost => listing.only("parent = ?", String::new()),
            GroupFilter::Below(parent) => listing.only("parent = ?", parent.as_str().to_owned()),
        };
        let listing = listing.searched("position(? in search) > 0", page);
        listing.read(&self.records, StoreKind::Group, page, |group| group).await
    }

    async fn next_groups(
        &self,
        issuer: &IssuerId,
        after: Option<&GroupId>,
        limit: u32,
    ) -> Result<Vec<Group>, StoreError> {
        let listing = Listing::of("user_groups", "id", issuer);
        let found = listing.after(&self.records, StoreKind::Group, after.map(GroupId::as_str), limit).await?;
        Ok(found.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn add_members(
        &self,
        issuer: &IssuerId,
        memberships: Vec<Membership>,
    ) -> Result<Vec<MemberAddition>, StoreError> {
        let rows = memberships.into_iter().map(Link::from).collect();
        let added = self.records.add_links(Links::Memberships, issuer, rows).await?;
        Ok(added.into_iter().map(MemberAddition::from).collect())
    }

    async fn remove_members(
        &self,
        issuer: &IssuerId,
        memberships: Vec<Membership>,
    ) -> Result<Vec<MemberRemoval>, StoreError> {
        let rows = memberships.into_iter().map(Link::from).collect();
        let removed = self.records.remove_links(Links::Memberships, issuer, rows).await?;
        Ok(removed.into_iter().map(MemberRemoval::of).collect())
    }

    async fn list_members(
        &self,
        issuer: &IssuerId,
        group: &GroupId,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError> {
        let listed = (Links::Memberships, End::Holders);
        self.records.list_linked(listed, issuer, group.as_str(), page, Arc::new).await
    }

    async fn next_memberships(
        &self,
        issuer: &IssuerId,
        after: Option<&Membership>,
        limit: u32,
    ) -> Result<Vec<Membership>, StoreError> {
        let after = after.cloned().map(Link::from);
        let next = self.records.next_links(Links::Memberships, issuer, after, limit).await?;
        Ok(next.into_iter().map(Membership::from).collect())
    }

    async fn groups_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError> {
        let listed = (Links::Memberships, End::Held);
        self.records.list_linked(listed, issuer, user.as_str(), page, |group| group).await
    }

    async fn entitlements(&self, issuer: &IssuerId, user: &UserId) -> Result<Arc<Entitlements>, StoreError> {
        self.held(issuer, user).await
    }
}
