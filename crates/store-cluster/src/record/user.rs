//! Users and their passwords.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;
use symbolon_store::columns::AttributeColumns;
use symbolon_store::port::{Changed, Created, Page, PageRequest, UserFilter, Users};

use super::listing::Listing;
use super::text::{TEXT_FORM, looked_up_as};
use super::user_attribute::{self, has_attributes};
use super::user_row::UserRow;
use super::{Written, millis};
use crate::postgres::{Connection, Transaction, column};
use crate::{ClusterStore, from_document};

/// Looks for an address before a user name, so that a user name that looks like another user's address does not take
/// over that user's sign-ins. User names are not unique: the oldest user who has the name is found.
const BY_LOGIN: [&str; 2] = [
    "SELECT u.document, u.password FROM emails e JOIN users u ON u.issuer = e.issuer AND u.id = e.user_id
     WHERE e.issuer = $1 AND e.email_lower = $2",
    "SELECT document, password FROM users WHERE issuer = $1 AND username_lower = $2
     ORDER BY created_at, sequence LIMIT 1",
];

/// What is compared with the user that the caller had read.
const SEEN: &str = concat!(
    "SELECT updated_at, email_lower, username_lower, ",
    has_attributes!(),
    " FROM users WHERE issuer = $1 AND id = $2 FOR UPDATE"
);

const DELETE: &str =
    concat!("DELETE FROM users WHERE issuer = $1 AND id = $2 RETURNING email_lower, ", has_attributes!());

/// Updates a user. False: there is no such user. `None`: the user is not as the caller had read it, or the new address, or
/// the value of a unique attribute, belongs to another user.
async fn update(changed: Arc<(IssuerId, UserRow, i64)>, mut connection: Connection) -> Written<bool> {
    let (issuer, row, seen) = &*changed;
    let transaction = connection.transaction().await?;
    let Some(found) = transaction.first(SEEN, &[&issuer.as_str(), &row.id]).await? else {
        return Ok(Some(false));
    };
    // An address or a name that does not change keeps its stored form: two older users who have it in two spellings can
    // both still sign in.
    let before: Option<&str> = column(&found, 1)?;
    let email = unchanged(before, row.email_before.as_deref()).or(row.email.as_deref());
    let username = unchanged(column(&found, 2)?, row.username_before.as_deref()).or(row.username.as_deref());
    if column::<i64>(&found, 0)? != *seen
        || !move_address((issuer, &row.id), (before, email), &transaction).await?
    {
        return Ok(None);
    }
    let has_attributes = column::<bool>(&found, 3)? || !row.attributes.is_empty();
    if has_attributes && !user_attribute::replace(issuer, row, &transaction).await? {
        return Ok(None);
    }
    transaction
        .change(
            "UPDATE users SET email_lower = $3, username_lower = $4, verified = $5, search = $6, updated_at = $7,
                              document = $8
             WHERE issuer = $1 AND id = $2",
            &[
                &issuer.as_str(),
                &row.id,
                &email,
                &username,
                &row.verified,
                &row.search,
                &row.updated_at,
                &row.document,
            ],
        )
        .await?;
    transaction.commit().await?;
    Ok(Some(true))
}

/// The value of a column, if it is in the form of earlier releases.
fn unchanged<'a>(holds: Option<&'a str>, before: Option<&str>) -> Option<&'a str> {
    holds.filter(|holds| Some(*holds) == before)
}

/// Releases an address and takes the new one. False: the new one belongs to another user.
pub(super) async fn move_address(
    (issuer, user): (&IssuerId, &str),
    (before, email): (Option<&str>, Option<&str>),
    transaction: &Transaction<'_>,
) -> Result<bool, StoreError> {
    if email == before {
        return Ok(true);
    }
    if let Some(email) = email {
        let sql =
            "INSERT INTO emails (issuer, email_lower, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        if transaction.change(sql, &[&issuer.as_str(), &email, &user]).await? == 0 {
            return Ok(false);
        }
    }
    if let Some(before) = before {
        free_address(issuer, before, transaction).await?;
    }
    Ok(true)
}

pub(super) async fn free_address(
    issuer: &IssuerId,
    email: &str,
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM emails WHERE issuer = $1 AND email_lower = $2";
    transaction.change(sql, &[&issuer.as_str(), &email]).await?;
    Ok(())
}

