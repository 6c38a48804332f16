//! An interaction: the state of a request that waits while a person looks at a page. It is sealed, and the browser
//! keeps it in the page's address or form. So a request without authentication stores nothing on the server.
//!
//! An interaction is bound to one browser by a digest of that browser's cookie. If another browser opens it (a
//! bookmark, a link that was passed on), it starts again without any authentication or consent from the first
//! browser. It also starts again after [`INTERACTION_LIVES`], so that a person who waited long is not refused.

use std::sync::Arc;

use axum::response::Response;
use http::HeaderValue;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use symbolon_crypto::random;
use symbolon_pages::Language;
use symbolon_protocol::authorize::request;
use symbolon_protocol::authorize::{AnotherAccount, InteractionSoFar};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::{ClientId, Sid, UserId};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::ui_locale::UiLocale;
use symbolon_store::Durable;
use symbolon_store::shard::{Route, ShardKind};

use crate::first_factor::FirstFactor;
use crate::sign_in_goal::SignInGoal;
use symbolon_app::http::csrf::{Browser, INTERACTION_LIVES, PageForm, Purpose};
use symbolon_app::http::language::{choice_cookie, locale, page_language};
use symbolon_app::http::{Context, Failure, Received, redirect, session_cookie};

/// The longest sealed interaction that is put into an address, in bytes: proxies refuse request lines beyond 8 KB. A
/// longer one is carried by the form only, and its page is sent as the direct answer instead of by redirect.
const LONGEST_IN_ADDRESS: usize = 4 * 1024;

/// Random bytes in an interaction's id.
const ID: usize = 16;

/// What a person is asked for in an interaction.
pub(super) trait Pending: Serialize + DeserializeOwned {
    /// The sealing purpose: an interaction of one kind cannot be opened as another.
    const PURPOSE: &'static str;

    /// The languages that the application asked for (OpenID Connect Core 3.1.2.1, RP-Initiated Logout 1.0 2).
    fn ui_locales(&self) -> Option<String> {
        None
    }

    /// Forgets what the person did longer ago than [`INTERACTION_LIVES`]; everything if `now` is `None`.
    fn forget(&mut self, now: Option<Timestamp>);
}

/// An authorization request, or a page of the account, that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingAuthorization {
    /// What the person signs in for.
    #[serde(flatten)]
    pub(super) goal: SignInGoal,
    /// When the person signed in for this request.
    pub(super) signed_in_at: Option<Timestamp>,
    /// The user and the scopes of the consent that was given for this request.
    pub(super) allowed: Option<(UserId, Scope)>,
    /// The scopes that the consent page asks for.
    pub(super) scopes: Option<Scope>,
    /// What was proven, while one factor more is asked for. Not in what earlier versions sealed, as nothing that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_factor: Option<Box<FirstFactor>>,
    /// The name that was typed on the first of two pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) login_name: Option<String>,
    /// The code that was sent by e-mail and is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) email_code: Option<PendingEmailCode>,
    /// Whether a passkey is to be offered after the sign-in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) offer_passkey: bool,
    /// The session that has nothing to step up with, or whose user will not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stays_at: Option<Sid>,
    /// The account that the person chose, by its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) selected: Option<Sid>,
    /// What the person wants other than the account in use.
    #[serde(default, skip_serializing_if = "AnotherAccount::is_no")]
    pub(super) wants: AnotherAccount,
}

/// A code that was sent by e-mail, if an account has what was typed. What is known of the code itself is in a cookie.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingEmailCode {
    /// The name or address.
    pub(super) typed: String,
    /// When.
    pub(super) at: Timestamp,
}

impl PendingAuthorization {
    /// A request for which the person has done nothing yet. `request` was parsed as parameters before, so it is
    /// UTF-8.
    pub(super) fn of(request: &[u8]) -> Result<Self, Failure> {
        let request =
            std::str::from_utf8(request).map_err(|error| Failure::Internal(error.to_string()))?.to_owned();
        Ok(Self::for_goal(SignInGoal::Request(request)))
    }

    /// A goal for which the person has done nothing yet.
    pub(super) const fn for_goal(goal: SignInGoal) -> Self {
        Self {
            goal,
            signed_in_at: None,
            allowed: None,
            scopes: None,
            first_factor: None,
            login_name: None,
            email_code: None,
            offer_passkey: false,
            stays_at: None,
            selected: None,
            wants: AnotherAccount::No,
        }
    }

