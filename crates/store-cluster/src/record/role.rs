//! Roles, and who was given them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::group::Group;
use symbolon_protocol::id::{ClientId, IssuerId, RoleId};
use symbolon_protocol::role::{GivenRole, Role, RoleHolder};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::link::{Links, of_holder, rest_of_given, sorted};
use symbolon_store::port::{
    Changed, Page, PageRequest, RoleCreation, RoleFilter, RoleGrant, RoleHolders, RoleRemoval, RoleUpdate,
    Roles,
};

use super::entitlement_count::{add, lock, number};
use super::link::delete_some_to;
use super::link_listing::End;
use super::listing::Listing;
use super::role_creation::create;
use super::text::{TEXT_FORM, looked_up};
use super::{Written, millis};
use crate::postgres::{Connection, Transaction, column};
use crate::{ClusterStore, from_document};

/// Roles that one transaction creates.
const ROWS_PER_WRITE: usize = 500;

/// Roles of a client that one transaction deletes.
const ROLES_PER_WRITE: i64 = 500;

/// Updates a role. `None`: it is not as the caller had read it.
async fn update(
    changed: Arc<(IssuerId, NamedColumns, i64)>,
    mut connection: Connection,
) -> Written<RoleUpdate> {
    let (issuer, row, seen) = (changed.0.as_str(), &changed.1, changed.2);
    let transaction = connection.transaction().await?;
    lock(issuer, &transaction).await?;
    let sql = "SELECT updated_at, client_id FROM roles WHERE issuer = $1 AND id = $2";
    let Some(found) = transaction.first(sql, &[&issuer, &row.id]).await? else {
        return Ok(Some(RoleUpdate::NoSuchRole));
    };
    if column::<i64>(&found, 0)? != seen {
        return Ok(None);
    }
    if column::<&str>(&found, 1)? != row.owner {
        return Ok(Some(RoleUpdate::OtherClient));
    }
    let sql = "SELECT 1 FROM roles WHERE issuer = $1 AND client_id = $2 AND name_key = $3 AND id <> $4";
    if transaction.first(sql, &[&issuer, &row.owner, &row.key, &row.id]).await?.is_some() {
        return Ok(Some(RoleUpdate::NameTaken));
    }
    let sql = "UPDATE roles SET name = $3, name_key = $4, search = $5, updated_at = $6, document = $7
               WHERE issuer = $1 AND id = $2";
    transaction
        .change(sql, &[&issuer, &row.id, &row.name, &row.key, &row.search, &row.updated_at, &row.document])
        .await?;
    transaction.commit().await?;
    Ok(Some(RoleUpdate::Updated))
}

/// A role to delete, and how many lost it in the transactions so far.
struct Deletion {
    issuer: IssuerId,
    id: RoleId,
    users: AtomicU64,
    groups: AtomicU64,
}

/// Deletes a role and takes it from all who have it, in as many transactions as necessary; the role in the last one.
async fn delete(deletion: Arc<Deletion>, mut connection: Connection) -> Written<Option<RoleHolders>> {
    let (issuer, id) = (deletion.issuer.as_str(), deletion.id.as_str());
    loop {
        let transaction = connection.transaction().await?;
        lock(issuer, &transaction).await?;
        // The lock keeps the role from being given until the commit. Where it was being given, the next statement sees
        // it.
        let sql = "SELECT 1 FROM roles WHERE issuer = $1 AND id = $2 FOR UPDATE";
        if transaction.first(sql, &[&issuer, &id]).await?.is_none() {
            return Ok(Some(None));
        }
        let users = delete_some_to(Links::UserRoles, issuer, &[id], &transaction).await?;
        let groups = delete_some_to(Links::GroupRoles, issuer, &[id], &transaction).await?;
        if users + groups > 0 {
            transaction.commit().await?;
            deletion.users.fetch_add(users, Ordering::Relaxed);
            deletion.groups.fetch_add(groups, Ordering::Relaxed);
            continue;
        }
        let sql = "DELETE FROM roles WHERE issuer = $1 AND id = $2";
        transaction.change(sql, &[&issuer, &id]).await?;
        add(issuer, 0, -1, &transaction).await?;
        transaction.commit().await?;
        let count = |all: &AtomicU64| all.load(Ordering::Relaxed);
        return Ok(Some(Some(RoleHolders {
            users: count(&deletion.users),
            groups: count(&deletion.groups),
        })));
    }
}

