//! Loads the records from which the claims about a user are made.

use std::sync::Arc;

use symbolon_protocol::claim_definition::ClaimFailure;
use symbolon_protocol::entitlement::Entitlements;
use symbolon_protocol::id::UserId;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::release::{RecordsNeeded, release_to_access_token};
use symbolon_protocol::user_claims::UserRecords;

use super::GrantCall;
use symbolon_app::http::Failure;

/// The records that the tokens of a granted scope need; none are read where no token carries a claim about the user.
/// Call it before the store changes anything: if it fails, the client can repeat its request.
pub(super) async fn records(
    call: &GrantCall<'_>,
    id: &UserId,
    scope: &Scope,
) -> Result<UserRecords, Failure> {
    load(call, id, RecordsNeeded::by(&call.rules(), scope)).await
}

async fn load(call: &GrantCall<'_>, id: &UserId, needed: RecordsNeeded) -> Result<UserRecords, Failure> {
    Ok(call.context.app.user_records(&call.context.issuer.id, id, needed).await?)
}

/// The user's groups and roles.
pub(super) async fn entitlements(call: &GrantCall<'_>, id: &UserId) -> Result<Arc<Entitlements>, Failure> {
    Ok(call.context.app.entitlements_to_tell(&call.context.issuer.id, id).await?)
}

/// Puts the claims about its user into an access token that comes without an ID token.
pub(super) async fn release(call: &GrantCall<'_>, access: &mut AccessToken) -> Result<(), Failure> {
    let rules = call.rules();
    let needed = RecordsNeeded::by_access_token(&rules, access);
    if rules.claims.is_empty() && needed == RecordsNeeded::default() {
        return Ok(());
    }
    let records = match access.user() {
        Some(user) => load(call, &user, needed).await?,
        None => return Ok(()),
    };
    note(call, &release_to_access_token(&rules, access, &records));
    Ok(())
}

/// Counts the claims that failed and were left out.
pub(super) fn note(call: &GrantCall<'_>, failures: &[ClaimFailure]) {
    call.context.app.note_failed_claims(&call.context.issuer, &call.client.client_id, failures);
}
