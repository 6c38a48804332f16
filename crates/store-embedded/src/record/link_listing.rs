//! Pages of the records at one end of links: a group's members, a user's roles.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use serde::de::DeserializeOwned;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::link::{Link, Links};
use symbolon_store::port::{Page, PageRequest};

use super::Records;
use super::listing::{Documents, found, page_of};
use super::statement::{Statements, document};

/// Which end of the links is listed.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// Those who have it, in the order of their ids: there may be many, and the index has this order.
    Holders,
    /// What is had, in the order of the names: there are few.
    Held,
}

/// A listing of the records at one end of the links of one record at the other end.
struct LinkListing {
    links: Links,
    end: End,
    issuer: String,
    /// The record at the other end.
    of: String,
}

impl LinkListing {
    /// The queries for how many there are if nothing is searched for, and for the records of a page, without its bounds.
    fn queries(&self, searched: bool) -> (String, String) {
        let Self { links, end, .. } = self;
        let (table, holder, held) = (links.table(), links.holder(), links.held());
        let (records, id, of) = match end {
            End::Holders => (links.holders(), holder, held),
            End::Held => (links.things(), held, holder),
        };
        let order = match end {
            End::Holders => format!("l.{holder}"),
            End::Held => "r.name_key, r.id".to_owned(),
        };
        // The cross join makes SQLite begin with the links.
        let joined = format!("{table} l CROSS JOIN {records} r ON r.issuer = l.issuer AND r.id = l.{id}");
        let of_record = format!("WHERE l.issuer = ?1 AND l.{of} = ?2");
        let search = if searched { "AND instr(r.search, ?3) > 0" } else { "" };
        // No link is without its record, so the links alone are counted.
        (
            format!("SELECT count(*) FROM {table} l {of_record}"),
            format!("SELECT r.document FROM {joined} {of_record} {search} ORDER BY {order}"),
        )
    }

    fn read(&self, page: &PageRequest, statements: &Statements<'_>) -> rusqlite::Result<Documents> {
        let mut values = vec![Value::Text(self.issuer.clone()), Value::Text(self.of.clone())];
        values.extend(page.text().map(|text| Value::Text(text.to_lowercase())));
        let (count, select) = self.queries(page.text().is_some());
        if page.text().is_some() {
            return found(&select, &values, page, statements);
        }
        let total: Option<i64> = statements.first(&count, params_from_iter(&values), |row| row.get(0))?;
        let (limit, skipped) = (page.limit(), page.skipped());
        let select = format!("{select} LIMIT {limit} OFFSET {skipped}");
        let documents = statements.all(&select, params_from_iter(&values), document)?;
        Ok((documents, total.unwrap_or(0).unsigned_abs()))
    }
}

impl Records {
    /// A page of the records at one `end` of the links, whose other end is the record `of`.
    pub(super) async fn list_linked<T: DeserializeOwned, U>(
        self: &Arc<Self>,
        (links, end): (Links, End),
        issuer: &IssuerId,
        of: &str,
        page: &PageRequest,
        wrap: impl Fn(T) -> U,
    ) -> Result<Page<U>, StoreError> {
        let listing = LinkListing { links, end, issuer: issuer.as_str().to_owned(), of: of.to_owned() };
        let page = page.clone();
        let read = self.scan(links.kind(), move |statements| listing.read(&page, statements));
        page_of(read.await?, wrap)
    }

    /// The next links in the order of their holders, then of what these have, at most `limit`.
    pub(super) async fn next_links(
        self: &Arc<Self>,
        links: Links,
        issuer: &IssuerId,
        after: Option<Link>,
        limit: u32,
    ) -> Result<Vec<Link>, StoreError> {
        let (table, holder, held) = (links.table(), links.holder(), links.held());
        let sql = format!(
            "SELECT {holder}, {held} FROM {table} WHERE issuer = ?1 AND ({holder}, {held}) > (?2, ?3)
             ORDER BY {holder}, {held} LIMIT {}",
            limit.clamp(1, 1_000)
        );
        // No id is empty, so every link comes after a pair of empty texts.
        let after = after.unwrap_or_else(|| Link { holder: String::new(), held: String::new() });
        let values = [issuer.as_str().to_owned(), after.holder, after.held];
        let read = self.scan(links.kind(), move |statements| {
            let link = |row: &Row<'_>| Ok(Link { holder: row.get(0)?, held: row.get(1)? });
            statements.all(&sql, params_from_iter(&values), link)
        });
        read.await
    }
}
