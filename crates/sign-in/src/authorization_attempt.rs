//! One evaluation of an authorization request: reads it, decides, and issues what is granted.

use std::sync::Arc;

use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::authorize::pushed_request;
use symbolon_protocol::authorize::request::{AuthorizationRequest, Rejection};
use symbolon_protocol::authorize::response::{self, AuthorizationResponse, Issuance};
use symbolon_protocol::authorize::{Decision, decide};
use symbolon_protocol::client::Client;
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::consent::{Consent, ConsentTerms};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::event::Event;
use symbolon_protocol::id_token_hint::IdTokenHint;
use symbolon_protocol::pairwise::Pairwise;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::request_object::{self, reference};
use symbolon_protocol::scope::{OPENID, Scope};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::session_management::{SessionState, browser_state};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;

use crate::authorization_response::send;
use crate::browser_accounts::{BrowserAccounts, may_have_others};
use crate::front_channel::Allowed;
use crate::interaction::PendingAuthorization;
use crate::next_step::NextStep;
use crate::request_account::RequestAccount;
use crate::requesting_client::client_of;
use crate::second_factor_policy;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::client_keys;
use symbolon_app::http::{
    Context, Failure, Received, browser_state_cookie, known_browser_state, remove_browser_state,
};
use symbolon_app::request_objects;
use symbolon_telemetry::RequestFacts;

/// The error for a client whose user was issued too many codes recently (RFC 6749 4.1.2.1).
const TOO_MANY_CODES: OAuthError = OAuthError::new(
    ErrorCode::TemporarilyUnavailable,
    Reason::CodesTooMany,
    "this person got too many authorization codes lately: try again in a moment",
);

/// Notes an error that goes to the client by redirect.
pub(super) fn note_refused(context: &Context, mut error: OAuthError, client: &Client) {
    RequestFacts::new().oauth_error(error.code.as_str()).note();
    let (refusal, client) = (error.take_refusal(), Some(&client.client_id));
    let told = Some((error.code.as_str(), &*error.description));
    context.refused(RefusedRequest { told, ..RefusedRequest::anonymous(refusal, client) });
}

/// Whether a request is of this client.
fn is_named(params: &Params<'_>, client: &Client) -> bool {
    matches!(params.get("client_id"), Ok(Some(id)) if id == client.client_id.as_str())
}

/// One evaluation of an authorization request: the first, or one after the person signed in or consented.
pub(super) struct AuthorizationAttempt<'a> {
    pub(super) context: &'a Context,
    /// The session id that the browser presented.
    pub(super) session: Option<SessionId>,
    /// The HTTP request: its method decides the redirect's status.
    pub(super) received: &'a Received,
    /// What the person has done on the pages for this request; `None` at the first evaluation.
    pub(super) so_far: Option<&'a PendingAuthorization>,
}

/// An authorization request with the records that it refers to.
struct LoadedRequest<'a> {
    request: AuthorizationRequest<'a>,
    client: &'a Arc<Client>,
    hint: &'a IdTokenHint,
    found: RequestAccount,
    settings: &'a Arc<IssuerSettings>,
    now: Timestamp,
}

