//! CIBA Core 10.2: what becomes of telling one client that somebody has decided.
//!
//! | what happened | what follows |
//! |---|---|
//! | the client answered 2xx | it leaves the queue |
//! | it did not answer, or 429 or 5xx | it waits, longer each time, until the request ends |
//! | it answered otherwise | it is given up: a redirect is not followed, and a refusal is not asked again |
//! | the client is gone, or wants to be told no more | it is given up |
//!
//! A client that is not told learns of the decision by its next poll.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use symbolon_app::app::App;
use symbolon_app::backchannel_authentication;
use symbolon_outbound::{OutboundError, OutboundRequest};
use symbolon_protocol::backchannel_authentication::Notification;
use symbolon_protocol::client::Client;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IssuerId;
use symbolon_store::port::Delivery;
use url::Url;

use super::client_calls::ClientCalls;
use super::{MOST_UNANSWERED, back_off, finish, postpone};

/// When a telling is looked at again that another version queued.
const OTHER_VERSION: Duration = Duration::from_secs(10);

/// Tells clients.
#[derive(Default)]
pub(super) struct CibaCourier {
    calls: ClientCalls,
}

/// What became of a call.
enum Attempt {
    Taken,
    /// It may be taken later.
    NotNow(String),
    /// It will not be.
    Refused(StatusCode),
}

impl CibaCourier {
    pub(super) async fn deliver(&self, app: &Arc<App>, issuer: &IssuerId, delivery: &Delivery) {
        let known = app.issuers.load().by_id(issuer).cloned();
        let Some(issuer_state) = known else {
            // Created this moment by another node, or deleted; then the sweep takes it.
            return postpone(&*app.store, issuer, delivery, app.now() + OTHER_VERSION).await;
        };
        let Some(notification) = backchannel_authentication::open(&issuer_state, delivery) else {
            tracing::warn!(target: "symbolon::ciba", %issuer, "a notification could not be read");
            return finish(&*app.store, issuer, delivery).await;
        };
        // The present claim is one of them.
        if delivery.unanswered > MOST_UNANSWERED {
            return give_up(app, issuer, delivery, &notification, "unanswered").await;
        }
        let client = match app.store.client(issuer, &notification.client).await {
            Ok(client) => client,
            // It comes again when its claim is over.
            Err(error) => return super::note_untold(&error),
        };
        match client.as_deref().and_then(address) {
            Some(url) => self.call(app, issuer, delivery, (&notification, url)).await,
            None => give_up(app, issuer, delivery, &notification, "no_address").await,
        }
    }

    async fn call(
        &self,
        app: &Arc<App>,
        issuer: &IssuerId,
        delivery: &Delivery,
        (notification, url): (&Notification, Url),
    ) {
        let key = (issuer.clone(), notification.client.clone());
        let _under_way = match self.calls.begin(&key, app.now()) {
            Ok(under_way) => under_way,
            Err(until) => return postpone(&*app.store, issuer, delivery, until).await,
        };
        let Ok(mut authorization) = HeaderValue::from_str(notification.authorization().expose()) else {
            return give_up(app, issuer, delivery, notification, "no_token").await;
        };
        authorization.set_sensitive(true);
        // CIBA Core 10.2: JSON, with the client's own token.
        let request = OutboundRequest::post_json(url, &notification.body())
            .with_header(header::AUTHORIZATION, authorization);
        let attempt = match app.call_out(request).await {
            Ok(answer) => of_status(answer.status),
            // Nobody needs to read what it said.
            Err(OutboundError::TooLong(status)) => of_status(status),
            Err(error) => Attempt::NotNow(error.to_string()),
        };
        self.calls.note(&key, !matches!(attempt, Attempt::NotNow(_)), app.now());
        match attempt {
            Attempt::Taken => {
                finish(&*app.store, issuer, delivery).await;
                app.audit.count(Event::CibaPingDelivered);
            }
            Attempt::Refused(status) => {
                give_up(app, issuer, delivery, notification, status.as_str()).await;
            }
            Attempt::NotNow(failure) => {
                let client = &notification.client;
                tracing::warn!(target: "symbolon::ciba", %issuer, client_id = %client, failure, "a client was not told of a decision");
                // What is due after its end is not taken any more, and swept.
                let due_at = app.now() + back_off(delivery.attempts);
                postpone(&*app.store, issuer, delivery, due_at).await;
                app.audit.count(Event::CibaPingPostponed);
            }
        }
    }
}

fn of_status(status: StatusCode) -> Attempt {
    if status.is_success() {
        Attempt::Taken
    } else if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        Attempt::NotNow(format!("it answered {status}"))
    } else {
        Attempt::Refused(status)
    }
}

fn address(client: &Client) -> Option<Url> {
    Url::parse(client.backchannel.as_ref()?.notification_endpoint.as_deref()?).ok()
}

async fn give_up(
    app: &Arc<App>,
    issuer: &IssuerId,
    delivery: &Delivery,
    notification: &Notification,
    reason: &str,
) {
    finish(&*app.store, issuer, delivery).await;
    app.audit.count(Event::CibaPingGivenUp);
    let client = &notification.client;
    tracing::warn!(target: "symbolon::ciba", %issuer, client_id = %client, reason, "a client is not told of a decision");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_asked_again_and_a_redirect_not_followed() {
        for (status, again) in [(204, false), (200, false), (302, false), (401, false), (403, false)] {
            let attempt = of_status(StatusCode::from_u16(status).unwrap());
            assert_eq!(matches!(attempt, Attempt::NotNow(_)), again, "{status}");
            assert_eq!(matches!(attempt, Attempt::Taken), status < 300, "{status}");
        }
        for status in [429, 500, 503] {
            assert!(matches!(of_status(StatusCode::from_u16(status).unwrap()), Attempt::NotNow(_)));
        }
    }
}
