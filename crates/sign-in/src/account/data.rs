//! What is stored about the person: a copy as JSON, and its deletion.

use std::time::Duration;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use symbolon_crypto::secret::SecretString;
use symbolon_pages::{AccountDataPage, AccountDeletedPage, AccountNotice, AccountPlace};
use symbolon_protocol::attribute::Party;
use symbolon_protocol::authenticator::{AuthenticatorSet, Passkey};
use symbolon_protocol::event::Event;
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::params::Params;
use symbolon_protocol::session::AuthenticationMethod;
use symbolon_store::port::PageRequest;

use super::{Person, Visitor, by_themselves, form, status, told, visitor};
use crate::sign_in_goal::Freshness;
use symbolon_app::grants;
use symbolon_app::http::{
    Call, Context, Failure, Policy, Received, html, json as json_answer, no_store, remove_session_cookies,
};

const PLACE: AccountPlace = AccountPlace::Data;

/// The path of the copy.
pub(in super::super) const EXPORT: &str = "/account/data/export";

/// How long ago a person may have signed in to delete the account without the password.
const VERY_FRESH: Duration = Duration::from_secs(300);

/// Sessions per read from the store.
const AT_ONCE: u32 = 200;

/// `GET /account/data`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => {
            let notice = told(call);
            page(&call.context, &person, notice).await
        }
        Visitor::Stranger(answer) => Ok(answer),
    }
}

async fn page(
    context: &Context,
    person: &Person,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let asks_password = !is_very_fresh(context, person) && person.hash(context).await?.is_some();
    let status = status(notice.as_ref());
    let page = AccountDataPage {
        language: person.language,
        issuer_name: context.issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        export: format!("{}{EXPORT}", context.issuer.prefix),
        may_delete: context.issuer.settings.load().self_deletion,
        asks_password,
        login_name: person.login_name().to_owned(),
    };
    person.page(context, status, page.render_for(&context.issuer.prefix, &context.issuer.brand()))
}

fn is_very_fresh(context: &Context, person: &Person) -> bool {
    context.app.now().since(person.session.auth_time) <= VERY_FRESH
}

/// `GET /account/data/export`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn export(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let document = document(&call.context, &person).await?;
    let text = serde_json::to_vec_pretty(&document).map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = no_store(json_answer(StatusCode::OK, text));
    let name = HeaderValue::from_static("attachment; filename=\"account.json\"");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

/// Everything that is stored about the person and that they may see. It has no secrets: no password hash, no session's
/// id, no token.
async fn document(context: &Context, person: &Person) -> Result<Value, Failure> {
    let (app, issuer) = (&context.app, &context.issuer);
    let held = app.store.entitlements(&issuer.id, &person.user.id).await?;
    let mut grants = Vec::new();
    for (client, grant) in grants::in_use(app, issuer, &person.user.id).await? {
        let name = app.client_name(issuer, &client).await?;
        grants.push(grant.view(&client, name.as_deref()));
    }
    let enrolled = app.store.authenticators(&issuer.id, &person.user.id).await?;
    let consents = app.store.consents_of(&issuer.id, &person.user.id).await?;
    let consents = consents.iter().map(|(client, consent)| {
        json!({ "client_id": client, "scope": consent.scope, "granted_at": consent.granted_at })
    });
    let roles = held.roles.iter().map(|role| json!({ "name": role.name, "client_id": role.client_id }));
    Ok(json!({
        "issuer": &*issuer.url,
        "exported_at": app.now(),
        "profile": profile(context, person),
        "groups": held.groups.iter().map(|group| &group.path).collect::<Vec<_>>(),
        "roles": roles.collect::<Vec<_>>(),
        "sessions": sessions(context, person).await?,
        "applications": grants,
        "consents": consents.collect::<Vec<_>>(),
        "has_password": person.hash(context).await?.is_some(),
        "authenticators": authenticators(&enrolled.set),
        "identities": identities(context, person).await?,
    }))
}

/// Who the person is to other providers.
async fn identities(context: &Context, person: &Person) -> Result<Vec<Value>, Failure> {
    let Context { app, issuer, .. } = context;
    let settings = issuer.settings.load_full();
    let known = app.store.identities_of(&issuer.id, &person.user.id).await?;
    let of = |identity: &Identity| {
        let provider = settings.identity_providers.iter().find(|own| own.key == identity.provider);
        json!({
            "identity_provider": provider.map(|own| &own.id),
            "subject": identity.subject,
            "label": identity.label,
            "linked_at": identity.linked_at,
        })
    };
    Ok(known.iter().map(of).collect())
}

