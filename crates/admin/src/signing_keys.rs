//! Signing keys: listed, rotated, revoked. Private keys are never returned.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::Kid;
use symbolon_protocol::key::{self, KeyRecord, KeyState};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Changed;

use crate::call::{Call, Concerns, Payload, ok};
use crate::ending;
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use symbolon_app::audit::ChangedFields;
use symbolon_app::issuer::{self, IssuerError};

pub(super) fn operations() -> Vec<Operation> {
    let keys = || {
        json!({
            "type": "object",
            "required": ["keys"],
            "properties": { "keys": { "type": "array", "items": reference("SigningKey") } },
        })
    };
    vec![
        Operation::get("/signing-keys", "Lists the signing keys in every state", list).answers(200, keys()),
        Operation::get(
            "/signing-keys/status",
            "Says per algorithm what signs, and when it is replaced",
            status,
        )
        .answers(200, reference("SigningKeyStatus")),
        Operation::taking(
            Method::POST,
            "/signing-keys/rotate",
            "RotateKey",
            "Replaces the active key by the next one, from its `signs_from` on; the old one still verifies",
            rotate,
        )
        .answers(200, keys()),
        Operation::taking(
            Method::POST,
            "/signing-keys/emergency-rotate",
            "EmergencyRotateKey",
            "Revokes a key at once, the active one where none is named, and signs with another",
            emergency_rotate,
        )
        .answers(200, keys()),
        Operation::taking(
            Method::POST,
            "/signing-keys/{kid}/revoke",
            "RevokeKey",
            "Revokes a key at once: nothing that it signed is good any more",
            revoke,
        )
        .answers(200, keys()),
    ]
}

fn view(key: &KeyRecord) -> Value {
    json!({
        "kid": key.kid,
        "algorithm": key.algorithm,
        "state": key.state,
        "created_at": key.created_at,
        "signs_from": key.signs_from.or(key.activated_at),
        "activated_at": key.activated_at,
        "retired_at": key.retired_at,
        "gone_at": key.gone_at,
        "reason": key.reason,
    })
}

/// The present keys. A next key whose time has come is shown as active, even if its record has not been updated yet.
async fn current(call: &Call) -> Result<Vec<KeyRecord>, AdminError> {
    let mut keys = call.app.store.keys(call.id()).await?;
    if key::is_take_over_due(&keys, call.now()) {
        key::take_over(&mut keys, call.now(), ending::longest(call).await?);
    }
    Ok(keys)
}

async fn listed(call: &Call) -> Answer {
    let keys = current(call).await?;
    Ok(ok(&json!({ "keys": keys.iter().map(view).collect::<Vec<_>>() })))
}

async fn list(call: Call) -> Answer {
    listed(&call).await
}

async fn status(call: Call) -> Answer {
    let keys = current(&call).await?;
    let (settings, ring) = (call.issuer.settings.load_full(), call.issuer.keys.load_full());
    let due: Vec<Algorithm> = key::rotation_due(&keys, &settings, call.now()).collect();
    let interval = u64::from(settings.key_rotation_days) * 86_400_000;
    let of = |active: &KeyRecord| {
        let next = keys.iter().find(|key| key.algorithm == active.algorithm && key.state == KeyState::Next);
        let since = active.activated_at.unwrap_or(active.created_at);
        json!({
            "algorithm": active.algorithm,
            "active": active.kid,
            "next": next.map(|key| &key.kid),
            "next_signs_from": next.and_then(|key| key.signs_from),
            "activated_at": since,
            "rotates_at": (interval > 0).then(|| since.millis().saturating_add(interval)),
            "rotation_due": due.contains(&active.algorithm),
        })
    };
    let algorithms: Vec<Value> = keys.iter().filter(|key| key.state == KeyState::Active).map(of).collect();
    let default = settings.signing_algorithm;
    Ok(ok(&json!({
        "default_algorithm": default,
        "signs_with": ring.algorithm(&settings, call.now()),
        "signs_from": ring.signs_from(default, call.now()),
        "algorithms": algorithms,
    })))
}

/// Makes a key for the call's issuer.
type Maker<'a> = dyn FnMut(Algorithm) -> Result<KeyRecord, IssuerError> + 'a;

