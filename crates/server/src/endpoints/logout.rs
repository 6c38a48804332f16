//! Logout by a relying party (OpenID Connect RP-Initiated Logout 1.0), with the page that asks first.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::{get, post};
use http::{Method, StatusCode, header};
use symbolon_pages::{Language, LoggedOutPage, LogoutPage};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::logout::{LogoutDecision, LogoutHint, LogoutRequest};
use symbolon_protocol::params::Params;
use symbolon_protocol::revocation::{SessionEnd, longest_life};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::Durable;

use super::consent::user_name;
use super::transaction::{self, Asked, Found, Matter, issuer_name};
use crate::app::App;
use crate::http::csrf::{Browser, Form, Purpose};
use crate::http::{Context, Failure, Policy, html, redirect, remove_cookie};
use crate::issuer::IssuerState;
use crate::rate_limit::{EndpointClass, Limited};
use crate::telemetry::{Endpoint, RequestFacts};
use crate::verified_hint::{IdTokenHintClaims, id_token_hint};

const CONFIRM: &str = "/logout/confirm";

/// `/logout`, and `/logout/confirm` for its page.
pub fn routes() -> Router {
    Router::new().route("/logout", get(logout).post(logout)).route(CONFIRM, post(confirm))
}

/// `GET` and `POST /logout` (section 2: both MUST be supported).
async fn logout(context: Context, request: Request) -> Response {
    let (asked, body) = Asked::take(context, request);
    let answered = answer(&asked, body).await;
    asked.answer(answered)
}

async fn answer(asked: &Asked, body: Body) -> Result<Response, Failure> {
    check_limit(&asked.context)?;
    if asked.method == Method::POST {
        decided(asked, &asked.form(body).await?).await
    } else {
        decided(asked, asked.query()).await
    }
}

/// Anybody may ask, so requests count by address; before the body is read, so that a refused one costs nothing more.
fn check_limit(context: &Context) -> Result<(), Limited> {
    context.app.rate_limits.check_address(EndpointClass::Logout, context.remote, context.app.now())
}

async fn decided(asked: &Asked, encoded: &[u8]) -> Result<Response, Failure> {
    let params = Params::parse(encoded)?;
    let request = LogoutRequest::read(&params)?;
    let claims = request.id_token_hint.map(|hint| id_token_hint(&asked.context.issuer, hint));
    let hint = hint_of(claims.as_ref().map(Option::as_ref));
    let client = client(&asked.context, request.client(hint)).await?;
    let mut durable = Durable::already();
    let session = asked.session(&mut durable).await?;
    let decision = request.decide(hint, client.as_deref(), session.as_ref().map(|(_, session)| &**session));
    let response = match (decision, session) {
        (LogoutDecision::Refuse(error), _) => return Err(error.into()),
        (LogoutDecision::Ask { redirect }, Some((_, session))) => {
            durable.wait().await?;
            ask(asked, client.as_deref(), &session, redirect).await?
        }
        (LogoutDecision::EndNow { redirect }, Some((id, session))) => {
            let client = client.as_deref().map(|client| &client.client_id);
            end(asked, &id, &session, client, durable).await?;
            signed_out(asked, redirect, true)?
        }
        (LogoutDecision::Ask { redirect } | LogoutDecision::EndNow { redirect }, None) => {
            signed_out(asked, redirect, false)?
        }
    };
    if let Some(client) = &client {
        RequestFacts::new().client_id(client.client_id.as_str()).note();
    }
    Ok(response)
}

/// `claims`: none for a request without a hint, and none inside for a hint that says nothing.
fn hint_of(claims: Option<Option<&IdTokenHintClaims>>) -> LogoutHint<'_> {
    match claims {
        None => LogoutHint::Absent,
        Some(None) => LogoutHint::Unverifiable,
        Some(Some(IdTokenHintClaims { sub, sid, aud })) => {
            LogoutHint::IdToken { subject: sub, sid: sid.as_deref(), client: aud }
        }
    }
}

