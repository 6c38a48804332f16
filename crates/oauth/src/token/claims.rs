//! Loads the records from which the claims about a user are made.

use std::sync::Arc;

use symbolon_protocol::entitlement::Entitlements;
use symbolon_protocol::id::UserId;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::release::RecordsNeeded;
use symbolon_protocol::user::tokens_are_good;
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
    let needed = RecordsNeeded::by(&call.rules(), scope);
    let (store, issuer) = (&call.context.app.store, &call.context.issuer.id);
    let user = if needed.user { store.user(issuer, id).await? } else { None };
    let entitlements = if needed.entitlements { Some(entitlements(call, id).await?) } else { None };
    Ok(UserRecords { user, entitlements })
}

/// The user's groups and roles.
pub(super) async fn entitlements(call: &GrantCall<'_>, id: &UserId) -> Result<Arc<Entitlements>, Failure> {
    Ok(call.context.app.entitlements_to_tell(&call.context.issuer.id, id).await?)
}

/// Puts the roles of its user into an access token, if its scope requests them and the user may sign in.
pub(super) async fn release_roles(call: &GrantCall<'_>, access: &mut AccessToken) -> Result<(), Failure> {
    if let Some(user) = access.needs_roles_of() {
        let (store, issuer) = (&call.context.app.store, &call.context.issuer.id);
        if !tokens_are_good(store.user(issuer, &user).await?.as_deref()) {
            return Ok(());
        }
        let entitlements = entitlements(call, &user).await?;
        access.release_roles(&entitlements);
    }
    Ok(())
}
