//! Users and their passwords.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::attribute::AttributeSchema;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::precis::login_keys;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;
use symbolon_store::columns::{AttributeColumns, UserColumns};
use symbolon_store::port::{Changed, Created, Page, PageRequest, UserFilter, Users};

use super::listing::{Listing, page_of, records_of};
use super::statement::{Statements, document};
use super::{ROWS_PER_WRITE, TEXT_FORM, Written, from_document, millis, refuse, user_attribute};
use crate::EmbeddedStore;
use crate::database::WriteError;

/// How many closures of one bulk creation are under way: the next one is prepared while one is written.
const WRITES_IN_FLIGHT: usize = 2;

/// The schema by which users are written; not read if none of them has attributes.
pub(super) fn schema_for<'a>(
    rows: impl IntoIterator<Item = &'a UserColumns>,
    issuer: &IssuerId,
    statements: &Statements<'_>,
) -> Written<AttributeSchema> {
    match rows.into_iter().all(|row| row.attributes.is_empty()) {
        true => Ok(AttributeSchema::default()),
        false => user_attribute::schema(issuer, statements),
    }
}

/// Writes a user, unless the id, the address or the value of a unique attribute is taken.
pub(super) fn insert(
    row: &UserColumns,
    issuer: &IssuerId,
    password: Option<&PasswordHash>,
    schema: &AttributeSchema,
    statements: &Statements<'_>,
) -> rusqlite::Result<Created> {
    let unique = user_attribute::rows(&row.attributes, schema);
    if !user_attribute::are_free(&unique, issuer, &row.id, statements)? {
        return Ok(Created::Exists);
    }
    let written = statements.change(
        "INSERT INTO users (issuer, id, email_lower, username_lower, verified, search, created_at, updated_at,
                            document)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        params![
            issuer.as_str(),
            row.id,
            row.email,
            row.username,
            row.verified,
            row.search,
            row.created_at,
            row.updated_at,
            row.document
        ],
    )?;
    if written == 0 {
        return Ok(Created::Exists);
    }
    user_attribute::insert(&unique, issuer, &row.id, statements)?;
    if let Some(password) = password {
        put_password(issuer, &row.id, password, statements)?;
    }
    Ok(Created::Created)
}

/// Updates a user that is unchanged since `seen`. False if there is no such user.
fn update(row: &UserColumns, issuer: &IssuerId, seen: i64, statements: &Statements<'_>) -> Written<bool> {
    let written = statements.change(
        // An address or a name that does not change keeps its stored spelling: two older users may share one in two
        // spellings, and both must be able to sign in.
        "UPDATE users SET email_lower = CASE WHEN email_lower = ?10 THEN email_lower ELSE ?4 END,
                          username_lower = CASE WHEN username_lower = ?11 THEN username_lower ELSE ?5 END, verified = ?6, search = ?7, updated_at = ?8,
                          document = ?9
         WHERE issuer = ?1 AND id = ?2 AND updated_at = ?3",
        params![
            issuer.as_str(),
            row.id,
            seen,
            row.email,
            row.username,
            row.verified,
            row.search,
            row.updated_at,
            row.document,
            row.email_before,
            row.username_before
        ],
    );
    match written {
        Ok(1) => move_attributes(row, issuer, statements),
        Ok(_) if exists(issuer, &row.id, statements)? => refuse(StoreError::Conflict),
        Ok(_) => Ok(false),
        // Only the e-mail address of this table can belong to another user.
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            refuse(StoreError::Conflict)
        }
        Err(error) => Err(WriteError::from(error)),
    }
}

/// Replaces the values of unique attributes. Refused if another user has one of the new ones.
fn move_attributes(row: &UserColumns, issuer: &IssuerId, statements: &Statements<'_>) -> Written<bool> {
    user_attribute::delete(issuer, &row.id, statements)?;
    let schema = schema_for([row], issuer, statements)?;
    let unique = user_attribute::rows(&row.attributes, &schema);
    match user_attribute::insert(&unique, issuer, &row.id, statements)? {
        true => Ok(true),
        false => refuse(StoreError::Conflict),
    }
}

fn put_password(
    issuer: &IssuerId,
    user: &str,
    password: &PasswordHash,
    statements: &Statements<'_>,
) -> rusqlite::Result<usize> {
    statements.change(
        "INSERT INTO passwords (issuer, user, hash) VALUES (?1, ?2, ?3)
         ON CONFLICT (issuer, user) DO UPDATE SET hash = excluded.hash",
        [issuer.as_str(), user, password.expose()],
    )
}

fn delete_password(issuer: &IssuerId, user: &str, statements: &Statements<'_>) -> rusqlite::Result<usize> {
    statements.change("DELETE FROM passwords WHERE issuer = ?1 AND user = ?2", [issuer.as_str(), user])
}

