//! Tombstones: what ended before its time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::OAuthError;
use crate::family::Family;
use crate::grant::{GrantId, Slot};
use crate::id::{ClientId, IssuerId, Jti, Sid, UserId};
use crate::session::Session;
use crate::settings::{ClientOverrides, IssuerSettings};
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;

/// What a tombstone ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// One token and what was exchanged from it.
    Token(Jti),
    /// Every token of one grant, and its refresh-token family.
    Grant(GrantId),
    /// Every token bound to one session and born up to [`Tombstone::not_before`].
    Session(Sid),
    /// Every token of a user born up to [`Tombstone::not_before`].
    User(UserId),
    /// Every token issued to a client and born up to [`Tombstone::not_before`].
    Client(ClientId),
    /// Every token of the issuer born up to [`Tombstone::not_before`].
    Issuer,
    /// Every token of what a user allowed a client, born up to [`Tombstone::not_before`]; what others got for one of
    /// them by token exchange too. The user is named as the lineage names them.
    Consent(UserId, ClientId),
}

/// A durable mark that something ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// What ended.
    pub target: Target,
    /// Where it lives; of no meaning for client and issuer, which live in every slot.
    pub slot: u16,
    /// What was born at this millisecond or before is ended. For a token or a grant: of no meaning.
    pub not_before: Timestamp,
    /// Until when it is needed: the end of the longest-lived token that it ends.
    pub expires_at: Timestamp,
}

impl Tombstone {
    /// A tombstone for one token, needed until the token's own `exp`.
    pub fn token(jti: Jti, slot: Slot, expires_at: Timestamp) -> Self {
        Self { target: Target::Token(jti), slot: slot.number(), not_before: Timestamp::FOREVER, expires_at }
    }

    /// A tombstone for a grant, needed as long as its longest token may live.
    pub fn grant(grant: GrantId, expires_at: Timestamp) -> Self {
        let slot = grant.slot().number();
        Self { target: Target::Grant(grant), slot, not_before: Timestamp::FOREVER, expires_at }
    }

    /// A tombstone that ends what was born up to now: a session, a user, a consent, a client or the issuer.
    pub fn up_to(target: Target, slot: Slot, now: Timestamp, expires_at: Timestamp) -> Self {
        Self { target, slot: slot.number(), not_before: now, expires_at }
    }

    /// A tombstone for everything bound to a session of a user. A session's name never comes back, so it also ends a
    /// code that is drawn while the session ends.
    pub fn session(issuer: &IssuerId, sid: Sid, user: &UserId, now: Timestamp, longest: Duration) -> Self {
        let slot = Slot::of(issuer, user.as_str());
        Self { not_before: Timestamp::FOREVER, ..Self::up_to(Target::Session(sid), slot, now, now + longest) }
    }

    /// The tombstones for everything bound to a session: its own, and those of the sessions that it stands for.
    pub fn of_session(issuer: &IssuerId, session: &Session, now: Timestamp, longest: Duration) -> Vec<Self> {
        session.sids().map(|sid| Self::session(issuer, sid.clone(), &session.user, now, longest)).collect()
    }

    /// A tombstone for everything of a user.
    pub fn user(issuer: &IssuerId, user: UserId, now: Timestamp, longest: Duration) -> Self {
        let slot = Slot::of(issuer, user.as_str());
        Self::up_to(Target::User(user), slot, now, now + longest)
    }

    /// A tombstone for everything that a user allowed a client. It lives in the user's slot, as their grants do.
    pub fn consent(
        issuer: &IssuerId,
        user: UserId,
        client: ClientId,
        now: Timestamp,
        longest: Duration,
    ) -> Self {
        let slot = Slot::of(issuer, user.as_str());
        Self::up_to(Target::Consent(user, client), slot, now, now + longest)
    }

    /// A tombstone for everything issued to a client.
    pub fn client(issuer: &IssuerId, client: ClientId, now: Timestamp, longest: Duration) -> Self {
        let slot = Slot::of(issuer, client.as_str());
        Self::up_to(Target::Client(client), slot, now, now + longest)
    }

    /// A tombstone for everything of the issuer.
    pub fn issuer(now: Timestamp, longest: Duration) -> Self {
        Self::up_to(Target::Issuer, Slot::new(0), now, now + longest)
    }
}

