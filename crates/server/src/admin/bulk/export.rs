//! Everything that there is, streamed.

use std::io;

use bytes::Bytes;
use serde_json::Value;
use symbolon_protocol::client_metadata;
use symbolon_store::StoreError;
use symbolon_store::port::{PageRequest, UserFilter};
use tokio::sync::mpsc;

use super::super::call::Call;
use super::super::error::Answer;
use super::super::users::view;
use super::stream;

/// Records that are read at once.
const PAGE: u32 = 1000;
/// Pages that wait for the reader.
const WAITING: usize = 4;

type Sender = mpsc::Sender<io::Result<Bytes>>;

/// `GET /users/export`.
pub(super) async fn users(call: Call) -> Answer {
    let filter = UserFilter { email: None, verified: call.query("verified")? };
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        for page in 1.. {
            let request = PageRequest { page, limit: PAGE, search: None };
            let found = call.app.store.list_users(call.id(), &filter, &request).await;
            let lines = found.map(|found| found.items.iter().map(|user| Value::Object(view(user))).collect());
            if !sent(&sender, lines).await {
                break;
            }
        }
    });
    Ok(stream::response(receiver))
}

/// `GET /clients/export`. Secrets are stored as digests and are not among it.
pub(super) async fn clients(call: Call) -> Answer {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        for page in 1.. {
            let request = PageRequest { page, limit: PAGE, search: None };
            let found = call.app.store.list_clients(call.id(), &request).await;
            let view = |client: &std::sync::Arc<_>| Value::Object(client_metadata::view(client));
            let lines = found.map(|found| found.items.iter().map(view).collect());
            if !sent(&sender, lines).await {
                break;
            }
        }
    });
    Ok(stream::response(receiver))
}

/// Sends a page; whether there may be another. A store that fails breaks the answer off: it must not look whole.
async fn sent(sender: &Sender, lines: Result<Vec<Value>, StoreError>) -> bool {
    match lines {
        Ok(lines) => {
            let more = lines.len() == PAGE as usize;
            (lines.is_empty() || sender.send(Ok(stream::written(lines))).await.is_ok()) && more
        }
        Err(error) => {
            tracing::error!(target: "symbolon::store", %error, "an export broke off");
            let _ = sender.send(Err(io::Error::other("the export broke off"))).await;
            false
        }
    }
}
