mod changes;
mod members;
mod secret_digests;
mod settings;

use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use symbolon_crypto::random::SeededRandom;

use super::*;
use crate::client::{DelegationMode, GrantType, LogoutUris, TokenEndpointAuthMethod};
use crate::client_authentication::secret_digest;
use crate::client_secret::{LONG, SHORTEST};
use crate::pkce::PkcePolicy;
use crate::token::access_token::AccessTokenTyp;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

static KEY: LazyLock<HmacKey> = LazyLock::new(|| HmacKey::new(b"the issuer's key for client secrets"));

fn create(metadata: Metadata, now: Timestamp, random: &dyn Random) -> Result<Registration, OAuthError> {
    super::create(metadata, &KEY, now, random)
}

fn replace(
    client: &Client,
    metadata: Metadata,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    super::replace(client, metadata, &KEY, now, random)
}

fn patch(
    client: &Client,
    change: Metadata,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    super::patch(client, change, &KEY, now, random)
}

fn regenerate_secret(
    client: &Client,
    keep: Duration,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    super::regenerate_secret(client, keep, &KEY, NOW, random)
}

fn object(value: Value) -> Metadata {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn readme() -> Metadata {
    object(json!({
        "client_name": "Load Test Client",
        "redirect_uris": ["https://localhost:3000/callback"],
        "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange"],
        "scope": "openid profile email",
        "skip_consent": true,
        "token_exchange_allowed": true,
    }))
}

fn made(metadata: Metadata) -> Registration {
    create(metadata, NOW, &SeededRandom::new(5)).unwrap_or_else(|error| panic!("{error}"))
}

/// What is kept of the client's secrets.
fn digests(client: &Client) -> Vec<[u8; 32]> {
    client.client_secrets.iter().map(|secret| secret.digest.0).collect()
}

fn with(name: &str, value: Value) -> Metadata {
    let mut metadata = readme();
    metadata.insert(name.to_owned(), value);
    metadata
}
