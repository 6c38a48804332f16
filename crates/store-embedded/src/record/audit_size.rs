//! How much the audit log takes, and its oldest records deleted by age or size.
//!
//! Whoever writes a record pays nothing for its being counted: the sums are brought up to date when they are asked
//! for, and each record is looked at once in its life.

use rusqlite::params;
use symbolon_protocol::id::IssuerId;

use super::statement::Statements;

/// Records that one closure counts or deletes: every other write stands behind it.
const PIECE: i64 = 2_000;

/// Bytes of one record: its document, its columns and their places in the two indexes, and what SQLite puts around
/// them, in pages as full as they are after a while.
macro_rules! size {
    () => {
        "(octet_length(document) + 3 * length(issuer) + length(event) + 2 * coalesce(length(user), 0)
          + coalesce(length(client), 0) + 80)"
    };
}

/// Counts some of what was written since the last time; whether there may be more.
pub(super) fn count_new(statements: &Statements<'_>) -> rusqlite::Result<bool> {
    let from = counted(statements)?;
    let newest = "SELECT count(*), max(sequence)
                  FROM (SELECT sequence FROM audit WHERE sequence > ?1 ORDER BY sequence LIMIT ?2)";
    let new = statements.first(newest, params![from, PIECE], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?))
    })?;
    let Some((records, Some(through))) = new else { return Ok(false) };
    // NOT INDEXED: an index that is in the order of the issuers would be read from end to end.
    statements.change(
        concat!(
            "INSERT INTO audit_sizes SELECT issuer, sum",
            size!(),
            " FROM audit NOT INDEXED WHERE sequence > ?1 AND sequence <= ?2 GROUP BY issuer
             ON CONFLICT (issuer) DO UPDATE SET bytes = bytes + excluded.bytes"
        ),
        params![from, through],
    )?;
    statements.change("UPDATE audit_counted SET through = ?1", params![through])?;
    Ok(records == PIECE)
}

/// The issuer whose counted records take most, and by how many bytes all together exceed `most`. None: they do not.
pub(super) fn excess(statements: &Statements<'_>, most: i64) -> rusqlite::Result<Option<(IssuerId, i64)>> {
    let sizes = statements.all("SELECT issuer, bytes FROM audit_sizes ORDER BY bytes DESC", (), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let all = sizes.iter().fold(0_i64, |all, (_, bytes)| all.saturating_add(*bytes));
    let largest = sizes.into_iter().next().filter(|_| all > most);
    Ok(largest.map(|(issuer, _)| (IssuerId::trusted(issuer), all - most)))
}

/// Deletes some of an issuer's oldest records: those before the time `before` (milliseconds), until `bytes` are
/// freed. How many went; 0 only where there is none.
pub(super) fn delete_oldest(
    statements: &Statements<'_>,
    issuer: &IssuerId,
    before: i64,
    bytes: i64,
) -> rusqlite::Result<u64> {
    let through = counted(statements)?;
    let oldest = statements.all(
        concat!(
            "SELECT at, sequence, ",
            size!(),
            " FROM audit WHERE issuer = ?1 AND at < ?2 ORDER BY at, sequence LIMIT ?3"
        ),
        params![issuer.as_str(), before, PIECE],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
    )?;
    let (mut freed, mut of_counted, mut last) = (0, 0, None);
    for (at, sequence, size) in oldest {
        if freed >= bytes {
            break;
        }
        freed += size;
        of_counted += if sequence <= through { size } else { 0 };
        last = Some((at, sequence));
    }
    let Some((at, sequence)) = last else { return Ok(0) };
    let deleted = statements.change(
        "DELETE FROM audit WHERE issuer = ?1 AND (at, sequence) <= (?2, ?3)",
        params![issuer.as_str(), at, sequence],
    )?;
    statements.change(
        "UPDATE audit_sizes SET bytes = max(bytes - ?2, 0) WHERE issuer = ?1",
        params![issuer.as_str(), of_counted],
    )?;
    // SQLite gives the sequences of the newest records again when these are gone.
    statements.change(
        "UPDATE audit_counted SET through = min(through, coalesce((SELECT max(sequence) FROM audit), 0))",
        (),
    )?;
    Ok(deleted as u64)
}

/// Forgets what is counted of an issuer that has no records.
pub(super) fn forget(statements: &Statements<'_>, issuer: &IssuerId) -> rusqlite::Result<()> {
    statements.change("DELETE FROM audit_sizes WHERE issuer = ?1", params![issuer.as_str()])?;
    Ok(())
}

fn counted(statements: &Statements<'_>) -> rusqlite::Result<i64> {
    let through = statements.first("SELECT through FROM audit_counted", (), |row| row.get(0))?;
    Ok(through.unwrap_or(0))
}
