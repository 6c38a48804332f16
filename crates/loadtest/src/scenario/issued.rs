//! What must be said of the tokens of an answer: of an access token by itself where it is a JWT, by the answer alone
//! where it is opaque; of an ID token always by itself.

use std::sync::{Arc, Mutex, PoisonError};

use super::answer::{Claims, TokenAnswer, expect_eq, expect_scope};
use super::{Right, Wrong};
use crate::clock;
use crate::seed::{AccessToken, Family, Seed, Session, TokenFormat};

/// What answers handed out, for whoever goes on with it.
#[derive(Default)]
pub(crate) struct Issued {
    /// Access tokens of users.
    pub(crate) tokens: Vec<AccessToken>,
    /// Refresh tokens, each of a family that began with it, or that it continues.
    pub(crate) families: Vec<Family>,
    /// Sessions that logins began.
    pub(crate) sessions: Vec<Session>,
}

/// Where a visitor puts it.
pub(crate) type Keep = Arc<Mutex<Issued>>;

/// Puts the tokens of an answer about this user there.
pub(super) fn keep(
    seed: &Seed,
    keep: &Keep,
    answer: &TokenAnswer<'_>,
    user_id: &Arc<str>,
) -> Result<(), Wrong> {
    let expires_at = match seed.access_tokens {
        TokenFormat::Jwt => Claims::of(answer.access_token)?.exp,
        TokenFormat::Opaque => clock::unix_seconds() + answer.expires_in.unwrap_or(0),
    };
    let mut keep = keep.lock().unwrap_or_else(PoisonError::into_inner);
    let (token, user_id) = (answer.access_token.into(), Arc::clone(user_id));
    keep.tokens.push(AccessToken { token, user_id: Arc::clone(&user_id), expires_at });
    if let Some(refresh_token) = answer.refresh_token {
        keep.families.push(Family { refresh_token: refresh_token.into(), user_id });
    }
    Ok(())
}

/// What an access token must be about.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    /// The user; none where the client acts for itself.
    pub(super) user_id: Option<&'a str>,
    /// The scope that was asked for; none where that was left to the provider.
    pub(super) scope: Option<&'a str>,
}

/// An access token for the seed's client, and what the answer says of it (RFC 6749 5.1).
pub(super) fn check_access_token(
    seed: &Seed,
    answer: &TokenAnswer<'_>,
    expected: Expected<'_>,
) -> Result<(), Wrong> {
    if answer.access_token.is_empty() {
        return Err(Wrong::new("access_token", "empty"));
    }
    if answer.expires_in == Some(0) {
        return Err(Wrong::new("expires_in", "a token that has ended"));
    }
    // A provider may leave the scope out where it is the one that was asked for.
    if let (Some(got), Some(scope)) = (answer.scope, expected.scope) {
        expect_scope(got, scope)?;
    }
    match seed.access_tokens {
        TokenFormat::Jwt => check_claims(seed, &Claims::of(answer.access_token)?, expected),
        TokenFormat::Opaque => Ok(()),
    }
}

/// RFC 9068 2.2.
fn check_claims(seed: &Seed, claims: &Claims, expected: Expected<'_>) -> Result<(), Wrong> {
    let client = &*seed.client.id;
    expect_eq("iss", &claims.iss, &seed.target.issuer)?;
    match expected.user_id {
        Some(user_id) => expect_eq("sub", &claims.sub, user_id)?,
        // No user took part: the client is its own subject, named so that it cannot clash with a user's.
        None => expect_eq("sub", claims.sub.strip_prefix("client:").unwrap_or(&claims.sub), client)?,
    }
    expect_eq("client_id", &claims.client_id, client)?;
    expected.scope.map_or(Ok(()), |scope| expect_scope(&claims.scope, scope))
}

/// An ID token about this user, for the seed's client (OpenID Connect Core 1.0, 3.1.3.3 and 12.2). Its claims.
pub(super) fn check_id_token(seed: &Seed, token: &str, user_id: &str) -> Result<Claims, Wrong> {
    let claims = Claims::of(token).map_err(|wrong| Wrong::new("id_token", wrong.detail))?;
    expect_eq("id_token_iss", &claims.iss, &seed.target.issuer)?;
    expect_eq("id_token_sub", &claims.sub, user_id)?;
    if !claims.aud.is(&seed.client.id) {
        return Err(Wrong::new("id_token_aud", format!("{:?}", claims.aud)));
    }
    Ok(claims)
}

/// How many of the tokens the provider had to sign: two dots make a JWS.
pub(super) fn right(seed: &Seed, answer: &TokenAnswer<'_>) -> Right {
    let signed = |token: &str| u32::from(memchr::memchr_iter(b'.', token.as_bytes()).count() == 2);
    let access_token = match seed.access_tokens {
        TokenFormat::Jwt => signed(answer.access_token),
        TokenFormat::Opaque => 0,
    };
    // A refresh token may be a signed one too with other providers.
    let others = answer.id_token.map_or(0, signed) + answer.refresh_token.map_or(0, signed);
    Right { signatures: access_token + others }
}