fn exists(issuer: &IssuerId, user: &str, statements: &Statements<'_>) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM users WHERE issuer = ?1 AND id = ?2";
    Ok(statements.first(sql, [issuer.as_str(), user], |_| Ok(()))?.is_some())
}

/// The user of a value, given as an object with the attribute's name and key. `?1` is the issuer of the listing.
const BY_ATTRIBUTE: &str = "id IN (SELECT a.user_id FROM json_each(?) AS given CROSS JOIN user_attribute AS a
                            ON a.issuer = ?1 AND a.name = given.key AND a.key = given.value)";

fn filtered(filter: &UserFilter, mut listing: Listing) -> Listing {
    if let Some(email) = &filter.email {
        // Two older users may share the address in two spellings: both are listed.
        let keys = serde_json::Value::from(login_keys(email)).to_string();
        listing = listing.only("email_lower IN (SELECT value FROM json_each(?))", keys);
    }
    if let Some(username) = &filter.username {
        let keys = serde_json::Value::from(login_keys(username)).to_string();
        listing = listing.only("username_lower IN (SELECT value FROM json_each(?))", keys);
    }
    if let Some(verified) = filter.verified {
        listing = listing.only("verified = ?", i64::from(verified));
    }
    if let Some((name, value)) = &filter.attribute {
        let own = AttributeColumns::of_value(name, value, TEXT_FORM);
        // A value that cannot be unique is nobody's: no attribute is called as the empty text.
        let (name, key) = own.map(|own| (own.name, own.key)).unwrap_or_default();
        listing = listing.only(BY_ATTRIBUTE, serde_json::json!({ name: key }).to_string());
    }
    listing
}

/// An address is looked up before a name, so that a name that looks like an address cannot take over another user's
/// sign-in. Names are not unique: the oldest user with the name signs in.
const BY_LOGIN: [&str; 2] = [
    "SELECT u.document, p.hash FROM users u LEFT JOIN passwords p ON p.issuer = u.issuer AND p.user = u.id
     WHERE u.issuer = ?1 AND u.email_lower = ?2",
    "SELECT u.document, p.hash FROM users u LEFT JOIN passwords p ON p.issuer = u.issuer AND p.user = u.id
     WHERE u.issuer = ?1 AND u.username_lower = ?2 ORDER BY u.created_at, u.rowid LIMIT 1",
];

#[async_trait]
impl Users for EmbeddedStore {
    async fn create_users(
        &self,
        issuer: &IssuerId,
        users: Vec<(User, Option<PasswordHash>)>,
    ) -> Result<Vec<Created>, StoreError> {
        let mut created = Vec::with_capacity(users.len());
        let mut in_flight = VecDeque::new();
        for some in users.chunks(ROWS_PER_WRITE) {
            let row = |(user, password): &(User, Option<PasswordHash>)| {
                Ok((UserColumns::of(user, TEXT_FORM)?, password.clone()))
            };
            let rows = some.iter().map(row).collect::<Result<Vec<_>, StoreError>>()?;
            let issuer = issuer.clone();
            in_flight.push_back(self.records.hand_over(StoreKind::User, move |statements| {
                let schema = schema_for(rows.iter().map(|(row, _)| row), &issuer, statements)?;
                let insert = |(row, password): &(UserColumns, Option<PasswordHash>)| {
                    insert(row, &issuer, password.as_ref(), &schema, statements)
                };
                Ok(rows.iter().map(insert).collect::<Result<Vec<_>, _>>()?)
            }));
            if in_flight.len() >= WRITES_IN_FLIGHT
                && let Some(oldest) = in_flight.pop_front()
            {
                created.extend(self.records.written(StoreKind::User, oldest).await?);
            }
        }
        for write in in_flight {
            created.extend(self.records.written(StoreKind::User, write).await?);
        }
        Ok(created)
    }

    async fn user(&self, issuer: &IssuerId, id: &UserId) -> Result<Option<Arc<User>>, StoreError> {
        let read = || async {
            let key = (issuer.clone(), id.clone());
            let found = self.records.read(StoreKind::User, move |statements| {
                let sql = "SELECT document FROM users WHERE issuer = ?1 AND id = ?2";
                statements.first(sql, [key.0.as_str(), key.1.as_str()], document)
            });
            found.await?.as_deref().map(from_document::<User>).transpose()
        };
        let operations = self.figures.kind(StoreKind::User);
        self.records.caches.users.read_through(issuer, id.as_str(), operations, read).await
    }

    async fn user_by_login(
        &self,
        issuer: &IssuerId,
        login: &str,
    ) -> Result<Option<(Arc<User>, Option<PasswordHash>)>, StoreError> {
        let (issuer, logins) = (issuer.clone(), login_keys(login));
        let read = self.records.read(StoreKind::User, move |statements| {
            for (sql, login) in BY_LOGIN.iter().flat_map(|sql| logins.iter().map(move |login| (sql, login))) {
                let found = statements.first(sql, [issuer.as_str(), login], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
                })?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok(None)
        });
        let Some((document, hash)) = read.await? else { return Ok(None) };
        Ok(Some((Arc::new(from_document(&document)?), hash.map(PasswordHash::new))))
    }

