//! ID tokens sent back as an `id_token_hint` (OpenID Connect Core 3.1.2.1, RP-Initiated Logout 2). They identify a
//! user, but do not authenticate the sender.

use serde::Deserialize;
use serde::de::IgnoredAny;
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;

use crate::id::{ClientId, Sid, UserId};

/// The result of reading a request's `id_token_hint`. It never replaces a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdTokenHint {
    /// The request has no hint.
    #[default]
    Absent,
    /// The hint is not an ID token that this issuer signed, so it identifies nobody.
    Unverifiable,
    /// An ID token of this issuer, expired or not. Boxed, because hardly any request has one and all carry the room for it.
    IdToken(Box<IdTokenHintClaims>),
}

/// The claims of a hint's ID token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdTokenHintClaims {
    /// The user.
    pub sub: UserId,
    /// The session in which it was issued; `None` if its grant had outlived its session.
    pub sid: Option<Sid>,
    /// The client that it was issued to.
    pub aud: ClientId,
}

impl IdTokenHint {
    /// Reads the parameter of a request. `key_of` returns the issuer's public key for a `kid`, if that key still
    /// verifies.
    pub fn read<'k>(
        parameter: Option<&str>,
        issuer_url: &str,
        key_of: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
    ) -> Self {
        let Some(token) = parameter else { return Self::Absent };
        verify(token, issuer_url, key_of).map_or(Self::Unverifiable, |claims| Self::IdToken(Box::new(claims)))
    }

    /// The claims, if the hint is an ID token of this issuer.
    pub fn claims(&self) -> Option<&IdTokenHintClaims> {
        match self {
            Self::IdToken(claims) => Some(claims),
            Self::Absent | Self::Unverifiable => None,
        }
    }
}

/// Expiry is not checked: RP-Initiated Logout 4 wants expired hints to be accepted, and Core 3.1.2.1 allows hints
/// about past sessions.
///
/// `aud` is not compared with the requesting client here, because the specifications differ. At the authorization
/// endpoint (Core 3.1.2.1) that is not required: a hint only makes the answer stricter, so one that was issued to
/// another client does no harm. At the logout endpoint the OP MUST compare it if the request names a client
/// (RP-Initiated Logout 2), which [`LogoutRequest::decide`](crate::logout::LogoutRequest::decide) does. In both cases
/// `aud` must be present, as in every ID token (Core 2); this issuer writes it as a string.
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
        client_id: Option<IgnoredAny>,
    }
    let jws = Compact::parse(token).ok()?;
    // RFC 8725 3.11: an access token is not accepted as a hint.
    if jws.header().is_type("at+jwt") {
        return None;
    }
    let key = key_of(jws.header().kid.as_deref()?)?;
    let payload = jws.verified_payload(key).ok()?;
    let Claims { iss, sub, sid, aud, client_id } = serde_json::from_slice(&payload).ok()?;
    // RFC 8725 3.12: nor is one of the type JWT. It has `client_id` (RFC 9068 2.2), which no ID token of ours has.
    if client_id.is_some() {
        return None;
    }
    // RP-Initiated Logout 2: the OP MUST validate that it was the issuer of the ID token.
    (iss == issuer_url).then_some(IdTokenHintClaims { sub, sid, aud })
}

#[cfg(test)]
mod tests;
