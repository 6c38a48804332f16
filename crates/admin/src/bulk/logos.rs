//! Export of the logos of an issuer and of its clients.

use serde_json::{Value, json};
use symbolon_crypto::encoding;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::logo::Logo;
use symbolon_store::StoreError;

use super::super::call::Call;
use super::super::error::Answer;
use super::export::{Sender, send, streamed};

/// Logos per read from the store. They are 64 KiB at most.
const AT_ONCE: u32 = 20;

/// `GET /logos/export`. The issuer's own comes first.
pub(super) async fn export(call: Call) -> Answer {
    streamed(call, send_all)
}

fn view(client: Option<&ClientId>, logo: &Logo) -> Value {
    let content = encoding::encode(logo.content());
    match client {
        Some(client) => json!({ "client_id": client, "media_type": logo.media_type(), "content": content }),
        None => json!({ "media_type": logo.media_type(), "content": content }),
    }
}

async fn send_all(call: Call, sender: Sender) -> Result<(), StoreError> {
    let own = call.app.store.logo(call.id(), None).await?;
    if !send(&sender, own.iter().map(|logo| view(None, logo)).collect()).await {
        return Ok(());
    }
    let mut after = None::<ClientId>;
    loop {
        let found = call.app.store.next_logos(call.id(), after.as_ref(), AT_ONCE).await?;
        let lines = found.iter().map(|(client, logo)| view(Some(client), logo)).collect();
        if !send(&sender, lines).await || found.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = found.into_iter().next_back().map(|(client, _)| client);
    }
}
