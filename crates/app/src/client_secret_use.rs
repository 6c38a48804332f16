//! Notes when client secrets are used, so that administrators see whether an old secret is still in use somewhere.
//!
//! The use is kept in the client's record, which every node and every back-end has, and written there at most once in
//! [`USE_NOTED_EVERY`] for each secret and node: no request waits for it, and there is not a write for every request. A note
//! that is lost (the store refuses writes, or an administrator changed the client at the same moment) is written with the
//! next use after that time. Nodes that note uses of one client at the same time do not push out each other's.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use smol_str::SmolStr;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_secret::USE_NOTED_EVERY;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::Store;

/// The most clients of which uses are remembered. Beyond that all are forgotten: their records have the uses by then, and a
/// record whose use is recent is not written again ([`ClientSecret::use_to_note`]).
///
/// [`ClientSecret::use_to_note`]: symbolon_protocol::client_secret::ClientSecret::use_to_note
const MOST_CLIENTS: usize = 100_000;

/// The uses of a client's secrets, by their ids: two at most are alive.
type Uses = Vec<(SmolStr, Timestamp)>;

/// The uses that this node has noted, of [`USE_NOTED_EVERY`] at least.
#[derive(Default)]
pub struct ClientSecretUses(Mutex<HashMap<(IssuerId, ClientId), Uses>>);

impl ClientSecretUses {
    /// Remembers a use. Returns the client's uses if they should be written now: not if this node did that lately.
    fn remember(&self, key: (IssuerId, ClientId), secret: SmolStr, now: Timestamp) -> Option<Uses> {
        let is_recent = |at: Timestamp| now.since(at) < USE_NOTED_EVERY;
        let mut noted = self.0.lock();
        if noted.len() >= MOST_CLIENTS && !noted.contains_key(&key) {
            noted.clear();
        }
        let uses = noted.entry(key).or_default();
        if uses.iter().any(|(id, at)| *id == secret && is_recent(*at)) {
            return None;
        }
        uses.retain(|(id, at)| *id != secret && is_recent(*at));
        uses.push((secret, now));
        Some(uses.clone())
    }

    /// Notes that a client authenticated with one of its secrets. Returns at once; the record is written later.
    pub fn note(
        &self,
        store: &Arc<dyn Store>,
        issuer: &IssuerId,
        client: &Client,
        secret: SmolStr,
        now: Timestamp,
    ) {
        let key = (issuer.clone(), client.client_id.clone());
        let Some(uses) = self.remember(key, secret, now) else { return };
        let (store, issuer, id) = (Arc::clone(store), issuer.clone(), client.client_id.clone());
        tokio::spawn(async move {
            if let Err(error) = store.note_secret_uses(&issuer, &id, uses).await {
                tracing::debug!(target: "symbolon::store", %error, "the use of a client secret was not noted");
            }
        });
    }

    /// The client with the uses that this node knows of, which may not be written yet.
    pub fn merged(&self, issuer: &IssuerId, client: &Arc<Client>) -> Arc<Client> {
        match self.0.lock().get(&(issuer.clone(), client.client_id.clone())) {
            Some(uses) => Arc::new(with_uses(client, uses)),
            None => Arc::clone(client),
        }
    }
}

fn with_uses(client: &Client, uses: &Uses) -> Client {
    let mut client = client.clone();
    client.client_secrets.note_uses(uses);
    client
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn key(client: &str) -> (IssuerId, ClientId) {
        (IssuerId::default_issuer(), ClientId::parse(client).expect("an id"))
    }

    #[test]
    fn a_secret_is_written_once_in_a_while_and_with_the_clients_other_one() {
        let uses = ClientSecretUses::default();
        let second = Duration::from_secs(1);
        let use_of =
            |client: &str, secret: &str, at: Timestamp| uses.remember(key(client), secret.into(), at);
        assert_eq!(use_of("a", "s1", NOW), Some(vec![("s1".into(), NOW)]));
        assert_eq!(use_of("a", "s1", NOW + second), None);
        assert_eq!(use_of("b", "s1", NOW + second).map(|uses| uses.len()), Some(1));
        let both = vec![("s1".into(), NOW), ("s2".into(), NOW + second)];
        assert_eq!(use_of("a", "s2", NOW + second), Some(both));
        let later = NOW + USE_NOTED_EVERY;
        assert_eq!(use_of("a", "s2", later), None);
        assert_eq!(use_of("a", "s1", later), Some(vec![("s2".into(), NOW + second), ("s1".into(), later)]));
    }
}