impl AuthorizationAttempt<'_> {
    /// Answers the request by a redirect with a code or an error, or returns the page that it needs. `is_direct`: whether the
    /// parameters are those of the HTTP request, which may name a pushed request, or have to. `asking` becomes the client; if it
    /// was that of the parameters before, it is not looked for again.
    pub(super) async fn run(
        &self,
        encoded: &[u8],
        is_direct: bool,
        asking: &mut Option<Arc<Client>>,
        durable: &mut Durable,
    ) -> Result<NextStep, Failure> {
        let Context { app, issuer, .. } = self.context;
        let params = Params::parse(encoded)?;
        let client = match asking.take().filter(|known| !is_direct && is_named(&params, known)) {
            Some(known) => known,
            None => client_of(self.context, &params).await?,
        };
        *asking = Some(Arc::clone(&client));
        let is_elsewhere = |name: &str| name == "request" || name == "request_uri";
        if is_direct
            && (client.requires_signed_requests() || params.iter().any(|(name, _)| is_elsewhere(name)))
        {
            return Box::pin(self.elsewhere(&params, &client)).await;
        }
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
        // RFC 9126 4, 5, 6: where requests must be pushed, any other is refused.
        if is_direct && pushed_request::is_required(&client, &settings) {
            let error = pushed_request::missing(&client.client_id);
            return self.error(response::error(&request.return_to, &error, &issuer.url), error, &client);
        }
        let now = app.now();
        let pairwise = issuer.pairwise(&client);
        let named = request.sub().filter(|_| pairwise.is_none());
        let hint = issuer.id_token_hint(request.id_token_hint);
        let hint = hint.told_to(&client.client_id, pairwise).or_user(named, &client.client_id);
        // The request is moved here before anything is awaited, so that the future keeps it once.
        let found = RequestAccount::default();
        let mut loaded =
            LoadedRequest { request, client: &client, hint: &hint, found, settings: &settings, now };
        loaded.found = match pairwise.filter(|_| loaded.request.sub().is_some()) {
            None => self.account(&hint, now, durable).await?,
            // Boxed, because it is rare.
            Some(pairwise) => Box::pin(self.account_named(&mut loaded, pairwise, durable)).await?,
        };
        match self.decide(&mut loaded).await? {
            Decision::Issue { scope } => self.issue(&loaded, scope, durable).await,
            Decision::SelectAccount => Ok(NextStep::SelectAccount),
            Decision::Login { .. } => Ok(NextStep::SignIn),
            Decision::StepUp => {
                let asked = loaded.request.acr;
                let session = loaded.found.session;
                Ok(session.map_or(NextStep::SignIn, |session| NextStep::StepUp(session, asked)))
            }
            Decision::Consent { scopes } => match loaded.found.session {
                Some(session) => Ok(NextStep::Consent(session, scopes)),
                None => Ok(NextStep::SignIn),
            },
            Decision::Error(error) => {
                let answer = response::error(&loaded.request.return_to, &error, &issuer.url);
                let next = self.error(answer, error, &client)?;
                let is_nobody = loaded.found.session.is_none() && !loaded.found.is_none_in_use;
                if is_nobody
                    && settings.session_management
                    && known_browser_state(&self.received.headers, issuer).is_some()
                {
                    // The frame of Session Management says from now on that the person is signed out.
                    return Ok(next.with_cookie(remove_browser_state(issuer)));
                }
                Ok(next)
            }
        }
    }

    /// A request whose parameters are not beside `client_id`: pushed, signed, or at an address of the client.
    async fn elsewhere(&self, params: &Params<'_>, client: &Client) -> Result<NextStep, Failure> {
        match pushed_request::named(params)? {
            Some(id) => Ok(NextStep::Pushed(id)),
            None if params.get_all("request_uri").next().is_some() => self.referred(params, client).await,
            None => self.signed(params, client).await,
        }
    }

    /// The parameters of a request object (RFC 9101 6). Errors go where the parameters beside it say, if the client has
    /// registered that place.
    async fn signed(&self, params: &Params<'_>, client: &Client) -> Result<NextStep, Failure> {
        let issuer = &self.context.issuer;
        let settings = issuer.settings.load_full();
        let read = match pushed_request::is_required(client, &settings) {
            true => Err(pushed_request::missing(&client.client_id)),
            false => self.signed_parameters(params, client).await,
        };
        match read {
            Ok(Some(request)) => Ok(NextStep::Signed(request.into_bytes().into())),
            Ok(None) => Err(Failure::Internal("a request object that is not there".into())),
            Err(error) => self.refuse_object(error, params, client),
        }
    }

    /// The parameters of the request object at an address of the client (RFC 9101 6). Errors go as those of [`signed`](Self::signed).
    async fn referred(&self, params: &Params<'_>, client: &Client) -> Result<NextStep, Failure> {
        let settings = self.context.issuer.settings.load_full();
        // Before anything is fetched.
        let fetched = match pushed_request::is_required(client, &settings) {
            true => Err(pushed_request::missing(&client.client_id)),
            false => request_objects::fetched(self.context, client, params).await,
        };
        match fetched {
            Ok(object) => {
                let form = reference::replaced(params, &object);
                self.signed(&Params::parse(form.as_bytes())?, client).await
            }
            Err(error) => self.refuse_object(error, params, client),
        }
    }

    fn refuse_object(
        &self,
        error: OAuthError,
        params: &Params<'_>,
        client: &Client,
    ) -> Result<NextStep, Failure> {
        let issuer = &self.context.issuer;
        let settings = issuer.settings.load_full();
        match AuthorizationRequest::check(params, client, (&issuer.url, &settings)) {
            Ok(AuthorizationRequest { return_to, .. }) | Err(Rejection::Redirect(return_to, _)) => {
                self.error(response::error(&return_to, &error, &issuer.url), error, client)
            }
            Err(Rejection::Page(_)) => Err(error.into()),
        }
    }

    /// What the client has signed, verified by the keys that it registered or publishes.
    async fn signed_parameters(
        &self,
        params: &Params<'_>,
        client: &Client,
    ) -> Result<Option<String>, OAuthError> {
        let Context { app, issuer, .. } = self.context;
        let published = client_keys::of_request(self.context, client, params).await?;
        let keys = client.verifying_keys(published.as_deref());
        request_object::parameters(params, client, keys, &issuer.url, app.now())
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

    /// The account of a request that names its user by a pairwise `sub` (OpenID Connect Core 5.5.1, 8.1). Such a name cannot be turned
    /// back, so it is looked for among the users of the browser's sessions, and the request names the one that was found, or nobody.
    async fn account_named(
        &self,
        loaded: &mut LoadedRequest<'_>,
        pairwise: Pairwise<'_>,
        durable: &mut Durable,
    ) -> Result<RequestAccount, Failure> {
        let Context { app, issuer, .. } = self.context;
        let (now, hint, client) = (loaded.now, loaded.hint, loaded.client);
        let session = match &self.session {
            Some(id) => app.store.session(&issuer.id, id, now).await?.take(durable),
            None => None,
        };
        let accounts = BrowserAccounts::of(self.context, self.received, durable).await?;
        let user = {
            let own = session.iter().map(|session| &session.user);
            let mut users = own.chain(accounts.all().map(|account| &account.session.user));
            let told = loaded.request.sub();
            users.find(|user| Some(pairwise.sub(user).as_str()) == told).cloned()
        };
        loaded.request.name(user.as_ref());
        let hint = hint.clone().or_user(loaded.request.sub(), &client.client_id);
        self.account(&hint, now, durable).await
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
        send(answer, self.received, &self.context.issuer)
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
        let has_code = request.response_type.has_code();
        if has_code && app.rate_limits.check_code(&issuer.id, &session.user, *now).is_err() {
            // RFC 6749 4.1.2.1: the error goes to the client, because the request may be a silent one in a frame. The
            // log and metrics show it as rate limited, not as an unavailable store.
            let answer = response::error(&request.return_to, &TOO_MANY_CODES, &issuer.url);
            note_refused(self.context, TOO_MANY_CODES.about(Details::of_user(&session.user)), client);
            RequestFacts::new().oauth_error("rate_limit_exceeded").note();
            return send(answer, self.received, &self.context.issuer);
        }
        let issuance = Issuance { issuer: &issuer.id, settings, client, session, now: *now };
        let grant = issuance.code_grant(request, scope, &*app.random);
        if request.response_type.has_any_token() {
            // Boxed, because it is rare and its future is large.
            return Box::pin(self.issue_tokens(loaded, session, grant, durable)).await;
        }
        let code = app.store.keep_code(&issuer.id, grant, *now, &*app.random).await?;
        // Boxed, because it happens once in a session for each client.
        if session.has_to_note(client) {
            Box::pin(self.note_client(loaded, session, durable)).await?;
        }
        self.answer(loaded, session, |state| response::success(&request.return_to, &code, &issuer.url, state))
    }

    /// The implicit and the hybrid flow: returns tokens, and a code where the response type has one.
    async fn issue_tokens(
        &self,
        loaded: &LoadedRequest<'_>,
        session: &Session,
        grant: CodeGrant,
        durable: &mut Durable,
    ) -> Result<NextStep, Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { request, client, settings, now, .. } = loaded;
        if request.response_type.has_id_token() && !grant.scope.contains(OPENID) {
            // The person allowed other scopes than the one that lets the client know who they are.
            let error = denied().about(Details::of_user(&session.user));
            return self.error(response::error(&request.return_to, &error, &issuer.url), error, client);
        }
        let code = match request.response_type.has_code() {
            true => Some(app.store.keep_code(&issuer.id, grant.clone(), *now, &*app.random).await?),
            false => None,
        };
        // Boxed, because it happens once in a session for each client.
        if session.has_to_note(client) {
            Box::pin(self.note_client(loaded, session, durable)).await?;
        }
        let allowed = Allowed { context: self.context, request, client, settings, now: *now };
        let tokens = allowed.sign(&grant, code.as_ref()).await?;
        let returned = tokens.returned(code.as_ref());
        self.answer(loaded, session, |state| {
            response::with_tokens(&request.return_to, returned, &issuer.url, state)
        })
    }

    /// Notes in the session that the client takes part in it.
    async fn note_client(
        &self,
        loaded: &LoadedRequest<'_>,
        session: &Session,
        durable: &mut Durable,
    ) -> Result<(), Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { client, found, .. } = loaded;
        if let Some(id) = found.named.as_deref().or(self.session.as_ref())
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
        Ok(())
    }

    /// Answers a request with what was issued, and tells the frame of Session Management whose session it is.
    fn answer(
        &self,
        loaded: &LoadedRequest<'_>,
        session: &Session,
        write: impl FnOnce(Option<&SessionState>) -> AuthorizationResponse,
    ) -> Result<NextStep, Failure> {
        let Context { app, issuer, .. } = self.context;
        let LoadedRequest { request, client, found, settings, now, .. } = loaded;
        if request.prompt.none {
            app.audit.count(Event::SilentAuthentication);
        }
        if !settings.session_management {
            return send(write(None), self.received, issuer);
        }
        let known = known_browser_state(&self.received.headers, issuer);
        let in_use = found.sid_in_use(issuer, self.session.as_ref());
        let here = browser_state(known, in_use.as_ref());
        let redirect_uri = request.return_to.redirect_uri;
        // The state of the browser is the session's `sid`, which other clients know: they could find this one's answer out by trying,
        // and join its subject to theirs (OpenID Connect Core 8.1).
        let state = match client.sector {
            None => SessionState::of(&client.client_id, redirect_uri, here, &*app.random),
            Some(_) => None,
        };
        let next = send(write(state.as_ref()), self.received, issuer)?;
        if known == Some(here) {
            return Ok(next);
        }
        Ok(next.with_cookie(browser_state_cookie(issuer, here, session.expires_at.since(*now))))
    }
}
