//! A block: records of one issuer as documents, each on a line.

use std::collections::HashSet;

use indexmap::IndexMap;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};
use serde::Deserialize;
use smol_str::SmolStr;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use super::marks::Marks;
use super::packed::{pack, unpack};
use crate::failed;
use crate::record::statement::Statements;
use crate::record::{Written, millis};

/// Bytes at which a block is full. A search reads whole blocks, so they must not be too long. The 20,000 records of one
/// write fit, so that each of their users has one place in the index.
const FULL: usize = 4 << 20;

/// Estimated bytes around a block's content and marks and around each of its users: columns, index entries, and what SQLite
/// adds to them.
const AROUND_BLOCK: usize = 130;
const AROUND_USER: usize = 16;

/// The members of a record's document that are read. The event is text, so that records of events from newer programs
/// can be deleted too.
#[derive(Deserialize)]
pub(super) struct Columns {
    pub at: Timestamp,
    pub event: SmolStr,
    pub user: Option<SmolStr>,
    pub client: Option<SmolStr>,
}

impl Columns {
    pub(super) fn of(line: &[u8]) -> rusqlite::Result<Self> {
        serde_json::from_slice(line)
            .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(error)))
    }
}

/// The documents of a block, in the order in which they were written.
pub(super) fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Writes records behind all others.
pub(in crate::record) fn insert(
    records: &[(IssuerId, AuditRecord)],
    statements: &Statements<'_>,
) -> Written<()> {
    let mut blocks = IndexMap::<&IssuerId, Block>::new();
    for (issuer, record) in records {
        let block = blocks.entry(issuer).or_default();
        block.push(record);
        if block.content.len() >= FULL {
            block.store(None, issuer, statements)?;
            block.clear();
        }
    }
    for (issuer, block) in blocks.iter().filter(|(_, block)| block.records > 0) {
        block.store(None, issuer, statements)?;
    }
    Ok(())
}

/// A block that is being filled.
#[derive(Default)]
pub(super) struct Block {
    times: Option<(i64, i64)>,
    records: i64,
    users: HashSet<SmolStr>,
    marks: Marks,
    content: Vec<u8>,
}

impl Block {
    /// Empties the block, and keeps its memory for the next one.
    fn clear(&mut self) {
        let Self { times, records, users, marks, content } = self;
        (*times, *records) = (None, 0);
        users.clear();
        marks.clear();
        content.clear();
    }

    fn push(&mut self, record: &AuditRecord) {
        self.content = record.append_to(std::mem::take(&mut self.content));
        self.content.push(b'\n');
        self.marks.add(record);
        self.count(record.at, record.user.as_ref().map(|user| user.as_str()));
    }

    /// Adds a line of another block.
    pub(super) fn push_line(&mut self, line: &[u8], columns: &Columns) {
        self.content.extend_from_slice(line);
        self.content.push(b'\n');
        self.marks.add_line(line, &columns.event);
        self.count(columns.at, columns.user.as_deref());
    }

    fn count(&mut self, at: Timestamp, user: Option<&str>) {
        let at = millis(at);
        let (oldest, newest) = self.times.unwrap_or((at, at));
        self.times = Some((oldest.min(at), newest.max(at)));
        self.records += 1;
        if let Some(user) = user.filter(|user| !self.users.contains(*user)) {
            self.users.insert(user.into());
        }
    }

    /// The size of the block in bytes if its stored content and marks have `content` bytes.
    fn bytes(&self, issuer: &IssuerId, content: usize) -> i64 {
        let issuer = issuer.as_str().len();
        let users: usize = self.users.iter().map(|user| issuer + user.len() + AROUND_USER).sum();
        i64::try_from(content + 3 * issuer + AROUND_BLOCK + users).unwrap_or(i64::MAX)
    }

    /// Writes the block, under `number` if it has one, and adds its size to the issuer's. Returns the size.
    pub(super) fn store(
        &self,
        number: Option<i64>,
        issuer: &IssuerId,
        statements: &Statements<'_>,
    ) -> rusqlite::Result<i64> {
        let (oldest, newest) = self.times.unwrap_or_default();
        let (content, marks) = (pack(&self.content), self.marks.stored());
        let bytes = self.bytes(issuer, content.len() + marks.as_ref().map_or(0, Vec::len));
        let number = statements.insert(
            "INSERT INTO audit_blocks (number, issuer, oldest, newest, records, bytes, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![number, issuer.as_str(), oldest, newest, self.records, bytes, content],
        )?;
        if let Some(marks) = marks {
            let insert = "INSERT INTO audit_marks (block, marks) VALUES (?1, ?2)";
            statements.change(insert, params![number, marks])?;
        }
        let mut of_user =
            statements.repeated("INSERT INTO audit_users (issuer, user, block) VALUES (?1, ?2, ?3)")?;
        let mut users: Vec<&str> = self.users.iter().map(SmolStr::as_str).collect();
        // In the order of the index, so that entries on the same page are written one after the other.
        users.sort_unstable();
        for user in users {
            of_user.change(params![issuer.as_str(), user, number])?;
        }
        statements.change(
            "INSERT INTO audit_sizes VALUES (?1, ?2)
             ON CONFLICT (issuer) DO UPDATE SET bytes = bytes + excluded.bytes",
            params![issuer.as_str(), bytes],
        )?;
        Ok(bytes)
    }
}

/// Passes every record of a database to `take` as a document, those of the oldest blocks first. Also reads a backup
/// from before there were blocks.
pub(crate) fn each_document(
    connection: &Connection,
    mut take: impl FnMut(IssuerId, &str) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let blocks = "SELECT count(*) FROM sqlite_schema WHERE name = 'audit_blocks'";
    let in_blocks = connection.query_row(blocks, (), |row| row.get::<_, i64>(0)).map_err(failed)? > 0;
    let sql = if in_blocks {
        "SELECT issuer, content FROM audit_blocks ORDER BY number"
    } else {
        "SELECT issuer, CAST(document AS BLOB) FROM audit ORDER BY sequence"
    };
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query(()).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let (issuer, content) = block(row).map_err(failed)?;
        for line in lines(&content) {
            take(IssuerId::trusted(issuer.clone()), str::from_utf8(line).map_err(failed)?)?;
        }
    }
    Ok(())
}

fn block(row: &Row<'_>) -> rusqlite::Result<(String, Vec<u8>)> {
    Ok((row.get(0)?, unpack(row.get(1)?)?))
}
