//! The JWT bearer grant (RFC 7521 4.1, RFC 7523 2.1): a trusted issuer says for whom a client may have a token.

use symbolon_crypto::jwk::Jwk;

use super::Context;
use super::access_token::AccessToken;
use super::claim::OneOrMany;
use super::client_credentials::{granted, named};
use super::id_jag;
use crate::client::{Client, GrantType};
use crate::client_authentication::AssertionUse;
use crate::error::{ErrorCode, OAuthError};
use crate::grant::GrantId;
use crate::id::UserId;
use crate::refusal::{Details, Reason, Refusal};
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::trusted_issuer::{Expected, IssuedAssertion, TrustedIssuer, TrustedUse, Vouched, untrusted};

/// Whether an authenticated client may use the grant.
///
/// # Errors
/// `unauthorized_client` for public clients, and without the grant type.
pub fn check_client(client: &Client) -> Result<(), OAuthError> {
    // RFC 7521 4.1 leaves it to the server whether the client authenticates: whoever holds an assertion would else be anybody.
    if client.is_public() {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            Reason::PublicClientRefused,
            "public clients may not use jwt-bearer",
        ));
    }
    match client.may_use(GrantType::JwtBearer) {
        true => Ok(()),
        false => Err(client.refused_grant(GrantType::JwtBearer, "the client may not use jwt-bearer")),
    }
}

/// RFC 7523 3.1: whatever is wrong with the assertion is `invalid_grant`. The client is told no more of it.
pub fn refused(refusal: Refusal) -> OAuthError {
    OAuthError::invalid_grant(refusal.reason, "the assertion is not valid, or names nobody here")
        .because(refusal)
}

/// The refusal of an assertion that cannot be read (RFC 7523 3).
pub fn malformed() -> OAuthError {
    refused(Refusal::about(Reason::AssertionMalformed, Details::of("assertion")))
}

/// As what an assertion is presented: an ID-JAG says so in its header, and is never taken for another assertion.
pub fn purpose(assertion: &IssuedAssertion<'_>) -> TrustedUse {
    match assertion.header().is_type(id_jag::TYP) {
        true => TrustedUse::IdJag,
        false => TrustedUse::JwtBearer,
    }
}

/// The refusal of an assertion of an issuer that is not trusted for this purpose.
pub fn of_stranger(context: &Context<'_>, assertion: &IssuedAssertion<'_>, purpose: TrustedUse) -> Refusal {
    let trusted = context.settings.trusted_issuers.iter().filter(|own| own.is_for(purpose));
    untrusted(assertion.issuer(), trusted.map(|own| own.issuer.as_str()))
}

/// The refusal of an assertion whose subject is nobody here, or may not sign in.
pub fn of_nobody(assertion: &IssuedAssertion<'_>) -> Refusal {
    Refusal::about(Reason::AssertionSubjectUnknown, Details::of("sub").sent(assertion.subject()))
}

/// The refusal of an assertion that was used before (RFC 7523 3, item 7).
pub fn replayed(mark: &AssertionUse) -> Refusal {
    Refusal::about(Reason::AssertionReplayed, Details::of("jti").sent(mark.jti.as_str()))
}

/// Verifies an assertion about a user by these keys of its issuer. Returns the use that must be marked: it counts once.
///
/// # Errors
/// Why it proves nothing, for the operator.
pub fn verify(
    context: &Context<'_>,
    assertion: &IssuedAssertion<'_>,
    purpose: TrustedUse,
    (trusted, keys): (&TrustedIssuer, &[Jwk]),
    token_endpoint: &str,
) -> Result<AssertionUse, Refusal> {
    let expected = Expected {
        trusted,
        purpose,
        issuer: &context.issuer.url,
        token_endpoint: (!context.settings.audience_is_issuer).then_some(token_endpoint),
        now: context.now,
    };
    assertion.verify(keys, &expected).and_then(Vouched::mark)
}

/// The access token for a user whom a verified assertion names, in a grant of its own. No refresh token is issued (RFC 7521 4.1: the
/// client gets another assertion), and no ID token: nobody signed in here.
///
/// # Errors
/// As for client credentials: `invalid_scope` beyond the registered scope; `invalid_request` and `invalid_target` for the audience.
pub fn issue(
    context: &Context<'_>,
    user: &UserId,
    scope: Option<&str>,
    (audience, resource): (&[&str], &[&str]),
) -> Result<Box<AccessToken>, OAuthError> {
    let scope = granted(&context.client.scope, scope, &[OFFLINE_ACCESS])?;
    let aud = named(context, audience, resource)?;
    let mut access = of_new_grant(context, user, scope);
    if let Some(aud) = aud {
        access.aud = aud;
    }
    access.resource = OneOrMany::of(resource.iter().copied());
    Ok(access)
}

/// An access token for a user, in a grant of its own.
pub(super) fn of_new_grant(context: &Context<'_>, user: &UserId, scope: Scope) -> Box<AccessToken> {
    let grant = GrantId::draw(&context.issuer.id, user.as_str(), context.now, context.random);
    let mut access = AccessToken::of_user(context, grant.slot(), user, scope);
    access.gid = Some(grant);
    access
}
