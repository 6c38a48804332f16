//! Values of unique attributes: whose each one is.
//!
//! Which attributes are unique is read from the issuer's settings in the transaction that writes the user. There is one
//! writer, so a user is either written before the settings change, and its values are compared then, or after it.

use std::ops::ControlFlow;

use rusqlite::types::Type;
use symbolon_protocol::attribute::{AttributeName, AttributeSchema, Attributes};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::columns::{
    AttributeColumns, AttributeReindex, MARK_OF_ATTRIBUTES, attributes_of, schema_of,
};
use symbolon_store::port::SettingsUpdate;

use super::statement::{Statements, document};
use super::{TEXT_FORM, Written, refuse};

/// Those who may have a value of the attributes that are compared; the second value is [`MARK_OF_ATTRIBUTES`].
const WITH_ATTRIBUTES: &str = "SELECT id, document FROM users WHERE issuer = ?1 AND instr(document, ?2) > 0";

/// The schema of an issuer as it is in this transaction; empty if there is no such issuer.
pub(super) fn schema(issuer: &IssuerId, statements: &Statements<'_>) -> Written<AttributeSchema> {
    let sql = "SELECT settings FROM issuers WHERE id = ?1";
    match statements.first(sql, [issuer.as_str()], document)?.as_deref().map(schema_of) {
        None => Ok(AttributeSchema::default()),
        Some(Ok(schema)) => Ok(schema),
        Some(Err(error)) => refuse(error),
    }
}

/// The values of a user that nobody else may have.
pub(super) fn rows(attributes: &Attributes, schema: &AttributeSchema) -> Vec<AttributeColumns> {
    AttributeColumns::of(attributes, schema, TEXT_FORM)
}

/// Whether none of the values is another user's.
pub(super) fn are_free(
    rows: &[AttributeColumns],
    issuer: &IssuerId,
    user: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<bool> {
    for row in rows {
        if holder(row, issuer, statements)?.is_some_and(|holder| holder != user) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives the values to a user who has none, or returns false at the first one that is taken.
pub(super) fn insert(
    rows: &[AttributeColumns],
    issuer: &IssuerId,
    user: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<bool> {
    let sql = "INSERT INTO user_attribute (issuer, name, key, user_id) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT DO NOTHING";
    for row in rows {
        if statements.change(sql, [issuer.as_str(), &row.name, &row.key, user])? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes all values from a user.
pub(super) fn delete(issuer: &IssuerId, user: &str, statements: &Statements<'_>) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM user_attribute WHERE issuer = ?1 AND user_id = ?2";
    statements.change(sql, [issuer.as_str(), user])
}

fn holder(
    row: &AttributeColumns,
    issuer: &IssuerId,
    statements: &Statements<'_>,
) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT user_id FROM user_attribute WHERE issuer = ?1 AND name = ?2 AND key = ?3";
    statements.first(sql, [issuer.as_str(), &row.name, &row.key], document)
}

/// Makes the rows follow a new schema. If two users share a value that is to be unique, nothing is changed.
pub(super) fn reindex(
    reindex: &AttributeReindex,
    issuer: &IssuerId,
    statements: &Statements<'_>,
) -> Written<SettingsUpdate> {
    if reindex.is_nothing() {
        return Ok(SettingsUpdate::Written);
    }
    // The transaction goes on after a refusal, with the writes of others, so the rows are taken back alone.
    statements.connection().execute_batch("SAVEPOINT reindex")?;
    let done = replace_rows(reindex, issuer, statements);
    let undo = if matches!(done, Ok(None)) { "" } else { "ROLLBACK TO reindex;" };
    statements.connection().execute_batch(&format!("{undo} RELEASE reindex"))?;
    match done? {
        None => Ok(SettingsUpdate::Written),
        Some((row, users)) => {
            let attribute = AttributeName::trusted(row.name);
            Ok(SettingsUpdate::NotUnique { attribute, users: users.map(UserId::trusted) })
        }
    }
}

/// A value, and two users who have it.
type Shared = (AttributeColumns, [String; 2]);

fn replace_rows(
    reindex: &AttributeReindex,
    issuer: &IssuerId,
    statements: &Statements<'_>,
) -> rusqlite::Result<Option<Shared>> {
    for name in &reindex.dropped {
        let sql = "DELETE FROM user_attribute WHERE issuer = ?1 AND name = ?2";
        statements.change(sql, [issuer.as_str(), name])?;
    }
    let mut shared = None;
    if reindex.added.is_empty() {
        return Ok(shared);
    }
    statements.each(WITH_ATTRIBUTES, [issuer.as_str(), MARK_OF_ATTRIBUTES], |row| {
        let (user, document): (String, String) = (row.get(0)?, row.get(1)?);
        let attributes = attributes_of(&document)
            .map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error)))?;
        for own in rows(&attributes, &reindex.added) {
            if !insert(std::slice::from_ref(&own), issuer, &user, statements)? {
                let other = holder(&own, issuer, statements)?.unwrap_or_default();
                shared = Some((own, [other, user]));
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(shared)
}
