//! ID tokens sent back as an `id_token_hint` (OpenID Connect Core 3.1.2.1, RP-Initiated Logout 2). They identify a
//! user, but do not authenticate the sender.

use serde::Deserialize;
use serde::de::IgnoredAny;
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;

use crate::id::{ClientId, Sid, UserId};
use crate::pairwise::{Pairwise, Veiled};

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
    /// The `sub` by which that client knows the user, where it is pairwise.
    pub pairwise_sub: Option<UserId>,
}

impl IdTokenHint {
    /// Reads the parameter of a request. `key_of` returns the issuer's public key for a `kid`, if that key still
    /// verifies. `open` opens what the token seals where its subject is pairwise, for the purpose that [`sealed_for`] names.
    pub fn read<'k>(
        parameter: Option<&str>,
        issuer_url: &str,
        key_of: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
        open: impl FnOnce(&str, &str) -> Option<Veiled>,
    ) -> Self {
        let Some(token) = parameter else { return Self::Absent };
        verify(token, issuer_url, key_of, open)
            .map_or(Self::Unverifiable, |claims| Self::IdToken(Box::new(claims)))
    }

    /// The hint, or without one the user whom the request asks for by the claim `sub` (OpenID Connect Core 5.5.1): both say who is
    /// expected, and at the authorization endpoint neither has to be for the client or still valid.
    #[must_use]
    pub fn or_user(self, sub: Option<&str>, client: &ClientId) -> Self {
        match (self, sub.map(UserId::parse)) {
            (Self::Absent, Some(Ok(sub))) => Self::IdToken(Box::new(IdTokenHintClaims {
                sub,
                sid: None,
                aud: client.clone(),
                pairwise_sub: None,
            })),
            (own, _) => own,
        }
    }

    /// The hint of a request of this client. One that was issued to a client which knows the user by another name identifies nobody:
    /// whether it is about who is signed in would join the two names (OpenID Connect Core 8.1).
    #[must_use]
    pub fn told_to(self, client: &ClientId, pairwise: Option<Pairwise<'_>>) -> Self {
        match self {
            Self::IdToken(claims) if claims.aud != *client && !claims.is_told_alike(pairwise) => {
                Self::Unverifiable
            }
            own => own,
        }
    }

    /// The claims, if the hint is an ID token of this issuer.
    pub fn claims(&self) -> Option<&IdTokenHintClaims> {
        match self {
            Self::IdToken(claims) => Some(claims),
            Self::Absent | Self::Unverifiable => None,
        }
    }
}

impl IdTokenHintClaims {
    /// Whether a client knows the user by the name that the ID token has.
    fn is_told_alike(&self, pairwise: Option<Pairwise<'_>>) -> bool {
        match (&self.pairwise_sub, pairwise) {
            (None, None) => true,
            (Some(told), Some(pairwise)) => pairwise.sub(&self.sub) == *told,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

/// What the sealed claim of an ID token is bound to: that of one token opens in no other.
pub fn sealed_for(client: &ClientId, sub: &UserId) -> String {
    format!("id token of {client} about {sub}")
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
    open: impl FnOnce(&str, &str) -> Option<Veiled>,
) -> Option<IdTokenHintClaims> {
    #[derive(Deserialize)]
    struct Claims {
        iss: String,
        sub: UserId,
        sid: Option<Sid>,
        aud: ClientId,
        client_id: Option<IgnoredAny>,
        exp: Option<IgnoredAny>,
        pairwise_ref: Option<String>,
    }
    let jws = Compact::parse(token).ok()?;
    // RFC 8725 3.11: an access token is not accepted as a hint.
    if jws.header().is_type("at+jwt") {
        return None;
    }
    let key = key_of(jws.header().kid.as_deref()?)?;
    let payload = jws.verified_payload(key).ok()?;
    let Claims { iss, sub, sid, aud, client_id, exp, pairwise_ref } =
        serde_json::from_slice(&payload).ok()?;
    // RFC 8725 3.12: nor is one of the type JWT. It has `client_id` (RFC 9068 2.2), which no ID token of ours has.
    if client_id.is_some() {
        return None;
    }
    // Nor is a signed answer of UserInfo: it has no `exp`, which every ID token has (OpenID Connect Core 2).
    exp?;
    // RP-Initiated Logout 2: the OP MUST validate that it was the issuer of the ID token.
    if iss != issuer_url {
        return None;
    }
    let Some(sealed) = pairwise_ref else {
        return Some(IdTokenHintClaims { sub, sid, aud, pairwise_sub: None });
    };
    let Veiled { user, sid, .. } = open(&sealed_for(&aud, &sub), &sealed)?;
    Some(IdTokenHintClaims { sub: user, sid, aud, pairwise_sub: Some(sub) })
}

#[cfg(test)]
mod tests;
