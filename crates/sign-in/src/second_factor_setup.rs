//! Setting up a generator of one-time passwords on the way through a sign-in that requires a second factor.

use axum::response::Response;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::Message;
use symbolon_pages::{RecoveryCodesPage, SecondFactorError};
use symbolon_protocol::authenticator::{AuthenticatorSet, Totp};
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::event::Event;
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::sign_in::{Factor, recovery_code};
use symbolon_store::port::AuthenticatorUpdate;

use crate::interaction::{Interaction, PendingAuthorization, address};
use crate::login_page::{self, append};
use crate::requesting_client::Asking;
use crate::second_factor_attempt::{Attempt, again, is_of_generator, seal_secret};
use crate::session_begin::Begun;
use crate::signed_in::signed_in;
use crate::{credential_news, sent_twice, upstream_logout};
use symbolon_app::http::{Call, Context, Failure, Policy, Received, html};

/// How often recovery codes are drawn anew where other changes come first.
const TRIES: usize = 3;

/// The first code of a new generator: keeps its secret, signs in, and shows the recovery codes, once.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
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
    if is_of_generator(issuer, user, (&enrolled.set, secret)) {
        return kept_before(call, interaction, (attempt, asking), last_step).await;
    }
    // One was set up in another tab meanwhile; or the password was changed, and whoever knows the old one must not leave a
    // generator behind.
    if enrolled.set.totp.is_some() || !attempt.is_still().await? {
        return begin_again(context, asking, interaction);
    }
    let (stored, codes) = recovery_code::draw(user, &issuer.sign_in_key, &*app.random);
    let totp = Totp { secret: seal_secret(issuer, user, secret)?, added_at: now, last_step };
    let mut set = enrolled.set.clone();
    set.totp = Some(totp);
    set.recovery_codes = stored;
    call.must_complete();
    let written = app.store.put_authenticators(&issuer.id, user, enrolled.revision, &set).await?;
    if written != AuthenticatorUpdate::Written {
        call.may_be_given_up();
        let enrolled = app.store.authenticators(&issuer.id, user).await?;
        return match is_of_generator(issuer, user, (&enrolled.set, secret)) {
            true => kept_before(call, interaction, (attempt, asking), last_step).await,
            false => begin_again(context, asking, interaction),
        };
    }
    context.audit(Event::TotpAdded, Some(user), attempt.client);
    if let Some(owner) = app.store.user(&issuer.id, user).await? {
        credential_news::tell(context, &call.received, &owner, Message::NewGenerator { at: now }).await;
    }
    let proven = attempt.first.proven().and(Factor::Totp, now);
    match attempt.sign_in(call, Some(&interaction), &proven).await? {
        Some(begun) => show(&call.received, interaction, (attempt, asking), (begun, codes)),
        None => begin_again(context, asking, interaction),
    }
}

/// The answer to a form that was sent before: the recovery codes in the first answer were perhaps never seen, so others take
/// their place.
async fn kept_before(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    (attempt, asking): (&Attempt<'_>, &Asking),
    last_step: u64,
) -> Result<Response, Failure> {
    let context = attempt.context;
    let (Context { app, issuer, .. }, user) = (context, &attempt.first.user);
    let owner = app.store.user(&issuer.id, user).await?.filter(|user| user.may_sign_in());
    let begun = match &owner {
        Some(owner) => sent_twice::begun((context, &call.received), &interaction, owner).await?,
        None => None,
    };
    let (Some(owner), Some(begun)) = (owner, begun) else { return begin_again(context, asking, interaction) };
    call.must_complete();
    for _ in 0..TRIES {
        let enrolled = app.store.authenticators(&issuer.id, user).await?;
        let (stored, codes) = recovery_code::draw(user, &issuer.sign_in_key, &*app.random);
        let totp = enrolled.set.totp.map(|totp| Totp { last_step: totp.last_step.max(last_step), ..totp });
        let set = AuthenticatorSet { recovery_codes: stored, totp, ..enrolled.set };
        let written = app.store.put_authenticators(&issuer.id, user, enrolled.revision, &set).await?;
        if written == AuthenticatorUpdate::Written {
            context.audit(Event::RecoveryCodesDrawn, Some(user), attempt.client);
            let news = Message::NewRecoveryCodes { at: app.now() };
            credential_news::tell(context, &call.received, &owner, news).await;
            return show(&call.received, interaction, (attempt, asking), (begun, codes));
        }
    }
    signed_in(call, interaction, begun).await
}

/// The page with the recovery codes, which leads on into the session.
fn show(
    received: &Received,
    mut interaction: Interaction<PendingAuthorization>,
    (attempt, asking): (&Attempt<'_>, &Asking),
    (begun, codes): (Begun, Vec<SecretString>),
) -> Result<Response, Failure> {
    let context = attempt.context;
    let issuer = &context.issuer;
    interaction.pending.first_factor = None;
    interaction.pending.signed_in_at = Some(begun.session.auth_time);
    interaction.pending.wants = AnotherAccount::No;
    let sealed = interaction.seal(context)?;
    let look = asking.appearance(context);
    let page = RecoveryCodesPage {
        language: interaction.language,
        issuer_name: look.name,
        codes: codes.iter().map(|code| code.expose().to_owned()).collect(),
        continue_uri: address(context, login_page::PATH, &sealed),
    };
    let page =
        page.render_for(&issuer.prefix, &look.brand).map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(
        http::StatusCode::OK,
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    );
    let [cookie, others, known] = begun.cookies(context, received);
    let provider = upstream_logout::cookie_after((context, received), attempt.first, &begun.session)?;
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
