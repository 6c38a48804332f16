//! Which claims about the user the tokens of a grant carry, and which records they are made from.
//!
//! 1. [`RecordsNeeded::by`] says what to load. Where no token carries a claim about the user, it is nothing.
//! 2. The server loads it before the code is redeemed or the refresh token rotated: if the store fails, the client can
//!    repeat its request.
//! 3. [`IssuePlan::release`] puts the claims into the tokens.

use std::sync::Arc;

use super::{Context, IssuePlan};
use crate::scope::{OPENID, Scope};
use crate::settings::IdTokenClaims;
use crate::user::User;
use crate::user_claims::{RequestedClaims, UserClaims};

/// The records from which the claims of a grant's tokens are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsNeeded {
    /// The user's record.
    pub user: bool,
}

impl RecordsNeeded {
    /// What the tokens of a granted scope need.
    pub fn by(context: &Context<'_>, scope: &Scope) -> Self {
        Self { user: in_id_token(context, scope).need_user() }
    }
}

/// The records of a grant's user, as far as they were needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRecords {
    /// The user's record, if there is one.
    pub user: Option<Arc<User>>,
}

/// The claims about the user that a client's ID token carries for a granted scope. OpenID Connect Core 5.4 returns the
/// claims of the scopes from UserInfo wherever an access token is issued; by Core 2 an ID token may carry them too.
fn in_id_token(context: &Context<'_>, scope: &Scope) -> RequestedClaims {
    match context.settings.id_token_claims_for(&context.client.settings) {
        IdTokenClaims::Scopes if scope.contains(OPENID) => RequestedClaims::by(scope),
        IdTokenClaims::Scopes | IdTokenClaims::Minimal => RequestedClaims::default(),
    }
}

impl IssuePlan {
    /// Puts the claims about the user into the tokens, by the scope of the access token and the client's settings.
    pub fn release(&mut self, context: &Context<'_>, records: &UserRecords) {
        let Some(id) = &mut self.id else { return };
        // As UserInfo does, an ID token tells nothing about a user who may no longer sign in.
        let Some(user) = records.user.as_ref().filter(|user| user.may_sign_in()) else { return };
        let requested = in_id_token(context, &self.access.scope);
        if requested.need_user() {
            id.about_user = Some(UserClaims::of(Arc::clone(user), requested));
        }
    }
}

#[cfg(test)]
mod tests;
