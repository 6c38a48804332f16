//! Users, their passwords and sessions.

mod attributes;
pub(crate) mod news;
mod record;

use std::sync::Arc;

use axum::response::Response;
use http::Method;
use serde_json::{Map, Value, json};
use symbolon_crypto::secret::SecretString;
use symbolon_mail::Message;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::json::merge_patch;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;
use symbolon_store::port::{Created, UserFilter};

use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::fields::Fields;
use crate::operation::{Operation, PAGE, Parameter, page_of, wrapped};
use crate::{ending, paging, sessions, settings};
use symbolon_app::audit::ChangedFields;
use symbolon_app::http::Failure;

pub(super) use attributes::{check, made, shown, taken, taken_of_new};
pub(super) use news::tell;
#[cfg(any(test, feature = "fuzz"))]
pub(super) use record::view;
pub(super) use record::{Described, GivenPassword, email, id, password};

/// The filter for listing and export.
pub(super) const VERIFIED: Parameter =
    Parameter { name: "verified", kind: "boolean", about: "Whether the address is verified." };

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/users/{user_id}";
    const SESSIONS: &str = "/users/{user_id}/sessions";
    let filters = [
        Parameter { name: "search", kind: "string", about: "Part of an e-mail address, name or id." },
        Parameter { name: "email", kind: "string", about: "Exactly this e-mail address, whatever its case." },
        VERIFIED,
        Parameter {
            name: "preferred_username",
            kind: "string",
            about: "Exactly this user name, whatever its case; several users may have it.",
        },
        attributes::BY_ATTRIBUTE,
    ];
    let user = || wrapped("user", "User");
    let ended = json!({ "type": "object", "properties": { "ended": { "type": "integer" } } });
    vec![
        Operation::get("/users", "Lists users, newest first", list)
            .query(&PAGE)
            .query(&filters)
            .answers(200, page_of("users", "User")),
        Operation::taking(Method::POST, "/users", "NewUser", "Creates a user", create).answers(201, user()),
        Operation::get(ONE, "Shows a user", show).answers(200, user()),
        Operation::taking(Method::PUT, ONE, "UserRecord", "Replaces a user's record", replace)
            .answers(200, user()),
        Operation::taking(Method::PATCH, ONE, "UserRecord", "Changes the members that are named", patch)
            .answers(200, user()),
        Operation::delete(ONE, "Deletes a user and ends sessions and tokens", remove)
            .answers(204, Value::Null),
        Operation::taking(
            Method::POST,
            "/users/{user_id}/password",
            "NewPassword",
            "Sets the password, or removes it where it is null",
            set_password,
        )
        .answers(200, wrapped("left_alive", "LeftAlive")),
        Operation::get(SESSIONS, "Lists a user's live sessions", list_sessions)
            .query(&PAGE)
            .answers(200, page_of("sessions", "Session")),
        Operation::delete(
            SESSIONS,
            "Ends every session of a user, and the tokens bound to them",
            end_sessions,
        )
        .answers(200, ended),
    ]
}

fn unknown() -> AdminError {
    AdminError::not_found("there is no such user")
}

pub(super) fn about(id: &UserId) -> Concerns<'_> {
    Concerns { user: Some(id), ..Concerns::default() }
}

async fn list(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let filter = UserFilter {
        email: call.query("email")?,
        username: call.query("preferred_username")?,
        verified: call.query("verified")?,
        attribute: attributes::wanted(&call)?,
    };
    let found = call.app.store.list_users(call.id(), &filter, &page).await?;
    let settings = call.issuer.settings.load();
    let users: Vec<_> = found.items.iter().map(|user| shown(user, &settings.attributes)).collect();
    Ok(ok(&json!({ "users": users, "pagination": paging::pagination(&page, found.total) })))
}

/// The user named in the path.
pub(super) async fn load(call: &Call) -> Result<Arc<User>, AdminError> {
    let id: UserId = call.path("user_id")?;
    call.app.store.user(call.id(), &id).await?.ok_or_else(unknown)
}

async fn show(call: Call) -> Answer {
    let user = load(&call).await?;
    Ok(ok(&seen(&call, &user)))
}