    async fn update_user(&self, issuer: &IssuerId, user: User, seen: Timestamp) -> Result<bool, StoreError> {
        let row = UserColumns::of(&user, TEXT_FORM)?;
        let changed = Changed::User(issuer.clone(), user.id);
        let (issuer, seen) = (issuer.clone(), millis(seen));
        let update = move |statements: &Statements<'_>| update(&row, &issuer, seen, statements);
        self.records.change(StoreKind::User, changed, update).await
    }

    async fn set_password(
        &self,
        issuer: &IssuerId,
        id: &UserId,
        password: Option<PasswordHash>,
    ) -> Result<bool, StoreError> {
        let changed = Changed::User(issuer.clone(), id.clone());
        let (issuer, id) = (issuer.clone(), id.clone());
        let set = move |statements: &Statements<'_>| {
            if !exists(&issuer, id.as_str(), statements)? {
                return Ok(false);
            }
            match password {
                Some(password) => put_password(&issuer, id.as_str(), &password, statements)?,
                None => delete_password(&issuer, id.as_str(), statements)?,
            };
            Ok(true)
        };
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
        let (issuer, id, seen) = (issuer.clone(), id.clone(), seen.clone());
        let set = move |statements: &Statements<'_>| {
            let sql = "UPDATE passwords SET hash = ?4 WHERE issuer = ?1 AND user = ?2 AND hash = ?3";
            let values = [issuer.as_str(), id.as_str(), seen.expose(), password.expose()];
            Ok(statements.change(sql, values)? == 1)
        };
        self.records.change(StoreKind::User, changed, set).await
    }

    async fn delete_user(&self, issuer: &IssuerId, id: &UserId) -> Result<bool, StoreError> {
        let changed = Changed::User(issuer.clone(), id.clone());
        let (issuer, id) = (issuer.clone(), id.clone());
        let delete = move |statements: &Statements<'_>| {
            let key = [issuer.as_str(), id.as_str()];
            delete_password(&issuer, id.as_str(), statements)?;
            user_attribute::delete(&issuer, id.as_str(), statements)?;
            statements.change("DELETE FROM consents WHERE issuer = ?1 AND user = ?2", key)?;
            statements.change("DELETE FROM authenticators WHERE issuer = ?1 AND user = ?2", key)?;
            statements.change("DELETE FROM identities WHERE issuer = ?1 AND user = ?2", key)?;
            statements.change("DELETE FROM memberships WHERE issuer = ?1 AND user_id = ?2", key)?;
            statements.change("DELETE FROM user_roles WHERE issuer = ?1 AND user_id = ?2", key)?;
            Ok(statements.change("DELETE FROM users WHERE issuer = ?1 AND id = ?2", key)? == 1)
        };
        self.records.change(StoreKind::User, changed, delete).await
    }

    async fn list_users(
        &self,
        issuer: &IssuerId,
        filter: &UserFilter,
        page: &PageRequest,
    ) -> Result<Page<Arc<User>>, StoreError> {
        let listing = filtered(filter, Listing::of("users", "created_at DESC, rowid DESC", issuer));
        let listing = listing.searched("instr(search, ?) > 0", page);
        let page = page.clone();
        let read = move |statements: &Statements<'_>| listing.read(statements, &page);
        // Nearly always one row at most, found by the index.
        let by_index = filter.email.is_some() || filter.username.is_some() || filter.attribute.is_some();
        let documents = if by_index {
            self.records.read(StoreKind::User, read).await?
        } else {
            self.records.scan(StoreKind::User, read).await?
        };
        page_of(documents, Arc::new)
    }

    async fn next_users(
        &self,
        issuer: &IssuerId,
        filter: &UserFilter,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<Arc<User>>, StoreError> {
        let listing = filtered(filter, Listing::of("users", "id", issuer));
        let after = after.map(ToString::to_string);
        let read =
            self.records.scan(StoreKind::User, move |statements| listing.after(statements, after, limit));
        records_of(&read.await?)
    }

    async fn passwords_of(
        &self,
        issuer: &IssuerId,
        users: &[UserId],
    ) -> Result<Vec<Option<PasswordHash>>, StoreError> {
        let (issuer, users) = (issuer.clone(), users.to_vec());
        let read = self.records.scan(StoreKind::User, move |statements| {
            let sql = "SELECT hash FROM passwords WHERE issuer = ?1 AND user = ?2";
            let hash = |user: &UserId| {
                statements.first(sql, [issuer.as_str(), user.as_str()], |row| row.get::<_, String>(0))
            };
            users.iter().map(hash).collect::<rusqlite::Result<Vec<_>>>()
        });
        Ok(read.await?.into_iter().map(|hash| hash.map(PasswordHash::new)).collect())
    }
}
