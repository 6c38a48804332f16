//! The refresh grant (RFC 6749 6).

use symbolon_crypto::jws::Compact;
use symbolon_protocol::event::Event;
use symbolon_protocol::family::{Family, FamilyId, Rotation};
use symbolon_protocol::scope::{OPENID, Scope};
use symbolon_protocol::token::IssuePlan;
use symbolon_protocol::token::refresh_token::{self as rule, Presented, RefreshToken, RegisteredToken};
use symbolon_store::Durable;

use super::{Granted, Granting};
use crate::audit::Actor;
use crate::http::{Context, Failure};

pub(super) async fn grant(granting: &Granting<'_>, durable: &mut Durable) -> Result<Granted, Failure> {
    let (context, form) = (granting.context, granting.form);
    let (app, issuer) = (&context.app, &context.issuer);
    let text = form.require("refresh_token")?;
    let (id, version) = family_of(context, text).ok_or(rule::unknown())?;
    let family = app.store.family(&issuer.id, &id).await?.take(durable).ok_or(rule::unknown())?;
    let presented = Presented { scope: form.get("scope")?, thumbprint: None };
    let scope = rule::check(&family, granting.client, presented, granting.now)?;
    if app.store.revoked(&issuer.id, &rule::lineage(&family)).await?.take(durable) {
        return Err(rule::unknown().into());
    }
    let user = app.store.user(&issuer.id, &family.user).await?;
    if user.is_some_and(|user| !user.active) {
        return Err(rule::unknown().into());
    }
    let request = rule::rotation(&granting.rules(), &family, version);
    let outcome = app.store.rotate(&issuer.id, &id, &request).await?.take(durable);
    if let Rotation::Reused(family) = &outcome {
        context.audit_by(Actor::Client, Event::RefreshTokenReused, Some(&family.user), Some(&family.client));
        return Err(rule::refreshed(outcome).err().unwrap_or(rule::unknown()).into());
    }
    let refreshed = rule::refreshed(outcome)?;
    app.audit.count(refreshed.event);
    let session_lives = session_lives(context, &refreshed.family, &scope, durable).await?;
    let plan = rule::issue(&granting.rules(), &refreshed.family, scope, session_lives);
    // Where the version did not move (rotation off), the presented token stays the live one, registered ones too.
    let live = if refreshed.family.version == version {
        RefreshToken::presented(text)
    } else {
        rule::mint(&issuer.id, &id, refreshed.family.version, &issuer.refresh_token_key)
    };
    let IssuePlan { access, id, .. } = plan;
    Ok(Granted { access, id, refresh_token: Some(live), issued_token_type: None })
}

/// Whether the session lives that a family began in. One that ends with its session was refused already where that has
/// ended; for others it is asked only where an ID token is due, which alone would name it.
async fn session_lives(
    context: &Context,
    family: &Family,
    scope: &Scope,
    durable: &mut Durable,
) -> Result<bool, Failure> {
    let Some(sid) = &family.sid else { return Ok(false) };
    if family.bound_to().is_some() || !scope.contains(OPENID) {
        return Ok(true);
    }
    let (app, issuer) = (&context.app, &context.issuer);
    let found = app.store.session_by_sid(&issuer.id, sid.as_str(), app.now()).await?.take(durable);
    Ok(found.is_some_and(|found| found.session.user == family.user))
}

/// The family and version that a text is authentic for: a token of ours, or a registered JWT.
pub(in crate::endpoints) fn family_of(context: &Context, text: &str) -> Option<(FamilyId, u32)> {
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
