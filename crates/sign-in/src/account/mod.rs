//! The account pages: what a person sees and changes of their own account.
//!
//! They are for the person who is signed in in this browser; anybody else is led through the sign-in page and back. Forms
//! carry a token that is bound to the browser, the form and the session. What changes credentials or ends something wants
//! a session in which the person proved lately who they are ([`Freshness::Fresh`]).

pub(super) mod applications;
pub(super) mod data;
pub(super) mod email;
pub(super) mod password;
mod present_password;
pub(super) mod profile;
pub(super) mod requests;
pub(super) mod security;
pub(super) mod sessions;

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::Value;
use symbolon_pages::{AccountFrame, AccountNotice, AccountPage, AccountPlace, Language, RenderError};
use symbolon_protocol::client::Client;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::Session;
use symbolon_protocol::ui_locale::UiLocale;
use symbolon_protocol::user::User;

use crate::authorize::resume;
use crate::browser_accounts::most;
use crate::interaction::{Interaction, Page, PendingAuthorization, session_of};
use crate::login_page::append;
use crate::sign_in_goal::{AccountGoal, Freshness, SignInGoal};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::{Browser, PageForm, Purpose};
use symbolon_app::http::language::choice_cookie;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect, session_cookie};

/// The person who is signed in in this browser.
pub(super) struct Person {
    pub(super) session: Arc<Session>,
    pub(super) user: Arc<User>,
    pub(super) browser: Browser,
    /// The language of the pages.
    pub(super) language: Language,
    /// The one that was just chosen at the foot of a page.
    chosen: Option<UiLocale>,
}

/// Who asks for an account page.
pub(super) enum Visitor {
    /// The person, signed in as recently as the page wants.
    Person(Box<Person>),
    /// Somebody who is led to the sign-in page.
    Stranger(Response),
}

/// The person for whom a page is shown or a form is carried out; anybody else is led to the sign-in page, and back to
/// `place`.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
async fn visitor(call: &mut Call, place: AccountPlace, freshness: Freshness) -> Result<Visitor, Failure> {
    visitor_of(call, freshness, |login_hint| AccountGoal::new(place, freshness, login_hint)).await
}

/// The same for any page of the person's own. `goal`: the way back to it, from what prefills the login form.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn visitor_of(
    call: &mut Call,
    freshness: Freshness,
    goal: impl FnOnce(Option<String>) -> AccountGoal + Send,
) -> Result<Visitor, Failure> {
    let person = signed_in(call).await?;
    let login_hint = person.as_ref().map(|person| person.login_name().to_owned());
    if let Some(person) = person
        && freshness.is_met(&call.context, &person.session).await?
    {
        return Ok(Visitor::Person(Box::new(person)));
    }
    let goal = SignInGoal::Account(goal(login_hint));
    let pending = PendingAuthorization::for_goal(goal);
    let interaction = Interaction::begin(&call.context, &call.received, pending);
    // The sign-in page, or where accounts are signed in of which none is in use, the one on which one is chosen.
    let session = session_cookie(&call.received.headers, &call.context.issuer);
    resume(call, interaction, session, Page::Other).await.map(Visitor::Stranger)
}