/// What the person has enrolled, without keys and secrets.
fn authenticators(set: &AuthenticatorSet) -> Value {
    let passkey = |passkey: &Passkey| {
        json!({
            "id": passkey.id,
            "name": passkey.name,
            "is_synced": passkey.is_synced,
            "created_at": passkey.created_at,
            "last_used_at": passkey.last_used_at,
        })
    };
    json!({
        "passkeys": set.passkeys.iter().map(passkey).collect::<Vec<_>>(),
        "totp": set.totp.as_ref().map(|totp| json!({ "added_at": totp.added_at })),
        "recovery_codes": set.recovery_codes.len(),
    })
}

/// The record, without attributes that the person may not see.
fn profile(context: &Context, person: &Person) -> Map<String, Value> {
    let Value::Object(mut record) = json!(&*person.user) else { return Map::new() };
    record.retain(|_, value| !value.is_null());
    record.remove("attributes");
    let settings = context.issuer.settings.load();
    let shown = settings.attributes.shown_to(Party::Person, &person.user.profile.attributes);
    let shown: Map<String, Value> = shown.map(|(name, value)| (name.to_string(), json!(value))).collect();
    record.insert("attributes".to_owned(), Value::Object(shown));
    record
}

async fn sessions(context: &Context, person: &Person) -> Result<Vec<Value>, Failure> {
    let mut sessions = Vec::new();
    let mut page = PageRequest { page: 1, limit: AT_ONCE, search: None };
    loop {
        let (store, now) = (&context.app.store, context.app.now());
        let found = store.list_sessions(&context.issuer.id, &person.user.id, &page, now).await?;
        sessions.extend(found.items.iter().map(|listed| {
            let session = &listed.session;
            json!({
                "sid": session.sid,
                "auth_time": session.auth_time,
                "created_at": session.created_at,
                "expires_at": session.expires_at,
                "last_used_at": listed.last_used_at,
                "origin": listed.origin,
                "amr": session.amr.iter().map(AuthenticationMethod::as_str).collect::<Vec<_>>(),
                "clients": session.clients,
            })
        }));
        if found.items.len() < AT_ONCE as usize {
            return Ok(sessions);
        }
        page.page += 1;
    }
}

/// `POST /account/data`: deletes the account.
///
/// # Errors
/// [`Failure`]; [`Failure::NotFound`] where the issuer does not let people delete their accounts.
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    if !call.context.issuer.settings.load().self_deletion {
        return Err(Failure::NotFound);
    }
    let person = match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    if !person.accepts(call, &params, PLACE)? {
        return page(&call.context, &person, Some(AccountNotice::Expired)).await;
    }
    if params.get("confirm")?.is_none() {
        return page(&call.context, &person, Some(AccountNotice::NotConfirmed)).await;
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    if let Some(notice) = why_unproven((&call.context, &call.received), &person, password).await? {
        return page(&call.context, &person, Some(notice)).await;
    }
    delete(&call.context, &person).await?;
    let issuer = &call.context.issuer;
    let page = AccountDeletedPage { language: person.language, issuer_name: issuer.display_name() };
    let page = page
        .render_for(&issuer.prefix, &issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(StatusCode::OK, page, &Policy { language: person.language, ..Policy::default() });
    remove_session_cookies(issuer, response.headers_mut());
    Ok(response)
}

/// What is missing of the proof that it is the person: the password, or a sign-in of the last five minutes. Whoever has no
/// password signs in again.
async fn why_unproven(
    (context, received): (&Context, &Received),
    person: &Person,
    password: SecretString,
) -> Result<Option<AccountNotice>, Failure> {
    if is_very_fresh(context, person) {
        return Ok(None);
    }
    match person.hash(context).await? {
        Some(_) if password.expose().is_empty() => Ok(Some(AccountNotice::NeedsPassword)),
        Some(hash) => Ok(person.verify((context, received), password, hash).await.err()),
        None => Ok(Some(AccountNotice::Expired)),
    }
}

/// Deletes the person's record and ends everything.
async fn delete(context: &Context, person: &Person) -> Result<(), Failure> {
    let (app, issuer, user) = (&context.app, &context.issuer, &person.user);
    // Before the record is deleted: from now on tokens and sessions are ended, even if a later step fails.
    grants::end_all_of_user(app, issuer, &user.id).await?;
    if app.store.delete_user(&issuer.id, &user.id).await? {
        let detail = json!({ "email": user.email, "preferred_username": user.profile.preferred_username });
        context.audit_change(Event::UserDeleted, &user.id, None, by_themselves(detail));
    }
    // Again, for what began while the record still existed.
    grants::end_all_of_user(app, issuer, &user.id).await?;
    Ok(())
}