    /// What the person has done, as the rule asks for it.
    pub(super) fn so_far(&self) -> InteractionSoFar<'_> {
        InteractionSoFar {
            signed_in_at: self.signed_in_at,
            allowed: self.allowed.as_ref().map(|(user, scope)| (user, scope)),
            stays_at: self.stays_at.as_ref(),
            selected: self.selected.as_ref(),
            wants: self.wants,
        }
    }

    /// The authorization request that waits, if it is one.
    pub(super) fn request(&self) -> Option<&str> {
        match &self.goal {
            SignInGoal::Request(request) => Some(request),
            SignInGoal::Account(_) => None,
        }
    }

    /// The client that the request names.
    pub(super) fn client_id(&self) -> Option<ClientId> {
        request::client_id(&Params::parse(self.request()?.as_bytes()).ok()?).ok()
    }
}

impl Pending for PendingAuthorization {
    const PURPOSE: &'static str = "authorization";

    fn ui_locales(&self) -> Option<String> {
        Params::parse(self.request()?.as_bytes()).ok()?.get("ui_locales").ok()?.map(str::to_owned)
    }

    fn forget(&mut self, now: Option<Timestamp>) {
        self.signed_in_at = self.signed_in_at.filter(|at| now.is_some_and(|now| is_recent(*at, now)));
        self.allowed = None;
        self.first_factor =
            self.first_factor.take().filter(|first| now.is_some_and(|now| is_recent(first.at, now)));
        self.email_code =
            self.email_code.take().filter(|code| now.is_some_and(|now| is_recent(code.at, now)));
        self.login_name = self.login_name.take().filter(|_| now.is_some());
        self.offer_passkey &= now.is_some();
        self.stays_at = None;
        self.selected = None;
        if now.is_none() {
            self.wants = AnotherAccount::No;
        }
    }
}

/// A logout that waits for the person's confirmation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingLogout {
    /// The session that the page was shown to.
    pub(super) sid: Sid,
    /// The name of the requesting client.
    pub(super) client_name: Option<String>,
    /// The URI to redirect to after logout; already checked.
    pub(super) redirect: Option<String>,
    /// The languages that the client asked for. Not in what earlier versions sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ui_locales: Option<String>,
}

impl Pending for PendingLogout {
    const PURPOSE: &'static str = "logout";

    fn ui_locales(&self) -> Option<String> {
        self.ui_locales.clone()
    }

    fn forget(&mut self, _now: Option<Timestamp>) {}
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.since(at) <= INTERACTION_LIVES
}

/// The sealed contents of an interaction.
#[derive(Serialize, Deserialize)]
struct Contents<P> {
    id: String,
    /// The digest of the cookie of the browser in which the interaction began.
    browser: String,
    begun_at: Timestamp,
    session_route: Route,
    /// The language that the person chose on a page of it. Not in what earlier versions sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<UiLocale>,
    pending: P,
}

/// An interaction, opened in the browser of a request.
pub(super) struct Interaction<P> {
    id: String,
    /// The id for which the browser's form was made. Differs from `id` if the interaction started again when it was
    /// opened.
    form_id: String,
    begun_at: Timestamp,
    session_route: Route,
    /// The language that the person chose on a page of it.
    chosen: Option<UiLocale>,
    /// The language of its pages.
    pub(super) language: Language,
    /// The browser of the request.
    pub(super) browser: Browser,
    /// What the person is asked for.
    pub(super) pending: P,
}

impl<P: Pending> Interaction<P> {
    /// Its id, for the page that is shown.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The id of the page whose form was sent.
    pub(super) fn form_id(&self) -> &str {
        &self.form_id
    }

    /// Begins an interaction in the browser of a request.
    pub(super) fn begin(context: &Context, received: &Received, pending: P) -> Self {
        let Context { app, issuer, .. } = context;
        let browser = Browser::of_or_new(&received.headers, issuer, &*app.random);
        let id = random::base64url::<ID>(&*app.random);
        Self {
            form_id: id.clone(),
            id,
            begun_at: app.now(),
            session_route: app.store.place(ShardKind::Session),
            chosen: None,
            language: language(context, received, &pending, None),
            browser,
            pending,
        }
    }

