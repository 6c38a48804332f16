//! Clients that register themselves (RFC 7591), and manage their registration (RFC 7592).

mod bearer;
mod initial_access;
mod manage;
mod software_statement;

pub(super) use manage::{read, remove, update};

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::Metadata;
use symbolon_protocol::client_registration as rule;
use symbolon_protocol::discovery::{self, path};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_store::port::{Created, PageRequest};

use symbolon_app::audit::{Actor, AuditEntry, ChangedFields};
use symbolon_app::client_registration::policy;
use symbolon_app::http::{Call, Context, Failure, json as json_answer, no_store};

/// `POST /connect/register` (RFC 7591 3.1).
///
/// # Errors
/// [`Failure`]: those of RFC 7591 3.2.2; a challenge of RFC 6750 3 for the initial access token; 403 where nobody may
/// register, or too many have.
pub(super) async fn register(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let settings = issuer.settings.load_full();
    check_is_on(&settings)?;
    let now = app.now();
    let initial = initial_access::presented(issuer, &settings, &received.headers, now)?;
    let policy = policy(issuer, &settings, now);
    let mut metadata = metadata(&received.form)?;
    // Boxed, because it may have to ask for keys.
    let statement = Box::pin(software_statement::settle(context, &mut metadata, None)).await?;
    let registered = rule::register(metadata, &policy, &issuer.client_secret_key, now, &*app.random)?;
    check_room(context, settings.client_registration_most_clients).await?;
    let checked = app.check_sector(&issuer.id, None, &registered.registration.client).await;
    checked.map_err(rule::as_registration)?;
    if let Some(token) = &initial {
        // Last: whoever is refused may correct what was sent, and use the token then.
        initial_access::use_up(context, token, durable).await?;
    }
    let rule::Registered { registration, registration_access_token } = registered;
    let mut made = registration.client;
    rule::software_statement::note(&mut made, statement);
    let made = Arc::new(made);
    app.record_needs_of(issuer, &made).await?;
    if app.store.create_client(&issuer.id, (*made).clone()).await? == Created::Exists {
        return Err(Failure::Internal("a client_id was drawn twice".into()));
    }
    let detail = match &initial {
        Some(token) => json!({ "by": "registration", "initial_access_token": token.id }),
        None => json!({ "by": "registration" }),
    };
    audit(context, (Event::ClientCreated, detail), &made.client_id, ChangedFields::made(&*made));
    *client = Some(Arc::clone(&made));
    let secrets = Secrets {
        client_secret: registration.client_secret.as_ref(),
        registration_access_token: registration_access_token.expose(),
    };
    Ok(answer(context, StatusCode::CREATED, &made, &secrets))
}

/// # Errors
/// 403: no application registers itself at this issuer.
fn check_is_on(settings: &IssuerSettings) -> Result<(), Failure> {
    if !settings.client_registration.is_off() {
        return Ok(());
    }
    let told = "applications do not register themselves here: ask an administrator";
    Err(Failure::Forbidden(OAuthError::new(ErrorCode::AccessDenied, Reason::ClientRegistrationOff, told)))
}

/// # Errors
/// 403: the issuer has so many clients. As this is looked at before the client is created, requests at the same time
/// may exceed the bound by as many as they are.
async fn check_room(context: &Context, most: u32) -> Result<(), Failure> {
    // The last client that there may be is on this page, so no more than that many are counted.
    let last = PageRequest { page: most, limit: 1, search: None };
    let clients = context.app.store.list_clients(&context.issuer.id, &last).await?.total;
    if clients < u64::from(most) {
        return Ok(());
    }
    let told = "there are as many clients as may be: ask an administrator";
    Err(Failure::Forbidden(OAuthError::new(ErrorCode::AccessDenied, Reason::ClientsTooMany, told)))
}

/// The body: a JSON object (RFC 7591 3.1).
///
/// # Errors
/// `invalid_client_metadata`
fn metadata(body: &[u8]) -> Result<Metadata, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        let told = format!("the body is no JSON object: {error}");
        OAuthError::with(ErrorCode::InvalidClientMetadata, Reason::NotJson, told).into()
    })
}

/// What only the client itself is told.
struct Secrets<'a> {
    /// If it is new.
    client_secret: Option<&'a SecretString>,
    registration_access_token: &'a str,
}

/// What the client is told of its registration (RFC 7591 3.2.1, RFC 7592 3). It has secrets, so it is not cached.
fn answer(context: &Context, status: StatusCode, client: &Client, secrets: &Secrets<'_>) -> Response {
    let Context { app, issuer, .. } = context;
    let endpoint = discovery::endpoint(&issuer.url, path::REGISTRATION);
    let uri = format!("{endpoint}/{}", client.client_id);
    let algorithm = issuer.keys.load().algorithm(&issuer.settings.load(), app.now());
    let Secrets { client_secret, registration_access_token } = *secrets;
    let told = rule::information(client, client_secret, registration_access_token, &uri, algorithm);
    no_store(json_answer(status, Value::Object(told).to_string()))
}

/// Records what a client did to its registration.
fn audit(context: &Context, (event, detail): (Event, Value), client: &ClientId, changed: ChangedFields) {
    let entry = AuditEntry {
        event,
        user: None,
        client: Some(client.clone()),
        actor: Actor::Client,
        address: Some(context.remote),
        request: Some(context.id.clone()),
        detail: changed.onto(detail),
    };
    context.app.audit.record(&context.issuer.id, entry, context.app.now());
}
