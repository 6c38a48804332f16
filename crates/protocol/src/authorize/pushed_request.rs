//! Pushed authorization requests (RFC 9126): what is kept of one, and the reference by which it is used.

use std::fmt;
use std::time::Duration;

use smol_str::SmolStr;

use super::request::{AuthorizationRequest, Rejection};
use crate::client::Client;
use crate::dpop;
use crate::error::{ErrorCode, OAuthError};
use crate::id::ClientId;
use crate::json::Object;
use crate::params::Params;
use crate::pkce::Unprotected;
use crate::refusal::{Details, Reason};
use crate::security_profile;
use crate::settings::IssuerSettings;

/// How long a pushed request may be used (RFC 9126 2.2: usually between 5 and 600 seconds). The client sends the person on at
/// once, and with the first use of the reference the request has been read.
pub const LIFETIME: Duration = Duration::from_secs(60);

/// The longest pushed request that is kept, in bytes of its form: as much as a request may have that waits for a person.
pub const LONGEST: usize = 8 * 1024;

/// Room for an answer.
const ANSWER: usize = 192;

/// The beginning of every reference (RFC 9126 2.2).
const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// The parameters by which a client authenticates. They are no part of the request, and are not kept.
const OF_CLIENT: [&str; 3] = ["client_secret", "client_assertion", "client_assertion_type"];

/// The part of a `request_uri` that names a pushed request: `tx_<generation>_<shard>_<random characters>`. Stored only as a
/// digest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PushedRequestId(SmolStr);

impl PushedRequestId {
    /// Takes any text as an id; the store decides whether it exists.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The `request_uri`.
    pub fn uri(&self) -> String {
        [PREFIX, &self.0].concat()
    }
}

impl fmt::Debug for PushedRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushedRequestId(..)")
    }
}

/// The pushed request that an authorization request names; `None` if it has no `request_uri` of this form.
///
/// # Errors
/// `invalid_request` if `request_uri` is repeated (RFC 6749 3.1), or stands beside `request` (RFC 9101 5).
pub fn named(params: &Params<'_>) -> Result<Option<PushedRequestId>, OAuthError> {
    let first = params.get_all("request_uri").next();
    let Some(id) = first.and_then(|uri| uri.strip_prefix(PREFIX)) else { return Ok(None) };
    params.get("request_uri")?;
    // RFC 9101 5: `request` and `request_uri` MUST NOT be used in one request.
    if params.get_all("request").next().is_some() {
        let description = "request and request_uri must not be sent together";
        let error = OAuthError::invalid_request(Reason::RequestParameterUnsupported, description);
        return Err(error.about(Details::of("request_uri")));
    }
    Ok(Some(PushedRequestId::new(id)))
}

/// RFC 9126 2.1: a request is refused if it has a `request_uri`, also beside a request object.
///
/// # Errors
/// `invalid_request`.
pub fn refuse_reference(params: &Params<'_>, client: &Client) -> Result<(), OAuthError> {
    if params.get("request_uri")?.is_none() {
        return Ok(());
    }
    let description = "request_uri must not be pushed";
    let error = OAuthError::invalid_request(Reason::RequestParameterUnsupported, description);
    Err(error.about(Details::of("request_uri").client(&client.client_id)))
}

