//! Streams all records in the order of their ids. A record that exists during the whole export appears exactly once,
//! even if others are created, changed or deleted meanwhile.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;
use symbolon_store::port::UserFilter;
use tokio::sync::mpsc;

use super::super::call::{Call, Concerns};
use super::super::error::Answer;
use super::super::operation::Parameter;
use super::super::{clients as client_operations, users as user_operations};
use super::stream;
use symbolon_app::audit::ChangedFields;

/// Records per read from the store.
pub(super) const AT_ONCE: u32 = 1000;
/// Chunks that may wait for the reader.
const WAITING: usize = 4;

pub(super) type Sender = mpsc::Sender<io::Result<Bytes>>;

/// The query parameter that adds the hashes of passwords.
pub(super) const PASSWORD_HASHES: Parameter = Parameter {
    name: "password_hashes",
    kind: "boolean",
    about: "Adds `password_hash`, from which weak passwords can be guessed. Recorded in the audit log.",
};

/// The query parameter that adds the digests of client secrets.
pub(super) const SECRET_DIGESTS: Parameter = Parameter {
    name: "secret_digests",
    kind: "boolean",
    about: "Adds `client_secret_digests`, with which another installation knows the clients' secrets of 32 characters or more. \
            Recorded in the audit log.",
};

/// Answers with what `send_all` reads from the store and sends. If the store fails, the response is aborted, so that it does not
/// look complete.
pub(super) fn streamed<F>(call: Call, send_all: impl FnOnce(Call, Sender) -> F) -> Answer
where
    F: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(WAITING);
    let sending = send_all(call, sender.clone());
    tokio::spawn(async move {
        if let Err(error) = sending.await {
            break_off(&sender, &error).await;
        }
    });
    Ok(stream::response(receiver))
}

/// `GET /users/export`. That hashes are read is recorded before the first one is sent, because whoever has them may have them though
/// the reading broke off.
pub(super) async fn users(call: Call) -> Answer {
    let filter = UserFilter { verified: call.query("verified")?, ..UserFilter::default() };
    if !call.query(PASSWORD_HASHES.name)?.unwrap_or(false) {
        return streamed(call, |call, sender| send_users(call, sender, filter));
    }
    call.audit(Event::PasswordHashesExported, Concerns::default(), ChangedFields::none());
    call.audited().await?;
    streamed(call, |call, sender| send_users_with_hashes(call, sender, filter))
}

async fn send_users(call: Call, sender: Sender, filter: UserFilter) -> Result<(), StoreError> {
    let mut after = None::<UserId>;
    loop {
        let users = call.app.store.next_users(call.id(), &filter, after.as_ref(), AT_ONCE).await?;
        let settings = call.issuer.settings.load_full();
        let view = |user: &Arc<User>| Value::Object(user_operations::shown(user, &settings.attributes));
        let lines = users.iter().map(view).collect();
        if !send(&sender, lines).await || users.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = users.last().map(|user| user.id.clone());
    }
}

/// Sends each user with the hash of the password.
async fn send_users_with_hashes(call: Call, sender: Sender, filter: UserFilter) -> Result<(), StoreError> {
    let mut after = None::<UserId>;
    loop {
        let (users, hashes) = next_with_hashes(&call, &filter, after.as_ref()).await?;
        let settings = call.issuer.settings.load_full();
        let line = |(user, hash): (&Arc<User>, &Option<PasswordHash>)| {
            with_hash(user_operations::shown(user, &settings.attributes), hash.as_ref())
        };
        let lines = users.iter().zip(&hashes).map(line).collect();
        if !send(&sender, lines).await || users.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = users.last().map(|user| user.id.clone());
    }
}

/// Users with the hashes of their passwords, in the same order.
type WithHashes = (Vec<Arc<User>>, Vec<Option<PasswordHash>>);

async fn next_with_hashes(
    call: &Call,
    filter: &UserFilter,
    after: Option<&UserId>,
) -> Result<WithHashes, StoreError> {
    let users = call.app.store.next_users(call.id(), filter, after, AT_ONCE).await?;
    let ids: Vec<UserId> = users.iter().map(|user| user.id.clone()).collect();
    let hashes = call.app.store.passwords_of(call.id(), &ids).await?;
    Ok((users, hashes))
}

fn with_hash(mut view: Map<String, Value>, hash: Option<&PasswordHash>) -> Value {
    if let Some(hash) = hash {
        view.insert("password_hash".to_owned(), Value::from(hash.expose()));
    }
    Value::Object(view)
}

/// `GET /clients/export`. Secrets are stored as digests, and these are sent only where they are asked for, which is recorded
/// before the first one is.
pub(super) async fn clients(call: Call) -> Answer {
    let with_digests = call.query(SECRET_DIGESTS.name)?.unwrap_or(false);
    if with_digests {
        call.audit(Event::SecretDigestsExported, Concerns::default(), ChangedFields::none());
        call.audited().await?;
    }
    streamed(call, |call, sender| send_clients(call, sender, with_digests))
}

async fn send_clients(call: Call, sender: Sender, with_digests: bool) -> Result<(), StoreError> {
    let mut after = None::<ClientId>;
    loop {
        let clients = call.app.store.next_clients(call.id(), after.as_ref(), AT_ONCE).await?;
        let view = |client: &Arc<Client>| {
            let shown = client_operations::view(&call, client);
            if with_digests { with_secret_digests(shown, client, call.now()) } else { shown }
        };
        let lines = clients.iter().map(view).collect();
        if !send(&sender, lines).await || clients.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = clients.last().map(|client| client.client_id.clone());
    }
}

fn with_secret_digests(mut view: Value, client: &Client, now: Timestamp) -> Value {
    let digests = client_metadata::secret_digests(client, now);
    if let Some(members) = view.as_object_mut().filter(|_| !digests.is_empty()) {
        members.insert("client_secret_digests".to_owned(), Value::Array(digests));
    }
    view
}

/// Sends lines, if there are any. False if the reader has gone.
pub(super) async fn send(sender: &Sender, lines: Vec<Value>) -> bool {
    lines.is_empty() || sender.send(Ok(stream::written(lines))).await.is_ok()
}

/// Aborts the response, so that it does not look complete.
async fn break_off(sender: &Sender, error: &StoreError) {
    tracing::error!(target: "symbolon::store", %error, "an export broke off");
    let _ = sender.send(Err(io::Error::other("the export broke off"))).await;
}
