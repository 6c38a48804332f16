//! Other providers by which people sign in. They are kept with the issuer's settings, and have endpoints of their own: a secret
//! is set, and never shown.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Map, Value, json};
use symbolon_crypto::random;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IdentityProviderId;
use symbolon_protocol::identity_provider::bounds::{check, check_room, default_claims};
use symbolon_protocol::identity_provider::preset::{Filled, Preset};
use symbolon_protocol::identity_provider::{GroupMapping, IdentityProvider, ProviderKind, ProviderLogout};
use symbolon_protocol::json::merge_patch;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Changed;

use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::fields::Fields;
use crate::operation::{Operation, wrapped};
use symbolon_app::audit::ChangedFields;

/// The longest secret, in bytes: that of Apple is a JWT.
const LONGEST_SECRET: usize = 2_048;

/// Members of a shown provider that a change cannot set. They are accepted, so that what was shown can be sent back.
const SHOWN_ONLY: [&str; 5] =
    ["created_at", "updated_at", "callback", "logout_callback", "has_client_secret"];

pub(super) fn operations() -> Vec<Operation> {
    const ALL: &str = "/identity-providers";
    const ONE: &str = "/identity-providers/{provider_id}";
    let provider = || wrapped("identity_provider", "IdentityProvider");
    let all = json!({
        "type": "object",
        "required": ["identity_providers"],
        "properties": { "identity_providers": super::openapi::list_of("IdentityProvider") },
    });
    vec![
        Operation::get(ALL, "Lists the other providers by which people sign in", list).answers(200, all),
        Operation::taking(Method::POST, ALL, "NewIdentityProvider", "Adds a provider", create)
            .answers(201, provider()),
        Operation::get(ONE, "Shows a provider", show).answers(200, provider()),
        Operation::taking(
            Method::PATCH,
            ONE,
            "IdentityProviderRecord",
            "Changes the members that are named; a client_secret of null makes this issuer a public client",
            patch,
        )
        .answers(200, provider()),
        Operation::delete(ONE, "Deletes a provider, and disconnects everybody from it", remove)
            .answers(204, Value::Null),
    ]
}

fn unknown() -> AdminError {
    AdminError::not_found("there is no such identity provider")
}

/// A provider as JSON, without its secret and its key.
fn view(call: &Call, provider: &IdentityProvider) -> Map<String, Value> {
    let shown = json!({
        "id": provider.id,
        "name": provider.name,
        "kind": provider.kind,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "has_client_secret": provider.sealed_secret.is_some(),
        "scopes": provider.scopes,
        "response_mode": provider.response_mode,
        "claims": provider.claims,
        "groups": provider.groups,
        "sign_up": provider.sign_up,
        "link_by_verified_email": provider.link_by_verified_email,
        "email_domains": provider.email_domains,
        "logout": provider.logout,
        "enabled": provider.enabled,
        "callback": call.issuer.callback_of(&provider.id),
        "logout_callback": call.issuer.logout_callback(),
        "created_at": provider.created_at,
        "updated_at": provider.updated_at,
    });
    match shown {
        Value::Object(shown) => shown,
        _ => Map::new(),
    }
}

async fn list(call: Call) -> Answer {
    let all = views(&call).await?;
    Ok(ok(&json!({ "identity_providers": all })))
}

async fn load(call: &Call) -> Result<IdentityProvider, AdminError> {
    let id: IdentityProviderId = call.path("provider_id")?;
    let settings = call.app.store.settings(call.id()).await?;
    settings.identity_providers.into_iter().find(|own| own.id == id).ok_or_else(unknown)
}

async fn show(call: Call) -> Answer {
    let provider = load(&call).await?;
    Ok(ok(&json!({ "identity_provider": view(&call, &provider) })))
}

/// Fills in what is not said: by a preset, if one is named.
fn filled(fields: &mut Fields) -> Result<Option<Filled>, AdminError> {
    let preset: Option<Preset> = fields.take("preset")?;
    let tenant = fields.text("tenant")?;
    match preset {
        Some(preset) => preset.fill(tenant.as_deref()).map(Some).map_err(AdminError::invalid),
        None if tenant.is_some() => Err(AdminError::invalid("tenant is for the preset microsoft alone")),
        None => Ok(None),
    }
}

/// Takes the secret: `None` if it is not named, and an empty one in place of `null`.
fn secret(call: &Call, fields: &mut Fields) -> Result<Option<Option<String>>, AdminError> {
    if !fields.names("client_secret") {
        return Ok(None);
    }
    let Some(secret) = fields.secret("client_secret")? else { return Ok(Some(None)) };
    let text = secret.expose();
    // RFC 6749 appendix A.2: VSCHAR.
    let is_text = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if text.is_empty() || text.len() > LONGEST_SECRET || !is_text {
        return Err(AdminError::invalid(
            "client_secret must be the 1 to 2048 ASCII characters that the provider gave",
        ));
    }
    let sealed = call.issuer.seal_provider_secret(&secret);
    sealed.map(|sealed| Some(Some(sealed))).map_err(|error| StoreError::Failed(error.to_string()).into())
}

