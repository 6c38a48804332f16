//! What a user has granted to clients: consents and refresh-token families, joined by client.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use symbolon_app::grants;
use symbolon_protocol::id::ClientId;

use crate::call::{Call, done, ok};
use crate::error::Answer;
use crate::operation::{Operation, reference};
use crate::{ending, users};

pub(super) fn operations() -> Vec<Operation> {
    const ALL: &str = "/users/{user_id}/grants";
    let list_of = json!({
        "type": "object",
        "required": ["grants"],
        "properties": { "grants": { "type": "array", "items": reference("Grant") } },
    });
    vec![
        Operation::get(ALL, "Lists what each client has of a user: consent and refresh tokens", list)
            .answers(200, list_of),
        Operation::delete(
            ALL,
            "Ends everything that clients have of a user: consents, refresh and access tokens",
            end_all,
        )
        .answers(204, Value::Null),
        Operation::delete(
            "/users/{user_id}/grants/{client_id}",
            "Ends what a client has of a user: consent, refresh and access tokens",
            end_one,
        )
        .answers(204, Value::Null),
        Operation::plain(
            Method::POST,
            "/users/{user_id}/sign-out",
            "Signs a user out everywhere: ends all sessions and tokens, offline ones too; consents stay",
            sign_out,
        )
        .answers(204, Value::Null),
    ]
}

async fn list(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let mut grants = Vec::new();
    for (id, grant) in grants::of_user(&call.app, &call.issuer, &user.id).await? {
        let client = call.app.client_at_hand(&call.issuer, &id).await?;
        grants.push(grant.view(&id, client.as_deref().map(|client| client.client_name.as_str())));
    }
    Ok(ok(&json!({ "grants": grants })))
}

async fn end_one(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let client: ClientId = call.path("client_id")?;
    ending::consent(&call, &user.id, &client).await?;
    Ok(done())
}

async fn end_all(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let mut clients: BTreeSet<ClientId> =
        grants::of_user(&call.app, &call.issuer, &user.id).await?.into_keys().collect();
    // Access tokens need neither a refresh token nor a consent: the clients of the user's sessions may hold some too.
    clients.extend(grants::clients_of_sessions(&call.app, &call.issuer, &user.id).await?.into_keys());
    for client in &clients {
        ending::consent(&call, &user.id, client).await?;
    }
    Ok(done())
}

async fn sign_out(call: Call) -> Answer {
    let user = users::load(&call).await?;
    ending::signed_in(&call, &user.id).await?;
    Ok(done())
}
