//! Encrypts answers for a client that asked for that (OpenID Connect Core 10.2).

use std::borrow::Cow;
use std::sync::Arc;

use symbolon_crypto::jwe::{self, JweError};
use symbolon_protocol::client::Client;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::response_encryption::ResponseEncryption;

use crate::app::App;
use crate::client_keys;
use crate::http::Failure;

/// A JWE of this text for the client, by the first of its keys that serves. `cty` says what the text is, if it is a token.
///
/// # Errors
/// `invalid_request`: the client has no such key, or its keys cannot be fetched. [`Failure::Internal`]: the library failed.
pub async fn encrypt(
    (app, issuer): (&Arc<App>, &IssuerId),
    client: &Client,
    encryption: ResponseEncryption,
    (cty, text): (Option<&str>, &[u8]),
) -> Result<String, Failure> {
    let published = client_keys::of_recipient((app, issuer), client, encryption).await?;
    let keys = match (&published, &client.jwks) {
        (Some(published), _) => Cow::Borrowed(&**published),
        (None, Some(given)) => Cow::Borrowed(given),
        (None, None) => Cow::default(),
    };
    let key = encryption.key_among(&keys.keys).ok_or_else(|| encryption.no_key(client, &keys))?;
    let pair = (encryption.alg, encryption.enc);
    match jwe::encrypt(key, pair, cty, text, &*app.random) {
        Ok(jwe) => Ok(jwe),
        Err(JweError::Failed) => Err(Failure::Internal(JweError::Failed.to_string())),
        Err(JweError::Key(_)) => Err(encryption.no_key(client, &keys).into()),
    }
}
