//! Answers that are encrypted for the client (OpenID Connect Core 10.2, Dynamic Client Registration 1.0 2).

use serde::{Deserialize, Serialize};
use symbolon_crypto::jwe::{self, ContentEncryption, KeyManagement};
use symbolon_crypto::jwk::{Jwk, JwkSet};

use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};

/// What is encrypted, as `cty` says, if it is a signed token (RFC 7519 5.2, 11.2).
pub const NESTED: &str = "JWT";

/// How a client has answers encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseEncryption {
    /// How the key of the content is agreed upon.
    pub alg: KeyManagement,
    /// How the content is encrypted.
    pub enc: ContentEncryption,
}

impl ResponseEncryption {
    /// Whether one of these keys may be encrypted for.
    pub fn has_key_among(self, keys: &[Jwk]) -> bool {
        self.key_among(keys).is_some()
    }

    /// The first of these keys whose owner allows this (OpenID Connect Core 10.2: if there are several, the `kid` tells which).
    pub fn key_among(self, keys: &[Jwk]) -> Option<&Jwk> {
        keys.iter().find(|key| jwe::may_encrypt(key, self.alg))
    }

    /// The refusal of a request whose answer cannot be encrypted, because the client has no key for it.
    #[must_use]
    pub fn no_key(self, client: &Client, keys: &JwkSet) -> OAuthError {
        let ids = keys.keys.iter().map(|key| key.kid.as_deref().unwrap_or("a key without kid"));
        let details = Details::of("alg").sent(self.alg.as_str()).registered(ids).client(&client.client_id);
        let description = "the client has no key for which its answers could be encrypted";
        OAuthError::new(ErrorCode::InvalidRequest, Reason::EncryptionKeyMissing, description).about(details)
    }
}
