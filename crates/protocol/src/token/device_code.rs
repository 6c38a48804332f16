//! The token request of a device (RFC 8628 3.4, 3.5). What it is given is issued as for an authorization code.

use super::refresh_token::still_allowed;
use crate::client::{Client, GrantType};
use crate::code::CodeGrant;
use crate::device_authorization::DeviceCode;
use crate::error::{ErrorCode, OAuthError};
use crate::id::UserId;
use crate::refusal::{Details, Reason};

/// Whether an authenticated client may poll at all.
///
/// # Errors
/// `unauthorized_client` without the grant type.
pub fn check_client(client: &Client) -> Result<(), OAuthError> {
    match client.may_use(GrantType::DeviceCode) {
        true => Ok(()),
        // RFC 6749 5.2.
        false => Err(client.refused_grant(GrantType::DeviceCode, "the client may not use device_code")),
    }
}

/// Whether the client may still have something of what it was allowed. Call this before it is redeemed, so that
/// a refusal leaves it usable.
///
/// # Errors
/// `invalid_scope` if it may have none of the scope any more.
pub fn check(allowed: &CodeGrant, client: &Client) -> Result<(), OAuthError> {
    still_allowed(&allowed.scope, client).map(drop)
}

/// The answer while nobody has decided (RFC 8628 3.5).
pub const fn pending() -> OAuthError {
    OAuthError::new(
        ErrorCode::AuthorizationPending,
        Reason::DevicePending,
        "the person has not decided yet: ask again after the interval",
    )
}

/// The answer to a poll that came too early (RFC 8628 3.5).
pub const fn slow_down() -> OAuthError {
    OAuthError::new(
        ErrorCode::SlowDown,
        Reason::DeviceSlowDown,
        "too fast: add 5 seconds to the interval, now and for all further requests",
    )
}

/// The answer once the person has refused (RFC 8628 3.5).
pub fn refused(user: &UserId) -> OAuthError {
    let error = OAuthError::new(ErrorCode::AccessDenied, Reason::DeviceRefused, "the person refused");
    error.about(Details::of_user(user))
}

/// The error for a code that the store does not have. Codes are forgotten when they end, so a text that has the form of one is taken for
/// an ended one (RFC 8628 3.5).
pub fn unknown(code: &DeviceCode) -> OAuthError {
    match code.has_our_form() {
        true => OAuthError::new(
            ErrorCode::ExpiredToken,
            Reason::DeviceCodeExpired,
            "the device code has expired: ask for a new one",
        ),
        false => OAuthError::invalid_grant(Reason::DeviceCodeNotOurs, "device_code is not a device code"),
    }
}

/// The error for another client's code (RFC 8628 3.4: the code was issued to the client, RFC 6749 5.2).
pub fn of_other_client(client: &Client) -> OAuthError {
    OAuthError::invalid_grant(Reason::DeviceCodeOfOtherClient, "the device code was issued to another client")
        .about(Details::of("client_id").sent(client.client_id.as_str()))
}

/// The error for a code that was redeemed before, or whose grant has ended.
pub fn over(reason: Reason, allowed: &CodeGrant) -> OAuthError {
    OAuthError::invalid_grant(reason, "the device code was used, or what was allowed has ended")
        .of_user(&allowed.user)
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use crate::scope::Scope;
    use crate::token::fixture::{client, code};

    #[test]
    fn a_client_polls_by_its_grant_type_for_a_scope_that_it_may_still_have() {
        let mut own = client("app");
        assert_eq!((check_client(&own), check(&code("openid"), &own)), (Ok(()), Ok(())));
        own.scope = Scope::parse("email").unwrap();
        let answer = check(&code("openid"), &own).map_err(|error| error.code);
        assert_eq!(answer, Err(ErrorCode::InvalidScope));
        own.grant_types = vec![GrantType::AuthorizationCode];
        let answer = check_client(&own).map_err(|error| error.code);
        assert_eq!(answer, Err(ErrorCode::UnauthorizedClient));
    }

    #[test]
    fn the_errors_are_those_of_rfc_8628() {
        let ended = DeviceCode::draw(&[1; 16], &SeededRandom::new(3));
        let user = code("openid").user;
        for (error, told) in [
            (pending(), "authorization_pending"),
            (slow_down(), "slow_down"),
            (refused(&user), "access_denied"),
            (unknown(&ended), "expired_token"),
            (unknown(&DeviceCode::new("BCDF-GHJK")), "invalid_grant"),
            (of_other_client(&client("other")), "invalid_grant"),
            (over(Reason::DeviceCodeUsed, &code("openid")), "invalid_grant"),
        ] {
            assert_eq!((error.code.as_str(), error.code.status()), (told, 400));
        }
    }
}
