//! The page on which somebody asks for an account, and what its form does.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Mail, Message};
use symbolon_pages::{NewPassword, Notice, PuzzleView, RegisterError, RegisterPage};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::sign_in::email_code::EmailCode;
use symbolon_protocol::sign_in::mailed_code::{LIVES, MailedCode};
use symbolon_protocol::sign_in::puzzle;
use symbolon_protocol::sign_in::registration::Standing;

use super::applicant::{Applicant, Typed};
use super::new_password::new_password;
use super::{PATH, PendingRegistration, closed, confirm, invited, is_open};
use crate::after_answer::{after_answer, mail_language, may_be_told};
use crate::interaction::{Interaction, PendingAuthorization};
use crate::login_page::{self, append};
use crate::notice_page::notice;
use crate::onward::{self, Onward};
use crate::requesting_client::Asking;
use crate::{mailed_link, recovery};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, Received, html};
use symbolon_app::mail::language_of;
use symbolon_app::rate_limit::Limited;
use symbolon_app::registration::{INVITATION, leads_in, open_invitation, page_url};

/// `GET /register`, with what the person wants to sign in for, or with an invitation, or with neither.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let params = Params::parse(received.encoded())?;
    let sealed = params.get(INVITATION)?;
    let interaction = match Interaction::<PendingRegistration>::reopened(context, received, &params) {
        Some(own) => own,
        None => {
            let Onward { authorization, ui_locale } = Onward::of(context, received, &params)?;
            let invitation = sealed.and_then(|sealed| open_invitation(&context.issuer, sealed));
            let pending = PendingRegistration {
                authorization,
                ui_locale,
                invitation,
                ..PendingRegistration::default()
            };
            Interaction::begin(context, received, pending)
        }
    };
    let invitation = interaction.pending.invitation.as_ref();
    if !is_open(call, invitation) {
        return closed(call, interaction.pending.authorization.as_ref());
    }
    let is_over = match invitation {
        Some(own) => !leads_in((&*context.app, &*context.issuer), own).await?,
        None => sealed.is_some(),
    };
    if is_over {
        return notice((context, call.language()), StatusCode::GONE, Notice::InvitationOver, None);
    }
    let settings = context.issuer.settings.load_full();
    let email = invitation.map_or("", |invitation| invitation.email.as_str());
    let typed = Typed::empty(&settings.attributes, email);
    let choice = interaction.choice_cookie(context, &params)?;
    let mut response = page((context, received), &interaction, &typed, None).await?;
    append(response.headers_mut(), choice);
    Ok(response)
}

/// `POST /register`: mails a code, or says by mail that the address has an account. The answer is the same, and comes as
/// early: who has the address is looked up after it.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let Call { context, received, .. } = &*call;
    let mut interaction = Interaction::<PendingRegistration>::open(context, received, &params)?;
    let settings = context.issuer.settings.load_full();
    let mut typed = Typed::read(&params, &settings.attributes)?;
    if let Some(invitation) = &interaction.pending.invitation {
        typed.email.clone_from(&invitation.email);
    }
    if !is_open(call, interaction.pending.invitation.as_ref()) {
        return closed(call, interaction.pending.authorization.as_ref());
    }
    if !interaction.accepts((context, received), &params, Purpose::Register, "")? {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), None));
        return page((context, received), &interaction, &typed, Some(RegisterError::Expired)).await;
    }
    let applicant = match typed.applicant(&settings.attributes) {
        Ok(applicant) => applicant,
        Err(error) => return page((context, received), &interaction, &typed, Some(error)).await,
    };
    if interaction.pending.invitation.as_ref().is_some_and(|invitation| invitation.is_mailed) {
        return invited::submit(call, interaction, (applicant, &typed), &params).await;
    }
    let solution = params.get("puzzle")?.unwrap_or_default();
    let is_solved = |bits| puzzle::is_solved(bits, (interaction.form_id(), &typed.email), solution);
    if interaction.pending.invitation.is_none() && !is_solved(settings.registration_puzzle) {
        return page((context, received), &interaction, &typed, Some(RegisterError::Puzzle)).await;
    }
    let Context { app, issuer, remote, .. } = context;
    let limited = app.rate_limits.check_mail(&issuer.id, &applicant.email, *remote, app.now());
    if let Err(Limited { retry_after_seconds }) = limited {
        context.refused(RefusedRequest::anonymous(Reason::SignInRateLimited.into(), None));
        let error = RegisterError::TooManyAttempts { retry_after_seconds };
        return page((context, received), &interaction, &typed, Some(error)).await;
    }
    let email = applicant.email.clone();
    let code = mail_code(call, &mut interaction, applicant)?;
    let language = mail_language(interaction.language, None);
    let link = mailed_link::link(&call.context, &interaction, None)?;
    let message = Message::Registration { code, url: link, minutes: minutes() };
    let client = interaction.pending.authorization.as_ref().and_then(PendingAuthorization::client_id);
    let task = tell(call.context.clone(), Mail { to: email, language, user: None, client, message });
    after_answer(&call.context, task).await;
    confirm::ask((&call.context, &call.received), &interaction).await
}

