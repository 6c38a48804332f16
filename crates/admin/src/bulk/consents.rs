//! Bulk remembering and export of what users allowed clients.

use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_protocol::consent::{Consent, ConsentVersion, GivenConsent};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::super::fields::Fields;
use super::export::{AT_ONCE, Sender, send, streamed};
use super::lines::Line;
use super::records::unordered_pace;
use super::stream::{self, Done};
use symbolon_app::audit::ChangedFields;

/// The versions of the terms that a consent was given to, where somebody has raised one.
const VERSIONS: [&str; 2] = ["issuer_consent_version", "client_consent_version"];

/// `POST /consents/bulk`. A user who has a consent to the client keeps it as it is: it may be of later terms.
pub(super) async fn allow(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    stream::answer(call, payload, unordered_pace(Event::ConsentGranted), move |chunk| {
        let call = Arc::clone(&shared);
        async move {
            stream::each(chunk, |line| {
                let call = Arc::clone(&call);
                async move { allow_one(&call, line).await }
            })
            .await
        }
    })
}

async fn allow_one(call: &Call, line: Line) -> Done {
    let (user, client, consent) = read(call, line)?;
    let store = &call.app.store;
    let told = |changed: bool| json!({ "user_id": user, "client_id": client, "changed": changed });
    if store.consent(call.id(), &user, &client).await?.is_some() {
        return Ok(told(false));
    }
    // A client whose id is the URL of its metadata is not stored.
    let is_to_document = store.client(call.id(), &client).await?.is_none()
        && call.app.client_exists(&call.issuer, &client).await?;
    let given = GivenConsent::from(consent.clone()).for_document(is_to_document);
    if !store.allow(call.id(), &user, &client, given).await? {
        return Err(AdminError::not_found(match store.user(call.id(), &user).await? {
            Some(_) => "there is no such client",
            None => "there is no such user",
        }));
    }
    let concerns = Concerns { user: Some(&user), client: Some(&client), ..Concerns::default() };
    let made = json!({ "consent": { "scope": consent.scope, "granted_at": consent.granted_at } });
    call.audit(Event::ConsentGranted, concerns, ChangedFields::made(&made));
    Ok(told(true))
}

fn read(call: &Call, line: Line) -> Result<(UserId, ClientId, Consent), AdminError> {
    let mut fields = stream::fields(line)?;
    let (user, client) = (fields.require("user_id")?, fields.require("client_id")?);
    let scope: Scope = fields.require("scope")?;
    // One of later than now would outlive its lifetime.
    let granted_at = fields.take::<Timestamp>("granted_at")?.unwrap_or_else(|| call.now()).min(call.now());
    let [issuer, of_client] = VERSIONS;
    let mut version = |name| Ok::<_, AdminError>(Fields::take::<u32>(&mut fields, name)?.unwrap_or_default());
    let version = ConsentVersion { issuer: version(issuer)?, client: version(of_client)? };
    let authorization_details = fields.take("authorization_details")?.unwrap_or_default();
    fields.finish()?;
    Ok((user, client, Consent { scope, granted_at, version, authorization_details }))
}

fn view(user: &UserId, client: &ClientId, consent: &Consent) -> Value {
    let Consent { scope, granted_at, version, authorization_details } = consent;
    let mut view = json!({ "user_id": user, "client_id": client, "scope": scope, "granted_at": granted_at });
    for (name, version) in VERSIONS.into_iter().zip([version.issuer, version.client]) {
        if let Some(members) = view.as_object_mut().filter(|_| version != 0) {
            members.insert(name.to_owned(), Value::from(version));
        }
    }
    if let Some(members) = view.as_object_mut().filter(|_| !authorization_details.is_empty()) {
        members.insert("authorization_details".to_owned(), json!(authorization_details));
    }
    view
}

/// `GET /consents/export`.
pub(super) async fn export(call: Call) -> Answer {
    streamed(call, send_all)
}

async fn send_all(call: Call, sender: Sender) -> Result<(), StoreError> {
    let mut after = None::<(UserId, ClientId)>;
    loop {
        let place = after.as_ref().map(|(user, client)| (user, client));
        let found = call.app.store.next_consents(call.id(), place, AT_ONCE).await?;
        let lines = found.iter().map(|(user, client, consent)| view(user, client, consent)).collect();
        if !send(&sender, lines).await || found.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = found.into_iter().next_back().map(|(user, client, _)| (user, client));
    }
}
