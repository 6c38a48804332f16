//! The decision of a refresh: from the loaded records to the rotation, and from the rotation's result to the tokens.
//!
//! 1. Load the family, and the records that [`lineage`](super::lineage), [`Family::user`] and [`session_needed`]
//!    name.
//! 2. [`plan`] decides. A refusal changes nothing, because nothing has been rotated yet.
//! 3. The store rotates the family atomically, by [`RefreshPlan::rotation`].
//! 4. [`RefreshPlan::finish`] turns the result into the answer.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::digest::HmacKey;

use super::{PresentedRefreshToken, RefreshToken, check, issue, mint, unknown};
use crate::error::OAuthError;
use crate::event::Event;
use crate::family::{Family, FamilyId, Rotation, RotationRequest};
use crate::id::Sid;
use crate::refusal::{Details, Reason};
use crate::revocation::grant_needed_until;
use crate::scope::{OPENID, Scope};
use crate::session::Session;
use crate::token::{Context, IssuePlan};
use crate::user::{User, tokens_are_good};

/// The records on which a refresh is decided.
#[derive(Clone, Copy)]
pub struct RefreshRecords<'a> {
    /// The family of the presented token.
    pub family: &'a Family,
    /// The version that the presented token is authentic for.
    pub version: u32,
    /// Whether anything in the family's [lineage](super::lineage) has ended.
    pub has_ended: bool,
    /// The family's user, if there is a record.
    pub user: Option<&'a User>,
    /// The session named by [`session_needed`], if it is alive.
    pub session: Option<&'a Session>,
}

/// The session to load for a refresh. It is needed only for the ID token of a grant with `offline_access`, which may
/// have outlived its session. Any other grant ends with its session, which the lineage shows.
pub fn session_needed(family: &Family) -> Option<&Sid> {
    family.sid.as_ref().filter(|_| family.bound_to().is_none() && family.scope.contains(OPENID))
}

/// A refresh that may go on.
#[derive(Clone, Debug)]
pub struct RefreshPlan {
    /// The rotation that the store must carry out.
    pub rotation: RotationRequest,
    scope: Scope,
    session_lives: bool,
}

/// A refresh that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refreshed {
    /// The claims to sign.
    pub tokens: IssuePlan,
    /// The refresh token to return.
    pub refresh_token: RefreshToken,
    /// The event to count.
    pub event: Event,
}

/// A refresh that was refused by the rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The error to return.
    pub error: OAuthError,
    /// The family that was ended because a rotated version was presented again: the caller must record
    /// [`Event::RefreshTokenReused`].
    pub reused: Option<Arc<Family>>,
}

/// Whether an authenticated client may refresh, and by which rotation.
///
/// # Errors
/// Those of [`check`]; `invalid_grant` if something in the family's lineage has ended, or its user may not sign in.
pub fn plan(
    context: &Context<'_>,
    records: &RefreshRecords<'_>,
    presented: PresentedRefreshToken<'_>,
) -> Result<RefreshPlan, OAuthError> {
    let RefreshRecords { family, version, has_ended, user, session } = *records;
    let scope = check(family, context.client, presented, context.now)?;
    if has_ended || !tokens_are_good(user) {
        let reason = if has_ended { Reason::RefreshTokenRevoked } else { Reason::UserDeactivated };
        return Err(unknown(reason).about(Details::of_user(&family.user)));
    }
    let session_lives =
        family.bound_to().is_some() || session.is_some_and(|session| session.user == family.user);
    Ok(RefreshPlan { rotation: rotation(context, family, version), scope, session_lives })
}

/// The rotation of a family for a presented version.
pub(super) fn rotation(context: &Context<'_>, family: &Family, presented: u32) -> RotationRequest {
    let Context { settings, client, now, .. } = *context;
    let own = &client.settings;
    RotationRequest {
        presented,
        now,
        retry_window: own.refresh_retry_window.map_or(settings.refresh_retry_window, Duration::from_secs),
        idle: context.lifetimes().refresh_token_idle,
        // RFC 9700 2.2.2: refresh tokens of public clients MUST be sender-constrained or rotate.
        rotate: client.is_public() || settings.rotates_for(own),
        tombstone_until: grant_needed_until(family, settings, own, now),
    }
}

impl RefreshPlan {
    /// The scope of the new access token.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Turns the result of the rotation into the answer for the client, which presented `text`, a token of the family
    /// `id`.
    ///
    /// # Errors
    /// [`Refused`] with `invalid_grant` for a family that is not live, and for a rotated version, whose grant has
    /// then ended.
    pub fn finish(
        self,
        context: &Context<'_>,
        (text, id): (&str, &FamilyId),
        key: &HmacKey,
        outcome: Rotation,
    ) -> Result<Refreshed, Refused> {
        let (family, event) = match outcome {
            Rotation::Rotated(family) => (family, Event::RefreshTokenRotated),
            Rotation::Retry(family) => (family, Event::RefreshTokenRetried),
            // RFC 9700 4.14.2: it is unknown whether the client or an attacker used the token first, so the family is
            // ended for both.
            Rotation::Reused(family) => {
                let reason = Reason::RefreshTokenReused;
                let error = OAuthError::invalid_grant(reason, "the refresh token was used before")
                    .about(Details::of_user(&family.user));
                return Err(Refused { error, reused: Some(family) });
            }
            Rotation::Unknown => {
                return Err(Refused { error: unknown(Reason::RefreshTokenEnded), reused: None });
            }
        };
        // If the version did not change (rotation is off), the presented token stays live, registered ones too.
        let refresh_token = if family.version == self.rotation.presented {
            RefreshToken::presented(text)
        } else {
            mint(&context.issuer.id, id, family.version, key)
        };
        let tokens = issue(context, &family, self.scope, self.session_lives);
        Ok(Refreshed { tokens, refresh_token, event })
    }
}
