//! The authorization code grant (RFC 6749 4.1.3, RFC 7636 4.5, OpenID Connect Core 3.1.3).

use std::sync::Arc;

use smol_str::{SmolStr, format_smolstr};

use super::access_token::AccessToken;
use super::id_token::{Authentication, IdToken};
use super::refresh_token::still_allowed;
use super::{Context, IssuePlan};
use crate::client::{Client, GrantType};
use crate::code::CodeGrant;
use crate::error::OAuthError;
use crate::family::Family;
use crate::grant::Lineage;
use crate::id::Sid;
use crate::mutual_tls::BOUND_TO_CERTIFICATE;
use crate::pkce::{self, PkcePolicy};
use crate::refusal::{self, Details, Reason};
use crate::scope::{OFFLINE_ACCESS, OPENID, Scope};
use crate::sign_in::acr::Acr;
use crate::time::Timestamp;

/// The parameters that a client sends with a code.
#[derive(Clone, Copy, Debug, Default)]
pub struct PresentedCode<'a> {
    /// `redirect_uri`.
    pub redirect_uri: Option<&'a str>,
    /// `code_verifier`.
    pub code_verifier: Option<&'a str>,
    /// The thumbprint of the key whose possession the request proved.
    pub thumbprint: Option<&'a str>,
}

/// Whether an authenticated client may redeem a code. Call this before the code is redeemed, so that a refusal leaves
/// it usable for its rightful client. Expiry is checked by the redemption instead, because a replay must be
/// recognized even after the code has expired.
///
/// # Errors
/// `invalid_grant` for another client's code, another redirect URI, another key, or a verifier that does not match;
/// `invalid_request` without `redirect_uri`; `unauthorized_client` without the grant type; `invalid_scope` if the
/// client may no longer have any of the scope.
pub fn check(code: &CodeGrant, client: &Client, presented: PresentedCode<'_>) -> Result<(), OAuthError> {
    // RFC 6749 5.2.
    if !client.may_use(GrantType::AuthorizationCode) {
        let grant = GrantType::AuthorizationCode;
        return Err(client.refused_grant(grant, "the client may not use authorization_code"));
    }
    // RFC 6749 4.1.3: the code MUST have been issued to this client.
    if code.client != client.client_id {
        let details = Details::of("client_id").sent(client.client_id.as_str());
        return Err(OAuthError::invalid_grant(
            Reason::CodeOfOtherClient,
            "the code was issued to another client",
        )
        .about(details.expected([code.client.as_str()]).user(&code.user)));
    }
    // RFC 6749 4.1.3, OpenID Connect Core 3.1.3.2: required, because the authorization request contained it, and
    // identical.
    let redirect_uri = presented.redirect_uri.ok_or_else(|| {
        OAuthError::invalid_request(Reason::RedirectUriMissing, "redirect_uri is missing")
            .about(Details::of("redirect_uri").expected([code.redirect_uri.as_str()]).user(&code.user))
    })?;
    if redirect_uri != code.redirect_uri {
        return Err(redirect_uri_other(code, redirect_uri));
    }
    check_verifier(code, client, presented.code_verifier)?;
    check_key(code, presented.thumbprint)?;
    still_allowed(&code.scope, client).map(drop)
}

fn redirect_uri_other(code: &CodeGrant, sent: &str) -> OAuthError {
    let expected = std::slice::from_ref(&code.redirect_uri);
    let (expected, difference) = refusal::closest(expected, sent);
    let details = Details::of("redirect_uri").sent_uri(sent).expected(expected).user(&code.user);
    OAuthError::invalid_grant(
        Reason::CodeRedirectUriOther,
        "redirect_uri is not that of the authorization request",
    )
    .about(details.differing(difference.as_deref()))
}

fn check_verifier(code: &CodeGrant, client: &Client, verifier: Option<&str>) -> Result<(), OAuthError> {
    pkce::verify(code.code_challenge.as_ref(), verifier)?;
    // RFC 9700 2.1.1: public clients MUST use PKCE. The client may have become public since the authorization request,
    // where the policy for confidential clients was applied.
    pkce::check_protected(PkcePolicy::Optional, client.client_type(), code.code_challenge.as_ref(), None)
        .map_err(|_| {
            OAuthError::invalid_grant(Reason::PkceMissing, "public clients must use PKCE")
                .about(Details::of("code_challenge").user(&code.user))
        })
}

