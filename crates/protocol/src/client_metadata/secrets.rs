//! The secret of a client: drawn or given, and renewed.

use std::collections::BTreeSet;
use std::time::Duration;

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use super::{Registration, invalid, later};
use crate::client::{Client, TokenEndpointAuthMethod};
use crate::client_secret::{ClientSecret, ClientSecrets, DIFFERENT_CHARACTERS, LONG, SHORTEST};
use crate::error::OAuthError;
use crate::refusal::Reason;
use crate::time::Timestamp;

/// The longest secret.
const MAX_SECRET: usize = 512;

/// The client with a new secret. The newest of its live secrets stays alive beside the new one for `keep_old`, so that the
/// application can be given the new one in between; zero ends it at once. No other secret stays.
///
/// # Errors
/// `invalid_request` if the client's authentication method uses no secret.
pub fn regenerate_secret(
    client: &Client,
    keep_old: Duration,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    if !uses_secret(client.token_endpoint_auth_method) {
        return Err(OAuthError::invalid_request(
            Reason::ClientMetadataInvalid,
            "the client's token_endpoint_auth_method knows no secret",
        ));
    }
    let secret = draw_secret(random);
    let new = ClientSecret::new(&secret, key, now, random);
    let mut client = client.clone();
    client.client_secrets = client.client_secrets.renewed(new, keep_old, now);
    client.updated_at = later(client.updated_at, now);
    Ok(Registration { client, client_secret: Some(secret), warnings: Vec::new() })
}

fn uses_secret(method: TokenEndpointAuthMethod) -> bool {
    use TokenEndpointAuthMethod as Method;
    matches!(method, Method::ClientSecretBasic | Method::ClientSecretPost)
}

/// The secrets to store, and the one to show if it is new. `own` are those that the client has and that are alive.
pub(super) fn secrets(
    method: TokenEndpointAuthMethod,
    given: Option<SecretString>,
    own: ClientSecrets,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<(ClientSecrets, Option<SecretString>), OAuthError> {
    if !uses_secret(method) {
        return match given {
            Some(_) => Err(invalid("client_secret", "is not used by this token_endpoint_auth_method")),
            None => Ok((ClientSecrets::default(), None)),
        };
    }
    let secret = match given {
        Some(secret) => {
            check_given(secret.expose())?;
            secret
        }
        None if own.is_empty() => draw_secret(random),
        None => return Ok((own, None)),
    };
    let stored = ClientSecret::new(&secret, key, now, random);
    Ok((ClientSecrets::only(stored), Some(secret)))
}

/// Whether a secret of somebody else's drawing may be taken. RFC 6749 10.10: the chance to guess it MUST be below 2^-128 and
/// SHOULD be below 2^-160. Secrets of a provider that drew shorter ones are taken all the same, so that its applications can
/// be moved one by one; decision 034 says what protects them.
fn check_given(text: &str) -> Result<(), OAuthError> {
    if !(SHORTEST..=MAX_SECRET).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = format!("must be {SHORTEST} to {MAX_SECRET} visible ASCII characters");
        return Err(invalid("client_secret", why));
    }
    if text.bytes().collect::<BTreeSet<_>>().len() < DIFFERENT_CHARACTERS {
        let why =
            format!("must have at least {DIFFERENT_CHARACTERS} different characters: it is easily guessed");
        return Err(invalid("client_secret", why));
    }
    Ok(())
}

/// The length of a secret that was given and is shorter than it should be.
pub(super) fn too_short(given: Option<&SecretString>) -> Option<usize> {
    given.map(|secret| secret.expose().len()).filter(|length| *length < LONG)
}

/// A new secret: 256 random bits after a prefix by which scanners find leaked secrets.
fn draw_secret(random: &dyn Random) -> SecretString {
    SecretString::new(format!("cs_{}", random::base64url::<32>(random)))
}
