//! The authorization endpoint (RFC 6749 3.1, OpenID Connect Core 3.1.2).

use std::future::Future;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use serde::{Deserialize, Serialize};
use symbolon_pages::{FormPostPage, Language};
use symbolon_protocol::authorize::request::{self, AuthorizationRequest, Rejection};
use symbolon_protocol::authorize::response::{self, AuthorizationResponse, Issuance};
use symbolon_protocol::authorize::{Decision, IdTokenHint, Interaction, decide};
use symbolon_protocol::client::Client;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;

use super::{consent, login};
use crate::http::{Context, Failure, Framing, Policy, html, read_form, redirect, session_cookie};
use crate::rate_limit::EndpointClass;
use crate::telemetry::{Endpoint, RequestFacts};
use crate::verified::id_token_subject;

/// An authorization request that waits for the person, kept on the server: nothing of it is trusted to the browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    /// The request as it came, form-encoded.
    pub request: String,
    /// When the person signed in for this very request.
    pub signed_in_at: Option<Timestamp>,
    /// Who allowed what for this very request.
    pub allowed: Option<(UserId, Scope)>,
}

impl Transaction {
    /// A transaction in which nothing has happened yet.
    pub fn of(request: &str) -> Self {
        Self { request: request.to_owned(), signed_in_at: None, allowed: None }
    }
}

/// `GET` and `POST /authorize`.
pub fn authorize(context: Context, request: Request) -> impl Future<Output = Response> + Send {
    // Not an `async fn`: that would keep room for the request whole, and for its parts twice.
    let (parts, body) = request.into_parts();
    async move {
        let (headers, query) = (&parts.headers, parts.uri.query().unwrap_or_default());
        // Boxed apart: two small allocations cost less than one beyond the allocator's fast path.
        let answered = match parts.method == Method::POST {
            true => Box::pin(posted(&context, headers, body)).await,
            false => Box::pin(run(&context, headers, query.as_bytes(), false)).await,
        };
        answered.unwrap_or_else(|failure| failure.into_page(headers, Some(context.id.to_string())))
    }
}

async fn posted(context: &Context, headers: &HeaderMap, body: Body) -> Result<Response, Failure> {
    let form = read_form(headers, body, context.body_limits()).await?;
    run(context, headers, &form, true).await
}

async fn run(
    context: &Context,
    headers: &HeaderMap,
    encoded: &[u8],
    after_post: bool,
) -> Result<Response, Failure> {
    context.app.rate_limits.check_address(EndpointClass::Authorize, context.remote, context.app.now())?;
    let session = session_cookie(headers, &context.issuer);
    let visit = Visit { context, headers, session, after_post, transaction: None };
    visit.answer(encoded).await
}

/// One look at an authorization request: the first, or one after the person signed in or allowed it.
pub struct Visit<'a> {
    /// The request's context.
    pub context: &'a Context,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The session that the browser claims.
    pub session: Option<SessionId>,
    /// Whether the answer follows a POST.
    pub after_post: bool,
    /// The transaction in which the person is, with its id.
    pub transaction: Option<(String, Transaction)>,
}

/// What is known once the request's records are loaded.
struct Loaded<'a> {
    request: AuthorizationRequest<'a>,
    client: &'a Client,
    session: Option<&'a Session>,
    settings: &'a IssuerSettings,
    now: Timestamp,
}

