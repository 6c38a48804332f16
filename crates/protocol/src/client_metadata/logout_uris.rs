//! Where a client is told that a session has ended.

use super::redirect_uris::check;
use super::{invalid, take};
use crate::client::LogoutUris;
use crate::error::OAuthError;
use crate::redirect_uri::{self, RedirectUriForm};
use crate::unknown_member::Members;

const BACK_CHANNEL: &str = "backchannel_logout_uri";
const FRONT_CHANNEL: &str = "frontchannel_logout_uri";

/// Reads the members of Back-Channel Logout 1.0 2.2 and Front-Channel Logout 1.0 2.
pub(super) fn read(
    doc: &mut Members,
    redirect_uris: &[String],
    allowed: &[RedirectUriForm],
) -> Result<LogoutUris, OAuthError> {
    let frontchannel_logout_uri = uri(doc, FRONT_CHANNEL, allowed)?;
    // Front-Channel Logout 2: domain, port and scheme MUST be those of a registered redirect URI.
    if let Some(uri) = &frontchannel_logout_uri {
        let own = redirect_uri::origin(uri);
        if !redirect_uris.iter().any(|registered| redirect_uri::origin(registered) == own) {
            return Err(invalid(
                FRONT_CHANNEL,
                "must have scheme, host and port of one of the redirect_uris",
            ));
        }
    }
    Ok(LogoutUris {
        backchannel_logout_uri: uri(doc, BACK_CHANNEL, allowed)?,
        backchannel_logout_session_required: take(doc, "backchannel_logout_session_required")?
            .unwrap_or_default(),
        frontchannel_logout_uri,
        frontchannel_logout_session_required: take(doc, "frontchannel_logout_session_required")?
            .unwrap_or_default(),
    })
}

/// A web address in one of the forms that the client's redirect URIs may have, but for those that are no address.
fn uri(
    doc: &mut Members,
    name: &'static str,
    allowed: &[RedirectUriForm],
) -> Result<Option<String>, OAuthError> {
    let Some(uri) = take::<String>(doc, name)? else { return Ok(None) };
    let of_host = |form: &RedirectUriForm| *form == RedirectUriForm::HttpPrivateHost;
    let allowed: Vec<RedirectUriForm> = allowed.iter().copied().filter(of_host).collect();
    check(&uri, name, &allowed)?;
    if redirect_uri::origin(&uri).is_none() {
        return Err(invalid(name, "must be an http or https URL"));
    }
    Ok(Some(uri))
}
