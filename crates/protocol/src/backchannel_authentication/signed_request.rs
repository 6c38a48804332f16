//! Signed authentication requests (CIBA Core 7.1.1).

use serde_json::{Map, Value};
use symbolon_crypto::jwk::Jwk;
use symbolon_crypto::{digest, encoding};

use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::id::Jti;
use crate::params::Params;
use crate::refusal::{Details, Reason};
use crate::request_object::{self, LEEWAY};
use crate::time::Timestamp;

/// The parameters that may stand beside a signed request: those that authenticate the client. CIBA Core 7.1.1: parameters of the
/// request MUST NOT be present outside of the JWT.
const BESIDE: [&str; 5] =
    ["request", "client_id", "client_secret", "client_assertion", "client_assertion_type"];

/// A verified signed request, which counts once it is marked as used.
#[derive(Debug)]
#[must_use = "a signed request counts only once its use is marked"]
pub struct SignedRequest {
    /// Its parameters, as a form.
    pub form: String,
    /// The name of the mark of its use.
    pub mark: String,
    /// Until when it would be accepted, so the mark must be kept until then.
    pub expires_at: Timestamp,
}

/// The signed request of an authenticated client; `None` if it sent none and need not. `keys` are the client's
/// ([`Client::verifying_keys`]).
///
/// # Errors
/// `invalid_request`, the one code that CIBA Core 13 has for it: for one that the client has not signed, that lacks a claim, has
/// ended, or is for another server; and where the client must send one.
pub fn parameters(
    params: &Params<'_>,
    client: &Client,
    keys: &[Jwk],
    issuer: &str,
    now: Timestamp,
) -> Result<Option<SignedRequest>, OAuthError> {
    let Some(text) = params.get("request")? else {
        return match client.requires_signed_backchannel_requests() {
            false => Ok(None),
            true => Err(OAuthError::invalid_request(
                Reason::RequestObjectMissing,
                "this client must send its requests as signed JWTs in the parameter request",
            )
            .about(Details::of("request").client(&client.client_id))),
        };
    };
    if let Some((name, _)) = params.iter().find(|(name, _)| !BESIDE.contains(name)) {
        let description = "beside request there may be only what authenticates the client";
        let error = OAuthError::invalid_request(Reason::RequestObjectMalformed, description);
        return Err(error.about(Details::of("request").sent(name)));
    }
    let read = || -> Result<SignedRequest, OAuthError> {
        let only = client.backchannel.as_ref().and_then(|own| own.request_signing_alg);
        let claims = request_object::verified(text, client, keys, only)?;
        let (jti, expires_at) = check(&claims, client, issuer, now)?;
        let form = request_object::form_of(&claims, client)?;
        Ok(SignedRequest { form, mark: mark(client, &jti), expires_at })
    };
    // CIBA Core 13 does not know `invalid_request_object`.
    read().map(Some).map_err(|error| OAuthError { code: ErrorCode::InvalidRequest, ..error })
}

/// CIBA Core 7.1.1: the JWT MUST have all of `aud`, `iss`, `exp`, `iat`, `nbf` and `jti`. Returns the last, and until when it is accepted.
fn check(
    claims: &Map<String, Value>,
    client: &Client,
    issuer: &str,
    now: Timestamp,
) -> Result<(Jti, Timestamp), OAuthError> {
    let id = client.client_id.as_str();
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let is_other = |name: &str| claims.contains_key(name) && text(name) != Some(id);
    if text("iss") != Some(id) || is_other("client_id") || text("sub") == Some(id) {
        let description = "iss of request must be the client, client_id no other, and sub not the client";
        let error = OAuthError::invalid_request(Reason::RequestObjectOfOther, description);
        return Err(error.about(Details::of("iss").sent(text("iss").unwrap_or("missing")).expected([id])));
    }
    request_object::check_audience(claims.get("aud"), true, issuer)?;
    request_object::check_time(claims, true, now)?;
    // The casts saturate.
    let seconds = |name: &str| claims.get(name).and_then(Value::as_f64).map(|own| own as u64);
    let (iat, exp) = (seconds("iat").map(Timestamp::from_seconds), seconds("exp").unwrap_or_default());
    if iat.is_none_or(|iat| now + LEEWAY < iat) {
        let description = "request has no iat, or one in the future";
        let error = OAuthError::invalid_request(Reason::RequestObjectTimeWrong, description);
        return Err(error.about(Details::of("iat")));
    }
    let jti = text("jti").and_then(|jti| Jti::parse(jti).ok()).ok_or_else(|| {
        let description = "request needs a jti of at most 512 visible characters";
        OAuthError::invalid_request(Reason::RequestObjectMalformed, description).about(Details::of("jti"))
    })?;
    Ok((jti, Timestamp::from_seconds(exp) + LEEWAY))
}

/// The name of a mark has no space, and no two clients share one.
fn mark(client: &Client, jti: &Jti) -> String {
    let parts = [client.client_id.as_str().as_bytes(), b" ", jti.as_str().as_bytes()];
    encoding::encode(&digest::sha256(&parts))
}

/// The error for one that was used before. CIBA Core 7.1.1 requires `jti` for nothing else.
pub fn replayed() -> OAuthError {
    let description = "request was used before: sign another one for each request";
    OAuthError::invalid_request(Reason::SignedRequestReplayed, description).about(Details::of("jti"))
}
