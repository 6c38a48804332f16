//! The authorization endpoint (RFC 6749 3.1, OpenID Connect Core 3.1.2).

use axum::response::Response;
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::authorize::pushed_request::{self, PushedRequestId};
use symbolon_protocol::authorize::request::{AuthorizationRequest, Rejection};
use symbolon_protocol::authorize::response;
use symbolon_protocol::encoded;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::session::SessionId;
use symbolon_store::Durable;

use crate::authorization_attempt::{AuthorizationAttempt, note_refused};
use crate::authorization_response::{send, sign_for};
use crate::browser_accounts::has_others;
use crate::interaction::{Interaction, Page, PendingAuthorization, chosen_language, root, to_root};
use crate::next_step::{NextStep, Unsigned};
use crate::requesting_client::client_of;
use crate::sign_in_goal::{AccountGoal, SignInGoal};
use crate::{consent_page, email_code_page, login_page, second_factor_page, select_account_page, step_up};
use symbolon_app::http::language::choice_cookie;
use symbolon_app::http::{Call, Context, Failure, Received, redirect, session_cookie};

/// The longest request that may wait for a person, in bytes of its JSON. The page's form carries it sealed, and the
/// browser sends it back.
const LONGEST_PENDING: usize = 8 * 1024;

/// `GET` and `POST /authorize`.
///
/// # Errors
/// [`Failure`]: errors that may be shown only to the person and not sent to the client (RFC 6749 4.1.2.1), or an
/// unavailable store.
pub(super) async fn authorize(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let session = session_cookie(&received.headers, &context.issuer);
    let attempt = AuthorizationAttempt { context, session, received, so_far: None };
    let next = attempt.run(received.encoded(), true, client, durable).await?;
    let session = attempt.session;
    match next {
        NextStep::Answer(response) => Ok(response),
        // Boxed, because all else is rare and its futures are large: the future of a silent request stays small.
        next => Box::pin(go_on(call, next, session)).await,
    }
}

/// What follows where a request is not answered at once. `session`: the browser's present session.
async fn go_on(call: &mut Call, next: NextStep, session: Option<SessionId>) -> Result<Response, Failure> {
    match next {
        NextStep::Sign(answer) => sign(call, answer).await,
        NextStep::Pushed(id) => pushed(call, id, session).await,
        NextStep::Signed(request) => carried(call, request, session).await,
        next => begin(call, None, next).await,
    }
}

/// Evaluates a request that was pushed (RFC 9126 4). It is used up at this first look.
///
/// # Errors
/// As [`authorize`], and `invalid_request_uri` if this client has pushed no such request, or it was used or has ended.
async fn pushed(
    call: &mut Call,
    id: PushedRequestId,
    session: Option<SessionId>,
) -> Result<Response, Failure> {
    let Call { context, client, .. } = call;
    let (app, issuer) = (&context.app, &context.issuer);
    let Some(by) = client.clone() else {
        return Err(Failure::Internal("a pushed request without a client".into()));
    };
    // RFC 9126 4: `client_id` must be the client that has pushed it; what else is in the address does not count.
    let kept = app.store.use_pushed_request(&issuer.id, &by.client_id, &id, app.now()).await?;
    let Some(request) = kept else { return Err(pushed_request::unknown(&by.client_id).into()) };
    Box::pin(carried(call, request, session)).await
}

/// Evaluates a request whose parameters are not those of the HTTP request: the client has pushed or signed them. If it needs a
/// page, the interaction carries them from then on.
async fn carried(
    call: &mut Call,
    request: Box<[u8]>,
    session: Option<SessionId>,
) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let attempt = AuthorizationAttempt { context, session, received, so_far: None };
    match attempt.run(&request, false, client, durable).await? {
        NextStep::Answer(response) => Ok(response),
        NextStep::Sign(answer) => sign(call, answer).await,
        next => Box::pin(begin(call, Some(request), next)).await,
    }
}

/// Signs the answer to the client of a request (JARM 2.1).
async fn sign(call: &mut Call, answer: Box<Unsigned>) -> Result<Response, Failure> {
    let Some(client) = &call.client else { return Err(Failure::Internal("an answer to nobody".to_owned())) };
    sign_for(*answer, (&call.context, &call.received), client).await
}

/// Begins the interaction of a request that needs a page. `carried`: its parameters, if they were pushed or signed.
async fn begin(call: &mut Call, carried: Option<Box<[u8]>>, next: NextStep) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let request = carried.as_deref().unwrap_or_else(|| received.encoded());
    let pending = PendingAuthorization::of(request)?;
    if !pending.request().is_none_or(|request| encoded::fits_json(request, LONGEST_PENDING)) {
        let description = "a request that needs a page may have 8 KiB at most";
        let error = OAuthError::invalid_request(Reason::RequestTooLongForPage, description);
        return refuse(call, &pending, error).await;
    }
    let interaction = Interaction::begin(context, received, pending);
    let session = session_cookie(&received.headers, &context.issuer);
    lead_to(call, (interaction, session), next, Page::Other).await
}

/// `GET` of the login or the consent page, opened by its address: the page is shown only if the request still needs it.
/// After a bookmark, Back, a reload or a sign-in in another tab, the person is led on instead.
///
/// # Errors
/// As [`authorize`], and `invalid_request` for an address that is not from a page of ours.
pub(super) async fn show(call: &mut Call, page: Page) -> Result<Response, Failure> {
    let params = Params::parse(call.received.encoded())?;
    if params.get("transaction")?.is_none() {
        return Ok(to_root(&call.context));
    }
    let chosen = chosen_language(&params)?;
    let interaction = Interaction::<PendingAuthorization>::open(&call.context, &call.received, &params)?;
    let session = session_cookie(&call.received.headers, &call.context.issuer);
    let mut response = resume(call, interaction, session, page).await?;
    if let Some(chosen) = chosen {
        login_page::append(response.headers_mut(), choice_cookie(&call.context.issuer, chosen));
    }
    Ok(response)
}

