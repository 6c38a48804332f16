//! The device code grant (RFC 8628 3.4, 3.5).

use symbolon_protocol::code::CodeGrant;
use symbolon_protocol::device_authorization::DeviceCode;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::token::authorization_code::lineage;
use symbolon_protocol::token::device_code as rule;
use symbolon_protocol::token::resource;
use symbolon_store::Durable;
use symbolon_store::port::{Polled, Redemption};

use super::authorization_code::{granted_details, redeemed, replayed};
use super::{GrantCall, GrantResult, claims};
use symbolon_app::http::Failure;

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let code = DeviceCode::new(call.form.require("device_code")?);
    rule::check_client(call.client)?;
    let client = &call.client.client_id;
    match app.store.poll_device_authorization(&issuer.id, client, &code, call.now).await? {
        Polled::Pending => Err(rule::pending().into()),
        Polled::SlowDown => Err(rule::slow_down().into()),
        Polled::Denied(user) => Err(rule::refused(&user).into()),
        Polled::OfOtherClient => Err(rule::of_other_client(call.client).into()),
        Polled::Unknown => Err(rule::unknown(&code).into()),
        Polled::Used(allowed) => used(call, &allowed, durable).await,
        Polled::Allowed(allowed) => redeem(call, (&code, &allowed), durable).await,
    }
}

/// Turns what a person allowed into tokens. The checks come before the code is redeemed, as for an authorization code.
async fn redeem(
    call: &GrantCall<'_>,
    (code, allowed): (&DeviceCode, &CodeGrant),
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
    match app.store.redeem_device_code(&issuer.id, code, call.now).await? {
        Redemption::Redeemed if ended => Err(rule::over(Reason::DeviceCodeRevoked, allowed).into()),
        Redemption::Redeemed => redeemed(call, (allowed, &targets, details), records, durable).await,
        Redemption::Replayed => used(call, allowed, durable).await,
        Redemption::Unknown => Err(rule::unknown(code).into()),
    }
}

/// A code that is used a second time is known to somebody else, or its first answer was lost: in either case nobody
/// loses what they use if everything is revoked that was issued for it (RFC 9700 4.2.4, as for authorization codes).
async fn used(
    call: &GrantCall<'_>,
    allowed: &CodeGrant,
    durable: &mut Durable,
) -> Result<GrantResult, Failure> {
    replayed(call, allowed, durable).await?;
    Err(rule::over(Reason::DeviceCodeUsed, allowed).into())
}
