//! How much the audit log takes, and its oldest records deleted by age or size.

use rusqlite::{Row, params};
use symbolon_protocol::id::IssuerId;

use super::block::{Block, Columns, lines};
use super::packed::unpack;
use crate::record::statement::Statements;
use crate::record::{Written, millis};

/// Records after which a closure begins no other block: every other write stands behind it.
const PIECE: u64 = 2_000;

/// The issuer whose records take most, and by how many bytes all together exceed `most`. None: they do not.
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
) -> Written<u64> {
    let (mut deleted, mut freed) = (0, 0);
    while deleted < PIECE && freed < bytes {
        let oldest = "SELECT number, bytes, content FROM audit_blocks
                      WHERE issuer = ?1 AND oldest < ?2 ORDER BY oldest LIMIT 1";
        let found = statements.first(oldest, params![issuer.as_str(), before], Stored::of)?;
        let Some(block) = found else { break };
        let (of_block, bytes) = block.shorten(statements, issuer, before, bytes - freed)?;
        deleted += of_block;
        // What is left of a few small records may be estimated higher than all of them were.
        freed += bytes.max(0);
    }
    Ok(deleted)
}

/// Forgets what is counted of an issuer that has no records.
pub(super) fn forget(statements: &Statements<'_>, issuer: &IssuerId) -> rusqlite::Result<()> {
    statements.change("DELETE FROM audit_sizes WHERE issuer = ?1", params![issuer.as_str()])?;
    Ok(())
}

/// A block that was written.
struct Stored {
    number: i64,
    bytes: i64,
    content: Vec<u8>,
}

impl Stored {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { number: row.get(0)?, bytes: row.get(1)?, content: unpack(row.get(2)?)? })
    }

    /// Deletes its oldest records: those before the time `before`, until `bytes` are freed, and one at least. How many
    /// went, and how many bytes.
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
        // A stable sort: those of the same time keep their order.
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

    /// What so many bytes of the content take as the block is stored: packed together with the others, and with the places
    /// of their users.
    fn share(&self, length: usize) -> i64 {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let all = i64::try_from(self.content.len()).unwrap_or(i64::MAX).max(1);
        length.saturating_mul(self.bytes) / all
    }

    /// Deletes all of it.
    fn delete(
        &self,
        statements: &Statements<'_>,
        issuer: &IssuerId,
        records: &[(Columns, &[u8])],
    ) -> rusqlite::Result<()> {
        statements.change("DELETE FROM audit_blocks WHERE number = ?1", params![self.number])?;
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
