//! The authorization endpoint (RFC 6749 3.1, OpenID Connect Core 3.1.2).

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::FormPostPage;
use symbolon_protocol::authorize::request::{AuthorizationRequest, Rejection};
use symbolon_protocol::authorize::response::{self, AuthorizationResponse, Issuance};
use symbolon_protocol::authorize::{AnotherAccount, Decision, decide};
use symbolon_protocol::client::Client;
use symbolon_protocol::consent::{Consent, ConsentTerms};
use symbolon_protocol::encoded;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::event::Event;
use symbolon_protocol::id_token_hint::IdTokenHint;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::session_management::{SessionState, browser_state};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::sign_in::acr::RequestedAcr;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;

use crate::browser_accounts::{has_others, may_have_others};
use crate::interaction::{Interaction, Page, PendingAuthorization, chosen_language, root, to_root};
use crate::request_account::RequestAccount;
use crate::requesting_client::client_of;
use crate::sign_in_goal::{AccountGoal, SignInGoal};
use crate::{
    consent_page, email_code_page, login_page, second_factor_page, second_factor_policy, select_account_page,
    step_up,
};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::language::{choice_cookie, locale, page_language};
use symbolon_app::http::{
    Call, Context, Failure, Framing, Policy, Received, browser_state_cookie, html, known_browser_state,
    redirect, remove_browser_state, session_cookie,
};
use symbolon_app::issuer::IssuerState;
use symbolon_telemetry::RequestFacts;

/// The longest request that may wait for a person, in bytes of its JSON. The page's form carries it sealed, and the
/// browser sends it back.
const LONGEST_PENDING: usize = 8 * 1024;

/// The error for a client whose user was issued too many codes recently (RFC 6749 4.1.2.1).
const TOO_MANY_CODES: OAuthError = OAuthError::new(
    ErrorCode::TemporarilyUnavailable,
    Reason::CodesTooMany,
    "this person got too many authorization codes lately: try again in a moment",
);

/// `GET` and `POST /authorize`.
///
/// # Errors
/// [`Failure`]: errors that may be shown only to the person and not sent to the client (RFC 6749 4.1.2.1), or an
/// unavailable store.
pub(super) async fn authorize(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let session = session_cookie(&received.headers, &context.issuer);
    let attempt = AuthorizationAttempt { context, session, received, so_far: None };
    match attempt.run(received.encoded(), client, durable).await? {
        NextStep::Answer(response) => Ok(response),
        // Boxed, because pages are rare and their futures are large: the future of a silent request stays small.
        next => Box::pin(begin(call, next)).await,
    }
}

/// Begins the interaction of a request that needs a page.
async fn begin(call: &mut Call, next: NextStep) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let pending = PendingAuthorization::of(received.encoded())?;
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
            attempt.run(request.as_bytes(), client, durable).await?
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
    let to = format!("{}{}", issuer.prefix, page.place().path());
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
    send(answer, received, &context.issuer)
}

/// Notes an error that goes to the client by redirect.
fn note_refused(context: &Context, mut error: OAuthError, client: &Client) {
    RequestFacts::new().oauth_error(error.code.as_str()).note();
    let (refusal, client) = (error.take_refusal(), Some(&client.client_id));
    let told = Some((error.code.as_str(), &*error.description));
    context.refused(RefusedRequest { told, ..RefusedRequest::anonymous(refusal, client) });
}

/// What an authorization request needs next.
pub(super) enum NextStep {
    /// Nothing: it is answered.
    Answer(Response),
    /// The person must choose one of the accounts that are signed in in the browser.
    SelectAccount,
    /// The person must sign in.
    SignIn,
    /// The session's user is to be asked for one factor more, to reach one of these classes.
    StepUp(Arc<Session>, RequestedAcr),
    /// The session's user must consent to these scopes.
    Consent(Arc<Session>, Scope),
}

/// One evaluation of an authorization request: the first, or one after the person signed in or consented.
struct AuthorizationAttempt<'a> {
    context: &'a Context,
    /// The session id that the browser presented.
    session: Option<SessionId>,
    /// The HTTP request: its method decides the redirect's status.
    received: &'a Received,
    /// What the person has done on the pages for this request; `None` at the first evaluation.
    so_far: Option<&'a PendingAuthorization>,
}

