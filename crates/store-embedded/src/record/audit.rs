//! The audit log.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::figures::StoreKind;
use symbolon_store::port::{Audit, AuditFilter, Page, PageRequest};

use super::audit_size::{count_new, delete_oldest, excess, forget};
use super::listing::{Listing, page_of};
use super::statement::Statements;
use super::{Written, millis};
use crate::database::WriteError;
use crate::{EmbeddedStore, failed};

/// Records that one closure writes: the pages of the indexes are written once for all of them.
const ROWS_WRITTEN: usize = 20_000;

/// Bytes that nearly every document has room in.
const USUAL_DOCUMENT: usize = 512;

/// Writes records after all others.
pub(super) fn insert(records: &[(IssuerId, AuditRecord)], statements: &Statements<'_>) -> Written<()> {
    let mut insert = statements.repeated(
        "INSERT INTO audit (issuer, at, event, user, client, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    // One for all records.
    let mut document = Vec::with_capacity(USUAL_DOCUMENT);
    for (issuer, record) in records {
        document.clear();
        serde_json::to_writer(&mut document, record).map_err(|error| WriteError::Rejected(failed(error)))?;
        let (user, client) = (record.user.as_ref(), record.client.as_ref());
        insert.change(params![
            issuer.as_str(),
            millis(record.at),
            record.event.name(),
            user.map(|user| user.as_str()),
            client.map(|client| client.as_str()),
            str::from_utf8(&document).map_err(|error| WriteError::Rejected(failed(error)))?,
        ])?;
    }
    Ok(())
}

#[async_trait]
impl Audit for EmbeddedStore {
    async fn write_audit(&self, records: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError> {
        for begin in (0..records.len()).step_by(ROWS_WRITTEN) {
            let records = Arc::clone(&records);
            let write = move |statements: &Statements<'_>| {
                let end = records.len().min(begin + ROWS_WRITTEN);
                insert(records.get(begin..end).unwrap_or_default(), statements)
            };
            self.records.write(StoreKind::Audit, write).await?;
        }
        Ok(())
    }

    async fn search_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRecord>, StoreError> {
        let mut listing = Listing::of("audit", "at DESC, sequence DESC", issuer);
        if let Some(event) = filter.event {
            listing = listing.only("event = ?", event.name().to_owned());
        }
        if let Some(user) = &filter.user {
            listing = listing.only("user = ?", user.as_str().to_owned());
        }
        if let Some(client) = &filter.client {
            listing = listing.only("client = ?", client.as_str().to_owned());
        }
        if let Some(from) = filter.from {
            listing = listing.only("at >= ?", millis(from));
        }
        if let Some(to) = filter.to {
            listing = listing.only("at < ?", millis(to));
        }
        let listing = listing.searched("instr(lower(document), ?) > 0", page);
        let (number, limit) = (page.page, page.limit);
        let documents = self
            .records
            .read(StoreKind::Audit, move |statements| listing.read(statements, number, limit))
            .await?;
        page_of(documents, |record| record)
    }

    async fn trim_audit(&self, issuer: &IssuerId, before: Timestamp) -> Result<u64, StoreError> {
        let mut trimmed = 0;
        loop {
            let issuer = issuer.clone();
            let trim = move |statements: &Statements<'_>| {
                Ok(delete_oldest(statements, &issuer, millis(before), i64::MAX)?)
            };
            match self.records.write(StoreKind::Audit, trim).await? {
                0 => return Ok(trimmed),
                some => trimmed += some,
            }
        }
    }

    async fn trim_audit_to(&self, most: u64) -> Result<u64, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut trimmed = 0;
        loop {
            match self.records.write(StoreKind::Audit, move |statements| step(statements, most)).await? {
                Some(some) => trimmed += some,
                None => return Ok(trimmed),
            }
        }
    }
}

/// One step towards a log of `most` bytes: counts some records, or deletes some; how many. None: there is no more to do.
fn step(statements: &Statements<'_>, most: i64) -> Written<Option<u64>> {
    if count_new(statements)? {
        return Ok(Some(0));
    }
    let Some((largest, excess)) = excess(statements, most)? else { return Ok(None) };
    let deleted = delete_oldest(statements, &largest, i64::MAX, excess)?;
    if deleted == 0 {
        forget(statements, &largest)?;
    }
    Ok(Some(deleted))
}