async fn set_password(
    given: Arc<(IssuerId, UserId, Option<PasswordHash>)>,
    connection: Connection,
) -> Written<bool> {
    let (issuer, id, password) = &*given;
    let password = password.as_ref().map(|password| password.expose());
    let sql = "UPDATE users SET password = $3 WHERE issuer = $1 AND id = $2";
    let changed = connection.change(sql, &[&issuer.as_str(), &id.as_str(), &password]).await?;
    Ok(Some(changed == 1))
}

async fn rehash_password(
    given: Arc<(IssuerId, UserId, PasswordHash, PasswordHash)>,
    connection: Connection,
) -> Written<bool> {
    let (issuer, id, seen, password) = &*given;
    let sql = "UPDATE users SET password = $4 WHERE issuer = $1 AND id = $2 AND password = $3";
    let (issuer, id) = (issuer.as_str(), id.as_str());
    let changed = connection.change(sql, &[&issuer, &id, &seen.expose(), &password.expose()]).await?;
    Ok(Some(changed == 1))
}

/// Deletes a user with its address, its unique attributes, its consents, its authenticators, its memberships and the roles that it was given.
async fn delete(key: Arc<(IssuerId, UserId)>, mut connection: Connection) -> Written<bool> {
    let (issuer, id) = (&key.0, key.1.as_str());
    let transaction = connection.transaction().await?;
    let deleted = transaction.change_returning(DELETE, &[&issuer.as_str(), &id]).await?;
    for row in &deleted {
        if let Some(email) = column(row, 0)? {
            free_address(issuer, email, &transaction).await?;
        }
        if column::<bool>(row, 1)? {
            user_attribute::delete(issuer, id, &transaction).await?;
        }
    }
    // What others were adding to the user is seen here: the user's row could not be deleted before that was committed.
    for sql in [
        "DELETE FROM consents WHERE issuer = $1 AND user_id = $2",
        "DELETE FROM authenticators WHERE issuer = $1 AND user_id = $2",
        "DELETE FROM identities WHERE issuer = $1 AND user_id = $2",
        "DELETE FROM memberships WHERE issuer = $1 AND user_id = $2",
        "DELETE FROM user_roles WHERE issuer = $1 AND user_id = $2",
    ] {
        transaction.change(sql, &[&issuer.as_str(), &id]).await?;
    }
    transaction.commit().await?;
    Ok(Some(!deleted.is_empty()))
}

/// The user of a value, given as the list of the attribute's name and key.
const BY_ATTRIBUTE: &str = "id IN (SELECT user_id FROM user_attribute
                            WHERE issuer = $1 AND name = (?::text[])[1] AND key = (?::text[])[2])";

fn filtered(filter: &UserFilter, mut listing: Listing) -> Listing {
    if let Some(email) = &filter.email {
        // Two older users may have it in two spellings: both are listed.
        let whose = "id IN (SELECT user_id FROM emails WHERE issuer = $1 AND email_lower = ANY(?))";
        listing = listing.only(whose, looked_up_as(email));
    }
    if let Some(username) = &filter.username {
        listing = listing.only("username_lower = ANY(?)", looked_up_as(username));
    }
    if let Some(verified) = filter.verified {
        listing = listing.only("verified = ?", verified);
    }
    if let Some((name, value)) = &filter.attribute {
        // A value that cannot be unique is nobody's.
        let own = AttributeColumns::of_value(name, value, TEXT_FORM);
        listing = listing.only(BY_ATTRIBUTE, own.map_or_else(Vec::new, |own| vec![own.name, own.key]));
    }
    listing
}

#[async_trait]
impl Users for ClusterStore {
    async fn create_users(
        &self,
        issuer: &IssuerId,
        users: Vec<(User, Option<PasswordHash>)>,
    ) -> Result<Vec<Created>, StoreError> {
        let row = |(user, password)| UserRow::of(&user, password);
        let rows = users.into_iter().map(row).collect::<Result<_, _>>()?;
        self.records.create_users(issuer, rows).await
    }

