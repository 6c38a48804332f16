//! Back-Channel Logout 1.0: what becomes of one client's notice that was taken from the queue.
//!
//! | what happened | what follows |
//! |---|---|
//! | the client answered 2xx | it leaves the queue |
//! | it answered otherwise, or not at all | it waits, longer each time, for a day |
//! | a call to this client failed a moment ago, or some are under way | it waits, untried |
//! | the client is gone or wants no such calls any more, or its time is over | it is given up |
//!
//! One client that does not answer keeps nobody else waiting: few calls to it are under way at a time, and after failures
//! none for some seconds.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, json};
use symbolon_app::app::App;
use symbolon_app::audit::AuditEntry;
use symbolon_app::back_channel_logout::{self, LogoutNotice};
use symbolon_app::encrypted_answer;
use symbolon_app::issuer::{IssuerState, TokenType};
use symbolon_outbound::{OutboundError, OutboundRequest};
use symbolon_protocol::back_channel_logout::TRIED_FOR;
use symbolon_protocol::client::Client;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::response_encryption::NESTED;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::Delivery;
use url::Url;

use super::client_calls::ClientCalls;
use super::{MOST_UNANSWERED, back_off, finish, postpone};

/// When a notice is looked at again that another version queued.
const OTHER_VERSION: Duration = Duration::from_secs(60);

/// Tells clients.
#[derive(Default)]
pub(super) struct LogoutCourier {
    calls: ClientCalls,
}

/// What became of a call.
enum Attempt {
    Taken,
    /// The client answered something else.
    Refused(StatusCode),
    Failed(OutboundError),
}

impl LogoutCourier {
    pub(super) async fn deliver(&self, app: &Arc<App>, issuer: &IssuerId, delivery: &Delivery) {
        let known = app.issuers.load().by_id(issuer).cloned();
        let Some(issuer_state) = known else {
            // Created this moment by another node, or deleted; then the sweep takes it.
            return postpone(&*app.store, issuer, delivery, app.now() + OTHER_VERSION).await;
        };
        let Some(notice) = back_channel_logout::open(&issuer_state, delivery) else {
            tracing::warn!(target: "symbolon::logout", %issuer, "a logout notice could not be read");
            return finish(&*app.store, issuer, delivery).await;
        };
        let handover = Handover { app, issuer: &issuer_state, delivery, notice: &notice };
        // The present claim is one of them.
        if delivery.unanswered > MOST_UNANSWERED {
            return handover.give_up("unanswered", Map::new()).await;
        }
        if app.now() >= delivery.created_at + TRIED_FOR {
            return handover.give_up("expired", Map::new()).await;
        }
        let client = match app.store.client(issuer, &notice.client).await {
            Ok(client) => client,
            // It comes again when its claim is over.
            Err(error) => return super::note_untold(&error),
        };
        let Some((client, url)) = client.as_deref().and_then(|client| Some((client, address(client)?)))
        else {
            return handover.give_up("no_address", Map::new()).await;
        };
        self.call(&handover, client, url).await;
    }

    async fn call(&self, handover: &Handover<'_>, client: &Client, url: Url) {
        let key = (handover.issuer.id.clone(), client.client_id.clone());
        let _under_way = match self.calls.begin(&key, handover.app.now()) {
            Ok(under_way) => under_way,
            Err(until) => return handover.put_back(until).await,
        };
        let token = match handover.token(client).await {
            Ok(token) => token,
            Err(reason) => {
                tracing::warn!(target: "symbolon::logout", reason, "a logout token could not be made");
                return handover.put_back(handover.app.now() + OTHER_VERSION).await;
            }
        };
        // Section 2.5: a form with the one parameter.
        let request = OutboundRequest::post_form(url, &[("logout_token", &token)]);
        let attempt = match handover.app.call_out(request).await {
            Ok(answer) if answer.status.is_success() => Attempt::Taken,
            // Nobody needs to read what it said.
            Err(OutboundError::TooLong(status)) if status.is_success() => Attempt::Taken,
            Ok(answer) => Attempt::Refused(answer.status),
            Err(error) => Attempt::Failed(error),
        };
        self.calls.note(&key, matches!(attempt, Attempt::Taken), handover.app.now());
        handover.settle(attempt).await;
    }
}

