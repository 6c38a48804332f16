//! Logout tokens into the queue of deliveries, and out of it again. What sends them is a background job.
//!
//! What waits names session, user and client; the token is made when it is sent, because it lives for two minutes only.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use symbolon_crypto::SecretBytes;
use symbolon_protocol::back_channel_logout::{EndedSession, TRIED_FOR};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, DeliveryId, Sid, UserId};
use symbolon_store::StoreError;
use symbolon_store::port::{Delivery, DeliveryKind, Queued};

use crate::app::App;
use crate::audit::AuditEntry;
use crate::issuer::IssuerState;

/// How long a notice that is no longer worth sending stays in the queue, so that its end can be audited.
const KEPT_AFTER: Duration = Duration::from_secs(86_400);

/// The end of a session, for one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutNotice {
    /// Whose session it was.
    pub user: UserId,
    /// Its `sid`.
    pub sid: Sid,
    /// Who is told.
    pub client: ClientId,
}

impl LogoutNotice {
    /// The session that has ended, as the client knew it.
    #[must_use]
    pub fn ended(&self) -> EndedSession<'_> {
        EndedSession { user: &self.user, sid: &self.sid, client: &self.client }
    }
}

impl App {
    /// Puts the end of a session into the queue, for one client that took part, if it wants to be told. Durable on return.
    /// Returns whether something waits now. The job that sends it is not woken: [`Self::deliveries`] does that.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn queue_logout(
        &self,
        issuer: &IssuerState,
        ended: EndedSession<'_>,
    ) -> Result<bool, StoreError> {
        let client = self.store.client(&issuer.id, ended.client).await?;
        if client.is_none_or(|client| client.logout.backchannel_logout_uri.is_none()) {
            return Ok(false);
        }
        let now = self.now();
        let id = ended.delivery_id(&issuer.id);
        let delivery = Delivery {
            payload: seal(issuer, &id, ended)?,
            id,
            kind: DeliveryKind::BackChannelLogout,
            created_at: now,
            due_at: now,
            expires_at: now + TRIED_FOR + KEPT_AFTER,
            attempts: 0,
            unanswered: 0,
        };
        match self.store.queue_delivery(&issuer.id, delivery, self.config.load().mail.queue).await? {
            Queued::Queued => Ok(true),
            Queued::Full => {
                let detail = json!({ "reason": "queue_full", "sid": ended.sid });
                let entry = AuditEntry {
                    user: Some(ended.user.clone()),
                    client: Some(ended.client.clone()),
                    ..AuditEntry::system(Event::LogoutGivenUp, detail)
                };
                self.audit.record(&issuer.id, entry, now);
                Ok(false)
            }
        }
    }
}

/// What a notice is sealed for: its place in the queue, so that none can be put into another's.
fn purpose(id: &DeliveryId) -> String {
    format!("back-channel logout {id}")
}

fn seal(issuer: &IssuerState, id: &DeliveryId, ended: EndedSession<'_>) -> Result<String, StoreError> {
    let failed = |error: String| StoreError::Failed(format!("a logout notice could not be sealed: {error}"));
    let EndedSession { user, sid, client } = ended;
    let notice = LogoutNotice { user: user.clone(), sid: sid.clone(), client: client.clone() };
    let json =
        serde_json::to_vec(&notice).map(SecretBytes::new).map_err(|error| failed(error.to_string()))?;
    issuer.deliveries.seal(&purpose(id), json.expose()).map_err(|error| failed(error.to_string()))
}

/// Opens a notice that [`App::queue_logout`] queued; `None` if it was not sealed by this issuer for this place.
#[must_use]
pub fn open(issuer: &IssuerState, delivery: &Delivery) -> Option<LogoutNotice> {
    let json = issuer.deliveries.open(&purpose(&delivery.id), &delivery.payload).ok()?;
    serde_json::from_slice(json.expose()).ok()
}
