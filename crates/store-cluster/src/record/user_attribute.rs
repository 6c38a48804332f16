//! Values of unique attributes: whose each one is.
//!
//! Which attributes are unique is read from the issuer's settings in the transaction that writes the user, under a lock
//! that a change of the settings waits for. So a user is either committed before the settings change, and its values are
//! compared then, or its transaction sees the new settings. The lock is taken after the user's own row and e-mail address,
//! and a change of the settings locks no user, so that they do not wait for each other in a circle. Users without
//! attributes need none of this.

use std::collections::HashSet;

use symbolon_protocol::attribute::{AttributeName, AttributeSchema};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::StoreError;
use symbolon_store::columns::{AttributeColumns, AttributeReindex, attributes_of, schema_of};
use symbolon_store::port::SettingsUpdate;
use tokio_postgres::Row;

use super::text::TEXT_FORM;
use super::user_row::UserRow;
use super::{Records, each};
use crate::postgres::{Transaction, column};

/// Users that one statement reads when an attribute becomes unique.
const PIECE: i64 = 10_000;

/// Whether a user has attributes; the text is [`MARK_OF_ATTRIBUTES`](symbolon_store::columns::MARK_OF_ATTRIBUTES).
macro_rules! has_attributes {
    () => {
        "position('\"attributes\":{' in document) > 0"
    };
}
pub(super) use has_attributes;

/// The next users of an issuer, with the documents of those who have attributes.
const NEXT: &str = concat!(
    "SELECT id, CASE WHEN ",
    has_attributes!(),
    " THEN document END FROM users WHERE issuer = $1 AND id > $2 ORDER BY id LIMIT $3"
);

const INSERT: &str = "
    INSERT INTO user_attribute (issuer, name, key, user_id)
    SELECT $1::text, new.name, new.key, new.id FROM unnest($2::text[], $3::text[], $4::text[]) AS new(name, key, id)
    ON CONFLICT DO NOTHING RETURNING user_id, name";

/// A value and the user who wants it.
type Wanted<'a> = (AttributeColumns, &'a str);

impl Records {
    /// The values that users who are to be created together would have alone, as far as the settings of this moment say.
    /// The order of users who share one is decided by it; whether they may is decided by [`take`].
    pub(super) async fn unique_values(
        &self,
        issuer: &IssuerId,
        rows: &[UserRow],
    ) -> Result<Vec<Vec<AttributeColumns>>, StoreError> {
        // One alone shares nothing with another.
        if rows.len() < 2 || rows.iter().all(|row| row.attributes.is_empty()) {
            return Ok(vec![Vec::new(); rows.len()]);
        }
        let sql = "SELECT settings FROM issuers WHERE id = $1";
        let found = self.postgres.connection().await?.first(sql, &[&issuer.as_str()]).await?;
        let schema = found.as_ref().map_or_else(|| Ok(AttributeSchema::default()), read)?;
        Ok(each(rows, |row| AttributeColumns::of(&row.attributes, &schema, TEXT_FORM)))
    }
}

fn read(row: &Row) -> Result<AttributeSchema, StoreError> {
    schema_of(column::<&str>(row, 0)?)
}

/// Keeps the settings of an issuer as they are until the commit; returns its schema, an empty one if there is no such
/// issuer.
async fn lock(issuer: &IssuerId, transaction: &Transaction<'_>) -> Result<AttributeSchema, StoreError> {
    let sql = "SELECT settings FROM issuers WHERE id = $1 FOR SHARE";
    let found = transaction.first(sql, &[&issuer.as_str()]).await?;
    found.as_ref().map_or_else(|| Ok(AttributeSchema::default()), read)
}

/// Gives new users the values that nobody else may have; returns the users of whom another one has a value. They get none.
pub(super) async fn take<'a>(
    issuer: &IssuerId,
    rows: &[&'a UserRow],
    transaction: &Transaction<'_>,
) -> Result<HashSet<&'a str>, StoreError> {
    if rows.iter().all(|row| row.attributes.is_empty()) {
        return Ok(HashSet::new());
    }
    let schema = lock(issuer, transaction).await?;
    let of = |row: &&'a UserRow| {
        let (id, columns) = (row.id.as_str(), AttributeColumns::of(&row.attributes, &schema, TEXT_FORM));
        columns.into_iter().map(move |own| (own, id))
    };
    let refused = insert(issuer, rows.iter().flat_map(of).collect(), transaction).await?;
    let refused: HashSet<&str> = refused.into_iter().map(|(_, id)| id).collect();
    if !refused.is_empty() {
        let sql = "DELETE FROM user_attribute WHERE issuer = $1 AND user_id = ANY($2)";
        let ids: Vec<&str> = refused.iter().copied().collect();
        transaction.change(sql, &[&issuer.as_str(), &ids]).await?;
    }
    Ok(refused)
}

