//! Subjects of an exchange that are no access tokens of this issuer: its ID tokens, and JWTs of trusted issuers about users (RFC 8693 2.1).
//!
//! Both are read as what an access token for the same user would say, so that every rule of an exchange holds for them. Neither has an id
//! by which it could be revoked, so [`jti`](AccessToken::jti) is empty.

use serde::Deserialize;
use serde::de::IgnoredAny;
use smol_str::SmolStr;
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;

use super::invalid_subject_token;
use crate::client::Client;
use crate::error::OAuthError;
use crate::id::{ClientId, Jti, Sid, UserId};
use crate::id_token_hint::sealed_for;
use crate::pairwise::Veiled;
use crate::refusal::Reason;
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::session::Amr;
use crate::token::Context;
use crate::token::access_token::AccessToken;
use crate::token::claim::{Audience, amr, numeric_date};
use crate::token::id_token::TYP;
use crate::token::jwt_bearer::of_new_grant;
use crate::trusted_issuer::IssuedAssertion;

/// Reads an ID token of this issuer. `key_of` returns the issuer's public key for a `kid`, if that key still verifies. `open` opens what the
/// token seals where its subject is pairwise, for the purpose that [`sealed_for`] names. Its issuer and its times are checked by
/// [`Exchange::issue`](super::Exchange::issue), and it has no scope until [`may_have`].
///
/// # Errors
/// [`Reason`]: it is no ID token that this issuer signed.
pub fn of_id_token<'k>(
    token: &str,
    key_of: impl FnOnce(&str) -> Option<&'k VerifyingKey>,
    open: impl FnOnce(&str, &str) -> Option<Veiled>,
) -> Result<Box<AccessToken>, Reason> {
    let jws = Compact::parse(token).map_err(|_| Reason::TokenMalformed)?;
    // RFC 8725 3.11: tokens of other kinds have other types, or, like an access token of the type JWT, other claims.
    if jws.header().typ.is_some() && !jws.header().is_type(TYP) {
        return Err(Reason::TokenOfOtherKind);
    }
    let kid = jws.header().kid.as_deref().ok_or(Reason::TokenKeyUnknown)?;
    let key = key_of(kid).ok_or(Reason::TokenKeyUnknown)?;
    let payload = jws.verified_payload(key).map_err(|_| Reason::TokenSignatureWrong)?;
    let others: OtherKinds = serde_json::from_slice(&payload).map_err(|_| Reason::TokenMalformed)?;
    if others.any() {
        return Err(Reason::TokenOfOtherKind);
    }
    let claims: IdTokenClaims = serde_json::from_slice(&payload).map_err(|_| Reason::TokenMalformed)?;
    claims.read(open).ok_or(Reason::TokenMalformed)
}

/// Claims that no ID token has.
#[derive(Deserialize)]
struct OtherKinds {
    /// RFC 9068 2.2: an access token; an ID-JAG.
    client_id: Option<IgnoredAny>,
    /// OpenID Connect Back-Channel Logout 2.4: a logout token.
    events: Option<IgnoredAny>,
    /// A registered refresh token.
    rtv: Option<IgnoredAny>,
}

impl OtherKinds {
    fn any(&self) -> bool {
        [&self.client_id, &self.events, &self.rtv].into_iter().any(Option::is_some)
    }
}

/// The claims of an ID token that an exchange needs (OpenID Connect Core 2). `exp` and `iat` are REQUIRED there; signed answers of UserInfo
/// have neither.
#[derive(Deserialize)]
struct IdTokenClaims {
    iss: String,
    sub: UserId,
    aud: ClientId,
    #[serde(deserialize_with = "numeric_date::required")]
    exp: u64,
    #[serde(deserialize_with = "numeric_date::required")]
    iat: u64,
    #[serde(default, deserialize_with = "numeric_date::optional")]
    auth_time: Option<u64>,
    acr: Option<SmolStr>,
    #[serde(default, deserialize_with = "amr::deserialize")]
    amr: Amr,
    sid: Option<Sid>,
    pairwise_ref: Option<String>,
}

impl IdTokenClaims {
    fn read(self, open: impl FnOnce(&str, &str) -> Option<Veiled>) -> Option<Box<AccessToken>> {
        let Self { iss, sub, aud, exp, iat, auth_time, acr, amr, sid, pairwise_ref } = self;
        let (account, sid) = match pairwise_ref {
            None => (None, sid),
            Some(sealed) => {
                let Veiled { user, sid, .. } = open(&sealed_for(&aud, &sub), &sealed)?;
                (Some(user), sid)
            }
        };
        let audience = Audience::one(aud.as_str());
        let mut subject = Box::new(AccessToken::about(SmolStr::new(sub.as_str()), aud, Scope::default()));
        subject.iss = iss;
        subject.account = account;
        subject.aud = audience;
        (subject.iat, subject.exp) = (iat, exp);
        (subject.auth_time, subject.acr, subject.amr) = (auth_time, acr, amr);
        subject.sid = sid;
        Some(subject)
    }
}

/// Gives an ID token the scope that an access token could have had beside it: what its client registered. Nobody is asked for consent, which the
/// client's `id_token_exchange_allowed` says.
pub fn may_have(subject: &mut AccessToken, client: &Client) {
    subject.scope = registered(client);
}

/// What a client may have for a user who is not there: it gets no refresh token.
fn registered(client: &Client) -> Scope {
    client.scope.filtered(|token| token != OFFLINE_ACCESS)
}

/// Reads a verified JWT of a trusted issuer about this user, in a grant of its own. Its scope is what the client registered, as far as a claim `scope`
/// has it. Its `act` and `may_act` hold as those of an access token do (RFC 8693 4.1, 4.4).
///
/// # Errors
/// `invalid_grant` for malformed claims.
pub fn of_assertion(
    context: &Context<'_>,
    assertion: &IssuedAssertion<'_>,
    user: &UserId,
) -> Result<Box<AccessToken>, OAuthError> {
    let registered = registered(context.client);
    let scope = match assertion.claim::<String>("scope").map_err(invalid_subject_token)? {
        Some(text) => {
            let allowed =
                Scope::parse(&text).map_err(|_| invalid_subject_token(Reason::AssertionMalformed))?;
            registered.intersection(&allowed)
        }
        None => registered,
    };
    let mut subject = of_new_grant(context, user, scope);
    subject.jti = Jti::trusted("");
    subject.exp = assertion.expires_at().seconds();
    subject.act = assertion.claim("act").map_err(invalid_subject_token)?;
    subject.may_act = assertion.claim("may_act").map_err(invalid_subject_token)?;
    Ok(subject)
}

#[cfg(test)]
mod tests;
