//! Refresh tokens: their text, and the refresh grant (RFC 6749 6, RFC 9700 4.14.2).
//!
//! A token is `rt_<generation>_<shard>_<family>_<version>_<HMAC>`. The family's name has 20 characters (22 for
//! registered tokens), the HMAC 43. The store never sees a token: every version can be derived again from the
//! issuer's key.

mod plan;

pub use plan::{RefreshPlan, RefreshRecords, Refreshed, Refused, plan, session_needed};

use std::fmt;

use serde::Deserialize;
use smol_str::SmolStr;
use symbolon_crypto::digest::{HmacKey, sha256};
use symbolon_crypto::encoding;
use symbolon_crypto::jws::Header;

use super::access_token::AccessToken;
use super::claim::{Audience, numeric_date};
use super::id_token::{Authentication, IdToken};
use super::{Context, IssuePlan};
use crate::client::{Client, GrantType};
use crate::error::{ErrorCode, OAuthError};
use crate::family::{Family, FamilyId};
use crate::grant::{Lineage, Slot};
use crate::id::{ClientId, IssuerId, Jti};
use crate::id_text::IdText;
use crate::mutual_tls;
use crate::refusal::{Details, Reason};
use crate::scope::{self, OPENID, Scope};
use crate::sign_in::acr::Acr;
use crate::time::Timestamp;

/// Characters of the longest family name, that of a registered token.
const NAME_LEN: usize = 22;
/// Characters of the HMAC.
const TAG_LEN: usize = 43;
/// The longest text that is parsed: the fixed parts and three numbers of ten digits.
const MAX_LEN: usize = 3 + 3 * 11 + NAME_LEN + 1 + TAG_LEN;

/// A refresh token as the client holds it.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken(SmolStr);

impl RefreshToken {
    /// The token that the client presented, if it stays live.
    pub fn presented(text: &str) -> Self {
        Self(SmolStr::new(text))
    }

    /// The text, for the token response.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshToken(..)")
    }
}

/// The token of one version of a family.
pub fn mint(issuer: &IssuerId, id: &FamilyId, version: u32, key: &HmacKey) -> RefreshToken {
    let mut text = IdText::new("rt_");
    text.number(id.generation.into()).text("_").number(id.shard.into());
    text.text("_").text(&id.name).text("_").number(version.into());
    let tag = authenticate(issuer, text.as_bytes(), key);
    RefreshToken(text.text("_").base64url(&tag).build())
}

/// The family and version of a token that this server made; `None` for any other text. Compares in constant time.
pub fn parse_and_authenticate(issuer: &IssuerId, text: &str, key: &HmacKey) -> Option<(FamilyId, u32)> {
    if text.len() > MAX_LEN {
        return None;
    }
    // The HMAC may contain `_`, so it is split off by its length. The name may contain `_` too: it is what remains
    // between the numbers.
    let (body, tag) = text.split_at_checked(text.len().checked_sub(TAG_LEN)?)?;
    let body = body.strip_suffix('_')?;
    let (head, version) = body.rsplit_once('_')?;
    let (generation, rest) = head.strip_prefix("rt_")?.split_once('_')?;
    let (shard, name) = rest.split_once('_')?;

    let tag = encoding::decode_array::<32>(tag).ok()?;
    if !key.verify(&[issuer.as_str().as_bytes(), &[0], body.as_bytes()], &tag) {
        return None;
    }
    let id = FamilyId {
        generation: generation.parse().ok()?,
        shard: shard.parse().ok()?,
        name: SmolStr::new(name),
    };
    Some((id, version.parse().ok()?))
}

/// The issuer id is followed by a byte that it cannot contain, so that the input is unambiguous.
fn authenticate(issuer: &IssuerId, body: &[u8], key: &HmacKey) -> [u8; 32] {
    key.sign(&[issuer.as_str().as_bytes(), &[0], body])
}

/// A refresh token that was signed elsewhere with the issuer's key and registered through the admin API: a JWT,
/// accepted as version 1 of its family.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RegisteredToken {
    /// Its id, by which its family is found.
    pub jti: Jti,
    /// The issuer's URL.
    pub iss: Option<String>,
    /// The client that it was made for.
    pub client_id: Option<ClientId>,
    /// Its audience, which is the client.
    #[serde(default)]
    pub aud: Audience,
    /// When it expires, in seconds.
    #[serde(default, deserialize_with = "numeric_date::optional")]
    pub exp: Option<u64>,
}

impl RegisteredToken {
    /// Parses a JWT's payload. For a refresh the signature must have been verified; for registering it need not be.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok()
    }

    /// The family and version of a presented token; `None` if it is not a refresh token of this issuer, or has
    /// expired.
    pub fn presented(
        &self,
        header: &Header,
        issuer: &IssuerId,
        url: &str,
        now: Timestamp,
    ) -> Option<(FamilyId, u32)> {
        // RFC 8725 3.12: an access token must not be accepted as a refresh token.
        let right_kind = header.is_type("JWT");
        let ours = self.iss.as_deref() == Some(url);
        let live = self.exp.is_none_or(|exp| now < Timestamp::from_seconds(exp));
        (right_kind && ours && live).then(|| (family_of_registered(issuer, &self.jti), 1))
    }
}

/// The family of a registered token. It is found by hash, so changing the number of shards does not move it.
pub fn family_of_registered(issuer: &IssuerId, jti: &Jti) -> FamilyId {
    let digest = sha256(&[jti.as_str().as_bytes()]);
    let mut name = [0; NAME_LEN];
    // 16 bytes are 22 characters in base64url.
    let name = digest.first_chunk::<16>().and_then(|half| encoding::encode_to_slice(half, &mut name).ok());
    FamilyId {
        generation: 0,
        shard: u32::from(Slot::of(issuer, jti.as_str()).number()),
        name: SmolStr::new(name.unwrap_or_default()),
    }
}

