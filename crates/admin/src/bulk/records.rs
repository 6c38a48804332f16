//! Bulk creation of users and clients.

use std::sync::Arc;

use serde_json::json;
use symbolon_protocol::attribute::{AttributeChecker, Attributes};
use symbolon_protocol::client_metadata::{self, Registration};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::port::Created;

use super::super::call::{Call, Concerns, Payload};
use super::super::clients::{algorithms, answered};
use super::super::error::{AdminError, Answer};
use super::super::operation::Parameter;
use super::super::signing_keys;
use super::super::users::{self, Described, GivenPassword};
use super::lines::Line;
use super::stream::{self, Batch, Done, Pace};
use super::wrapped;
use symbolon_app::audit::ChangedFields;

/// One chunk at a time, so that of two lines with the same address the first one wins.
pub(super) const fn pace(event: Event) -> Pace {
    Pace { chunk: 500, in_flight: 1, event: Some(event) }
}

/// The pace of lines of which none depends on one before it: a chunk is written while the audit records of the one before it
/// are, and those of several chunks are written together.
pub(super) const fn unordered_pace(event: Event) -> Pace {
    Pace { in_flight: 4, ..pace(event) }
}

/// The query parameter that checks lines only.
pub(super) const DRY_RUN: Parameter = Parameter {
    name: "dry_run",
    kind: "boolean",
    about: "Only checks each line, also whether its id and its name or e-mail address are free. Nothing is created, and \
            what a line would find made by a line before it is not there.",
};

/// Whether a call only checks its lines.
pub(super) fn is_dry(call: &Call) -> Result<bool, AdminError> {
    Ok(call.query(DRY_RUN.name)?.unwrap_or(false))
}

/// The pace of lines that are only checked: nothing is changed, so nothing is recorded, and no chunk has to wait for another.
pub(super) const fn dry_pace(event: Event) -> Pace {
    Pace { event: None, in_flight: 4, ..pace(event) }
}

/// `POST /users/bulk`.
pub(super) async fn users(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    if is_dry(&call)? {
        let pace = dry_pace(Event::UserCreated);
        return stream::answer(call, payload, pace, move |chunk| check_users(Arc::clone(&shared), chunk));
    }
    stream::answer(call, payload, pace(Event::UserCreated), move |chunk| {
        create_users(Arc::clone(&shared), chunk)
    })
}

async fn create_users(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    let settings = call.issuer.settings.load_full();
    let mut checker = settings.attributes.checker();
    for line in chunk {
        batch.push(new_user(&call, line, &mut checker).await);
    }
    let new = batch.take();
    let facts =
        |(user, _): &(User, _)| (user.id.clone(), user.email.clone(), user.profile.attributes.clone());
    let given: Vec<_> = new.iter().map(facts).collect();
    let made = |(user, password): &(User, Option<PasswordHash>)| {
        users::made(user, password.is_some(), &settings.attributes)
    };
    let made: Vec<_> = new.iter().map(made).collect();
    let created = call.app.store.create_users(call.id(), new).await.map_err(AdminError::from);
    for (((id, ..), made), created) in given.iter().zip(made).zip(created.iter().flatten()) {
        if *created == Created::Created {
            call.audit(Event::UserCreated, users::about(id), made);
        }
    }
    let settled = match created {
        Ok(created) => Ok(outcomes(&call, given, created).await.into_iter()),
        Err(error) => Err(error),
    };
    batch.settle(settled)
}

/// What is told of each user that was to be created.
async fn outcomes(
    call: &Call,
    given: Vec<(UserId, Option<String>, Attributes)>,
    created: Vec<Created>,
) -> Vec<Done> {
    let mut outcomes = Vec::with_capacity(given.len());
    for ((id, email, attributes), created) in given.into_iter().zip(created) {
        outcomes.push(match created {
            Created::Created => Ok(json!({ "user": { "id": id, "email": email } })),
            Created::Exists => {
                Err(users::taken_of_new(call, &id, &attributes).await.unwrap_or_else(AdminError::from))
            }
        });
    }
    outcomes
}

async fn new_user(
    call: &Call,
    line: Line,
    checker: &mut AttributeChecker<'_>,
) -> Result<(User, Option<PasswordHash>), AdminError> {
    let (described, id, given) = read_user(call, line, checker)?;
    let password = users::hashed(call, given).await?;
    Ok((described.into_user(id, call.now()), password))
}

