//! Clients, with the member names of RFC 7591.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::Method;
use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::{self, Metadata, Registration};
use symbolon_protocol::client_secret::LONGEST_KEPT;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::pkce::PkcePolicy;
use symbolon_protocol::revocation::life_of;
use symbolon_store::StoreError;
use symbolon_store::port::Created;

use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, PAGE, Parameter, page_of, reference, wrapped};
use crate::{ending, paging, settings, signing_keys};
use symbolon_app::audit::ChangedFields;

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/clients/{client_id}";
    let search = Parameter { name: "search", kind: "string", about: "Part of a client's name or id." };
    let client = || wrapped("client", "Client");
    let with_secret = || reference("Registration");
    vec![
        Operation::get("/clients", "Lists clients, newest first", list)
            .query(&PAGE)
            .query(&[search])
            .answers(200, page_of("clients", "Client")),
        Operation::taking(Method::POST, "/clients", "ClientMetadata", "Registers a client", create)
            .answers(201, with_secret()),
        Operation::get(ONE, "Shows a client", show).answers(200, client()),
        Operation::taking(Method::PUT, ONE, "ClientMetadata", "Replaces a client's metadata", replace)
            .answers(200, with_secret()),
        Operation::taking(Method::PATCH, ONE, "ClientMetadata", "Changes the members that are named", patch)
            .answers(200, with_secret()),
        Operation::delete(ONE, "Deletes a client and ends its tokens", remove).answers(204, Value::Null),
        Operation::taking(
            Method::POST,
            "/clients/{client_id}/regenerate-secret",
            "RegenerateSecret",
            "Draws a new secret; the old one ends at once, or after `keep_old_seconds`",
            regenerate_secret,
        )
        .answers(200, with_secret()),
    ]
}

fn unknown() -> AdminError {
    AdminError::not_found("there is no such client")
}

/// A client as administrators see it, with the uses of its secrets that this node knows of.
pub(super) fn view(call: &Call, client: &Arc<Client>) -> Value {
    Value::Object(client_metadata::view(&call.app.client_secret_uses.merged(call.id(), client)))
}

async fn list(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let found = call.app.store.list_clients(call.id(), &page).await?;
    let clients: Vec<Value> = found.items.iter().map(|client| view(&call, client)).collect();
    Ok(ok(&json!({ "clients": clients, "pagination": paging::pagination(&page, found.total) })))
}

/// The client named in the path.
pub(super) async fn load(call: &Call) -> Result<Arc<Client>, AdminError> {
    let id: ClientId = call.path("client_id")?;
    call.app.store.client(call.id(), &id).await?.ok_or_else(unknown)
}

async fn show(call: Call) -> Answer {
    let client = load(&call).await?;
    Ok(ok(&json!({ "client": view(&call, &client) })))
}

/// Warns if a client is saved with a setting that leaves it less protected than the default does.
fn warn_of_weak_settings(call: &Call, client: &Client) {
    if client_metadata::is_below_default(client) {
        let (issuer, client_id) = (&*call.issuer.url, client.client_id.as_str());
        tracing::warn!(issuer, client_id, "the client has pkce=optional. {}", PkcePolicy::WEAKENS);
    }
}

/// A registration as it is answered: the client, with its secret if that is new, and what should be known of it. That is
/// logged too, so this is called once, for a client that was saved.
pub(super) fn answered(call: &Call, registration: &Registration) -> Value {
    warn_of_weak_settings(call, &registration.client);
    if registration.warnings.is_empty() {
        return json!({ "client": registration.view() });
    }
    for warning in &registration.warnings {
        tracing::warn!(issuer = %call.id(), client = %registration.client.client_id, "{warning}");
    }
    let warnings: Vec<String> = registration.warnings.iter().map(ToString::to_string).collect();
    json!({ "client": registration.view(), "warnings": warnings })
}

/// The algorithms that a client's settings name: its issuer must have a key for each.
pub(super) fn algorithms(client: &Client) -> impl Iterator<Item = Algorithm> {
    let named = [
        client.id_token_signed_response_alg,
        client.access_token_signed_response_alg,
        client.authorization_signed_response_alg,
        client.userinfo_signed_response_alg,
        client.introspection_signed_response_alg,
    ];
    named.into_iter().flatten()
}