    async fn user(&self, issuer: &IssuerId, id: &UserId) -> Result<Option<Arc<User>>, StoreError> {
        let read = || async {
            let sql = "SELECT document FROM users WHERE issuer = $1 AND id = $2";
            let found = self.records.first(StoreKind::User, sql, &[&issuer.as_str(), &id.as_str()]).await?;
            found.map(|row| from_document::<User>(column::<&str>(&row, 0)?)).transpose()
        };
        let operations = self.figures.kind(StoreKind::User);
        self.records.caches.users.read_through(issuer, id.as_str(), operations, read).await
    }

    async fn user_by_login(
        &self,
        issuer: &IssuerId,
        login: &str,
    ) -> Result<Option<(Arc<User>, Option<PasswordHash>)>, StoreError> {
        let (issuer, logins) = (issuer.as_str(), looked_up_as(login));
        let read = self.records.measured(StoreKind::User, async {
            let connection = self.records.postgres.connection().await?;
            for sql in BY_LOGIN {
                for login in &logins {
                    let found = connection.first(sql, &[&issuer, login]).await?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
            }
            Ok(None)
        });
        let Some(found) = read.await? else { return Ok(None) };
        let (document, hash) = (column::<&str>(&found, 0)?, column::<Option<String>>(&found, 1)?);
        Ok(Some((Arc::new(from_document(document)?), hash.map(PasswordHash::new))))
    }

    async fn update_user(&self, issuer: &IssuerId, user: User, seen: Timestamp) -> Result<bool, StoreError> {
        let row = Arc::new((issuer.clone(), UserRow::of(&user, None)?, millis(seen)));
        let changed = Changed::User(issuer.clone(), user.id);
        let update = move |connection| update(Arc::clone(&row), connection);
        self.records.change(StoreKind::User, changed, update).await
    }

    async fn set_password(
        &self,
        issuer: &IssuerId,
        id: &UserId,
        password: Option<PasswordHash>,
    ) -> Result<bool, StoreError> {
        let changed = Changed::User(issuer.clone(), id.clone());
        let given = Arc::new((issuer.clone(), id.clone(), password));
        let set = move |connection| set_password(Arc::clone(&given), connection);
        self.records.change(StoreKind::User, changed, set).await
    }

    async fn rehash_password(
        &self,
        issuer: &IssuerId,
        id: &UserId,
        seen: &PasswordHash,
        password: PasswordHash,
    ) -> Result<bool, StoreError> {
        let changed = Changed::User(issuer.clone(), id.clone());
        let given = Arc::new((issuer.clone(), id.clone(), seen.clone(), password));
        let set = move |connection| rehash_password(Arc::clone(&given), connection);
        self.records.change(StoreKind::User, changed, set).await
    }

    async fn delete_user(&self, issuer: &IssuerId, id: &UserId) -> Result<bool, StoreError> {
        let changed = Changed::User(issuer.clone(), id.clone());
        let key = Arc::new((issuer.clone(), id.clone()));
        let delete = move |connection| delete(Arc::clone(&key), connection);
        self.records.change(StoreKind::User, changed, delete).await
    }

    async fn list_users(
        &self,
        issuer: &IssuerId,
        filter: &UserFilter,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError> {
        let listing = filtered(filter, Listing::of("users", "created_at DESC, sequence DESC", issuer));
        let listing = listing.searched("position(? in search) > 0", page);
        listing.read(&self.records, StoreKind::User, page, Arc::new).await
    }

    async fn next_users(
        &self,
        issuer: &IssuerId,
        filter: &UserFilter,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<Arc<User>>, StoreError> {
        let listing = filtered(filter, Listing::of("users", "id", issuer));
        listing.after(&self.records, StoreKind::User, after.map(UserId::as_str), limit).await
    }

    async fn passwords_of(
        &self,
        issuer: &IssuerId,
        users: &[UserId],
    ) -> Result<Vec<Option<PasswordHash>>, StoreError> {
        let ids: Vec<&str> = users.iter().map(UserId::as_str).collect();
        let sql =
            "SELECT id, password FROM users WHERE issuer = $1 AND id = ANY($2) AND password IS NOT NULL";
        let rows = self.records.all(StoreKind::User, sql, &[&issuer.as_str(), &ids]).await?;
        let mut hashes = HashMap::with_capacity(rows.len());
        for row in &rows {
            hashes.insert(column::<&str>(row, 0)?, column::<String>(row, 1)?);
        }
        Ok(ids.into_iter().map(|id| hashes.get(id).cloned().map(PasswordHash::new)).collect())
    }
}
