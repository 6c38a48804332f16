//! Pages of records, newest first, and all of them in the order of their ids.

use std::ops::ControlFlow;
use std::sync::Arc;

use rusqlite::params_from_iter;
use rusqlite::types::Value;
use serde::de::DeserializeOwned;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::port::{Page, PageRequest};

use super::from_document;
use super::statement::{Statements, document};

/// A query for records of a table.
pub(super) struct Listing {
    table: &'static str,
    order: &'static str,
    conditions: String,
    values: Vec<Value>,
}

/// Documents of one page, and how many records match in all, of a search [`PageRequest::most_found`] at most.
pub(super) type Documents = (Vec<String>, u64);

impl Listing {
    /// All records of an issuer in a table.
    pub(super) fn of(table: &'static str, order: &'static str, issuer: &IssuerId) -> Self {
        let values = vec![Value::Text(issuer.as_str().to_owned())];
        Self { table, order, conditions: "issuer = ?".to_owned(), values }
    }

    /// Only the records that meet `condition`, which has one parameter. The condition is part of the program, never of
    /// a request.
    pub(super) fn only(mut self, condition: &'static str, value: impl Into<Value>) -> Self {
        self.conditions.push_str(" AND ");
        self.conditions.push_str(condition);
        self.values.push(value.into());
        self
    }

    /// Only the records that meet `condition` with the text searched for, in lower case; all if none is searched for.
    pub(super) fn searched(self, condition: &'static str, page: &PageRequest) -> Self {
        match page.text() {
            Some(search) => self.only(condition, search.to_lowercase()),
            None => self,
        }
    }

    /// Reads the next records after an id; needs the order by ids in [`of`](Self::of). Ids never change, so no record
    /// comes twice or is left out, even if other records are added or deleted meanwhile.
    pub(super) fn after(
        self,
        statements: &Statements<'_>,
        id: Option<String>,
        limit: u32,
    ) -> rusqlite::Result<Vec<String>> {
        let listing = match id {
            Some(id) => self.only("id > ?", id),
            None => self,
        };
        let Self { table, order, conditions, values } = &listing;
        let limit = limit.clamp(1, 1_000);
        let select =
            format!("SELECT document FROM {table} WHERE {conditions} ORDER BY {order} LIMIT {limit}");
        statements.all(&select, params_from_iter(values), document)
    }

    /// Reads a page.
    pub(super) fn read(
        &self,
        statements: &Statements<'_>,
        page: &PageRequest,
    ) -> rusqlite::Result<Documents> {
        let Self { table, order, conditions, values } = self;
        let select = format!("SELECT document FROM {table} WHERE {conditions} ORDER BY {order}");
        if page.text().is_some() {
            return found(&select, values, page, statements);
        }
        let count = format!("SELECT count(*) FROM {table} WHERE {conditions}");
        let total: Option<i64> = statements.first(&count, params_from_iter(values), |row| row.get(0))?;
        let (limit, skipped) = (page.limit(), page.skipped());
        let select = format!("{select} LIMIT {limit} OFFSET {skipped}");
        let documents = statements.all(&select, params_from_iter(values), document)?;
        Ok((documents, total.and_then(|total| u64::try_from(total).ok()).unwrap_or(0)))
    }
}

/// Reads a page of what a search finds, and counts it, in one pass. `select` is the query for all documents, in their order.
pub(super) fn found(
    select: &str,
    values: &[Value],
    page: &PageRequest,
    statements: &Statements<'_>,
) -> rusqlite::Result<Documents> {
    let on_page = page.skipped()..page.skipped() + u64::from(page.limit());
    let select = format!("{select} LIMIT {}", page.most_found());
    let (mut documents, mut total) = (Vec::new(), 0);
    statements.each(&select, params_from_iter(values), |row| {
        if on_page.contains(&total) {
            documents.push(document(row)?);
        }
        total += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((documents, total))
}

/// Parses the documents of a page.
pub(super) fn page_of<T: DeserializeOwned, U>(
    (documents, total): Documents,
    wrap: impl Fn(T) -> U,
) -> Result<Page<U>, StoreError> {
    let items = documents.iter().map(|document| from_document(document).map(&wrap));
    Ok(Page { items: items.collect::<Result<_, _>>()?, total })
}

/// Parses the documents of records.
pub(super) fn records_of<T: DeserializeOwned>(documents: &[String]) -> Result<Vec<Arc<T>>, StoreError> {
    documents.iter().map(|document| from_document(document).map(Arc::new)).collect()
}
