//! Who users are to other providers: shown, and disconnected. An identity is named by the key of its provider, of which a user has
//! one identity at most.

use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::identity_provider::{Identity, IdentityProvider};
use symbolon_store::port::IdentityUnlink;

use crate::call::{Call, Concerns, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use crate::users;
use symbolon_app::audit::ChangedFields;

pub(super) fn operations() -> Vec<Operation> {
    let all = json!({
        "type": "object",
        "required": ["identities"],
        "properties": { "identities": { "type": "array", "items": reference("Identity") } },
    });
    vec![
        Operation::get("/users/{user_id}/identities", "Lists who a user is to other providers", list)
            .answers(200, all),
        Operation::delete(
            "/users/{user_id}/identities/{identity_id}",
            "Disconnects a user from another provider, even if nothing is left to sign in with",
            remove,
        )
        .answers(204, Value::Null),
    ]
}

/// An identity as JSON. Its provider is `null` where it is no more.
fn view(identity: &Identity, providers: &[IdentityProvider]) -> Value {
    let provider = providers.iter().find(|own| own.key == identity.provider);
    json!({
        "id": identity.provider,
        "identity_provider": provider.map(|own| &own.id),
        "subject": identity.subject,
        "label": identity.label,
        "linked_at": identity.linked_at,
    })
}

async fn list(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let providers = call.app.store.settings(call.id()).await?.identity_providers;
    let own = call.app.store.identities_of(call.id(), &user.id).await?;
    let all: Vec<Value> = own.iter().map(|identity| view(identity, &providers)).collect();
    Ok(ok(&json!({ "identities": all })))
}

async fn remove(call: Call) -> Answer {
    let unknown = || AdminError::not_found("the user has no such identity");
    let user = users::load(&call).await?;
    let id = call.path.iter().find(|(name, _)| name == "identity_id").map_or("", |(_, id)| id.as_str());
    let providers = call.app.store.settings(call.id()).await?.identity_providers;
    let own = call.app.store.identities_of(call.id(), &user.id).await?;
    let identity = own.iter().find(|identity| identity.provider == id).ok_or_else(unknown)?;
    // Nothing need be left to sign in with: an administrator can set a password, or invite anew.
    match call.app.store.unlink_identity(call.id(), &user.id, id, None).await? {
        IdentityUnlink::Unlinked => {}
        IdentityUnlink::NotLinked | IdentityUnlink::LastWay => return Err(unknown()),
    }
    let view = view(identity, &providers);
    let detail = json!({ "identity_provider": view.get("identity_provider"), "subject": identity.subject });
    let concerns = Concerns { user: Some(&user.id), client: None, detail };
    call.audit(Event::IdentityUnlinked, concerns, ChangedFields::removed(&view));
    Ok(done())
}