/// Checks a request that an authenticated client pushes, as the authorization endpoint would (RFC 9126 2.1), and returns
/// what is to be kept of it: its parameters as a form. `encoded` is the form that `params` were read from.
///
/// # Errors
/// What the authorization endpoint would answer; `invalid_request` for a `request_uri`, a `client_id` that is missing or
/// another client's, and more than [`LONGEST`] bytes.
pub fn accepted(
    (params, encoded): (&Params<'_>, &[u8]),
    client: &Client,
    (issuer, settings): (&str, &IssuerSettings),
) -> Result<Vec<u8>, OAuthError> {
    refuse_reference(params, client)?;
    // RFC 9126 2.1: `client_id` is required here too, and names the client that has authenticated.
    if params.require("client_id")? != client.client_id.as_str() {
        let description = "client_id names another client";
        let error = OAuthError::invalid_request(Reason::ClientIdContradicts, description);
        return Err(error.about(Details::of("client_id").client(&client.client_id)));
    }
    // RFC 9126 2.4 would let a server take any redirect URI of a client that authenticates: here it is a registered one.
    let request = match AuthorizationRequest::check(params, client, (issuer, settings)) {
        Ok(request) => request,
        Err(Rejection::Page(error) | Rejection::Redirect(_, error)) => return Err(error),
    };
    if request.code_challenge.is_none() && security_profile::pushes_with_challenge(client) {
        return Err(Unprotected::NoChallenge.into());
    }
    let form = without_credentials(params, encoded);
    if form.len() > LONGEST {
        let description = "a pushed request may have 8 KiB at most";
        return Err(OAuthError::invalid_request(Reason::RequestTooLongForPage, description));
    }
    Ok(form)
}

/// The form without what authenticates the client, as it was sent if it has nothing of the kind: to write it anew costs as much
/// as to check it.
fn without_credentials(params: &Params<'_>, encoded: &[u8]) -> Vec<u8> {
    let is_of_client = |name: &str| OF_CLIENT.contains(&name);
    if !params.iter().any(|(name, _)| is_of_client(name)) {
        return encoded.to_vec();
    }
    let mut form = form_urlencoded::Serializer::new(String::with_capacity(encoded.len()));
    form.extend_pairs(params.iter().filter(|(name, _)| !is_of_client(name)));
    form.finish().into_bytes()
}

/// Binds a request to the key of the DPoP proof that was pushed with it, as its parameter `dpop_jkt` would (RFC 9449 10.1).
///
/// # Errors
/// `invalid_dpop_proof` if that parameter names another key.
pub fn bind(form: Vec<u8>, thumbprint: &str) -> Result<Vec<u8>, OAuthError> {
    let sent = Params::parse(&form)?;
    match sent.get("dpop_jkt")? {
        None => {}
        Some(own) if own == thumbprint => return Ok(form),
        // RFC 9449 10.1: MUST be rejected.
        Some(own) => {
            let error =
                dpop::invalid(Reason::DpopJktOther, "dpop_jkt names another key than the DPoP proof has");
            return Err(error.about(Details::of("dpop_jkt").sent(own).expected([thumbprint])));
        }
    }
    // A thumbprint is base64url, which needs no escapes.
    Ok([&*form, b"&dpop_jkt=", thumbprint.as_bytes()].concat())
}

/// The answer to a request that was pushed (RFC 9126 2.2), as JSON.
pub fn answer(id: &PushedRequestId) -> Vec<u8> {
    let mut answer = Object::with_capacity(ANSWER);
    answer.text("request_uri", &id.uri());
    answer.number("expires_in", LIFETIME.as_secs());
    answer.end()
}

/// Whether a client's requests must be pushed, by its issuer's word (RFC 9126 5), by its own (RFC 9126 6), or by its profile
/// (FAPI 2.0 Security Profile 5.3.2.2).
pub const fn is_required(client: &Client, settings: &IssuerSettings) -> bool {
    client.require_pushed_authorization_requests
        || settings.require_pushed_authorization_requests
        || security_profile::is_fapi2(client.settings.profile)
}

/// The error for a request that had to be pushed, and was not (RFC 9126 4).
pub fn missing(client: &ClientId) -> OAuthError {
    OAuthError::invalid_request(
        Reason::PushedRequestMissing,
        "the request must be pushed: send its parameters to pushed_authorization_request_endpoint",
    )
    .about(Details::of("request_uri").client(client))
}

/// The error for a `request_uri` that names no pushed request of a client, or one that was used or has ended (RFC 9126 2.2, 4). A
/// page, because no redirect URI is known.
pub fn unknown(client: &ClientId) -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidRequestUri,
        Reason::PushedRequestUnknown,
        "request_uri names no pushed request of this client that can still be used: go back to the application and begin again",
    )
    .about(Details::of("request_uri").client(client))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fixture;

    const REQUEST: &str = "response_type=code&client_id=app&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcb\
        &scope=openid&nonce=n&state=a%26b&resource=https%3A%2F%2Fa.example&resource=https%3A%2F%2Fb.example";

    fn push(form: &str) -> Result<Vec<u8>, OAuthError> {
        let mut client = fixture::client("app");
        client.access_token_audiences = vec!["https://a.example".to_owned(), "https://b.example".to_owned()];
        let params = Params::parse(form.as_bytes()).unwrap();
        accepted((&params, form.as_bytes()), &client, ("https://op.example", &IssuerSettings::default()))
    }

    #[test]
    fn the_request_is_kept_without_what_authenticates_the_client() {
        let form = format!("client_secret=hidden&{REQUEST}&client_assertion=a.b.c&client_assertion_type=jwt");
        let kept = push(&form).unwrap();
        let kept = Params::parse(&kept).unwrap();
        let sent = Params::parse(REQUEST.as_bytes()).unwrap();
        assert!(kept.iter().eq(sent.iter()), "in their order, repeated ones too");
        // However the name is written.
        let kept = push(&format!("{REQUEST}&client%5Fsecret=hidden")).unwrap();
        assert!(!kept.windows(6).any(|part| part == b"hidden"));
    }

    #[test]
    fn a_request_that_has_no_such_thing_is_kept_as_it_was_sent() {
        let sent = format!("{REQUEST}&empty=&also+unknown=%C3%A4");
        assert_eq!(push(&sent).unwrap(), sent.as_bytes());
    }

    #[test]
    fn the_answer_names_the_request_and_its_end() {
        let answer = answer(&PushedRequestId::new("tx_1_2_abc"));
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        let expected = serde_json::json!({
            "request_uri": "urn:ietf:params:oauth:request_uri:tx_1_2_abc", "expires_in": 60,
        });
        assert_eq!(answer, expected);
    }

    #[test]
    fn what_the_authorization_endpoint_refuses_is_refused() {
        let without_client = REQUEST.replace("client_id=app&", "");
        let long = format!("{REQUEST}&login_hint={}", "x".repeat(LONGEST));
        let with = |more: &str| format!("{REQUEST}&{more}");
        for (form, code, reason) in [
            (with("request_uri=urn:x"), "invalid_request", Reason::RequestParameterUnsupported),
            (with("request=eyJ"), "request_not_supported", Reason::RequestParameterUnsupported),
            (with("state=again"), "invalid_request", Reason::ParameterRepeated),
            (with("prompt=none+login"), "invalid_request", Reason::PromptInvalid),
            (without_client, "invalid_request", Reason::ParameterMissing),
            (REQUEST.replace("=app&", "=other&"), "invalid_request", Reason::ClientIdContradicts),
            (REQUEST.replace("%2Fcb", "%2Fother"), "invalid_request", Reason::RedirectUriNotRegistered),
            (
                REQUEST.replace("=code", "=token"),
                "unsupported_response_type",
                Reason::ResponseTypeUnsupported,
            ),
            (long, "invalid_request", Reason::RequestTooLongForPage),
        ] {
            let error = push(&form).unwrap_err();
            assert_eq!((error.code.as_str(), error.reason), (code, reason), "{form}");
        }
    }

    #[test]
    fn a_proof_says_to_which_key_the_code_is_bound() {
        let key = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
        let bound = format!("client_id=app&dpop_jkt={key}");
        assert_eq!(bind(b"client_id=app".to_vec(), key).as_deref(), Ok(bound.as_bytes()));
        assert_eq!(bind(bound.clone().into_bytes(), key).as_deref(), Ok(bound.as_bytes()));
        let other = bind(bound.replace("0Z", "1Z").into_bytes(), key).unwrap_err();
        assert_eq!((other.code.as_str(), other.reason), ("invalid_dpop_proof", Reason::DpopJktOther));
    }

    #[test]
    fn only_a_reference_of_ours_is_taken_for_one() {
        let id = PushedRequestId::new("tx_1_2_abc");
        let named = |query: &str| named(&Params::parse(query.as_bytes()).unwrap());
        let uri = id.uri().replace(':', "%3A");
        assert_eq!(named(&format!("client_id=app&request_uri={uri}")), Ok(Some(id)));
        for query in
            ["client_id=app", "request_uri=https%3A%2F%2Fapp.example%2Frequest", "request_uri=urn%3Ax"]
        {
            assert_eq!(named(query), Ok(None), "{query}");
        }
        let twice = named(&format!("request_uri={uri}&request_uri={uri}"));
        assert_eq!(twice.map_err(|error| error.reason), Err(Reason::ParameterRepeated));
        let both = named(&format!("request_uri={uri}&request=a.b.c"));
        assert_eq!(both.map_err(|error| error.reason), Err(Reason::RequestParameterUnsupported));
    }
}
