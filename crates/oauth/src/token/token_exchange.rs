//! Token exchange (RFC 8693).

use std::sync::Arc;

use symbolon_protocol::authorization_details;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::refusal::{Reason, Refusal};
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::id_jag;
use symbolon_protocol::token::token_exchange::{
    self as rule, ActorToken, Exchange, ExchangeRequest, SubjectKind,
};
use symbolon_store::Durable;

use super::{GrantCall, GrantResult, claims, subject};
use symbolon_app::access_token_cache::VerifiedAccessToken;
use symbolon_app::audit::Actor;
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
    let other = match exchange.subject_kind {
        SubjectKind::IdToken => {
            Some(Box::pin(subject::of_id_token(call, exchange.subject_token, durable)).await?)
        }
        SubjectKind::Jwt if !call.client.token_exchange.subject_token_issuers.is_empty() => {
            Box::pin(subject::of_trusted_issuer(call, exchange.subject_token)).await?
        }
        SubjectKind::Jwt | SubjectKind::AccessToken => None,
    };
    if let (Some(other), true) = (&other, exchange.is_for_id_jag()) {
        return Box::pin(issue_id_jag(call, &exchange, &other.claims, durable)).await;
    }
    let own;
    let claims = match &other {
        Some(other) => &*other.claims,
        None => {
            own = live(call, exchange.subject_token, rule::invalid_subject_token, durable).await?;
            &own.claims
        }
    };
    let actor = match exchange.actor_token {
        Some(token) => Some(actor(call, token, durable).await?),
        None => None,
    };
    let actor = actor.as_ref().map(|(token, is_of_registered_client)| ActorToken {
        claims: &token.claims,
        is_of_registered_client: *is_of_registered_client,
    });
    let mut access = exchange.issue(&rules, claims, actor)?;
    call.use_proof(durable).await?;
    // Not copied from the subject token: the result may be for another party, and the user may have lost a role since.
    claims::release(call, &mut access).await?;
    if let Some(used) = other.as_ref().and_then(|other| other.used.as_ref()) {
        Box::pin(subject::use_up(call, used, durable)).await?;
    }
    call.context.app.audit.count(Event::TokenExchanged);
    Ok(GrantResult { access, id: None, refresh_token: None, issued_token_type: Some(issued_token_type) })
}

/// An ID-JAG for this ID token (draft-ietf-oauth-identity-assertion-authz-grant 4.3).
async fn issue_id_jag(
    call: &GrantCall<'_>,
    exchange: &Exchange<'_>,
    subject: &AccessToken,
    durable: &mut Durable,
) -> Result<GrantResult, Failure> {
    let (context, rules) = (call.context, call.rules());
    let relying_party = match id_jag::relying_party(&rules, exchange) {
        None => None,
        Some(id) => {
            let found = context.app.client_at_hand(&context.issuer, id).await?;
            Some(found.ok_or_else(|| id_jag::without_relying_party(id))?)
        }
    };
    let access = id_jag::issue(&rules, exchange, subject, relying_party.as_deref())?;
    call.use_proof(durable).await?;
    // It lets the client in at another domain, where nobody is asked.
    let (user, client) = (subject.user(), &call.client.client_id);
    context.audit_by(Actor::Client, Event::IdJagIssued, user.as_ref(), Some(client));
    let issued_token_type = Some(exchange.issued_token_type);
    Ok(GrantResult { access, id: None, refresh_token: None, issued_token_type })
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
