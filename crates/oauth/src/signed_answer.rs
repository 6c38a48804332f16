//! Answers that are JWTs, signed by the issuer: of UserInfo (OpenID Connect Core 5.3.2) and of introspection (RFC 9701).

use axum::response::Response;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::introspection;
use symbolon_protocol::time::Timestamp;

use symbolon_app::http::{Context, Failure, jwt, no_store};
use symbolon_app::issuer::TokenType;

/// The algorithm by which a client gets its UserInfo answers signed, if it does.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn userinfo_algorithm(
    context: &Context,
    client: &ClientId,
) -> Result<Option<Algorithm>, Failure> {
    let client = context.app.store.client(&context.issuer.id, client).await?;
    Ok(client.and_then(|client| client.userinfo_signed_response_alg))
}

/// Signs an answer of UserInfo.
///
/// # Errors
/// [`Failure::Internal`]: it cannot be signed.
pub(super) async fn of_userinfo(
    context: &Context,
    algorithm: Algorithm,
    claims: &[u8],
    now: Timestamp,
) -> Result<Response, Failure> {
    let signed = context.app.sign(&context.issuer, (algorithm, TokenType::UserInfo), claims, now).await?;
    // OpenID Connect Core 5.3.2: the Content-Type MUST be application/jwt if the response is signed.
    Ok(no_store(jwt("application/jwt", signed)))
}

/// Signs an answer of introspection for the client that asked: by its `introspection_signed_response_alg`, else by the
/// issuer's algorithm.
///
/// # Errors
/// [`Failure::Internal`]: it cannot be signed.
pub(super) async fn of_introspection(
    context: &Context,
    caller: &Client,
    answer: &[u8],
    now: Timestamp,
) -> Result<Response, Failure> {
    let (app, issuer) = (&context.app, &context.issuer);
    let of_issuer = issuer.keys.load().algorithm(&issuer.settings.load(), now);
    let algorithm = caller.signing_algorithm(caller.introspection_signed_response_alg, of_issuer);
    let claims = introspection::signed_claims(&issuer.url, &caller.client_id, now, answer);
    let signed = app.sign(issuer, (algorithm, TokenType::Introspection), &claims, now).await?;
    Ok(no_store(jwt(introspection::JWT_MEDIA_TYPE, signed)))
}