impl Visit<'_> {
    /// Answers the request: a redirect with code or error, or the way to a page.
    ///
    /// # Errors
    /// [`Failure`]: what must be told to the person and to nobody else (RFC 6749 4.1.2.1), or an engine out of reach.
    pub async fn answer(&self, encoded: &[u8]) -> Result<Response, Failure> {
        let Context { app, issuer, .. } = self.context;
        app.store.check_lease()?;
        let params = Params::parse(encoded)?;
        let client_id = request::client_id(&params)?;
        let client = app.store.client(&issuer.id, &client_id).await?.ok_or_else(request::unknown_client)?;
        let settings = issuer.settings.load();
        let request = match AuthorizationRequest::check(&params, &client, &settings) {
            Ok(request) => request,
            Err(Rejection::Page(error)) => return Err(error.into()),
            Err(Rejection::Redirect(to, error)) => {
                let answer = response::error(&to, &error, &issuer.url);
                return self.send(answer, error.code.as_str(), &client);
            }
        };
        let now = app.now();
        let mut durable = Durable::already();
        let session = match &self.session {
            Some(id) => app.store.session(&issuer.id, id, now).await?.take(&mut durable),
            None => None,
        };
        let session = session.as_deref();
        let loaded = Loaded { request, client: &client, session, settings: &settings, now };
        match self.decide(&loaded).await? {
            Decision::Issue { scope } => self.issue(&loaded, scope, durable).await,
            // Boxed, because they are rare and their futures large: the one of a silent request stays small.
            Decision::Login { .. } => Box::pin(login::ask(self, encoded, &loaded.request)).await,
            Decision::Consent { scopes } => Box::pin(consent::ask(self, encoded, scopes)).await,
            Decision::Error(error) => {
                let answer = response::error(&loaded.request.return_to, &error, &issuer.url);
                self.send(answer, error.code.as_str(), &client)
            }
        }
    }

    async fn decide(&self, loaded: &Loaded<'_>) -> Result<Decision, Failure> {
        let Context { app, issuer, .. } = self.context;
        let Loaded { request, client, session, now, .. } = loaded;
        let consent: Option<Consent> = match session {
            Some(session) if !client.skip_consent => {
                app.store.consent(&issuer.id, &session.user, &client.client_id).await?
            }
            _ => None,
        };
        let hinted = request.id_token_hint.map(|hint| id_token_subject(issuer, hint));
        let hint = match &hinted {
            None => IdTokenHint::Absent,
            Some(None) => IdTokenHint::Unverifiable,
            Some(Some(subject)) => IdTokenHint::Subject(subject),
        };
        let interaction = self.transaction.as_ref().map(|(_, transaction)| Interaction {
            signed_in_at: transaction.signed_in_at,
            allowed: transaction.allowed.as_ref().map(|(user, scope)| (user, scope)),
        });
        let session = session.map(|session| (session, consent.as_ref()));
        Ok(decide(request, client, session, hint, interaction.unwrap_or_default(), *now))
    }

    async fn issue(
        &self,
        loaded: &Loaded<'_>,
        scope: Scope,
        mut durable: Durable,
    ) -> Result<Response, Failure> {
        let Context { app, issuer, .. } = self.context;
        let Loaded { request, client, session, settings, now } = loaded;
        let Some(session) = session else { return Err(Failure::Internal("a code without a session".into())) };
        if let Some((id, _)) = &self.transaction
            && app.store.take_challenge(&issuer.id, id, *now).await?.is_none()
        {
            return Err(login::expired());
        }
        let issuance = Issuance { issuer: &issuer.id, settings, client, session, now: *now };
        let grant = issuance.code_grant(request, scope, &*app.random);
        let code = app.store.keep_code(&issuer.id, grant, *now, &*app.random).await?;
        if !session.clients.contains(&client.client_id)
            && let Some(id) = &self.session
            && app.store.note_client(&issuer.id, id, &client.client_id).await?.take(&mut durable)
        {
            self.context.audit(Event::GrantBegun, Some(&session.user), Some(&client.client_id));
        }
        if request.prompt.none {
            app.audit.count(Event::SilentAuthentication);
        }
        durable.wait().await?;
        self.send(response::success(&request.return_to, &code, &issuer.url), "", client)
    }

    /// Writes an answer in the response mode that was asked for. `error`: its code, or nothing.
    pub(super) fn send(
        &self,
        answer: AuthorizationResponse,
        error: &'static str,
        client: &Client,
    ) -> Result<Response, Failure> {
        let response = match answer {
            AuthorizationResponse::Redirect(location) => redirect(self.after_post, &location),
            AuthorizationResponse::FormPost { action, fields } => form_post(action, fields)?,
        };
        let mut facts =
            RequestFacts::new().endpoint(Endpoint::Authorize).client_id(client.client_id.as_str());
        if !error.is_empty() {
            facts = facts.oauth_error(error);
        }
        facts.note();
        Ok(response)
    }
}

/// OAuth 2.0 Form Post Response Mode 2.
fn form_post(action: String, fields: Vec<(&'static str, String)>) -> Result<Response, Failure> {
    let parameters = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let page = FormPostPage { language: Language::English, action, parameters };
    let page = page.render().map_err(|error| Failure::Internal(error.to_string()))?;
    // A silent answer arrives in a frame of the client's page, like one by redirect.
    let policy = Policy { leads_to_client: true, framed_by: Framing::Everybody, ..Policy::default() };
    Ok(html(StatusCode::OK, page, &policy))
}