/// What ends together with a session, in one operation of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// Everything bound to it or to a session that it stands for. Grants with `offline_access` live on.
    WithTokens {
        /// Now.
        now: Timestamp,
        /// How long anything bound to it may live.
        longest: Duration,
    },
    /// Only its id: another session of the same user [stands for it](Session::succeed) from now on.
    Succeeded {
        /// Ends what hangs on an earlier session that the other one cannot stand for any more.
        dropped: Option<Tombstone>,
    },
}

impl SessionEnd {
    /// The tombstones to write with the session's removal. All of them are in its user's slot.
    pub fn tombstones(&self, issuer: &IssuerId, session: &Session) -> Vec<Tombstone> {
        match self {
            Self::WithTokens { now, longest } => Tombstone::of_session(issuer, session, *now, *longest),
            Self::Succeeded { dropped } => dropped.iter().cloned().collect(),
        }
    }
}

/// How long a tombstone is kept at least: no issuer's access tokens live longer than this, nor do those that an
/// administrator asks for.
pub const KEPT_AT_LEAST: Duration = Duration::from_secs(31 * 86_400);

/// The longest that anything may live that is issued now, by the issuer's settings and what one client sets differently.
pub fn life_of(settings: &IssuerSettings, overrides: &ClientOverrides) -> Duration {
    let lifetimes = settings.lifetimes_for(overrides);
    // A family's last access token lives on behind it; a session ends families that are bound to it.
    lifetimes.refresh_token_absolute.max(lifetimes.session) + lifetimes.access_token.max(lifetimes.code)
}

/// The longest that anything of a session, a user, a client or the issuer may live: what their tombstones need. It looks
/// at the issuer's settings, those of before that something outlives, and at what clients set differently.
pub fn longest_life<'a>(
    settings: &IssuerSettings,
    clients: impl IntoIterator<Item = &'a ClientOverrides>,
) -> Duration {
    let own = life_of(settings, &ClientOverrides::default());
    let own = own.max(KEPT_AT_LEAST).max(settings.outlived_life());
    clients.into_iter().map(|overrides| life_of(settings, overrides)).fold(own, Duration::max)
}

/// Until when the tombstone of a family's grant is needed: the family itself may come back from a store that went
/// backwards, and its access tokens live on.
pub fn grant_needed_until(
    family: &Family,
    settings: &IssuerSettings,
    overrides: &ClientOverrides,
    now: Timestamp,
) -> Timestamp {
    let access_token = settings.lifetimes_for(overrides).access_token;
    (family.expires_at.max(now) + access_token).max(now + settings.outlived_life().max(KEPT_AT_LEAST))
}

/// RFC 7009 2.1: a token is revoked by the client that it was issued to; the request is refused otherwise, the client
/// is told by an error of RFC 6749 5.2 (2.2.1), and the token lives on.
fn check_owner(owner: &ClientId, caller: &ClientId) -> Result<(), OAuthError> {
    if owner == caller {
        return Ok(());
    }
    Err(OAuthError::invalid_grant("the token was issued to another client"))
}

/// What revoking an access token takes (RFC 7009 2.1); nothing where its time is over. Its signature was checked.
///
/// # Errors
/// `invalid_grant` for another client's token.
pub fn of_access_token(
    issuer: &IssuerId,
    token: &AccessToken,
    caller: &ClientId,
    now: Timestamp,
) -> Result<Option<Tombstone>, OAuthError> {
    check_owner(&token.client_id, caller)?;
    let live = now < token.expires_at();
    // What was exchanged from it ends with it or before, and names it.
    Ok(live.then(|| Tombstone::token(token.jti.clone(), token.slot(issuer), token.expires_at())))
}

/// What revoking a refresh token takes beside the end of its family: its grant's tombstone, since the access tokens of
/// the same grant are to end with it (RFC 7009 2.1). Any version of a family that the client once held ends it.
///
/// # Errors
/// `invalid_grant` for another client's token.
pub fn of_refresh_token(
    family: &Family,
    caller: &Client,
    settings: &IssuerSettings,
    now: Timestamp,
) -> Result<Tombstone, OAuthError> {
    check_owner(&family.client, &caller.client_id)?;
    let until = grant_needed_until(family, settings, &caller.settings, now);
    Ok(Tombstone::grant(family.grant, until))
}

/// What a replayed code takes: the end of its grant, the family and every access token (RFC 6749 4.1.2, RFC 9700 4.5).
pub fn of_replayed_code(grant: GrantId, now: Timestamp, longest: Duration) -> Tombstone {
    Tombstone::grant(grant, now + longest)
}

#[cfg(test)]
mod tests;
