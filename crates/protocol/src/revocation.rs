//! Tombstones: durable marks of what ended early.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::OAuthError;
use crate::family::Family;
use crate::grant::{GrantId, Slot, remembered_browsers};
use crate::id::{ClientId, IssuerId, Jti, Sid, UserId};
use crate::refusal::{Details, Reason};
use crate::session::Session;
use crate::settings::{ClientOverrides, IssuerSettings};
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;

/// What a tombstone revokes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// One token, and the tokens that were exchanged from it.
    Token(Jti),
    /// Every token of one grant, and its refresh-token family.
    Grant(GrantId),
    /// Every token that is bound to one session and was created up to [`Tombstone::not_before`].
    Session(Sid),
    /// Every token of a user that was created up to [`Tombstone::not_before`].
    User(UserId),
    /// Every token issued to a client up to [`Tombstone::not_before`].
    Client(ClientId),
    /// Every token of the issuer that was created up to [`Tombstone::not_before`].
    Issuer,
    /// Every token created up to [`Tombstone::not_before`] that rests on a user's consent to a client, including
    /// tokens that other clients got for one of these by token exchange. The user is named as in the lineage.
    Consent(UserId, ClientId),
}

/// A durable mark that something ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// What ended.
    pub target: Target,
    /// The slot in which it is stored; without meaning for client and issuer, which are stored in every slot.
    pub slot: u16,
    /// What was created in this millisecond or before is revoked. Without meaning for a token or a grant.
    pub not_before: Timestamp,
    /// Until when it must be kept: the expiry of the longest-lived token that it revokes.
    pub expires_at: Timestamp,
}

impl Tombstone {
    /// A tombstone for one token, kept until the token's own `exp`.
    pub fn token(jti: Jti, slot: Slot, expires_at: Timestamp) -> Self {
        Self { target: Target::Token(jti), slot: slot.number(), not_before: Timestamp::FOREVER, expires_at }
    }

    /// A tombstone for a grant, kept as long as its longest token may live.
    pub fn grant(grant: GrantId, expires_at: Timestamp) -> Self {
        let slot = grant.slot().number();
        Self { target: Target::Grant(grant), slot, not_before: Timestamp::FOREVER, expires_at }
    }

    /// A tombstone for what was created up to now: of a session, a user, a consent, a client or the issuer.
    pub fn up_to(target: Target, slot: Slot, now: Timestamp, expires_at: Timestamp) -> Self {
        Self { target, slot: slot.number(), not_before: now, expires_at }
    }

    /// A tombstone for everything bound to a session of a user. A `sid` is never used again, so this has no
    /// not-before limit: it also revokes a code that is issued while the session ends.
    pub fn session(issuer: &IssuerId, sid: Sid, user: &UserId, now: Timestamp, longest: Duration) -> Self {
        let slot = Slot::of(issuer, user.as_str());
        Self { not_before: Timestamp::FOREVER, ..Self::up_to(Target::Session(sid), slot, now, now + longest) }
    }

    /// The tombstones for everything bound to a session: one for its own `sid`, and one for each of its predecessors.
    pub fn of_session(issuer: &IssuerId, session: &Session, now: Timestamp, longest: Duration) -> Vec<Self> {
        session.sids().map(|sid| Self::session(issuer, sid.clone(), &session.user, now, longest)).collect()
    }

    /// A tombstone for everything of a user.
    pub fn user(issuer: &IssuerId, user: UserId, now: Timestamp, longest: Duration) -> Self {
        let slot = Slot::of(issuer, user.as_str());
        Self::up_to(Target::User(user), slot, now, now + longest)
    }

    /// A tombstone for everything that rests on a user's consent to a client. Stored in the user's slot, as their
    /// grants are.
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

