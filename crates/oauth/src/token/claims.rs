//! Loads the records from which the claims about a user are made.

use symbolon_protocol::id::UserId;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::token::release::{RecordsNeeded, UserRecords};

use super::GrantCall;
use symbolon_app::http::Failure;

/// The records that the tokens of a granted scope need; none are read where no token carries a claim about the user.
/// Call it before the store changes anything: if it fails, the client can repeat its request.
pub(super) async fn records(
    call: &GrantCall<'_>,
    user: &UserId,
    scope: &Scope,
) -> Result<UserRecords, Failure> {
    let needed = RecordsNeeded::by(&call.rules(), scope);
    let (store, issuer) = (&call.context.app.store, &call.context.issuer.id);
    let user = if needed.user { store.user(issuer, user).await? } else { None };
    Ok(UserRecords { user })
}
