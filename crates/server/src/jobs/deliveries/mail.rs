//! Sends mail: what becomes of one mail that was taken from the queue.
//!
//! | what happened | what follows |
//! |---|---|
//! | the server of mail took it | it leaves the queue |
//! | the server cannot be reached, or refuses us altogether | all mail waits for some seconds |
//! | it was refused for now (4yz) | it waits, longer each time |
//! | it was refused for good (5yz), or its time is over | it is given up |
//! | the connection ended while the text was on its way | its claim runs out; it is sent once more, not twice |

use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use symbolon_app::app::App;
use symbolon_app::audit::AuditEntry;
use symbolon_app::issuer::IssuerState;
use symbolon_app::mail::{self, UnreadableMail};
use symbolon_app::outbox::OutboxMail;
use symbolon_config::{Mode, Sender};
use symbolon_mail::{Letter, Mail, Rendered, Smtp, SmtpError, SmtpFailure, Stage};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::Delivery;

use super::{MOST_UNANSWERED, SLOTS, back_off, finish, postpone};

/// The longest pause after a failed connection: so soon mail goes on when the server is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// When a mail that another version queued is looked at again.
const OTHER_VERSION: Duration = Duration::from_secs(60);

/// Where mail goes.
enum Transport {
    Smtp {
        smtp: Box<Smtp>,
        from: Sender,
    },
    /// No server is configured.
    Log,
    /// The server that is configured cannot be used.
    Broken(String),
}

/// Whether the server of mail could be reached.
#[derive(Default)]
struct Line {
    failures: u32,
    /// Until when nothing is tried.
    until: Option<Timestamp>,
}

/// Delivers mail.
pub(super) struct MailCourier {
    transport: Transport,
    line: Mutex<Line>,
}

/// What became of an attempt.
enum Attempt {
    Sent,
    /// Nothing was tried, as the server is away.
    Spared(Timestamp),
    Failed(SmtpError),
}

impl MailCourier {
    pub(super) fn new(app: &App) -> Self {
        let config = app.config.load();
        let transport = match (&config.mail.smtp, &config.mail.from) {
            (Some(server), Some(from)) => match Smtp::new(server.clone(), from, SLOTS) {
                Ok(smtp) => Transport::Smtp { smtp: Box::new(smtp), from: from.clone() },
                Err(error) => Transport::Broken(error.to_string()),
            },
            _ => Transport::Log,
        };
        Self { transport, line: Mutex::default() }
    }

    /// Says goodbye to the server.
    pub(super) async fn close(&self) {
        if let Transport::Smtp { smtp, .. } = &self.transport {
            smtp.close().await;
        }
    }

    pub(super) async fn deliver(&self, app: &App, issuer: &IssuerId, delivery: &Delivery) {
        let known = app.issuers.load().by_id(issuer).cloned();
        let Some(known) = known else {
            // Created this moment by another node, or deleted; then the sweep takes it.
            return postpone(&*app.store, issuer, delivery, app.now() + OTHER_VERSION).await;
        };
        let handover = Handover { app, issuer: &known, delivery };
        let mail = match mail::open(&known, delivery) {
            Ok(mail) => mail,
            Err(UnreadableMail::Form) => return handover.put_back(app.now() + OTHER_VERSION).await,
            Err(UnreadableMail::Seal) => return handover.give_up(None, "unreadable", None).await,
        };
        // The present claim is one of them.
        if delivery.unanswered > MOST_UNANSWERED {
            return handover.give_up(Some(&mail), "unanswered", None).await;
        }
        if handover.is_over(&mail, app.now()) {
            return handover.give_up(Some(&mail), "expired", None).await;
        }
        match self.attempt(&handover, &mail).await {
            Ok(attempt) => self.settle(&handover, &mail, attempt).await,
            Err(reason) => handover.give_up(Some(&mail), reason, None).await,
        }
    }

