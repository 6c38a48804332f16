//! Pages of records, newest first, and all of them in the order of their ids.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::port::{Page, PageRequest};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Records;
use super::text::searched;
use crate::from_document;
use crate::postgres::{Parameter, column};

/// A query for records of a table.
pub(super) struct Listing {
    table: &'static str,
    order: &'static str,
    conditions: String,
    values: Vec<Box<dyn ToSql + Send + Sync>>,
    /// Whether each record is looked at, so that a page is found and counted in one pass.
    is_search: bool,
}

impl Listing {
    /// All records of an issuer in a table.
    pub(super) fn of(table: &'static str, order: &'static str, issuer: &IssuerId) -> Self {
        let values: Vec<Box<dyn ToSql + Send + Sync>> = vec![Box::new(issuer.as_str().to_owned())];
        Self { table, order, conditions: "issuer = $1".to_owned(), values, is_search: false }
    }

    /// Only those that meet `condition`, which has one parameter, `?`. It must be a constant of the program, never a
    /// text from a request.
    pub(super) fn only(mut self, condition: &'static str, value: impl ToSql + Send + Sync + 'static) -> Self {
        self.values.push(Box::new(value));
        let place = format!("${}", self.values.len());
        self.conditions.push_str(" AND ");
        self.conditions.push_str(&condition.replace('?', &place));
        self
    }

    /// Only those that meet `condition`, which has no parameter and is a constant of the program.
    pub(super) fn only_if(mut self, condition: &str) -> Self {
        self.conditions.push_str(" AND ");
        self.conditions.push_str(condition);
        self
    }

    /// Only those whose text that `condition` names, stored in lower case, contains the text searched for. Of these no more are
    /// counted than [`PageRequest::most_found`].
    pub(super) fn searched(self, condition: &'static str, page: &PageRequest) -> Self {
        match page.text() {
            Some(search) => Self { is_search: true, ..self.only(condition, searched(search)) },
            None => self,
        }
    }

