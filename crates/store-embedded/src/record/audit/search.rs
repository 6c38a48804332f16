//! Searching the audit log, newest first.
//!
//! Blocks are read in the order of their newest records. Those of different writes overlap a little, so that a record
//! has its place only when every block that is left ends before it.

use std::cmp::Reverse;

use memchr::memmem::Finder;
use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use symbolon_protocol::id::IssuerId;
use symbolon_store::port::{AuditFilter, PageRequest};

use super::block::{Columns, lines};
use super::packed::unpack;
use crate::record::listing::Documents;
use crate::record::millis;
use crate::record::statement::Statements;

/// What is searched for, and which page of it.
pub(super) struct Search {
    issuer: IssuerId,
    filter: AuditFilter,
    /// In lower case.
    text: Option<String>,
    /// What stands in the document of every record that is wanted.
    marks: Vec<Finder<'static>>,
    skipped: u64,
    limit: usize,
}

/// A block as its index knows it.
struct Outline {
    number: i64,
    oldest: i64,
    newest: i64,
    records: u64,
}

impl Outline {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let records: i64 = row.get(3)?;
        Ok(Self {
            number: row.get(0)?,
            oldest: row.get(1)?,
            newest: row.get(2)?,
            records: u64::try_from(records).unwrap_or(0),
        })
    }
}

impl Search {
    pub(super) fn new(issuer: &IssuerId, filter: &AuditFilter, page: &PageRequest) -> Self {
        let values = [
            filter.event.map(|event| event.name()),
            filter.user.as_ref().map(|user| user.as_str()),
            filter.client.as_ref().map(|client| client.as_str()),
        ];
        let mark = |value: &str| {
            // As it stands in a document, with its quotes.
            let value = serde_json::Value::from(value).to_string();
            Finder::new(&value).into_owned()
        };
        Self {
            issuer: issuer.clone(),
            filter: filter.clone(),
            text: page.text().map(str::to_lowercase),
            marks: values.into_iter().flatten().map(mark).collect(),
            skipped: page.skipped(),
            limit: page.limit() as usize,
        }
    }

    /// Reads the page, and counts all that match.
    pub(super) fn read(&self, statements: &Statements<'_>) -> rusqlite::Result<Documents> {
        let mut found = SearchResult { skipped: self.skipped, limit: self.limit, ..SearchResult::default() };
        self.each_block(statements, |block| {
            found.settle(block.newest);
            if found.is_full() && self.takes_all(&block) {
                found.total += block.records;
                return Ok(());
            }
            let content = "SELECT content FROM audit_blocks WHERE number = ?1";
            let content: Option<Vec<u8>> =
                statements.first(content, params![block.number], |row| unpack(row.get(0)?))?;
            for (position, line) in lines(&content.unwrap_or_default()).enumerate() {
                if let Some(at) = self.at_if_wanted(line)? {
                    found.add((at, block.number, position), line);
                }
            }
            Ok(())
        })?;
        found.settle(i64::MIN);
        Ok((found.page, found.total))
    }

    /// Every block that may hold a record of the times and the user that are asked for.
    fn each_block(
        &self,
        statements: &Statements<'_>,
        mut take: impl FnMut(Outline) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let from = self.filter.from.map_or(i64::MIN, millis);
        let to = self.filter.to.map_or(i64::MAX, millis);
        let mut values = vec![Value::from(self.issuer.as_str().to_owned()), from.into(), to.into()];
        let blocks = match &self.filter.user {
            // A block of the user's is looked up by its number: the order of a cross join is kept.
            Some(user) => {
                values.push(user.as_str().to_owned().into());
                "SELECT number, oldest, newest, records
                 FROM audit_users AS users CROSS JOIN audit_blocks AS blocks ON blocks.number = users.block
                 WHERE users.issuer = ?1 AND users.user = ?4 AND newest >= ?2 AND oldest < ?3
                 ORDER BY newest DESC"
            }
            None => {
                "SELECT number, oldest, newest, records FROM audit_blocks
                 WHERE issuer = ?1 AND newest >= ?2 AND oldest < ?3 ORDER BY newest DESC"
            }
        };
        statements.each(blocks, params_from_iter(values), |row| take(Outline::of(row)?))
    }

    /// Whether all records of a block are wanted, without a look at them.
    fn takes_all(&self, block: &Outline) -> bool {
        let from = self.filter.from.is_none_or(|from| millis(from) <= block.oldest);
        let to = self.filter.to.is_none_or(|to| block.newest < millis(to));
        self.marks.is_empty() && self.text.is_none() && from && to
    }

    /// When a record was made, if it is wanted.
    fn at_if_wanted(&self, line: &[u8]) -> rusqlite::Result<Option<i64>> {
        // Most records are ruled out by this alone.
        if self.marks.iter().any(|mark| mark.find(line).is_none()) {
            return Ok(None);
        }
        let contains = |text: &String| String::from_utf8_lossy(line).to_lowercase().contains(text.as_str());
        if !self.text.as_ref().is_none_or(contains) {
            return Ok(None);
        }
        let record = Columns::of(line)?;
        let AuditFilter { event, user, client, from, to } = &self.filter;
        let wanted = event.is_none_or(|event| event.name() == record.event)
            && user.as_ref().is_none_or(|user| Some(user.as_str()) == record.user.as_deref())
            && client.as_ref().is_none_or(|client| Some(client.as_str()) == record.client.as_deref())
            && from.is_none_or(|from| from <= record.at)
            && to.is_none_or(|to| record.at < to);
        Ok(wanted.then(|| millis(record.at)))
    }
}

/// A record's place: its time, the number of its block and its place there.
type RecordPlace = (i64, i64, usize);

/// What was found so far.
#[derive(Default)]
struct SearchResult {
    total: u64,
    /// Records before the page that are yet to come.
    skipped: u64,
    limit: usize,
    page: Vec<String>,
    /// What has no place yet.
    pending: Vec<(RecordPlace, String)>,
}

impl SearchResult {
    fn is_full(&self) -> bool {
        self.page.len() >= self.limit
    }

    fn add(&mut self, place: RecordPlace, line: &[u8]) {
        self.total += 1;
        if !self.is_full() {
            self.pending.push((place, String::from_utf8_lossy(line).into_owned()));
        }
    }

    /// Gives those their places that are newer than all that is left, whose newest is of `newest`.
    fn settle(&mut self, newest: i64) {
        self.pending.sort_unstable_by_key(|(place, _)| Reverse(*place));
        let settled = self.pending.partition_point(|((at, ..), _)| *at > newest);
        for (_, document) in self.pending.drain(..settled) {
            if self.skipped > 0 {
                self.skipped -= 1;
            } else if self.page.len() < self.limit {
                self.page.push(document);
            }
        }
        if self.is_full() {
            self.pending.clear();
        }
    }
}
