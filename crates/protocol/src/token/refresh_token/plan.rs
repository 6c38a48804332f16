//! The decision of a refresh: from the loaded records to the rotation that the store carries out, and from its outcome to
//! what is signed.
//!
//! 1. Load the family, and what [`lineage`](super::lineage), [`Family::user`] and [`session_needed`] name.
//! 2. [`plan`] decides. A refusal changes nothing, because nothing was rotated yet.
//! 3. The store rotates the family by [`RefreshPlan::rotation`], atomically.
//! 4. [`RefreshPlan::finish`] turns the outcome into the answer.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::digest::HmacKey;

use super::{PresentedRefreshToken, RefreshToken, check, issue, mint, unknown};
use crate::error::OAuthError;
use crate::event::Event;
use crate::family::{Family, FamilyId, Rotation, RotationRequest};
use crate::id::Sid;
use crate::revocation::grant_needed_until;
use crate::scope::{OPENID, Scope};
use crate::session::Session;
use crate::token::{Context, IssuePlan};
use crate::user::{User, tokens_are_good};

/// The records that a refresh is decided on.
#[derive(Clone, Copy)]
pub struct RefreshRecords<'a> {
    /// The family of the presented token.
    pub family: &'a Family,
    /// The version that the presented token is authentic for.
    pub version: u32,
    /// Whether anything of the family's [lineage](super::lineage) has ended.
    pub has_ended: bool,
    /// The family's user, where there is such a record.
    pub user: Option<&'a User>,
    /// The live session of [`session_needed`], where it named one that lives.
    pub session: Option<&'a Session>,
}

/// The session to load for a refresh: only an ID token names it, and only a grant with `offline_access` may have outlived
/// it. Any other grant ends with its session, which its lineage says.
pub fn session_needed(family: &Family) -> Option<&Sid> {
    family.sid.as_ref().filter(|_| family.bound_to().is_none() && family.scope.contains(OPENID))
}

/// What is to be done for a refresh that may go on.
#[derive(Clone, Debug)]
pub struct RefreshPlan {
    /// What the store rotates the family by.
    pub rotation: RotationRequest,
    scope: Scope,
    session_lives: bool,
}

/// A refresh that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refreshed {
    /// What is to be signed.
    pub tokens: IssuePlan,
    /// The refresh token that the client goes on with.
    pub refresh_token: RefreshToken,
    /// What is to be counted.
    pub event: Event,
}

/// A refresh that the store did not carry out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The answer.
    pub error: OAuthError,
    /// The family that was ended because an older version of its token came back: [`Event::RefreshTokenReused`] is to be
    /// told.
    pub reused: Option<Arc<Family>>,
}

/// Decides whether an authenticated client may refresh, and by which rotation.
///
/// # Errors
/// Those of [`check`]; `invalid_grant` where something of the family's lineage has ended, or its user may not sign in.
pub fn plan(
    context: &Context<'_>,
    records: &RefreshRecords<'_>,
    presented: PresentedRefreshToken<'_>,
) -> Result<RefreshPlan, OAuthError> {
    let RefreshRecords { family, version, has_ended, user, session } = *records;
    let scope = check(family, context.client, presented, context.now)?;
    if has_ended || !tokens_are_good(user) {
        return Err(unknown());
    }
    let session_lives =
        family.bound_to().is_some() || session.is_some_and(|session| session.user == family.user);
    Ok(RefreshPlan { rotation: rotation(context, family, version), scope, session_lives })
}

/// The rotation of a family by a version that was presented.
pub(super) fn rotation(context: &Context<'_>, family: &Family, presented: u32) -> RotationRequest {
    let Context { settings, client, now, .. } = *context;
    let own = &client.settings;
    RotationRequest {
        presented,
        now,
        retry_window: own.refresh_retry_window.map_or(settings.refresh_retry_window, Duration::from_secs),
        idle: context.lifetimes().refresh_token_idle,
        // RFC 9700 2.2.2: refresh tokens of public clients MUST be sender-constrained or rotate.
        rotate: client.is_public() || own.refresh_token_rotation.unwrap_or(settings.refresh_token_rotation),
        tombstone_until: grant_needed_until(family, settings, own, now),
    }
}

impl RefreshPlan {
    /// What the rotation's outcome gives the client, who presented `text`, a token of the family `id`.
    ///
    /// # Errors
    /// [`Refused`] with `invalid_grant` for a family that is not live, and for an older version: its grant is ended then.
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
            // RFC 9700 4.14.2: nobody knows who of the two is the thief, so both are cut off.
            Rotation::Reused(family) => {
                let error = OAuthError::invalid_grant("the refresh token was used before");
                return Err(Refused { error, reused: Some(family) });
            }
            Rotation::Unknown => return Err(Refused { error: unknown(), reused: None }),
        };
        // Where the version did not move (rotation off), the presented token stays the live one, registered ones too.
        let refresh_token = if family.version == self.rotation.presented {
            RefreshToken::presented(text)
        } else {
            mint(&context.issuer.id, id, family.version, key)
        };
        let tokens = issue(context, &family, self.scope, self.session_lives);
        Ok(Refreshed { tokens, refresh_token, event })
    }
}
