//! The settings of an issuer, as a whole and in parts. The names of the parts are those that load scripts use.

mod attributes;
mod client_registration;
mod named;
pub(super) mod rule;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::trusted_issuer;
use symbolon_store::StoreError;
use symbolon_store::port::{Changed, SettingsUpdate};

use crate::call::{Call, Concerns, Payload, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use crate::signing_keys;
use symbolon_app::audit::ChangedFields;
use symbolon_app::issuer::{longest_life, warn_of_weak_settings};

pub(super) fn operations() -> Vec<Operation> {
    let settings = || reference("IssuerSettingsInEffect");
    let mut operations = vec![
        Operation::get("/settings", "Shows the issuer's settings", show).answers(200, settings()),
        Operation::taking(
            Method::PUT,
            "/settings",
            "IssuerSettings",
            "Replaces the settings; what is left out goes back to its default",
            replace,
        )
        .answers(200, settings()),
        Operation::taking(
            Method::PATCH,
            "/settings",
            "IssuerSettings",
            "Changes the settings that are named",
            patch,
        )
        .answers(200, settings()),
    ];
    operations.extend(named::operations());
    operations.extend(attributes::operations());
    operations
}

fn view(call: &Call, settings: &IssuerSettings) -> Value {
    let signs_from = call.issuer.keys.load().signs_from(settings.signing_algorithm, call.now());
    json!({ "settings": rule::shown(settings), "signs_from": signs_from })
}

async fn show(call: Call) -> Answer {
    Ok(ok(&view(&call, &call.app.store.settings(call.id()).await?)))
}

async fn replace(call: Call, payload: Payload) -> Answer {
    let document = payload.object().await?;
    let settings = change(&call, |seen| {
        let settings = rule::read(rule::document(&IssuerSettings::default()), document.clone())?;
        // It follows from the users, and a document that is put again must not make imported hashes tell themselves by
        // the time. Only who names it lowers it.
        let named = document.contains_key("password_work_kib");
        let password_work_kib = if named { settings.password_work_kib } else { seen.password_work_kib };
        Ok(IssuerSettings { password_work_kib, ..settings })
    })
    .await?;
    Ok(ok(&view(&call, &settings)))
}

async fn patch(call: Call, payload: Payload) -> Answer {
    let named = payload.object().await?;
    let settings = change(&call, |current| rule::read(rule::document(current), named.clone())).await?;
    Ok(ok(&view(&call, &settings)))
}

/// Changes the settings by a rule; on return they are in effect on this node. If another change was faster, applies
/// the rule once more to its result.
///
/// # Errors
/// The rule's error, or the store's.
async fn change(
    call: &Call,
    rule: impl Fn(&IssuerSettings) -> Result<IssuerSettings, AdminError> + Send + Sync,
) -> Result<IssuerSettings, AdminError> {
    for _ in 0..2 {
        let seen = call.app.store.settings(call.id()).await?;
        let mut settings = IssuerSettings {
            outlived: seen.outlived,
            signing_algorithm_before: seen.signing_algorithm_before,
            clients_define_claims: seen.clients_define_claims,
            clients_sign_userinfo: seen.clients_sign_userinfo,
            identity_providers: seen.identity_providers.clone(),
            ..rule(&seen)?
        };
        rule::check(&settings)?;
        check_trusted_issuers(call, &settings)?;
        if settings == seen {
            return Ok(settings);
        }
        find_roles(call, &seen, &settings).await?;
        if settings.lifetimes != seen.lifetimes {
            let (store, now) = (&*call.app.store, call.now());
            let possible =
                longest_life(store, call.id(), &IssuerSettings { outlived: None, ..seen.clone() }).await?;
            if possible > longest_life(store, call.id(), &settings).await? {
                settings.outlive(possible, now);
            }
        }
        if settings.signing_algorithm != seen.signing_algorithm {
            signing_keys::introduce(call, settings.signing_algorithm).await?;
            let (keys, now) = (call.issuer.keys.load(), call.now());
            let known = keys.known(settings.signing_algorithm, now).is_some();
            settings.signing_algorithm_before = (!known).then(|| keys.algorithm(&seen, now));
        }
        match call.app.store.put_settings(call.id(), &seen, settings.clone()).await {
            Ok(SettingsUpdate::Written) => {
                let changed = ChangedFields::between(&rule::document(&seen), &rule::document(&settings));
                call.audit(Event::SettingsUpdated, Concerns::default(), changed);
                call.app.follow(&Changed::Settings(call.id().clone())).await?;
                if settings.pkce.is_below_default() && settings.pkce != seen.pkce {
                    warn_of_weak_settings(&call.issuer.url, &settings);
                }
                return Ok(settings);
            }
            Ok(SettingsUpdate::NotUnique { attribute, users: [one, other] }) => {
                return Err(AdminError::conflict(format!(
                    "attributes.{attribute} cannot be unique while the users {one} and {other} have the same value: \
                     change one of them first"
                )));
            }
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Conflict.into())
}

/// Checks the issuers that are trusted, whose addresses depend on what this server may call.
///
/// # Errors
/// 400 that says which member is wrong.
fn check_trusted_issuers(call: &Call, settings: &IssuerSettings) -> Result<(), AdminError> {
    let may_be_plain = call.app.config.load().outbound.allow_private;
    trusted_issuer::check(&settings.trusted_issuers, &call.issuer.url, may_be_plain)
        .map_err(AdminError::invalid)
}

/// Looks for the roles that are newly named: of a slip of the pen nobody would notice that it protects nothing.
///
/// # Errors
/// 400 that names the role, or the store's.
async fn find_roles(call: &Call, seen: &IssuerSettings, settings: &IssuerSettings) -> Result<(), AdminError> {
    let before = seen.second_factor_roles.ids();
    for id in settings.second_factor_roles.ids().iter().filter(|id| !before.contains(id)) {
        if call.app.store.role(call.id(), id).await?.is_none() {
            return Err(AdminError::invalid(format!("second_factor_roles has {id}, which is no role's id")));
        }
    }
    Ok(())
}

/// Records that tokens with this lifetime may have been issued, before the lifetime is reduced, so that tombstones
/// are kept long enough.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn outlive(call: &Call, life: Duration) -> Result<(), AdminError> {
    call.app.record_in_settings(call.id(), |settings| settings.outlive(life, call.now())).await?;
    Ok(())
}

/// Makes the issuer answer every attempt at a password as late as a hash of this work takes, before such a hash is saved:
/// otherwise the time would tell that it was imported, and whose it is.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn cover_password_work(call: &Call, work_kib: u64) -> Result<(), AdminError> {
    let is_covered = |settings: &IssuerSettings| settings.password_work_kib.is_some_and(|it| it >= work_kib);
    if work_kib <= call.app.passwords.answer_work_kib() || is_covered(&call.issuer.settings.load()) {
        return Ok(());
    }
    change(call, |seen| {
        let password_work_kib = if is_covered(seen) { seen.password_work_kib } else { Some(work_kib) };
        Ok(IssuerSettings { password_work_kib, ..seen.clone() })
    })
    .await
    .map(|_| ())
}
