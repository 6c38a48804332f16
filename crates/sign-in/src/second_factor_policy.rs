//! Who must bring a second factor: everybody at an issuer or for a client that requires it, of every request or of those that ask for it,
//! and who has a role that demands it.

use std::sync::Arc;

use symbolon_protocol::client::Client;
use symbolon_protocol::id::UserId;
use symbolon_protocol::sign_in::Policy;
use symbolon_protocol::sign_in::acr::RequestedAcr;

use symbolon_app::http::{Context, Failure};

/// What a sign-in of a user has to prove. `wanted`: the client that asks for it, if one does, and the classes that it asks for.
///
/// # Errors
/// [`Failure`]: the store is out of reach. What cannot be looked up is not waived.
pub(super) async fn policy(
    context: &Context,
    wanted: Option<(&Arc<Client>, RequestedAcr)>,
    user: &UserId,
) -> Result<Policy, Failure> {
    let settings = context.issuer.settings.load_full();
    let is_asked = match wanted {
        Some((client, acr)) => settings.second_factor_for(&client.settings).is_needed(acr),
        None => settings.second_factor.is_needed(RequestedAcr::default()),
    };
    let needs_second_factor = is_asked || by_role(context, user).await?;
    Ok(Policy { needs_second_factor })
}

/// Whether one of a user's roles demands a second factor: of the issuer or of any client, given to the user or to a group.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn by_role(context: &Context, user: &UserId) -> Result<bool, Failure> {
    let settings = context.issuer.settings.load_full();
    let roles = &settings.second_factor_roles;
    if roles.is_empty() {
        return Ok(false);
    }
    let held = context.app.store.entitlements(&context.issuer.id, user).await?;
    Ok(roles.demand(&held))
}
