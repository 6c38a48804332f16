//! Client authentication at the token, introspection and revocation endpoints (RFC 6749 2.3).

use std::sync::Arc;

use http::{HeaderMap, header};
use symbolon_protocol::client::Client;
use symbolon_protocol::client_authentication::{
    AuthenticationFailed, Expectation, PresentedCredentials, verify,
};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;
use symbolon_store::port::Use;

use symbolon_app::http::{Context, Endpoint, Failure, Limit};
use symbolon_app::rate_limit::Limited;

/// Authenticates the client and counts the request against its limit, before any other part of the request is
/// evaluated.
///
/// # Errors
/// `invalid_client`, `invalid_request` for contradictory credentials, 429.
pub(super) async fn authenticate(
    endpoint: &Endpoint,
    context: &Context,
    headers: &HeaderMap,
    form: &Params<'_>,
    now: Timestamp,
    durable: &mut Durable,
) -> Result<Arc<Client>, Failure> {
    let Context { app, issuer, remote, .. } = context;
    let refused = |failed| refused(endpoint, context, failed);
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let authorization = lines.next().map(http::HeaderValue::as_bytes);
    // RFC 6749 2.3: no more than one authentication in each request.
    if lines.next().is_some() {
        let reason = Reason::ClientAuthenticatedTwice;
        return Err(OAuthError::invalid_request(reason, "more than one Authorization header").into());
    }
    let presented = PresentedCredentials::read(authorization, form).map_err(refused)?;
    let client = app.store.client(&issuer.id, presented.client_id()).await?;
    // Only an assertion has an audience, so the settings are not loaded for a secret.
    let has_audience = matches!(presented, PresentedCredentials::Assertion(_));
    let expected = Expectation {
        issuer: &issuer.url,
        token_endpoint: &issuer.token_endpoint,
        audience_is_issuer: has_audience && issuer.settings.load().audience_is_issuer,
        secret_key: &issuer.client_secret_key,
        now,
    };
    let verified = verify(&presented, client.as_deref(), &expected).map_err(refused)?;
    // `verify` has refused an unknown client already.
    let Some(client) = client else { return Err(Failure::Internal("a client without a record".into())) };
    if let Some(assertion) = verified.assertion_use {
        // Marks of used assertions are stored for a while, so each client's number of them is limited.
        let may_use = app.rate_limits.may_use_assertion(&issuer.id, &client.client_id, now);
        may_use.map_err(|limited| client_limited(limited, &client))?;
        let used = app.store.use_assertion(&issuer.id, &assertion).await?;
        // RFC 7523 3: an assertion is used once.
        if used.take(durable) == Use::Replayed {
            let details = Details::of("jti").sent(assertion.jti.as_str()).client(&client.client_id);
            return Err(OAuthError::invalid_client(Reason::AssertionReplayed).about(details).into());
        }
        app.rate_limits.used_assertion(&issuer.id, &client.client_id, now);
    }
    if let Limit::Client(class) = endpoint.limit {
        if client.is_public() {
            app.rate_limits.check_address(class, *remote, now)?;
        } else {
            app.rate_limits
                .check_client(class, &issuer.id, &client.client_id, now)
                .map_err(|limited| client_limited(limited, &client))?;
        }
    }
    if let Some(secret) = verified.secret_use {
        app.client_secret_uses.note(&app.store, &issuer.id, &client, secret, now);
    }
    Ok(client)
}

/// The client's own limit is used up.
fn client_limited(limited: Limited, client: &Client) -> Failure {
    let details = Details::of_client(&client.client_id);
    Failure::limited(limited, Refusal::about(Reason::ClientRateLimited, details))
}

/// Counts a failed authentication against the address: somebody who guesses secrets must not use up the client's
/// limit.
fn refused(endpoint: &Endpoint, context: &Context, failed: AuthenticationFailed) -> Failure {
    let Context { app, remote, .. } = context;
    if let Limit::Client(class) = endpoint.limit
        && let Err(limited) = app.rate_limits.check_address(class, *remote, app.now())
    {
        return limited.into();
    }
    failed.error.into()
}