/// RFC 9449 10: a code that was requested for a key is redeemed with a proof of that key, and with no other.
fn check_key(code: &CodeGrant, thumbprint: Option<&str>) -> Result<(), OAuthError> {
    match code.dpop_jkt.as_deref() {
        Some(bound) if thumbprint != Some(bound) => {
            let details = Details::of("dpop_jkt").sent(thumbprint.unwrap_or_default()).expected([bound]);
            Err(OAuthError::invalid_grant(Reason::CodeKeyOther, "the code was requested for another key")
                .about(details.user(&code.user)))
        }
        _ => Ok(()),
    }
}

/// Everything whose end revokes a code; to be checked before the code is redeemed.
pub fn lineage(code: &CodeGrant) -> Lineage {
    Lineage {
        slot: code.grant.slot(),
        tokens: Vec::new(),
        grant: Some(code.grant),
        session: code.session().cloned(),
        user: Some(code.user.clone()),
        client: Some(code.client.clone()),
        grantor: None,
        born: code.grant.at(),
        issued: None,
    }
}

/// The tokens for a redeemed code: an access token, an ID token if `openid` was granted (OpenID Connect Core
/// 3.1.3.3), and a family if the client has the grant type `refresh_token`.
///
/// `session_ends` is when the code's session expires. The family expires with it, unless `offline_access` was granted
/// (OpenID Connect Core 11).
pub fn issue(context: &Context<'_>, code: &CodeGrant, session_ends: Timestamp) -> IssuePlan {
    let refreshes = context.client.may_use(GrantType::RefreshToken);
    // The client's registered scope may have been reduced while the person signed in.
    let scope = code.scope.intersection(&context.client.scope);
    let outlives_session = refreshes && scope.contains(OFFLINE_ACCESS);
    let sid = code.session().filter(|_| !outlives_session).cloned();
    let access = access_token(context, code, scope.clone(), sid);
    let id = scope.contains(OPENID).then(|| id_token(context, code));

    let family = refreshes.then(|| {
        let Context { client, now, .. } = *context;
        let lifetimes = context.lifetimes();
        let absolute = now + lifetimes.refresh_token_absolute;
        Arc::new(Family {
            grant: code.grant,
            client: client.client_id.clone(),
            user: code.user.clone(),
            expires_at: if outlives_session { absolute } else { absolute.min(session_ends) },
            // Kept even if the family outlives the session: refreshed ID tokens name the session while it is alive.
            sid: code.session().cloned(),
            scope,
            auth_time: code.auth_time,
            amr: code.amr,
            version: 1,
            created_at: now,
            rotated_at: now,
            idle_expires_at: now + lifetimes.refresh_token_idle,
            binding: binding(context),
            resources: code.resources.clone(),
            authorization_details: code.authorization_details.clone(),
        })
    });
    IssuePlan { access, id, family }
}

/// RFC 9449 5, RFC 8705 4: refresh tokens of public clients are bound. Those of others are bound to the client by its
/// authentication, so that it may change its key or certificate.
fn binding(context: &Context<'_>) -> Option<SmolStr> {
    if !context.client.is_public() {
        return None;
    }
    let of_certificate = |thumbprint: &str| format_smolstr!("{BOUND_TO_CERTIFICATE}{thumbprint}");
    context.jkt.map(SmolStr::new).or_else(|| context.x5t_s256.map(of_certificate))
}

/// An access token for what a person authorized. It ends with the session `sid`, if there is one.
pub(super) fn access_token(
    context: &Context<'_>,
    code: &CodeGrant,
    scope: Scope,
    sid: Option<Sid>,
) -> Box<AccessToken> {
    let mut access = AccessToken::of_user(context, code.grant.slot(), &code.user, scope);
    access.auth_time = Some(code.auth_time.seconds());
    access.amr = code.amr;
    access.acr = acr(code).map(|acr| SmolStr::new_static(acr.as_str()));
    access.gid = Some(code.grant);
    access.sid = sid;
    access
}

/// An ID token about the person who authorized it.
pub(super) fn id_token(context: &Context<'_>, code: &CodeGrant) -> Box<IdToken> {
    let authentication = Authentication {
        user: &code.user,
        auth_time: code.auth_time,
        amr: code.amr,
        acr: acr(code),
        // The ID token names the session even if the grant outlives it, so that logout finds the session.
        sid: code.session(),
        nonce: code.nonce.as_deref(),
    };
    Box::new(IdToken::new(context, &authentication))
}

fn acr(code: &CodeGrant) -> Option<Acr> {
    code.acr.or_else(|| Acr::of(code.amr))
}

#[cfg(test)]
mod tests;
