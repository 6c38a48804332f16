//! The page on which a person allows a device what it asks for (RFC 8628 3.3).
//!
//! It is for the person who is signed in in this browser; anybody else is led through the sign-in page and back. So every code
//! that is tried counts for an account (RFC 8628 5.1). A code that the address brings along is shown and has to be confirmed like one that
//! was typed (RFC 8628 3.3.1, 5.4): whoever sends somebody an address gets nothing by it alone.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::{DeviceConsentPage, DeviceError, DevicePage, Notice, ScopeView};
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::client::Client;
use symbolon_protocol::decision::Decision;
use symbolon_protocol::device_authorization::{DeviceAuthorization, UserCode, allowed};
use symbolon_protocol::discovery::path;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::is_enough;
use symbolon_store::port::{Decided, Deciding};

use crate::account::{Person, Visitor, take_part, visitor_of};
use crate::authorization_details;
use crate::authorize::resume;
use crate::interaction::{Interaction, Page, PendingAuthorization};
use crate::notice_page::notice;
use crate::requesting_client::logo_of;
use crate::second_factor_policy;
use crate::sign_in_goal::{AccountGoal, Freshness, SignInGoal};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::client_documents;
use symbolon_app::http::csrf::{PageForm, Purpose};
use symbolon_app::http::{Call, Context, Failure, redirect, session_cookie};

/// The path of the page and its forms.
pub(super) const PATH: &str = path::DEVICE;

/// `GET /device`: asks for a code, or what to do about the device that has it.
///
/// # Errors
/// [`Failure`]
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let (typed, done) = {
        let params = Params::parse(call.received.encoded())?;
        (params.get("user_code")?.unwrap_or_default().to_owned(), params.get("done")?.map(str::to_owned))
    };
    match done.as_deref() {
        Some("allowed") => return told(call, Notice::DeviceAllowed),
        Some("denied") => return told(call, Notice::DeviceDenied),
        _ => {}
    }
    let person = match visitor(call, &typed, Freshness::Any).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    // Another site must not use up the tries of a person, so what it leads to is looked up when the person asks for it.
    if typed.is_empty() || !call.received.is_from_own_page(&call.context.issuer) {
        return ask_for_code(&call.context, &person, &typed, None);
    }
    match look_up(call, &person, &typed).await? {
        Found::Waiting(device) => ask(&call.context, &person, &device, false).await,
        Found::Answer(answer) => Ok(answer),
    }
}

/// `POST /device`: the person's decision.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let typed = params.get("user_code")?.unwrap_or_default();
    let person = match visitor(call, typed, Freshness::Any).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    if !call.received.is_from_own_page(&call.context.issuer) {
        note_refused(&call.context, &person, Reason::PageFormExpired);
        return ask_for_code(&call.context, &person, typed, None);
    }
    let device = match look_up(call, &person, typed).await? {
        Found::Waiting(device) => device,
        Found::Answer(answer) => return Ok(answer),
    };
    if !accepts(call, &person, &device, &params)? {
        return ask(&call.context, &person, &device, true).await;
    }
    match params.get("decision")? {
        Some("allow") => allow(call, &person, &device).await,
        Some("deny") => decide(call, &person, &device, Decision::Denied(person.user.id.clone())).await,
        // The person at the page is not the session's user.
        Some("switch") => switch(call, &device.code).await,
        decision => {
            let details = Details::of("decision").sent(decision.unwrap_or_default());
            let description = "decision must be allow, deny or switch";
            Err(OAuthError::invalid_request(Reason::PageFormInvalid, description).about(details).into())
        }
    }
}

/// The person who is signed in; anybody else is led to the sign-in page, and back with the code.
async fn visitor(call: &mut Call, typed: &str, freshness: Freshness) -> Result<Visitor, Failure> {
    let code = UserCode::parse(typed);
    visitor_of(call, freshness, move |login_hint| AccountGoal::device(code.as_ref(), freshness, login_hint))
        .await
}

/// A device that waits for a decision.
struct Waiting {
    code: UserCode,
    asked: DeviceAuthorization,
    client: Arc<Client>,
}

impl Waiting {
    /// What stands in the form's token for this device: its code alone may be another device's later.
    fn name(&self) -> String {
        format!("{} {}", self.code.as_str(), self.asked.client)
    }
}

/// What there is of a code.
enum Found {
    /// A device waits.
    Waiting(Box<Waiting>),
    /// None does, or the person must sign in with more; the page that says so.
    Answer(Response),
}

