//! Token introspection (RFC 7662 2), with a signed answer for who asks for one (RFC 9701).

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use symbolon_protocol::claim_definition::{ClaimInput, ClaimSet, Destination};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::id::UserId;
use symbolon_protocol::introspection::{self, INACTIVE, Inquiry, Introspection, Strict};
use symbolon_protocol::refusal::{Reason, Refusal};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::user::User;
use symbolon_protocol::user_claims::UserRecords;
use symbolon_store::Durable;

use crate::claim_definition::definitions_for;
use crate::client::authenticate;
use crate::signed_answer;
use crate::token::family_of;
use symbolon_app::access_token_cache::VerifiedAccessToken;
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Call, Context, Failure, json, no_store};

/// `POST /introspect`.
///
/// # Errors
/// [`Failure`]: `invalid_client`, `unauthorized_client` for public clients, `invalid_request` without a token.
pub(super) async fn introspect(call: &mut Call) -> Result<Response, Failure> {
    let Call { endpoint, context, received, durable, client: asking, .. } = call;
    let form = endpoint.params(received)?;
    let now = context.app.now();
    let client = authenticate(endpoint, context, &received.headers, &form, now, durable).await?;
    *asking = Some(Arc::clone(&client));
    // RFC 7662 2.1: the endpoint MUST require authorization, so that nobody scans for tokens.
    if client.is_public() {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            Reason::PublicClientRefused,
            "public clients may not introspect tokens",
        )
        .into());
    }
    let token = form.require("token")?;
    let body = match context.app.access_tokens.verify(&context.issuer, token) {
        Ok(verified) => access_token(context, &client, &verified, now, durable).await?,
        Err(refusal) => refresh_token(context, &client, (token, refusal), now, durable).await?,
    };
    if asks_for_jwt(&received.headers) {
        // Boxed, because few ask for it.
        return Box::pin(signed_answer::of_introspection(context, &client, &body, now)).await;
    }
    Ok(no_store(json(StatusCode::OK, body)))
}

/// RFC 9701 4: the `Accept` header says so.
fn asks_for_jwt(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(header::ACCEPT).iter();
    lines.any(|line| line.to_str().is_ok_and(introspection::accepts_jwt))
}

async fn user_of(context: &Context, user: Option<UserId>) -> Result<Option<Arc<User>>, Failure> {
    match user {
        Some(user) => Ok(context.app.store.user(&context.issuer.id, &user).await?),
        None => Ok(None),
    }
}

/// The answer for a token that the caller is not told about (RFC 7662 2.2). The operator is told why.
#[cold]
fn inactive(context: &Context, caller: &Client, refusal: Refusal) -> Vec<u8> {
    let client = Some(&caller.client_id);
    context.refused(RefusedRequest { refusal, client, actor: Actor::Client, told: None });
    INACTIVE.to_json()
}

async fn access_token(
    context: &Context,
    client: &Client,
    verified: &VerifiedAccessToken,
    now: Timestamp,
    durable: &mut Durable,
) -> Result<Vec<u8>, Failure> {
    let Context { app, issuer, .. } = context;
    let claims = &verified.claims;
    if app.revoked(issuer, verified, durable).await? {
        return Ok(inactive(context, client, claims.refused(Reason::TokenRevoked)));
    }
    let settings = issuer.settings.load();
    let strict = if settings.introspection_strict {
        let audience = settings.introspection_audience.as_deref().unwrap_or(&issuer.url);
        let client_exists = app.client_exists(issuer, &claims.client_id).await?;
        Some(Strict { audience, client_exists })
    } else {
        None
    };
    let user = user_of(context, claims.user()).await?;
    let inquiry = Inquiry { caller: client, issuer_url: &issuer.url, now, strict };
    let answer = match introspection::of_access_token(&inquiry, claims, user.as_deref()) {
        Ok(answer) => answer,
        Err(refusal) => return Ok(inactive(context, client, refusal)),
    };
    match definitions_for(context, &claims.client_id).await? {
        Some(defined) => with_definitions(context, &answer, claims, (user.clone(), &defined)).await,
        None => Ok(answer.to_json()),
    }
}

/// The answer with the claims that the token's client, or the issuer, defines for introspection.
async fn with_definitions(
    context: &Context,
    answer: &Introspection<'_>,
    token: &AccessToken,
    (user, claims): (Option<Arc<User>>, &ClaimSet),
) -> Result<Vec<u8>, Failure> {
    let Context { app, issuer, .. } = context;
    let needed = claims.need(Destination::Introspection, &token.scope);
    let entitlements = match token.user().filter(|_| needed.entitlements) {
        Some(user) => Some(app.entitlements_to_tell(&issuer.id, &user).await?),
        None => None,
    };
    let (records, mut failures) = (UserRecords { user, entitlements }, Vec::new());
    let input = ClaimInput::for_audience(token, &records);
    let defined = claims.write(Destination::Introspection, input, &mut failures);
    app.note_failed_claims(issuer, &token.client_id, &failures);
    Ok(answer.to_json_with(claims.replaced(), &defined))
}

async fn refresh_token(
    context: &Context,
    client: &Client,
    (token, no_access_token): (&str, Refusal),
    now: Timestamp,
    durable: &mut Durable,
) -> Result<Vec<u8>, Failure> {
    let Context { app, issuer, .. } = context;
    let Some((id, version)) = family_of(context, token) else {
        return Ok(inactive(context, client, no_access_token));
    };
    let Some(family) = app.store.family(&issuer.id, &id).await?.take(durable) else {
        return Ok(inactive(context, client, Reason::RefreshTokenEnded.into()));
    };
    let lineage = symbolon_protocol::token::refresh_token::lineage(&family);
    if app.store.revoked(&issuer.id, &lineage).await?.take(durable) {
        return Ok(inactive(context, client, Reason::RefreshTokenRevoked.into()));
    }
    let user = user_of(context, Some(family.user.clone())).await?;
    let inquiry = Inquiry { caller: client, issuer_url: &issuer.url, now, strict: None };
    // Only the family's own client is told of it.
    let told = issuer.pairwise(client).map(|pairwise| pairwise.sub(&family.user));
    match introspection::of_refresh_token(&inquiry, &family, version, user.as_deref()) {
        Ok(answer) => Ok(match &told {
            None => answer.to_json(),
            Some(sub) => answer.about(sub.as_str()).to_json(),
        }),
        Err(refusal) => Ok(inactive(context, client, refusal)),
    }
}