    /// Writes the mail and tries to send it.
    ///
    /// # Errors
    /// Why it never can be.
    async fn attempt(&self, handover: &Handover<'_>, mail: &Mail) -> Result<Attempt, &'static str> {
        let Handover { app, issuer, delivery } = handover;
        // Better plain than late, where the client cannot be looked up now.
        let language = mail.language.tag();
        let brand = mail::brand(app, issuer, mail.client.as_ref(), language).await;
        let brand = brand.unwrap_or_else(|_| issuer.mail_brand(None, None, language));
        let render = |message| Rendered::new(message, mail.language, &brand).map_err(|_| "unrenderable");
        let rendered = render(&mail.message)?;
        let is_development = app.config.load().mode == Mode::Development;
        let in_outbox = is_development.then(|| OutboxMail {
            issuer: issuer.id.clone(),
            at: app.now(),
            to: mail.to.clone(),
            subject: rendered.subject.clone(),
            text: rendered.text.clone(),
        });
        let sent = match &self.transport {
            Transport::Log => {
                let shown = if is_development { rendered } else { render(&mail.message.without_secrets())? };
                tracing::info!(
                    target: "symbolon::mail",
                    issuer = %issuer.id,
                    to = mail.to,
                    subject = shown.subject,
                    text = shown.text,
                    "no server of mail is configured (`smtp.url`); this mail was not sent"
                );
                Attempt::Sent
            }
            Transport::Broken(reason) => Attempt::Failed(broken(reason)),
            Transport::Smtp { smtp, from } => {
                let letter = Letter::new(from, &mail.to, rendered, delivery.id.as_str(), delivery.created_at)
                    .map_err(|_| "address")?;
                self.send(app, smtp, &letter).await
            }
        };
        if let (Attempt::Sent, Some(kept)) = (&sent, in_outbox) {
            app.outbox.keep(kept);
        }
        Ok(sent)
    }

    /// Sends it, unless the server was away a moment ago.
    async fn send(&self, app: &App, smtp: &Smtp, letter: &Letter) -> Attempt {
        let now = app.now();
        if let Some(until) = self.line.lock().until.filter(|until| now < *until) {
            return Attempt::Spared(until);
        }
        let sent = smtp.send(letter, now).await;
        let mut line = self.line.lock();
        match sent {
            Err(error) if error.failure == SmtpFailure::Unavailable => {
                line.failures = line.failures.saturating_add(1);
                line.until = Some(app.now() + pause(line.failures));
                Attempt::Failed(error)
            }
            sent => {
                *line = Line::default();
                sent.map_or_else(Attempt::Failed, |()| Attempt::Sent)
            }
        }
    }

    async fn settle(&self, handover: &Handover<'_>, mail: &Mail, attempt: Attempt) {
        let now = handover.app.now();
        let error = match attempt {
            Attempt::Sent => return handover.sent(mail, matches!(self.transport, Transport::Log)).await,
            Attempt::Spared(until) => return handover.put_back(until).await,
            Attempt::Failed(error) => error,
        };
        tracing::warn!(target: "symbolon::mail", issuer = %handover.issuer.id, %error, "a mail was not sent");
        match error.failure {
            SmtpFailure::Never => handover.give_up(Some(mail), "refused", Some(&error)).await,
            SmtpFailure::Unavailable => {
                let until = self.line.lock().until.unwrap_or(now + LONGEST_PAUSE);
                handover.postpone(mail, until.max(now), &error).await;
            }
            SmtpFailure::Later => {
                handover.postpone(mail, now + back_off(handover.delivery.attempts), &error).await;
            }
            // The store counts it as unanswered when the claim runs out.
            SmtpFailure::Unknown => handover.note(Event::MailPostponed, Some(mail), "unknown", Some(&error)),
        }
    }
}

/// How long nothing is tried after so many failed connections.
fn pause(failures: u32) -> Duration {
    Duration::from_secs(1).saturating_mul(1 << failures.saturating_sub(1).min(8)).min(LONGEST_PAUSE)
}

fn broken(reason: &str) -> SmtpError {
    let failure = SmtpFailure::Unavailable;
    SmtpError { failure, stage: Stage::Connect, code: None, reason: reason.to_owned() }
}

/// One mail that was taken from the queue.
struct Handover<'h> {
    app: &'h App,
    issuer: &'h IssuerState,
    delivery: &'h Delivery,
}

impl Handover<'_> {
    /// Whether the mail is no longer worth sending.
    fn is_over(&self, mail: &Mail, at: Timestamp) -> bool {
        at >= self.delivery.created_at + mail.message.lives()
    }

    async fn sent(&self, mail: &Mail, to_the_log: bool) {
        finish(&*self.app.store, &self.issuer.id, self.delivery).await;
        self.note(Event::MailSent, Some(mail), if to_the_log { "log" } else { "smtp" }, None);
    }

    /// Puts it back without a record: nothing was tried.
    async fn put_back(&self, due_at: Timestamp) {
        postpone(&*self.app.store, &self.issuer.id, self.delivery, due_at).await;
    }

    async fn postpone(&self, mail: &Mail, due_at: Timestamp, error: &SmtpError) {
        if self.is_over(mail, due_at) {
            return self.give_up(Some(mail), "expired", Some(error)).await;
        }
        self.put_back(due_at).await;
        self.note(Event::MailPostponed, Some(mail), "refused", Some(error));
    }

    async fn give_up(&self, mail: Option<&Mail>, reason: &str, error: Option<&SmtpError>) {
        finish(&*self.app.store, &self.issuer.id, self.delivery).await;
        tracing::warn!(target: "symbolon::mail", issuer = %self.issuer.id, reason, "a mail was given up");
        self.note(Event::MailGivenUp, mail, reason, error);
    }

    /// Counts and audits what became of it: its template and its user, never its address or its text.
    fn note(&self, event: Event, mail: Option<&Mail>, reason: &str, error: Option<&SmtpError>) {
        let mut detail = json!({ "reason": reason, "attempts": self.delivery.attempts });
        if let Some(members) = detail.as_object_mut() {
            if let Some(mail) = mail {
                members.insert("template".to_owned(), json!(mail.message.template()));
            }
            if let Some(error) = error {
                members.insert("stage".to_owned(), json!(error.stage.name()));
                members.insert("code".to_owned(), json!(error.code));
            }
        }
        let user = mail.and_then(|mail| mail.user.clone());
        let entry = AuditEntry { user, ..AuditEntry::system(event, detail) };
        self.app.audit.record(&self.issuer.id, entry, self.app.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_back_is_noticed_within_half_a_minute() {
        assert_eq!([1, 2, 3, 5, 6, 50].map(|failures| pause(failures).as_secs()), [1, 2, 4, 16, 30, 30]);
    }
}
