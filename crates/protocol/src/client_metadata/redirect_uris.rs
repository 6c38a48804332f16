//! The URIs of a client's metadata to which codes go and at which logouts end, and the forms that they may have.

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
    // RFC 6749 3.1.2.2: a client that receives codes must register redirect URIs.
    if uris.is_empty() && grants.contains(&GrantType::AuthorizationCode) {
        let mend = "name one, or leave that grant type out of grant_types";
        return Err(invalid(
            "redirect_uris",
            format!("is required for the grant type authorization_code: {mend}"),
        ));
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
