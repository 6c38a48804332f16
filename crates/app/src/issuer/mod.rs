//! Issuers in memory: what every request needs of its issuer, swapped whole when it changes.

mod directory;
mod hsts;
mod key_ring;
mod keys;
mod longest_life;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod scene;

pub use directory::{Directory, Located};
pub use directory::{host_and_prefix, is_same_place};
pub use key_ring::{ActiveKey, KeyRing, KeyRingError, TokenType};
pub use keys::{IssuerError, create, new_issuer, new_key, rewrap};
pub use longest_life::longest_life;

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::HeaderValue;
use symbolon_crypto::digest::{self, HmacKey};
use symbolon_crypto::sealed_text::TextSealer;
use symbolon_crypto::secret::SecretArray;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::id_token_hint::IdTokenHint;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::settings::IssuerSettings;

/// What a request needs of its issuer.
pub struct IssuerState {
    /// Its name.
    pub id: IssuerId,
    /// Its `iss`.
    pub url: Arc<str>,
    /// The URL of its token endpoint, an audience of client assertions (RFC 7523 3).
    pub token_endpoint: String,
    /// Its record, as the rules want it.
    pub record: Issuer,
    /// The path in front of its endpoints: empty, or `/acme`.
    pub prefix: String,
    /// The session cookie's name.
    pub cookie: String,
    /// `Strict-Transport-Security` of its answers.
    pub hsts: Option<HeaderValue>,
    /// The document of OpenID Connect Discovery 3 and RFC 8414 3.
    pub discovery: ArcSwap<Bytes>,
    /// Settings, swapped when they change.
    pub settings: ArcSwap<IssuerSettings>,
    /// Signing and verifying keys, swapped when they change.
    pub keys: ArcSwap<KeyRing>,
    /// Authenticates refresh tokens.
    pub refresh_token_key: HmacKey,
    /// Authenticates forms against forgery (CSRF).
    pub form_key: HmacKey,
    /// Seals what waits in the browser while a person looks at a page.
    pub interactions: TextSealer,
    /// Derives the id of the session that an interaction opens.
    pub interaction_session_key: HmacKey,
}

impl IssuerState {
    /// Its name for people: its URL without the scheme.
    pub fn display_name(&self) -> &str {
        self.url.split_once("://").map_or(&*self.url, |(_, rest)| rest)
    }

    /// Whether it is served by https, and its cookies can be `Secure`.
    pub fn is_https(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// The name of a cookie that is its own, with as strict a prefix as its URL allows (RFC 6265bis 4.1.3).
    ///
    /// Browsers send a cookie to every port of its host (RFC 6265 8.5), so that issuers who share the host must be told
    /// apart by name. Only `default` at the root goes by the usual name, whoever joins it later.
    pub fn cookie_name(&self, usual: &str) -> String {
        // Such a cookie has the path `/`, below a prefix too: no sibling domain can plant one, and its name tells issuers
        // apart.
        let strict = if self.is_https() { "__Host-" } else { "" };
        if self.is_default_at_root() {
            return format!("{strict}{usual}");
        }
        format!("{strict}{usual}_{}", self.id)
    }

    /// What an `id_token_hint` turned out to be, by the issuer's keys that still verify.
    pub fn id_token_hint(&self, parameter: Option<&str>) -> IdTokenHint {
        let keys = self.keys.load();
        IdTokenHint::read(parameter, &self.url, |kid| keys.verifying(kid))
    }

    /// Whether it is `default`, without a path in front of its endpoints.
    pub(super) fn is_default_at_root(&self) -> bool {
        self.prefix.is_empty() && self.id == IssuerId::default_issuer()
    }
}

/// A key for one purpose, derived from an issuer's secret.
fn derived(secret: &SecretArray<32>, purpose: &str) -> HmacKey {
    HmacKey::from(&digest::derive(secret, purpose))
}
