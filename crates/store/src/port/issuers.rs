//! The part of the port for issuers: their record, settings and keys.

use async_trait::async_trait;
use symbolon_protocol::attribute::AttributeName;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::settings::IssuerSettings;

use super::Created;
use crate::StoreError;

/// Issuers, their signing keys and settings.
#[async_trait]
pub trait Issuers: Send + Sync {
    /// Creates an issuer with its settings.
    async fn create_issuer(&self, issuer: Issuer, settings: IssuerSettings) -> Result<Created, StoreError>;
    /// Every issuer.
    async fn issuers(&self) -> Result<Vec<Issuer>, StoreError>;
    /// Replaces an issuer's record; returns whether there is such an issuer.
    async fn update_issuer(&self, issuer: Issuer) -> Result<bool, StoreError>;
    /// The keys of an issuer in any state.
    async fn keys(&self, issuer: &IssuerId) -> Result<Vec<KeyRecord>, StoreError>;
    /// Writes the key set of an issuer if it is still `seen` (by kid and state); else [`StoreError::Conflict`].
    async fn put_keys(
        &self,
        issuer: &IssuerId,
        seen: &[KeyRecord],
        keys: &[KeyRecord],
    ) -> Result<(), StoreError>;
    /// The settings of an issuer.
    async fn settings(&self, issuer: &IssuerId) -> Result<IssuerSettings, StoreError>;
    /// Replaces the settings of an issuer if they still are `seen`; else [`StoreError::Conflict`]. If an attribute becomes
    /// unique, the values of all users are compared in the same operation.
    async fn put_settings(
        &self,
        issuer: &IssuerId,
        seen: &IssuerSettings,
        settings: IssuerSettings,
    ) -> Result<SettingsUpdate, StoreError>;
}

/// The result of replacing the settings of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum SettingsUpdate {
    /// They are replaced.
    Written,
    /// Two users have the same value of an attribute that was to become unique; nothing was written.
    NotUnique {
        /// The attribute.
        attribute: AttributeName,
        /// The users.
        users: [UserId; 2],
    },
}
