//! Everything that there is, streamed in the order of the ids: whatever is made, changed or deleted meanwhile, each
//! record that is there all the while comes once.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata;
use symbolon_store::StoreError;
use symbolon_store::port::UserFilter;
use tokio::sync::mpsc;

use super::super::call::Call;
use super::super::error::Answer;
use super::super::users::view;
use super::stream;

/// Records that are read at once.
const AT_ONCE: u32 = 1000;
/// Pieces that wait for the reader.
const WAITING: usize = 4;

type Sender = mpsc::Sender<io::Result<Bytes>>;

/// `GET /users/export`.
pub(super) async fn users(call: Call) -> Answer {
    let filter = UserFilter { email: None, verified: call.query("verified")? };
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut after = None;
        loop {
            let found = call.app.store.next_users(call.id(), &filter, after.as_ref(), AT_ONCE).await;
            let Some(users) = sent(&sender, found, |user| Value::Object(view(user))).await else { break };
            after = users.last().map(|user| user.id.clone());
        }
    });
    Ok(stream::response(receiver))
}

/// `GET /clients/export`. Secrets are stored as digests and are not among it.
pub(super) async fn clients(call: Call) -> Answer {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut after = None;
        loop {
            let found = call.app.store.next_clients(call.id(), after.as_ref(), AT_ONCE).await;
            let view = |client: &Client| Value::Object(client_metadata::view(client));
            let Some(clients) = sent(&sender, found, view).await else { break };
            after = clients.last().map(|client| client.client_id.clone());
        }
    });
    Ok(stream::response(receiver))
}

/// Sends a piece; the piece, if more may follow it. A store that fails breaks the answer off: it must not look whole.
async fn sent<T>(
    sender: &Sender,
    found: Result<Vec<Arc<T>>, StoreError>,
    view: impl Fn(&T) -> Value,
) -> Option<Vec<Arc<T>>> {
    match found {
        Ok(records) => {
            let lines: Vec<Value> = records.iter().map(|record| view(record)).collect();
            let sent = lines.is_empty() || sender.send(Ok(stream::written(lines))).await.is_ok();
            (sent && records.len() == AT_ONCE as usize).then_some(records)
        }
        Err(error) => {
            tracing::error!(target: "symbolon::store", %error, "an export broke off");
            let _ = sender.send(Err(io::Error::other("the export broke off"))).await;
            None
        }
    }
}
