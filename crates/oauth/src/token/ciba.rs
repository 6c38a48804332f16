//! The grant of backchannel authentication (CIBA Core 10.1, 11).

use symbolon_protocol::backchannel_authentication::AuthReqId;
use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::token::ciba as rule;
use symbolon_store::Durable;
use symbolon_store::port::Polled;

use super::authorization_code::replayed;
use super::decided::{self, Redeemed};
use super::{GrantCall, GrantResult};
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

async fn redeem(
    call: &GrantCall<'_>,
    (id, allowed): (&AuthReqId, &CodeGrant),
    durable: &mut Durable,
) -> Result<GrantResult, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let redemption = app.store.redeem_auth_req_id(&issuer.id, id, call.now);
    match decided::redeem(call, allowed, redemption, durable).await? {
        Redeemed::Tokens(tokens) => Ok(tokens),
        Redeemed::Ended => Err(rule::over(Reason::AuthReqIdRevoked, allowed).into()),
        Redeemed::Before => used(call, allowed, durable).await,
        Redeemed::Unknown => Err(rule::unknown(id).into()),
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