/// Reads the members that say how a provider is used. `before`: what stays where nothing is said.
fn described(mut before: IdentityProvider, fields: &mut Fields) -> Result<IdentityProvider, AdminError> {
    if let Some(name) = fields.text("name")? {
        before.name = name.trim().to_owned();
    }
    if let Some(issuer) = fields.text("issuer")? {
        before.issuer = issuer;
    }
    if let Some(client_id) = fields.text("client_id")? {
        before.client_id = client_id;
    }
    if let Some(scopes) = fields.take("scopes")? {
        before.scopes = scopes;
    }
    if let Some(mode) = fields.take("response_mode")? {
        before.response_mode = mode;
    }
    if let Some(logout) = fields.take("logout")? {
        before.logout = logout;
    }
    if fields.names("claims") {
        before.claims = fields.take::<BTreeMap<String, String>>("claims")?.unwrap_or_else(default_claims);
    }
    if fields.names("groups") {
        before.groups = fields.take::<GroupMapping>("groups")?;
    }
    if fields.names("email_domains") {
        let domains: Vec<String> = fields.take("email_domains")?.unwrap_or_default();
        before.email_domains = domains.iter().map(|domain| domain.to_ascii_lowercase()).collect();
    }
    let flags = [
        ("sign_up", &mut before.sign_up),
        ("link_by_verified_email", &mut before.link_by_verified_email),
        ("enabled", &mut before.enabled),
    ];
    for (name, flag) in flags {
        if let Some(value) = fields.take(name)? {
            *flag = value;
        }
    }
    fields.ignore(&SHOWN_ONLY);
    Ok(before)
}

fn checked(call: &Call, provider: IdentityProvider) -> Result<IdentityProvider, AdminError> {
    let may_be_plain = call.app.config.load().outbound.allow_private;
    check(&provider, may_be_plain).map_err(AdminError::invalid)?;
    Ok(provider)
}

/// Reads a new provider.
fn new(call: &Call, mut fields: Fields) -> Result<IdentityProvider, AdminError> {
    let filled = filled(&mut fields)?;
    let kind: Option<ProviderKind> = fields.take("kind")?;
    let id: IdentityProviderId = fields.require("id")?;
    let kind = match (filled.as_ref().map(|filled| filled.kind), kind) {
        (Some(own), Some(kind)) if own != kind => {
            return Err(AdminError::invalid("kind contradicts the preset: leave one of them out"));
        }
        (Some(own), _) => own,
        (None, kind) => kind.unwrap_or(ProviderKind::Openid),
    };
    let usual: &[&str] = match kind {
        ProviderKind::Openid => &["openid", "email", "profile"],
        ProviderKind::Github => &["read:user", "user:email"],
    };
    let now = call.now();
    let blank = IdentityProvider {
        key: format!("p{}", random::token_128(&*call.app.random)).into(),
        name: filled.as_ref().map_or_else(|| id.to_string(), |filled| filled.name.to_owned()),
        id,
        kind,
        issuer: filled.as_ref().map_or_else(String::new, |filled| filled.issuer.clone()),
        client_id: String::new(),
        sealed_secret: secret(call, &mut fields)?.flatten(),
        scopes: filled.as_ref().map_or_else(
            || usual.iter().map(|name| (*name).to_owned()).collect(),
            |filled| filled.scopes.clone(),
        ),
        response_mode: filled.map(|filled| filled.response_mode).unwrap_or_default(),
        claims: default_claims(),
        groups: None,
        sign_up: false,
        link_by_verified_email: false,
        email_domains: Vec::new(),
        logout: ProviderLogout::default(),
        enabled: true,
        created_at: now,
        updated_at: now,
    };
    let provider = described(blank, &mut fields)?;
    fields.finish()?;
    if provider.issuer.is_empty() {
        return Err(AdminError::invalid("issuer is required, or a preset: google, microsoft, apple, github"));
    }
    if provider.client_id.is_empty() {
        return Err(AdminError::invalid(
            "client_id is required: register the callback there, and it gives one",
        ));
    }
    checked(call, provider)
}

async fn create(call: Call, payload: Payload) -> Answer {
    let view = add(&call, payload.fields().await?).await?;
    Ok(created(&json!({ "identity_provider": view })))
}

/// Adds a provider; how it is shown.
pub(super) async fn add(call: &Call, fields: Fields) -> Result<Map<String, Value>, AdminError> {
    let provider = new(call, fields)?;
    change(call, |all| {
        check_place(&provider, all)?;
        all.push(provider.clone());
        Ok(())
    })
    .await?;
    let view = view(call, &provider);
    call.audit(Event::IdentityProviderCreated, about(&provider, None), ChangedFields::made(&view));
    Ok(view)
}

