//! The authorization endpoint (RFC 6749 3.1, OpenID Connect Core 3.1.2).

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::{FormPostPage, Language};
use symbolon_protocol::authorize::request::{AuthorizationRequest, Rejection};
use symbolon_protocol::authorize::response::{self, AuthorizationResponse, Issuance};
use symbolon_protocol::authorize::{Decision, InteractionSoFar, decide};
use symbolon_protocol::client::Client;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::encoded;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;

use crate::interaction::{Interaction, Page, PendingAuthorization, client_of};
use crate::{consent_page, login_page};
use symbolon_app::http::{Call, Context, Failure, Framing, Policy, html, redirect, session_cookie};
use symbolon_telemetry::RequestFacts;

/// The longest request that waits for a person, in bytes, as a document has it: it comes back, sealed, in the form of the
/// page.
const LONGEST_PENDING: usize = 8 * 1024;

/// Said to a client whose user got too many codes lately (RFC 6749 4.1.2.1).
const TOO_MANY_CODES: OAuthError = OAuthError::new(
    ErrorCode::TemporarilyUnavailable,
    "this person got too many authorization codes lately: try again in a moment",
);

/// `GET` and `POST /authorize`.
///
/// # Errors
/// [`Failure`]: what must be told to the person and to nobody else (RFC 6749 4.1.2.1), or an engine out of reach.
pub(super) async fn authorize(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let session = session_cookie(&received.headers, &context.issuer);
    let attempt = AuthorizationAttempt { context, session, is_post: received.is_post(), so_far: None };
    match attempt.run(received.encoded(), client, durable).await? {
        NextStep::Answer(response) => Ok(response),
        next => {
            let pending = PendingAuthorization::of(received.encoded())?;
            if !encoded::fits_json(&pending.request, LONGEST_PENDING) {
                let error = OAuthError::invalid_request("a request that needs a page may have 8 KiB at most");
                return refuse(call, &pending, &error).await;
            }
            let interaction = Interaction::begin(context, received, pending);
            // Boxed, because pages are rare and their futures large: the one of a silent request stays small.
            Box::pin(lead_to(call, interaction, next, Page::Other)).await
        }
    }
}

/// Looks at the request of an interaction again: it is answered, or the person is led to the page that it needs next.
/// `session`: the one that the browser has now.
///
/// # Errors
/// As [`authorize`].
pub(super) async fn go_on(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    session: Option<SessionId>,
    on: Page,
) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let attempt = AuthorizationAttempt {
        context,
        session,
        is_post: received.is_post(),
        so_far: Some(&interaction.pending),
    };
    let next = attempt.run(interaction.pending.request.as_bytes(), client, durable).await?;
    lead_to(call, interaction, next, on).await
}

async fn lead_to(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    next: NextStep,
    on: Page,
) -> Result<Response, Failure> {
    match next {
        NextStep::Answer(response) => Ok(response),
        NextStep::SignIn => login_page::ask(call, interaction, on).await,
        NextStep::Consent(session, scopes) => {
            consent_page::ask(call, interaction, (&session, scopes), on).await
        }
    }
}

/// Tells the client that nothing came of its request, in the response mode that it asked for (RFC 6749 4.1.2.1).
///
/// # Errors
/// As [`authorize`].
pub(super) async fn refuse(
    call: &mut Call,
    pending: &PendingAuthorization,
    error: &OAuthError,
) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let params = Params::parse(pending.request.as_bytes())?;
    let client = client_of(context, &params).await?;
    let settings = context.issuer.settings.load_full();
    let to = match AuthorizationRequest::check(&params, &client, (&context.issuer.url, &settings)) {
        Ok(request) => request.return_to,
        Err(Rejection::Redirect(to, _)) => to,
        Err(Rejection::Page(error)) => return Err(error.into()),
    };
    RequestFacts::new().oauth_error(error.code.as_str()).note();
    send(response::error(&to, error, &context.issuer.url), received.is_post(), &context.issuer.prefix)
}

/// What an authorization request needs next.
pub(super) enum NextStep {
    /// Nothing: this is the answer.
    Answer(Response),
    /// That the person signs in.
    SignIn,
    /// That the person whose session this is allows these scopes.
    Consent(Arc<Session>, Scope),
}

/// One look at an authorization request: the first, or one after the person signed in or allowed it.
struct AuthorizationAttempt<'a> {
    context: &'a Context,
    /// The session that the browser claims.
    session: Option<SessionId>,
    /// Whether the answer follows a POST.
    is_post: bool,
    /// What the person did on our pages for this very request.
    so_far: Option<&'a PendingAuthorization>,
}

