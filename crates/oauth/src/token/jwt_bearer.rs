//! The JWT bearer grant (RFC 7523 2.1).

use symbolon_protocol::authorization_details;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::identity_provider::ProviderKind;
use symbolon_protocol::refusal::Refusal;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::{id_jag, jwt_bearer as rule};
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
    rule::check_client(call.client)?;
    let text = call.form.require("assertion")?;
    let assertion = IssuedAssertion::read(text).ok_or_else(rule::malformed)?;
    let purpose = rule::purpose(&assertion);
    let (user, mark) = vouched(call, &assertion, purpose, rule::refused).await?;
    let mut access = match purpose {
        TrustedUse::IdJag => by_id_jag(call, &assertion, &user),
        _ => by_assertion(call, &user),
    }
    .map_err(|error| error.of_user(&user))?;
    claims::release(call, &mut access).await?;
    call.use_proof(durable).await?;
    // RFC 7523 3, item 7: an assertion is used once.
    if !use_once(call, &mark, durable).await? {
        return Err(rule::refused(rule::replayed(&mark)).of_user(&user).into());
    }
    // Nobody signed in, so this says for whom it was.
    let client = Some(&call.client.client_id);
    call.context.audit_by(Actor::Client, Event::JwtBearerGranted, Some(&user), client);
    Ok(GrantResult { access, id: None, refresh_token: None, issued_token_type: None })
}

/// The access token by an assertion that says no more than whom it is about.
fn by_assertion(call: &GrantCall<'_>, user: &UserId) -> Result<Box<AccessToken>, OAuthError> {
    let form = call.form;
    let audience: Vec<&str> = form.get_all("audience").collect();
    let resource: Vec<&str> = form.get_all("resource").collect();
    let targets = (audience.as_slice(), resource.as_slice());
    let mut access = rule::issue(&call.rules(), user, form.get("scope")?, targets)?;
    if let Some(asked) = form.get(authorization_details::PARAMETER)? {
        let details = authorization_details::requested(Some(asked), call.client, call.settings)?;
        access.carry(details, &[audience, resource].concat(), call.settings);
    }
    Ok(access)
}

/// The access token by an ID-JAG, which says what is granted (draft-ietf-oauth-identity-assertion-authz-grant 4.4).
fn by_id_jag(
    call: &GrantCall<'_>,
    assertion: &IssuedAssertion<'_>,
    user: &UserId,
) -> Result<Box<AccessToken>, OAuthError> {
    let (form, rules) = (call.form, call.rules());
    id_jag::check_bearer(&rules, assertion)?;
    // Its issuer has allowed none.
    authorization_details::refuse(form.get(authorization_details::PARAMETER)?)?;
    let targets: Vec<&str> = form.get_all("audience").chain(form.get_all("resource")).collect();
    id_jag::accept(&rules, assertion, user, (form.get("scope")?, targets.as_slice()))
}

/// The user whom an assertion of a trusted issuer names, and the use of it that must be marked. `refused`: the error of this grant.
pub(super) async fn vouched(
    call: &GrantCall<'_>,
    assertion: &IssuedAssertion<'_>,
    purpose: TrustedUse,
    refused: fn(Refusal) -> OAuthError,
) -> Result<(UserId, AssertionUse), Failure> {
    let found = client_keys::of_issued_assertion(call.context, assertion, purpose).await;
    let Some(issued) = found.map_err(refused)? else {
        return Err(refused(rule::of_stranger(&call.rules(), assertion, purpose)).into());
    };
    let by = (&issued.trusted, &*issued.keys.keys);
    let endpoint = &call.context.issuer.token_endpoint;
    let mark = rule::verify(&call.rules(), assertion, purpose, by, endpoint).map_err(refused)?;
    match user(call, assertion, &issued.trusted).await? {
        Some(user) => Ok((user, mark)),
        None => Err(refused(rule::of_nobody(assertion)).into()),
    }
}

/// Marks an assertion as used; `false` if it was used before. Marks are stored for a while, so each client's number of them is limited, as for
/// its own assertions.
pub(super) async fn use_once(
    call: &GrantCall<'_>,
    mark: &AssertionUse,
    durable: &mut Durable,
) -> Result<bool, Failure> {
    let (app, issuer, client) = (&call.context.app, &call.context.issuer, &call.client.client_id);
    let may_use = app.rate_limits.may_use_assertion(&issuer.id, client, call.now);
    may_use.map_err(|limited| client_limited(limited, call.client))?;
    if app.store.use_assertion(&issuer.id, mark).await?.take(durable) == Use::Replayed {
        return Ok(false);
    }
    app.rate_limits.used_assertion(&issuer.id, client, call.now);
    Ok(true)
}

/// The user whom an assertion names: who has the identity of an identity provider with the same issuer, or else, where the setting says so,
/// who has this id. `None` if that is nobody, or somebody who may not sign in.
async fn user(
    call: &GrantCall<'_>,
    assertion: &IssuedAssertion<'_>,
    trusted: &TrustedIssuer,
) -> Result<Option<UserId>, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let subject = assertion.subject();
    if subject.len() > LONGEST_SUBJECT {
        return Ok(None);
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
    let Some(id) = found else { return Ok(None) };
    let user = app.store.user(&issuer.id, &id).await?;
    Ok(user.is_some_and(|user| user.may_sign_in()).then_some(id))
}
