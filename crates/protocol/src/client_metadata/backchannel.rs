//! How a client asks people for an authentication elsewhere (CIBA Core 4).

use super::redirect_uris::web_address;
use super::{Metadata, invalid, take};
use crate::backchannel_authentication::{self, DeliveryMode};
use crate::client::{Client, GrantType};
use crate::error::OAuthError;
use crate::redirect_uri::RedirectUriForm;
use crate::unknown_member::Members;

const MODE: &str = "backchannel_token_delivery_mode";
const ENDPOINT: &str = "backchannel_client_notification_endpoint";
const ALGORITHM: &str = "backchannel_authentication_request_signing_alg";
const USER_CODE: &str = "backchannel_user_code_parameter";

/// Reads the members. They stand beside the grant type, and not without it: what nobody would ever use is refused.
pub(super) fn read(
    doc: &mut Members,
    grant_types: &[GrantType],
    allowed: &[RedirectUriForm],
) -> Result<Option<Box<backchannel_authentication::Metadata>>, OAuthError> {
    let mode: Option<DeliveryMode> = take(doc, MODE)?;
    let notification_endpoint = web_address(doc, ENDPOINT, allowed)?;
    let request_signing_alg = take(doc, ALGORITHM)?;
    if take(doc, USER_CODE)?.unwrap_or(false) {
        return Err(invalid(USER_CODE, "is not supported: leave it out"));
    }
    let mode = match (grant_types.contains(&GrantType::Ciba), mode) {
        // CIBA Core 4: required.
        (true, None) => return Err(invalid(MODE, "must be poll or ping with the grant type ciba")),
        (true, Some(mode)) => mode,
        (false, None) if notification_endpoint.is_none() && request_signing_alg.is_none() => return Ok(None),
        (false, _) => {
            let why = "and the members beside it need the grant type urn:openid:params:grant-type:ciba";
            return Err(invalid(MODE, why));
        }
    };
    // CIBA Core 4: required if the mode is ping.
    if (mode == DeliveryMode::Ping) != notification_endpoint.is_some() {
        return Err(invalid(
            ENDPOINT,
            "must be given where backchannel_token_delivery_mode is ping, and only there",
        ));
    }
    Ok(Some(Box::new(backchannel_authentication::Metadata {
        mode,
        notification_endpoint,
        request_signing_alg,
    })))
}

/// Adds the members of a client to its document.
pub(super) fn show(out: &mut Metadata, client: &Client) {
    let Some(own) = &client.backchannel else { return };
    out.insert(MODE.to_owned(), own.mode.as_str().into());
    if let Some(endpoint) = &own.notification_endpoint {
        out.insert(ENDPOINT.to_owned(), endpoint.as_str().into());
    }
    if let Some(algorithm) = own.request_signing_alg {
        out.insert(ALGORITHM.to_owned(), algorithm.as_str().into());
    }
}
