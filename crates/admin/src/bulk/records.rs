//! Bulk creation of users and clients.

use std::sync::Arc;

use serde_json::json;
use symbolon_protocol::attribute::{AttributeChecker, Attributes};
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::{self, Registration, is_below_default};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::port::Created;

use super::super::call::{Call, Payload};
use super::super::clients::{algorithms, warn_of_weak_settings};
use super::super::error::{AdminError, Answer};
use super::super::signing_keys;
use super::super::users::{self, Described};
use super::lines::Line;
use super::stream::{self, Batch, Done, Pace};
use super::wrapped;

/// One chunk at a time, so that of two lines with the same address the first one wins.
pub(super) const fn pace(event: Event) -> Pace {
    Pace { chunk: 500, in_flight: 1, event }
}

/// `POST /users/bulk`.
pub(super) async fn users(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
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
    let created = call.app.store.create_users(call.id(), new).await.map_err(AdminError::from);
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
                Err(users::taken(call, &id, &attributes).await.unwrap_or_else(AdminError::from))
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
    let mut fields = stream::fields(line)?;
    let described = Described::read(&mut fields)?;
    users::check(checker, &described.profile.attributes, None)?;
    let (id, given) = (users::id(&mut fields, &*call.app.random)?, users::password(&mut fields)?);
    let password = users::hashed(call, given).await?;
    Ok((described.into_user(id, call.now()), password))
}

/// `POST /clients/bulk`.
pub(super) async fn clients(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
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
    let views: Vec<_> = new.iter().map(Registration::view).collect();
    let clients: Vec<Client> = new.into_iter().map(|registration| registration.client).collect();
    let weak: Vec<Option<Client>> =
        clients.iter().map(|client| is_below_default(client).then(|| client.clone())).collect();
    let created = call.app.store.create_clients(call.id(), clients).await.map_err(AdminError::from);
    for (weak, created) in weak.iter().zip(created.iter().flatten()) {
        if let (Some(client), Created::Created) = (weak, created) {
            warn_of_weak_settings(&call, client);
        }
    }
    batch.settle(created.map(|created| {
        views.into_iter().zip(created).map(|(view, created)| match created {
            Created::Created => Ok(wrapped("client", view)),
            Created::Exists => Err(AdminError::conflict("there is a client of this client_id")),
        })
    }))
}

async fn new_client(call: &Call, line: Line) -> Result<Registration, AdminError> {
    let registration = client_metadata::create(stream::object(line)?, call.now(), &*call.app.random)?;
    signing_keys::ensure(call, algorithms(&registration.client)).await?;
    Ok(registration)
}