fn address(client: &Client) -> Option<Url> {
    Url::parse(client.logout.backchannel_logout_uri.as_deref()?).ok()
}

/// One notice that was taken from the queue.
struct Handover<'h> {
    app: &'h Arc<App>,
    issuer: &'h IssuerState,
    delivery: &'h Delivery,
    notice: &'h LogoutNotice,
}

impl Handover<'_> {
    /// A logout token, signed as the client's ID tokens are.
    async fn token(&self, client: &Client) -> Result<String, String> {
        let Self { app, issuer, notice, .. } = self;
        let now = app.now();
        let pairwise = issuer.pairwise(client);
        let claims = notice.ended().logout_token(&issuer.url, pairwise, now, &*app.random);
        let algorithm = client
            .id_token_signed_response_alg
            .unwrap_or_else(|| issuer.keys.load().algorithm(&issuer.settings.load(), now));
        let signed = app.sign(issuer, (algorithm, TokenType::LogoutToken), &claims.to_json(), now).await;
        let signed = signed.map_err(|error| error.to_string())?;
        // OpenID Connect Back-Channel Logout 2.6: whoever gets encrypted ID tokens should take no other logout token.
        let Some(encryption) = client.id_token_encryption else { return Ok(signed) };
        let what = (Some(NESTED), signed.as_bytes());
        let encrypted = encrypted_answer::encrypt((app, &issuer.id), client, encryption, what).await;
        encrypted.map_err(|_| "the token cannot be encrypted for a key of the client".to_owned())
    }

    async fn settle(&self, attempt: Attempt) {
        let failure = match &attempt {
            Attempt::Taken => {
                finish(&*self.app.store, &self.issuer.id, self.delivery).await;
                return self.note(Event::LogoutDelivered, Map::new());
            }
            Attempt::Refused(status) => format!("it answered {status}"),
            Attempt::Failed(error) => error.to_string(),
        };
        let (issuer, client) = (&self.issuer.id, &self.notice.client);
        tracing::warn!(target: "symbolon::logout", %issuer, client_id = %client, failure, "a client took no logout token");
        let due_at = self.app.now() + back_off(self.delivery.attempts);
        let mut detail = Map::new();
        match attempt {
            Attempt::Refused(status) => drop(detail.insert("status".to_owned(), json!(status.as_u16()))),
            Attempt::Failed(error) => drop(detail.insert("failure".to_owned(), json!(error.word()))),
            Attempt::Taken => {}
        }
        if due_at >= self.delivery.created_at + TRIED_FOR {
            return self.give_up("expired", detail).await;
        }
        postpone(&*self.app.store, &self.issuer.id, self.delivery, due_at).await;
        self.note(Event::LogoutPostponed, detail);
    }

    /// Puts it back without a record: nothing was tried.
    async fn put_back(&self, due_at: Timestamp) {
        if due_at >= self.delivery.created_at + TRIED_FOR {
            return self.give_up("expired", Map::new()).await;
        }
        postpone(&*self.app.store, &self.issuer.id, self.delivery, due_at).await;
    }

    async fn give_up(&self, reason: &str, mut detail: Map<String, serde_json::Value>) {
        finish(&*self.app.store, &self.issuer.id, self.delivery).await;
        let (issuer, client) = (&self.issuer.id, &self.notice.client);
        tracing::warn!(target: "symbolon::logout", %issuer, client_id = %client, reason, "a logout notice was given up");
        detail.insert("reason".to_owned(), json!(reason));
        self.note(Event::LogoutGivenUp, detail);
    }

    /// Counts and audits what became of it.
    fn note(&self, event: Event, mut detail: Map<String, serde_json::Value>) {
        detail.insert("sid".to_owned(), json!(self.notice.sid));
        detail.insert("attempts".to_owned(), json!(self.delivery.attempts));
        let entry = AuditEntry {
            user: Some(self.notice.user.clone()),
            client: Some(self.notice.client.clone()),
            ..AuditEntry::system(event, detail.into())
        };
        self.app.audit.record(&self.issuer.id, entry, self.app.now());
    }
}
