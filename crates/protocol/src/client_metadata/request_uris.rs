//! Where a client publishes its request objects.

use url::Url;

use super::redirect_uris::check_address;
use super::{invalid, take};
use crate::error::OAuthError;
use crate::redirect_uri::RedirectUriForm;
use crate::request_object::reference::{LONGEST, MOST};
use crate::unknown_member::Members;

const NAME: &str = "request_uris";

/// Reads `request_uris` (OpenID Connect Registration 2). They may have a fragment, which is the version of the object (OpenID Connect
/// Core 6.2); for the rest they are addresses as `jwks_uri` is.
pub(super) fn read(doc: &mut Members, allowed: &[RedirectUriForm]) -> Result<Vec<String>, OAuthError> {
    let uris: Vec<String> = take(doc, NAME)?.unwrap_or_default();
    if uris.len() > MOST {
        return Err(invalid(NAME, format!("has more than {MOST} addresses")));
    }
    for uri in &uris {
        // OpenID Connect Core 6.2: the entire value must not have more than 512 ASCII characters.
        if uri.len() > LONGEST || !uri.is_ascii() {
            return Err(invalid(NAME, format!("must have addresses of at most {LONGEST} ASCII characters")));
        }
        let without_fragment = uri.split_once('#').map_or(&**uri, |(address, _)| address);
        check_address(without_fragment, NAME, allowed)?;
        if Url::parse(uri).is_err() {
            return Err(invalid(NAME, "has an address that is no URL"));
        }
    }
    Ok(uris)
}