/// Changes the key set by a rule, on a blocking thread. If another change was faster, applies the rule once more to its
/// result. Also returns what changed: the caller records it, and then puts it [into effect](take_effect).
async fn change<R, F>(call: &Call, rule: F) -> Result<(R, ChangedFields), AdminError>
where
    R: Send + 'static,
    F: Fn(&mut Vec<KeyRecord>, &mut Maker<'_>) -> Result<R, IssuerError> + Clone + Send + 'static,
{
    for _ in 0..2 {
        let seen = call.app.store.keys(call.id()).await?;
        let (mut keys, rule) = (seen.clone(), rule.clone());
        let (id, master, now) = (call.id().clone(), call.app.master.load_full(), call.now());
        let longest = match key::is_take_over_due(&keys, now) {
            true => Some(ending::longest(call).await?),
            false => None,
        };
        let generator = Arc::clone(&call.app.key_generator);
        let decided = tokio::task::spawn_blocking(move || {
            let mut make = |algorithm| issuer::new_key(&*generator, &id, algorithm, &master, now);
            if let Some(longest) = longest {
                key::settle(&mut keys, now, longest, &mut make)?;
            }
            rule(&mut keys, &mut make).map(|value| (value, keys))
        });
        let (value, keys) = decided.await.map_err(AdminError::internal)??;
        if keys == seen {
            return Ok((value, ChangedFields::of_keys(&seen, &keys)));
        }
        match call.app.store.put_keys(call.id(), &seen, &keys).await {
            Ok(()) => return Ok((value, ChangedFields::of_keys(&seen, &keys))),
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Conflict.into())
}

/// On return the keys as they are stored are in effect on this node.
async fn take_effect(call: &Call) -> Result<(), AdminError> {
    Ok(call.app.follow(&Changed::Keys(call.id().clone())).await?)
}

/// Ensures that the issuer has signing keys for these algorithms, for clients that ask for them by name.
///
/// # Errors
/// The store's error, or a key could not be made.
pub(super) async fn ensure(
    call: &Call,
    named: impl Iterator<Item = Algorithm> + Send,
) -> Result<(), AdminError> {
    let (ring, now) = (call.issuer.keys.load_full(), call.now());
    let signs =
        |algorithm| key::active(ring.records(), algorithm).is_some() || ring.known(algorithm, now).is_some();
    let missing: Vec<Algorithm> = named.filter(|algorithm| !signs(*algorithm)).collect();
    make(call, missing, |keys, algorithm, now, mut maker| {
        key::serve_by_name(keys, algorithm, now, &mut maker)
    })
    .await
}

/// Ensures that there is a key of an algorithm that signs, or will sign as soon as relying parties know it.
///
/// # Errors
/// The store's error, or a key could not be made.
pub(super) async fn introduce(call: &Call, algorithm: Algorithm) -> Result<(), AdminError> {
    let missing = call.issuer.keys.load().signing(algorithm, call.now()).is_none();
    let missing = missing.then_some(algorithm).into_iter().collect();
    make(call, missing, |keys, algorithm, now, mut maker| key::introduce(keys, algorithm, now, &mut maker))
        .await
}

/// One of the functions of [`key`] that make keys of an algorithm.
type MakingRule = fn(&mut Vec<KeyRecord>, Algorithm, Timestamp, &mut Maker<'_>) -> Result<bool, IssuerError>;

async fn make(call: &Call, missing: Vec<Algorithm>, rule: MakingRule) -> Result<(), AdminError> {
    if missing.is_empty() {
        return Ok(());
    }
    let (now, algorithms) = (call.now(), missing.clone());
    let ((), changed) = change(call, move |keys, maker| {
        for algorithm in &algorithms {
            rule(keys, *algorithm, now, maker)?;
        }
        Ok(())
    })
    .await?;
    call.audit(
        Event::KeyCreated,
        Concerns { detail: json!({ "algorithms": missing }), ..Concerns::default() },
        changed,
    );
    take_effect(call).await
}

async fn rotate(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.optional_fields().await?;
    let named: Option<Algorithm> = fields.take("algorithm")?;
    fields.finish()?;
    let algorithm = named.unwrap_or_else(|| call.issuer.settings.load().signing_algorithm);
    let (now, longest) = (call.now(), ending::longest(&call).await?);
    let ((), changed) = change(&call, move |keys, mut maker| {
        key::rotate(keys, algorithm, now, longest, &mut maker)?;
        key::drop_gone(keys, now);
        Ok(())
    })
    .await?;
    call.audit(
        Event::KeyRotated,
        Concerns { detail: json!({ "algorithm": algorithm }), ..Concerns::default() },
        changed,
    );
    take_effect(&call).await?;
    listed(&call).await
}

/// Why a key is revoked, for its record.
fn reason(fields: &mut super::fields::Fields) -> Result<Option<String>, AdminError> {
    fields.text("reason")
}

async fn emergency_rotate(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let reason = reason(&mut fields)?.ok_or_else(|| AdminError::invalid("reason is required"))?;
    let (named, algorithm): (Option<Kid>, _) = (fields.take("kid")?, fields.take("algorithm")?);
    fields.finish()?;
    let kid = match named {
        Some(kid) => kid,
        None => {
            let keys = current(&call).await?;
            let signs = || call.issuer.keys.load().algorithm(&call.issuer.settings.load(), call.now());
            let active = key::active(&keys, algorithm.unwrap_or_else(signs)).map(|key| key.kid.clone());
            active.ok_or_else(|| AdminError::not_found("no key of this algorithm is active"))?
        }
    };
    revoked(&call, kid, Some(reason)).await
}

async fn revoke(call: Call, payload: Payload) -> Answer {
    let kid: Kid = call.path("kid")?;
    let mut fields = payload.optional_fields().await?;
    let reason = reason(&mut fields)?;
    fields.finish()?;
    revoked(&call, kid, reason).await
}

async fn revoked(call: &Call, kid: Kid, reason: Option<String>) -> Answer {
    let (now, longest) = (call.now(), ending::longest(call).await?);
    let (named, why) = (kid.clone(), reason.clone());
    let (was_live, changed) =
        change(call, move |keys, mut maker| key::revoke(keys, &named, why.clone(), now, longest, &mut maker))
            .await?;
    if !was_live {
        return Err(AdminError::not_found("there is no such key, or it is revoked already"));
    }
    let detail = json!({ "kid": kid, "reason": reason });
    call.audit(Event::KeyRevoked, Concerns { detail, ..Concerns::default() }, changed);
    take_effect(call).await?;
    listed(call).await
}