/// Notes the applicant and a code for the address in the interaction; the code.
fn mail_code(
    call: &Call,
    interaction: &mut Interaction<PendingRegistration>,
    applicant: Applicant,
) -> Result<SecretString, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let (code, expires_at) = (EmailCode::draw(&*app.random), app.now() + LIVES);
    let mailed = MailedCode::new(&applicant.email, &code, &issuer.sign_in_key, expires_at, &*app.random);
    let pending = &mut interaction.pending;
    (pending.applicant, pending.code, pending.is_proven) = (Some(applicant), Some(mailed), false);
    Ok(SecretString::new(code.expose().to_owned()))
}

/// How long a code lives.
fn minutes() -> u32 {
    u32::try_from(LIVES.as_secs() / 60).unwrap_or(u32::MAX)
}

/// Mails the code, or says that the address has an account: one mail in either case.
async fn tell(context: Context, mail: Mail) {
    let Context { app, issuer, .. } = &context;
    let found = match app.store.user_by_login(&issuer.id, &mail.to).await {
        Ok(found) => found.map(|(user, _)| user),
        Err(error) => {
            tracing::warn!(target: "symbolon::mail", %error, "no mail was sent to somebody who registers");
            return;
        }
    };
    let standing = Standing::of(&mail.to, found.as_deref());
    let mail = match found.filter(|_| standing == Standing::Proven) {
        None => mail,
        Some(user) => {
            let message = Message::AccountExists { url: page_url(issuer, recovery::PATH) };
            // As it is written in the account: another spelling may be one that no server of mail takes.
            let to = user.email.clone().unwrap_or_else(|| mail.to.clone());
            if !may_be_told(&context, &to, &mail.to, context.remote) {
                return;
            }
            let language = language_of(&user, mail.language.tag());
            Mail { to, language, user: Some(user.id.clone()), message, ..mail }
        }
    };
    context.app.queue_mail(&context.issuer, &mail).await;
}

/// The page, before or after an attempt.
///
/// # Errors
/// [`Failure`]
pub(super) async fn page(
    (context, received): (&Context, &Received),
    interaction: &Interaction<PendingRegistration>,
    typed: &Typed,
    error: Option<RegisterError>,
) -> Result<Response, Failure> {
    let pending = &interaction.pending;
    let asking = match &pending.authorization {
        Some(wanted) => Some(Asking::of(context, wanted).await?),
        None => None,
    };
    let look =
        asking.as_ref().map_or_else(|| context.issuer.appearance(), |asking| asking.appearance(context));
    let client = asking.as_ref().and_then(Asking::client);
    let client_name = client.map(|client| client.display_name_in(interaction.language.tag()));
    let bits = context.issuer.settings.load().registration_puzzle;
    let puzzle = (bits > 0 && pending.invitation.is_none())
        .then(|| PuzzleView { bits, page: interaction.id().to_owned() });
    let status = status(error.as_ref());
    let retry_after = match &error {
        Some(RegisterError::TooManyAttempts { retry_after_seconds }) => Some(*retry_after_seconds),
        Some(RegisterError::Busy) => Some(1),
        _ => None,
    };
    // Whoever was invited by mail has proven the address with the link.
    let opens_account = pending.invitation.as_ref().is_some_and(|invitation| invitation.is_mailed);
    let page = RegisterPage {
        language: interaction.language,
        issuer_name: look.name,
        client_name,
        action: format!("{}{PATH}", context.issuer.prefix),
        transaction: interaction.seal(context)?,
        csrf: interaction.csrf_token(context, Purpose::Register, ""),
        email: typed.email.clone(),
        is_invited: pending.invitation.is_some(),
        given_name: typed.given_name.clone(),
        family_name: typed.family_name.clone(),
        attributes: typed.attributes.clone(),
        new_password: if opens_account { new_password(context) } else { NewPassword::NotAsked },
        opens_account,
        puzzle,
        sign_in_uri: onward::page_with(context, received, pending.authorization.as_ref(), login_page::PATH)?,
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(status, page, &Policy { language: interaction.language, ..Policy::default() });
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}

const fn status(error: Option<&RegisterError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        Some(RegisterError::Expired | RegisterError::Puzzle) => StatusCode::FORBIDDEN,
        Some(RegisterError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(RegisterError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::BAD_REQUEST,
    }
}
