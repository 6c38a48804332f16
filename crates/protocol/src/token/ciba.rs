//! The token request of a client that asked a person elsewhere (CIBA Core 10.1, 11). What it is given is issued as for an authorization
//! code. The claim `urn:openid:params:jwt:claim:auth_req_id` is of pushed tokens alone (CIBA Core 10.3.1), which there are none of.

use crate::backchannel_authentication::AuthReqId;
use crate::client::Client;
use crate::code::CodeGrant;
use crate::error::{ErrorCode, OAuthError};
use crate::id::UserId;
use crate::refusal::{Details, Reason};

pub use super::device_code::check;
pub use crate::backchannel_authentication::request::check_client;

/// The answer while nobody has decided (CIBA Core 11).
pub const fn pending() -> OAuthError {
    OAuthError::new(
        ErrorCode::AuthorizationPending,
        Reason::CibaPending,
        "the person has not decided yet: ask again after the interval",
    )
}

/// The answer to a poll that came too early (CIBA Core 11).
pub const fn slow_down() -> OAuthError {
    OAuthError::new(
        ErrorCode::SlowDown,
        Reason::CibaSlowDown,
        "too fast: add 5 seconds to the interval, now and for all further requests",
    )
}

/// The answer once the person, or an administrator in their place, has refused (CIBA Core 11).
pub fn refused(user: &UserId) -> OAuthError {
    let error = OAuthError::new(ErrorCode::AccessDenied, Reason::CibaRefused, "the request was refused");
    error.about(Details::of_user(user))
}

/// The error for an `auth_req_id` that the store does not have. Requests are forgotten when they end, so a text that has the form of one
/// is taken for an ended one (CIBA Core 11).
pub fn unknown(id: &AuthReqId) -> OAuthError {
    match id.has_our_form() {
        true => OAuthError::new(
            ErrorCode::ExpiredToken,
            Reason::AuthReqIdExpired,
            "the auth_req_id has expired: make a new authentication request",
        ),
        false => {
            OAuthError::invalid_grant(Reason::AuthReqIdNotOurs, "auth_req_id is none of this provider's")
        }
    }
}

/// The error for another client's (CIBA Core 11: `invalid_grant`).
pub fn of_other_client(client: &Client) -> OAuthError {
    OAuthError::invalid_grant(Reason::AuthReqIdOfOtherClient, "the auth_req_id was issued to another client")
        .about(Details::of("client_id").sent(client.client_id.as_str()))
}

/// The error for one that was redeemed before, or whose grant has ended.
pub fn over(reason: Reason, allowed: &CodeGrant) -> OAuthError {
    OAuthError::invalid_grant(reason, "the auth_req_id was used, or what was allowed has ended")
        .of_user(&allowed.user)
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use crate::client::GrantType;
    use crate::id::IssuerId;
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
    fn the_errors_are_those_of_ciba() {
        let user = code("openid").user;
        let ended = AuthReqId::draw(&IssuerId::default_issuer(), &user, &SeededRandom::new(3));
        for (error, told) in [
            (pending(), "authorization_pending"),
            (slow_down(), "slow_down"),
            (refused(&user), "access_denied"),
            (unknown(&ended), "expired_token"),
            (unknown(&AuthReqId::new("ar_x.y")), "invalid_grant"),
            (of_other_client(&client("other")), "invalid_grant"),
            (over(Reason::AuthReqIdUsed, &code("openid")), "invalid_grant"),
        ] {
            assert_eq!((error.code.as_str(), error.code.status()), (told, 400));
        }
    }
}
