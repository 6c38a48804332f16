//! The audit log: stored in blocks of many records, because thousands of logins are recorded and few are ever read.

mod block;
mod marks;
mod packed;
mod search;
mod size;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{Audit, AuditFilter, Page, PageRequest};

pub(crate) use block::each_document;
pub(super) use block::insert;

use super::listing::page_of;
use super::millis;
use super::statement::Statements;
use crate::EmbeddedStore;
use search::Search;
use size::{delete_oldest, excess, forget};

/// How many records one closure writes.
const RECORDS_WRITTEN: usize = 20_000;

#[async_trait]
impl Audit for EmbeddedStore {
    async fn write_audit(&self, records: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError> {
        for begin in (0..records.len()).step_by(RECORDS_WRITTEN) {
            let records = Arc::clone(&records);
            let write = move |statements: &Statements<'_>| {
                let end = records.len().min(begin + RECORDS_WRITTEN);
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
        let search = Search::new(issuer, filter, page);
        page_of(
            self.records.scan(StoreKind::Audit, move |statements| search.read(statements)).await?,
            |record| record,
        )
    }

    async fn newest_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        most: u32,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        let search = Search::newest(issuer, filter, most);
        let found = self.records.scan(StoreKind::Audit, move |statements| search.read(statements)).await?;
        Ok(page_of(found, |record| record)?.items)
    }

    async fn trim_audit(&self, issuer: &IssuerId, before: Timestamp) -> Result<u64, StoreError> {
        let mut trimmed = 0;
        loop {
            let issuer = issuer.clone();
            let trim = move |statements: &Statements<'_>| {
                delete_oldest(statements, &issuer, millis(before), i64::MAX)
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
            let step = move |statements: &Statements<'_>| {
                let Some((largest, excess)) = excess(statements, most)? else { return Ok(None) };
                let deleted = delete_oldest(statements, &largest, i64::MAX, excess)?;
                if deleted == 0 {
                    forget(statements, &largest)?;
                }
                Ok(Some(deleted))
            };
            match self.records.write(StoreKind::Audit, step).await? {
                Some(some) => trimmed += some,
                None => return Ok(trimmed),
            }
        }
    }
}
