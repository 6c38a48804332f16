//! What the server itself records in the settings of an issuer.

use symbolon_protocol::client::Client;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_store::StoreError;
use symbolon_store::port::Changed;

use crate::app::App;
use crate::http::Failure;
use crate::issuer::{IssuerError, IssuerState};

impl From<IssuerError> for Failure {
    fn from(error: IssuerError) -> Self {
        match error {
            IssuerError::Store(error) => error.into(),
            other => Self::Internal(other.to_string()),
        }
    }
}

impl App {
    /// Records that a client has claim definitions of its own, or gets UserInfo answers as JWTs, before it is saved with
    /// them: otherwise UserInfo and introspection would not read its record.
    ///
    /// # Errors
    /// [`IssuerError`]: the store failed, and the client must not be saved.
    pub async fn record_needs_of(&self, issuer: &IssuerState, client: &Client) -> Result<(), IssuerError> {
        let (defines, signs) = (!client.settings.claims.is_empty(), client.gets_userinfo_as_jwt());
        let is_recorded = {
            let settings = issuer.settings.load();
            (settings.clients_define_claims || !defines) && (settings.clients_sign_userinfo || !signs)
        };
        if is_recorded {
            return Ok(());
        }
        self.record_in_settings(&issuer.id, |settings| {
            settings.clients_define_claims |= defines;
            settings.clients_sign_userinfo |= signs;
        })
        .await
    }

    /// Changes what the server itself records in the settings. On return it is in effect on this node.
    ///
    /// # Errors
    /// [`IssuerError`]: the store failed, or two other changes were faster.
    pub async fn record_in_settings(
        &self,
        issuer: &IssuerId,
        change: impl Fn(&mut IssuerSettings) + Send + Sync,
    ) -> Result<(), IssuerError> {
        for _ in 0..2 {
            let seen = self.store.settings(issuer).await?;
            let mut settings = seen.clone();
            change(&mut settings);
            match self.store.put_settings(issuer, &seen, settings).await {
                // The schema is as it was, so no attribute becomes unique.
                Ok(_) => return self.follow(&Changed::Settings(issuer.clone())).await,
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Conflict.into())
    }
}
