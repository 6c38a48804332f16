//! Logout requested by a relying party (OpenID Connect RP-Initiated Logout 1.0), and its confirmation page.

use std::sync::Arc;

use axum::response::Response;
use http::{StatusCode, header};
use symbolon_pages::{Language, LoggedOutPage, LogoutPage};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::id_token_hint::{IdTokenHint, IdTokenHintClaims};
use symbolon_protocol::logout::{LogoutDecision, LogoutRequest};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::Durable;
use symbolon_store::port::PageRequest;

use crate::interaction::{Interaction, PendingLogout, session_of, user_name};
use crate::session_end::{end_session, end_session_by_sid};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect, remove_cookie};

/// How many of a user's sessions are searched for an earlier `sid`: enough for all of them, unless
/// `rate_limit.login.sessions` was raised.
const MOST_LOOKED_AT: u32 = 100;

/// The path of the page's form.
pub(super) const CONFIRM: &str = "/logout/confirm";

/// `GET` and `POST /logout` (section 2: both MUST be supported).
///
/// # Errors
/// [`Failure`]: `invalid_request`, shown as a page.
pub(super) async fn logout(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client: asking, .. } = &mut *call;
    let params = Params::parse(received.encoded())?;
    let request = LogoutRequest::read(&params)?;
    let hint = context.issuer.id_token_hint(request.id_token_hint);
    let client = client(context, request.client(&hint)).await?;
    asking.clone_from(&client);
    let session = session_of(context, received, durable).await?;
    let decision = request.decide(&hint, client.as_deref(), session.as_ref().map(|(_, session)| &**session));
    note_what_fails(context, &request, &hint, client.as_deref());
    match (decision, session) {
        (LogoutDecision::Refuse(error), _) => Err(error.into()),
        (LogoutDecision::Ask { redirect }, Some((_, session))) => {
            let client_name = client.as_deref().map(|client| client.display_name().to_owned());
            let ui_locales = request.ui_locales.map(str::to_owned);
            let pending = PendingLogout { sid: session.sid.clone(), client_name, redirect, ui_locales };
            ask(context, Interaction::begin(context, received, pending), &session).await
        }
        (LogoutDecision::EndNow { redirect }, Some((id, session))) => {
            end(call, (&id, &session), client.as_deref().map(|client| &client.client_id)).await?;
            signed_out(call, redirect, true, call.language())
        }
        (LogoutDecision::Ask { redirect } | LogoutDecision::EndNow { redirect }, None) => {
            if let Some(claims) = hint.claims() {
                end_hinted(call, claims, client.as_deref().map(|client| &client.client_id)).await?;
            }
            signed_out(call, redirect, false, call.language())
        }
    }
}

/// Notes what of the request cannot be done, though it is answered with a page: the person is not sent where it asks,
/// or its hint says nothing.
fn note_what_fails(
    context: &Context,
    request: &LogoutRequest<'_>,
    hint: &IdTokenHint,
    client: Option<&Client>,
) {
    let unverifiable = || match hint {
        IdTokenHint::Unverifiable => {
            Some(Refusal::about(Reason::IdTokenHintUnverifiable, Details::of("id_token_hint")))
        }
        IdTokenHint::Absent | IdTokenHint::IdToken(_) => None,
    };
    if let Some(refusal) = request.why_astray(client).or_else(unverifiable) {
        let client = client.map(|client| &client.client_id);
        context.refused(RefusedRequest::anonymous(refusal, client));
    }
}