/// The person whose session the browser has, however long ago they signed in.
async fn signed_in(call: &mut Call) -> Result<Option<Person>, Failure> {
    let Call { context, received, durable, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let Some((_, session)) = session_of(context, received, durable).await? else { return Ok(None) };
    let user = app.store.user(&issuer.id, &session.user).await?;
    let Some(user) = user.filter(|user| user.may_sign_in()) else { return Ok(None) };
    let browser = Browser::of_or_new(&received.headers, issuer, &*app.random);
    let (language, chosen) = (call.language(), call.chosen_language());
    Ok(Some(Person { session, user, browser, language, chosen }))
}

impl Person {
    /// What the pages show of all places alike. The form's token is bound to the place and to the session.
    fn frame(&self, context: &Context, place: AccountPlace, notice: Option<AccountNotice>) -> AccountFrame {
        AccountFrame {
            place,
            prefix: context.issuer.prefix.clone(),
            may_switch: most(context) > 1,
            user_name: self.name().to_owned(),
            csrf: self.browser.token(&context.issuer, self.form(place)),
            notice,
        }
    }

    fn form(&self, place: AccountPlace) -> PageForm<'_> {
        PageForm { purpose: Purpose::Account, interaction: place.path(), sid: self.session.sid.as_str() }
    }

    /// Whether the issuer's own page sent a form, in the browser and the session that it was shown to. What is not
    /// accepted is noted.
    fn accepts(&self, call: &Call, params: &Params<'_>, place: AccountPlace) -> Result<bool, Failure> {
        let issuer = &call.context.issuer;
        let is_known = self.browser.accepts(issuer, self.form(place), params.get("csrf_token")?);
        let is_accepted = is_known && call.received.is_from_own_page(issuer);
        if !is_accepted {
            let refusal = Refusal::about(Reason::PageFormExpired, Details::of_user(&self.user.id));
            call.context.refused(RefusedRequest::anonymous(refusal, None));
            return Ok(false);
        }
        call.must_complete();
        Ok(true)
    }

    /// The name by which the person signs in.
    fn login_name(&self) -> &str {
        let username = self.user.profile.preferred_username.as_deref();
        self.user.email.as_deref().or(username).unwrap_or(self.user.id.as_str())
    }

    pub(super) fn name(&self) -> &str {
        self.user.profile.name.as_deref().unwrap_or_else(|| self.login_name())
    }

    /// A page for this person.
    ///
    /// # Errors
    /// [`Failure::Internal`]
    pub(super) fn page(
        &self,
        context: &Context,
        status: StatusCode,
        page: Result<String, RenderError>,
    ) -> Result<Response, Failure> {
        self.page_with(context, (status, Policy::default()), page)
    }

    /// As [`page`](Self::page), with a policy of its own.
    ///
    /// # Errors
    /// [`Failure::Internal`]
    fn page_with(
        &self,
        context: &Context,
        (status, policy): (StatusCode, Policy<'_>),
        page: Result<String, RenderError>,
    ) -> Result<Response, Failure> {
        let page = page.map_err(|error| Failure::Internal(error.to_string()))?;
        let mut response = html(status, page, &Policy { language: self.language, ..policy });
        let choice = self.chosen.and_then(|chosen| choice_cookie(&context.issuer, chosen));
        for cookie in [self.browser.cookie(&context.issuer), choice] {
            append(response.headers_mut(), cookie);
        }
        Ok(response)
    }
}

/// The status of a page with a notice. A refused form is the client's error; one that was not looked at may be sent again.
fn status(notice: Option<&AccountNotice>) -> StatusCode {
    match notice {
        None => StatusCode::OK,
        Some(notice) if notice.word().is_some() => StatusCode::OK,
        Some(
            AccountNotice::WrongPassword
            | AccountNotice::WrongCode
            | AccountNotice::SecondFactorRequired
            | AccountNotice::RequestSecondFactor
            | AccountNotice::Expired,
        ) => StatusCode::FORBIDDEN,
        Some(
            AccountNotice::ChangedMeanwhile
            | AccountNotice::Taken
            | AccountNotice::NoRoom
            | AccountNotice::RequestGone
            | AccountNotice::LastWay,
        ) => StatusCode::CONFLICT,
        Some(AccountNotice::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(AccountNotice::Busy) => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::BAD_REQUEST,
    }
}

/// Back to a page after its form was carried out. So a reload does not send the form again.
fn done(call: &Call, place: AccountPlace, notice: &AccountNotice) -> Response {
    let word = notice.word().unwrap_or_default();
    redirect(true, &format!("{}{}?done={word}", call.context.issuer.prefix, place.path()))
}

/// What an address says was done.
fn told(call: &Call) -> Option<AccountNotice> {
    let params = Params::parse(call.received.encoded()).ok()?;
    AccountNotice::of_word(params.get("done").ok()??)
}

/// Notes that a client takes part in the person's session, and is told of its end, as an authorization code does.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn take_part(call: &mut Call, person: &Person, client: &Client) -> Result<(), Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let Context { app, issuer, .. } = &*context;
    let session = &person.session;
    if session.has_to_note(client)
        && let Some(id) = session_cookie(&received.headers, issuer)
    {
        let is_told = client.logout.backchannel_logout_uri.is_some();
        let noted = app.store.note_client(&issuer.id, &id, &client.client_id, is_told).await?;
        if noted.take(durable) {
            context.audit(Event::GrantBegun, Some(&session.user), Some(&client.client_id));
        }
    }
    Ok(())
}

/// The form of a POST.
fn form(call: &Call) -> bytes::Bytes {
    call.received.form.clone()
}

/// `GET /account`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn overview(call: &mut Call) -> Result<Response, Failure> {
    let place = AccountPlace::Overview;
    let person = match visitor(call, place, Freshness::Any).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let context = &call.context;
    let Context { app, issuer, .. } = context;
    let waiting =
        app.store.waiting_backchannel_authentications(&issuer.id, &person.user.id, app.now()).await?;
    let page = AccountPage {
        language: person.language,
        issuer_name: context.issuer.display_name(),
        frame: person.frame(context, place, told(call)),
        is_asked: !waiting.is_empty(),
    };
    person.page(context, StatusCode::OK, page.render_for(&context.issuer.prefix, &context.issuer.brand()))
}

/// The details of an audit record about what a person did to their own account.
fn by_themselves(mut detail: Value) -> Value {
    if let Value::Object(members) = &mut detail {
        members.insert("self".to_owned(), Value::Bool(true));
    }
    detail
}