    /// Reads the next records after an id; the order given to [`of`](Self::of) must be by id. Ids never change, so no
    /// record comes twice or is left out, whatever happens to other records.
    pub(super) async fn after<T: DeserializeOwned>(
        self,
        records: &Records,
        kind: StoreKind,
        id: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Arc<T>>, StoreError> {
        let listing = match id {
            Some(id) => self.only("id > ?", id.to_owned()),
            None => self,
        };
        let limit = i64::from(limit.clamp(1, 1_000));
        let mut values = listing.values();
        values.push(&limit);
        let Self { table, order, conditions, .. } = &listing;
        let last = values.len();
        let select =
            format!("SELECT document FROM {table} WHERE {conditions} ORDER BY {order} LIMIT ${last}");
        records_of(&records.all(kind, &select, &values).await?, Arc::new)
    }

    /// Reads the first records, without counting the others.
    pub(super) async fn first<T: DeserializeOwned>(
        self,
        records: &Records,
        kind: StoreKind,
        most: u32,
    ) -> Result<Vec<T>, StoreError> {
        let most = i64::from(most.clamp(1, 1_000));
        let mut values = self.values();
        values.push(&most);
        let Self { table, order, conditions, .. } = &self;
        let last = values.len();
        let select =
            format!("SELECT document FROM {table} WHERE {conditions} ORDER BY {order} LIMIT ${last}");
        records_of(&records.all(kind, &select, &values).await?, |record| record)
    }

    /// Reads a page.
    pub(super) async fn read<T: DeserializeOwned, U>(
        self,
        records: &Records,
        kind: StoreKind,
        page: &PageRequest,
        wrap: impl Fn(T) -> U,
    ) -> Result<Page<U>, StoreError> {
        let Self { table, order, conditions, .. } = &self;
        if self.is_search {
            let from = format!("{table} WHERE {conditions}");
            let sql = found_query(&from, "document", order, self.values.len());
            return records.find_page(kind, &sql, self.values(), page, wrap).await;
        }
        let count = format!("SELECT count(*) FROM {table} WHERE {conditions}");
        let limit = i64::from(page.limit());
        let skipped = page.skipped().cast_signed();
        let mut values = self.values();
        let places = values.len();
        let select = format!(
            "SELECT document FROM {table} WHERE {conditions} ORDER BY {order} LIMIT ${} OFFSET ${}",
            places + 1,
            places + 2
        );
        let (total, rows) = records
            .measured(kind, async {
                let connection = records.postgres.connection().await?;
                let total = connection.first(&count, &values).await?;
                values.extend([&limit as Parameter<'_>, &skipped]);
                Ok((total, connection.all(&select, &values).await?))
            })
            .await?;
        let total: i64 = total.map(|row| column(&row, 0)).transpose()?.unwrap_or(0);
        Ok(Page { items: records_of(&rows, wrap)?, total: total.unsigned_abs() })
    }

    fn values(&self) -> Vec<Parameter<'_>> {
        self.values.iter().map(|value| value.as_ref() as Parameter<'_>).collect()
    }
}

/// The query for what a search finds: of each record its place, counted from 1, and the document if it is on the page. `from` is
/// what stands behind `FROM` of the query for all, with its condition, which has the first `given` parameters; those behind are the
/// records before the page, the last place on it, and how many records to find.
pub(super) fn found_query(from: &str, document: &str, order: &str, given: usize) -> String {
    let (skipped, last, most) = (given + 1, given + 2, given + 3);
    format!(
        "SELECT found.place,
                CASE WHEN found.place > ${skipped} AND found.place <= ${last} THEN found.document END
         FROM (SELECT {document} AS document, row_number() OVER (ORDER BY {order}) AS place
               FROM {from} ORDER BY {order} LIMIT ${most}) AS found"
    )
}

impl Records {
    /// Reads a page of what a search finds, and counts it up to [`PageRequest::most_found`], in one pass. `sql` is of
    /// [`found_query`], and `values` are its given parameters.
    pub(super) async fn find_page<T: DeserializeOwned, U>(
        &self,
        kind: StoreKind,
        sql: &str,
        values: Vec<Parameter<'_>>,
        page: &PageRequest,
        wrap: impl Fn(T) -> U,
    ) -> Result<Page<U>, StoreError> {
        let (skipped, most) = (page.skipped().cast_signed(), page.most_found().cast_signed());
        let last = skipped + i64::from(page.limit());
        let mut values: Vec<Parameter<'_>> = values;
        values.extend([&skipped as Parameter<'_>, &last, &most]);
        let rows = self.all(kind, sql, &values).await?;
        let mut documents = Vec::new();
        for row in &rows {
            if let Some(document) = column::<Option<&str>>(row, 1)? {
                documents.push((column::<i64>(row, 0)?, document));
            }
        }
        documents.sort_unstable_by_key(|(place, _)| *place);
        let items = documents.into_iter().map(|(_, document)| from_document(document).map(&wrap));
        Ok(Page { items: items.collect::<Result<_, _>>()?, total: rows.len() as u64 })
    }
}

/// Reads the documents of rows, their first column, back.
pub(super) fn records_of<T: DeserializeOwned, U>(
    rows: &[Row],
    wrap: impl Fn(T) -> U,
) -> Result<Vec<U>, StoreError> {
    rows.iter().map(|row| from_document(column::<&str>(row, 0)?).map(&wrap)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_has_its_own_parameter() {
        let page = PageRequest { page: 1, limit: 10, search: Some(" Ann ".to_owned()) };
        let listing = Listing::of("users", "id", &IssuerId::default_issuer())
            .only("verified = ?", true)
            .searched("position(? in search) > 0", &page);
        assert_eq!(listing.conditions, "issuer = $1 AND verified = $2 AND position($3 in search) > 0");
        assert_eq!(format!("{:?}", listing.values[2]), "\"ann\"");
        let found = found_query("users WHERE issuer = $1", "document", "id", listing.values.len());
        let places = ["place > $4", "place <= $5", "LIMIT $6"];
        assert!(places.iter().all(|place| found.contains(place)), "{found}");
    }
}
