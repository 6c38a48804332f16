//! Clients that are named by the URL of their metadata (OAuth Client ID Metadata Document, draft-ietf-oauth-client-id-metadata-document-03).
//!
//! Nobody registers such a client: its `client_id` is where its metadata stand, and whoever controls that address is the client. So it is a
//! stranger like one that registered itself, and has what the issuer's [`Policy`] lets strangers have. The section numbers are the draft's.

mod hosts;
mod identifier;

use serde_json::Value;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::Random;
use url::Url;

use super::{Policy, application_type, as_registration, invalid, invalid_redirect_uri, members};
use crate::client::{Client, TokenEndpointAuthMethod};
use crate::client_metadata::{self, Metadata};
use crate::error::{ErrorCode, OAuthError};
use crate::id::ClientId;
use crate::refusal::{Details, Reason};
use crate::time::Timestamp;

pub use hosts::{Admission, admission, is_pattern};
pub use identifier::{ClientIdUrl, InvalidClientIdUrl, host_of, may_be_url};

/// The most bytes of a document that are read (8.7: 5 kilobytes are recommended).
pub const LONGEST: usize = 5 << 10;

/// Members that such a client does not have, though one that registers itself may: for these answers its document would be read at requests of
/// others, and a logout is told to nobody whose address may be another tomorrow. Nobody reads the list of redirect URIs that would let it into
/// another's sector, so its sector is its own host (OpenID Connect Core 8.1).
const LEFT_OUT: [&str; 8] = [
    "sector_identifier_uri",
    "request_uris",
    "userinfo_signed_response_alg",
    "userinfo_encrypted_response_alg",
    "userinfo_encrypted_response_enc",
    "introspection_signed_response_alg",
    "backchannel_logout_uri",
    "backchannel_logout_session_required",
];
/// Members that must be at the URL's own origin.
const AT_ITS_ORIGIN: [&str; 3] = ["jwks_uri", "initiate_login_uri", "frontchannel_logout_uri"];

/// The client that a document describes, which was read at this URL. `key` is the issuer's for client secrets.
///
/// # Errors
/// Those of RFC 7591 3.2.2, naming the member.
pub fn read(
    url: &ClientIdUrl,
    document: &[u8],
    policy: &Policy,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Client, OAuthError> {
    let mut metadata: Metadata =
        serde_json::from_slice(document).map_err(|_| invalid("the document", "is no JSON object"))?;
    // 4: the document MUST contain its URL as `client_id`, by simple string comparison.
    match metadata.remove("client_id") {
        Some(Value::String(own)) if own == url.id().as_str() => {}
        _ => return Err(invalid("client_id", "must be the URL of the document, character for character")),
    }
    refuse_secrets(&metadata)?;
    settle_method(&mut metadata)?;
    metadata.retain(|name, value| !LEFT_OUT.contains(&name.as_str()) && !value.is_null());
    check_addresses(&mut metadata, url)?;
    metadata.entry("client_name").or_insert_with(|| url.host().into());
    let mut admitted = members::admitted(metadata, policy)?;
    admitted.insert("client_id".to_owned(), url.id().as_str().into());
    let made = client_metadata::create(admitted, key, now, random).map_err(as_registration)?;
    Ok(Client { is_from_document: true, ..made.client })
}

/// 4.1: `client_secret` and `client_secret_expires_at` MUST NOT be used: everybody can read the document.
fn refuse_secrets(metadata: &Metadata) -> Result<(), OAuthError> {
    match ["client_secret", "client_secret_expires_at"].into_iter().find(|name| metadata.contains_key(*name))
    {
        Some(name) => Err(invalid(name, "must not be in a document that everybody can read")),
        None => Ok(()),
    }
}

/// 4.1: no method that rests on a shared secret. Where none is named it is `none`, since the default of RFC 7591 2 needs a secret.
fn settle_method(metadata: &mut Metadata) -> Result<(), OAuthError> {
    const NAME: &str = "token_endpoint_auth_method";
    let usual = TokenEndpointAuthMethod::None.as_str();
    let allowed = [usual, TokenEndpointAuthMethod::PrivateKeyJwt.as_str()];
    match metadata.get(NAME) {
        None | Some(Value::Null) => {
            metadata.insert(NAME.to_owned(), usual.into());
            Ok(())
        }
        Some(Value::String(method)) if allowed.contains(&method.as_str()) => Ok(()),
        Some(_) => Err(invalid(NAME, "must be none or private_key_jwt in a document")),
    }
}

/// 8.1: a server may restrict where a client's addresses are. Codes go to the origin of the URL, or to an application on the person's device:
/// so the host that the person is shown is the one that gets them. A home page elsewhere is not shown.
fn check_addresses(metadata: &mut Metadata, url: &ClientIdUrl) -> Result<(), OAuthError> {
    let is_sound = |uri: &str| url.is_at_its_origin(uri) || application_type::is_on_device(uri);
    if let Some(bad) = members::redirect_uris(metadata).find(|uri| !is_sound(uri)) {
        return Err(invalid_redirect_uri(format!("has {bad}, which is not at the origin of the client_id")));
    }
    let after_logout = metadata.get("post_logout_redirect_uris").and_then(Value::as_array);
    if after_logout.into_iter().flatten().filter_map(Value::as_str).any(|uri| !is_sound(uri)) {
        return Err(invalid("post_logout_redirect_uris", "must be at the origin of the client_id"));
    }
    for name in AT_ITS_ORIGIN {
        if metadata.get(name).and_then(Value::as_str).is_some_and(|uri| !url.is_at_its_origin(uri)) {
            return Err(invalid(name, "must be at the origin of the client_id"));
        }
    }
    metadata.retain(|name, value| {
        let is_home_page = name.split('#').next() == Some("client_uri");
        !is_home_page || value.as_str().is_some_and(|uri| url.is_at_its_origin(uri))
    });
    Ok(())
}

/// Why the client that a URL names cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    client: ClientId,
    reason: Reason,
    why: String,
}