    /// Opens the interaction in the parameter `transaction`.
    ///
    /// # Errors
    /// A page with instructions, if the value was not sealed by this issuer for this purpose.
    pub(super) fn open(context: &Context, received: &Received, params: &Params<'_>) -> Result<Self, Failure> {
        let Context { app, issuer, .. } = context;
        let text = params.get("transaction")?.ok_or_else(unreadable)?;
        let opened = issuer.interactions.open(P::PURPOSE, text).map_err(|_| unreadable())?;
        let contents: Contents<P> = serde_json::from_slice(opened.expose()).map_err(|_| unreadable())?;
        let Contents { id, browser: begun_in, begun_at, session_route, chosen, pending } = contents;
        let chosen = chosen_language(params)?.or(chosen);
        let now = app.now();
        let browser = Browser::of_or_new(&received.headers, issuer, &*app.random);
        let is_here = browser.is(&begun_in);
        let language = language(context, received, &pending, chosen);
        let form_id = id.clone();
        let mut open = Self { form_id, id, begun_at, session_route, chosen, language, browser, pending };
        if !is_here || !is_recent(begun_at, now) {
            open.pending.forget(is_here.then_some(now));
            open.begin_anew(context);
        }
        Ok(open)
    }

    /// Opens the interaction of this very page, which the choice of a language at its foot brings along. `None`: who comes from elsewhere.
    pub(super) fn reopened(context: &Context, received: &Received, params: &Params<'_>) -> Option<Self> {
        params.get("language").ok()??;
        Self::open(context, received, params).ok()
    }

    /// The cookie that keeps the language which the person has just chosen at the foot of its page.
    ///
    /// # Errors
    /// `invalid_request` if the parameter is repeated.
    pub(super) fn choice_cookie(
        &self,
        context: &Context,
        params: &Params<'_>,
    ) -> Result<Option<HeaderValue>, Failure> {
        let chosen = chosen_language(params)?.filter(|chosen| page_language(*chosen) == self.language);
        Ok(chosen.and_then(|chosen| choice_cookie(&context.issuer, chosen)))
    }

    /// Gives the interaction a new id, so that signing in with it opens a new session.
    pub(super) fn begin_anew(&mut self, context: &Context) {
        let Context { app, .. } = context;
        self.id = random::base64url::<ID>(&*app.random);
        self.begun_at = app.now();
        self.session_route = app.store.place(ShardKind::Session);
    }

    /// The sealed interaction, for the parameter `transaction`.
    ///
    /// # Errors
    /// [`Failure::Internal`]
    pub(super) fn seal(&self, context: &Context) -> Result<String, Failure> {
        #[derive(Serialize)]
        struct Borrowed<'a, P> {
            id: &'a str,
            browser: String,
            begun_at: Timestamp,
            session_route: Route,
            #[serde(skip_serializing_if = "Option::is_none")]
            chosen: Option<UiLocale>,
            pending: &'a P,
        }
        let contents = Borrowed {
            id: &self.id,
            browser: self.browser.digest(),
            begun_at: self.begun_at,
            session_route: self.session_route,
            chosen: self.chosen,
            pending: &self.pending,
        };
        let contents = serde_json::to_vec(&contents).map_err(|error| Failure::Internal(error.to_string()))?;
        let sealed = context.issuer.interactions.seal(P::PURPOSE, &contents);
        sealed.map_err(|error| Failure::Internal(error.to_string()))
    }

    /// The value of the field `csrf_token` in a form that is being shown. `sid`: of the session that it is shown to,
    /// or empty.
    pub(super) fn csrf_token(&self, context: &Context, purpose: Purpose, sid: &str) -> String {
        self.browser.token(&context.issuer, PageForm { purpose, interaction: &self.id, sid })
    }

    /// Whether a form was sent by the issuer's own page, in the browser that the page was shown to.
    ///
    /// # Errors
    /// `invalid_request` if a field is repeated.
    pub(super) fn accepts(
        &self,
        (context, received): (&Context, &Received),
        params: &Params<'_>,
        purpose: Purpose,
        sid: &str,
    ) -> Result<bool, Failure> {
        let form = PageForm { purpose, interaction: &self.form_id, sid };
        let is_known = self.browser.accepts(&context.issuer, form, params.get("csrf_token")?);
        Ok(is_known && received.is_from_own_page(&context.issuer))
    }

    /// The id of the session that a user opens in this interaction. It is derived rather than random. So however
    /// often the form is sent (a double click, or Back), one interaction opens one session per user, and nothing
    /// needs to be stored for that.
    pub(super) fn session_id(&self, context: &Context, user: &UserId) -> SessionId {
        let parts = [self.id.as_bytes(), &[0], user.as_str().as_bytes()];
        let derived = context.issuer.interaction_session_key.sign(&parts);
        let (secret, _) = derived.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
        SessionId::new(self.session_route.id(ShardKind::Session, secret))
    }
}

