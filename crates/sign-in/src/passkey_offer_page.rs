//! The page that offers to create a passkey to somebody who has just signed in by a password.

use std::time::Duration;

use axum::response::Response;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use symbolon_pages::{PasskeyOfferPage, PasskeyPrompt};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::UserId;
use symbolon_protocol::session::Session;
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::passkey::Account;
use symbolon_protocol::user::User;

use crate::interaction::{Interaction, PendingAuthorization, address};
use crate::login_page::{self, append};
use crate::passkey_addition::has_room;
use crate::passkey_challenge::{Ceremony, Challenge, relying_party};
use crate::requesting_client::appearance;
use symbolon_app::http::csrf::{INTERACTION_LIVES, Purpose};
use symbolon_app::http::{Call, Context, Failure, Policy, cookies, html, set_cookie};
use symbolon_app::issuer::IssuerState;

/// The path of the page and its form.
pub(super) const PATH: &str = "/login/passkey-offer";

/// For how long the browser is not asked again after "Not now".
const NOT_ASKED_FOR: Duration = Duration::from_secs(30 * 86_400);

/// Creating a passkey on the page.
#[derive(Serialize, Deserialize)]
pub(super) struct Creating {
    /// The page's interaction.
    pub(super) interaction: String,
    /// Whose it will be.
    pub(super) user: UserId,
}

impl Ceremony for Creating {
    const PURPOSE: &'static str = "passkey creation on a page";
    const LIVES: Duration = INTERACTION_LIVES;
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_passkey_offered")
}

/// The cookie after "Not now".
pub(super) fn not_now(issuer: &IssuerState) -> Option<HeaderValue> {
    set_cookie(issuer, &cookie_name(issuer), "1", NOT_ASKED_FOR)
}

/// Whether a passkey is to be offered to a user who has these authenticators.
pub(super) fn is_due(call: &Call, user: &User, set: &AuthenticatorSet) -> bool {
    let issuer = &call.context.issuer;
    issuer.settings.load().offer_passkey
        && login_page::offers(&call.context, SignInMethod::Passkey)
        && set.passkeys.is_empty()
        && has_room(user, set)
        && cookies(&call.received.headers, &cookie_name(issuer)).next().is_none()
}

/// The page, before or after an attempt.
///
/// # Errors
/// [`Failure`]: the store is out of reach, or the page cannot be rendered.
pub(super) async fn page(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    (session, user): (&Session, &User),
    has_failed: bool,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    let known = app.store.authenticators(&issuer.id, &user.id).await?.set.passkeys;
    let origin = issuer.origin();
    let creating = Creating { interaction: interaction.id().to_owned(), user: user.id.clone() };
    let challenge = Challenge::make(context, origin, creating)?;
    let name = user.email.as_deref().or(user.profile.preferred_username.as_deref());
    let name = name.unwrap_or(user.id.as_str());
    let display_name = user.profile.name.as_deref().unwrap_or(name);
    let account = Account { user: &user.id, name, display_name };
    let options = relying_party(context, origin)?.creation_options(account, &known, &challenge);
    let sealed = interaction.seal(context)?;
    let action = address(context, PATH, &sealed);
    let look = appearance(context, Some(&interaction.pending)).await?;
    let page = PasskeyOfferPage {
        language: interaction.language,
        issuer_name: look.name,
        passkey: PasskeyPrompt { action, options: options.to_string(), unknown: None },
        transaction: sealed,
        csrf: interaction.csrf_token(context, Purpose::PasskeyOffer, session.sid.as_str()),
        has_failed,
    };
    let page =
        page.render_for(&issuer.prefix, &look.brand).map_err(|error| Failure::Internal(error.to_string()))?;
    let status = if has_failed { StatusCode::FORBIDDEN } else { StatusCode::OK };
    let mut response = html(
        status,
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    );
    append(response.headers_mut(), interaction.browser.cookie(issuer));
    Ok(response)
}