impl Unusable {
    /// Its id is no such URL, or its host is none that the issuer allows. `why`: as the end of a sentence, as below.
    #[must_use]
    pub fn refused(client: &ClientId, why: String) -> Self {
        Self { client: client.clone(), reason: Reason::ClientIdUrlRefused, why }
    }

    /// There is no document at the URL that could be read.
    #[must_use]
    pub fn unreachable(client: &ClientId, why: String) -> Self {
        Self { client: client.clone(), reason: Reason::ClientDocumentUnreachable, why }
    }

    /// The document describes no client that may be here.
    #[must_use]
    pub fn invalid(client: &ClientId, why: String) -> Self {
        Self { client: client.clone(), reason: Reason::ClientDocumentInvalid, why }
    }

    /// The refusal of an authorization request: a page, because no redirect URI can be trusted (5.1: it SHOULD be aborted). The document is
    /// public, so its developer is told what is wrong with it. Why it could not be read is not told: that would tell strangers what is
    /// reachable from here.
    #[must_use]
    pub fn of_authorization(&self) -> OAuthError {
        let told = match self.reason {
            Reason::ClientDocumentInvalid => format!("the document at client_id is not valid: {}", self.why),
            Reason::ClientDocumentUnreachable => "the document at client_id cannot be read".to_owned(),
            _ => "client_id names no client".to_owned(),
        };
        OAuthError::with(ErrorCode::InvalidRequest, self.reason, told).about(self.details())
    }

    /// The refusal of a client that authenticates (RFC 6749 5.2): it is told what it is told of every failed authentication.
    #[must_use]
    pub fn of_authentication(&self) -> OAuthError {
        OAuthError::invalid_client(self.reason).about(self.details())
    }

    fn details(&self) -> Details {
        let details = Details::of("client_id").sent(self.client.as_str()).client(&self.client);
        details.differing(Some(&self.why))
    }
}

/// The origin of a URI, unless it has none that another could be the same as.
fn origin(uri: &str) -> Option<url::Origin> {
    Url::parse(uri).ok().map(|url| url.origin()).filter(url::Origin::is_tuple)
}

#[cfg(test)]
mod tests;
