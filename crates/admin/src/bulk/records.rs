//! Bulk creation of users and clients.

use std::sync::Arc;

use serde_json::json;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::{self, Registration, is_below_default};
use symbolon_protocol::event::Event;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::port::Created;

use super::super::call::{Call, Payload};
use super::super::clients::{algorithms, warn_of_weak_settings};
use super::super::error::{AdminError, Answer};
use super::super::users::{self, Described};
use super::super::{settings, signing_keys};
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
    for line in chunk {
        batch.push(new_user(&call, line).await);
    }
    let new = batch.take();
    let ids: Vec<_> = new.iter().map(|(user, _)| (user.id.clone(), user.email.clone())).collect();
    let created = call.app.store.create_users(call.id(), new).await.map_err(AdminError::from);
    batch.settle(created.map(|created| {
        ids.into_iter().zip(created).map(|((id, email), created)| match created {
            Created::Created => Ok(json!({ "user": { "id": id, "email": email } })),
            Created::Exists => Err(AdminError::conflict("there is a user of this id or e-mail address")),
        })
    }))
}

async fn new_user(call: &Call, line: Line) -> Result<(User, Option<PasswordHash>), AdminError> {
    let mut fields = stream::fields(line)?;
    let described = Described::read(&mut fields)?;
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
    settings::cover_claims_of(call, &registration.client).await?;
    Ok(registration)
}