    /// A tombstone for the browsers that stand in for a user's second factor, and for nothing else: what a user allows the
    /// sign-in page to remember ends as what they allow a client does.
    pub fn remembered_browsers(issuer: &IssuerId, user: UserId, now: Timestamp) -> Self {
        Self::consent(issuer, user, remembered_browsers(), now, KEPT_AT_LEAST)
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

/// What ends together with a session, in one store operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// Everything bound to the session or its predecessors. Grants with `offline_access` continue.
    WithTokens {
        /// The current time.
        now: Timestamp,
        /// The longest lifetime of anything bound to it.
        longest: Duration,
    },
    /// Only its id: another session of the same user [takes its place](Session::succeed).
    Succeeded {
        /// Revokes what is bound to an earlier session for which the new one has no room as a predecessor.
        dropped: Option<Tombstone>,
    },
}

impl SessionEnd {
    /// The tombstones to write when the session is removed. All of them are in its user's slot.
    pub fn tombstones(&self, issuer: &IssuerId, session: &Session) -> Vec<Tombstone> {
        match self {
            Self::WithTokens { now, longest } => Tombstone::of_session(issuer, session, *now, *longest),
            Self::Succeeded { dropped } => dropped.iter().cloned().collect(),
        }
    }
}

/// The shortest time for which a tombstone is kept. Access tokens never live longer than this, not even those that an
/// administrator requests, and no browser is remembered for longer.
pub const KEPT_AT_LEAST: Duration = Duration::from_secs(31 * 86_400);

/// The longest lifetime of anything issued now, by the issuer's settings and one client's overrides.
pub fn life_of(settings: &IssuerSettings, overrides: &ClientOverrides) -> Duration {
    let lifetimes = settings.lifetimes_for(overrides);
    // The last access token of a family may outlive the family. Families bound to a session end with it.
    lifetimes.refresh_token_absolute.max(lifetimes.session) + lifetimes.access_token.max(lifetimes.code)
}

/// The longest lifetime of anything of a session, a user, a client or the issuer, which is how long tombstones must
/// be kept. Considers the issuer's settings, earlier settings under which tokens may still be alive, and the clients'
/// overrides.
pub fn longest_life<'a>(
    settings: &IssuerSettings,
    clients: impl IntoIterator<Item = &'a ClientOverrides>,
) -> Duration {
    let own = life_of(settings, &ClientOverrides::default());
    let own = own.max(KEPT_AT_LEAST).max(settings.outlived_life());
    clients.into_iter().map(|overrides| life_of(settings, overrides)).fold(own, Duration::max)
}

/// Until when the tombstone of a family's grant must be kept. A store that lost writes may bring the family back, and
/// the family's access tokens stay alive after it.
pub fn grant_needed_until(
    family: &Family,
    settings: &IssuerSettings,
    overrides: &ClientOverrides,
    now: Timestamp,
) -> Timestamp {
    let access_token = settings.lifetimes_for(overrides).access_token;
    (family.expires_at.max(now) + access_token).max(now + settings.outlived_life().max(KEPT_AT_LEAST))
}

/// RFC 7009 2.1: a token can be revoked only by the client that it was issued to. For other clients the request is
/// refused with an error of RFC 6749 5.2 (2.2.1), and the token stays valid.
fn check_owner(owner: &ClientId, caller: &ClientId) -> Result<(), OAuthError> {
    if owner == caller {
        return Ok(());
    }
    let details = Details::of("client_id").sent(caller.as_str()).expected([owner.as_str()]).client(caller);
    Err(OAuthError::invalid_grant(Reason::TokenOfOtherClient, "the token was issued to another client")
        .about(details))
}

/// The tombstone that revokes an access token (RFC 7009 2.1); `None` if it has expired. Its signature was verified
/// before.
///
/// # Errors
/// `invalid_grant` if the token was issued to another client.
pub fn of_access_token(
    issuer: &IssuerId,
    token: &AccessToken,
    caller: &ClientId,
    now: Timestamp,
) -> Result<Option<Tombstone>, OAuthError> {
    check_owner(&token.client_id, caller)?;
    let live = now < token.expires_at();
    // Tokens exchanged from it expire no later, and name it in their lineage, so this tombstone revokes them too.
    Ok(live.then(|| Tombstone::token(token.jti.clone(), token.slot(issuer), token.expires_at())))
}

/// The tombstone to write besides ending the family when a refresh token is revoked. It is for the grant, because the
/// grant's access tokens must end too (RFC 7009 2.1). Any version of the family that the client once held will do.
///
/// # Errors
/// `invalid_grant` if the token was issued to another client.
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

/// The tombstone for a replayed code: ends its grant, the family and all access tokens (RFC 6749 4.1.2, RFC 9700
/// 4.5).
pub fn of_replayed_code(grant: GrantId, now: Timestamp, longest: Duration) -> Tombstone {
    Tombstone::grant(grant, now + longest)
}

#[cfg(test)]
mod tests;
