//! Where a third party has a client begin a sign-in.

use url::Url;

use super::{invalid, take};
use crate::error::OAuthError;
use crate::redirect_uri;
use crate::unknown_member::Members;

const NAME: &str = "initiate_login_uri";

/// The parameters with which others begin a sign-in there (OpenID Connect Core 4). They are appended to the query: beside one
/// that the client registered, the application would have two of a name, and could take either.
const APPENDED: [&str; 3] = ["iss", "login_hint", "target_link_uri"];

/// Reads the member. OpenID Connect Registration 2: the URI must use the https scheme. Links of our pages lead there, so it is as
/// clean as a redirect URI: no fragment, no user information.
pub(super) fn read(doc: &mut Members) -> Result<Option<String>, OAuthError> {
    let Some(uri) = take::<String>(doc, NAME)? else { return Ok(None) };
    redirect_uri::check_registration(&uri).map_err(|why| invalid(NAME, format!("has {uri}, which {why}")))?;
    if let Some(name) = appended_in(&uri) {
        return Err(invalid(NAME, format!("has {name} in its query, which is appended when it is opened")));
    }
    match redirect_uri::origin(&uri) {
        Some(origin) if origin.starts_with("https://") => Ok(Some(uri)),
        _ => Err(invalid(NAME, "must be an https URL (OpenID Connect Registration 2)")),
    }
}

/// The first parameter in the query of a URI that would be there twice.
fn appended_in(uri: &str) -> Option<&'static str> {
    let url = Url::parse(uri).ok()?;
    APPENDED.into_iter().find(|appended| url.query_pairs().any(|(name, _)| name == *appended))
}
