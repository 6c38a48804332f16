//! The part of the port for logos.

use async_trait::async_trait;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::logo::Logo;

use crate::StoreError;

/// Logos: one of the issuer, where `client` is `None`, and one of each of its clients. A client's goes with the client: a later
/// client of the same id does not inherit it. The issuer's is not cached, because whoever shows it keeps it with the settings;
/// that a client has none is cached, too.
#[async_trait]
pub trait Logos: Send + Sync {
    /// The logo of the issuer, or of a client that there is: of others it would be cached that they have none.
    async fn logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<Option<Logo>, StoreError>;
    /// The next clients' logos in the order of the clients' ids, at most `limit` (1 to 100), after that of a client; fewer at
    /// the end only. The issuer's own is not among them.
    async fn next_logos(
        &self,
        issuer: &IssuerId,
        after: Option<&ClientId>,
        limit: u32,
    ) -> Result<Vec<(ClientId, Logo)>, StoreError>;
    /// Puts a logo in the place of the one before; durable when it returns. False, and nothing is written, if there is no such
    /// issuer or client.
    async fn put_logo(
        &self,
        issuer: &IssuerId,
        client: Option<&ClientId>,
        logo: Logo,
    ) -> Result<bool, StoreError>;
    /// Deletes a logo; returns whether there was one.
    async fn delete_logo(&self, issuer: &IssuerId, client: Option<&ClientId>) -> Result<bool, StoreError>;
}
