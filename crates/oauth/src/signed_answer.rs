//! Answers that are JWTs, signed by the issuer and encrypted where a client asked for that: of UserInfo (OpenID Connect Core 5.3.2) and of introspection (RFC 9701).

use std::sync::Arc;

use axum::response::Response;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::introspection;
use symbolon_protocol::response_encryption::NESTED;
use symbolon_protocol::time::Timestamp;

use symbolon_app::encrypted_answer;
use symbolon_app::http::{Context, Failure, jwt, no_store};
use symbolon_app::issuer::TokenType;

/// The client, if its UserInfo answers are JWTs.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn userinfo_recipient(
    context: &Context,
    client: &ClientId,
) -> Result<Option<Arc<Client>>, Failure> {
    let client = context.app.store.client(&context.issuer.id, client).await?;
    Ok(client.filter(|client| client.gets_userinfo_as_jwt()))
}

/// An answer of UserInfo that is signed, encrypted, or first one and then the other, as its client registered.
///
/// # Errors
/// `invalid_request`: the client has no key to encrypt for. [`Failure::Internal`]: it cannot be signed.
pub(super) async fn of_userinfo(
    context: &Context,
    client: &Client,
    claims: &[u8],
    now: Timestamp,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    let signed = match client.userinfo_signed_response_alg {
        Some(algorithm) => Some(app.sign(issuer, (algorithm, TokenType::UserInfo), claims, now).await?),
        None => None,
    };
    let encrypted = match client.userinfo_encryption {
        Some(encryption) => {
            let what = signed.as_ref().map_or((None, claims), |jws| (Some(NESTED), jws.as_bytes()));
            Some(encrypted_answer::encrypt((app.shared(), &issuer.id), client, encryption, what).await?)
        }
        None => None,
    };
    // OpenID Connect Core 5.3.2: the Content-Type MUST be application/jwt if the response is signed or encrypted.
    Ok(no_store(jwt("application/jwt", encrypted.or(signed).unwrap_or_default())))
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
