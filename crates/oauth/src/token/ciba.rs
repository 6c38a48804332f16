//! The grant of backchannel authentication (CIBA Core 10.1, 11).

use symbolon_protocol::backchannel_authentication::AuthReqId;
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::token::authorization_code::lineage;
use symbolon_protocol::token::ciba as rule;
use symbolon_protocol::token::resource;
use symbolon_store::Durable;
use symbolon_store::port::{Polled, Redemption};

use super::authorization_code::{granted_details, redeemed, replayed};
use super::{GrantCall, GrantResult, claims};
use symbolon_app::http::Failure;

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let id = AuthReqId::new(call.form.require("auth_req_id")?);
    rule::check_client(call.client)?;
    let client = &call.client.client_id;
    match app.store.poll_backchannel_authentication(&issuer.id, client, &id, call.now).await? {
        Polled::Pending => Err(rule::pending().into()),
        Polled::SlowDown => Err(rule::slow_down().into()),
        Polled::Denied(user) => Err(rule::refused(&user).into()),
        Polled::OfOtherClient => Err(rule::of_other_client(call.client).into()),
        Polled::Unknown => Err(rule::unknown(&id).into()),
        Polled::Used(allowed) => used(call, &allowed, durable).await,
        Polled::Allowed(allowed) => redeem(call, (&id, &allowed), durable).await,
    }
}

/// Turns what was allowed into tokens. The checks come before the `auth_req_id` is redeemed, as for an authorization code.
async fn redeem(
    call: &GrantCall<'_>,
    (id, allowed): (&AuthReqId, &CodeGrant),
    durable: &mut Durable,
) -> Result<GrantResult, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    rule::check(allowed, call.client).map_err(|error| error.of_user(&allowed.user))?;
    let resource: Vec<&str> = call.form.get_all("resource").collect();
    let targets =
        resource::narrowed((&issuer.url, call.settings), call.client, &allowed.resources, &resource)
            .map_err(|error| error.of_user(&allowed.user))?;
    let details = granted_details(call, allowed).map_err(|error| error.of_user(&allowed.user))?;
    let ended = app.store.revoked(&issuer.id, &lineage(allowed)).await?.take(durable);
    let records = claims::records(call, &allowed.user, &allowed.scope).await?;
    call.use_proof(durable).await?;
    match app.store.redeem_auth_req_id(&issuer.id, id, call.now).await? {
        Redemption::Redeemed if ended => Err(rule::over(Reason::AuthReqIdRevoked, allowed).into()),
        Redemption::Redeemed => redeemed(call, (allowed, &targets, details), records, durable).await,
        Redemption::Replayed => used(call, allowed, durable).await,
        Redemption::Unknown => Err(rule::unknown(id).into()),
    }
}

/// One that is used a second time is known to somebody else, or its first answer was lost: in either case nobody loses what they use
/// if everything is revoked that was issued for it (RFC 9700 4.2.4, as for authorization codes).
async fn used(
    call: &GrantCall<'_>,
    allowed: &CodeGrant,
    durable: &mut Durable,
) -> Result<GrantResult, Failure> {
    replayed(call, allowed, durable).await?;
    Err(rule::over(Reason::AuthReqIdUsed, allowed).into())
}
