//! Searching the audit log, newest first.
//!
//! Blocks are read in the order of their newest records. The times of blocks may overlap, because they come from
//! different writes. So the place of a record in the result is settled only when it is newer than every block that was
//! not read yet.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use memchr::memmem::Finder;
use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IssuerId;
use symbolon_store::port::{AuditFilter, PageRequest};

use super::block::{Columns, lines};
use super::marks::{self, Key};
use super::packed::unpack;
use crate::record::listing::Documents;
use crate::record::millis;
use crate::record::statement::Statements;

/// A search and the page that is wanted of it.
pub(super) struct Search {
    issuer: IssuerId,
    filter: AuditFilter,
    /// In lower case.
    text: Option<String>,
    /// Byte sequences that occur in the document of every record that matches.
    marks: Vec<Finder<'static>>,
    /// What must be marked in a block that is unpacked, where refusals alone are searched for.
    refusals: Option<Vec<Key>>,
    skipped: u64,
    limit: usize,
    /// Whether blocks behind a full page are read to count what matches in them.
    counts: bool,
}

/// The columns of a block that are read before its content.
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
            // As it is written in a document, with its quotes.
            let value = serde_json::Value::from(value).to_string();
            Finder::new(&value).into_owned()
        };
        let members = filter.members();
        let members = members.iter().map(|member| Finder::new(member).into_owned());
        Self {
            issuer: issuer.clone(),
            filter: filter.clone(),
            text: page.text().map(str::to_lowercase),
            marks: values.into_iter().flatten().map(mark).chain(members).collect(),
            refusals: marks::wanted(filter),
            skipped: page.skipped(),
            limit: page.limit() as usize,
            counts: true,
        }
    }

    /// A search for the newest records alone: it stops when it has so many.
    pub(super) fn newest(issuer: &IssuerId, filter: &AuditFilter, most: u32) -> Self {
        let page = PageRequest { page: 1, limit: most, search: None };
        Self { counts: false, ..Self::new(issuer, filter, &page) }
    }

    /// Reads the page, and counts all that match.
    pub(super) fn read(&self, statements: &Statements<'_>) -> rusqlite::Result<Documents> {
        let mut found = SearchResult { skipped: self.skipped, limit: self.limit, ..SearchResult::default() };
        self.each_block(statements, |block| {
            found.settle(block.newest);
            if found.is_full() && !self.counts {
                return Ok(ControlFlow::Break(()));
            }
            if found.is_full() && self.takes_all(&block) {
                found.total += block.records;
                return Ok(ControlFlow::Continue(()));
            }
            if self.is_ruled_out(&block, statements)? {
                return Ok(ControlFlow::Continue(()));
            }
            let content = "SELECT content FROM audit_blocks WHERE number = ?1";
            let content: Option<Vec<u8>> =
                statements.first(content, params![block.number], |row| unpack(row.get(0)?))?;
            for (position, line) in lines(&content.unwrap_or_default()).enumerate() {
                if let Some(at) = self.at_if_wanted(line)? {
                    found.add((at, block.number, position), line);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        found.settle(i64::MIN);
        Ok((found.page, found.total))
    }

    /// Passes on every block that may hold a record of the times and the user that are searched for.
    fn each_block(
        &self,
        statements: &Statements<'_>,
        mut take: impl FnMut(Outline) -> rusqlite::Result<ControlFlow<()>>,
    ) -> rusqlite::Result<()> {
        let from = self.filter.from.map_or(i64::MIN, millis);
        let to = self.filter.to.map_or(i64::MAX, millis);
        let mut values = vec![Value::from(self.issuer.as_str().to_owned()), from.into(), to.into()];
        let blocks = match &self.filter.user {
            // `CROSS JOIN` keeps SQLite to this order: first the user's index, then each block by its number.
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

    /// Whether all records of a block match, which is known without reading them.
    fn takes_all(&self, block: &Outline) -> bool {
        let from = self.filter.from.is_none_or(|from| millis(from) <= block.oldest);
        let to = self.filter.to.is_none_or(|to| block.newest < millis(to));
        self.marks.is_empty() && self.text.is_none() && from && to
    }

    /// Whether the marks of a block say that none of its records match. Blocks from before there were marks have none.
    fn is_ruled_out(&self, block: &Outline, statements: &Statements<'_>) -> rusqlite::Result<bool> {
        let Some(wanted) = &self.refusals else { return Ok(false) };
        let sql = "SELECT marks FROM audit_marks WHERE block = ?1";
        let marks = statements.first(sql, params![block.number], |row| row.get::<_, Vec<u8>>(0))?;
        Ok(marks.is_some_and(|marks| !marks::may_have(&marks, wanted)))
    }

    /// The time of a record if it matches, else `None`.
    fn at_if_wanted(&self, line: &[u8]) -> rusqlite::Result<Option<i64>> {
        // These byte sequences alone rule out most records.
        if self.marks.iter().any(|mark| mark.find(line).is_none()) {
            return Ok(None);
        }
        let contains = |text: &String| String::from_utf8_lossy(line).to_lowercase().contains(text.as_str());
        if !self.text.as_ref().is_none_or(contains) {
            return Ok(None);
        }
        let record = Columns::of(line)?;
        // The marks alone decide the other conditions.
        let AuditFilter { event, user, client, refused, from, to, .. } = &self.filter;
        let is_refusal = || Event::REFUSALS.iter().any(|refusal| refusal.name() == record.event);
        let wanted = event.is_none_or(|event| event.name() == record.event)
            && (!refused || is_refusal())
            && user.as_ref().is_none_or(|user| Some(user.as_str()) == record.user.as_deref())
            && client.as_ref().is_none_or(|client| Some(client.as_str()) == record.client.as_deref())
            && from.is_none_or(|from| from <= record.at)
            && to.is_none_or(|to| record.at < to);
        Ok(wanted.then(|| millis(record.at)))
    }
}

/// The key by which records are ordered: time, block number and line of the block.
type RecordPlace = (i64, i64, usize);

/// The records found so far.
#[derive(Default)]
struct SearchResult {
    total: u64,
    /// How many records in front of the page are still to be skipped.
    skipped: u64,
    limit: usize,
    page: Vec<String>,
    /// Matching records whose place is not settled yet.
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

    /// Settles the places of the pending records that are newer than `newest`, the newest time in the blocks not read
    /// yet.
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
