//! The consent page (OpenID Connect Core 3.1.2.4).

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use http::{StatusCode, header};
use symbolon_pages::{ConsentPage, Language, ScopeView};
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::Session;
use symbolon_store::Durable;
use url::Url;

use super::authorize::Visit;
use super::transaction::{Asked, Asker, Authorization, Found, expired, go_on, issuer_name, refuse, send_to};
use crate::http::csrf::{Form, Purpose};
use crate::http::{Context, Failure, Policy, html};
use crate::telemetry::{Endpoint, RequestFacts};

const PATH: &str = "/consent";

/// `/consent`.
pub fn routes() -> Router {
    Router::new().route(PATH, get(show).post(submit))
}

/// Asks the person on the consent page.
///
/// # Errors
/// [`Failure`]
pub async fn ask(visit: &Visit<'_>, encoded: &[u8], scopes: Scope) -> Result<Response, Failure> {
    send_to(PATH, visit, encoded, Some(scopes)).await
}

async fn show(context: Context, request: Request) -> Response {
    let (asked, _) = Asked::take(context, request);
    asked.answer(page(&asked).await)
}

async fn submit(context: Context, request: Request) -> Response {
    let (asked, body) = Asked::take(context, request);
    asked.answer(decided(&asked, body).await)
}

/// What the page asks for; none where it was never asked to ask.
fn scopes(authorization: &Authorization) -> Result<&Scope, Failure> {
    authorization.asked.as_ref().ok_or_else(expired)
}

async fn page(asked: &Asked) -> Result<Response, Failure> {
    let params = Params::parse(asked.query())?;
    let found = Found::by(&params, asked).await?;
    let scopes = scopes(found.authorization()?)?;
    let mut durable = Durable::already();
    let Some((_, session)) = asked.session(&mut durable).await? else { return Ok(go_on(asked, &found.id)) };
    let asker = Asker::of(&asked.context, found.authorization()?.transaction.request.as_bytes()).await?;
    let form = Form { purpose: Purpose::Consent, transaction: &found.id, sid: session.sid.as_str() };
    let describe = |name: &str| ScopeView { name: name.to_owned(), description: String::new() };
    let page = ConsentPage {
        language: Language::English,
        issuer_name: issuer_name(&asked.context),
        client_name: asker.name(),
        client_uri: asker.shown("client_uri"),
        client_logo: asker.shown("logo_uri"),
        redirect_host: host(&asker.redirect_uri),
        user_name: user_name(&asked.context, &session).await?,
        scopes: scopes.iter().map(describe).collect(),
        action: format!("{}{PATH}", asked.context.issuer.prefix),
        csrf: found.browser.token(&asked.context.issuer, form),
        transaction: found.id.clone(),
    };
    let page = page.render().map_err(|error| Failure::Internal(error.to_string()))?;
    durable.wait().await?;
    let mut response = html(StatusCode::OK, page, &Policy { leads_to_client: true, ..Policy::default() });
    if let Some(cookie) = found.browser.cookie(&asked.context.issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    RequestFacts::new().client_id(asker.client.client_id.as_str()).note();
    Ok(response)
}

/// Where the person will be taken, in words that they can compare with the address bar.
fn host(redirect_uri: &str) -> Option<String> {
    let url = Url::parse(redirect_uri).ok()?;
    let host = url.host_str()?.to_owned();
    Some(url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
}

/// How a session's user is called: by the e-mail address, since it tells accounts apart.
pub(super) async fn user_name(context: &Context, session: &Session) -> Result<String, Failure> {
    let user = context.app.store.user(&context.issuer.id, &session.user).await?;
    let name = user.and_then(|user| {
        let profile = &user.profile;
        user.email.clone().or_else(|| profile.preferred_username.clone()).or_else(|| profile.name.clone())
    });
    Ok(name.unwrap_or_else(|| session.user.to_string()))
}

async fn decided(asked: &Asked, body: Body) -> Result<Response, Failure> {
    let form = asked.form(body).await?;
    let params = Params::parse(&form)?;
    let found = Found::by(&params, asked).await?;
    let mut durable = Durable::already();
    let Some((_, session)) = asked.session(&mut durable).await? else { return Ok(go_on(asked, &found.id)) };
    durable.wait().await?;
    let form = Form { purpose: Purpose::Consent, transaction: &found.id, sid: session.sid.as_str() };
    if !found.browser.accepts(&asked.context.issuer, form, params.get("csrf_token")?) {
        // Another user signed in since the page was shown, or the form is forged: look again who asks whom.
        return Ok(go_on(asked, &found.id));
    }
    match params.get("decision")? {
        Some("allow") => allow(asked, &found, &session).await,
        Some("deny") => deny(asked, &found, &session).await,
        _ => Err(OAuthError::invalid_request("decision must be allow or deny").into()),
    }
}

async fn allow(asked: &Asked, found: &Found, session: &Session) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = &asked.context;
    let mut authorization = found.authorization()?.clone();
    let scopes = scopes(&authorization)?.clone();
    let asker = Asker::of(&asked.context, authorization.transaction.request.as_bytes()).await?;
    let client = &asker.client.client_id;
    let consent = Consent { scope: scopes.clone(), granted_at: app.now() };
    if !app.store.allow(&issuer.id, &session.user, client, consent).await? {
        // User or client was deleted since they were looked up: look again who asks whom.
        return Ok(go_on(asked, &found.id));
    }
    authorization.transaction.allowed = Some((session.user.clone(), scopes));
    found.keep(&asked.context, authorization).await?;
    asked.context.audit(Event::ConsentGranted, Some(&session.user), Some(client));
    let response = go_on(asked, &found.id);
    RequestFacts::new().client_id(client.as_str()).note();
    Ok(response)
}

async fn deny(asked: &Asked, found: &Found, session: &Session) -> Result<Response, Failure> {
    let encoded = found.authorization()?.transaction.request.as_bytes();
    let asker = Asker::of(&asked.context, encoded).await?;
    found.use_up(&asked.context).await?;
    asked.context.audit(Event::ConsentDenied, Some(&session.user), Some(&asker.client.client_id));
    let response = refuse(&asked.visit(None), encoded, &denied()).await?;
    RequestFacts::new().endpoint(Endpoint::Consent).note();
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_sees_the_host_that_they_are_taken_to() {
        assert_eq!(host("https://app.example/cb?x=1").as_deref(), Some("app.example"));
        assert_eq!(host("http://127.0.0.1:8080/callback").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(host("com.example.app:/cb"), None);
    }
}
