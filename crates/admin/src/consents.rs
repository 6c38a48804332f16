//! The consents that users gave to clients.

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::ClientId;

use crate::call::{Call, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference, wrapped};
use crate::{ending, users};

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/users/{user_id}/consents/{client_id}";
    let list_of = json!({
        "type": "object",
        "required": ["consents"],
        "properties": { "consents": { "type": "array", "items": reference("Consent") } },
    });
    vec![
        Operation::get("/users/{user_id}/consents", "Lists what a user allowed", list).answers(200, list_of),
        Operation::get(ONE, "Shows what a user allowed a client", show)
            .answers(200, wrapped("consent", "Consent")),
        Operation::plain(
            Method::DELETE,
            ONE,
            "Takes a consent back and ends what was granted by it",
            withdraw,
        )
        .answers(204, Value::Null),
    ]
}

fn view(client: &ClientId, consent: &Consent) -> Value {
    json!({ "client_id": client, "scope": consent.scope, "granted_at": consent.granted_at })
}

async fn list(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let given = call.app.store.consents_of(call.id(), &user.id).await?;
    let consents: Vec<Value> = given.iter().map(|(client, consent)| view(client, consent)).collect();
    Ok(ok(&json!({ "consents": consents })))
}

async fn show(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let client: ClientId = call.path("client_id")?;
    let consent = call.app.store.consent(call.id(), &user.id, &client).await?.ok_or_else(unknown)?;
    Ok(ok(&json!({ "consent": view(&client, &consent) })))
}

async fn withdraw(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let client: ClientId = call.path("client_id")?;
    if call.app.store.consent(call.id(), &user.id, &client).await?.is_none() {
        return Err(unknown());
    }
    if !ending::consent(&call, &user.id, &client).await? {
        // Another request withdrew it at the same time, and revokes the same tokens.
        return Err(unknown());
    }
    Ok(done())
}

fn unknown() -> AdminError {
    AdminError::not_found("the user has not allowed this client anything")
}
