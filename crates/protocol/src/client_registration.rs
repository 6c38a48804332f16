//! Clients that register themselves (RFC 7591, RFC 7592, OpenID Connect Dynamic Client Registration 1.0).
//!
//! Whoever registers is a stranger. So of what they send only the members of a closed list are read, the rest is dropped
//! (RFC 7591 2: metadata that is not understood MUST be ignored), and what is left is bounded by the issuer's [`Policy`].
//! The outcome goes the way of every client, through [`client_metadata`]. What only an administrator may set, such
//! as `skip_consent`, has no way in, and a client that changes its registration leaves it as it is.

mod access_token;
mod application_type;
pub mod document;
mod initial_access_token;
mod members;
mod policy;
pub mod software_statement;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::Random;
use symbolon_crypto::secret::SecretString;

use crate::client::Client;
use crate::client_authentication::secret_digest;
use crate::client_metadata::{self, Metadata, Registration};
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};
use crate::time::Timestamp;

pub use access_token::{DynamicRegistration, is_unused, with_first_use};
pub use initial_access_token::{InitialAccessToken, LIVES, LONGEST_LIFE, MOST_USES};
pub use policy::{ClientRegistration, DEFAULT_GRANT_TYPES, DEFAULT_SCOPE, Policy};

/// A client that has just registered itself.
#[must_use]
pub struct Registered {
    /// The client, and its secret.
    pub registration: Registration,
    /// The token by which it manages its registration (RFC 7592 1.2). Only a digest of it is stored.
    pub registration_access_token: SecretString,
}

/// Registers a client (RFC 7591 3.1). `key` is the issuer's for client secrets.
///
/// # Errors
/// Those of RFC 7591 3.2.2, naming the member.
pub fn register(
    metadata: Metadata,
    policy: &Policy,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registered, OAuthError> {
    let document = members::admitted(metadata, policy)?;
    let mut registration = client_metadata::create(document, key, now, random).map_err(as_registration)?;
    let registration_access_token = access_token::draw(random);
    let own = DynamicRegistration::new(&registration_access_token, key);
    registration.client.dynamic_registration = Some(Box::new(own));
    Ok(Registered { registration, registration_access_token })
}

/// The client with its metadata replaced by what it sends itself (RFC 7592 2.2): members that it leaves out get their
/// defaults, and what only an administrator sets stays.
///
/// # Errors
/// Those of RFC 7591 3.2.2, naming the member.
pub fn update(
    client: &Client,
    mut metadata: Metadata,
    policy: &Policy,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    check_identity(client, &mut metadata, key, now)?;
    let mut document = client_metadata::document(client);
    // A protection that is on stays on: an administrator may have set it.
    let protections: Metadata = document
        .iter()
        .filter(|(name, value)| members::is_protection(name) && **value == true)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    document.retain(|name, _| !members::is_registrable(name));
    document.extend(members::admitted(metadata, &policy.beside(client))?);
    document.extend(protections);
    // Whoever was told pairwise subjects must not learn the others, which would join them (OpenID Connect Core 8).
    if client.sector.is_some() {
        document.insert("subject_type".to_owned(), "pairwise".into());
    }
    // What an administrator allowed was for the addresses that were there: with others people are asked again.
    if document.get("redirect_uris") != Some(&json!(client.redirect_uris)) {
        document.remove("redirect_uri_forms");
        document.remove("skip_consent");
    }
    let mut replaced =
        client_metadata::replace(client, document, key, now, random).map_err(as_registration)?;
    // It was for what the client could get then, too.
    let after = &mut replaced.client;
    let is_wider = !client.scope.covers(&after.scope)
        || after.grant_types.iter().any(|grant| !client.grant_types.contains(grant));
    after.skip_consent &= !is_wider;
    Ok(replaced)
}

/// RFC 7592 2.2: the request MUST include the client's own `client_id`, and a `client_secret` in it MUST be the current
/// one: a client MUST NOT choose its secret.
fn check_identity(
    client: &Client,
    metadata: &mut Metadata,
    key: &HmacKey,
    now: Timestamp,
) -> Result<(), OAuthError> {
    match metadata.remove("client_id") {
        Some(Value::String(id)) if id == client.client_id.as_str() => {}
        _ => return Err(invalid("client_id", "must be that of the client in the path")),
    }
    let is_own = |secret: &str| {
        let own = client.client_secrets.live(now);
        own.of_sha256(&secret_digest(secret).0, key).is_some()
    };
    match metadata.remove("client_secret") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(secret)) if is_own(&secret) => Ok(()),
        Some(_) => Err(invalid("client_secret", "must be the client's own, or be left out")),
    }
}

/// The answer to a registration and to every request about it (RFC 7591 3.2.1, RFC 7592 3): what is in effect, also where
/// that is not what was sent. Members that only administrators set are not in it. `secret` is there only if it is new:
/// of others a digest is kept. `algorithm` is the one that signs ID tokens for clients that name none.
pub fn information(
    client: &Client,
    secret: Option<&SecretString>,
    registration_access_token: &str,
    registration_client_uri: &str,
    algorithm: Algorithm,
) -> Metadata {
    let mut told = client_metadata::document(client);
    told.retain(|name, _| members::is_registrable(name));
    told.insert("client_id".to_owned(), client.client_id.as_str().into());
    told.insert("client_id_issued_at".to_owned(), client.created_at.seconds().into());
    if let Some(secret) = secret {
        told.insert("client_secret".to_owned(), secret.expose().into());
        // RFC 7591 3.2.1: required beside a secret; 0 means that it does not expire.
        told.insert("client_secret_expires_at".to_owned(), 0.into());
    }
    // RFC 7591 3.2.1: MUST be returned as it came.
    if let Some(statement) = software_statement::of_client(client) {
        told.insert(software_statement::MEMBER.to_owned(), statement.into());
    }
    told.insert("registration_access_token".to_owned(), registration_access_token.into());
    told.insert("registration_client_uri".to_owned(), registration_client_uri.into());
    told.entry("id_token_signed_response_alg").or_insert_with(|| algorithm.as_str().into());
    told
}

/// `invalid_client_metadata` (RFC 7591 3.2.2).
fn invalid(name: &str, why: impl std::fmt::Display) -> OAuthError {
    let description = format!("{name} {why}");
    OAuthError::with(ErrorCode::InvalidClientMetadata, Reason::ClientMetadataInvalid, description)
        .about(Details::of(name))
}

/// `invalid_redirect_uri` (RFC 7591 3.2.2).
fn invalid_redirect_uri(why: impl std::fmt::Display) -> OAuthError {
    OAuthError { code: ErrorCode::InvalidRedirectUri, ..invalid("redirect_uris", why) }
}

/// An error of the rules for every client, by the codes of registration (RFC 7591 3.2.2).
pub fn as_registration(error: OAuthError) -> OAuthError {
    if error.code != ErrorCode::InvalidRequest {
        return error;
    }
    let about = error.details.as_deref().and_then(Details::parameter_name);
    let code = match about {
        Some("redirect_uris") => ErrorCode::InvalidRedirectUri,
        _ => ErrorCode::InvalidClientMetadata,
    };
    OAuthError { code, ..error }
}

#[cfg(test)]
mod tests;
