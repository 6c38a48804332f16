//! Creates roles in bulk. Each of them is created or refused on its own.

use std::collections::HashSet;
use std::sync::Arc;

use symbolon_protocol::id::IssuerId;
use symbolon_protocol::role::MOST_ROLES;
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::port::RoleCreation;

use super::entitlement_count::{add, lock, number};
use super::{Written, each};
use crate::postgres::{Connection, Transaction, column};

const CLIENTS: &str = "SELECT id FROM clients WHERE issuer = $1 AND id = ANY($2) ORDER BY id FOR KEY SHARE";
const IDS_TAKEN: &str = "SELECT id FROM roles WHERE issuer = $1 AND id = ANY($2)";
const NAMES_TAKEN: &str = "SELECT r.client_id, r.name_key
    FROM unnest($2::text[], $3::text[]) AS new(client_id, name_key)
    JOIN roles r ON r.issuer = $1 AND r.client_id = new.client_id AND r.name_key = new.name_key";

const INSERT: &str = "
    INSERT INTO roles (issuer, id, client_id, name, name_key, search, created_at, updated_at, document)
    SELECT $1::text, new.id, new.client_id, new.name, new.name_key, new.search, new.created_at, new.updated_at,
           new.document
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[])
         AS new(id, client_id, name, name_key, search, created_at, updated_at, document)";

/// What roles that are to be created are checked against. It is locked, so that it stays true until the commit.
struct Known {
    /// How many more roles the issuer may have.
    room: u64,
    ids: HashSet<String>,
    /// Clients, each with the normal form of a name that one of its roles has; the empty text is the issuer itself.
    names: HashSet<(String, String)>,
    /// The clients that exist.
    clients: HashSet<String>,
}

impl Known {
    async fn read(
        issuer: &str,
        rows: &[NamedColumns],
        transaction: &Transaction<'_>,
    ) -> Result<Self, StoreError> {
        let room = MOST_ROLES.saturating_sub(lock(issuer, transaction).await?.roles);
        let (ids, owners) = (each(rows, |row| row.id.as_str()), each(rows, |row| row.owner.as_str()));
        let names = each(rows, |row| row.key.as_str());
        let clients = transaction.all(CLIENTS, &[&issuer, &owners]).await?;
        let ids = transaction.all(IDS_TAKEN, &[&issuer, &ids]).await?;
        let names = transaction.all(NAMES_TAKEN, &[&issuer, &owners, &names]).await?;
        let name = |row| Ok::<_, StoreError>((column(row, 0)?, column(row, 1)?));
        Ok(Self {
            room,
            ids: ids.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?,
            names: names.iter().map(name).collect::<Result<_, _>>()?,
            clients: clients.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?,
        })
    }

    /// Decides whether a role is created, and takes it for created if so.
    fn create(&mut self, row: &NamedColumns) -> RoleCreation {
        let name = (row.owner.clone(), row.key.clone());
        if !row.owner.is_empty() && !self.clients.contains(&row.owner) {
            return RoleCreation::NoSuchClient;
        }
        if self.room == 0 {
            return RoleCreation::TooMany;
        }
        if self.ids.contains(&row.id) || self.names.contains(&name) {
            return RoleCreation::Exists;
        }
        self.room -= 1;
        self.ids.insert(row.id.clone());
        self.names.insert(name);
        RoleCreation::Created
    }
}

/// Creates roles in their order; returns the result of each.
pub(super) async fn create(
    piece: Arc<(IssuerId, Vec<NamedColumns>)>,
    mut connection: Connection,
) -> Written<Vec<RoleCreation>> {
    let (issuer, rows) = (piece.0.as_str(), &piece.1);
    let transaction = connection.transaction().await?;
    let mut known = Known::read(issuer, rows, &transaction).await?;
    let created: Vec<RoleCreation> = rows.iter().map(|row| known.create(row)).collect();
    let new = rows.iter().zip(&created).filter(|(_, created)| **created == RoleCreation::Created);
    let new: Vec<&NamedColumns> = new.map(|(row, _)| row).collect();
    if !new.is_empty() {
        insert(issuer, &new, &transaction).await?;
        transaction.commit().await?;
    }
    Ok(Some(created))
}

/// Inserts roles that do not exist. Their issuer is locked.
pub(super) async fn insert(
    issuer: &str,
    rows: &[&NamedColumns],
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    let values = (
        each(rows, |row| row.id.as_str()),
        each(rows, |row| row.owner.as_str()),
        each(rows, |row| row.name.as_str()),
        each(rows, |row| row.key.as_str()),
        each(rows, |row| row.search.as_str()),
        each(rows, |row| row.created_at),
        each(rows, |row| row.updated_at),
        each(rows, |row| row.document.as_str()),
    );
    let (id, owner, name, key, search, created_at, updated_at, document) = &values;
    transaction
        .change(INSERT, &[&issuer, id, owner, name, key, search, created_at, updated_at, document])
        .await?;
    add(issuer, 0, number(rows.len()), transaction).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, name: &str, client: &str) -> NamedColumns {
        NamedColumns {
            id: id.to_owned(),
            name: name.to_owned(),
            key: name.to_lowercase(),
            owner: client.to_owned(),
            search: String::new(),
            created_at: 0,
            updated_at: 0,
            document: String::new(),
        }
    }

    #[test]
    fn each_role_is_judged_after_those_before_it() {
        let mut known = Known {
            room: 3,
            ids: HashSet::from(["old".to_owned()]),
            names: HashSet::from([(String::new(), "admin".to_owned())]),
            clients: HashSet::from(["app".to_owned()]),
        };
        let results = [
            ("a", "Admin", "", RoleCreation::Exists),
            ("a", "Admin", "app", RoleCreation::Created),
            ("a", "User", "", RoleCreation::Exists),
            ("old", "User", "", RoleCreation::Exists),
            ("b", "ADMIN", "app", RoleCreation::Exists),
            ("b", "Admin", "nobody", RoleCreation::NoSuchClient),
            ("b", "User", "", RoleCreation::Created),
            ("c", "User", "app", RoleCreation::Created),
            ("d", "Guest", "", RoleCreation::TooMany),
        ];
        for (id, name, client, result) in results {
            assert_eq!(known.create(&row(id, name, client)), result, "{id} {name} {client}");
        }
    }
}
