//! The size of the audit log, and the deletion of its oldest records by age or size, a piece at a time.
//!
//! A deletion locks the row of the issuer's sum, so that one node deletes at a time, and every record that is written
//! meanwhile is counted.

use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;

use super::Written;
use crate::postgres::{Connection, Transaction, column};

/// How many records one transaction deletes, while writers wait for it.
pub(super) const PIECE: i64 = 2_000;

/// Bytes that PostgreSQL adds for a record and its entries in the two indexes, in pages that are as full as usual.
const AROUND: usize = 150;

/// Bytes that it adds for the entry of a refused request in the index of these.
const AROUND_REFUSAL: usize = 40;

/// Bytes of one record: its document, its columns and their places in the indexes.
pub(super) fn size_of(issuer: &IssuerId, record: &AuditRecord, document: &str) -> i64 {
    let user = record.user.as_ref().map_or(0, |user| user.as_str().len());
    let client = record.client.as_ref().map_or(0, |client| client.as_str().len());
    let columns = 3 * issuer.as_str().len() + record.event.name().len() + 2 * user + client;
    let refusal =
        if Event::REFUSALS.contains(&record.event) { issuer.as_str().len() + AROUND_REFUSAL } else { 0 };
    i64::try_from(document.len() + columns + refusal + AROUND).unwrap_or(i64::MAX)
}

/// One step towards a log of `most` bytes: deletes some of the oldest records of the issuer whose records take the most
/// space; returns how many. `None`: the log is not larger than that.
pub(super) async fn trim_largest(most: i64, mut connection: Connection) -> Written<Option<u64>> {
    let Some(largest) = largest(&connection, most).await? else { return Ok(Some(None)) };
    let transaction = connection.transaction().await?;
    if lock(&transaction, &largest.issuer).await? < Some(largest.bytes) {
        // Another node has deleted some meanwhile: the caller looks again.
        return Ok(Some(Some(0)));
    }
    let deleted = delete_until(&transaction, &largest.issuer, i64::MAX, largest.excess).await?;
    if deleted == 0 {
        // There are no records, although the sum says so.
        let sql = "DELETE FROM audit_sizes WHERE issuer = $1";
        transaction.change(sql, &[&largest.issuer.as_str()]).await?;
    }
    transaction.commit().await?;
    Ok(Some(Some(deleted)))
}

/// Deletes some of an issuer's oldest records that are from before the time `before` (milliseconds); returns how many.
pub(super) async fn trim_older(issuer: IssuerId, before: i64, mut connection: Connection) -> Written<u64> {
    let transaction = connection.transaction().await?;
    lock(&transaction, &issuer).await?;
    let deleted = delete_until(&transaction, &issuer, before, i64::MAX).await?;
    if deleted > 0 {
        transaction.commit().await?;
    }
    Ok(Some(deleted))
}

/// The issuer whose records take the most space.
struct Largest {
    issuer: IssuerId,
    bytes: i64,
    /// By how many bytes the records of all issuers exceed the limit.
    excess: i64,
}

/// The issuer whose records take the most space, if the records of all issuers take more than `most` bytes.
async fn largest(connection: &Connection, most: i64) -> Result<Option<Largest>, StoreError> {
    let rows = connection.all("SELECT issuer, bytes FROM audit_sizes ORDER BY bytes DESC", &[]).await?;
    let mut all = 0_i64;
    for row in &rows {
        all = all.saturating_add(column(row, 1)?);
    }
    let largest = rows.first().filter(|_| all > most);
    let of = |row| {
        let issuer = IssuerId::trusted(column::<&str>(row, 0)?);
        Ok(Largest { issuer, bytes: column(row, 1)?, excess: all - most })
    };
    largest.map(of).transpose()
}

/// Locks the sum of an issuer until the transaction ends; returns the sum.
async fn lock(transaction: &Transaction<'_>, issuer: &IssuerId) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT bytes FROM audit_sizes WHERE issuer = $1 FOR UPDATE";
    transaction.first(sql, &[&issuer.as_str()]).await?.map(|row| column(&row, 0)).transpose()
}

/// Deletes some of an issuer's oldest records: those before the time `before` (milliseconds), until `bytes` are freed.
/// Returns how many; 0 only if there are none.
async fn delete_until(
    transaction: &Transaction<'_>,
    issuer: &IssuerId,
    before: i64,
    bytes: i64,
) -> Result<u64, StoreError> {
    let issuer = issuer.as_str();
    let oldest = "SELECT at, sequence, size FROM audit WHERE issuer = $1 AND at < $2
                  ORDER BY at, sequence LIMIT $3";
    let (mut through, mut freed) = (None, 0_i64);
    for row in &transaction.all(oldest, &[&issuer, &before, &PIECE]).await? {
        if freed >= bytes {
            break;
        }
        freed = freed.saturating_add(column(row, 2)?);
        through = Some((column::<i64>(row, 0)?, column::<i64>(row, 1)?));
    }
    let Some((at, sequence)) = through else { return Ok(0) };
    let delete = "DELETE FROM audit WHERE issuer = $1 AND (at, sequence) <= ($2, $3) RETURNING size";
    let deleted = transaction.change_returning(delete, &[&issuer, &at, &sequence]).await?;
    let mut freed = 0_i64;
    for row in &deleted {
        freed = freed.saturating_add(column(row, 0)?);
    }
    let less = "UPDATE audit_sizes SET bytes = greatest(bytes - $2, 0) WHERE issuer = $1";
    transaction.change(less, &[&issuer, &freed]).await?;
    Ok(deleted.len() as u64)
}
