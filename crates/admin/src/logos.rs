//! The logos of an issuer and of its clients. The body of a change is the image itself.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::logo::{self, Logo};
use symbolon_store::port::Changed;

use crate::call::{Call, Concerns, Payload, done, ok};
use crate::clients;
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, wrapped};
use symbolon_app::audit::ChangedFields;
use symbolon_app::http::no_store;

pub(super) fn operations() -> Vec<Operation> {
    const OWN: &str = "/branding/logo";
    const OF_CLIENT: &str = "/clients/{client_id}/logo";
    let logo = || wrapped("logo", "Logo");
    vec![
        Operation::get(OWN, "Shows the issuer's logo: the image itself", |call| show(call, Owner::Issuer))
            .answers_image(),
        Operation::taking_image(
            OWN,
            "Puts the issuer's logo, which is the body, in the place of the one before",
            |call, payload| put(call, payload, Owner::Issuer),
        )
        .answers(200, logo()),
        Operation::delete(OWN, "Deletes the issuer's logo", |call| remove(call, Owner::Issuer))
            .answers(204, Value::Null),
        Operation::get(OF_CLIENT, "Shows a client's logo: the image itself", |call| {
            show(call, Owner::Client)
        })
        .answers_image(),
        Operation::taking_image(
            OF_CLIENT,
            "Puts a client's logo, which is the body, in the place of the one before",
            |call, payload| put(call, payload, Owner::Client),
        )
        .answers(200, logo()),
        Operation::delete(OF_CLIENT, "Deletes a client's logo", |call| remove(call, Owner::Client))
            .answers(204, Value::Null),
    ]
}

/// Whose logo an operation is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Issuer,
    /// The client in the path.
    Client,
}

impl Owner {
    /// The client, if it is one.
    ///
    /// # Errors
    /// 404: there is no such client.
    async fn client(self, call: &Call) -> Result<Option<ClientId>, AdminError> {
        match self {
            Self::Issuer => Ok(None),
            Self::Client => Ok(Some(clients::load(call).await?.client_id.clone())),
        }
    }
}

fn view(logo: &Logo, client: Option<&ClientId>, prefix: &str) -> Value {
    json!({
        "media_type": logo.media_type(),
        "bytes": logo.content().len(),
        "digest": logo.digest(),
        "path": format!("{prefix}{}", logo.address(client)),
    })
}

fn missing() -> AdminError {
    AdminError::not_found("there is no logo")
}

async fn show(call: Call, owner: Owner) -> Answer {
    let client = owner.client(&call).await?;
    let logo = call.app.store.logo(call.id(), client.as_ref()).await?.ok_or_else(missing)?;
    let mut response = Response::new(Body::from(Bytes::copy_from_slice(logo.content())));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(logo.media_type()));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = HeaderValue::from_static(logo::CONTENT_SECURITY_POLICY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(no_store(response))
}

async fn put(call: Call, payload: Payload, owner: Owner) -> Answer {
    let client = owner.client(&call).await?;
    let logo = payload.logo().await?;
    let before = call.app.store.logo(call.id(), client.as_ref()).await?;
    if !call.app.store.put_logo(call.id(), client.as_ref(), logo.clone()).await? {
        return Err(AdminError::not_found("there is no such client"));
    }
    record(&call, client.as_ref(), before.as_ref(), Some(&logo)).await?;
    Ok(ok(&json!({ "logo": view(&logo, client.as_ref(), &call.issuer.prefix) })))
}

async fn remove(call: Call, owner: Owner) -> Answer {
    let client = owner.client(&call).await?;
    let before = call.app.store.logo(call.id(), client.as_ref()).await?;
    if !call.app.store.delete_logo(call.id(), client.as_ref()).await? {
        return Err(missing());
    }
    record(&call, client.as_ref(), before.as_ref(), None).await?;
    Ok(done())
}

/// Puts a change into the audit log, and brings it into effect on this node.
async fn record(
    call: &Call,
    client: Option<&ClientId>,
    before: Option<&Logo>,
    after: Option<&Logo>,
) -> Result<(), AdminError> {
    let of =
        |logo: Option<&Logo>| json!({ "logo": logo.map(|logo| view(logo, client, &call.issuer.prefix)) });
    let changed = ChangedFields::between(&of(before), &of(after));
    let event = if client.is_some() { Event::ClientUpdated } else { Event::SettingsUpdated };
    call.audit(event, Concerns { client, ..Concerns::default() }, changed);
    match client {
        Some(_) => Ok(()),
        None => Ok(call.app.follow(&Changed::Settings(call.id().clone())).await?),
    }
}
