//! Roles, and who was given them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::group::Group;
use symbolon_protocol::id::{ClientId, IssuerId, RoleId};
use symbolon_protocol::role::{GivenRole, MOST_ROLES, Role, RoleHolder};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::link::{Links, of_holder, rest_of_given, sorted};
use symbolon_store::port::{
    Changed, Created, Page, PageRequest, RoleCreation, RoleFilter, RoleGrant, RoleHolders, RoleRemoval,
    RoleUpdate, Roles,
};

use super::link::{LINKS_PER_WRITE, delete_some_to};
use super::link_listing::End;
use super::listing::{Listing, page_of};
use super::statement::{Statements, document};
use super::{ROWS_PER_WRITE, TEXT_FORM, Written, from_document, millis, refuse};
use crate::EmbeddedStore;

const COUNT: &str = "SELECT role_count FROM entitlement_counts WHERE issuer = ?1";
const COUNT_ONE_MORE: &str =
    "INSERT INTO entitlement_counts (issuer, group_count, role_count) VALUES (?1, 0, 1)
    ON CONFLICT (issuer) DO UPDATE SET role_count = role_count + 1";
const COUNT_ONE_LESS: &str = "UPDATE entitlement_counts SET role_count = role_count - 1 WHERE issuer = ?1";

/// Writes a role, unless its id or name is taken.
pub(super) fn insert(
    row: &NamedColumns,
    issuer: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<Created> {
    let written = statements.change(
        "INSERT INTO roles (issuer, id, client_id, name, name_key, search, created_at, updated_at, document)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        params![
            issuer,
            row.id,
            row.owner,
            row.name,
            row.key,
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

fn create(row: &NamedColumns, issuer: &str, statements: &Statements<'_>) -> rusqlite::Result<RoleCreation> {
    let sql = "SELECT 1 FROM clients WHERE issuer = ?1 AND id = ?2";
    if !row.owner.is_empty() && statements.first(sql, [issuer, &row.owner], |_| Ok(()))?.is_none() {
        return Ok(RoleCreation::NoSuchClient);
    }
    let count: Option<i64> = statements.first(COUNT, [issuer], |found| found.get(0))?;
    if count.unwrap_or(0).unsigned_abs() >= MOST_ROLES {
        return Ok(RoleCreation::TooMany);
    }
    Ok(match insert(row, issuer, statements)? {
        Created::Created => RoleCreation::Created,
        Created::Exists => RoleCreation::Exists,
    })
}

fn update(row: &NamedColumns, issuer: &str, seen: i64, statements: &Statements<'_>) -> Written<RoleUpdate> {
    let sql = "SELECT updated_at, client_id FROM roles WHERE issuer = ?1 AND id = ?2";
    let found = statements
        .first(sql, [issuer, &row.id], |found| Ok((found.get::<_, i64>(0)?, found.get::<_, String>(1)?)))?;
    let Some((updated_at, owner)) = found else { return Ok(RoleUpdate::NoSuchRole) };
    if updated_at != seen {
        return refuse(StoreError::Conflict);
    }
    if owner != row.owner {
        return Ok(RoleUpdate::OtherClient);
    }
    // The update is skipped if another role has the name.
    let written = statements.change(
        "UPDATE OR IGNORE roles SET name = ?3, name_key = ?4, search = ?5, updated_at = ?6, document = ?7
         WHERE issuer = ?1 AND id = ?2",
        params![issuer, row.id, row.name, row.key, row.search, row.updated_at, row.document],
    )?;
    Ok(if written == 1 { RoleUpdate::Updated } else { RoleUpdate::NameTaken })
}

/// What one closure has deleted of a role.
struct Deleted {
    users: usize,
    groups: usize,
    /// Whether the role is gone too.
    whole: bool,
}

/// Deletes a role, or some of its links.
fn delete_some(issuer: &str, id: &str, statements: &Statements<'_>) -> rusqlite::Result<Deleted> {
    let users = delete_some_to(Links::UserRoles, issuer, id, statements)?;
    let groups = delete_some_to(Links::GroupRoles, issuer, id, statements)?;
    let whole = users < LINKS_PER_WRITE && groups < LINKS_PER_WRITE;
    if whole {
        statements.change("DELETE FROM roles WHERE issuer = ?1 AND id = ?2", [issuer, id])?;
        statements.change(COUNT_ONE_LESS, [issuer])?;
    }
    Ok(Deleted { users, groups, whole })
}

/// Deletes some of a client's roles; returns whether none is left.
pub(super) fn delete_some_of(
    issuer: &str,
    client: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<bool> {
    let next = "SELECT id FROM roles WHERE issuer = ?1 AND client_id = ?2 LIMIT 1";
    let mut rows = 0;
    while rows < LINKS_PER_WRITE {
        let role: Option<String> = statements.first(next, [issuer, client], |found| found.get(0))?;
        let Some(role) = role else { return Ok(true) };
        let deleted = delete_some(issuer, &role, statements)?;
        rows += deleted.users + deleted.groups + 1;
    }
    Ok(false)
}

#[async_trait]
impl Roles for EmbeddedStore {
    async fn create_roles(
        &self,
        issuer: &IssuerId,
        roles: Vec<Role>,
    ) -> Result<Vec<RoleCreation>, StoreError> {
        let mut created = Vec::with_capacity(roles.len());
        for some in roles.chunks(ROWS_PER_WRITE) {
            let row = |role| NamedColumns::of_role(role, TEXT_FORM);
            let rows = some.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            let issuer = issuer.clone();
            // Nobody has a new role, so nothing that is cached changes.
            let written = self.records.write(StoreKind::Role, move |statements| {
                let create = |row| create(row, issuer.as_str(), statements);
                Ok(rows.iter().map(create).collect::<Result<Vec<_>, _>>()?)
            });
            created.extend(written.await?);
        }
        Ok(created)
    }

    async fn role(&self, issuer: &IssuerId, id: &RoleId) -> Result<Option<Role>, StoreError> {
        let key = (issuer.clone(), id.clone());
        let found = self.records.read(StoreKind::Role, move |statements| {
            let sql = "SELECT document FROM roles WHERE issuer = ?1 AND id = ?2";
            statements.first(sql, [key.0.as_str(), key.1.as_str()], document)
        });
        found.await?.as_deref().map(from_document).transpose()
    }

    async fn role_by_name(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
        name: &EntitlementName,
    ) -> Result<Option<Role>, StoreError> {
        let client = client.map_or("", ClientId::as_str).to_owned();
        let (issuer, key) = (issuer.clone(), (TEXT_FORM.looked_up)(name.as_str()));
        let found = self.records.read(StoreKind::Role, move |statements| {
            let sql = "SELECT document FROM roles WHERE issuer = ?1 AND client_id = ?2 AND name_key = ?3";
            statements.first(sql, [issuer.as_str(), &client, &key], document)
        });
        found.await?.as_deref().map(from_document).transpose()
    }

    async fn update_role(
        &self,
        issuer: &IssuerId,
        role: Role,
        seen: Timestamp,
    ) -> Result<RoleUpdate, StoreError> {
        let row = NamedColumns::of_role(&role, TEXT_FORM)?;
        let (issuer, seen) = (issuer.clone(), millis(seen));
        let changed = Changed::Groups(issuer.clone());
        let update = move |statements: &Statements<'_>| update(&row, issuer.as_str(), seen, statements);
        self.records.change(StoreKind::Role, changed, update).await
    }

    async fn delete_role(&self, issuer: &IssuerId, id: &RoleId) -> Result<Option<RoleHolders>, StoreError> {
        let changed = Changed::Groups(issuer.clone());
        let (issuer, id) = (issuer.clone(), id.clone());
        let (users, groups) = (AtomicU64::new(0), AtomicU64::new(0));
        let delete = move |statements: &Statements<'_>| {
            let sql = "SELECT 1 FROM roles WHERE issuer = ?1 AND id = ?2";
            if statements.first(sql, [issuer.as_str(), id.as_str()], |_| Ok(()))?.is_none() {
                return Ok(Some(None));
            }
            let deleted = delete_some(issuer.as_str(), id.as_str(), statements)?;
            let count =
                |all: &AtomicU64, some: usize| all.fetch_add(some as u64, Ordering::Relaxed) + some as u64;
            let holders =
                RoleHolders { users: count(&users, deleted.users), groups: count(&groups, deleted.groups) };
            Ok(deleted.whole.then_some(Some(holders)))
        };
        self.records.change_in_pieces(StoreKind::Role, changed, delete).await
    }

    async fn list_roles(
        &self,
        issuer: &IssuerId,
        filter: &RoleFilter,
        page: &PageRequest,
    ) -> Result<Page<Role>, StoreError> {
        let listing = Listing::of("roles", "created_at DESC, rowid DESC", issuer);
        let listing = match filter {
            RoleFilter::All => listing,
            RoleFilter::OfIssuer => listing.only("client_id = ?", String::new()),
            RoleFilter::OfClient(client) => listing.only("client_id = ?", client.as_str().to_owned()),
        };
        let listing = listing.searched("instr(search, ?) > 0", page);
        let page = page.clone();
        let read = self.records.scan(StoreKind::Role, move |statements| listing.read(statements, &page));
        page_of(read.await?, |role| role)
    }

    async fn next_roles(
        &self,
        issuer: &IssuerId,
        after: Option<&RoleId>,
        limit: u32,
    ) -> Result<Vec<Role>, StoreError> {
        let listing = Listing::of("roles", "id", issuer);
        let after = after.map(ToString::to_string);
        let read =
            self.records.scan(StoreKind::Role, move |statements| listing.after(statements, after, limit));
        read.await?.iter().map(|role| from_document(role)).collect()
    }

    async fn give_roles(
        &self,
        issuer: &IssuerId,
        given: Vec<GivenRole>,
    ) -> Result<Vec<RoleGrant>, StoreError> {
        let mut granted = vec![RoleGrant::NoSuchRole; given.len()];
        for of_kind in sorted(&given) {
            let linked = self.records.add_links(of_kind.links, issuer, of_kind.rows).await?;
            for (place, linked) in of_kind.places.into_iter().zip(linked) {
                if let Some(result) = granted.get_mut(place) {
                    *result = of_kind.links.granted(linked);
                }
            }
        }
        Ok(granted)
    }

    async fn take_roles(
        &self,
        issuer: &IssuerId,
        given: Vec<GivenRole>,
    ) -> Result<Vec<RoleRemoval>, StoreError> {
        let mut taken = vec![RoleRemoval::WasNotGiven; given.len()];
        for of_kind in sorted(&given) {
            let removed = self.records.remove_links(of_kind.links, issuer, of_kind.rows).await?;
            for (place, removed) in of_kind.places.into_iter().zip(removed) {
                if let Some(result) = taken.get_mut(place) {
                    *result = RoleRemoval::of(removed);
                }
            }
        }
        Ok(taken)
    }

    async fn roles_of(
        &self,
        issuer: &IssuerId,
        holder: &RoleHolder,
        page: &PageRequest,
    ) -> Result<Page<Role>, StoreError> {
        let (links, of) = of_holder(holder);
        self.records.list_linked((links, End::Held), issuer, of, page, |role| role).await
    }

    async fn next_given_roles(
        &self,
        issuer: &IssuerId,
        after: Option<&GivenRole>,
        limit: u32,
    ) -> Result<Vec<GivenRole>, StoreError> {
        let mut given = Vec::new();
        for (links, after) in rest_of_given(after) {
            let wanted = limit.saturating_sub(u32::try_from(given.len()).unwrap_or(u32::MAX));
            if wanted > 0 {
                let next = self.records.next_links(links, issuer, after, wanted).await?;
                given.extend(next.into_iter().filter_map(|link| links.given(link)));
            }
        }
        Ok(given)
    }

    async fn list_users_with_role(
        &self,
        issuer: &IssuerId,
        role: &RoleId,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError> {
        let listed = (Links::UserRoles, End::Holders);
        self.records.list_linked(listed, issuer, role.as_str(), page, Arc::new).await
    }

    async fn list_groups_with_role(
        &self,
        issuer: &IssuerId,
        role: &RoleId,
        page: &PageRequest,
    ) -> Result<Page<Group>, StoreError> {
        let listed = (Links::GroupRoles, End::Holders);
        self.records.list_linked(listed, issuer, role.as_str(), page, |group| group).await
    }
}
