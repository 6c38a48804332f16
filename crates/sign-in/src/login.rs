//! The form of the login page: a name and a password, or the name first.

use axum::response::Response;
use symbolon_crypto::secret::SecretString;
use symbolon_pages::LoginError;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::sign_in::method::{SignInMethod, SignInPage};
use symbolon_protocol::sign_in::{Factor, Proven};

use crate::authorize::resume;
use crate::first_factor::Proof;
use crate::identity_provider;
use crate::interaction::{Page, session_of};
use crate::login_form::{self, LoginForm, Opened, is_plain_name};
use crate::password_attempt::PasswordAttempt;
use crate::session_begin::{SignIn, begin_for};
use crate::signed_in::signed_in;
use crate::{known_browser, login_page, passkey_offer_page, second_factor};
use symbolon_app::http::{Call, Failure};

/// `POST /login`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let form = match login_form::open(call, &params).await? {
        Opened::Form(form) => form,
        Opened::Answered(answer) => return Ok(answer),
    };
    let settings = call.context.issuer.settings.load_full();
    if params.get("other")?.is_some() || is_name_alone(&settings, &params)? {
        let is_other = params.get("other")?.is_some();
        let form = match is_other {
            true => form,
            false => match identity_provider::route(call, *form).await? {
                Ok(answer) => return Ok(answer),
                Err(form) => form,
            },
        };
        return ask_for_proof(call, *form, is_other).await;
    }
    if !login_page::offers(&call.context, SignInMethod::Password) {
        form.note(&call.context, Refusal::about(Reason::SignInMethodOff, Details::of("sign_in_methods")));
        return form.refused(&call.context, LoginError::Expired).await;
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    let creates_passkeys = params.get("creates_passkeys")? == Some("true");
    by_password(call, *form, password, creates_passkeys).await
}

/// Whether the page asked for the name only.
fn is_name_alone(settings: &IssuerSettings, params: &Params<'_>) -> Result<bool, Failure> {
    Ok(settings.sign_in_page == SignInPage::IdentifierFirst && params.get("password")?.is_none())
}

/// The second of two pages, or the first one again. Nothing is looked up, so it says nothing about the name.
async fn ask_for_proof(call: &mut Call, form: LoginForm, is_other: bool) -> Result<Response, Failure> {
    let LoginForm { mut interaction, typed, .. } = form;
    interaction.pending.login_name = typed.filter(|typed| !is_other && is_plain_name(typed));
    let session = session_of(&call.context, &call.received, &mut call.durable).await?;
    resume(call, interaction, session.map(|(id, _)| id), Page::Login).await
}

async fn by_password(
    call: &mut Call,
    form: LoginForm,
    password: SecretString,
    creates_passkeys: bool,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    let (typed, client) = (form.typed.clone().unwrap_or_default(), form.asking.client_id().cloned());
    let from = known_browser::origin(&context, &call.received, &typed);
    let attempt = PasswordAttempt {
        context: &context,
        client: client.as_ref(),
        username: &typed,
        password: &password,
        from: &from,
    };
    let right = match attempt.check().await? {
        Ok(right) => right,
        Err(error) => return form.refused(&context, error).await,
    };
    let proven = Proven::by(Factor::Password, context.app.now());
    let assessed = second_factor::assess(call, &form.asking, &right.user, proven).await?;
    let LoginForm { mut interaction, asking, typed } = form;
    let can_create = creates_passkeys && passkey_offer_page::is_due(call, &right.user, &assessed.set);
    interaction.pending.offer_passkey = can_create;
    if second_factor::is_needed(&assessed.step) {
        let hash = attempt.rehash(&right).await;
        let proof = Proof::Password { hash: hash.digest() };
        return second_factor::begin(call, interaction, (&right.user, proof), &assessed.step).await;
    }
    let sign_in = SignIn { user: &right.user, amr: assessed.proven.amr(), client: client.as_ref() };
    match begin_for(call, &interaction, sign_in, || attempt.is_still(&right)).await? {
        Some(begun) => {
            let response = signed_in(call, interaction, begun).await;
            attempt.rehash(&right).await;
            response
        }
        None => {
            let error = attempt.refused(Reason::SignInOvertaken, LoginError::InvalidCredentials);
            interaction.pending.offer_passkey = false;
            LoginForm { interaction, asking, typed }.refused(&context, error).await
        }
    }
}