/// The body of an answer with one user.
fn seen(call: &Call, user: &User) -> Value {
    json!({ "user": shown(user, &call.issuer.settings.load().attributes) })
}

/// The hash to store for a given password.
///
/// # Errors
/// 503 if too many passwords are waiting; 400 for a hash that costs too much to verify, or a breached password.
pub(super) async fn hashed(call: &Call, given: GivenPassword) -> Result<Option<PasswordHash>, AdminError> {
    match given {
        GivenPassword::Plain(password) => {
            check_breached(call, &password).await?;
            Ok(Some(call.app.passwords.hash(password).await.map_err(Failure::from)?))
        }
        GivenPassword::Hash(hash) => {
            check_import(call, &hash)?;
            settings::cover_password_work(call, hash.work_kib()).await?;
            Ok(Some(PasswordHash::new(hash.to_text())))
        }
        GivenPassword::Absent => Ok(None),
    }
}

/// Checks a given password as [`hashed`] does, without hashing or changing anything.
///
/// # Errors
/// 400 for a hash that costs too much to verify, or a breached password.
pub(super) async fn check_password(call: &Call, given: &GivenPassword) -> Result<(), AdminError> {
    match given {
        GivenPassword::Hash(hash) => check_import(call, hash),
        GivenPassword::Plain(password) => check_breached(call, password).await,
        GivenPassword::Absent => Ok(()),
    }
}

/// Refuses a password that is known from a breach (NIST SP 800-63B 5.1.1.2), where the server has a list: whoever sets it, the
/// person signs in with it.
async fn check_breached(call: &Call, password: &SecretString) -> Result<(), AdminError> {
    if call.app.passwords.is_breached(password).await.map_err(Failure::from)? {
        return Err(AdminError::invalid(
            "password stands in the list of breached passwords (breached_passwords_file): give another one",
        ));
    }
    Ok(())
}

fn check_import(call: &Call, hash: &symbolon_crypto::password::PasswordHash) -> Result<(), AdminError> {
    call.app.passwords.check_import(hash).map_err(|error| AdminError::invalid(error.to_string()))
}

async fn create(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let described = Described::read(&mut fields)?;
    let (id, given) = (id(&mut fields, &*call.app.random)?, password(&mut fields)?);
    fields.finish()?;
    let settings = call.issuer.settings.load_full();
    check(&mut settings.attributes.checker(), &described.profile.attributes, None)?;
    let password = hashed(&call, given).await?;
    let user = described.into_user(id, call.now());
    let made = made(&user, password.is_some(), &settings.attributes);
    if call.app.store.create_user(call.id(), user.clone(), password).await? == Created::Exists {
        return Err(taken_of_new(&call, &user.id, &user.profile.attributes).await?);
    }
    call.audit(Event::UserCreated, about(&user.id), made);
    Ok(created(&seen(&call, &user)))
}

async fn replace(call: Call, payload: Payload) -> Answer {
    let document = payload.object().await?;
    refuse_password(&document)?;
    let settings = call.issuer.settings.load_full();
    attributes::refuse_unseen(&document, &settings.attributes)?;
    change(&call, |user| {
        let mut document = document.clone();
        attributes::keep(&mut document, &user.profile.attributes, &settings.attributes);
        document
    })
    .await
}

async fn patch(call: Call, payload: Payload) -> Answer {
    let named = record::with_active_by_its_name(payload.object().await?)?;
    refuse_password(&named)?;
    attributes::refuse_unseen(&named, &call.issuer.settings.load().attributes)?;
    change(&call, |user| {
        let mut document = record::view(user);
        merge_patch(&mut document, named.clone());
        document
    })
    .await
}

/// Refuses a password in an update, because an update does not change it, and the caller would believe that it did.
fn refuse_password(document: &Map<String, Value>) -> Result<(), AdminError> {
    match ["password", "password_hash"].iter().find(|name| document.contains_key(**name)) {
        Some(name) => Err(AdminError::invalid(format!("{name} is set by POST /users/{{user_id}}/password"))),
        None => Ok(()),
    }
}

