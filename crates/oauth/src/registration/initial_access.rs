//! The initial access token of a registration (RFC 7591 3), where the issuer asks for one.

use http::HeaderMap;
use symbolon_protocol::client_registration::{ClientRegistration, InitialAccessToken};
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;

use super::bearer::{bearer, invalid_token};
use symbolon_app::client_registration::{open_initial_access_token, take_use};
use symbolon_app::http::{Context, Failure};
use symbolon_app::issuer::IssuerState;

/// The token of the request, which may have no use left; `None` where everybody may register.
///
/// # Errors
/// A challenge.
pub(super) fn presented(
    issuer: &IssuerState,
    settings: &IssuerSettings,
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<Option<InitialAccessToken>, Failure> {
    if settings.client_registration == ClientRegistration::Open {
        return Ok(None);
    }
    let from = settings.client_registration_tokens_from;
    let token = open_initial_access_token(issuer, bearer(headers)?).filter(|token| token.is_live(from, now));
    token.map(Some).ok_or_else(|| invalid_token(Reason::InitialAccessTokenWrong.into()))
}

/// Takes one of its uses.
///
/// # Errors
/// A challenge if none is left.
pub(super) async fn use_up(
    context: &Context,
    token: &InitialAccessToken,
    durable: &mut Durable,
) -> Result<(), Failure> {
    match take_use((&*context.app, &*context.issuer), token, durable).await? {
        true => Ok(()),
        false => Err(invalid_token(Reason::InitialAccessTokenWrong.into())),
    }
}
