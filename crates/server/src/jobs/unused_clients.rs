//! Deletes clients that registered themselves and were never used: an application that registers at each start, or a stranger
//! who registers many, would else fill the room that the issuer has for clients.

use serde_json::json;
use symbolon_app::app::App;
use symbolon_app::audit::{AuditEntry, ChangedFields};
use symbolon_app::issuer::IssuerState;
use symbolon_protocol::client_registration::is_unused;
use symbolon_protocol::event::Event;
use symbolon_store::StoreError;

/// Clients that are read at once.
const AT_ONCE: u32 = 500;

/// Looks through the clients of each issuer at which applications may register themselves.
pub(super) async fn delete(app: &App) {
    for issuer in app.issuers.load_full().iter() {
        let settings = issuer.settings.load_full();
        let days = settings.client_registration_unused_days;
        if settings.client_registration.is_off() || days == 0 {
            continue;
        }
        match delete_of(app, issuer, days).await {
            Ok(0) => {}
            Ok(clients) => {
                tracing::info!(target: "symbolon::jobs", issuer = %issuer.id, clients, "unused registrations were deleted");
            }
            Err(error) => {
                tracing::warn!(target: "symbolon::jobs", issuer = %issuer.id, %error, "unused registrations were not deleted");
            }
        }
    }
}

/// Returns how many were deleted. Several nodes may do this at once: each client is deleted, and recorded, by one.
async fn delete_of(app: &App, issuer: &IssuerState, days: u32) -> Result<u64, StoreError> {
    let (mut deleted, mut after) = (0, None);
    loop {
        let some = app.store.next_clients(&issuer.id, after.as_ref(), AT_ONCE).await?;
        for unused in some.iter().filter(|client| is_unused(client, days, app.now())) {
            // It may have been used since the page was read.
            let client = app.store.client(&issuer.id, &unused.client_id).await?;
            let Some(client) = client.filter(|client| is_unused(client, days, app.now())) else { continue };
            let client = &client;
            if app.delete_registered_client(issuer, client).await? {
                let changed = ChangedFields::removed(&**client);
                let detail = changed.onto(json!({ "unused_days": days }));
                let entry = AuditEntry::system(Event::ClientDeleted, detail);
                let entry = AuditEntry { client: Some(client.client_id.clone()), ..entry };
                app.audit.record(&issuer.id, entry, app.now());
                deleted += 1;
            }
        }
        match some.last() {
            Some(last) if some.len() == AT_ONCE as usize => after = Some(last.client_id.clone()),
            _ => return Ok(deleted),
        }
    }
}
