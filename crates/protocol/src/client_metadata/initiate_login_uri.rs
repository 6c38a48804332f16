//! Where a third party has a client begin a sign-in.

use super::{invalid, take};
use crate::error::OAuthError;
use crate::redirect_uri;
use crate::unknown_member::Members;

const NAME: &str = "initiate_login_uri";

/// Reads the member. OpenID Connect Registration 2: the URI must use the https scheme. Links of our pages lead there, so it is as
/// clean as a redirect URI: no fragment, no user information.
pub(super) fn read(doc: &mut Members) -> Result<Option<String>, OAuthError> {
    let Some(uri) = take::<String>(doc, NAME)? else { return Ok(None) };
    redirect_uri::check_registration(&uri).map_err(|why| invalid(NAME, format!("has {uri}, which {why}")))?;
    match redirect_uri::origin(&uri) {
        Some(origin) if origin.starts_with("https://") => Ok(Some(uri)),
        _ => Err(invalid(NAME, "must be an https URL (OpenID Connect Registration 2)")),
    }
}