impl Interaction<PendingAuthorization> {
    /// Starts the interaction again for another user, forgetting what the previous one did. `wants`: how the person says who
    /// it is.
    pub(super) fn begin_for_another(&mut self, context: &Context, wants: AnotherAccount) {
        self.pending.forget(None);
        self.pending.wants = wants;
        self.begin_anew(context);
    }
}

/// The language of an interaction's pages: what the person chose on one of them, else as of any page.
fn language(
    context: &Context,
    received: &Received,
    pending: &impl Pending,
    chosen: Option<UiLocale>,
) -> Language {
    let asked = || locale(&received.headers, &context.issuer, pending.ui_locales().as_deref());
    page_language(chosen.unwrap_or_else(asked))
}

/// The language that the person has just chosen at the foot of a page.
///
/// # Errors
/// `invalid_request` if the parameter is repeated.
pub(super) fn chosen_language(params: &Params<'_>) -> Result<Option<UiLocale>, OAuthError> {
    Ok(params.get("language")?.and_then(UiLocale::lookup))
}

/// Whether a sealed interaction is short enough for an address.
pub(super) const fn fits_address(sealed: &str) -> bool {
    sealed.len() <= LONGEST_IN_ADDRESS
}

/// The address of a page, with its interaction if that is short enough. A page that is bookmarked, or reloaded after
/// a wrong password, thereby keeps its interaction.
pub(super) fn address(context: &Context, path: &str, sealed: &str) -> String {
    let prefix = &context.issuer.prefix;
    match fits_address(sealed) {
        true => format!("{prefix}{path}?transaction={sealed}"),
        false => format!("{prefix}{path}"),
    }
}

/// The redirect for a page that is opened without an interaction: because it was too long for the address, or because
/// somebody typed the address.
pub(super) fn to_root(context: &Context) -> Response {
    redirect(false, &root(context))
}

/// The address of the issuer's first page.
pub(super) fn root(context: &Context) -> String {
    format!("{}/", context.issuer.prefix)
}

/// The error for a value that is not a sealed interaction of this issuer.
pub(super) fn unreadable() -> Failure {
    Failure::OAuth(OAuthError::invalid_request(
        Reason::PageNotOurs,
        "this page was not opened by a link of ours: go back to the application and begin again",
    ))
}

/// The browser's session, if it is alive.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn session_of(
    context: &Context,
    received: &Received,
    durable: &mut Durable,
) -> Result<Option<(SessionId, Arc<Session>)>, Failure> {
    let Context { app, issuer, .. } = context;
    let Some(id) = session_cookie(&received.headers, issuer) else { return Ok(None) };
    let session = app.store.session(&issuer.id, &id, app.now()).await?.take(durable);
    if session.is_none() {
        app.end_expired(issuer, &id, durable).await?;
    }
    Ok(session.map(|session| (id, session)))
}

/// The name by which pages address a session's user: the e-mail address if there is one, because it identifies the
/// account.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn user_name(context: &Context, session: &Session) -> Result<String, Failure> {
    let user = context.app.store.user(&context.issuer.id, &session.user).await?;
    let name = user.and_then(|user| {
        let profile = &user.profile;
        user.email.clone().or_else(|| profile.preferred_username.clone()).or_else(|| profile.name.clone())
    });
    Ok(name.unwrap_or_else(|| session.user.to_string()))
}

/// The page on which the person is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The login page.
    Login,
    /// The page that asks for a second factor.
    SecondFactor,
    /// The page that asks for a code that was sent by e-mail.
    EmailCode,
    /// The consent page.
    Consent,
    /// The page on which an account is chosen.
    SelectAccount,
    /// None of these.
    Other,
}
