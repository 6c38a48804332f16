//! The audit log.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{Audit, AuditFilter, Page, PageRequest};

use super::audit_size::{PIECE, size_of, trim_largest, trim_older};
use super::listing::Listing;
use super::text::searched;
use super::{Records, Written, each, millis};
use crate::postgres::Connection;
use crate::{ClusterStore, to_document};

/// Records that one statement writes.
const ROWS_PER_WRITE: usize = 5_000;

/// PostgreSQL executes `sums` last, because nothing refers to it. So its rows are locked no longer than a commit takes.
const WRITE: &str = "WITH sums AS (
        INSERT INTO audit_sizes (issuer, bytes)
        SELECT new.issuer, new.bytes FROM unnest($1::text[], $2::bigint[]) AS new(issuer, bytes)
        ON CONFLICT (issuer) DO UPDATE SET bytes = audit_sizes.bytes + excluded.bytes RETURNING issuer
    )
    INSERT INTO audit (issuer, at, event, user_id, client_id, size, document)
    SELECT new.issuer, new.at, new.event, new.user_id, new.client_id, new.size, new.document
    FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[])
         AS new(issuer, at, event, user_id, client_id, size, document)";

/// The condition of the index `audit_of_refusals`: the events of `Event::REFUSALS`.
const REFUSED: &str = "event IN ('session.sign_in_failed', 'request.refused')";

struct Row {
    issuer: IssuerId,
    record: AuditRecord,
    size: i64,
    document: String,
}

impl Row {
    fn of((issuer, record): (IssuerId, AuditRecord)) -> Result<Self, StoreError> {
        let document = to_document(&record)?;
        Ok(Self { size: size_of(&issuer, &record, &document), issuer, record, document })
    }
}

async fn write(rows: Arc<Vec<Row>>, connection: Connection) -> Written<()> {
    let rows = rows.as_slice();
    // In the order of the issuers, so that writers do not deadlock.
    let mut sums = BTreeMap::<&str, i64>::new();
    for row in rows {
        *sums.entry(row.issuer.as_str()).or_default() += row.size;
    }
    connection
        .change(
            WRITE,
            &[
                &sums.keys().copied().collect::<Vec<_>>(),
                &sums.values().copied().collect::<Vec<_>>(),
                &each(rows, |row| row.issuer.as_str()),
                &each(rows, |row| millis(row.record.at)),
                &each(rows, |row| row.record.event.name()),
                &each(rows, |row| row.record.user.as_ref().map(|user| user.as_str())),
                &each(rows, |row| row.record.client.as_ref().map(|client| client.as_str())),
                &each(rows, |row| row.size),
                &each(rows, |row| row.document.as_str()),
            ],
        )
        .await?;
    Ok(Some(()))
}

impl Records {
    /// Appends records in the given order.
    pub(super) async fn write_audit(&self, records: &[(IssuerId, AuditRecord)]) -> Result<(), StoreError> {
        for some in records.chunks(ROWS_PER_WRITE) {
            let rows = some.iter().cloned().map(Row::of).collect::<Result<Vec<_>, _>>()?;
            let rows = Arc::new(rows);
            self.write(StoreKind::Audit, |connection| write(Arc::clone(&rows), connection)).await?;
        }
        Ok(())
    }
}

/// The records that match a filter, newest first.
fn filtered(issuer: &IssuerId, filter: &AuditFilter) -> Listing {
    let mut listing = Listing::of("audit", "at DESC, sequence DESC", issuer);
    if let Some(event) = filter.event {
        listing = listing.only("event = ?", event.name());
    }
    if filter.refused {
        listing = listing.only_if(REFUSED);
    }
    if let Some(user) = &filter.user {
        listing = listing.only("user_id = ?", user.as_str().to_owned());
    }
    if let Some(client) = &filter.client {
        listing = listing.only("client_id = ?", client.as_str().to_owned());
    }
    if let Some(from) = filter.from {
        listing = listing.only("at >= ?", millis(from));
    }
    if let Some(to) = filter.to {
        listing = listing.only("at < ?", millis(to));
    }
    for member in filter.members() {
        listing = listing.only("position(? in document) > 0", member);
    }
    listing
}

#[async_trait]
impl Audit for ClusterStore {
    async fn write_audit(&self, records: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError> {
        self.records.write_audit(&records).await
    }

    async fn search_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRecord>, StoreError> {
        let listing = filtered(issuer, filter);
        // Counted whole, as the embedded store counts records of the log.
        let listing = match page.text() {
            Some(text) => listing.only("position(? in lower(document)) > 0", searched(text)),
            None => listing,
        };
        listing.read(&self.records, StoreKind::Audit, page, |record| record).await
    }

    async fn newest_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        most: u32,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        filtered(issuer, filter).first(&self.records, StoreKind::Audit, most).await
    }

    async fn trim_audit(&self, issuer: &IssuerId, before: Timestamp) -> Result<u64, StoreError> {
        let _pass = self.gate.enter()?;
        let before = millis(before);
        let mut trimmed = 0;
        loop {
            let trim = |connection| trim_older(issuer.clone(), before, connection);
            let some = self.records.write(StoreKind::Audit, trim).await?;
            trimmed += some;
            if some < PIECE.unsigned_abs() {
                return Ok(trimmed);
            }
        }
    }

    async fn trim_audit_to(&self, most: u64) -> Result<u64, StoreError> {
        let _pass = self.gate.enter()?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut trimmed = 0;
        loop {
            match self.records.write(StoreKind::Audit, |connection| trim_largest(most, connection)).await? {
                Some(some) => trimmed += some,
                None => return Ok(trimmed),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::event::Event;

    use super::*;

    #[test]
    fn the_index_of_refusals_has_every_refusal_and_is_asked_by_its_own_condition() {
        let migration = include_str!("../../migrations/0007_refusals.sql");
        assert!(migration.contains(&format!("WHERE {REFUSED};")), "{migration}");
        let events = Event::REFUSALS.map(|event| format!("'{}'", event.name()));
        assert!(events.iter().all(|event| REFUSED.contains(event)), "{events:?}");
        assert_eq!(REFUSED.matches(',').count() + 1, events.len());
    }
}
