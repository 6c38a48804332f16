//! Tokens from the authorization endpoint: the implicit and the hybrid flow (OpenID Connect Core 3.2.2.5, 3.3.2.5).
//!
//! They pass through the browser, so they carry as little as they may, and end with the session.

use super::access_token::AccessToken;
use super::authorization_code::{access_token, id_token};
use super::id_token::IdToken;
use super::release::RecordsNeeded;
use super::{Context, IssuePlan};
use crate::claim_definition::ClaimFailure;
use crate::code::CodeGrant;
use crate::response_type::ResponseType;
use crate::scope::OPENID;
use crate::settings::IdTokenClaims;
use crate::user_claims::UserRecords;

/// The tokens that a response type names, before signing.
#[derive(Debug)]
pub struct FrontChannel {
    response_type: ResponseType,
    plan: IssuePlan,
}

/// Which claims about the user the ID token carries. Without an access token the client cannot ask UserInfo, so the ID token
/// carries those of the scopes (OpenID Connect Core 5.4). Beside a code it carries none: the client gets them from the token
/// endpoint, and they need not pass through the browser (3.3.3.6).
fn claims_in_id_token(context: &Context<'_>, response_type: ResponseType) -> IdTokenClaims {
    match (response_type.has_code(), response_type.has_token()) {
        (true, _) => IdTokenClaims::Minimal,
        (false, true) => context.settings.id_token_claims_for(&context.client.settings),
        (false, false) => IdTokenClaims::Scopes,
    }
}

impl FrontChannel {
    /// The tokens for what a person authorized. `authorized` is what the code stands for, if one is issued beside them: they
    /// belong to the same grant, so that a replayed code ends them too.
    #[must_use]
    pub fn issue(context: &Context<'_>, authorized: &CodeGrant, response_type: ResponseType) -> Self {
        let scope = authorized.scope.intersection(&context.client.scope);
        let id =
            (response_type.has_id_token() && scope.contains(OPENID)).then(|| id_token(context, authorized));
        let mut access = access_token(context, authorized, scope, Some(authorized.sid.clone()));
        let resources: Vec<&str> = authorized.resources.iter().map(String::as_str).collect();
        access.limit_to(&resources);
        access.carry(authorized.authorization_details.clone(), &resources, context.settings);
        Self { response_type, plan: IssuePlan { access, id, family: None } }
    }

    /// The records that the claims about the user are made from.
    #[must_use]
    pub fn records_needed(&self, context: &Context<'_>) -> RecordsNeeded {
        let claims = claims_in_id_token(context, self.response_type);
        RecordsNeeded::with(context, &self.plan.access.scope, claims)
    }

    /// Puts the claims about the user into the tokens. Returns the claims that failed and were left out.
    pub fn release(&mut self, context: &Context<'_>, records: UserRecords) -> Vec<ClaimFailure> {
        self.plan.release_with(context, records, claims_in_id_token(context, self.response_type))
    }

    /// The claims of the tokens. The access token is `None` where the response type has none.
    #[must_use]
    pub fn into_tokens(self) -> FrontChannelTokens {
        let IssuePlan { access, id, .. } = self.plan;
        FrontChannelTokens { access: self.response_type.has_token().then_some(access), id }
    }
}

/// The claims of the tokens that the authorization endpoint returns.
#[derive(Debug)]
pub struct FrontChannelTokens {
    /// The access token's.
    pub access: Option<Box<AccessToken>>,
    /// The ID token's; `None` also where the person did not allow `openid`.
    pub id: Option<Box<IdToken>>,
}

#[cfg(test)]
mod tests;