async fn client(context: &Context, client_id: Option<&str>) -> Result<Option<Arc<Client>>, Failure> {
    match client_id.map(ClientId::parse) {
        Some(Ok(client_id)) => Ok(context.app.store.client(&context.issuer.id, &client_id).await?),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Section 2: the provider SHOULD ask, and must if nothing proves that the request is about this session.
async fn ask(
    context: &Context,
    mut interaction: Interaction<PendingLogout>,
    session: &Session,
) -> Result<Response, Failure> {
    interaction.pending.sid = session.sid.clone();
    let page = LogoutPage {
        language: interaction.language,
        issuer_name: context.issuer.display_name(),
        user_name: Some(user_name(context, session).await?),
        client_name: interaction.pending.client_name.clone(),
        action: format!("{}{CONFIRM}", context.issuer.prefix),
        csrf: interaction.csrf_token(context, Purpose::Logout, session.sid.as_str()),
        transaction: interaction.seal(context)?,
    };
    let page = page
        .render_for(&context.issuer.prefix, &context.issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(
        StatusCode::OK,
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    );
    if let Some(cookie) = interaction.browser.cookie(&context.issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `POST /logout/confirm`: the person's decision.
///
/// # Errors
/// [`Failure`]: `invalid_request`, shown as a page.
pub(super) async fn confirm(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingLogout>::open(context, received, &params)?;
    let Some((id, session)) = session_of(context, received, durable).await? else {
        // The form was sent twice, or the session has ended elsewhere: the person is signed out already.
        return signed_out(call, interaction.pending.redirect, false, interaction.language);
    };
    let sid = interaction.pending.sid.as_str();
    let is_ours = interaction.accepts((context, received), &params, Purpose::Logout, sid)?;
    if !is_ours || !session.is_named(sid) {
        // The form is forged, or another user has signed in meanwhile and has not been asked.
        let refusal = Refusal::about(Reason::PageFormExpired, Details::of_user(&session.user));
        context.refused(RefusedRequest::anonymous(refusal, None));
        return ask(context, interaction, &session).await;
    }
    match params.get("decision")? {
        Some("confirm") => {
            end(call, (&id, &session), None).await?;
            signed_out(call, interaction.pending.redirect, true, interaction.language)
        }
        // Section 3: redirects to the client only after a logout.
        Some("cancel") => Ok(redirect(true, &format!("{}/", context.issuer.prefix))),
        decision => {
            let details = Details::of("decision").sent(decision.unwrap_or_default());
            let description = "decision must be confirm or cancel";
            Err(OAuthError::invalid_request(Reason::PageFormInvalid, description).about(details).into())
        }
    }
}

async fn end(
    call: &mut Call,
    (id, session): (&SessionId, &Session),
    client: Option<&ClientId>,
) -> Result<(), Failure> {
    let Call { context, durable, .. } = &mut *call;
    end_session(&context.app, &context.issuer, id, session, durable).await?;
    call.settle().await?;
    call.context.audit(Event::SessionEnded, Some(&session.user), client);
    Ok(())
}

/// Ends the session in which the hinted ID token was issued, if the request carries no session cookie: a form of
/// another site sends no Lax cookie, or the relying party called from another browser. The hint names the session
/// (RP-Initiated Logout 2), and there is no session to show a confirmation page to.
async fn end_hinted(
    call: &mut Call,
    hint: &IdTokenHintClaims,
    client: Option<&ClientId>,
) -> Result<(), Failure> {
    let Call { context, durable, .. } = &mut *call;
    let Some(session) = hinted(context, hint, durable).await? else { return Ok(()) };
    end_session_by_sid(&context.app, &context.issuer, &session, durable).await?;
    call.settle().await?;
    call.context.audit(Event::SessionEnded, Some(&session.user), client);
    Ok(())
}

/// The hinted subject's live session whose `sid` the hint carries, or carried before the person signed in again.
async fn hinted(
    context: &Context,
    hint: &IdTokenHintClaims,
    durable: &mut Durable,
) -> Result<Option<Arc<Session>>, Failure> {
    let Some(sid) = hint.sid.as_ref().map(Sid::as_str) else { return Ok(None) };
    let (store, issuer, now) = (&context.app.store, &context.issuer.id, context.app.now());
    let is_meant = |session: &Session| session.user == hint.sub && session.is_named(sid);
    if let Some(found) = store.session_by_sid(issuer, sid, now).await?.take(durable) {
        return Ok(Some(found.session).filter(|session| is_meant(session)));
    }
    let newest = PageRequest { page: 1, limit: MOST_LOOKED_AT, search: None };
    let sessions = store.list_sessions(issuer, &hint.sub, &newest, now).await?;
    Ok(sessions.items.into_iter().map(|listed| listed.session).find(|session| is_meant(session)))
}

/// Redirects to the client's URI if there is one (section 3), else shows the signed-out page. `has_ended`: a session
/// has ended here, and its cookie is removed.
fn signed_out(
    call: &Call,
    to: Option<String>,
    has_ended: bool,
    language: Language,
) -> Result<Response, Failure> {
    let issuer = &call.context.issuer;
    let mut response = match to {
        Some(location) => redirect(call.received.is_post(), &location),
        None => {
            let page = LoggedOutPage {
                language,
                issuer_name: call.context.issuer.display_name(),
                return_uri: call.client.as_deref().and_then(|client| client.displayed("client_uri")),
                client_name: call.client.as_deref().map(|client| client.display_name().to_owned()),
            };
            let page = page
                .render_for(&issuer.prefix, &issuer.brand())
                .map_err(|error| Failure::Internal(error.to_string()))?;
            html(StatusCode::OK, page, &Policy { language, ..Policy::default() })
        }
    };
    // Otherwise the cookie stays: it may belong to a live session, because a POST from another site sends no Lax
    // cookie, and another provider on this host may use the same cookie name. Removing it would sign nobody out.
    if let Some(cookie) = remove_cookie(issuer, &issuer.cookie).filter(|_| has_ended) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
