//! Decisions about what clients ask people for elsewhere (CIBA Core 1.0), and what clients in ping mode are told of them.
//!
//! What a client is told is sealed when it asks, under the id that its telling has in the queue, and moves into the queue as it is once
//! somebody has decided. So its `auth_req_id` and its token are nowhere in the clear.

use symbolon_crypto::SecretBytes;
use symbolon_protocol::backchannel_authentication::{BackchannelRequestId, Notification, delivery_id};
use symbolon_protocol::decision::Decision;
use symbolon_protocol::id::DeliveryId;
use symbolon_store::StoreError;
use symbolon_store::port::{Deciding, Delivery, DeliveryKind, KeptBackchannelAuthentication, Queued};

use crate::app::App;
use crate::issuer::IssuerState;

/// Seals what a client is to be told of a request.
///
/// # Errors
/// [`StoreError::Failed`].
pub fn seal(
    issuer: &IssuerState,
    request: &BackchannelRequestId,
    notification: &Notification,
) -> Result<String, StoreError> {
    let failed = |error: String| StoreError::Failed(format!("a notification could not be sealed: {error}"));
    let json =
        serde_json::to_vec(notification).map(SecretBytes::new).map_err(|error| failed(error.to_string()))?;
    let id = delivery_id(&issuer.id, &notification.client, request);
    issuer.deliveries.seal(&purpose(&id), json.expose()).map_err(|error| failed(error.to_string()))
}

/// Opens what waits in the queue; `None` if it was not sealed by this issuer for this place.
#[must_use]
pub fn open(issuer: &IssuerState, delivery: &Delivery) -> Option<Notification> {
    let json = issuer.deliveries.open(&purpose(&delivery.id), &delivery.payload).ok()?;
    serde_json::from_slice(json.expose()).ok()
}

fn purpose(id: &DeliveryId) -> String {
    format!("ciba ping {id}")
}

impl App {
    /// Decides about a request, unless somebody has, and has its client told where it wants to be. A client that is not told, because
    /// the process ends in between or the queue is full, learns it by its next poll.
    ///
    /// # Errors
    /// [`StoreError`]: nothing was decided.
    pub async fn decide_backchannel(
        &self,
        issuer: &IssuerState,
        kept: &KeptBackchannelAuthentication,
        decision: Decision,
    ) -> Result<Deciding, StoreError> {
        let now = self.now();
        let deciding = self.store.decide_backchannel_authentication(&issuer.id, &kept.id, decision, now);
        let decided = deciding.await?;
        if let (Deciding::Decided, Some(payload)) = (&decided, &kept.asked.notification) {
            self.queue_notification(issuer, kept, payload.clone()).await;
        }
        Ok(decided)
    }

    async fn queue_notification(
        &self,
        issuer: &IssuerState,
        kept: &KeptBackchannelAuthentication,
        payload: String,
    ) {
        let now = self.now();
        let delivery = Delivery {
            id: delivery_id(&issuer.id, &kept.asked.client, &kept.id),
            kind: DeliveryKind::CibaPing,
            payload,
            created_at: now,
            due_at: now,
            // Afterwards there are no tokens to fetch.
            expires_at: kept.asked.expires_at,
            attempts: 0,
            unanswered: 0,
        };
        let most = self.config.load().mail.queue;
        match self.store.queue_delivery(&issuer.id, delivery, most).await {
            Ok(Queued::Queued) => self.deliveries.note_queued(),
            Ok(Queued::Full) => {
                tracing::warn!(target: "symbolon::ciba", client_id = %kept.asked.client, "a client is not told of a decision: its queue is full");
            }
            Err(error) => {
                tracing::warn!(target: "symbolon::ciba", client_id = %kept.asked.client, %error, "a client is not told of a decision");
            }
        }
    }
}
