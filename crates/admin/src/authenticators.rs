//! What users have enrolled to prove who they are, besides the password: shown without secrets, and removed for those who
//! lost it.

use serde_json::{Value, json};
use symbolon_mail::Message;
use symbolon_protocol::authenticator::{AuthenticatorSet, Passkey};
use symbolon_protocol::event::Event;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::AuthenticatorUpdate;

use crate::call::{Call, Concerns, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, wrapped};
use crate::users;
use symbolon_app::audit::ChangedFields;

/// How often a removal is tried that somebody else's change overtakes.
const TRIES: u32 = 8;

pub(super) fn operations() -> Vec<Operation> {
    const ALL: &str = "/users/{user_id}/authenticators";
    const TOTP: &str = "/users/{user_id}/authenticators/totp";
    const RECOVERY_CODES: &str = "/users/{user_id}/authenticators/recovery-codes";
    const PASSKEY: &str = "/users/{user_id}/authenticators/passkeys/{passkey_id}";
    vec![
        Operation::get(ALL, "Shows the passkeys and second factors of a user", list)
            .answers(200, wrapped("authenticators", "Authenticators")),
        Operation::delete(ALL, "Removes every passkey and second factor of a user", remove_all)
            .answers(204, Value::Null),
        Operation::delete(TOTP, "Removes a user's generator of one-time passwords", remove_totp)
            .answers(204, Value::Null),
        Operation::delete(RECOVERY_CODES, "Removes a user's recovery codes", remove_recovery_codes)
            .answers(204, Value::Null),
        Operation::delete(PASSKEY, "Removes a passkey of a user", remove_passkey).answers(204, Value::Null),
    ]
}

/// What administrators may see: never a key, a secret or a digest.
fn view(set: &AuthenticatorSet) -> Value {
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

async fn list(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let enrolled = call.app.store.authenticators(call.id(), &user.id).await?;
    Ok(ok(&json!({ "authenticators": view(&enrolled.set) })))
}

async fn remove_all(call: Call) -> Answer {
    remove(&call, |set| set.emptied()).await?;
    Ok(done())
}

async fn remove_totp(call: Call) -> Answer {
    one(remove(&call, |set| AuthenticatorSet { totp: None, ..set }).await?)
}

async fn remove_recovery_codes(call: Call) -> Answer {
    one(remove(&call, |set| AuthenticatorSet { recovery_codes: Vec::new(), ..set }).await?)
}

async fn remove_passkey(call: Call) -> Answer {
    let id = call.path.iter().find(|(name, _)| name == "passkey_id").map_or("", |(_, id)| id.as_str());
    let without = |mut set: AuthenticatorSet| {
        set.passkeys.retain(|passkey| passkey.id != id);
        set
    };
    one(remove(&call, without).await?)
}

/// 404 where there was nothing to remove.
fn one(is_removed: bool) -> Answer {
    match is_removed {
        true => Ok(done()),
        false => Err(AdminError::not_found("the user has no such authenticator")),
    }
}

/// Leaves a user what `without` leaves of the authenticators; returns whether that is less than there was. A sign-in that
/// uses one at the same time is not lost: the removal begins anew.
async fn remove(
    call: &Call,
    without: impl Fn(AuthenticatorSet) -> AuthenticatorSet,
) -> Result<bool, AdminError> {
    let user = users::load(call).await?;
    for _ in 0..TRIES {
        let before = call.app.store.authenticators(call.id(), &user.id).await?;
        let after = without(before.set.clone());
        if after == before.set {
            return Ok(false);
        }
        match call.app.store.put_authenticators(call.id(), &user.id, before.revision, &after).await? {
            AuthenticatorUpdate::Written => {
                let changed = ChangedFields::between(&view(&before.set), &view(&after));
                let concerns =
                    Concerns { user: Some(&user.id), client: None, detail: removed(&before.set, &after) };
                call.audit(Event::AuthenticatorsRemoved, concerns, changed);
                tell(call, &user, &before.set, &after).await;
                return Ok(true);
            }
            AuthenticatorUpdate::Overtaken => {}
            AuthenticatorUpdate::UserUnknown => return Err(AdminError::not_found("there is no such user")),
        }
    }
    Err(StoreError::Conflict.into())
}

/// Tells the user by mail of each passkey that is gone, and of the generator.
async fn tell(call: &Call, user: &User, before: &AuthenticatorSet, after: &AuthenticatorSet) {
    let at = call.now();
    for passkey in &before.passkeys {
        if !after.passkeys.contains(passkey) {
            users::tell(call, user, Message::PasskeyRemoved { name: passkey.name.clone(), at }).await;
        }
    }
    if before.totp.is_some() && after.totp.is_none() {
        users::tell(call, user, Message::GeneratorRemoved { at }).await;
    }
}

/// What was removed, for the audit log.
fn removed(before: &AuthenticatorSet, after: &AuthenticatorSet) -> Value {
    let gone = before.passkeys.iter().filter(|passkey| !after.passkeys.contains(passkey));
    let passkeys: Vec<Value> =
        gone.map(|passkey| json!({ "id": passkey.id, "name": passkey.name })).collect();
    json!({
        "passkeys": passkeys,
        "totp": before.totp.is_some() && after.totp.is_none(),
        "recovery_codes": before.recovery_codes.len().saturating_sub(after.recovery_codes.len()),
    })
}
