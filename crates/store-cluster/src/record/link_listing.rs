//! Pages of the records at one end of links: a group's members, a user's roles.

use serde::de::DeserializeOwned;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::link::{Link, Links};
use symbolon_store::port::{Page, PageRequest};

use super::Records;
use super::listing::{found_query, records_of};
use super::text::searched;
use crate::postgres::{Parameter, column};

/// Which end of the links is listed.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// Those who have it, in the order of their ids: there may be many, and the index has this order.
    Holders,
    /// What is had, in the order of the names: there are few.
    Held,
}

/// Where the records of a listing are, and which of them they are; and their order. The parameters are the issuer and the record
/// at the other end.
fn listed(links: Links, end: End) -> (String, String, String) {
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    let (records, id, of) = match end {
        End::Holders => (links.holders(), holder, held),
        End::Held => (links.things(), held, holder),
    };
    let order = match end {
        End::Holders => format!("l.{holder}"),
        End::Held => "r.name_key, r.id".to_owned(),
    };
    // `OFFSET 0` makes the planner begin with the links: else it may read all users until a page of a group's is full.
    let joined = format!(
        "{table} l, LATERAL (SELECT * FROM {records} WHERE issuer = $1 AND id = l.{id} OFFSET 0) AS r"
    );
    (joined, format!("WHERE l.issuer = $1 AND l.{of} = $2"), order)
}

impl Records {
    /// A page of the records at one `end` of the links, whose other end is the record `of`.
    pub(super) async fn list_linked<T: DeserializeOwned, U>(
        &self,
        (links, end): (Links, End),
        issuer: &IssuerId,
        of: &str,
        page: &PageRequest,
        wrap: impl Fn(T) -> U,
    ) -> Result<Page<U>, StoreError> {
        let issuer = issuer.as_str();
        let (joined, of_record, order) = listed(links, end);
        let mut values: Vec<Parameter<'_>> = vec![&issuer as Parameter<'_>, &of];
        if let Some(text) = page.text().map(searched) {
            let from = format!("{joined} {of_record} AND position($3 in r.search) > 0");
            let sql = found_query(&from, "r.document", &order, 3);
            let mut values = values;
            values.push(&text);
            return self.find_page(links.kind(), &sql, values, page, wrap).await;
        }
        let (limit, skipped) = (i64::from(page.limit()), page.skipped().cast_signed());
        // No link is without its record, so the links alone are counted.
        let count = format!("SELECT count(*) FROM {} l {of_record}", links.table());
        let select =
            format!("SELECT r.document FROM {joined} {of_record} ORDER BY {order} LIMIT $3 OFFSET $4");
        let (total, rows) = self
            .measured(links.kind(), async {
                let connection = self.postgres.connection().await?;
                let total = connection.first(&count, &values).await?;
                values.extend([&limit as Parameter<'_>, &skipped]);
                Ok((total, connection.all(&select, &values).await?))
            })
            .await?;
        let total: i64 = total.map(|row| column(&row, 0)).transpose()?.unwrap_or(0);
        Ok(Page { items: records_of(&rows, wrap)?, total: total.unsigned_abs() })
    }

    /// The next links in the order of their holders, then of what these have, at most `limit`.
    pub(super) async fn next_links(
        &self,
        links: Links,
        issuer: &IssuerId,
        after: Option<Link>,
        limit: u32,
    ) -> Result<Vec<Link>, StoreError> {
        let (table, holder, held) = (links.table(), links.holder(), links.held());
        let sql = format!(
            "SELECT {holder}, {held} FROM {table} WHERE issuer = $1 AND ({holder}, {held}) > ($2, $3)
             ORDER BY {holder}, {held} LIMIT $4"
        );
        // No id is empty, so every link comes after a pair of empty texts.
        let after = after.unwrap_or_else(|| Link { holder: String::new(), held: String::new() });
        let (issuer, limit) = (issuer.as_str(), i64::from(limit.clamp(1, 1_000)));
        let rows = self.all(links.kind(), &sql, &[&issuer, &after.holder, &after.held, &limit]).await?;
        rows.iter().map(|row| Ok(Link { holder: column(row, 0)?, held: column(row, 1)? })).collect()
    }
}