async fn client(context: &Context, client_id: Option<&str>) -> Result<Option<Arc<Client>>, Failure> {
    match client_id.map(ClientId::parse) {
        Some(Ok(client_id)) => Ok(context.app.store.client(&context.issuer.id, &client_id).await?),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Section 2: the provider SHOULD ask, and must where nothing proves that the request is about this very session.
async fn ask(
    asked: &Asked,
    client: Option<&Client>,
    session: &Session,
    redirect: Option<String>,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = &asked.context;
    let browser = Browser::of_or_new(&asked.headers, issuer, &*app.random);
    let waiting = transaction::Logout { sid: session.sid.clone(), redirect };
    let id = transaction::begin(&asked.context, &browser, Matter::Logout(waiting)).await?;
    let form = Form { purpose: Purpose::Logout, transaction: &id, sid: session.sid.as_str() };
    let page = LogoutPage {
        language: Language::English,
        issuer_name: issuer_name(&asked.context),
        user_name: Some(user_name(&asked.context, session).await?),
        client_name: client.map(transaction::name),
        action: format!("{}{CONFIRM}", issuer.prefix),
        csrf: browser.token(issuer, form),
        transaction: id.clone(),
    };
    let page = page.render().map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(StatusCode::OK, page, &Policy { leads_to_client: true, ..Policy::default() });
    if let Some(cookie) = browser.cookie(issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `POST /logout/confirm`: the person's word.
async fn confirm(context: Context, request: Request) -> Response {
    let (asked, body) = Asked::take(context, request);
    let response = asked.answer(confirmed(&asked, body).await);
    RequestFacts::new().endpoint(Endpoint::Logout).note();
    response
}

async fn confirmed(asked: &Asked, body: Body) -> Result<Response, Failure> {
    check_limit(&asked.context)?;
    let form = asked.form(body).await?;
    let params = Params::parse(&form)?;
    let found = Found::by(&params, asked).await?;
    let waiting = found.logout()?;
    let form = Form { purpose: Purpose::Logout, transaction: &found.id, sid: waiting.sid.as_str() };
    if !found.browser.accepts(&asked.context.issuer, form, params.get("csrf_token")?) {
        return Err(transaction::expired());
    }
    let agreed = match params.get("decision")? {
        Some("confirm") => true,
        Some("cancel") => false,
        _ => return Err(OAuthError::invalid_request("decision must be confirm or cancel").into()),
    };
    found.use_up(&asked.context).await?;
    if !agreed {
        // Section 3: back to the client only after a logout.
        return Ok(redirect(true, &format!("{}/", asked.context.issuer.prefix)));
    }
    let mut durable = Durable::already();
    let session = asked.session(&mut durable).await?;
    let was_signed_in = session.is_some();
    match session {
        // Another user signed in meanwhile, and was never asked.
        Some((_, session)) if session.sid != waiting.sid => return Err(transaction::expired()),
        Some((id, session)) => end(asked, &id, &session, None, durable).await?,
        None => {}
    }
    signed_out(asked, waiting.redirect.clone(), was_signed_in)
}

async fn end(
    asked: &Asked,
    id: &SessionId,
    session: &Session,
    client: Option<&ClientId>,
    mut durable: Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = &asked.context;
    end_session(app, issuer, id, session, &mut durable).await?;
    durable.wait().await?;
    asked.context.audit(Event::SessionEnded, Some(&session.user), client);
    Ok(())
}

/// Ends a session with every grant that is bound to it.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub async fn end_session(
    app: &App,
    issuer: &IssuerState,
    id: &SessionId,
    session: &Session,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let end = SessionEnd::WithTokens { now: app.now(), longest: longest_of(app, issuer, session).await? };
    if app.store.end_session(&issuer.id, id, &end).await?.take(durable).is_none() {
        // Somebody was faster, perhaps with another session in its place: what hangs on this one ends all the same.
        let tombstones = end.tombstones(&issuer.id, session);
        app.store.revoke(&issuer.id, &tombstones).await?.take(durable);
    }
    Ok(())
}

/// How long anything that hangs on a session may live: its clients may set other lifetimes than their issuer.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub async fn longest_of(app: &App, issuer: &IssuerState, session: &Session) -> Result<Duration, Failure> {
    let mut overrides = Vec::with_capacity(session.clients.len());
    for client in &session.clients {
        if let Some(client) = app.store.client(&issuer.id, client).await? {
            overrides.push(client);
        }
    }
    let settings = issuer.settings.load_full();
    Ok(longest_life(&settings, overrides.iter().map(|client| &client.settings)))
}

/// Back to the client where it said so (section 3), else our own page; without a session in either case. `has_ended`:
/// there was one, and its cookie goes too.
fn signed_out(asked: &Asked, to: Option<String>, has_ended: bool) -> Result<Response, Failure> {
    let issuer = &asked.context.issuer;
    let mut response = match to {
        Some(location) => redirect(asked.method == Method::POST, &location),
        None => {
            let page = LoggedOutPage {
                language: Language::English,
                issuer_name: issuer_name(&asked.context),
                return_uri: None,
                client_name: None,
            };
            let page = page.render().map_err(|error| Failure::Internal(error.to_string()))?;
            html(StatusCode::OK, page, &Policy::default())
        }
    };
    // Any other cookie may be of a session that lives: a POST from another site brings no Lax cookie, and what another
    // provider on this host keeps by the same name is not ours. Nobody is signed out by taking it away.
    if let Some(cookie) = remove_cookie(issuer, &issuer.cookie).filter(|_| has_ended) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
