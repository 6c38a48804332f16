//! Token revocation (RFC 7009 2).

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use symbolon_protocol::client::Client;
use symbolon_protocol::event::Event;
use symbolon_protocol::revocation;
use symbolon_store::Durable;

use crate::client::authenticate;
use crate::token::family_of;
use symbolon_app::audit::Actor;
use symbolon_app::http::{Call, Context, Failure, no_store};

/// `POST /revoke`.
///
/// # Errors
/// [`Failure`]: `invalid_client`, `invalid_request` without a token, the refusal of another client's token.
pub(super) async fn revoke(call: &mut Call) -> Result<Response, Failure> {
    let Call { endpoint, context, received, durable, client: asking, .. } = call;
    let form = endpoint.params(received)?;
    let now = context.app.now();
    let client = authenticate(endpoint, context, &received.headers, &form, now, durable).await?;
    *asking = Some(Arc::clone(&client));
    // RFC 7009 2.1: `token_type_hint` is only a hint. It is not needed: the form of a token shows its type.
    let token = form.require("token")?;
    if !refresh_token(context, &client, token, durable).await? {
        access_token(context, &client, token, durable).await?;
    }
    // RFC 7009 2.2: an unknown token is answered like a revoked one.
    Ok(no_store(StatusCode::OK.into_response()))
}

async fn access_token(
    context: &Context,
    client: &Client,
    token: &str,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    let Ok(verified) = app.access_tokens.verify(issuer, token) else { return Ok(()) };
    let claims = &verified.claims;
    let tombstone = revocation::of_access_token(&issuer.id, claims, &client.client_id, app.now())?;
    if let Some(tombstone) = tombstone {
        app.store.revoke(&issuer.id, &[tombstone]).await?.take(durable);
        context.audit_by(Actor::Client, Event::TokenRevoked, claims.user().as_ref(), Some(&client.client_id));
    }
    Ok(())
}

/// Revokes a refresh token's family and its grant (RFC 7009 2.1); false if the token has no family. A registered
/// refresh token and an access token may both have the type `JWT`: only a stored family tells them apart.
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
