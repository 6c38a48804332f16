//! Codes that are sent by mail, by the login API; and mail that is put into the queue.

use serde_json::json;
use symbolon_crypto::random;
use symbolon_crypto::random::SystemRandom;

use super::ledger::{MailedCode, QueuedMail};
use super::visit::Visit;
use crate::drill::actor::{Actor, Done, told};
use crate::drill::inbox::Manner;
use crate::drill::ledger::{Fate, Span};
use crate::drill::{Dice, NoAnswer, unix_micros};

/// A code of the login API lives for five minutes; within this shorter time it must be accepted (seconds).
const CODE_LIVES: u64 = 270;

/// A code has five tries, and one that has none left is refused whatever it is. A drill leaves one.
const TRIES: usize = 4;

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

    /// Asks for a code by mail, for somebody who has not asked before.
    pub(super) fn ask_for_mailed_code(&mut self) -> Result<(), NoAnswer> {
        let (Some(people), next) = (self.people, self.ledger.mailed_codes.len()) else { return Ok(()) };
        let Some(person) = self.ledger.people.get(next) else { return Ok(()) };
        let email = person.email.clone();
        let mut visit = Visit::default();
        let sent = unix_micros();
        let path = (&*people.issuer, "/api/auth/email-code/send");
        let answer = visit.call(self.wire, path, &json!({ "email": email }))?;
        if let Done::Yes = self.accept("request for a code by mail", &[200], &answer) {
            let (cookie, asked) = (visit.cookie_header(), Span { sent, acked: Some(unix_micros()) });
            let (arrived, uses) = Default::default();
            self.ledger.mailed_codes.push(MailedCode { email, cookie, asked, arrived, uses });
        }
        Ok(())
    }

    /// Looks for mails with codes that have arrived meanwhile.
    pub(super) fn read_mail(&mut self) {
        let Some(people) = self.people else { return };
        for code in self.ledger.mailed_codes.iter_mut().filter(|code| code.arrived.is_none()) {
            let copy = people.inbox.mail_to(&code.email).into_iter().next();
            code.arrived = copy.and_then(|copy| Some((copy.at, copy.code?)));
        }
    }

    /// Signs in by a code that was mailed; whether it was accepted, `None` if that is unknown.
    pub(super) fn bring_mailed_code(&mut self, index: usize) -> Result<Option<bool>, NoAnswer> {
        let Some(people) = self.people else { return Ok(None) };
        let code = &mut self.ledger.mailed_codes[index];
        let Some((_, digits)) = code.arrived.clone() else { return Ok(None) };
        code.uses.push(Span { sent: unix_micros(), acked: None });
        let (mut visit, body) =
            (Visit::with_cookie(&code.cookie), json!({ "email": code.email, "code": digits }));
        let path = (&*people.issuer, "/api/auth/email-code/verify");
        let answer = visit.call(self.wire, path, &body)?;
        if !self.has_answered("code by mail", &[200, 400], &answer) {
            return Ok(None);
        }
        if answer.status == 400 && answer.error() != "invalid_grant" {
            self.tally.violation(format!("code by mail: {}", told(&answer)));
        }
        if let Some(last) = self.ledger.mailed_codes[index].uses.last_mut() {
            last.acked = Some(unix_micros());
        }
        Ok(Some(answer.status == 200))
    }

    /// Brings a mailed code, and checks that it is accepted if it must be, and not if it must not be. Nothing is checked where its
    /// time or its tries are over, because then it is refused anyway.
    pub(super) fn check_mailed_code(&mut self, index: usize) -> Result<(), NoAnswer> {
        let (Some(people), code) = (self.people, &self.ledger.mailed_codes[index]) else { return Ok(()) };
        let (Some(fate), tries) = (code.fate(), code.uses.len()) else { return Ok(()) };
        let is_over = people.now().saturating_sub(code.asked.sent / 1_000_000) >= CODE_LIVES;
        if is_over || tries >= TRIES {
            return Ok(());
        }
        let (accepted, asked) =
            (self.bring_mailed_code(index)?, code_story(&self.ledger.mailed_codes[index]));
        let Some(accepted) = accepted else { return Ok(()) };
        match fate {
            Fate::Alive => {
                self.tally.check("code by mail that was not used", accepted, || asked);
                if accepted {
                    self.tally.count("acknowledged sign-in by a code by mail");
                }
            }
            Fate::Unknown => self.tally.count("code by mail whose use was in flight"),
            Fate::Ended => self.tally.check("code by mail that was used", !accepted, || asked),
        }
        Ok(())
    }
}

fn code_story(code: &MailedCode) -> String {
    let uses: Vec<String> = code.uses.iter().map(|span| span.ago()).collect();
    format!("asked for {}, used {}", code.asked.ago(), uses.join(" and "))
}
