//! The document of a client's sector (OpenID Connect Dynamic Client Registration 5), read when the client is saved and never later.
//!
//! The request is that of [`App::call_out`]: to public addresses unless the configuration allows others, bounded in time and size, and
//! without following redirects.

use http::HeaderValue;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::{check_document, document_needed, document_unread};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::IssuerId;
use url::Url;

use crate::app::App;

/// The most bytes of a list of redirect URIs.
const LONGEST: usize = 64 << 10;

impl App {
    /// Checks that the document of a client's sector lists its redirect URIs, if the client names one and what is saved differs from
    /// what the document was read for. `before`: the client as it is stored.
    ///
    /// # Errors
    /// `invalid_request`: the document cannot be had, or does not list them.
    pub async fn check_sector(
        &self,
        issuer: &IssuerId,
        before: Option<&Client>,
        client: &Client,
    ) -> Result<(), OAuthError> {
        match document_needed(before, client) {
            None => Ok(()),
            // Boxed, because hardly any client has one.
            Some(uri) => Box::pin(self.read_sector(issuer, client, uri)).await,
        }
    }

    async fn read_sector(&self, issuer: &IssuerId, client: &Client, uri: &str) -> Result<(), OAuthError> {
        let url = Url::parse(uri).map_err(|error| document_unread(client, &error.to_string()))?;
        let calls = match client.is_of_stranger() {
            true => &self.client_keys.calls_of_strangers,
            false => &self.client_keys.calls,
        };
        // By the host, so that one that hangs takes only its own share, by whatever paths it is called.
        let Some(_one_of_many) = calls.begin(issuer, url.host_str().unwrap_or_default()) else {
            return Err(document_unread(client, "too many calls to clients are under way"));
        };
        let answer = self.get_published(url, HeaderValue::from_static("application/json"), LONGEST).await;
        let answer = answer.map_err(|why| {
            tracing::info!(%issuer, client_id = %client.client_id, uri, %why, "the document of a sector could not be read");
            document_unread(client, &why)
        })?;
        check_document(client, &answer.body)
    }
}