/// Deletes some of a client's roles; returns whether none is left. The transaction has locked the issuer's roles and
/// the client.
pub(super) async fn delete_some_of(
    issuer: &str,
    client: &str,
    transaction: &Transaction<'_>,
) -> Result<bool, StoreError> {
    let sql = "SELECT id FROM roles WHERE issuer = $1 AND client_id = $2 ORDER BY id LIMIT $3 FOR UPDATE";
    let rows = transaction.all(sql, &[&issuer, &client, &ROLES_PER_WRITE]).await?;
    let ids: Vec<&str> = rows.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?;
    if ids.is_empty() {
        return Ok(true);
    }
    let users = delete_some_to(Links::UserRoles, issuer, &ids, transaction).await?;
    let groups = delete_some_to(Links::GroupRoles, issuer, &ids, transaction).await?;
    if users + groups == 0 {
        let sql = "DELETE FROM roles WHERE issuer = $1 AND id = ANY($2)";
        transaction.change(sql, &[&issuer, &ids]).await?;
        add(issuer, 0, -number(ids.len()), transaction).await?;
    }
    Ok(false)
}

#[async_trait]
impl Roles for ClusterStore {
    async fn create_roles(
        &self,
        issuer: &IssuerId,
        roles: Vec<Role>,
    ) -> Result<Vec<RoleCreation>, StoreError> {
        let mut created = Vec::with_capacity(roles.len());
        for some in roles.chunks(ROWS_PER_WRITE) {
            let row = |role| NamedColumns::of_role(role, TEXT_FORM);
            let rows = some.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            let piece = Arc::new((issuer.clone(), rows));
            // Nobody has a new role, so nothing that is cached changes.
            let write =
                self.records.write(StoreKind::Role, |connection| create(Arc::clone(&piece), connection));
            created.extend(write.await?);
        }
        Ok(created)
    }

    async fn role(&self, issuer: &IssuerId, id: &RoleId) -> Result<Option<Role>, StoreError> {
        let sql = "SELECT document FROM roles WHERE issuer = $1 AND id = $2";
        let found = self.records.first(StoreKind::Role, sql, &[&issuer.as_str(), &id.as_str()]).await?;
        found.map(|row| from_document(column::<&str>(&row, 0)?)).transpose()
    }

    async fn role_by_name(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
        name: &EntitlementName,
    ) -> Result<Option<Role>, StoreError> {
        let (client, key) = (client.map_or("", ClientId::as_str), looked_up(name.as_str()));
        let sql = "SELECT document FROM roles WHERE issuer = $1 AND client_id = $2 AND name_key = $3";
        let found = self.records.first(StoreKind::Role, sql, &[&issuer.as_str(), &client, &key]).await?;
        found.map(|row| from_document(column::<&str>(&row, 0)?)).transpose()
    }

    async fn update_role(
        &self,
        issuer: &IssuerId,
        role: Role,
        seen: Timestamp,
    ) -> Result<RoleUpdate, StoreError> {
        let row = Arc::new((issuer.clone(), NamedColumns::of_role(&role, TEXT_FORM)?, millis(seen)));
        let update = move |connection| update(Arc::clone(&row), connection);
        self.records.change(StoreKind::Role, Changed::Groups(issuer.clone()), update).await
    }

    async fn delete_role(&self, issuer: &IssuerId, id: &RoleId) -> Result<Option<RoleHolders>, StoreError> {
        let (issuer, id) = (issuer.clone(), id.clone());
        let changed = Changed::Groups(issuer.clone());
        let (users, groups) = (AtomicU64::new(0), AtomicU64::new(0));
        let deletion = Arc::new(Deletion { issuer, id, users, groups });
        let delete = move |connection| delete(Arc::clone(&deletion), connection);
        self.records.change(StoreKind::Role, changed, delete).await
    }

    async fn list_roles(
        &self,
        issuer: &IssuerId,
        filter: &RoleFilter,
        page: &PageRequest,
    ) -> Result<Page<Role>, StoreError> {
        let listing = Listing::of("roles", "created_at DESC, sequence DESC", issuer);
        let listing = match filter {
            RoleFilter::All => listing,
            RoleFilter::OfIssuer => listing.only("client_id = ?", String::new()),
            RoleFilter::OfClient(client) => listing.only("client_id = ?", client.as_str().to_owned()),
        };
        let listing = listing.searched("position(? in search) > 0", page);
        listing.read(&self.records, StoreKind::Role, page, |role| role).await
    }

    async fn next_roles(
        &self,
        issuer: &IssuerId,
        after: Option<&RoleId>,
        limit: u32,
    ) -> Result<Vec<Role>, StoreError> {
        let listing = Listing::of("roles", "id", issuer);
        let found = listing.after(&self.records, StoreKind::Role, after.map(RoleId::as_str), limit).await?;
        Ok(found.into_iter().map(Arc::unwrap_or_clone).collect())
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