fn read_user(
    call: &Call,
    line: Line,
    checker: &mut AttributeChecker<'_>,
) -> Result<(Described, UserId, GivenPassword), AdminError> {
    let mut fields = stream::fields(line)?;
    let described = Described::read(&mut fields)?;
    users::check(checker, &described.profile.attributes, None)?;
    let (id, given) = (users::id(&mut fields, &*call.app.random)?, users::password(&mut fields)?);
    fields.finish()?;
    Ok((described, id, given))
}

/// What would become of the lines. Lines that contradict each other are not seen: each is checked against the store.
async fn check_users(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let settings = call.issuer.settings.load_full();
    let mut checker = settings.attributes.checker();
    let mut done = Vec::with_capacity(chunk.len());
    for line in chunk {
        done.push(check_user(&call, line, &mut checker).await);
    }
    done
}

async fn check_user(call: &Call, line: Line, checker: &mut AttributeChecker<'_>) -> Done {
    let (Described { email, profile, .. }, id, given) = read_user(call, line, checker)?;
    users::check_password(call, &given).await?;
    let store = &call.app.store;
    let has_address = |user: &User| {
        user.email
            .as_deref()
            .zip(email.as_deref())
            .is_some_and(|(one, other)| login_key(one) == login_key(other))
    };
    let named = match &email {
        Some(email) => store.user_by_login(call.id(), email).await?,
        None => None,
    };
    if named.is_some_and(|(user, _)| has_address(&user)) || store.user(call.id(), &id).await?.is_some() {
        return Err(users::taken_of_new(call, &id, &profile.attributes).await?);
    }
    Ok(json!({ "user": { "id": id, "email": email } }))
}

/// `POST /clients/bulk`.
pub(super) async fn clients(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    if is_dry(&call)? {
        let pace = dry_pace(Event::ClientCreated);
        return stream::answer(call, payload, pace, move |chunk| check_clients(Arc::clone(&shared), chunk));
    }
    stream::answer(call, payload, pace(Event::ClientCreated), move |chunk| {
        create_clients(Arc::clone(&shared), chunk)
    })
}

async fn create_clients(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        batch.push(new_client(&call, line).await);
    }
    let new: Vec<Registration> = batch.take();
    let clients: Vec<_> = new.iter().map(|registration| registration.client.clone()).collect();
    let created = call.app.store.create_clients(call.id(), clients).await.map_err(AdminError::from);
    for (Registration { client, .. }, created) in new.iter().zip(created.iter().flatten()) {
        if *created == Created::Created {
            let concerns = Concerns { client: Some(&client.client_id), ..Concerns::default() };
            call.audit(Event::ClientCreated, concerns, ChangedFields::made(client));
        }
    }
    batch.settle(created.map(|created| {
        new.iter().zip(created).map(|(registration, created)| match created {
            Created::Created => Ok(answered(&call, registration)),
            Created::Exists => Err(client_exists()),
        })
    }))
}

fn client_exists() -> AdminError {
    AdminError::conflict("there is a client of this client_id")
}

async fn check_clients(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut done = Vec::with_capacity(chunk.len());
    for line in chunk {
        done.push(check_client(&call, line).await);
    }
    done
}

async fn check_client(call: &Call, line: Line) -> Done {
    let (metadata, key) = (stream::object(line)?, &call.issuer.client_secret_key);
    let registration = client_metadata::create(metadata, key, call.now(), &*call.app.random)?;
    call.app.check_sector(call.id(), None, &registration.client).await?;
    if call.app.store.client(call.id(), &registration.client.client_id).await?.is_some() {
        return Err(client_exists());
    }
    // Without the secret: one that was drawn for the check is nobody's.
    let mut checked = wrapped("client", client_metadata::view(&registration.client));
    let warnings: Vec<String> = registration.warnings.iter().map(ToString::to_string).collect();
    if let Some(members) = checked.as_object_mut().filter(|_| !warnings.is_empty()) {
        members.insert("warnings".to_owned(), json!(warnings));
    }
    Ok(checked)
}

async fn new_client(call: &Call, line: Line) -> Result<Registration, AdminError> {
    let (metadata, key) = (stream::object(line)?, &call.issuer.client_secret_key);
    let registration = client_metadata::create(metadata, key, call.now(), &*call.app.random)?;
    call.app.check_sector(call.id(), None, &registration.client).await?;
    signing_keys::ensure(call, algorithms(&registration.client)).await?;
    call.app.record_needs_of(&call.issuer, &registration.client).await?;
    Ok(registration)
}