/// Evaluates the request of an interaction again, and answers it or shows the page that it needs next. `session` is
/// the browser's present session.
///
/// # Errors
/// As [`authorize`].
pub(super) async fn resume(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    session: Option<SessionId>,
    on: Page,
) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let so_far = &interaction.pending;
    let next = match &so_far.goal {
        SignInGoal::Request(request) => {
            let attempt =
                AuthorizationAttempt { context, session: session.clone(), received, so_far: Some(so_far) };
            attempt.run(request.as_bytes(), false, client, durable).await?
        }
        SignInGoal::Account(page) => {
            to_account((context, received), page, (so_far, session.as_ref()), durable).await?
        }
    };
    lead_to(call, (interaction, session), next, on).await
}

/// Leads to a page of the account, if the person has proven as much as it wants.
async fn to_account(
    (context, received): (&Context, &Received),
    page: &AccountGoal,
    (so_far, session): (&PendingAuthorization, Option<&SessionId>),
    durable: &mut Durable,
) -> Result<NextStep, Failure> {
    let Context { app, issuer, .. } = context;
    let session = match session {
        Some(id) => app.store.session(&issuer.id, id, app.now()).await?.take(durable),
        None => None,
    };
    let Some(session) = session else {
        let is_asked =
            so_far.wants != AnotherAccount::SignIn && has_others(context, received, durable).await?;
        return Ok(if is_asked { NextStep::SelectAccount } else { NextStep::SignIn });
    };
    let done = so_far.so_far();
    match so_far.wants {
        AnotherAccount::SignIn if !done.is_signed_in_with(&session) => return Ok(NextStep::SignIn),
        AnotherAccount::Choose if !done.has_chosen(&session) => return Ok(NextStep::SelectAccount),
        _ => {}
    }
    let user = app.store.user(&issuer.id, &session.user).await?;
    let is_enough =
        user.is_some_and(|user| user.may_sign_in()) && page.freshness().is_met(context, &session).await?;
    let to = format!("{}{}", issuer.prefix, page.address());
    Ok(if is_enough { NextStep::Answer(redirect(received.is_post(), &to)) } else { NextStep::SignIn })
}

/// `session`: the browser's present session.
async fn lead_to(
    call: &mut Call,
    (interaction, session): (Interaction<PendingAuthorization>, Option<SessionId>),
    next: NextStep,
    on: Page,
) -> Result<Response, Failure> {
    match next {
        NextStep::Answer(response) => Ok(response),
        NextStep::Sign(answer) => sign(call, answer).await,
        NextStep::Pushed(_) | NextStep::Signed(_) => {
            Err(Failure::Internal("a request in an interaction has its parameters itself".into()))
        }
        NextStep::SelectAccount => select_account_page::ask(call, interaction, on).await,
        NextStep::SignIn => sign_in(call, interaction, on).await,
        NextStep::StepUp(present, asked) => {
            let mut interaction = interaction;
            if step_up::begin(&call.context, &mut interaction, &present, asked).await? {
                return second_factor_page::ask(call, interaction, on).await;
            }
            Box::pin(resume(call, interaction, session, on)).await
        }
        NextStep::Consent(session, scopes) => {
            consent_page::ask(call, interaction, (&session, scopes), on).await
        }
    }
}

/// Leads to the page of the method that the person is about to sign in by.
async fn sign_in(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    on: Page,
) -> Result<Response, Failure> {
    // A session that was to step up, and has ended.
    if interaction.pending.first_factor.as_ref().is_some_and(|first| first.is_voluntary()) {
        interaction.pending.first_factor = None;
    }
    if interaction.pending.first_factor.is_some() {
        return second_factor_page::ask(call, interaction, on).await;
    }
    if on == Page::EmailCode && interaction.pending.email_code.is_some() {
        return email_code_page::ask(call, &interaction, on).await;
    }
    login_page::ask(call, interaction, on).await
}

/// Tells the client that its request was refused, in the response mode that it asked for (RFC 6749 4.1.2.1). Whoever did
/// not come from a client is led to the first page.
///
/// # Errors
/// As [`authorize`].
pub(super) async fn refuse(
    call: &mut Call,
    pending: &PendingAuthorization,
    error: OAuthError,
) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let Some(request) = pending.request() else { return Ok(redirect(received.is_post(), &root(context))) };
    let params = Params::parse(request.as_bytes())?;
    let client = client_of(context, &params).await?;
    let settings = context.issuer.settings.load_full();
    let to = match AuthorizationRequest::check(&params, &client, (&context.issuer.url, &settings)) {
        Ok(request) => request.return_to,
        Err(Rejection::Redirect(to, _)) => to,
        Err(Rejection::Page(error)) => return Err(error.into()),
    };
    let answer = response::error(&to, &error, &context.issuer.url);
    note_refused(context, error, &client);
    match send(answer, received, &context.issuer)? {
        NextStep::Sign(answer) => sign_for(*answer, (context, received), &client).await,
        NextStep::Answer(response) => Ok(response),
        _ => Err(Failure::Internal("a refusal is an answer".to_owned())),
    }
}
