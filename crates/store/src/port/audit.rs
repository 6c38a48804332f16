//! The part of the port for the audit log.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;

use crate::StoreError;
use crate::listing::{Page, PageRequest};

/// Which audit records to find.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFilter {
    /// Only this event.
    pub event: Option<Event>,
    /// Only this user.
    pub user: Option<UserId>,
    /// Only this client.
    pub client: Option<ClientId>,
    /// Only refused requests and sign-ins, whose records say why: [`Event::REFUSALS`] with a reason in the detail.
    pub refused: bool,
    /// Only requests from this address, as it is written in a record.
    pub address: Option<String>,
    /// Only this request.
    pub request: Option<String>,
    /// Only where the login name with this digest was typed.
    pub login_name_digest: Option<String>,
    /// Not before this time.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
}

impl AuditFilter {
    /// Texts that occur in the JSON document of every record that matches, and that decide these conditions alone: a
    /// quotation mark inside a value is written with a backslash, so no value contains such a text.
    pub fn members(&self) -> Vec<String> {
        let member = |name: &str, value: &str| format!("\"{name}\":{}", serde_json::Value::from(value));
        let address = self.address.as_deref().map(|address| member("address", address));
        let request = self.request.as_deref().map(|request| member("request", request));
        let digest = self.login_name_digest.as_deref().map(|digest| member("login_name_digest", digest));
        let reason = self.refused.then(|| "\"reason\":\"".to_owned());
        [address, request, digest, reason].into_iter().flatten().collect()
    }
}

/// The audit log.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Writes records in one batch. The records are shared, so that a caller that has to try again still has them.
    async fn write_audit(&self, records: Arc<[(IssuerId, AuditRecord)]>) -> Result<(), StoreError>;
    /// Searches, newest first.
    async fn search_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRecord>, StoreError>;
    /// Like [`search_audit`](Self::search_audit), for the newest records only: stops when the page is full, and counts no
    /// further.
    async fn newest_audit(
        &self,
        issuer: &IssuerId,
        filter: &AuditFilter,
        most: u32,
    ) -> Result<Vec<AuditRecord>, StoreError>;
    /// Deletes older records; returns how many.
    async fn trim_audit(&self, issuer: &IssuerId, before: Timestamp) -> Result<u64, StoreError>;
    /// Deletes records until those of all issuers together take `most` bytes of the disk or less, as closely as the
    /// back-end knows; returns how many. Always deletes the oldest records of the issuer whose records take most, so
    /// that a flood at one issuer does not cost the others their log. Cheap if little was written since the last call.
    async fn trim_audit_to(&self, most: u64) -> Result<u64, StoreError>;
}
