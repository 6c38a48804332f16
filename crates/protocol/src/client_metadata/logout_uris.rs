//! Where a client is told that a session has ended.

use super::redirect_uris::web_address;
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
    let frontchannel_logout_uri = web_address(doc, FRONT_CHANNEL, allowed)?;
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
        backchannel_logout_uri: web_address(doc, BACK_CHANNEL, allowed)?,
        backchannel_logout_session_required: take(doc, "backchannel_logout_session_required")?
            .unwrap_or_default(),
        frontchannel_logout_uri,
        frontchannel_logout_session_required: take(doc, "frontchannel_logout_session_required")?
            .unwrap_or_default(),
    })
}
