//! The longest lifetime of anything that an issuer signs: retired keys and tombstones are kept for so long.

use std::time::Duration;

use symbolon_protocol::id::IssuerId;
use symbolon_protocol::revocation;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_store::StoreError;
use symbolon_store::port::Clients;

/// Clients per page of the listing.
const AT_ONCE: u32 = 1_000;

/// The longest lifetime of any token or session of the issuer. A client may have longer lifetimes than its issuer, so
/// all clients are read.
///
/// # Errors
/// The store's.
pub async fn longest_life<S: Clients + ?Sized>(
    store: &S,
    issuer: &IssuerId,
    settings: &IssuerSettings,
) -> Result<Duration, StoreError> {
    let mut longest = revocation::KEPT_AT_LEAST;
    let mut after = None;
    loop {
        let clients = store.next_clients(issuer, after.as_ref(), AT_ONCE).await?;
        let overrides = clients.iter().map(|client| &client.settings);
        longest = longest.max(revocation::longest_life(settings, overrides));
        match clients.last() {
            Some(last) if clients.len() == AT_ONCE as usize => after = Some(last.client_id.clone()),
            _ => return Ok(longest),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use symbolon_protocol::client::Client;
    use symbolon_protocol::id::ClientId;
    use symbolon_protocol::settings::Lifetimes;
    use symbolon_store::port::{Created, Page, PageRequest};

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    /// So many clients, of which the last one has families that live longer.
    struct Many(u32, Client);

    fn not_here<T>() -> Result<T, StoreError> {
        Err(StoreError::Failed("not in this test".into()))
    }

    #[async_trait]
    impl Clients for Many {
        async fn create_clients(&self, _: &IssuerId, _: Vec<Client>) -> Result<Vec<Created>, StoreError> {
            not_here()
        }

        async fn client(&self, _: &IssuerId, _: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
            not_here()
        }

        async fn update_client(
            &self,
            _: &IssuerId,
            _: Client,
            _: symbolon_protocol::time::Timestamp,
        ) -> Result<bool, StoreError> {
            not_here()
        }

        async fn note_secret_uses(
            &self,
            _: &IssuerId,
            _: &ClientId,
            _: Vec<(smol_str::SmolStr, symbolon_protocol::time::Timestamp)>,
        ) -> Result<bool, StoreError> {
            not_here()
        }

        async fn delete_client(&self, _: &IssuerId, _: &ClientId) -> Result<bool, StoreError> {
            not_here()
        }

        async fn list_clients(&self, _: &IssuerId, _: &PageRequest) -> Result<Page<Arc<Client>>, StoreError> {
            not_here()
        }

        async fn next_clients(
            &self,
            _: &IssuerId,
            after: Option<&ClientId>,
            limit: u32,
        ) -> Result<Vec<Arc<Client>>, StoreError> {
            let first = after.map_or(0, |id| id.as_str().parse::<u32>().unwrap() + 1);
            let client = |n: u32| {
                let mut client = self.1.clone();
                client.client_id = ClientId::trusted(n.to_string());
                if n + 1 < self.0 {
                    client.settings = Default::default();
                }
                Arc::new(client)
            };
            Ok((first..self.0.min(first + limit)).map(client).collect())
        }
    }

    async fn of(clients: u32, settings: &IssuerSettings) -> Duration {
        let metadata =
            serde_json::json!({ "client_name": "app", "redirect_uris": ["https://app.example/cb"] });
        let serde_json::Value::Object(metadata) = metadata else { panic!("an object") };
        let random = symbolon_crypto::random::SeededRandom::new(1);
        let now = symbolon_protocol::time::Timestamp::from_seconds(1);
        let key = symbolon_crypto::digest::HmacKey::new(b"key");
        let made = symbolon_protocol::client_metadata::create(metadata, &key, now, &random);
        let mut client = made.expect("registered").client;
        client.settings.refresh_token_absolute_lifetime = Some(400 * 86_400);
        longest_life(&Many(clients, client), &IssuerId::default_issuer(), settings).await.unwrap()
    }

    #[tokio::test]
    async fn it_is_that_of_the_issuer_of_every_client_and_of_what_others_signed() {
        let short = Lifetimes {
            refresh_token_absolute: DAY,
            session: DAY,
            access_token: DAY / 24,
            code: DAY / 24,
            ..Lifetimes::default()
        };
        let short = IssuerSettings { lifetimes: short, ..IssuerSettings::default() };
        assert_eq!(of(0, &short).await, 31 * DAY);
        let long = Lifetimes { refresh_token_absolute: 90 * DAY, ..short.lifetimes };
        let long = IssuerSettings { lifetimes: long, ..IssuerSettings::default() };
        assert_eq!(of(0, &long).await, 90 * DAY + DAY / 24);
        // However many there are, and whichever it is.
        for clients in [1, 999, 1_000, 1_001, 2_500] {
            assert_eq!(of(clients, &short).await, 400 * DAY + DAY / 24, "{clients}");
        }
    }
}
