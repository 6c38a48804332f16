//! Token revocation (RFC 7009 2).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use symbolon_protocol::client::Client;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::revocation;
use symbolon_store::Durable;

use super::client::authenticate;
use super::cors;
use super::token::family_of;
use crate::audit::Actor;
use crate::http::{Context, Failure, no_store, read_form};
use crate::rate_limit::EndpointClass;
use crate::telemetry::{Endpoint, RequestFacts};

/// `POST /revoke`.
pub async fn revoke(context: Context, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut client = None;
    let mut response = match answer(&context, &parts, body, &mut client).await {
        Ok(()) => no_store(StatusCode::OK.into_response()),
        Err(failure) => failure.into_json(),
    };
    let mut facts = RequestFacts::new().endpoint(Endpoint::Revoke);
    if let Some(client) = &client {
        facts = facts.client_id(client.client_id.as_str());
    }
    facts.note();
    cors::allow(&parts.headers, client.as_deref(), &mut response);
    response
}

async fn answer(
    context: &Context,
    parts: &Parts,
    body: Body,
    asking: &mut Option<Arc<Client>>,
) -> Result<(), Failure> {
    let form = read_form(&parts.headers, body, context.body_limits()).await?;
    let form = Params::parse(&form)?;
    form.refuse_repeated(&[])?;
    let mut durable = Durable::already();
    let client =
        authenticate(context, &parts.headers, &form, EndpointClass::Revoke, context.app.now(), &mut durable)
            .await?;
    *asking = Some(Arc::clone(&client));
    // RFC 7009 2.1: the hint only says where to look first; a token of ours shows by its form what it is.
    let token = form.require("token")?;
    if !refresh_token(context, &client, token, &mut durable).await? {
        access_token(context, &client, token, &mut durable).await?;
    }
    // RFC 7009 2.2: an unknown token is as good as a revoked one.
    durable.wait().await?;
    Ok(())
}

async fn access_token(
    context: &Context,
    client: &Client,
    token: &str,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    let Some(verified) = app.verified.verify(issuer, token) else { return Ok(()) };
    let claims = &verified.claims;
    let tombstone = revocation::of_access_token(&issuer.id, claims, &client.client_id, app.now())?;
    if let Some(tombstone) = tombstone {
        app.store.revoke(&issuer.id, &[tombstone]).await?.take(durable);
        context.audit_by(Actor::Client, Event::TokenRevoked, claims.user().as_ref(), Some(&client.client_id));
    }
    Ok(())
}

/// Ends the family of a refresh token and its grant (RFC 7009 2.1); false where there is none. A registered refresh token
/// and an access token may both be a JWT of the type `JWT`: only the family tells them apart.
async fn refresh_token(
    context: &Context,
    client: &Client,
    token: &str,
    durable: &mut Durable,
) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    let Some((id, _)) = family_of(context, token) else { return Ok(false) };
    let Some(family) = app.store.family(&issuer.id, &id).await?.take(durable) else { return Ok(false) };
    let tombstone = revocation::of_refresh_token(&family, client, &issuer.settings.load(), app.now())?;
    app.store.end_family(&issuer.id, &id, &tombstone).await?.take(durable);
    context.audit_by(Actor::Client, Event::FamilyEnded, Some(&family.user), Some(&client.client_id));
    Ok(true)
}