/// Replaces the values of a user; false: another user has one of the new ones.
pub(super) async fn replace(
    issuer: &IssuerId,
    row: &UserRow,
    transaction: &Transaction<'_>,
) -> Result<bool, StoreError> {
    let schema = lock(issuer, transaction).await?;
    free(issuer, &row.id, transaction).await?;
    let own = AttributeColumns::of(&row.attributes, &schema, TEXT_FORM);
    let wanted = own.into_iter().map(|own| (own, row.id.as_str())).collect();
    Ok(insert(issuer, wanted, transaction).await?.is_empty())
}

/// Takes the values from a user who is being deleted.
pub(super) async fn delete(
    issuer: &IssuerId,
    user: &str,
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    lock(issuer, transaction).await?;
    free(issuer, user, transaction).await
}

async fn free(issuer: &IssuerId, user: &str, transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let sql = "DELETE FROM user_attribute WHERE issuer = $1 AND user_id = $2";
    transaction.change(sql, &[&issuer.as_str(), &user]).await?;
    Ok(())
}

/// Inserts the rows that nobody has; returns the others. In their order, so that two writers of the same ones do not wait for
/// each other in a circle.
async fn insert<'a>(
    issuer: &IssuerId,
    mut wanted: Vec<Wanted<'a>>,
    transaction: &Transaction<'_>,
) -> Result<Vec<Wanted<'a>>, StoreError> {
    if wanted.is_empty() {
        return Ok(wanted);
    }
    wanted.sort_unstable();
    let taken = transaction
        .change_returning(
            INSERT,
            &[
                &issuer.as_str(),
                &each(&wanted, |(own, _)| own.name.as_str()),
                &each(&wanted, |(own, _)| own.key.as_str()),
                &each(&wanted, |(_, user)| *user),
            ],
        )
        .await?;
    let pair = |row| Ok((column::<&str>(row, 0)?, column::<&str>(row, 1)?));
    let taken: HashSet<(&str, &str)> = taken.iter().map(pair).collect::<Result<_, StoreError>>()?;
    wanted.retain(|(own, user)| !taken.contains(&(*user, own.name.as_str())));
    Ok(wanted)
}

/// Makes the rows follow a new schema, in the transaction that has locked the issuer to replace its settings. Unless it is
/// [`SettingsUpdate::Written`], the transaction must not be committed.
pub(super) async fn reindex(
    reindex: &AttributeReindex,
    issuer: &IssuerId,
    transaction: &Transaction<'_>,
) -> Result<SettingsUpdate, StoreError> {
    if !reindex.dropped.is_empty() {
        let sql = "DELETE FROM user_attribute WHERE issuer = $1 AND name = ANY($2)";
        transaction.change(sql, &[&issuer.as_str(), &reindex.dropped]).await?;
    }
    let mut after = String::new();
    while !reindex.added.is_empty() {
        let found = transaction.all(NEXT, &[&issuer.as_str(), &after, &PIECE]).await?;
        let Some(last) = found.last() else { break };
        let mut wanted = Vec::new();
        for row in &found {
            let (user, Some(document)) = (column::<&str>(row, 0)?, column::<Option<&str>>(row, 1)?) else {
                continue;
            };
            let own = AttributeColumns::of(&attributes_of(document)?, &reindex.added, TEXT_FORM);
            wanted.extend(own.into_iter().map(|own| (own, user)));
        }
        if let Some((own, user)) = insert(issuer, wanted, transaction).await?.into_iter().next() {
            let sql = "SELECT user_id FROM user_attribute WHERE issuer = $1 AND name = $2 AND key = $3";
            let holder = transaction.first(sql, &[&issuer.as_str(), &own.name, &own.key]).await?;
            let holder = holder.map(|row| column::<String>(&row, 0)).transpose()?.unwrap_or_default();
            let users = [holder, user.to_owned()].map(UserId::trusted);
            return Ok(SettingsUpdate::NotUnique { attribute: AttributeName::trusted(own.name), users });
        }
        after = column(last, 0)?;
    }
    Ok(SettingsUpdate::Written)
}