/// Replaces a user's members. If another change was faster, tries once more on its result.
async fn change(call: &Call, document: impl Fn(&User) -> Map<String, Value> + Send + Sync) -> Answer {
    match changed(call, &document).await? {
        Some(response) => Ok(response),
        None => changed(call, &document).await?.ok_or_else(|| StoreError::Conflict.into()),
    }
}

/// One attempt; `None` if another change was faster.
async fn changed(
    call: &Call,
    document: &(impl Fn(&User) -> Map<String, Value> + Send + Sync),
) -> Result<Option<Response>, AdminError> {
    let before = load(call).await?;
    let mut fields = Fields::new(document(&before));
    let described = Described::read(&mut fields)?;
    if fields.take::<UserId>("id")?.is_some_and(|id| id != before.id) {
        return Err(AdminError::invalid("id cannot be changed"));
    }
    fields.finish()?;
    let settings = call.issuer.settings.load_full();
    let (written, stored) = (&described.profile.attributes, &before.profile.attributes);
    check(&mut settings.attributes.checker(), written, Some(stored))?;
    let user = described.onto(&before, call.now());
    match call.app.store.update_user(call.id(), user.clone(), before.updated_at).await {
        Ok(true) => {}
        Ok(false) => return Err(unknown()),
        // The store returns a conflict also if another user has the new address, or the value of a unique attribute. Only a
        // lost race is tried again.
        Err(StoreError::Conflict) => {
            if load(call).await?.updated_at != before.updated_at {
                return Ok(None);
            }
            return Err(taken(call, &user.id, &user.profile.attributes).await?);
        }
        Err(error) => return Err(error.into()),
    }
    // Recorded at once: a step after this may fail, and the change is made all the same.
    let concerns = Concerns { detail: json!({ "active": user.active }), ..about(&user.id) };
    call.audit(
        Event::UserUpdated,
        concerns,
        attributes::changes(Some(&*before), &user, &settings.attributes),
    );
    news::tell_of_address(call, &before, &user).await;
    // Also if the user was inactive before: an earlier attempt may have stopped before this step.
    if !user.may_sign_in() {
        ending::user(call, &user.id).await?;
    }
    Ok(Some(ok(&seen(call, &user))))
}

async fn remove(call: Call) -> Answer {
    let user = load(&call).await?;
    // Before the record is deleted: from now on tokens and sessions are ended, even if a later step fails.
    ending::user(&call, &user.id).await?;
    if !call.app.store.delete_user(call.id(), &user.id).await? {
        return Err(unknown());
    }
    call.audit(Event::UserDeleted, about(&user.id), record::removed(&user));
    // Again, for what began while the record still existed.
    ending::user(&call, &user.id).await?;
    Ok(done())
}

async fn set_password(call: Call, payload: Payload) -> Answer {
    let user = load(&call).await?;
    let mut fields = payload.fields().await?;
    let named = fields.names("password") || fields.names("password_hash");
    let given = password(&mut fields)?;
    let sign_out = fields.take("sign_out")?.unwrap_or(false) | fields.take("end_sessions")?.unwrap_or(false);
    fields.finish()?;
    // An explicit member is required, so that a misspelt one does not remove the password.
    if !named {
        return Err(AdminError::invalid("password or password_hash is required; null removes the password"));
    }
    let password = hashed(&call, given).await?;
    let removed = password.is_none();
    if !call.app.store.set_password(call.id(), &user.id, password).await? {
        return Err(unknown());
    }
    let what = if removed { "removed" } else { "set" };
    let concerns = Concerns { detail: json!({ "password": what }), ..about(&user.id) };
    call.audit(Event::UserUpdated, concerns, ChangedFields::none().with_untold("password"));
    tell(&call, &user, Message::PasswordChanged { at: call.now() }).await;
    if sign_out {
        ending::signed_in(&call, &user.id).await?;
    }
    Ok(ok(&json!({ "left_alive": ending::left_alive(&call, &user.id).await? })))
}

async fn list_sessions(call: Call) -> Answer {
    let user = load(&call).await?;
    sessions::of_user(&call, &user.id).await
}

async fn end_sessions(call: Call) -> Answer {
    let user = load(&call).await?;
    let ended = ending::sessions_of_user(&call, &user.id).await?;
    Ok(ok(&json!({ "ended": ended })))
}
