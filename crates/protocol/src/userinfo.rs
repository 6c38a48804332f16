//! UserInfo (OpenID Connect Core 5.3): the claims about a user that a token's scope allows.

use serde::Serialize;

use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Reason, Refusal};
use crate::scope::{OPENID, Scope};
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;
use crate::user::{Address, User};

/// The error for a token that is not accepted (RFC 6750 3.1). The client is told the same whatever the reason.
fn invalid_token(token: &AccessToken, refusal: Refusal) -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidToken,
        refusal.reason,
        "the access token is malformed, expired, revoked or not for this",
    )
    .because(refusal.naming(&token.client_id))
}

/// Whether an access token may be used at UserInfo. Its signature was verified, and it is not revoked.
///
/// # Errors
/// `invalid_token` for a token of another issuer, an expired one, and one whose audience is not the issuer;
/// `insufficient_scope` without `openid`.
pub fn check(token: &AccessToken, issuer_url: &str, now: Timestamp) -> Result<(), OAuthError> {
    token
        .check(issuer_url, now)
        .map_err(|not| invalid_token(token, token.refused_as_not_valid(not, issuer_url, now)))?;
    // RFC 9068 4: `aud` MUST name the resource server, which is the issuer itself.
    if !token.aud.contains(issuer_url) {
        return Err(invalid_token(token, token.refused_audience([issuer_url])));
    }
    // OpenID Connect Core 5.3.1, RFC 6750 3.1.
    if !token.scope.contains(OPENID) {
        let reason = Reason::TokenScopeInsufficient;
        return Err(OAuthError::new(ErrorCode::InsufficientScope, reason, "the scope openid is required")
            .because(token.refused(reason).naming(&token.client_id)));
    }
    Ok(())
}

/// The claims about a token's user that its scope requests (OpenID Connect Core 5.4).
///
/// # Errors
/// `invalid_token` if there is no such user, or they may no longer sign in.
pub fn claims<'a>(token: &AccessToken, user: Option<&'a User>) -> Result<UserInfo<'a>, OAuthError> {
    match user.filter(|user| user.id.as_str() == token.sub) {
        Some(user) if user.may_sign_in() => Ok(UserInfo::of(user, &token.scope)),
        found => {
            let reason = if found.is_some() { Reason::UserDeactivated } else { Reason::TokenUserUnknown };
            Err(invalid_token(token, token.refused(reason)))
        }
    }
}

/// The answer (OpenID Connect Core 5.3.2); written in this order.
#[derive(Clone, Debug, Serialize)]
pub struct UserInfo<'a> {
    /// Always present.
    sub: &'a str,
    #[serde(flatten)]
    profile: Option<ProfileClaims<'a>>,
    #[serde(flatten)]
    email: Option<EmailClaims<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_number_verified: Option<bool>,
}

#[derive(Clone, Debug, Serialize)]
struct EmailClaims<'a> {
    email: &'a str,
    email_verified: bool,
}

macro_rules! profile_claims {
    ($($claim:ident)*) => {
        /// The names of the string claims of the scope `profile` (OpenID Connect Core 5.1, 5.4): all its claims
        /// except `updated_at`.
        pub const PROFILE_CLAIMS: &[&str] = &[$(stringify!($claim)),*];

        /// The claims of the scope `profile` (OpenID Connect Core 5.4).
        #[derive(Clone, Debug, Serialize)]
        struct ProfileClaims<'a> {
            $(#[serde(skip_serializing_if = "Option::is_none")] $claim: Option<&'a str>,)*
            /// Seconds (OpenID Connect Core 5.1).
            updated_at: u64,
        }

        impl<'a> ProfileClaims<'a> {
            fn of(user: &'a User) -> Self {
                Self {
                    $($claim: user.profile.$claim.as_deref(),)*
                    updated_at: user.updated_at.seconds(),
                }
            }
        }
    };
}

profile_claims! {
    name given_name family_name middle_name nickname preferred_username profile picture website gender birthdate
    zoneinfo locale
}

impl<'a> UserInfo<'a> {
    /// The claims of a user that a scope requests.
    pub fn of(user: &'a User, scope: &Scope) -> Self {
        let mut info = Self {
            sub: user.id.as_str(),
            profile: None,
            email: None,
            address: None,
            phone_number: None,
            phone_number_verified: None,
        };
        for token in scope.iter() {
            match token {
                "profile" => info.profile = Some(ProfileClaims::of(user)),
                "email" => {
                    let verified = |email| EmailClaims { email, email_verified: user.email_verified };
                    info.email = user.email.as_deref().map(verified);
                }
                "address" => info.address = user.profile.address.as_deref(),
                "phone" => {
                    info.phone_number = user.profile.phone_number.as_deref();
                    let verified = user.profile.phone_number_verified.unwrap_or(false);
                    info.phone_number_verified = info.phone_number.map(|_| verified);
                }
                _ => {}
            }
        }
        info
    }

    /// The response body.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(384);
        // Writing text and numbers into memory cannot fail.
        let _ = serde_json::to_writer(&mut json, self);
        json
    }
}

#[cfg(test)]
mod tests;
