//! The page that waits for the code, and the account that follows.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use symbolon_pages::{MailedCodeError, MailedCodeGoal, MailedCodePage, Notice};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;

use super::account::{self, NotOpened};
use super::applicant::Typed;
use super::{CONFIRM, PATH, PendingRegistration, apply, closed, is_open, new_password};
use crate::code_attempt::{check, status};
use crate::interaction::{Interaction, address, fits_address};
use crate::login_page::append;
use crate::mailed_link::{self, OpenedLink};
use crate::notice_page::notice;
use crate::onward;
use crate::requesting_client::appearance;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, Received, html, redirect};

/// Leads to the page, or shows it if its interaction is too long for an address.
pub(super) async fn ask(
    (context, received): (&Context, &Received),
    interaction: &Interaction<PendingRegistration>,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(context)?;
    if !fits_address(&sealed) {
        return page((context, received), interaction, None).await;
    }
    let to = address(context, CONFIRM, &sealed);
    Ok(onward::lead(received, &to, interaction.browser.cookie(&context.issuer)))
}

/// `GET /register/confirm`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let params = Params::parse(received.encoded())?;
    if params.get("transaction")?.is_none() {
        return Ok(redirect(false, &format!("{}{PATH}", context.issuer.prefix)));
    }
    let interaction = Interaction::<PendingRegistration>::open(context, received, &params)?;
    match interaction.pending.applicant {
        Some(_) => page((context, received), &interaction, None).await,
        None => begin_again(call, &interaction),
    }
}

/// `GET /register/link`: in the browser that asked, leads on without the code. Uses nothing up.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn link(call: &mut Call) -> Result<Response, Failure> {
    match mailed_link::open::<PendingRegistration>(call)? {
        OpenedLink::Here(interaction) => ask((&call.context, &call.received), &interaction).await,
        OpenedLink::Elsewhere(code) => {
            notice((&call.context, call.language()), StatusCode::OK, Notice::OtherBrowser { code }, None)
        }
        OpenedLink::Over => {
            let again = Some(format!("{}{PATH}", call.context.issuer.prefix));
            notice((&call.context, call.language()), StatusCode::GONE, Notice::LinkOver, again)
        }
    }
}

/// `POST /register/confirm`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let Call { context, received, .. } = &*call;
    let here = (context, received);
    let interaction = Interaction::<PendingRegistration>::open(context, received, &params)?;
    if !is_open(call, interaction.pending.invitation.as_ref()) {
        return closed(call, interaction.pending.authorization.as_ref());
    }
    let is_ours = interaction.accepts((context, received), &params, Purpose::MailedCode, "")?;
    let pending = &interaction.pending;
    let (Some(applicant), Some(code)) = (pending.applicant.clone(), pending.code.clone()) else {
        return begin_again(call, &interaction);
    };
    if !is_ours {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), None));
        return page(here, &interaction, Some(MailedCodeError::Expired)).await;
    }
    let password = match new_password::typed(context, &params, &applicant).await? {
        Ok(password) => password,
        Err(why) => return page(here, &interaction, Some(why.into())).await,
    };
    let typed = params.get("code")?.unwrap_or_default();
    if !pending.is_proven
        && let Err(error) = check(call, &code, typed).await?
    {
        return page((&call.context, &call.received), &interaction, Some(error)).await;
    }
    let whose = (&applicant, interaction.language);
    match account::open(call, &interaction.pending, whose, password).await? {
        Ok(user) => account::sign_in(call, interaction, &user).await,
        Err(NotOpened::Busy) => {
            page((&call.context, &call.received), &interaction, Some(MailedCodeError::Busy)).await
        }
        Err(NotOpened::UsedUp) => match account::opened_before(call, &interaction, &applicant.email).await? {
            Some(answer) => Ok(answer),
            None => page((&call.context, &call.received), &interaction, Some(MailedCodeError::UsedUp)).await,
        },
        Err(NotOpened::Exists) => account::exists(call, &interaction.pending),
        Err(NotOpened::Taken) => {
            let settings = call.context.issuer.settings.load_full();
            let typed = Typed::empty(&settings.attributes, &applicant.email);
            apply::page(
                (&call.context, &call.received),
                &interaction,
                &typed,
                Some(symbolon_pages::RegisterError::Taken),
            )
            .await
        }
    }
}

/// The first page again, for who waited too long or has another browser now.
fn begin_again(call: &Call, interaction: &Interaction<PendingRegistration>) -> Result<Response, Failure> {
    let wanted = interaction.pending.authorization.as_ref();
    let first = onward::page_with(&call.context, &call.received, wanted, PATH)?;
    let first = first.unwrap_or_else(|| format!("{}{PATH}", call.context.issuer.prefix));
    Ok(onward::lead(&call.received, &first, interaction.browser.cookie(&call.context.issuer)))
}

/// The page, before or after an attempt.
async fn page(
    (context, received): (&Context, &Received),
    interaction: &Interaction<PendingRegistration>,
    error: Option<MailedCodeError>,
) -> Result<Response, Failure> {
    let pending = &interaction.pending;
    let look = appearance(context, pending.authorization.as_ref()).await?;
    let again = onward::page_with(context, received, pending.authorization.as_ref(), PATH)?;
    let page = MailedCodePage {
        language: interaction.language,
        issuer_name: look.name,
        goal: MailedCodeGoal::Registration,
        email: pending.applicant.as_ref().map(|applicant| applicant.email.clone()).unwrap_or_default(),
        is_proven: pending.is_proven,
        code: None,
        new_password: new_password::new_password(context),
        action: format!("{}{CONFIRM}", context.issuer.prefix),
        transaction: interaction.seal(context)?,
        csrf: interaction.csrf_token(context, Purpose::MailedCode, ""),
        again_uri: again.unwrap_or_else(|| format!("{}{PATH}", context.issuer.prefix)),
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let policy = Policy {
        leads_to_client: pending.authorization.is_some(),
        ..Policy { language: interaction.language, ..Policy::default() }
    };
    let mut response = html(status(error), page, &policy);
    if let Some(MailedCodeError::TooManyAttempts { retry_after_seconds }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}
