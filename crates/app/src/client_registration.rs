//! Clients that registered themselves: initial access tokens, the note of the first use, and their end.

use std::sync::Arc;

use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::seal::SealError;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_registration::{InitialAccessToken, Policy, with_first_use};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::revocation::{Tombstone, longest_life};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::{Durable, StoreError};

use crate::app::App;
use crate::issuer::IssuerState;
use crate::one_use::use_once;

/// What initial access tokens are sealed for.
const PURPOSE: &str = "initial access token";
/// The kind of the marks of their uses.
const MARK: &str = "initial-access-token";
/// What they begin with, so that scanners find leaked ones.
const PREFIX: &str = "iat_";

/// The text of an initial access token (RFC 6750 2.1: `b64token`).
///
/// # Errors
/// [`SealError`]
pub fn seal_initial_access_token(
    issuer: &IssuerState,
    token: &InitialAccessToken,
) -> Result<String, SealError> {
    let plain = serde_json::to_vec(token).map_err(|_| SealError::Failed)?;
    Ok(format!("{PREFIX}{}", issuer.interactions.seal(PURPOSE, &plain)?))
}

/// Reads an initial access token; `None` if this issuer has not made it. It may have ended.
pub fn open_initial_access_token(issuer: &IssuerState, text: &str) -> Option<InitialAccessToken> {
    let opened = issuer.interactions.open(PURPOSE, text.strip_prefix(PREFIX)?).ok()?;
    serde_json::from_slice(opened.expose()).ok()
}

/// What a client may have that no administrator made.
pub fn policy(issuer: &IssuerState, settings: &IssuerSettings, now: Timestamp) -> Policy {
    let keys = issuer.keys.load();
    let known = Algorithm::ALL.into_iter().filter(|algorithm| keys.known(*algorithm, now).is_some());
    Policy::of(settings, known.collect())
}

/// Takes one of the uses of an initial access token; false if none is left.
///
/// # Errors
/// [`StoreError`]: the store is out of reach, or has no room for marks.
pub async fn take_use(
    (app, issuer): (&App, &IssuerState),
    token: &InitialAccessToken,
    durable: &mut Durable,
) -> Result<bool, StoreError> {
    if token.uses.is_none() {
        return Ok(true);
    }
    for mark in token.marks() {
        if use_once((app, issuer), MARK, &mark, token.expires_at).await?.take(durable) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl App {
    /// Notes that a client that registered itself got its first token. Returns at once; the record is written later. A note that
    /// is lost is written with the next token.
    #[inline]
    pub fn note_first_use(&self, issuer: &IssuerId, client: &Arc<Client>) {
        if client.dynamic_registration.as_ref().is_some_and(|own| own.is_new()) {
            self.write_first_use(issuer, client);
        }
    }

    #[cold]
    fn write_first_use(&self, issuer: &IssuerId, client: &Arc<Client>) {
        // With the uses of secrets that this node knows of, so that the note does not take them away.
        let client = self.client_secret_uses.merged(issuer, client);
        let Some(used) = with_first_use(&client, self.now()) else { return };
        let (store, issuer, seen) = (Arc::clone(&self.store), issuer.clone(), client.updated_at);
        tokio::spawn(async move {
            if let Err(error) = store.update_client(&issuer, used, seen).await {
                tracing::debug!(target: "symbolon::store", %error, "the first use of a client was not noted");
            }
        });
    }

    /// Ends all tokens that were issued to a client. Durable on return.
    ///
    /// # Errors
    /// [`StoreError`]: some may still be valid.
    async fn end_tokens_of_client(&self, issuer: &IssuerState, client: &Client) -> Result<(), StoreError> {
        let longest = longest_life(&issuer.settings.load(), [&client.settings]);
        let tombstone = Tombstone::client(&issuer.id, client.client_id.clone(), self.now(), longest);
        self.store.revoke(&issuer.id, &[tombstone]).await?.told().await?;
        Ok(())
    }

    /// Deletes a client that registered itself, and ends its tokens. Durable on return; returns whether it was there.
    ///
    /// # Errors
    /// [`StoreError`]: it may still be there, or some of its tokens may still be valid.
    pub async fn delete_registered_client(
        &self,
        issuer: &IssuerState,
        client: &Client,
    ) -> Result<bool, StoreError> {
        // Before the record is deleted: from now on the client's tokens are revoked, even if a later step fails.
        self.end_tokens_of_client(issuer, client).await?;
        let was_there = self.store.delete_client(&issuer.id, &client.client_id).await?;
        if was_there {
            // Again, for tokens that were issued while the record still existed.
            self.end_tokens_of_client(issuer, client).await?;
        }
        Ok(was_there)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::time::Timestamp;

    use super::*;
    use crate::issuer::scene;

    #[test]
    fn a_token_is_opened_by_the_issuer_that_made_it_and_for_nothing_else() {
        let issuer = scene::issuer("https://op.example/acme", "/acme", 7);
        let now = Timestamp::from_seconds(1_800_000_000);
        let token = InitialAccessToken::new(Duration::from_secs(60), Some(1), now, &SeededRandom::new(1));
        let text = seal_initial_access_token(&issuer, &token).unwrap();
        assert_eq!(open_initial_access_token(&issuer, &text), Some(token));
        let bare = text.strip_prefix(PREFIX).unwrap();
        for wrong in
            [bare, "", "iat_", &format!("{text}A"), &issuer.interactions.seal("login", b"{}").unwrap()]
        {
            assert_eq!(open_initial_access_token(&issuer, wrong), None, "{wrong}");
        }
    }
}