/// Looks up the device that has a code, if this person may still try one.
async fn look_up(call: &mut Call, person: &Person, typed: &str) -> Result<Found, Failure> {
    let Call { context, client: asking, .. } = &mut *call;
    let context = &*context;
    let Context { app, issuer, remote, .. } = context;
    let (user, now) = (&person.user.id, app.now());
    // RFC 8628 5.1.
    if let Err(limited) = app.rate_limits.may_try_user_code(&issuer.id, user, *remote, now) {
        note_refused(context, person, Reason::UserCodeRateLimited);
        let error = DeviceError::TooManyAttempts { retry_after_seconds: limited.retry_after_seconds };
        return ask_for_code(context, person, typed, Some(error)).map(Found::Answer);
    }
    let unknown = || ask_for_code(context, person, typed, Some(DeviceError::Unknown)).map(Found::Answer);
    // What cannot be a code is no guess.
    let Some(code) = UserCode::parse(typed) else { return unknown() };
    let kept = app.store.device_authorization(&issuer.id, &code, now).await?;
    let decided = kept.as_ref().and_then(|kept| kept.decided.as_ref());
    // The form was sent twice, or the page was reloaded.
    if let Some(decided) = decided.filter(|decided| decided.user == *user) {
        return Ok(Found::Answer(lead_on(call, decided.is_allowed)));
    }
    let asked = kept.filter(|kept| kept.decided.is_none()).map(|kept| kept.asked);
    let client = match &asked {
        Some(asked) => client_documents::client(context, &asked.client).await?.client(),
        None => None,
    };
    let (Some(asked), Some(client)) = (asked, client) else {
        app.rate_limits.wrong_user_code(&issuer.id, user, *remote, now);
        note_refused(context, person, Reason::UserCodeUnknown);
        return unknown();
    };
    *asking = Some(Arc::clone(&client));
    let device = Box::new(Waiting { code, asked, client });
    match more_is_wanted(call, person, &device).await? {
        Some(answer) => Ok(Found::Answer(answer)),
        None => Ok(Found::Waiting(device)),
    }
}

/// The page for who has to sign in with more than they have, because the client demands a second factor.
async fn more_is_wanted(
    call: &mut Call,
    person: &Person,
    device: &Waiting,
) -> Result<Option<Response>, Failure> {
    let context = &call.context;
    let wanted = Some((&device.client, device.client.default_acr_values));
    let policy = second_factor_policy::policy(context, wanted, &person.user.id).await?;
    if is_enough(person.session.amr, policy, &Default::default()) {
        return Ok(None);
    }
    // A fresh sign-in asks for the second factor of whoever has one.
    let shown = device.code.shown();
    match visitor(call, &shown, Freshness::Fresh).await? {
        Visitor::Stranger(answer) => Ok(Some(answer)),
        Visitor::Person(_) => {
            note_refused(&call.context, person, Reason::SecondFactorNeeded);
            let error = Some(DeviceError::SecondFactorRequired);
            ask_for_code(&call.context, person, &shown, error).map(Some)
        }
    }
}

/// Notes what was refused on the page.
fn note_refused(context: &Context, person: &Person, reason: Reason) {
    let refusal = Refusal::about(reason, Details::of_user(&person.user.id));
    context.refused(RefusedRequest::anonymous(refusal, None));
}

/// Whether the issuer's own page sent the form, in the browser and the session that it was shown to, for this device.
fn accepts(call: &Call, person: &Person, device: &Waiting, params: &Params<'_>) -> Result<bool, Failure> {
    let issuer = &call.context.issuer;
    let name = device.name();
    let form = PageForm { purpose: Purpose::Device, interaction: &name, sid: person.session.sid.as_str() };
    let is_known = person.browser.accepts(issuer, form, params.get("csrf_token")?);
    if !is_known {
        note_refused(&call.context, person, Reason::PageFormExpired);
    }
    Ok(is_known)
}

async fn allow(call: &mut Call, person: &Person, device: &Waiting) -> Result<Response, Failure> {
    call.must_complete();
    take_part(call, person, &device.client).await?;
    let Context { app, issuer, .. } = &call.context;
    let grant = allowed(&device.asked, &issuer.id, &person.session, app.now(), &*app.random);
    decide(call, person, device, Decision::Allowed(Box::new(grant))).await
}

