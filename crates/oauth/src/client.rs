//! Client authentication at the token, introspection, revocation, pushed authorization request, device authorization and
//! backchannel authentication endpoints (RFC 6749 2.3, RFC 8705 2, RFC 9126 2, RFC 8628 3.1, CIBA Core 7.1).

use std::sync::Arc;

use http::{HeaderMap, header};
use symbolon_protocol::client::Client;
use symbolon_protocol::client_authentication::{
    AuthenticationFailed, Expectation, PresentedCredentials, verify,
};
use symbolon_protocol::discovery::{self, path};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::trusted_issuer::TrustedUse;
use symbolon_store::Durable;
use symbolon_store::port::Use;

use symbolon_app::client_documents::{self, Found};
use symbolon_app::client_keys;
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
    let client = match client_documents::client(context, presented.client_id()).await? {
        Found::Client(client) => Some(client),
        Found::Nobody => None,
        Found::Unusable(why) => return Err(refused(why.of_authentication().into())),
    };
    let verified = {
        // Only such a client's certificate is looked at.
        let certificate = match &client {
            Some(client) if client.token_endpoint_auth_method.is_by_certificate() => {
                context.certificate_of(client).map_err(|error| refused(error.into()))?
            }
            _ => None,
        };
        let published = match (&presented, &client) {
            (PresentedCredentials::Assertion(assertion), Some(client)) if client.jwks_uri.is_some() => {
                // Boxed, because most clients have registered the keys themselves.
                Box::pin(client_keys::of_assertion(context, client, assertion)).await.map_err(refused)?
            }
            (PresentedCredentials::Public { .. }, Some(client)) if client.jwks_uri.is_some() => {
                match &certificate {
                    Some(own) => {
                        Box::pin(client_keys::of_certificate(context, client, own)).await.map_err(refused)?
                    }
                    None => None,
                }
            }
            _ => None,
        };
        let issued = match (&presented, &client) {
            (PresentedCredentials::Issued { assertion, .. }, Some(client))
                if client.takes_assertions_of(assertion.issuer()) =>
            {
                let purpose = TrustedUse::ClientAuthentication;
                let found = Box::pin(client_keys::of_issued_assertion(context, assertion, purpose)).await;
                found.map_err(|refusal| {
                    let refusal = refusal.naming(&client.client_id);
                    refused(OAuthError::invalid_client(refusal.reason).because(refusal).into())
                })?
            }
            _ => None,
        };
        // Only an assertion has an audience, so the settings are not loaded for a secret.
        let has_audience =
            matches!(presented, PresentedCredentials::Assertion(_) | PresentedCredentials::Issued { .. });
        // RFC 9126 2, CIBA Core 7.1: these endpoints accept their own URL too.
        let is_named = [path::PUSHED_AUTHORIZATION_REQUEST, path::BACKCHANNEL_AUTHENTICATION];
        let asked_endpoint = (has_audience && is_named.contains(&endpoint.path))
            .then(|| discovery::endpoint(&issuer.url, endpoint.path));
        let expected = Expectation {
            issuer: &issuer.url,
            token_endpoint: &issuer.token_endpoint,
            asked_endpoint: asked_endpoint.as_deref(),
            audience_is_issuer: has_audience && issuer.settings.load().audience_is_issuer,
            trusted_issuer: issued.as_deref().map(|issued| &issued.trusted),
            certificate: certificate.as_ref(),
            secret_key: &issuer.client_secret_key,
            now,
        };
        let keys = match (&presented, &client) {
            // Never the client's own keys: another issuer's assertion is verified by that issuer's alone.
            (PresentedCredentials::Issued { .. }, _) => issued.as_deref().map(|issued| &*issued.keys.keys),
            (_, Some(client)) => Some(client.verifying_keys(published.as_deref())),
            (_, None) => None,
        };
        verify(&presented, client.as_deref(), keys.unwrap_or_default(), &expected).map_err(refused)?
    };
    // `verify` has refused an unknown client already.
    let Some(client) = client else { return Err(Failure::Internal("a client without a record".into())) };
    if let Some(assertion) = verified.assertion_use {
        // Marks of used assertions are stored for a while, so each client's number of them is limited.
        let may_use = app.rate_limits.may_use_assertion(&issuer.id, &client.client_id, now);
        may_use.map_err(|limited| client_limited(limited, &client))?;
        check_room(context, &client)?;
        let used = app.store.use_assertion(&issuer.id, &assertion).await?;
        // RFC 7523 3: an assertion is used once.
        if used.take(durable) == Use::Replayed {
            let details = Details::of("jti").sent(assertion.jti.as_str()).client(&client.client_id);
            return Err(OAuthError::invalid_client(Reason::AssertionReplayed).about(details).into());
        }
        app.rate_limits.used_assertion(&issuer.id, &client.client_id, now);
    }
    // A public client has proven nothing.
    if !client.is_public() {
        app.note_first_use(&issuer.id, &client);
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

/// How much of the room of marks may be taken while clients still get one that registered themselves or are known by their metadata's
/// URL, in percent: there may be many of them, and what they fill keeps neither the administrators' clients out nor people who sign in.
const FOR_STRANGERS: u64 = 25;

fn check_room(context: &Context, client: &Client) -> Result<(), Failure> {
    let room = context.app.store.figures().assertion_room();
    if client.is_of_stranger() && room.is_taken_to(FOR_STRANGERS) {
        room.refuse();
        return Err(Failure::Unavailable { retry_after: 1 });
    }
    Ok(())
}

/// The client's own limit is used up.
pub(super) fn client_limited(limited: Limited, client: &Client) -> Failure {
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
