//! The part of the port for clients.

use std::sync::Arc;

use async_trait::async_trait;
use smol_str::SmolStr;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;

use super::Created;
use crate::StoreError;
use crate::listing::{Page, PageRequest};

/// Clients.
#[async_trait]
pub trait Clients: Send + Sync {
    /// Creates a client.
    async fn create_client(&self, issuer: &IssuerId, client: Client) -> Result<Created, StoreError> {
        let created = self.create_clients(issuer, vec![client]).await?;
        Ok(created.into_iter().next().unwrap_or(Created::Exists))
    }
    /// Creates many clients; each is created or not, independently of the others.
    async fn create_clients(
        &self,
        issuer: &IssuerId,
        clients: Vec<Client>,
    ) -> Result<Vec<Created>, StoreError>;
    /// The client of an id.
    async fn client(&self, issuer: &IssuerId, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError>;
    /// Replaces a client whose `updated_at` is still `seen`; [`StoreError::Conflict`] if it is another. False if there
    /// is no such client.
    async fn update_client(
        &self,
        issuer: &IssuerId,
        client: Client,
        seen: Timestamp,
    ) -> Result<bool, StoreError>;
    /// Notes when secrets were used, by their ids, and leaves everything else as it is, `updated_at` too. Of two uses of a
    /// secret the later one stays, whichever note comes first. False if there is no such client.
    async fn note_secret_uses(
        &self,
        issuer: &IssuerId,
        id: &ClientId,
        uses: Vec<(SmolStr, Timestamp)>,
    ) -> Result<bool, StoreError>;
    /// Deletes a client with its logo, its roles and the consents to it; returns whether there was one.
    async fn delete_client(&self, issuer: &IssuerId, id: &ClientId) -> Result<bool, StoreError>;
    /// Lists clients, newest first.
    async fn list_clients(
        &self,
        issuer: &IssuerId,
        page: &PageRequest,
    ) -> Result<Page<Arc<Client>>, StoreError>;
    /// The next clients in the order of their ids, at most `limit` (1 to 1,000); fewer at the end only. A client that
    /// exists during the whole listing comes exactly once, even if others are created or deleted.
    async fn next_clients(
        &self,
        issuer: &IssuerId,
        after: Option<&ClientId>,
        limit: u32,
    ) -> Result<Vec<Arc<Client>>, StoreError>;
}
