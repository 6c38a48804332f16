//! Tokens for what somebody has decided elsewhere: on the page of a device (RFC 8628), or asked by a client (CIBA Core).

use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::token::authorization_code::lineage;
use symbolon_protocol::token::device_code::check;
use symbolon_protocol::token::resource;
use symbolon_store::port::Redemption;
use symbolon_store::{Durable, StoreError};

use super::authorization_code::{granted_details, redeemed};
use super::{GrantCall, GrantResult, claims};
use symbolon_app::http::Failure;

/// What became of the redemption of what was allowed.
pub(super) enum Redeemed {
    /// It was the first.
    Tokens(GrantResult),
    /// It was the first, and what was allowed has ended meanwhile.
    Ended,
    /// It was redeemed before.
    Before,
    /// The store does not have it.
    Unknown,
}

/// Turns what was allowed into tokens. The checks come before `redemption` begins, so that a refusal leaves it usable, as that of an
/// authorization code does.
///
/// # Errors
/// [`Failure`]: the client may have nothing of it any more, or not for this resource or these details; the store is out of reach.
pub(super) async fn redeem(
    call: &GrantCall<'_>,
    allowed: &CodeGrant,
    redemption: impl Future<Output = Result<Redemption, StoreError>>,
    durable: &mut Durable,
) -> Result<Redeemed, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    check(allowed, call.client).map_err(|error| error.of_user(&allowed.user))?;
    let resource: Vec<&str> = call.form.get_all("resource").collect();
    let targets =
        resource::narrowed((&issuer.url, call.settings), call.client, &allowed.resources, &resource)
            .map_err(|error| error.of_user(&allowed.user))?;
    let details = granted_details(call, allowed).map_err(|error| error.of_user(&allowed.user))?;
    let ended = app.store.revoked(&issuer.id, &lineage(allowed)).await?.take(durable);
    let records = claims::records(call, &allowed.user, &allowed.scope).await?;
    call.use_proof(durable).await?;
    Ok(match redemption.await? {
        Redemption::Redeemed if ended => Redeemed::Ended,
        Redemption::Redeemed => {
            Redeemed::Tokens(redeemed(call, (allowed, &targets, details), records, durable).await?)
        }
        Redemption::Replayed => Redeemed::Before,
        Redemption::Unknown => Redeemed::Unknown,
    })
}