/// What is known once the request's records are loaded.
struct LoadedRequest<'a> {
    request: AuthorizationRequest<'a>,
    client: &'a Client,
    session: Option<&'a Session>,
    settings: &'a IssuerSettings,
    now: Timestamp,
}

impl AuthorizationAttempt<'_> {
    /// Answers the request by a redirect with code or error, or says which page it needs.
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
                return self.error(response::error(&to, &error, &issuer.url), &error);
            }
        };
        let now = app.now();
        let session = match &self.session {
            Some(id) => app.store.session(&issuer.id, id, now).await?.take(durable),
            None => None,
        };
        let known = session.as_deref();
        let loaded = LoadedRequest { request, client: &client, session: known, settings: &settings, now };
        match self.decide(&loaded).await? {
            Decision::Issue { scope } => self.issue(&loaded, scope, durable).await,
            Decision::Login { .. } => Ok(NextStep::SignIn),
            Decision::Consent { scopes } => match session {
                Some(session) => Ok(NextStep::Consent(session, scopes)),
                None => Ok(NextStep::SignIn),
            },
            Decision::Error(error) => {
                self.error(response::error(&loaded.request.return_to, &error, &issuer.url), &error)
            }
        }
    }

    fn error(&self, answer: AuthorizationResponse, error: &OAuthError) -> Result<NextStep, Failure> {
        RequestFacts::new().oauth_error(error.code.as_str()).note();
        send(answer, self.is_post, &self.context.issuer.prefix).map(NextStep::Answer)
    }

    async fn decide(&self, loaded: &LoadedRequest<'_>) -> Result<Decision, Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { request, client, session, now, .. } = loaded;
        let consent: Option<Consent> = match session {
            Some(session) if !client.skip_consent => {
                app.store.consent(&issuer.id, &session.user, &client.client_id).await?
            }
            _ => None,
        };
        let hint = issuer.id_token_hint(request.id_token_hint);
        let so_far = self.so_far.map(|pending| InteractionSoFar {
            signed_in_at: pending.signed_in_at,
            allowed: pending.allowed.as_ref().map(|(user, scope)| (user, scope)),
        });
        let session = session.map(|session| (session, consent.as_ref()));
        Ok(decide(request, client, session, &hint, so_far.unwrap_or_default(), *now))
    }

    async fn issue(
        &self,
        loaded: &LoadedRequest<'_>,
        scope: Scope,
        durable: &mut Durable,
    ) -> Result<NextStep, Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { request, client, session, settings, now } = loaded;
        let Some(session) = session else { return Err(Failure::Internal("a code without a session".into())) };
        if app.rate_limits.check_code(&issuer.id, &session.user, *now).is_err() {
            // RFC 6749 4.1.2.1: the client is told, because the request may be a silent one in a frame.
            // In log and figures it is what a 429 would be, and no engine out of reach.
            RequestFacts::new().oauth_error("rate_limit_exceeded").note();
            let answer = response::error(&request.return_to, &TOO_MANY_CODES, &issuer.url);
            return send(answer, self.is_post, &issuer.prefix).map(NextStep::Answer);
        }
        let issuance = Issuance { issuer: &issuer.id, settings, client, session, now: *now };
        let grant = issuance.code_grant(request, scope, &*app.random);
        let code = app.store.keep_code(&issuer.id, grant, *now, &*app.random).await?;
        if !session.clients.contains(&client.client_id)
            && let Some(id) = &self.session
            && app.store.note_client(&issuer.id, id, &client.client_id).await?.take(durable)
        {
            self.context.audit(Event::GrantBegun, Some(&session.user), Some(&client.client_id));
        }
        if request.prompt.none {
            app.audit.count(Event::SilentAuthentication);
        }
        let answer = response::success(&request.return_to, &code, &issuer.url);
        send(answer, self.is_post, &issuer.prefix).map(NextStep::Answer)
    }
}

/// Writes an answer in the response mode that was asked for. `after_post`: it follows a POST.
fn send(answer: AuthorizationResponse, after_post: bool, prefix: &str) -> Result<Response, Failure> {
    match answer {
        AuthorizationResponse::Redirect(location) => Ok(redirect(after_post, &location)),
        AuthorizationResponse::FormPost { action, fields } => form_post(action, fields, prefix),
    }
}

/// OAuth 2.0 Form Post Response Mode 2.
fn form_post(action: String, fields: Vec<(&'static str, String)>, prefix: &str) -> Result<Response, Failure> {
    let parameters = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let page = FormPostPage { language: Language::English, action, parameters };
    let page = page.render_below(prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    // A silent answer arrives in a frame of the client's page, like one by redirect.
    let policy = Policy { leads_to_client: true, framed_by: Framing::Everybody, ..Policy::default() };
    Ok(html(StatusCode::OK, page, &policy))
}
