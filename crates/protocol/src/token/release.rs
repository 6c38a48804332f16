//! Which claims about the user the tokens of a grant carry, and which records they are made from.
//!
//! 1. [`RecordsNeeded::by`] says what to load. Where no token carries a claim about the user, it is nothing.
//! 2. The server loads it before the code is redeemed or the refresh token rotated: if the store fails, the client can
//!    repeat its request.
//! 3. [`IssuePlan::release`] puts the claims into the tokens. They tell of the present, at a refresh too: a user who was
//!    taken out of a group is not in it in the next token.

use super::access_token::AccessToken;
use super::{Context, IssuePlan};
use crate::claim_definition::{ClaimFailure, ClaimInput, Destination};
use crate::scope::{OPENID, Scope};
use crate::settings::IdTokenClaims;
pub use crate::user_claims::RecordsNeeded;
use crate::user_claims::{RequestedClaims, UserClaims, UserRecords};

impl RecordsNeeded {
    /// What the tokens of a granted scope need.
    pub fn by(context: &Context<'_>, scope: &Scope) -> Self {
        Self::with(context, scope, own_id_token_claims(context))
    }

    /// What the tokens of a granted scope need, where the ID token carries these claims whatever the settings are.
    pub fn with(context: &Context<'_>, scope: &Scope, id_token: IdTokenClaims) -> Self {
        let requested = RequestedClaims::by(scope);
        let in_id_token = in_id_token(context, scope, requested, id_token);
        let needed = Self {
            user: in_id_token.need_user(),
            entitlements: in_id_token.need_entitlements() || requested.roles(),
        };
        if context.claims.is_empty() {
            return needed.and_who_may_sign_in();
        }
        let mut needed = needed.or(context.claims.need(Destination::AccessToken, scope));
        if has_claims_in_id_token(id_token, scope) {
            needed = needed.or(context.claims.need(Destination::IdToken, scope));
        }
        needed.and_who_may_sign_in()
    }

    /// What an access token needs that comes without an ID token.
    pub fn by_access_token(context: &Context<'_>, access: &AccessToken) -> Self {
        let roles = Self { user: false, entitlements: access.needs_roles_of().is_some() };
        roles.or(context.claims.need(Destination::AccessToken, &access.scope)).and_who_may_sign_in()
    }

    /// The record says whether the user may sign in: groups and roles are told of nobody who may not.
    fn and_who_may_sign_in(self) -> Self {
        Self { user: self.user || self.entitlements, ..self }
    }
}

/// Which claims about the user a client's ID tokens carry by the settings. OpenID Connect Core 5.4 returns the claims of the
/// scopes from UserInfo wherever an access token is issued; by Core 2 an ID token may carry them too.
fn own_id_token_claims(context: &Context<'_>) -> IdTokenClaims {
    context.settings.id_token_claims_for(&context.client.settings)
}

/// Whether an ID token carries claims about the user.
fn has_claims_in_id_token(id_token: IdTokenClaims, scope: &Scope) -> bool {
    match id_token {
        IdTokenClaims::Scopes => scope.contains(OPENID),
        IdTokenClaims::Minimal => false,
    }
}

/// The part of the requested claims that an ID token carries.
fn in_id_token(
    context: &Context<'_>,
    scope: &Scope,
    requested: RequestedClaims,
    id_token: IdTokenClaims,
) -> RequestedClaims {
    if !has_claims_in_id_token(id_token, scope) {
        return RequestedClaims::default();
    }
    requested.and_attributes(&context.settings.attributes, scope)
}

/// Puts the claims about the user into an access token that comes without an ID token. Call this when it has its audience.
/// Returns the claims that failed and were left out.
pub fn release_to_access_token(
    context: &Context<'_>,
    access: &mut AccessToken,
    records: &UserRecords,
) -> Vec<ClaimFailure> {
    let mut failures = Vec::new();
    if records.user.as_deref().is_some_and(|user| !user.may_sign_in()) {
        return failures;
    }
    let claims = context.claims;
    let has_roles = access.needs_roles_of().is_some() && !claims.replaced().roles();
    if let Some(entitlements) = records.entitlements.as_deref().filter(|_| has_roles) {
        access.release_roles(entitlements);
    }
    access.defined =
        claims.write(Destination::AccessToken, ClaimInput::for_audience(access, records), &mut failures);
    failures
}

impl IssuePlan {
    /// Puts the claims about the user into the tokens, by the scope of the access token and the client's settings. Call
    /// this when the access token has its audience. Returns the claims that failed and were left out.
    pub fn release(&mut self, context: &Context<'_>, records: UserRecords) -> Vec<ClaimFailure> {
        self.release_with(context, records, own_id_token_claims(context))
    }

    /// Like [`Self::release`], where the ID token carries these claims whatever the settings are.
    pub fn release_with(
        &mut self,
        context: &Context<'_>,
        records: UserRecords,
        id_token: IdTokenClaims,
    ) -> Vec<ClaimFailure> {
        let mut failures = Vec::new();
        // As at UserInfo, nothing is told about a user who may no longer sign in.
        if records.user.as_deref().is_some_and(|user| !user.may_sign_in()) {
            return failures;
        }
        let claims = context.claims;
        let scope = &self.access.scope;
        let requested = RequestedClaims::by(scope);
        let in_id_token = in_id_token(context, scope, requested, id_token);
        let has_claims = has_claims_in_id_token(id_token, scope);
        let has_roles = requested.roles() && !claims.replaced().roles();
        if let Some(entitlements) = records.entitlements.as_deref().filter(|_| has_roles) {
            self.access.release_roles(entitlements);
        }
        if !claims.is_empty() {
            let audience = ClaimInput::for_audience(&self.access, &records);
            self.access.defined = match self.id.as_mut().filter(|_| has_claims) {
                Some(id) => {
                    let client = ClaimInput::for_client(&self.access, &records);
                    let (in_id_token, in_access_token) = claims.write_both(client, audience, &mut failures);
                    id.defined = in_id_token;
                    in_access_token
                }
                None => claims.write(Destination::AccessToken, audience, &mut failures),
            };
        }
        if let Some(id) = self.id.as_mut().filter(|_| in_id_token != RequestedClaims::default()) {
            let about_user = UserClaims::of(records, in_id_token).with_attributes(
                &context.settings.attributes,
                &self.access.scope,
                context.now,
            );
            id.about_user = Some(about_user.without(claims));
        }
        failures
    }
}

#[cfg(test)]
mod tests;