async fn create(call: Call, payload: Payload) -> Answer {
    let metadata: Metadata = payload.object().await?;
    let key = &call.issuer.client_secret_key;
    let registration = client_metadata::create(metadata, key, call.now(), &*call.app.random)?;
    call.app.check_sector(call.id(), None, &registration.client).await?;
    signing_keys::ensure(&call, algorithms(&registration.client)).await?;
    call.app.record_needs_of(&call.issuer, &registration.client).await?;
    let client_id = registration.client.client_id.clone();
    if call.app.store.create_client(call.id(), registration.client.clone()).await? == Created::Exists {
        return Err(AdminError::conflict("there is a client of this client_id"));
    }
    let concerns = Concerns { client: Some(&client_id), ..Concerns::default() };
    call.audit(Event::ClientCreated, concerns, ChangedFields::made(&registration.client));
    Ok(created(&answered(&call, &registration)))
}

async fn replace(call: Call, payload: Payload) -> Answer {
    let (metadata, key) = (payload.object().await?, &call.issuer.client_secret_key);
    change(&call, |client| {
        client_metadata::replace(client, metadata.clone(), key, call.now(), &*call.app.random)
            .map_err(Into::into)
    })
    .await
}

async fn patch(call: Call, payload: Payload) -> Answer {
    let (metadata, key) = (payload.object().await?, &call.issuer.client_secret_key);
    change(&call, |client| {
        client_metadata::patch(client, metadata.clone(), key, call.now(), &*call.app.random)
            .map_err(Into::into)
    })
    .await
}

async fn regenerate_secret(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.optional_fields().await?;
    let keep_old = fields.bounded("keep_old_seconds", 0..=LONGEST_KEPT.as_secs())?;
    fields.finish()?;
    let (keep_old, key) = (Duration::from_secs(keep_old.unwrap_or_default()), &call.issuer.client_secret_key);
    change(&call, |client| {
        client_metadata::regenerate_secret(client, keep_old, key, call.now(), &*call.app.random)
            .map_err(Into::into)
    })
    .await
}

/// Changes a client by a rule. If another change was faster, applies the rule once more to its result.
async fn change(
    call: &Call,
    rule: impl Fn(&Client) -> Result<Registration, AdminError> + Send + Sync,
) -> Answer {
    match changed(call, &rule).await {
        Ok(None) => match changed(call, &rule).await? {
            Some(response) => Ok(response),
            None => Err(StoreError::Conflict.into()),
        },
        Ok(Some(response)) => Ok(response),
        Err(error) => Err(error),
    }
}

/// One attempt; `None` if another change was faster.
async fn changed(
    call: &Call,
    rule: &(impl Fn(&Client) -> Result<Registration, AdminError> + Send + Sync),
) -> Result<Option<Response>, AdminError> {
    let before = load(call).await?;
    // With the uses of secrets that this node knows of, so that the change does not take them away.
    let before = call.app.client_secret_uses.merged(call.id(), &before);
    let registration = rule(&before)?;
    call.app.check_sector(call.id(), Some(&*before), &registration.client).await?;
    signing_keys::ensure(call, algorithms(&registration.client)).await?;
    call.app.record_needs_of(&call.issuer, &registration.client).await?;
    let of_issuer = call.issuer.settings.load_full();
    let life = |client: &Client| life_of(&of_issuer, &client.settings);
    if life(&before) > life(&registration.client) {
        // Recorded before the change: tokens issued until then live longer than the new settings say, and tombstones
        // for them must be kept as long.
        settings::outlive(call, life(&before)).await?;
    }
    match call.app.store.update_client(call.id(), registration.client.clone(), before.updated_at).await {
        Ok(true) => {}
        Ok(false) => return Err(unknown()),
        Err(StoreError::Conflict) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut detail = json!({ "new_secret": registration.client_secret.is_some() });
    let secrets = before.client_secrets.changes_to(&registration.client.client_secrets);
    if let (false, Value::Object(members)) = (secrets.is_empty(), &mut detail) {
        members.insert("secrets".to_owned(), json!(secrets));
    }
    call.audit(
        Event::ClientUpdated,
        Concerns { client: Some(&before.client_id), detail, ..Concerns::default() },
        ChangedFields::between(&*before, &registration.client),
    );
    Ok(Some(ok(&answered(call, &registration))))
}

async fn remove(call: Call) -> Answer {
    let client = load(&call).await?;
    // Before the record is deleted: from now on the client's tokens are revoked, even if a later step fails.
    ending::tokens_of_client(&call, &client.client_id).await?;
    if !call.app.store.delete_client(call.id(), &client.client_id).await? {
        return Err(unknown());
    }
    let concerns = Concerns { client: Some(&client.client_id), ..Concerns::default() };
    call.audit(Event::ClientDeleted, concerns, ChangedFields::removed(&*client));
    // Again, for tokens that were issued while the record still existed.
    ending::tokens_of_client(&call, &client.client_id).await?;
    Ok(done())
}
