//! Groups and their members. There is one writer, so that what a closure checks stays true until it has written.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::entitlement::{EntitlementName, Entitlements};
use symbolon_protocol::group::{Group, MOST_DEPTH, MOST_GROUPS, Membership, Misplaced, check_place};
use symbolon_protocol::id::{GroupId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::link::{Link, Links};
use symbolon_store::port::{
    Changed, Created, GroupCreation, GroupDeletion, GroupFilter, GroupUpdate, Groups, MemberAddition,
    MemberRemoval, Page, PageRequest,
};

use super::link::{LINKS_PER_WRITE, delete_some_to};
use super::link_listing::End;
use super::listing::{Listing, page_of};
use super::statement::{Statements, document};
use super::{ROWS_PER_WRITE, TEXT_FORM, Written, from_document, millis, refuse};
use crate::EmbeddedStore;

/// A group, if it is not being deleted, and those above it.
const UPWARDS: &str = "
    WITH RECURSIVE up (id, parent, depth) AS (
        SELECT id, parent, 1 FROM user_groups WHERE issuer = ?1 AND id = ?2 AND ending = 0
        UNION ALL
        SELECT g.id, g.parent, up.depth + 1
        FROM up CROSS JOIN user_groups g ON g.issuer = ?1 AND g.id = up.parent WHERE up.depth <= ?3)
    SELECT id FROM up";

/// How many levels a group has with those below it.
const HEIGHT: &str = "
    WITH RECURSIVE down (id, depth) AS (
        SELECT ?2, 1
        UNION ALL
        SELECT g.id, down.depth + 1
        FROM down CROSS JOIN user_groups g ON g.issuer = ?1 AND g.parent = down.id WHERE down.depth <= ?3)
    SELECT max(depth) FROM down";

const COUNT: &str = "SELECT group_count FROM entitlement_counts WHERE issuer = ?1";
const COUNT_ONE_MORE: &str =
    "INSERT INTO entitlement_counts (issuer, group_count, role_count) VALUES (?1, 1, 0)
    ON CONFLICT (issuer) DO UPDATE SET group_count = group_count + 1";
const COUNT_ONE_LESS: &str = "UPDATE entitlement_counts SET group_count = group_count - 1 WHERE issuer = ?1";

/// Writes a group, unless its id or name is taken.
pub(super) fn insert(
    row: &NamedColumns,
    issuer: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<Created> {
    let written = statements.change(
        "INSERT INTO user_groups (issuer, id, name, name_key, parent, search, created_at, updated_at, document)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        params![
            issuer,
            row.id,
            row.name,
            row.key,
            row.owner,
            row.search,
            row.created_at,
            row.updated_at,
            row.document
        ],
    )?;
    if written == 0 {
        return Ok(Created::Exists);
    }
    statements.change(COUNT_ONE_MORE, [issuer])?;
    Ok(Created::Created)
}

/// Whether a group with `height` levels may be below its parent.
fn place(
    row: &NamedColumns,
    height: u32,
    issuer: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<Result<(), Misplaced>> {
    if row.owner.is_empty() {
        return Ok(Ok(()));
    }
    let above: Vec<String> =
        statements.all(UPWARDS, params![issuer, row.owner, MOST_DEPTH], |found| found.get(0))?;
    Ok(check_place(&row.id, height, &above))
}

fn create(row: &NamedColumns, issuer: &str, statements: &Statements<'_>) -> rusqlite::Result<GroupCreation> {
    if let Err(misplaced) = place(row, 1, issuer, statements)? {
        return Ok(misplaced.into());
    }
    let count: Option<i64> = statements.first(COUNT, [issuer], |found| found.get(0))?;
    if count.unwrap_or(0).unsigned_abs() >= MOST_GROUPS {
        return Ok(GroupCreation::TooMany);
    }
    Ok(match insert(row, issuer, statements)? {
        Created::Created => GroupCreation::Created,
        Created::Exists => GroupCreation::Exists,
    })
}

fn update(row: &NamedColumns, issuer: &str, seen: i64, statements: &Statements<'_>) -> Written<GroupUpdate> {
    let sql = "SELECT updated_at, parent FROM user_groups WHERE issuer = ?1 AND id = ?2";
    let found = statements
        .first(sql, [issuer, &row.id], |found| Ok((found.get::<_, i64>(0)?, found.get::<_, String>(1)?)))?;
    let Some((updated_at, parent)) = found else { return Ok(GroupUpdate::NoSuchGroup) };
    if updated_at != seen {
        return refuse(StoreError::Conflict);
    }
    if parent != row.owner {
        let height: Option<Option<u32>> =
            statements.first(HEIGHT, params![issuer, row.id, MOST_DEPTH], |found| found.get(0))?;
        if let Err(misplaced) = place(row, height.flatten().unwrap_or(1), issuer, statements)? {
            return Ok(misplaced.into());
        }
    }
    // The update is skipped if another group has the name.
    let written = statements.change(
        "UPDATE OR IGNORE user_groups
         SET name = ?3, name_key = ?4, parent = ?5, search = ?6, updated_at = ?7, document = ?8
         WHERE issuer = ?1 AND id = ?2",
        params![issuer, row.id, row.name, row.key, row.owner, row.search, row.updated_at, row.document],
    )?;
    Ok(if written == 1 { GroupUpdate::Updated } else { GroupUpdate::NameTaken })
}

/// Deletes a group, or some of its members. `None`: members are left. `members` counts those that were deleted.
fn delete_some(
    issuer: &str,
    id: &str,
    members: &AtomicU64,
    statements: &Statements<'_>,
) -> rusqlite::Result<Option<GroupDeletion>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM user_groups WHERE issuer = ?1 AND parent = ?2)
               FROM user_groups WHERE issuer = ?1 AND id = ?2";
    match statements.first(sql, [issuer, id], |found| found.get::<_, bool>(0))? {
        None => return Ok(Some(GroupDeletion::NoSuchGroup)),
        Some(true) => return Ok(Some(GroupDeletion::HasChildren)),
        Some(false) => {}
    }
    let deleted = delete_some_to(Links::Memberships, issuer, id, statements)?;
    let members = members.fetch_add(deleted as u64, Ordering::Relaxed) + deleted as u64;
    if deleted == LINKS_PER_WRITE {
        // From now on no group comes below it, so that the rest can be deleted too.
        let sql = "UPDATE user_groups SET ending = 1 WHERE issuer = ?1 AND id = ?2 AND ending = 0";
        statements.change(sql, [issuer, id])?;
        return Ok(None);
    }
    statements.change("DELETE FROM group_roles WHERE issuer = ?1 AND group_id = ?2", [issuer, id])?;
    statements.change("DELETE FROM user_groups WHERE issuer = ?1 AND id = ?2", [issuer, id])?;
    statements.change(COUNT_ONE_LESS, [issuer])?;
    Ok(Some(GroupDeletion::Deleted { members }))
}