/// Decides, unless somebody has: whoever sends the form twice comes to the same page.
async fn decide(
    call: &mut Call,
    person: &Person,
    device: &Waiting,
    decision: Decision,
) -> Result<Response, Failure> {
    call.must_complete();
    let context = &call.context;
    let Context { app, issuer, .. } = context;
    let own = Decided::from(&decision);
    let deciding = app.store.decide_device_authorization(&issuer.id, &device.code, decision, app.now());
    match deciding.await? {
        Deciding::Decided => {
            let event = if own.is_allowed { Event::ConsentGranted } else { Event::ConsentDenied };
            let detail = serde_json::json!({ "device": true });
            context.audit_change(event, &person.user.id, Some(&device.asked.client), detail);
            Ok(lead_on(call, own.is_allowed))
        }
        Deciding::Before(before) if before.user == own.user => Ok(lead_on(call, before.is_allowed)),
        Deciding::Before(_) | Deciding::Unknown => {
            ask_for_code(context, person, "", Some(DeviceError::Unknown))
        }
    }
}

/// The person signs in as somebody else, and comes back to the device.
async fn switch(call: &mut Call, code: &UserCode) -> Result<Response, Failure> {
    let goal = AccountGoal::device(Some(code), Freshness::Any, None);
    let mut pending = PendingAuthorization::for_goal(SignInGoal::Account(goal));
    pending.wants = AnotherAccount::Choose;
    let interaction = Interaction::begin(&call.context, &call.received, pending);
    let session = session_cookie(&call.received.headers, &call.context.issuer);
    resume(call, interaction, session, Page::Other).await
}

/// On to the page that says what was decided. So a reload does not send the form again.
fn lead_on(call: &Call, is_allowed: bool) -> Response {
    let done = if is_allowed { "allowed" } else { "denied" };
    redirect(call.received.is_post(), &format!("{}{PATH}?done={done}", call.context.issuer.prefix))
}

fn told(call: &Call, said: Notice) -> Result<Response, Failure> {
    notice((&call.context, call.language()), StatusCode::OK, said, None)
}

/// The page that asks for a code.
fn ask_for_code(
    context: &Context,
    person: &Person,
    typed: &str,
    error: Option<DeviceError>,
) -> Result<Response, Failure> {
    let status = match error {
        None => StatusCode::OK,
        Some(DeviceError::Unknown) => StatusCode::BAD_REQUEST,
        Some(DeviceError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(DeviceError::SecondFactorRequired) => StatusCode::FORBIDDEN,
    };
    let issuer = &context.issuer;
    let page = DevicePage {
        language: person.language,
        issuer_name: issuer.display_name(),
        user_name: person.name().to_owned(),
        user_code: typed.to_owned(),
        action: format!("{}{PATH}", issuer.prefix),
        error,
    };
    person.page(context, status, page.render_for(&issuer.prefix, &issuer.brand()))
}

/// The page that asks whether the device may have what it asks for.
async fn ask(
    context: &Context,
    person: &Person,
    device: &Waiting,
    is_expired: bool,
) -> Result<Response, Failure> {
    let issuer = &context.issuer;
    let client = &device.client;
    let logo = logo_of(context, client).await?;
    let look = issuer.appearance_for(client, logo.as_ref());
    let logo = logo.filter(|_| !client.has_name_in_head());
    let language = person.language.tag();
    let describe = |name: &str| ScopeView { name: name.to_owned(), description: String::new() };
    let name = device.name();
    let form = PageForm { purpose: Purpose::Device, interaction: &name, sid: person.session.sid.as_str() };
    let asked = &device.asked.authorization_details;
    let details = authorization_details::views(asked, &issuer.settings.load(), person.language);
    let page = DeviceConsentPage {
        language: person.language,
        issuer_name: look.name,
        client_name: client.display_name_in(language),
        client_uri: client.displayed_in("client_uri", language),
        client_logo: logo.map(|logo| issuer.logo_address(&logo, Some(&client.client_id))),
        policy_uri: client.displayed_in("policy_uri", language),
        tos_uri: client.displayed_in("tos_uri", language),
        client_host: client.document_host(),
        user_name: person.name().to_owned(),
        user_code: device.code.shown(),
        scopes: device.asked.scope.iter().map(describe).collect(),
        details,
        is_expired,
        action: format!("{}{PATH}", issuer.prefix),
        csrf: person.browser.token(issuer, form),
    };
    let status = if is_expired { StatusCode::FORBIDDEN } else { StatusCode::OK };
    person.page(context, status, page.render_for(&issuer.prefix, &look.brand))
}
