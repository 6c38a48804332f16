//! Public or pairwise subjects, and the sector whose clients know a user by one name (OpenID Connect Core 8.1, Registration 2, 5).

use serde_json::Value;
use url::Url;

use super::{Metadata, invalid, redirect_uris, take};
use crate::client::Client;
use crate::error::OAuthError;
use crate::redirect_uri::RedirectUriForm;
use crate::unknown_member::Members;

const TYPE: &str = "subject_type";
/// The member that names the document with the redirect URIs of a sector.
pub(crate) const DOCUMENT: &str = "sector_identifier_uri";
/// What the member `subject_type` says.
pub(super) const PAIRWISE: &str = "pairwise";
pub(super) const PUBLIC: &str = "public";

/// The sector of a client whose subjects are pairwise: the host of its `sector_identifier_uri`, or else of its redirect URIs.
/// Whoever's subjects are public may name a document too: it is shown and has no effect.
pub(super) fn read(
    doc: &mut Members,
    redirect_uris: &[String],
    forms: &[RedirectUriForm],
) -> Result<Option<String>, OAuthError> {
    match take::<String>(doc, TYPE)?.as_deref() {
        None | Some(PUBLIC) => return Ok(None),
        Some(PAIRWISE) => {}
        Some(_) => return Err(invalid(TYPE, "must be public or pairwise")),
    }
    let named = doc.get(DOCUMENT).cloned().unwrap_or_default();
    if named.is_null() {
        return of_redirect_uris(redirect_uris).map(Some);
    }
    // Registration 2, 5: a URL of the scheme https. Forms let the same addresses stand in as for keys.
    let mut alone = Metadata::new();
    alone.insert(DOCUMENT.to_owned(), named);
    let uri = redirect_uris::web_address(&mut Members::new(alone), DOCUMENT, forms)?;
    // Core 8.1: the host component of this URL.
    let host =
        uri.as_deref().and_then(|uri| Url::parse(uri).ok()).and_then(|url| url.host_str().map(str::to_owned));
    host.map(Some).ok_or_else(|| invalid(DOCUMENT, "must be an https URL"))
}

/// Core 8.1: without a document the host of the redirect URIs, which MUST then be one. A loopback address or a private scheme is
/// no host that a client would have for itself.
fn of_redirect_uris(uris: &[String]) -> Result<String, OAuthError> {
    let mend = "name a sector_identifier_uri: an https URL where a JSON array lists all redirect URIs";
    let mut hosts = uris.iter().map(|uri| host_of(uri));
    let Some(Some(first)) = hosts.next() else {
        return Err(invalid(TYPE, format!("pairwise needs https redirect URIs, or {mend}")));
    };
    match hosts.all(|host| host.as_ref() == Some(&first)) {
        true => Ok(first),
        false => Err(invalid(TYPE, format!("pairwise needs redirect URIs of one host, or {mend}"))),
    }
}

fn host_of(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "https")?;
    url.host_str().filter(|host| !host.contains('*')).map(str::to_owned)
}

/// The address of the document that must be read before a client is saved; `None` if it has none, or nothing has changed of what the
/// document was read for.
pub fn document_needed<'c>(before: Option<&Client>, client: &'c Client) -> Option<&'c str> {
    client.sector.as_ref()?;
    let uri = client.display.get(DOCUMENT)?.as_str()?;
    let is_known = before.is_some_and(|before| {
        before.sector == client.sector
            && before.redirect_uris == client.redirect_uris
            && before.display.get(DOCUMENT).and_then(Value::as_str) == Some(uri)
    });
    (!is_known).then_some(uri)
}

/// Checks the document that was read. Registration 5: the redirect URIs MUST be among its elements, or the registration MUST fail.
///
/// # Errors
/// `invalid_request`, naming `sector_identifier_uri`.
pub fn check_document(client: &Client, document: &[u8]) -> Result<(), OAuthError> {
    let Ok(listed) = serde_json::from_slice::<Vec<String>>(document) else {
        return Err(invalid(DOCUMENT, "must lead to a JSON array of redirect URIs"));
    };
    match client.redirect_uris.iter().find(|own| !listed.contains(own)) {
        None => Ok(()),
        Some(missing) => Err(invalid(DOCUMENT, format!("leads to a list without {missing}: add it there"))),
    }
}

/// The error for a document that could not be read. An application that registers itself is not told why: it would learn what this
/// server reaches.
pub fn document_unread(client: &Client, why: &str) -> OAuthError {
    let mend = "publish a JSON array of all redirect URIs there";
    match client.dynamic_registration {
        Some(_) => invalid(DOCUMENT, format!("could not be read: {mend}")),
        None => {
            let why = why.replace(['"', '`', '\\'], "'");
            invalid(DOCUMENT, format!("could not be read: {why}; {mend}"))
        }
    }
}
