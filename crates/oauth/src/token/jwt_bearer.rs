//! The JWT bearer grant (RFC 7523 2.1).

use symbolon_protocol::authorization_details;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::identity_provider::ProviderKind;
use symbolon_protocol::token::jwt_bearer as rule;
use symbolon_protocol::trusted_issuer::{AssertionSubject, IssuedAssertion, TrustedIssuer, TrustedUse};
use symbolon_store::Durable;
use symbolon_store::port::Use;

use super::{GrantCall, GrantResult, claims};
use crate::client::client_limited;
use symbolon_app::audit::Actor;
use symbolon_app::client_keys;
use symbolon_app::http::Failure;

/// The longest `sub` that is looked up (OpenID Connect Core 2: 255 ASCII characters).
const LONGEST_SUBJECT: usize = 255;

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    rule::check_client(call.client)?;
    let text = call.form.require("assertion")?;
    let assertion = IssuedAssertion::read(text).ok_or_else(rule::malformed)?;
    let found = client_keys::of_issued_assertion(call.context, &assertion, TrustedUse::JwtBearer).await;
    let Some(issued) = found.map_err(rule::refused)? else {
        return Err(rule::of_stranger(&call.rules(), &assertion).into());
    };
    let by = (&issued.trusted, &*issued.keys.keys);
    let mark = rule::verify(&call.rules(), &assertion, by, &issuer.token_endpoint)?;
    let user = user(call, &assertion, &issued.trusted).await?;
    let audience: Vec<&str> = call.form.get_all("audience").collect();
    let resource: Vec<&str> = call.form.get_all("resource").collect();
    let mut access = rule::issue(
        &call.rules(),
        &user,
        call.form.get("scope")?,
        (audience.as_slice(), resource.as_slice()),
    )
    .map_err(|error| error.of_user(&user))?;
    if let Some(asked) = call.form.get(authorization_details::PARAMETER)? {
        let details = authorization_details::requested(Some(asked), call.client, call.settings)
            .map_err(|error| error.of_user(&user))?;
        access.carry(details, &[audience, resource].concat(), call.settings);
    }
    claims::release(call, &mut access).await?;
    call.use_proof(durable).await?;
    // Marks are stored for a while, so each client's number of them is limited, as for its own assertions.
    let client = &call.client.client_id;
    let may_use = app.rate_limits.may_use_assertion(&issuer.id, client, call.now);
    may_use.map_err(|limited| client_limited(limited, call.client))?;
    // RFC 7523 3, item 7: an assertion is used once.
    if app.store.use_assertion(&issuer.id, &mark).await?.take(durable) == Use::Replayed {
        return Err(rule::replayed(&mark).of_user(&user).into());
    }
    app.rate_limits.used_assertion(&issuer.id, client, call.now);
    // Nobody signed in, so this says for whom it was.
    call.context.audit_by(Actor::Client, Event::JwtBearerGranted, Some(&user), Some(client));
    Ok(GrantResult { access, id: None, refresh_token: None, issued_token_type: None })
}

/// The user whom an assertion names: who has the identity of an identity provider with the same issuer, or else, where the setting says so,
/// who has this id.
async fn user(
    call: &GrantCall<'_>,
    assertion: &IssuedAssertion<'_>,
    trusted: &TrustedIssuer,
) -> Result<UserId, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let subject = assertion.subject();
    let nobody = || Failure::from(rule::of_nobody(assertion));
    if subject.len() > LONGEST_SUBJECT {
        return Err(nobody());
    }
    let mut found = None;
    for provider in &call.settings.identity_providers {
        let is_it =
            provider.enabled && provider.kind == ProviderKind::Openid && provider.issuer == trusted.issuer;
        if is_it && found.is_none() {
            found =
                app.store.identity(&issuer.id, &provider.key, subject).await?.map(|identity| identity.user);
        }
    }
    if found.is_none() && trusted.subject == AssertionSubject::UserId {
        found = UserId::parse(subject).ok();
    }
    let Some(id) = found else { return Err(nobody()) };
    let user = app.store.user(&issuer.id, &id).await?;
    match user.is_some_and(|user| user.may_sign_in()) {
        true => Ok(id),
        false => Err(nobody()),
    }
}
