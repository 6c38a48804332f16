//! Request objects: authorization requests that the client has signed (RFC 9101, OpenID Connect Core 6.1).

pub mod reference;

use std::time::Duration;

use serde_json::{Map, Value};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwk::Jwk;
use symbolon_crypto::jws::{Compact, Header};

use crate::client::Client;
use crate::client_key;
use crate::error::{ErrorCode, OAuthError};
use crate::params::Params;
use crate::refusal::{Details, Reason};
use crate::security_profile;
use crate::time::Timestamp;

/// The type of request objects (RFC 9101 10.8).
const TYP: &str = "oauth-authz-req+jwt";
/// The tolerated difference between the client's clock and the server's.
pub(crate) const LEEWAY: Duration = Duration::from_secs(30);
/// FAPI 2.0 Message Signing 5.3.1: how long ago a request object may have become valid, and how long it may be valid.
const LONGEST_LIFE: u64 = 3_600;
/// Claims of the token itself, which are no parameters of the request (RFC 9101 4, RFC 7519 4.1).
const OF_TOKEN: [&str; 7] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

/// The header of a request's object, not yet verified: which of the client's keys may have signed it. `None` if there is no object that
/// can be read.
pub fn header(params: &Params<'_>) -> Option<Header> {
    let text = params.get("request").ok()??;
    Compact::parse(text).ok().map(|token| token.header().clone())
}

/// The parameters of a request with a request object, as a form; `None` if it has none. Only what is signed counts: other
/// parameters of the request are not looked at (RFC 9101 5, 6.3). `keys` are the client's ([`Client::verifying_keys`]).
///
/// # Errors
/// `invalid_request_object` for one that the client has not signed, that has ended, or that is for another server;
/// `invalid_request` where the client must send one, and for a repeated parameter.
pub fn parameters(
    params: &Params<'_>,
    client: &Client,
    keys: &[Jwk],
    issuer: &str,
    now: Timestamp,
) -> Result<Option<String>, OAuthError> {
    reference::refuse_both(params, client)?;
    let Some(text) = params.get("request")? else {
        return match client.requires_signed_requests() {
            false => Ok(None),
            // RFC 9101 10.5.
            true => Err(OAuthError::invalid_request(
                Reason::RequestObjectMissing,
                "this client must send its requests as signed request objects",
            )
            .about(Details::of("request").client(&client.client_id))),
        };
    };
    let claims = verified(text, client, keys, client.request_object_signing_alg)?;
    check(&claims, client, issuer, now)?;
    let form = form_of(&claims, client)?;
    Ok(Some(form))
}

/// Verifies the signature by a key of the client (RFC 9101 6.2). `only`: the registered algorithm, if one is.
pub(crate) fn verified(
    text: &str,
    client: &Client,
    keys: &[Jwk],
    only: Option<Algorithm>,
) -> Result<Map<String, Value>, OAuthError> {
    let malformed = || refused(Reason::RequestObjectMalformed, "request is no signed JWT with an object");
    // RFC 9101 10.1 and 10.2: `none` is no algorithm here, and encrypted objects are not supported.
    let token = Compact::parse(text).map_err(|_| malformed())?;
    let header = token.header();
    // RFC 9101 10.8, RFC 8725 3.11: a JWT that the client signed for another purpose is refused.
    if !(header.typ.is_none() || header.is_type("JWT") || header.is_type(TYP)) {
        let sent = header.typ.as_deref().unwrap_or_default();
        let error =
            refused(Reason::RequestObjectTypWrong, "the typ of request is that of another kind of token");
        return Err(error.about(Details::of("typ").sent(sent).expected([TYP, "JWT"])));
    }
    // OpenID Connect Dynamic Client Registration 1.0 2: any other algorithm MUST be rejected.
    if let Some(only) = only.filter(|only| *only != header.alg) {
        let error = refused(
            Reason::RequestObjectAlgorithmOther,
            "request is signed by another algorithm than the registered one",
        );
        return Err(error.about(Details::of("alg").sent(header.alg.as_str()).registered([only.as_str()])));
    }
    // FAPI 2.0 Security Profile 5.4.
    if !security_profile::allows(client.settings.profile, header.alg) {
        let error = refused(
            Reason::RequestObjectAlgorithmOther,
            "request is signed by an algorithm that is not allowed",
        );
        let allowed = security_profile::algorithm_names(client.settings.profile);
        return Err(error.about(Details::of("alg").sent(header.alg.as_str()).expected(allowed)));
    }
    if client_key::verifying(keys, &token).is_none() {
        let sent = format!("{} ({})", header.kid.as_deref().unwrap_or("none"), header.alg);
        let registered = keys.iter().map(|key| key.kid.as_deref().unwrap_or("a key without kid"));
        let error =
            refused(Reason::RequestObjectNotSigned, "no registered key of the client verifies request");
        return Err(error.about(Details::of("kid").sent(&sent).registered(registered)));
    }
    let payload = token.payload().map_err(|_| malformed())?;
    serde_json::from_slice(&payload).map_err(|_| malformed())
}

