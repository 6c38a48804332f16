//! The URIs of a client's metadata to which codes go and at which logouts end, the addresses of its server, and the forms that all of
//! them may have.

use super::{invalid, list, take};
use crate::client::GrantType;
use crate::error::OAuthError;
use crate::redirect_uri::{self, RedirectUriForm};
use crate::unknown_member::Members;

/// The forms that are allowed, each once.
pub(super) fn forms(doc: &mut Members) -> Result<Vec<RedirectUriForm>, OAuthError> {
    let named: Vec<RedirectUriForm> = take(doc, "redirect_uri_forms")?.unwrap_or_default();
    Ok(RedirectUriForm::ALL.into_iter().filter(|form| named.contains(form)).collect())
}

/// Reads `redirect_uris`.
pub(super) fn read(
    doc: &mut Members,
    grants: &[GrantType],
    allowed: &[RedirectUriForm],
) -> Result<Vec<String>, OAuthError> {
    let uris = uris(doc, "redirect_uris", allowed)?;
    // RFC 6749 3.1.2.2: a client that receives codes or tokens must register redirect URIs.
    let through_browser = [GrantType::AuthorizationCode, GrantType::Implicit];
    if let (true, Some(grant)) = (uris.is_empty(), grants.iter().find(|own| through_browser.contains(own))) {
        let mend = "name one, or leave that grant type out of grant_types";
        let grant = grant.as_str();
        return Err(invalid("redirect_uris", format!("is required for the grant type {grant}: {mend}")));
    }
    Ok(uris)
}

/// Reads `post_logout_redirect_uris`. RP-Initiated Logout 3: the URI must be exactly a registered one. So a wildcard would
/// match nothing here.
pub(super) fn read_post_logout(
    doc: &mut Members,
    allowed: &[RedirectUriForm],
) -> Result<Vec<String>, OAuthError> {
    let of_text = |form: &RedirectUriForm| *form != RedirectUriForm::WildcardHost;
    let allowed: Vec<RedirectUriForm> = allowed.iter().copied().filter(of_text).collect();
    uris(doc, "post_logout_redirect_uris", &allowed)
}

fn uris(
    doc: &mut Members,
    name: &'static str,
    allowed: &[RedirectUriForm],
) -> Result<Vec<String>, OAuthError> {
    let uris = list(doc, name)?;
    uris.iter().try_for_each(|uri| check(uri, name, allowed))?;
    Ok(uris)
}

/// Checks a URI in the member `name`.
pub(super) fn check(uri: &str, name: &'static str, allowed: &[RedirectUriForm]) -> Result<(), OAuthError> {
    let Err(why) = redirect_uri::check_form(uri, allowed) else { return Ok(()) };
    let mend = match redirect_uri::needed_form(uri) {
        Some(RedirectUriForm::WildcardHost) if name != "redirect_uris" => String::new(),
        Some(form) => format!("; redirect_uri_forms with {} allows it", form.as_str()),
        None => String::new(),
    };
    Err(invalid(name, format!("has {uri}, which {why}{mend}")))
}

/// A web address in the member `name`, in one of the forms that the client's redirect URIs may have, but for those that are no
/// address. Whether an address in a private network is called is decided when it is called (`outbound.allow_private`).
pub(super) fn web_address(
    doc: &mut Members,
    name: &'static str,
    allowed: &[RedirectUriForm],
) -> Result<Option<String>, OAuthError> {
    let Some(uri) = take::<String>(doc, name)? else { return Ok(None) };
    check_address(&uri, name, allowed)?;
    Ok(Some(uri))
}

/// Checks an address that is called, or that a browser is sent to.
pub(super) fn check_address(
    uri: &str,
    name: &'static str,
    allowed: &[RedirectUriForm],
) -> Result<(), OAuthError> {
    let of_host = |form: &RedirectUriForm| *form == RedirectUriForm::HttpPrivateHost;
    let allowed: Vec<RedirectUriForm> = allowed.iter().copied().filter(of_host).collect();
    check(uri, name, &allowed)?;
    match redirect_uri::origin(uri) {
        Some(_) => Ok(()),
        None => Err(invalid(name, "must be an http or https URL")),
    }
}
