//! The registration access token (RFC 7592 1.2), and what is noted of a client that registered itself.

use serde::{Deserialize, Serialize};
use symbolon_crypto::digest::{self, HmacKey};
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use crate::client::Client;
use crate::client_metadata;
use crate::client_secret::SecretDigest;
use crate::time::Timestamp;

/// What the digest is made for, so that it is no digest of anything else that the key is used for.
const PURPOSE: &[u8] = b"registration access token\0";

/// That a client registered itself: it has a token by which it manages its registration.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicRegistration {
    /// Made with a key of the issuer: who has the database has no token that works.
    registration_access_token: SecretDigest,
    /// The statement with which it came, or that it sent later (RFC 7591 2.3). It was verified then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) software_statement: Option<String>,
    /// When it first got a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used_at: Option<Timestamp>,
}

/// A new token: 256 random bits after a prefix by which scanners find leaked secrets (RFC 6749 10.10).
pub(super) fn draw(random: &dyn Random) -> SecretString {
    SecretString::new(format!("rat_{}", random::base64url::<32>(random)))
}

fn digest_of(token: &str, key: &HmacKey) -> SecretDigest {
    SecretDigest(key.sign(&[PURPOSE, token.as_bytes()]))
}

impl DynamicRegistration {
    /// A registration that this token manages.
    pub(super) fn new(token: &SecretString, key: &HmacKey) -> Self {
        let registration_access_token = digest_of(token.expose(), key);
        Self { registration_access_token, software_statement: None, used_at: None }
    }

    /// Whether this token manages it. The time does not depend on how near a wrong one is.
    pub fn is_managed_by(&self, token: &str, key: &HmacKey) -> bool {
        digest::constant_time_eq(&self.registration_access_token.0, &digest_of(token, key).0)
    }

    /// Whether no first use is noted.
    pub fn is_new(&self) -> bool {
        self.used_at.is_none()
    }
}

/// A client that registered itself, with its first use noted; `None` if there is nothing to note.
pub fn with_first_use(client: &Client, now: Timestamp) -> Option<Client> {
    let own = client.dynamic_registration.as_deref().filter(|own| own.is_new())?;
    let used = DynamicRegistration { used_at: Some(now), ..own.clone() };
    let updated_at = client_metadata::later(client.updated_at, now);
    Some(Client { dynamic_registration: Some(Box::new(used)), updated_at, ..client.clone() })
}

/// Whether a client registered itself `days` ago or earlier, and never got a token nor authenticated since. `days` of 0 are
/// never over.
pub fn is_unused(client: &Client, days: u32, now: Timestamp) -> bool {
    let is_new = client.dynamic_registration.as_deref().is_some_and(DynamicRegistration::is_new);
    let authenticated = client.client_secrets.iter().any(|secret| secret.last_used_at.is_some());
    let days = std::time::Duration::from_secs(u64::from(days) * 86_400);
    is_new && !authenticated && !days.is_zero() && now.since(client.created_at) >= days
}