#[async_trait]
impl Groups for EmbeddedStore {
    async fn create_groups(
        &self,
        issuer: &IssuerId,
        groups: Vec<Group>,
    ) -> Result<Vec<GroupCreation>, StoreError> {
        let mut created = Vec::with_capacity(groups.len());
        for some in groups.chunks(ROWS_PER_WRITE) {
            let row = |group| NamedColumns::of_group(group, TEXT_FORM);
            let rows = some.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            let issuer = issuer.clone();
            // Nobody is in a new group, so nothing that is cached changes.
            let written = self.records.write(StoreKind::Group, move |statements| {
                let create = |row| create(row, issuer.as_str(), statements);
                Ok(rows.iter().map(create).collect::<Result<Vec<_>, _>>()?)
            });
            created.extend(written.await?);
        }
        Ok(created)
    }

    async fn group(&self, issuer: &IssuerId, id: &GroupId) -> Result<Option<Group>, StoreError> {
        let key = (issuer.clone(), id.clone());
        let found = self.records.read(StoreKind::Group, move |statements| {
            let sql = "SELECT document FROM user_groups WHERE issuer = ?1 AND id = ?2";
            statements.first(sql, [key.0.as_str(), key.1.as_str()], document)
        });
        found.await?.as_deref().map(from_document).transpose()
    }

    async fn group_by_name(
        &self,
        issuer: &IssuerId,
        name: &EntitlementName,
    ) -> Result<Option<Group>, StoreError> {
        let (issuer, key) = (issuer.clone(), (TEXT_FORM.looked_up)(name.as_str()));
        let found = self.records.read(StoreKind::Group, move |statements| {
            let sql = "SELECT document FROM user_groups WHERE issuer = ?1 AND name_key = ?2";
            statements.first(sql, [issuer.as_str(), &key], document)
        });
        found.await?.as_deref().map(from_document).transpose()
    }

    async fn update_group(
        &self,
        issuer: &IssuerId,
        group: Group,
        seen: Timestamp,
    ) -> Result<GroupUpdate, StoreError> {
        let row = NamedColumns::of_group(&group, TEXT_FORM)?;
        let (issuer, seen) = (issuer.clone(), millis(seen));
        let changed = Changed::Groups(issuer.clone());
        let update = move |statements: &Statements<'_>| update(&row, issuer.as_str(), seen, statements);
        self.records.change(StoreKind::Group, changed, update).await
    }

    async fn delete_group(&self, issuer: &IssuerId, id: &GroupId) -> Result<GroupDeletion, StoreError> {
        let changed = Changed::Groups(issuer.clone());
        let (issuer, id, members) = (issuer.clone(), id.clone(), AtomicU64::new(0));
        let delete = move |statements: &Statements<'_>| {
            Ok(delete_some(issuer.as_str(), id.as_str(), &members, statements)?)
        };
        self.records.change_in_pieces(StoreKind::Group, changed, delete).await
    }

    async fn list_groups(
        &self,
        issuer: &IssuerId,
        filter: &GroupFilter,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError> {
        let listing = Listing::of("user_groups", "created_at DESC, rowid DESC", issuer);
        let listing = match filter {
            GroupFilter::All => listing,
            GroupFilter::Topmost => listing.only("parent = ?", String::new()),
            GroupFilter::Below(parent) => listing.only("parent = ?", parent.as_str().to_owned()),
        };
        let listing = listing.searched("instr(search, ?) > 0", page);
        let page = page.clone();
        let read = self.records.scan(StoreKind::Group, move |statements| listing.read(statements, &page));
        page_of(read.await?, |group| group)
    }

    async fn next_groups(
        &self,
        issuer: &IssuerId,
        after: Option<&GroupId>,
        limit: u32,
    ) -> Result<Vec<Group>, StoreError> {
        let listing = Listing::of("user_groups", "id", issuer);
        let after = after.map(ToString::to_string);
        let read =
            self.records.scan(StoreKind::Group, move |statements| listing.after(statements, after, limit));
        read.await?.iter().map(|group| from_document(group)).collect()
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
