//! Who must bring a second factor: everybody at an issuer or for a client that requires it, and who has a role that demands it.

use symbolon_protocol::client::Client;
use symbolon_protocol::id::UserId;
use symbolon_protocol::settings::SecondFactor;
use symbolon_protocol::sign_in::Policy;

use symbolon_app::http::{Context, Failure};

/// What a sign-in of a user has to prove. `client`: the one that asks for it, if one does.
///
/// # Errors
/// [`Failure`]: the store is out of reach. What cannot be looked up is not waived.
pub(super) async fn policy(
    context: &Context,
    client: Option<&Client>,
    user: &UserId,
) -> Result<Policy, Failure> {
    let settings = context.issuer.settings.load_full();
    let asked = client.map_or(settings.second_factor, |client| settings.second_factor_for(&client.settings));
    let needs_second_factor = asked == SecondFactor::Required || by_role(context, user).await?;
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
