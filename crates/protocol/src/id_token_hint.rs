//! ID tokens that come back to us as an `id_token_hint` (OpenID Connect Core 3.1.2.1, RP-Initiated Logout 2): they say who
//! is meant, and prove nothing.

use serde::Deserialize;
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;

use crate::id::{ClientId, Sid, UserId};

/// What the `id_token_hint` of a request turned out to be. It never stands in for a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdTokenHint {
    /// The request had none.
    #[default]
    Absent,
    /// It is not an ID token that this issuer signed, so it names nobody.
    Unverifiable,
    /// An ID token of this issuer, expired or not.
    IdToken(IdTokenHintClaims),
}

/// What a hint's ID token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdTokenHintClaims {
    /// The user that it is about.
    pub sub: UserId,
    /// The session that it was issued in; none for a grant that had outlived its session.
    pub sid: Option<Sid>,
    /// The client that it was issued to.
    pub aud: ClientId,
}

impl IdTokenHint {
    /// Reads the parameter of a request. `key_of` finds the issuer's public key of a `kid`, where that still verifies.
    pub fn read<'k>(
        parameter: Option<&str>,
        issuer_url: &str,
        key_of: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
    ) -> Self {
        let Some(token) = parameter else { return Self::Absent };
        verify(token, issuer_url, key_of).map_or(Self::Unverifiable, Self::IdToken)
    }

    /// The claims, where it is an ID token of this issuer.
    pub fn claims(&self) -> Option<&IdTokenHintClaims> {
        match self {
            Self::IdToken(claims) => Some(claims),
            Self::Absent | Self::Unverifiable => None,
        }
    }
}

/// The time in it is not looked at: RP-Initiated Logout 4 wants expired ones accepted, and Core 3.1.2.1 speaks of past
/// sessions.
///
/// Nor is it compared here whether `aud` is the client that asks, because the specifications differ. At the authorization
/// endpoint (Core 3.1.2.1) nothing asks for it: a hint can only make the answer stricter, so one that was issued to another
/// client does no harm. At the logout endpoint the OP MUST compare it where the request names a client (RP-Initiated Logout
/// 2), which [`LogoutRequest::decide`](crate::logout::LogoutRequest::decide) does. Either way `aud` must be there, as in
/// every ID token (Core 2); ours have one, written as a string.
fn verify<'k>(
    token: &str,
    issuer_url: &str,
    key_of: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
) -> Option<IdTokenHintClaims> {
    #[derive(Deserialize)]
    struct Claims {
        iss: String,
        sub: UserId,
        sid: Option<Sid>,
        aud: ClientId,
    }
    let jws = Compact::parse(token).ok()?;
    // RFC 8725 3.11: an access token is no hint.
    if jws.header().is_type("at+jwt") {
        return None;
    }
    let key = key_of(jws.header().kid.as_deref()?)?;
    let payload = jws.verified_payload(key).ok()?;
    let Claims { iss, sub, sid, aud } = serde_json::from_slice(&payload).ok()?;
    // RP-Initiated Logout 2: the OP MUST validate that it was the issuer of the ID token.
    (iss == issuer_url).then_some(IdTokenHintClaims { sub, sid, aud })
}

#[cfg(test)]
mod tests;