/// Checks a provider as [`add`] would, and changes nothing.
pub(super) async fn try_add(call: &Call, fields: Fields) -> Result<Map<String, Value>, AdminError> {
    let provider = new(call, fields)?;
    check_place(&provider, &call.app.store.settings(call.id()).await?.identity_providers)?;
    Ok(view(call, &provider))
}

/// Checks that the id is free, and that there may be one more.
fn check_place(provider: &IdentityProvider, all: &[IdentityProvider]) -> Result<(), AdminError> {
    if all.iter().any(|own| own.id == provider.id) {
        let id = &provider.id;
        return Err(AdminError::conflict(format!("there is an identity provider of the id {id}")));
    }
    check_room(all.len()).map_err(AdminError::invalid)
}

/// How every provider is shown.
pub(super) async fn views(call: &Call) -> Result<Vec<Map<String, Value>>, AdminError> {
    let settings = call.app.store.settings(call.id()).await?;
    Ok(settings.identity_providers.iter().map(|own| view(call, own)).collect())
}

async fn patch(call: Call, payload: Payload) -> Answer {
    let mut named = payload.object().await?;
    // A secret is no part of what is shown, so it is not merged.
    let secret_of = |named: &mut Map<String, Value>| {
        let only = named.remove_entry("client_secret").into_iter().collect();
        secret(&call, &mut Fields::new(only))
    };
    let new_secret = secret_of(&mut named)?;
    for fixed in ["id", "kind", "preset", "tenant"] {
        let shown = view(&call, &load(&call).await?);
        if named.get(fixed).is_some_and(|value| shown.get(fixed) != Some(value)) {
            return Err(AdminError::invalid(format!(
                "{fixed} cannot be changed: add another provider instead"
            )));
        }
        named.remove(fixed);
    }
    let before = load(&call).await?;
    let mut after = before.clone();
    change(&call, |all| {
        let own = all.iter_mut().find(|own| own.key == before.key).ok_or_else(unknown)?;
        after = changed(&call, own, (&named, new_secret.clone()))?;
        *own = after.clone();
        Ok(())
    })
    .await?;
    let (was, is) = (view(&call, &before), view(&call, &after));
    let secret = (before.sealed_secret != after.sealed_secret).then_some(json!({ "changed": true }));
    call.audit(Event::IdentityProviderUpdated, about(&after, secret), ChangedFields::between(&was, &is));
    Ok(ok(&json!({ "identity_provider": is })))
}

fn changed(
    call: &Call,
    before: &IdentityProvider,
    (named, secret): (&Map<String, Value>, Option<Option<String>>),
) -> Result<IdentityProvider, AdminError> {
    let mut document = view(call, before);
    merge_patch(&mut document, named.clone());
    // Merged away means back to the default; the lists of a patch replace those that were.
    for name in ["claims", "groups", "email_domains"] {
        if !document.contains_key(name) {
            document.insert(name.to_owned(), Value::Null);
        }
    }
    let mut fields = Fields::new(document);
    fields.ignore(&["id", "kind"]);
    let mut after = described(before.clone(), &mut fields)?;
    fields.finish()?;
    if let Some(secret) = secret {
        after.sealed_secret = secret;
    }
    let next = Timestamp::from_millis(before.updated_at.millis().saturating_add(1));
    after.updated_at = call.now().max(next);
    checked(call, after)
}

async fn remove(call: Call) -> Answer {
    let provider = load(&call).await?;
    change(&call, |all| {
        let place = all.iter().position(|own| own.key == provider.key).ok_or_else(unknown)?;
        all.remove(place);
        Ok(())
    })
    .await?;
    // Nobody is connected by its key any more, and no provider gets that key again. What a sign-in that is under way connects
    // after this leads to nobody.
    let identities = call.app.store.unlink_provider(call.id(), &provider.key).await?;
    let view = view(&call, &provider);
    let disconnected = Some(json!(identities));
    call.audit(Event::IdentityProviderDeleted, about(&provider, disconnected), ChangedFields::removed(&view));
    Ok(done())
}

fn about(provider: &IdentityProvider, more: Option<Value>) -> Concerns<'static> {
    let mut detail = json!({ "identity_provider": provider.id });
    if let (Some(members), Some(more)) = (detail.as_object_mut(), more) {
        let name = if more.is_number() { "disconnected" } else { "client_secret" };
        members.insert(name.to_owned(), more);
    }
    Concerns { detail, ..Concerns::default() }
}

/// Changes the list of providers; on return the change is in effect on this node. If another change of the settings was
/// faster, applies the rule once more to its result.
async fn change(
    call: &Call,
    mut rule: impl FnMut(&mut Vec<IdentityProvider>) -> Result<(), AdminError>,
) -> Result<(), AdminError> {
    for _ in 0..2 {
        let seen = call.app.store.settings(call.id()).await?;
        let mut settings = seen.clone();
        rule(&mut settings.identity_providers)?;
        match call.app.store.put_settings(call.id(), &seen, settings).await {
            // The schema of attributes is as it was.
            Ok(_) => return Ok(call.app.follow(&Changed::Settings(call.id().clone())).await?),
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Conflict.into())
}
