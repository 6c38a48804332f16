//! The size of the audit log, and the deletion of its oldest records by age or by size.

use rusqlite::{Row, params};
use symbolon_protocol::id::IssuerId;

use super::block::{Block, Columns, lines};
use super::packed::unpack;
use crate::record::statement::Statements;
use crate::record::{Written, millis};

/// After so many deleted records a closure begins no further block, because all other writes wait for it.
const PIECE: u64 = 2_000;

/// The issuer whose records take most, and by how many bytes all issuers' records together exceed `most`; `None` if
/// they do not.
pub(super) fn excess(statements: &Statements<'_>, most: i64) -> rusqlite::Result<Option<(IssuerId, i64)>> {
    let sizes = statements.all("SELECT issuer, bytes FROM audit_sizes ORDER BY bytes DESC", (), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let all = sizes.iter().fold(0_i64, |all, (_, bytes)| all.saturating_add(*bytes));
    let largest = sizes.into_iter().next().filter(|_| all > most);
    Ok(largest.map(|(issuer, _)| (IssuerId::trusted(issuer), all - most)))
}

/// Deletes some of an issuer's oldest records: those before the time `before` (milliseconds), until `bytes` are freed.
/// Returns how many; 0 only if there is none to delete.
pub(super) fn delete_oldest(
    statements: &Statements<'_>,
    issuer: &IssuerId,
    before: i64,
    bytes: i64,
) -> Written<u64> {
    let (mut deleted, mut freed) = (0, 0);
    while deleted < PIECE && freed < bytes {
        let oldest = "SELECT number, bytes, content FROM audit_blocks
                      WHERE issuer = ?1 AND oldest < ?2 ORDER BY oldest LIMIT 1";
        let found = statements.first(oldest, params![issuer.as_str(), before], Stored::of)?;
        let Some(block) = found else { break };
        let (of_block, bytes) = block.shorten(statements, issuer, before, bytes - freed)?;
        deleted += of_block;
        // The estimated size of a few remaining records may exceed that of the whole block.
        freed += bytes.max(0);
    }
    Ok(deleted)
}

/// Deletes the size of an issuer that has no records.
pub(super) fn forget(statements: &Statements<'_>, issuer: &IssuerId) -> rusqlite::Result<()> {
    statements.change("DELETE FROM audit_sizes WHERE issuer = ?1", params![issuer.as_str()])?;
    Ok(())
}

/// A stored block.
struct Stored {
    number: i64,
    bytes: i64,
    content: Vec<u8>,
}

impl Stored {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { number: row.get(0)?, bytes: row.get(1)?, content: unpack(row.get(2)?)? })
    }

    /// Deletes the block's oldest records: those before the time `before`, until `bytes` are freed, and one at least.
    /// Returns how many records, and how many bytes.
    fn shorten(
        &self,
        statements: &Statements<'_>,
        issuer: &IssuerId,
        before: i64,
        bytes: i64,
    ) -> rusqlite::Result<(u64, i64)> {
        let mut records = lines(&self.content)
            .map(|line| Ok((Columns::of(line)?, line)))
            .collect::<rusqlite::Result<Vec<_>>>()?;
        self.delete(statements, issuer, &records)?;
        // A stable sort: records of the same time keep their order.
        records.sort_by_key(|(columns, _)| columns.at);
        let mut length = 0;
        let gone = records.iter().take_while(|(columns, line)| {
            let goes = millis(columns.at) < before && self.share(length) < bytes;
            length += line.len() + 1;
            goes
        });
        let gone = gone.count();
        let mut rest = Block::default();
        for (columns, line) in records.iter().skip(gone) {
            rest.push_line(line, columns);
        }
        let left = if gone < records.len() { rest.store(Some(self.number), issuer, statements)? } else { 0 };
        Ok((gone as u64, self.bytes - left))
    }

    /// The stored size of so many bytes of the content, by their share of the block, which is compressed as a whole and
    /// has index entries for its users.
    fn share(&self, length: usize) -> i64 {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let all = i64::try_from(self.content.len()).unwrap_or(i64::MAX).max(1);
        length.saturating_mul(self.bytes) / all
    }

    /// Deletes the whole block.
    fn delete(
        &self,
        statements: &Statements<'_>,
        issuer: &IssuerId,
        records: &[(Columns, &[u8])],
    ) -> rusqlite::Result<()> {
        statements.change("DELETE FROM audit_blocks WHERE number = ?1", params![self.number])?;
        statements.change("DELETE FROM audit_marks WHERE block = ?1", params![self.number])?;
        let mut of_user =
            statements.repeated("DELETE FROM audit_users WHERE issuer = ?1 AND user = ?2 AND block = ?3")?;
        let mut users: Vec<&str> =
            records.iter().filter_map(|(columns, _)| columns.user.as_deref()).collect();
        users.sort_unstable();
        users.dedup();
        for user in users {
            of_user.change(params![issuer.as_str(), user, self.number])?;
        }
        statements.change(
            "UPDATE audit_sizes SET bytes = max(bytes - ?2, 0) WHERE issuer = ?1",
            params![issuer.as_str(), self.bytes],
        )?;
        Ok(())
    }
}
