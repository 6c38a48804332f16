//! How many groups and roles an issuer has, and the lock that orders changes of them.

use symbolon_store::StoreError;

use crate::postgres::{Transaction, column};

/// How many groups and roles an issuer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) groups: u64,
    pub(super) roles: u64,
}

/// Locks the groups and roles of an issuer, so that no other transaction creates, changes or deletes one until this one
/// ends. To be locked before any of their rows.
pub(super) async fn lock(issuer: &str, transaction: &Transaction<'_>) -> Result<Counts, StoreError> {
    let sql = "SELECT group_count, role_count FROM entitlement_counts WHERE issuer = $1 FOR UPDATE";
    let mut row = transaction.first(sql, &[&issuer]).await?;
    if row.is_none() {
        let first = "INSERT INTO entitlement_counts (issuer, group_count, role_count) VALUES ($1, 0, 0)
                     ON CONFLICT DO NOTHING";
        transaction.change(first, &[&issuer]).await?;
        row = transaction.first(sql, &[&issuer]).await?;
    }
    let Some(row) = row else { return Err(StoreError::Conflict) };
    let count = |index| Ok::<_, StoreError>(column::<i64>(&row, index)?.unsigned_abs());
    Ok(Counts { groups: count(0)?, roles: count(1)? })
}

/// Adds to the number of an issuer's groups and roles, which the transaction has [locked](lock).
pub(super) async fn add(
    issuer: &str,
    groups: i64,
    roles: i64,
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    let sql = "UPDATE entitlement_counts SET group_count = group_count + $2, role_count = role_count + $3
               WHERE issuer = $1";
    transaction.change(sql, &[&issuer, &groups, &roles]).await.map(drop)
}

/// A number of rows as the database counts them.
pub(super) fn number(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
