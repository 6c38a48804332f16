//! The token of a request, in its `Authorization` header (RFC 6750 2.1).

use http::{HeaderMap, header};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::refusal::{Reason, Refusal};

use symbolon_app::http::Failure;

/// The token that came.
///
/// # Errors
/// A challenge without an error code if none came (RFC 6750 3.1), `invalid_request` for a header that is malformed or came
/// twice.
pub(super) fn bearer(headers: &HeaderMap) -> Result<&str, Failure> {
    let malformed = || {
        let told = "the Authorization header is not valid";
        Failure::Bearer(OAuthError::invalid_request(Reason::AuthorizationHeaderMalformed, told))
    };
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let value = lines.next().ok_or(Failure::NoToken { takes_dpop: false })?;
    if lines.next().is_some() {
        return Err(malformed());
    }
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    // RFC 9110 11.1: the scheme is case-insensitive.
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Failure::NoToken { takes_dpop: false });
    }
    Ok(token.trim())
}

/// The challenge for a token that is refused (RFC 6750 3.1). What is told is the same whatever the reason.
pub(super) fn invalid_token(refusal: Refusal) -> Failure {
    let told = "the token is not the one that is needed here";
    let error = OAuthError::new(ErrorCode::InvalidToken, refusal.reason, told);
    Failure::Bearer(error.because(refusal))
}
