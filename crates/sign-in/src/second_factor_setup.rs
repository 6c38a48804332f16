//! Setting up a generator of one-time passwords on the way through a sign-in that requires a second factor.

use axum::response::Response;
use symbolon_mail::Message;
use symbolon_pages::{RecoveryCodesPage, SecondFactorError};
use symbolon_protocol::authenticator::Totp;
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::event::Event;
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::sign_in::{Factor, recovery_code};
use symbolon_store::port::AuthenticatorUpdate;

use crate::interaction::{Interaction, PendingAuthorization, address};
use crate::login_page::{self, append};
use crate::requesting_client::Asking;
use crate::second_factor_attempt::{Attempt, again, seal_secret};
use crate::signed_in::signed_in;
use crate::{credential_news, sent_twice, upstream_logout};
use symbolon_app::http::{Call, Context, Failure, Policy, html};

/// The first code of a new generator: keeps its secret, signs in, and shows the recovery codes, once.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (attempt, asking, secret): (&Attempt<'_>, &Asking, &TotpSecret),
    code: &str,
) -> Result<Response, Failure> {
    let context = attempt.context;
    let Context { app, issuer, .. } = context;
    let (user, now) = (&attempt.first.user, app.now());
    let Some(last_step) = secret.accepted_step(code, 0, now) else {
        // Nothing can be guessed here: whoever sees the page has the secret.
        return again(context, &interaction, asking, SecondFactorError::Wrong).await;
    };
    let enrolled = app.store.authenticators(&issuer.id, user).await?;
    if attempt.is_current_code(code).await?
        && let Some(owner) = app.store.user(&issuer.id, user).await?.filter(|user| user.may_sign_in())
        && let Some(begun) = sent_twice::begun((context, &call.received), &interaction, &owner).await?
    {
        return signed_in(call, interaction, begun).await;
    }
    // One was set up in another tab meanwhile; or the password was changed, and whoever knows the old one must not leave a
    // generator behind.
    if enrolled.set.totp.is_some() || !attempt.is_still().await? {
        return begin_again(context, asking, interaction);
    }
    let (stored, shown) = recovery_code::draw(user, &issuer.sign_in_key, &*app.random);
    let totp = Totp { secret: seal_secret(issuer, user, secret)?, added_at: now, last_step };
    let mut set = enrolled.set.clone();
    set.totp = Some(totp);
    set.recovery_codes = stored;
    let written = app.store.put_authenticators(&issuer.id, user, enrolled.revision, &set).await?;
    if written != AuthenticatorUpdate::Written {
        return begin_again(context, asking, interaction);
    }
    context.audit(Event::TotpAdded, Some(user), attempt.client);
    if let Some(owner) = app.store.user(&issuer.id, user).await? {
        credential_news::tell(context, &call.received, &owner, Message::NewGenerator { at: now }).await;
    }
    let proven = attempt.first.proven().and(Factor::Totp, now);
    let Some(begun) = attempt.sign_in(call, Some(&interaction), &proven).await? else {
        return begin_again(context, asking, interaction);
    };
    interaction.pending.first_factor = None;
    interaction.pending.signed_in_at = Some(begun.session.auth_time);
    interaction.pending.wants = AnotherAccount::No;
    let sealed = interaction.seal(context)?;
    let look = asking.appearance(context);
    let page = RecoveryCodesPage {
        language: interaction.language,
        issuer_name: look.name,
        codes: shown.iter().map(|code| code.expose().to_owned()).collect(),
        continue_uri: address(context, login_page::PATH, &sealed),
    };
    let page =
        page.render_for(&issuer.prefix, &look.brand).map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(
        http::StatusCode::OK,
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    );
    let [cookie, others, known] = begun.cookies(context, &call.received);
    let provider = upstream_logout::cookie_after((context, &call.received), attempt.first, &begun.session)?;
    for cookie in [cookie, others, known, provider, interaction.browser.cookie(issuer)] {
        append(response.headers_mut(), cookie);
    }
    Ok(response)
}

/// The login page: the password is asked for again.
fn begin_again(
    context: &Context,
    asking: &Asking,
    mut interaction: Interaction<PendingAuthorization>,
) -> Result<Response, Failure> {
    interaction.pending.first_factor = None;
    login_page::page(context, &interaction, asking, None, None)
}
