//! Mail into the queue, and out of it again. What sends it is a background job.
//!
//! A mail is sealed under a key of its issuer and bound to its place in the queue. Nobody waits for a server of mail: a
//! request waits only until the mail is durable in the store.

use std::time::Duration;

use serde_json::json;
use symbolon_crypto::sealed_text::TextSealer;
use symbolon_mail::{Language, Mail, MailBrand};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, DeliveryId};
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::{Delivery, DeliveryKind, Queued};

use crate::app::App;
use crate::audit::AuditEntry;
use crate::issuer::IssuerState;

/// How long a mail that is no longer worth sending stays in the queue, so that its end can be audited.
const KEPT_AFTER: Duration = Duration::from_secs(86_400);

/// What became of a mail that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// It waits in the queue, durably.
    Queued,
    /// Too many wait; it was dropped, counted and audited. Do not tell this to whoever asked for the mail: they may not
    /// learn which addresses have accounts.
    Dropped,
}

/// Why a mail that was queued cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableMail {
    /// It was not sealed by this issuer for this place.
    Seal,
    /// A newer version wrote it.
    Form,
}

/// The language of a mail to a user, whoever caused it: what their profile says, then the language of this tag.
pub fn language_of(user: &User, otherwise: &str) -> Language {
    Language::wanted(user.profile.locale.as_deref().into_iter().chain([otherwise]))
}

impl App {
    /// Puts a mail into the queue as [`send_mail`](Self::send_mail) does, and tells a failure in the log alone: whoever caused the
    /// mail may not learn whether there was one to send, and what it tells of is done.
    pub async fn queue_mail(&self, issuer: &IssuerState, mail: &Mail) {
        if let Err(error) = self.send_mail(issuer, mail).await {
            let template = mail.message.template();
            tracing::warn!(target: "symbolon::mail", %error, template, "a mail could not be queued");
        }
    }

    /// Puts a mail of an issuer into the queue, and wakes the job that sends it.
    ///
    /// Mail that anybody can cause by typing an address leaves a tenth of the queue to [news](symbolon_mail::Message::is_news).
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn send_mail(&self, issuer: &IssuerState, mail: &Mail) -> Result<MailOutcome, StoreError> {
        let now = self.now();
        let id = DeliveryId::draw(&*self.random);
        let payload = seal(&issuer.deliveries, &id, mail)?;
        let delivery = Delivery {
            id,
            kind: DeliveryKind::Mail,
            payload,
            created_at: now,
            due_at: now,
            expires_at: now + mail.message.lives() + KEPT_AFTER,
            attempts: 0,
            unanswered: 0,
        };
        let most = most_of(self.config.load().mail.queue, mail.message.is_news());
        match self.store.queue_delivery(&issuer.id, delivery, most).await? {
            Queued::Queued => {
                self.deliveries.note_queued();
                Ok(MailOutcome::Queued)
            }
            Queued::Full => {
                let detail = json!({ "template": mail.message.template(), "reason": "queue_full" });
                let entry =
                    AuditEntry { user: mail.user.clone(), ..AuditEntry::system(Event::MailGivenUp, detail) };
                self.audit.record(&issuer.id, entry, now);
                Ok(MailOutcome::Dropped)
            }
        }
    }
}

/// How a mail in a language presents whom it comes from, as that is when it leaves. Where the client is gone, it is the issuer.
///
/// # Errors
/// [`StoreError`].
pub async fn brand(
    app: &App,
    issuer: &IssuerState,
    client: Option<&ClientId>,
    language: &str,
) -> Result<MailBrand, StoreError> {
    let Some(id) = client else { return Ok(issuer.mail_brand(None, None, language)) };
    let Some(client) = app.store.client(&issuer.id, id).await? else {
        return Ok(issuer.mail_brand(None, None, language));
    };
    let logo = if client.has_name_in_head() { app.store.logo(&issuer.id, Some(id)).await? } else { None };
    Ok(issuer.mail_brand(Some(&client), logo, language))
}

/// How much of the queue a mail may fill.
fn most_of(queue: u32, is_news: bool) -> u32 {
    if is_news { queue } else { queue - queue / 10 }
}

/// What a mail is sealed for: its place in the queue, so that none can be put into another's.
fn purpose(id: &DeliveryId) -> String {
    format!("mail {id}")
}

fn seal(sealer: &TextSealer, id: &DeliveryId, mail: &Mail) -> Result<String, StoreError> {
    let failed = |error: String| StoreError::Failed(format!("a mail could not be sealed: {error}"));
    let json = serde_json::to_vec(mail).map(symbolon_crypto::SecretBytes::new);
    let json = json.map_err(|error| failed(error.to_string()))?;
    sealer.seal(&purpose(id), json.expose()).map_err(|error| failed(error.to_string()))
}

/// Opens a mail that [`App::send_mail`] queued.
///
/// # Errors
/// [`UnreadableMail`].
pub fn open(issuer: &IssuerState, delivery: &Delivery) -> Result<Mail, UnreadableMail> {
    open_with(&issuer.deliveries, delivery)
}

fn open_with(sealer: &TextSealer, delivery: &Delivery) -> Result<Mail, UnreadableMail> {
    let json = sealer.open(&purpose(&delivery.id), &delivery.payload).map_err(|_| UnreadableMail::Seal)?;
    serde_json::from_slice(json.expose()).map_err(|_| UnreadableMail::Form)
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::secret::SecretArray;
    use symbolon_mail::{Language, Message};
    use symbolon_protocol::time::Timestamp;

    use super::*;

    fn delivery(id: &str, payload: String) -> Delivery {
        let at = Timestamp::EPOCH;
        let id = DeliveryId::trusted(id.to_owned());
        let kind = DeliveryKind::Mail;
        Delivery { id, kind, payload, created_at: at, due_at: at, expires_at: at, attempts: 1, unanswered: 1 }
    }

    #[test]
    fn only_its_issuer_opens_a_mail_and_only_in_its_place() {
        let sealer = |byte| TextSealer::new(&SecretArray::new([byte; 32]));
        let message = Message::EmailCode { code: "042137".into(), minutes: 5 };
        let mail = Mail {
            to: "ann@example.com".into(),
            language: Language::German,
            user: None,
            client: None,
            message,
        };
        let sealed = seal(&sealer(1), &DeliveryId::trusted("a".to_owned()), &mail).unwrap();
        let opened = open_with(&sealer(1), &delivery("a", sealed.clone())).ok().unwrap();
        assert_eq!((opened.to.as_str(), opened.language), ("ann@example.com", Language::German));
        let refused = |sealer: TextSealer, id, payload| open_with(&sealer, &delivery(id, payload)).err();
        assert_eq!(refused(sealer(2), "a", sealed.clone()), Some(UnreadableMail::Seal));
        assert_eq!(refused(sealer(1), "b", sealed), Some(UnreadableMail::Seal));
        let newer = sealer(1)
            .seal("mail a", br#"{"to":"a@b","language":"en","message":{"template":"new"}}"#)
            .unwrap();
        assert_eq!(refused(sealer(1), "a", newer), Some(UnreadableMail::Form));
    }

    #[test]
    fn a_flood_of_codes_leaves_room_for_news() {
        assert_eq!((most_of(10_000, true), most_of(10_000, false)), (10_000, 9_000));
        assert_eq!((most_of(10, true), most_of(10, false)), (10, 9));
    }
}