/// The parameters that a client sends with a refresh token.
#[derive(Clone, Copy, Debug, Default)]
pub struct PresentedRefreshToken<'a> {
    /// `scope`.
    pub scope: Option<&'a str>,
    /// The thumbprint of the key whose possession the request proved.
    pub thumbprint: Option<&'a str>,
    /// The thumbprint of the TLS certificate that came with the request.
    pub certificate: Option<&'a str>,
}

/// Whether an authenticated client may refresh. Returns the scope of the new access token.
///
/// # Errors
/// `invalid_grant` for another client's family, an expired one, or another key; `invalid_scope` beyond the granted
/// scope, or if the client may no longer have any of it; `unauthorized_client` without the grant type.
pub fn check(
    family: &Family,
    client: &Client,
    presented: PresentedRefreshToken<'_>,
    now: Timestamp,
) -> Result<Scope, OAuthError> {
    // RFC 6749 5.2.
    if !client.may_use(GrantType::RefreshToken) {
        return Err(client.refused_grant(GrantType::RefreshToken, "the client may not use refresh_token"));
    }
    // RFC 6749 6: the token is bound to the client that it was issued to.
    if family.client != client.client_id {
        let details = Details::of("client_id").sent(client.client_id.as_str());
        return Err(OAuthError::invalid_grant(
            Reason::RefreshTokenOfOtherClient,
            "the refresh token was issued to another client",
        )
        .about(details.expected([family.client.as_str()]).user(&family.user)));
    }
    if family.ended(now) {
        return Err(unknown(Reason::RefreshTokenExpired).about(Details::of_user(&family.user)));
    }
    // RFC 9449 5, RFC 8705 4.
    let is_met = |binding: &str| mutual_tls::meets(binding, presented.thumbprint, presented.certificate);
    if family.binding.as_deref().is_some_and(|binding| !is_met(binding)) {
        return Err(OAuthError::invalid_grant(
            Reason::RefreshTokenKeyOther,
            "the refresh token is bound to another key or certificate",
        )
        .about(Details::of_user(&family.user)));
    }
    let asked = narrowed(&family.scope, presented.scope)?;
    still_allowed(&asked, client)
}

/// The part of a granted scope that the client may still have: its registered scope may have been reduced (RFC 6749
/// 3.3, 6). If nothing is left, the error is `invalid_scope`, as for token exchange. `invalid_grant` would make the
/// client discard its refresh token, which works again once the registered scope is extended.
pub(super) fn still_allowed(granted: &Scope, client: &Client) -> Result<Scope, OAuthError> {
    let left = granted.intersection(&client.scope);
    if left.is_empty() && !granted.is_empty() {
        return Err(OAuthError::new(
            ErrorCode::InvalidScope,
            Reason::ScopeNoLongerRegistered,
            "the client may have nothing of the granted scope any more",
        )
        .about(Details::of("scope").sent(granted.as_str()).registered([client.scope.as_str()])));
    }
    Ok(left)
}

/// RFC 6749 6: the requested scope MUST NOT include any that was not granted; if omitted, it is the granted one.
fn narrowed(granted: &Scope, asked: Option<&str>) -> Result<Scope, OAuthError> {
    let Some(text) = asked.filter(|text| !text.is_empty()) else { return Ok(granted.clone()) };
    let asked = Scope::parse(text).map_err(|_| scope::malformed(text))?;
    if granted.covers(&asked) {
        return Ok(asked);
    }
    Err(scope::invalid(Reason::ScopeBeyondGrant, "scope goes beyond what was granted", granted)
        .about(Details::of("scope").sent(text).expected([granted.as_str()])))
}

/// Everything whose end revokes a family; to be checked before it is rotated.
pub fn lineage(family: &Family) -> Lineage {
    Lineage {
        slot: family.grant.slot(),
        tokens: Vec::new(),
        grant: Some(family.grant),
        session: family.bound_to().cloned(),
        user: Some(family.user.clone()),
        client: Some(family.client.clone()),
        grantor: None,
        born: family.grant.at(),
        issued: None,
    }
}

/// The error for a token without a live family. The client is told the same whatever the reason.
pub const fn unknown(reason: Reason) -> OAuthError {
    OAuthError::invalid_grant(reason, "the refresh token is unknown, expired or revoked")
}

/// The tokens for a refresh: an access token with the scope that [`check`] returned, and an ID token if that contains
/// `openid`.
///
/// OpenID Connect Core 12.2: the ID token has the same `iss`, `sub`, `aud` and `auth_time` as the first one, a new
/// `iat`, and no `nonce`.
///
/// `session_lives`: the session in which the family began is alive. The ID token then names it, so that it can serve
/// as a logout hint (RP-Initiated Logout 2).
pub fn issue(context: &Context<'_>, family: &Family, scope: Scope, session_lives: bool) -> IssuePlan {
    let authentication = Authentication {
        user: &family.user,
        auth_time: family.auth_time,
        amr: family.amr,
        acr: Acr::of(family.amr),
        sid: family.sid.as_ref().filter(|_| session_lives),
        nonce: None,
    };
    let id = scope.contains(OPENID).then(|| Box::new(IdToken::new(context, &authentication)));
    let mut access = AccessToken::of_user(context, family.grant.slot(), &family.user, scope);
    access.auth_time = Some(family.auth_time.seconds());
    access.amr = family.amr;
    access.acr = Acr::of(family.amr).map(|acr| SmolStr::new_static(acr.as_str()));
    access.gid = Some(family.grant);
    access.sid = family.bound_to().cloned();
    IssuePlan { access, id, family: None }
}

#[cfg(test)]
mod tests;
