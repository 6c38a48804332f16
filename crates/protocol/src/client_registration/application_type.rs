//! `application_type` (OpenID Connect Registration 2): what it says of redirect URIs.

use serde_json::Value;
use url::Url;

use super::members::redirect_uris;
use super::{invalid, invalid_redirect_uri};
use crate::client_metadata::Metadata;
use crate::error::OAuthError;
use crate::response_type::ResponseType;

const NAME: &str = "application_type";
const WEB: &str = "web";
const NATIVE: &str = "native";

/// Checks the redirect URIs by the kind of application, and writes the kind down where it was left out.
///
/// The default of the specification is `web`. Many clients on people's devices leave the member out, among them those that
/// RFC 8252 was written for. So one whose redirect URIs only an application on a device can have is registered as `native`, and told.
///
/// # Errors
/// `invalid_redirect_uri`, `invalid_client_metadata`
pub(super) fn settle(metadata: &mut Metadata) -> Result<(), OAuthError> {
    let kind = match metadata.get(NAME) {
        None if redirect_uris(metadata).any(is_on_device) => NATIVE,
        None => WEB,
        Some(Value::String(kind)) if kind == NATIVE => NATIVE,
        Some(Value::String(kind)) if kind == WEB => WEB,
        Some(_) => return Err(invalid(NAME, "must be web or native")),
    };
    if kind == WEB {
        check_web(metadata)?;
    }
    metadata.insert(NAME.to_owned(), kind.into());
    Ok(())
}

/// OpenID Connect Registration 2: web clients that use the implicit grant MUST only register https URIs, and MUST NOT use
/// localhost. A private-use scheme belongs to an application on a device. (What native clients register is checked for every
/// client: plain http leads to loopback addresses alone. Their https URIs are those of RFC 8252 7.2.)
fn check_web(metadata: &Metadata) -> Result<(), OAuthError> {
    let grants = metadata.get("grant_types").and_then(Value::as_array);
    let named = grants.is_some_and(|grants| grants.iter().any(|grant| grant == "implicit"));
    // Where no grant types are named, they follow from the response types.
    let types = metadata.get("response_types").and_then(Value::as_array).into_iter().flatten();
    let mut types = types.filter_map(|kind| ResponseType::parse(kind.as_str()?));
    let is_implicit = named || types.any(ResponseType::has_any_token);
    for uri in redirect_uris(metadata) {
        // What is no URI at all is refused later, by the rules for every client.
        let Ok(url) = Url::parse(uri) else { continue };
        if !matches!(url.scheme(), "https" | "http") {
            return Err(invalid_redirect_uri(format!(
                "has {uri}, which only an application_type of native may have"
            )));
        }
        if is_implicit && (url.scheme() != "https" || url.host_str() == Some("localhost")) {
            return Err(invalid_redirect_uri(format!(
                "has {uri}: with the implicit grant a web client needs https, and not at localhost"
            )));
        }
    }
    Ok(())
}

/// Whether only an application on a person's device can receive what goes to this URI.
pub(super) fn is_on_device(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|url| url.scheme() != "https")
}