/// Checks the claims of the token itself (RFC 9101 4, 6.3, RFC 7519 4.1).
fn check(
    claims: &Map<String, Value>,
    client: &Client,
    issuer: &str,
    now: Timestamp,
) -> Result<(), OAuthError> {
    let id = client.client_id.as_str();
    let text = |name: &str| claims.get(name).map(|value| value.as_str().unwrap_or_default());
    let strict = client.requires_signed_requests();
    // RFC 9101 5: `client_id` within the object and beside it MUST be the same; 4: `iss` is the client.
    for name in ["client_id", "iss"] {
        if text(name).is_some_and(|own| own != id) {
            let error =
                refused(Reason::RequestObjectOfOther, "client_id or iss of request is not the client");
            return Err(error.about(Details::of(name).sent(text(name).unwrap_or_default()).expected([id])));
        }
    }
    // RFC 9101 10.8: with the client as its subject it could be taken for a client assertion, and the other way round.
    if text("sub") == Some(id) {
        return Err(refused(Reason::RequestObjectOfOther, "request must not have the client as its sub"));
    }
    check_audience(claims.get("aud"), strict, issuer)?;
    check_time(claims, strict, now)?;
    // FAPI 1.0 Advanced 5.2.2-10: nothing beside the object counts, so that what is asked for stands in it. The default of
    // RFC 6749 3.3 would give more than anybody signed.
    let names_nothing = |name: &str| claims.get(name).is_none_or(Value::is_null);
    if strict && names_nothing("scope") && names_nothing("authorization_details") {
        let error = refused(Reason::RequestObjectMalformed, "request must have a scope in it");
        return Err(error.about(Details::of("scope").sent("missing")));
    }
    Ok(())
}

/// RFC 9101 4: the audience is the issuer; FAPI 2.0 Message Signing 5.3.1 requires it.
pub(crate) fn check_audience(aud: Option<&Value>, strict: bool, issuer: &str) -> Result<(), OAuthError> {
    let named: Vec<&str> = match aud {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        other => other.and_then(Value::as_str).into_iter().collect(),
    };
    if named.contains(&issuer) || (aud.is_none() && !strict) {
        return Ok(());
    }
    let error = refused(Reason::RequestObjectAudienceWrong, "aud of request does not name this issuer");
    Err(error.about(Details::of("aud").sent(&named.join(" ")).expected([issuer])))
}

/// RFC 7519 4.1.4, 4.1.5. Where request objects are required, they have both claims, and live for an hour at most (FAPI 2.0
/// Message Signing 5.3.1).
pub(crate) fn check_time(
    claims: &Map<String, Value>,
    strict: bool,
    now: Timestamp,
) -> Result<(), OAuthError> {
    // The cast saturates: negative numbers become the epoch, too large ones the end of time.
    let seconds = |name: &str| claims.get(name).map(|value| value.as_f64().unwrap_or(0.0) as u64);
    let (exp, nbf) = (seconds("exp"), seconds("nbf"));
    let clock = format!("{} on the provider's clock", now.seconds());
    let details = |name: &str, sent: Option<u64>| {
        let sent = sent.map_or_else(|| "missing".to_owned(), |own| own.to_string());
        Details::of(name).sent(&sent).expected([clock.as_str()])
    };
    let ended = exp.is_some_and(|exp| now >= Timestamp::from_seconds(exp) + LEEWAY);
    if ended || (strict && exp.is_none()) {
        return Err(refused(Reason::RequestObjectExpired, "request has expired, or has no exp")
            .about(details("exp", exp)));
    }
    let early = nbf.is_some_and(|nbf| now + LEEWAY < Timestamp::from_seconds(nbf));
    let (oldest, longest) = (now.seconds().saturating_sub(LONGEST_LIFE), LONGEST_LIFE);
    let lives = exp.unwrap_or_default().saturating_sub(nbf.unwrap_or_default());
    if early || (strict && (nbf.is_none_or(|nbf| nbf < oldest) || lives > longest)) {
        let description = "request is not valid yet, has no nbf, or is valid for more than an hour";
        return Err(refused(Reason::RequestObjectTimeWrong, description).about(details("nbf", nbf)));
    }
    Ok(())
}

/// The parameters of the request. A member that is no text is written as its JSON (RFC 9101 4), a list of `resource` as
/// one parameter each (RFC 8707 2).
pub(crate) fn form_of(claims: &Map<String, Value>, client: &Client) -> Result<String, OAuthError> {
    // RFC 9101 4: `request` and `request_uri` MUST NOT be in request objects.
    if let Some(name) = ["request", "request_uri"].into_iter().find(|name| claims.contains_key(*name)) {
        let error =
            refused(Reason::RequestObjectMalformed, "request must not have request or request_uri in it");
        return Err(error.about(Details::of(name)));
    }
    let mut form = form_urlencoded::Serializer::new(String::with_capacity(512));
    form.append_pair("client_id", client.client_id.as_str());
    for (name, value) in claims {
        if name == "client_id" || OF_TOKEN.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::Null => {}
            Value::String(text) => drop(form.append_pair(name, text)),
            Value::Array(values) if name == "resource" => {
                for value in values {
                    let error = || {
                        refused(Reason::RequestObjectMalformed, "resource of request has one that is no text")
                    };
                    form.append_pair(name, value.as_str().ok_or_else(error)?);
                }
            }
            other => drop(form.append_pair(name, &other.to_string())),
        }
    }
    Ok(form.finish())
}

fn refused(reason: Reason, description: &'static str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidRequestObject, reason, description).about(Details::of("request"))
}

#[cfg(test)]
mod tests;
