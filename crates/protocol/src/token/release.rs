//! Which claims about the user the tokens of a grant carry, and which records they are made from.
//!
//! 1. [`RecordsNeeded::by`] says what to load. Where no token carries a claim about the user, it is nothing.
//! 2. The server loads it before the code is redeemed or the refresh token rotated: if the store fails, the client can
//!    repeat its request.
//! 3. [`IssuePlan::release`] puts the claims into the tokens. They tell of the present, at a refresh too: a user who was
//!    taken out of a group is not in it in the next token.

use super::{Context, IssuePlan};
use crate::scope::{OPENID, Scope};
use crate::settings::IdTokenClaims;
use crate::user_claims::{RequestedClaims, UserClaims, UserRecords};

/// The records from which the claims of a grant's tokens are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsNeeded {
    /// The user's record.
    pub user: bool,
    /// The user's groups and roles.
    pub entitlements: bool,
}

impl RecordsNeeded {
    /// What the tokens of a granted scope need.
    pub fn by(context: &Context<'_>, scope: &Scope) -> Self {
        let requested = RequestedClaims::by(scope);
        let in_id_token = in_id_token(context, scope, requested);
        let entitlements = in_id_token.need_entitlements() || requested.roles();
        // The record also says whether the user may sign in: groups and roles are told of nobody who may not.
        Self { user: in_id_token.need_user() || entitlements, entitlements }
    }
}

/// The part of the requested claims that a client's ID token carries. OpenID Connect Core 5.4 returns the claims of the
/// scopes from UserInfo wherever an access token is issued; by Core 2 an ID token may carry them too.
fn in_id_token(context: &Context<'_>, scope: &Scope, requested: RequestedClaims) -> RequestedClaims {
    match context.settings.id_token_claims_for(&context.client.settings) {
        IdTokenClaims::Scopes if scope.contains(OPENID) => {
            requested.and_attributes(&context.settings.attributes, scope)
        }
        IdTokenClaims::Scopes | IdTokenClaims::Minimal => RequestedClaims::default(),
    }
}

impl IssuePlan {
    /// Puts the claims about the user into the tokens, by the scope of the access token and the client's settings. Call
    /// this when the access token has its audience.
    pub fn release(&mut self, context: &Context<'_>, records: UserRecords) {
        // As at UserInfo, nothing is told about a user who may no longer sign in.
        if records.user.as_deref().is_some_and(|user| !user.may_sign_in()) {
            return;
        }
        let scope = &self.access.scope;
        let requested = RequestedClaims::by(scope);
        let in_id_token = in_id_token(context, scope, requested);
        if let Some(entitlements) = records.entitlements.as_deref().filter(|_| requested.roles()) {
            self.access.release_roles(entitlements);
        }
        if let Some(id) = self.id.as_mut().filter(|_| in_id_token != RequestedClaims::default()) {
            let claims = UserClaims::of(records, in_id_token);
            id.about_user = Some(claims.with_attributes(&context.settings.attributes, &self.access.scope));
        }
    }
}

#[cfg(test)]
mod tests;
