//! What leads in and comes by mail, each once: codes of the login API, links for a new password, codes of registrations. And mail that
//! is put into the queue.

use serde_json::json;
use symbolon_crypto::random;
use symbolon_crypto::random::SystemRandom;

use super::change::new_password;
use super::ledger::{MailedKind, MailedSecret, QueuedMail};
use super::visit::{Form, Visit};
use crate::drill::actor::{Actor, Done, told};
use crate::drill::inbox::{MailCopy, Manner};
use crate::drill::ledger::{Fate, Span};
use crate::drill::{COOKIE, Dice, NoAnswer, unix_micros};

const FORGOT: &str = "/forgot-password";
const RESET: &str = "/reset-password";
const REGISTER: &str = "/register";
const CONFIRM: &str = "/register/confirm";

fn new_address() -> String {
    format!("{}@drill.example", random::base64url::<12>(&SystemRandom))
}

impl Actor<'_> {
    /// Puts a mail into the queue.
    pub(super) fn queue_mail(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        let manner = match dice.below(10) {
            0 => Manner::SecondAnswered,
            1 => Manner::Unanswered,
            _ => Manner::Taken,
        };
        let to = manner.address(&random::base64url::<12>(&SystemRandom).to_lowercase());
        let body = json!({ "to": to, "code": "042137", "minutes": 60 });
        let sent = unix_micros();
        self.ledger.mails.push(QueuedMail { to, queued: Span { sent, acked: None } });
        let answer = self.wire.admin("POST", "/test/mails", Some(&body))?;
        if let Done::Yes = self.accept("mail", &[201], &answer)
            && let Some(mail) = self.ledger.mails.last_mut()
        {
            mail.queued.acked = Some(unix_micros());
        }
        Ok(())
    }

    /// Asks for something by mail, for somebody who has not asked before.
    pub(super) fn ask_by_mail(&mut self, kind: MailedKind) -> Result<(), NoAnswer> {
        match kind {
            MailedKind::Code => self.ask_for_code_by_mail(),
            MailedKind::RecoveryLink => self.ask_for_recovery_link(),
            MailedKind::RegistrationCode => self.register(),
        }
    }

    fn ask_for_code_by_mail(&mut self) -> Result<(), NoAnswer> {
        let next = self.ledger.mailed_of(MailedKind::Code).len();
        let (Some(people), Some(person)) = (self.people, self.ledger.people.get(next)) else { return Ok(()) };
        let email = person.email.clone();
        let mut visit = Visit::default();
        let sent = unix_micros();
        let path = (&*people.issuer, "/api/auth/email-code/send");
        let answer = visit.call(self.wire, path, &json!({ "email": email }))?;
        let done = self.accept("request for a code by mail", &[200], &answer);
        self.note_asked(done, sent, (MailedKind::Code, email), (visit.cookie_header(), String::new()));
        Ok(())
    }

    /// Somebody of its own forgets a password, so that nothing else changes what the link is for.
    fn ask_for_recovery_link(&mut self) -> Result<(), NoAnswer> {
        let email = new_address();
        let body = json!({
            "email": email, "email_verified": true, "name": "Forgetful", "password": new_password(),
        });
        let made = self.wire.admin("POST", "/users", Some(&body))?;
        let Done::Yes = self.accept("user who forgets a password", &[201], &made) else { return Ok(()) };
        let mut visit = Visit::default();
        let page = visit.get(self.wire, FORGOT)?;
        let Some(form) = self.form_of("page of a forgotten password", &page) else { return Ok(()) };
        let fields = [("transaction", &*form.transaction), ("csrf_token", &form.csrf), ("username", &email)];
        let sent = unix_micros();
        let answer = visit.post(self.wire, FORGOT, &fields)?;
        let done = self.accept("request for a recovery link", &[303], &answer);
        // The link works in any browser.
        self.note_asked(done, sent, (MailedKind::RecoveryLink, email), Default::default());
        Ok(())
    }

    fn register(&mut self) -> Result<(), NoAnswer> {
        let email = new_address();
        let mut visit = Visit::default();
        let page = visit.get(self.wire, REGISTER)?;
        let Some(form) = self.form_of("page of registration", &page) else { return Ok(()) };
        let fields = [
            ("transaction", &*form.transaction),
            ("csrf_token", &form.csrf),
            ("email", &email),
            ("given_name", "Ann"),
            ("family_name", "Smith"),
        ];
        let sent = unix_micros();
        let answer = visit.post(self.wire, REGISTER, &fields)?;
        let done = self.accept("request for a code of a registration", &[303], &answer);
        let page = answer.header("location").unwrap_or_default().to_owned();
        self.note_asked(done, sent, (MailedKind::RegistrationCode, email), (visit.cookie_header(), page));
        Ok(())
    }

    fn note_asked(
        &mut self,
        done: Done,
        sent: u64,
        (kind, email): (MailedKind, String),
        (cookies, page): (String, String),
    ) {
        if let Done::Yes = done {
            let asked = Span { sent, acked: Some(unix_micros()) };
            let (arrived, uses, accepted, session) = Default::default();
            let mailed = MailedSecret { kind, email, cookies, page, asked, arrived, uses, accepted, session };
            self.ledger.mailed.push(mailed);
        }
    }

    /// Looks for mails that have arrived meanwhile.
    pub(super) fn read_mail(&mut self) {
        let Some(people) = self.people else { return };
        for mailed in self.ledger.mailed.iter_mut().filter(|mailed| mailed.arrived.is_none()) {
            let secret = |copy: MailCopy| {
                let secret = if mailed.kind == MailedKind::RecoveryLink { copy.link } else { copy.code };
                Some((copy.at, secret?))
            };
            mailed.arrived = people.inbox.mail_to(&mailed.email).into_iter().find_map(secret);
        }
    }

    /// Brings what was mailed; whether it was accepted, `None` if that is unknown.
    fn bring_mailed(&mut self, index: usize) -> Result<Option<bool>, NoAnswer> {
        let mailed = &mut self.ledger.mailed[index];
        let Some((_, secret)) = mailed.arrived.clone() else { return Ok(None) };
        let sent = unix_micros();
        mailed.uses.push(Span { sent, acked: None });
        let (kind, email, page) = (mailed.kind, mailed.email.clone(), mailed.page.clone());
        let mut visit = Visit::with_cookies(&mailed.cookies);
        let accepted = match kind {
            MailedKind::Code => self.sign_in_by_mailed_code(&mut visit, &email, &secret)?,
            MailedKind::RecoveryLink => self.follow_recovery_link(&mut visit, &secret)?,
            MailedKind::RegistrationCode => self.confirm_registration(&mut visit, &page, &secret)?,
        };
        let session = visit.cookie(COOKIE);
        let mailed = &mut self.ledger.mailed[index];
        let is_first_again = session.is_some() && mailed.session == session;
        let is_registration = kind == MailedKind::RegistrationCode;
        let accepted = accepted.map(|accepted| accepted && !(is_registration && is_first_again));
        if is_registration && accepted == Some(true) {
            mailed.session = session;
        }
        if let Some(accepted) = accepted {
            let (mailed, answered) = (&mut self.ledger.mailed[index], Some(unix_micros()));
            if let Some(last) = mailed.uses.last_mut() {
                last.acked = answered;
            }
            if accepted {
                mailed.accepted = Some(Span { sent, acked: answered });
            }
        }
        Ok(accepted)
    }

    fn sign_in_by_mailed_code(
        &mut self,
        visit: &mut Visit,
        email: &str,
        code: &str,
    ) -> Result<Option<bool>, NoAnswer> {
        let Some(people) = self.people else { return Ok(None) };
        let path = (&*people.issuer, "/api/auth/email-code/verify");
        let answer = visit.call(self.wire, path, &json!({ "email": email, "code": code }))?;
        if !self.has_answered("code by mail", &[200, 400], &answer) {
            return Ok(None);
        }
        if answer.status == 400 && answer.error() != "invalid_grant" {
            self.tally.violation(format!("code by mail: {}", told(&answer)));
        }
        Ok(Some(answer.status == 200))
    }

    /// Opens the link and sets a new password.
    fn follow_recovery_link(&mut self, visit: &mut Visit, link: &str) -> Result<Option<bool>, NoAnswer> {
        let page = visit.get(self.wire, link)?;
        if !self.has_answered("page behind a recovery link", &[200, 410], &page) {
            return Ok(None);
        }
        let (Some(sealed), Some(csrf)) = (page.field("link"), page.field("csrf_token")) else {
            return Ok(Some(false));
        };
        let password = new_password();
        let fields = [("link", &*sealed), ("csrf_token", &csrf), ("password", &password), ("code", "")];
        let answer = visit.post(self.wire, RESET, &fields)?;
        let known = self.has_answered("new password by a recovery link", &[200, 410], &answer);
        Ok(known.then_some(answer.status == 200))
    }

    /// Types the code of a registration, and a password.
    fn confirm_registration(
        &mut self,
        visit: &mut Visit,
        page: &str,
        code: &str,
    ) -> Result<Option<bool>, NoAnswer> {
        let page = visit.get(self.wire, page)?;
        if !self.has_answered("page of a registration's code", &[200], &page) {
            return Ok(None);
        }
        let Some(Form { transaction, csrf }) = Form::of(&page) else { return Ok(Some(false)) };
        let password = new_password();
        let fields =
            [("transaction", &*transaction), ("csrf_token", &csrf), ("code", code), ("password", &password)];
        let answer = visit.post(self.wire, CONFIRM, &fields)?;
        // Used up (403), or the address has an account by now (409).
        let known = self.has_answered("code of a registration", &[303, 403, 409], &answer);
        let is_in = answer.status == 303 && !answer.location().contains(REGISTER);
        Ok(known.then_some(is_in))
    }

    /// Brings what was mailed, and checks that it is accepted if it must be, and not if it must not be. Nothing is checked where its
    /// time or its tries are over, because then it is refused anyway.
    pub(super) fn check_mailed(&mut self, index: usize) -> Result<(), NoAnswer> {
        let (Some(people), mailed) = (self.people, &self.ledger.mailed[index]) else { return Ok(()) };
        let (Some(fate), kind) = (mailed.fate(), mailed.kind) else { return Ok(()) };
        let is_over = people.now().saturating_sub(mailed.asked.sent / 1_000_000) >= kind.lives();
        if is_over || mailed.uses.len() >= kind.tries() {
            return Ok(());
        }
        let (accepted, story) = (self.bring_mailed(index)?, self.ledger.mailed[index].story());
        let (Some(accepted), name) = (accepted, kind.name()) else { return Ok(()) };
        match fate {
            Fate::Alive => {
                self.tally.check(&format!("{name} that was not used"), accepted, || story);
                if accepted {
                    self.tally.count(&format!("acknowledged use of a {name}"));
                }
            }
            Fate::Unknown => self.tally.count(&format!("{name} whose use was in flight")),
            Fate::Ended => self.tally.check(&format!("{name} that was used"), !accepted, || story),
        }
        Ok(())
    }

    /// Checks that there is the account of a registration that was completed.
    pub(super) fn check_registered(&mut self, index: usize) -> Result<(), NoAnswer> {
        let mailed = &self.ledger.mailed[index];
        if mailed.kind != MailedKind::RegistrationCode || mailed.accepted.is_none() {
            return Ok(());
        }
        let (path, story) = (format!("/users?email={}", mailed.email.replace('@', "%40")), mailed.story());
        let answer = self.wire.admin("GET", &path, None)?;
        if self.has_answered("account that was registered", &[200], &answer) {
            let is_there = answer.json()["users"].as_array().is_some_and(|users| users.len() == 1);
            self.tally.check("account that was registered", is_there, || story);
        }
        Ok(())
    }
}
