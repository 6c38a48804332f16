//! UserInfo (OpenID Connect Core 5.3), a protected resource by RFC 6750.

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::params::Params;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::userinfo;
use symbolon_store::Durable;

use super::cors;
use crate::http::{Context, Failure, is_form, json, no_store, read_form};
use crate::rate_limit::{EndpointClass, Limited};
use crate::telemetry::{Endpoint, RequestFacts};

/// `GET` and `POST /userinfo`.
pub fn userinfo(context: Context, request: Request) -> impl Future<Output = Response> + Send {
    // Not an `async fn`: that would keep room for the request whole, and for its parts twice.
    let (parts, body) = request.into_parts();
    async move {
        let mut client = None;
        let answered = answer(&context, &parts, body, &mut client).await;
        let mut response = answered.unwrap_or_else(Failure::into_json);
        cors::allow(&parts.headers, client.as_deref(), &mut response);
        response
    }
}

async fn answer(
    context: &Context,
    parts: &Parts,
    body: Body,
    asking: &mut Option<Arc<Client>>,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    app.store.check_lease()?;
    let form = form(context, parts, body).await?;
    let token = bearer(&parts.headers, &form)?;
    let now = app.now();
    let verified = app.verified.verify(issuer, &token).ok_or_else(|| refused(context))?;
    let claims = &verified.claims;
    userinfo::check(claims, &issuer.url, now).map_err(Failure::Bearer)?;
    let mut durable = Durable::already();
    if app.revoked(issuer, &verified, &mut durable).await? {
        return Err(refused(context));
    }
    check_limits(context, claims, now)?;
    if parts.headers.contains_key(header::ORIGIN) {
        *asking = app.store.client(&issuer.id, &claims.client_id).await?;
    }
    let user = match claims.user() {
        Some(user) => app.store.user(&issuer.id, &user).await?,
        None => None,
    };
    let info = userinfo::claims(claims, user.as_deref()).map_err(Failure::Bearer)?;
    let response = no_store(json(StatusCode::OK, info.to_json()));
    RequestFacts::new().endpoint(Endpoint::Userinfo).client_id(claims.client_id.as_str()).note();
    durable.wait().await?;
    Ok(response)
}

/// Counts the request for the token's user and client. Apart from the answer's future, which would keep room for the
/// user's id while it waits for the store.
fn check_limits(context: &Context, claims: &AccessToken, now: Timestamp) -> Result<(), Limited> {
    let (limits, issuer, client) = (&context.app.rate_limits, &context.issuer.id, &claims.client_id);
    if let Some(user) = claims.user() {
        limits.check_userinfo_user(issuer, client, &user, now)?;
    }
    limits.check_client(EndpointClass::Userinfo, issuer, client, now)
}

/// The form of a POST that brings the token in its body (RFC 6750 2.2). A body of any other type brings none: whoever has
/// no token elsewhere is told so by a challenge (RFC 6750 3), and not that the type is wrong.
async fn form(context: &Context, parts: &Parts, body: Body) -> Result<Bytes, Failure> {
    if parts.method != Method::POST || !is_form(&parts.headers) {
        return Ok(Bytes::new());
    }
    read_form(&parts.headers, body, context.body_limits()).await
}

/// The access token of a request: in the header or in the form, never in the query (RFC 9700 4.3.2).
fn bearer(headers: &HeaderMap, form: &[u8]) -> Result<String, Failure> {
    let params = Params::parse(form).map_err(Failure::Bearer)?;
    let in_form = params.get("access_token").map_err(Failure::Bearer)?;
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(value) = lines.next() {
        // RFC 6750 2: clients MUST NOT use more than one method in each request.
        if in_form.is_some() || lines.next().is_some() {
            return Err(Failure::Bearer(OAuthError::invalid_request("the access token came more than once")));
        }
        let text = value.to_str().map_err(|_| Failure::Bearer(malformed()))?;
        let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
        // RFC 9110 11.1: the scheme's case does not matter.
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Failure::NoToken);
        }
        return Ok(token.trim().to_owned());
    }
    in_form.map(str::to_owned).ok_or(Failure::NoToken)
}

fn malformed() -> OAuthError {
    OAuthError::invalid_request("the Authorization header is not valid")
}

fn invalid_token() -> Failure {
    Failure::Bearer(OAuthError::new(
        ErrorCode::InvalidToken,
        "the access token is expired, revoked or not one of ours",
    ))
}

/// A bad token counts against the address that brought it.
fn refused(context: &Context) -> Failure {
    match context.app.rate_limits.check_address(EndpointClass::Userinfo, context.remote, context.app.now()) {
        Err(limited) => limited.into(),
        Ok(()) => invalid_token(),
    }
}
