//! Token exchange (RFC 8693).

use std::sync::Arc;

use symbolon_protocol::authorization_details;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::refusal::{Reason, Refusal};
use symbolon_protocol::token::token_exchange::{self as rule, ActorToken, ExchangeRequest};
use symbolon_store::Durable;

use super::{GrantCall, GrantResult, claims};
use symbolon_app::access_token_cache::VerifiedAccessToken;
use symbolon_app::http::{Context, Failure};

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let form = call.form;
    let audience: Vec<&str> = form.get_all("audience").collect();
    let resource: Vec<&str> = form.get_all("resource").collect();
    let request = ExchangeRequest {
        subject_token: form.get("subject_token")?,
        subject_token_type: form.get("subject_token_type")?,
        actor_token: form.get("actor_token")?,
        actor_token_type: form.get("actor_token_type")?,
        requested_token_type: form.get("requested_token_type")?,
        scope: form.get("scope")?,
        audience: &audience,
        resource: &resource,
    };
    // What was granted in detail was granted to the subject token's client, for its audience: it is not passed on.
    authorization_details::refuse(form.get(authorization_details::PARAMETER)?)?;
    let rules = call.rules();
    let exchange = rule::check(&rules, &request)?;
    let issued_token_type = exchange.issued_token_type;
    let subject = live(call, exchange.subject_token, rule::invalid_subject_token, durable).await?;
    let actor = match exchange.actor_token {
        Some(token) => Some(actor(call, token, durable).await?),
        None => None,
    };
    let actor = actor.as_ref().map(|(token, is_of_registered_client)| ActorToken {
        claims: &token.claims,
        is_of_registered_client: *is_of_registered_client,
    });
    let mut access = exchange.issue(&rules, &subject.claims, actor)?;
    call.use_proof(durable).await?;
    // Not copied from the subject token: the result may be for another party, and the user may have lost a role since.
    claims::release(call, &mut access).await?;
    call.context.app.audit.count(Event::TokenExchanged);
    Ok(GrantResult { access, id: None, refresh_token: None, issued_token_type: Some(issued_token_type) })
}

/// The verified actor token, and whether its client still exists.
async fn actor(
    call: &GrantCall<'_>,
    token: &str,
    durable: &mut Durable,
) -> Result<(Arc<VerifiedAccessToken>, bool), Failure> {
    let actor = live(call, token, rule::invalid_actor_token, durable).await?;
    let own = actor.claims.client_id == call.client.client_id;
    let Context { app, issuer, .. } = call.context;
    let registered = own || app.client_exists(issuer, &actor.claims.client_id).await?;
    Ok((actor, registered))
}

/// A presented token with a valid signature that is not revoked. The rule checks its expiry.
async fn live(
    call: &GrantCall<'_>,
    token: &str,
    refused: fn(Refusal) -> OAuthError,
    durable: &mut Durable,
) -> Result<Arc<VerifiedAccessToken>, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let verified = app.access_tokens.verify(issuer, token).map_err(refused)?;
    if app.revoked(issuer, &verified, durable).await? {
        return Err(refused(verified.claims.refused(Reason::TokenRevoked)).into());
    }
    Ok(verified)
}
