//! DPoP proofs of requests (RFC 9449): at the token endpoint and at UserInfo. The rules are in the protocol; here are the
//! headers and the marks of used proofs.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use symbolon_protocol::dpop::{self, DpopNonce, Expected, Nonces, Proof};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::id::ClientId;
use symbolon_protocol::security_profile::SecurityProfile;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;
use symbolon_store::port::Use;

use symbolon_app::http::{Context, Failure, NonceDemand, Received};

static PROOF: HeaderName = HeaderName::from_static(dpop::HEADER);
static NONCE: HeaderName = HeaderName::from_static(dpop::NONCE_HEADER);

/// Where a proof is checked: what it must be for besides the request's method.
pub(super) struct Asked<'a> {
    /// The URL of the endpoint.
    pub(super) uri: &'a str,
    /// The access token that came with it.
    pub(super) access_token: Option<&'a str>,
    /// Whether it must have a nonce.
    pub(super) nonce: DpopNonce,
    /// The profile of the client.
    pub(super) profile: Option<SecurityProfile>,
    /// The current time.
    pub(super) now: Timestamp,
}

/// Whether the request has a proof.
pub(super) fn is_sent(headers: &HeaderMap) -> bool {
    headers.contains_key(&PROOF)
}

fn nonces(context: &Context) -> Nonces<'_> {
    Nonces { key: &context.issuer.dpop_nonce_key, since: context.app.store.forgets_proofs_until() }
}

/// The request's proof, checked but for its first use.
///
/// # Errors
/// `invalid_dpop_proof`, `use_dpop_nonce` with a nonce.
pub(super) fn check(
    context: &Context,
    received: &Received,
    asked: &Asked<'_>,
) -> Result<Box<Proof>, Failure> {
    let Asked { uri, access_token, nonce, profile, now } = *asked;
    let values = received.headers.get_all(&PROOF).iter().map(|value| value.to_str().ok());
    let method = received.method.as_str();
    let nonces = nonces(context);
    let expected = Expected { method, uri, access_token, nonce, profile, nonces, now };
    let proof = Proof::check(values, &expected);
    // Only a protected resource is called with a token.
    proof.map(Box::new).map_err(|error| failed(context, error, access_token.is_some(), now))
}

fn failed(context: &Context, error: OAuthError, at_resource: bool, now: Timestamp) -> Failure {
    match error.code {
        ErrorCode::UseDpopNonce => {
            let nonce = nonces(context).draw(now);
            Failure::DpopNonce(Box::new(NonceDemand { error, nonce, at_resource }))
        }
        _ if at_resource => Failure::Dpop(error),
        _ => Failure::OAuth(error),
    }
}

/// Marks a proof as used (RFC 9449 11.1); returns whether it was not before. Call it once the request has proven that it is
/// a client's or a token holder's: each mark takes room (`docs/decisions/076-proofs-leave-durable-marks.md`). So marks count for
/// the client like those of its assertions, and leave half of the room to assertions and to people who sign in.
///
/// # Errors
/// [`Failure`]: the store is out of reach, or has no room for marks; the client has used too many.
pub(super) async fn use_once(
    context: &Context,
    (proof, client): (&Proof, &ClientId),
    now: Timestamp,
    durable: &mut Durable,
) -> Result<bool, Failure> {
    let (app, issuer) = (&*context.app, &*context.issuer);
    app.rate_limits.may_use_assertion(&issuer.id, client, now)?;
    let room = app.store.figures().assertion_room();
    if room.is_taken_to(50) {
        room.refuse();
        return Err(Failure::Unavailable { retry_after: 1 });
    }
    let used = app.store.use_proof(&issuer.id, proof.mark(&issuer.id), proof.expires_at).await?;
    let is_first = used.take(durable) == Use::First;
    if is_first {
        app.rate_limits.used_assertion(&issuer.id, client, now);
    }
    Ok(is_first)
}

/// The answer with the nonce for the client's next proof (RFC 9449 8.2).
pub(super) fn with_next_nonce(context: &Context, mut response: Response, now: Timestamp) -> Response {
    if let Ok(nonce) = HeaderValue::from_str(&nonces(context).draw(now)) {
        response.headers_mut().insert(NONCE.clone(), nonce);
    }
    response
}