/// An authorization request with the records that it refers to.
struct LoadedRequest<'a> {
    request: AuthorizationRequest<'a>,
    client: &'a Client,
    hint: &'a IdTokenHint,
    found: &'a RequestAccount,
    settings: &'a IssuerSettings,
    now: Timestamp,
}

impl AuthorizationAttempt<'_> {
    /// Answers the request by a redirect with a code or an error, or returns the page that it needs.
    async fn run(
        &self,
        encoded: &[u8],
        asking: &mut Option<Arc<Client>>,
        durable: &mut Durable,
    ) -> Result<NextStep, Failure> {
        let Context { app, issuer, .. } = self.context;
        let params = Params::parse(encoded)?;
        let client = client_of(self.context, &params).await?;
        *asking = Some(Arc::clone(&client));
        let settings = issuer.settings.load();
        let request = match AuthorizationRequest::check(&params, &client, (&issuer.url, &settings)) {
            Ok(request) => request,
            Err(Rejection::Page(error)) => {
                let reason = &*error.description;
                tracing::warn!(target: "symbolon::request", client_id = %client.client_id, reason, "refused on a page");
                return Err(error.into());
            }
            Err(Rejection::Redirect(to, error)) => {
                return self.error(response::error(&to, &error, &issuer.url), error, &client);
            }
        };
        let now = app.now();
        let hint = issuer.id_token_hint(request.id_token_hint);
        let found = self.account(&hint, now, durable).await?;
        let mut loaded =
            LoadedRequest { request, client: &client, hint: &hint, found: &found, settings: &settings, now };
        match self.decide(&mut loaded).await? {
            Decision::Issue { scope } => self.issue(&loaded, scope, durable).await,
            Decision::SelectAccount => Ok(NextStep::SelectAccount),
            Decision::Login { .. } => Ok(NextStep::SignIn),
            Decision::StepUp => {
                let asked = loaded.request.acr;
                Ok(found.session.map_or(NextStep::SignIn, |session| NextStep::StepUp(session, asked)))
            }
            Decision::Consent { scopes } => match found.session {
                Some(session) => Ok(NextStep::Consent(session, scopes)),
                None => Ok(NextStep::SignIn),
            },
            Decision::Error(error) => {
                let answer = response::error(&loaded.request.return_to, &error, &issuer.url);
                let mut next = self.error(answer, error, &client)?;
                let is_nobody = found.session.is_none() && !found.is_none_in_use;
                if let (NextStep::Answer(response), true, true) =
                    (&mut next, is_nobody, settings.session_management)
                    && known_browser_state(&self.received.headers, issuer).is_some()
                {
                    // The frame of Session Management says from now on that the person is signed out.
                    login_page::append(response.headers_mut(), remove_browser_state(issuer));
                }
                Ok(next)
            }
        }
    }

    /// The account that the request is about.
    async fn account(
        &self,
        hint: &IdTokenHint,
        now: Timestamp,
        durable: &mut Durable,
    ) -> Result<RequestAccount, Failure> {
        let Context { app, issuer, .. } = self.context;
        let session = match &self.session {
            Some(id) => app.store.session(&issuer.id, id, now).await?.take(durable),
            None => None,
        };
        // Boxed, so that the future of a silent request stays small.
        if let (Some(id), None) = (&self.session, &session) {
            Box::pin(app.end_expired(issuer, id, durable)).await?;
        }
        let found = RequestAccount { session, ..RequestAccount::default() };
        if found.is_whom(hint) || !may_have_others(self.context, self.received) {
            return Ok(found);
        }
        let so_far = self.so_far.map(PendingAuthorization::so_far);
        Box::pin(found.among_others((self.context, self.received), (hint, so_far), durable)).await
    }

    /// Whether a role demands a second factor of who is signed in, whose session may be older than the role.
    async fn is_demanded_by_role(&self, found: &RequestAccount) -> Result<bool, Failure> {
        match &found.session {
            Some(session) => second_factor_policy::by_role(self.context, &session.user).await,
            None => Ok(false),
        }
    }

    fn error(
        &self,
        answer: AuthorizationResponse,
        error: OAuthError,
        client: &Client,
    ) -> Result<NextStep, Failure> {
        note_refused(self.context, error, client);
        send(answer, self.received, &self.context.issuer).map(NextStep::Answer)
    }

    async fn decide(&self, loaded: &mut LoadedRequest<'_>) -> Result<Decision, Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { request, client, hint, found, settings, now } = loaded;
        // Boxed, and only where roles may demand one, so that the future of a silent request stays small.
        if !settings.second_factor_roles.is_empty() {
            request.needs_second_factor |= Box::pin(self.is_demanded_by_role(found)).await?;
        }
        let consent: Option<Consent> = match &found.session {
            Some(session) if !client.skip_consent => {
                app.store.consent(&issuer.id, &session.user, &client.client_id).await?
            }
            _ => None,
        };
        let terms = ConsentTerms::of(settings, &client.settings);
        let consent = consent.filter(|consent| terms.are_met_by(consent, *now));
        let so_far = self.so_far.map(PendingAuthorization::so_far);
        let signed_in = found.signed_in(consent.as_ref());
        Ok(decide(request, client, signed_in, hint, so_far.unwrap_or_default(), *now))
    }

    async fn issue(
        &self,
        loaded: &LoadedRequest<'_>,
        scope: Scope,
        durable: &mut Durable,
    ) -> Result<NextStep, Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { request, client, found, settings, now, .. } = loaded;
        let Some(session) = &found.session else {
            return Err(Failure::Internal("a code without a session".into()));
        };
        if app.rate_limits.check_code(&issuer.id, &session.user, *now).is_err() {
            // RFC 6749 4.1.2.1: the error goes to the client, because the request may be a silent one in a frame. The
            // log and metrics show it as rate limited, not as an unavailable store.
            let answer = response::error(&request.return_to, &TOO_MANY_CODES, &issuer.url);
            note_refused(self.context, TOO_MANY_CODES.about(Details::of_user(&session.user)), client);
            RequestFacts::new().oauth_error("rate_limit_exceeded").note();
            return send(answer, self.received, issuer).map(NextStep::Answer);
        }
        let issuance = Issuance { issuer: &issuer.id, settings, client, session, now: *now };
        let grant = issuance.code_grant(request, scope, &*app.random);
        let code = app.store.keep_code(&issuer.id, grant, *now, &*app.random).await?;
        if !session.clients.contains(&client.client_id)
            && let Some(id) = found.named.as_deref().or(self.session.as_ref())
            && app
                .store
                .note_client(
                    &issuer.id,
                    id,
                    &client.client_id,
                    client.logout.backchannel_logout_uri.is_some(),
                )
                .await?
                .take(durable)
        {
            self.context.audit(Event::GrantBegun, Some(&session.user), Some(&client.client_id));
        }
        if request.prompt.none {
            app.audit.count(Event::SilentAuthentication);
        }
        let return_to = &request.return_to;
        if !settings.session_management {
            let answer = response::success(return_to, &code, &issuer.url, None);
            return send(answer, self.received, issuer).map(NextStep::Answer);
        }
        let known = known_browser_state(&self.received.headers, issuer);
        let in_use = found.sid_in_use(issuer, self.session.as_ref());
        let here = browser_state(known, in_use.as_ref());
        let state = SessionState::of(&client.client_id, return_to.redirect_uri, here, &*app.random);
        let answer = response::success(return_to, &code, &issuer.url, state.as_ref());
        let mut response = send(answer, self.received, issuer)?;
        if known != Some(here) {
            let cookie = browser_state_cookie(issuer, here, session.expires_at.since(*now));
            login_page::append(response.headers_mut(), cookie);
        }
        Ok(NextStep::Answer(response))
    }
}

/// Writes an authorization response in its response mode. `after_post`: the HTTP request was a POST.
fn send(
    answer: AuthorizationResponse,
    received: &Received,
    issuer: &IssuerState,
) -> Result<Response, Failure> {
    match answer {
        AuthorizationResponse::Redirect(location) => Ok(redirect(received.is_post(), &location)),
        AuthorizationResponse::FormPost { action, fields } => form_post((action, fields), received, issuer),
    }
}

/// OAuth 2.0 Form Post Response Mode 2.
fn form_post(
    (action, fields): (String, Vec<(&'static str, String)>),
    received: &Received,
    issuer: &IssuerState,
) -> Result<Response, Failure> {
    let parameters = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let language = page_language(locale(&received.headers, issuer, None));
    let page = FormPostPage { language, action, parameters };
    let page = page.render_below(&issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    // An answer to a silent request arrives in a frame of the client's page, as a redirect does, so every site may
    // frame it.
    let policy =
        Policy { leads_to_client: true, framed_by: Framing::Everybody, language, ..Policy::default() };
    Ok(html(StatusCode::OK, page, &policy))
}
