//! The refresh grant (RFC 6749 6).

use symbolon_crypto::jws::Compact;
use symbolon_protocol::authorization_details;
use symbolon_protocol::event::Event;
use symbolon_protocol::family::{Family, FamilyId};
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::token::refresh_token::{
    self as rule, PresentedRefreshToken, RefreshPlan, RefreshRecords, Refreshed, Refused, RegisteredToken,
};
use symbolon_protocol::token::release::RecordsNeeded;
use symbolon_protocol::token::{IssuePlan, resource};
use symbolon_protocol::user_claims::UserRecords;
use symbolon_store::Durable;

use super::{GrantCall, GrantResult, claims};
use symbolon_app::audit::Actor;
use symbolon_app::http::{Context, Failure};

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let (context, form) = (call.context, call.form);
    let (app, issuer) = (&context.app, &context.issuer);
    let text = form.require("refresh_token")?;
    let (id, version) = family_of(context, text).ok_or_else(|| rule::unknown(Reason::RefreshTokenNotOurs))?;
    let family = app.store.family(&issuer.id, &id).await?.take(durable);
    let family = family.ok_or_else(|| rule::unknown(Reason::RefreshTokenEnded))?;
    let (plan, records) = plan(call, &family, version, durable).await?;
    let resource: Vec<&str> = form.get_all("resource").collect();
    let targets = resource::narrowed((&issuer.url, call.settings), call.client, &family.resources, &resource)
        .map_err(|error| error.of_user(&family.user))?;
    // RFC 9396 6: narrowed as the scope is; the family keeps all that was granted.
    let asked = form.get(authorization_details::PARAMETER)?;
    let granted = &family.authorization_details;
    let details = authorization_details::narrowed(granted, asked, call.client, call.settings)
        .map_err(|error| error.of_user(&family.user))?;
    call.use_proof(durable).await?;
    let outcome = app.store.rotate(&issuer.id, &id, &plan.rotation).await?.take(durable);
    match plan.finish(&call.rules(), (text, &id), &issuer.refresh_token_key, outcome) {
        Ok(Refreshed { mut tokens, refresh_token, event }) => {
            tokens.access.limit_to(&targets);
            tokens.access.carry(details, &targets, call.settings);
            claims::note(call, &tokens.release(&call.rules(), records));
            app.audit.count(event);
            let IssuePlan { access, id, .. } = tokens;
            Ok(GrantResult { access, id, refresh_token: Some(refresh_token), issued_token_type: None })
        }
        Err(Refused { error, reused }) => {
            if let Some(family) = reused {
                let (user, client) = (Some(&family.user), Some(&family.client));
                context.audit_by(Actor::Client, Event::RefreshTokenReused, user, client);
                app.tell_of_theft(issuer, &family).await;
            }
            Err(error.of_user(&family.user).into())
        }
    }
}

/// Loads the records that the rule and the claims need, and calls the rule.
async fn plan(
    call: &GrantCall<'_>,
    family: &Family,
    version: u32,
    durable: &mut Durable,
) -> Result<(RefreshPlan, UserRecords), Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let scope = call.form.get("scope")?;
    let presented =
        PresentedRefreshToken { scope, thumbprint: call.thumbprint(), certificate: call.certificate };
    let has_ended = app.store.revoked(&issuer.id, &rule::lineage(family)).await?.take(durable);
    let session = match rule::session_needed(family) {
        Some(sid) => app.store.session_by_sid(&issuer.id, sid.as_str(), call.now).await?.take(durable),
        None => None,
    };
    let user = app.store.user(&issuer.id, &family.user).await?;
    let session = session.as_ref().map(|found| &*found.session);
    let records = RefreshRecords { family, version, has_ended, user: user.as_deref(), session };
    let plan = rule::plan(&call.rules(), &records, presented).map_err(|error| error.of_user(&family.user))?;
    let needed = RecordsNeeded::by(&call.rules(), plan.scope());
    let entitlements = match needed.entitlements {
        true => Some(claims::entitlements(call, &family.user).await?),
        false => None,
    };
    Ok((plan, UserRecords { user, entitlements }))
}

/// The family and version of an authentic refresh token: one that this server made, or a JWT that was registered
/// through the admin API.
pub(crate) fn family_of(context: &Context, text: &str) -> Option<(FamilyId, u32)> {
    let issuer = &context.issuer;
    if text.starts_with("rt_") {
        return rule::parse_and_authenticate(&issuer.id, text, &issuer.refresh_token_key);
    }
    let jws = Compact::parse(text).ok()?;
    let keys = issuer.keys.load();
    let payload = jws.verified_payload(keys.verifying(jws.header().kid.as_deref()?)?).ok()?;
    let token = RegisteredToken::parse(&payload)?;
    token.presented(jws.header(), &issuer.id, &issuer.url, context.app.now())
}
