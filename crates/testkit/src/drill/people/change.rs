//! What people change of their own account, in a session in which they have just signed in.

use std::sync::Arc;

use serde_json::json;
use symbolon_crypto::random;
use symbolon_crypto::random::SystemRandom;
use symbolon_loadtest::authenticator::Authenticator;

use super::ledger::{HeldPasskey, Holder, Proof, Step};
use super::second_factor::LATE;
use super::visit::{Visit, shown_recovery_codes, shown_secret};
use crate::browser::Answer;
use crate::drill::NoAnswer;
use crate::drill::actor::{Actor, Done};
use crate::drill::ledger::{Fate, Micros, Span};
use crate::drill::unix_micros;

const GENERATOR: &str = "/account/security/generator";
const PASSWORD: &str = "/account/password";
const SECURITY: &str = "/account/security";

/// A password that no list has.
pub(super) fn new_password() -> String {
    random::base64url::<12>(&SystemRandom).to_string()
}

fn done_at(sent: Micros) -> Span {
    Span { sent, acked: Some(unix_micros()) }
}

impl Actor<'_> {
    /// Creates a user with a password.
    pub(super) fn new_holder(&mut self) -> Result<Option<usize>, NoAnswer> {
        let (email, password) =
            (format!("{}@drill.example", random::base64url::<12>(&SystemRandom)), new_password());
        let body =
            json!({ "email": email, "email_verified": true, "name": "A holder", "password": password });
        let sent = unix_micros();
        let answer = self.wire.admin("POST", "/users", Some(&body))?;
        let Done::Yes = self.accept("user with a password", &[201], &answer) else { return Ok(None) };
        let id = answer.json()["user"]["id"].as_str().expect("an id").to_owned();
        let created = done_at(sent);
        let passwords = vec![Proof::new(password, created)];
        let (generators, steps, recovery_codes, passkeys) = Default::default();
        self.ledger.holders.push(Holder {
            id,
            email,
            created,
            passwords,
            generators,
            steps,
            recovery_codes,
            passkeys,
        });
        Ok(Some(self.ledger.holders.len() - 1))
    }

    /// Opens a page of the account; `None` if it is unavailable.
    fn account_page(&mut self, visit: &mut Visit, path: &str) -> Result<Option<(Answer, String)>, NoAnswer> {
        let page = visit.get(self.wire, path)?;
        if !self.has_answered(path, &[200], &page) {
            return Ok(None);
        }
        let csrf = page.field("csrf_token").unwrap_or_default();
        Ok(Some((page, csrf)))
    }

    /// Sets a generator up; it comes with ten recovery codes.
    pub(super) fn set_generator_up(&mut self, visit: &mut Visit, holder: usize) -> Result<(), NoAnswer> {
        let Some((page, csrf)) = self.account_page(visit, GENERATOR)? else { return Ok(()) };
        let (Some(secret), Some(setup)) = (shown_secret(&page), page.field("setup")) else {
            self.tally.violation(format!("no generator on its page: {}", page.body));
            return Ok(());
        };
        let Some(number) = self.fresh_step(0) else { return Ok(()) };
        let sent = unix_micros();
        let flight = Span { sent, acked: None };
        let own = self.holder(holder);
        own.generators.push(Proof::new(secret, flight));
        let step = Step { generator: own.generators.len() - 1, number };
        let mut brought = Proof::new(step, flight);
        brought.uses.push(flight);
        own.steps.push(brought);
        let code = self.digits(holder, step);
        let form = [("csrf_token", &*csrf), ("setup", &setup), ("code", &code)];
        let answer = visit.post(self.wire, GENERATOR, &form)?;
        let now = done_at(sent);
        let is_late = answer.status == 403 && unix_micros() - sent > LATE;
        let done = match is_late {
            true => Done::No,
            false => self.accept("generator that was set up", &[200], &answer),
        };
        let own = self.holder(holder);
        let (Some(generator), Some(step)) = (own.generators.last_mut(), own.steps.last_mut()) else {
            return Ok(());
        };
        match done {
            Done::Yes => {
                (generator.given, step.given, step.uses) = (now, now, vec![now]);
                own.recovery_codes
                    .extend(shown_recovery_codes(&answer).into_iter().map(|code| Proof::new(code, now)));
            }
            Done::No => generator.withdrawn = Some(now),
            Done::Unknown => {}
        }
        Ok(())
    }

    /// Removes the generator, and with it the recovery codes.
    pub(super) fn remove_generator(
        &mut self,
        visit: &mut Visit,
        (holder, generator): (usize, usize),
    ) -> Result<(), NoAnswer> {
        let Some((_, csrf)) = self.account_page(visit, SECURITY)? else { return Ok(()) };
        let sent = unix_micros();
        self.withdraw_recovery_codes(holder, Some(Span { sent, acked: None }));
        self.holder(holder).generators[generator].withdrawn = Some(Span { sent, acked: None });
        let answer = visit.post(self.wire, SECURITY, &[("csrf_token", &csrf), ("generator", "remove")])?;
        let done = self.accept("generator that was removed", &[303], &answer).end(sent);
        self.holder(holder).generators[generator].withdrawn = done;
        self.settle_withdrawn(holder, sent, done);
        Ok(())
    }

    /// Draws new recovery codes in place of the others.
    pub(super) fn draw_recovery_codes(&mut self, visit: &mut Visit, holder: usize) -> Result<(), NoAnswer> {
        let Some((_, csrf)) = self.account_page(visit, SECURITY)? else { return Ok(()) };
        let sent = unix_micros();
        self.withdraw_recovery_codes(holder, Some(Span { sent, acked: None }));
        let answer = visit.post(self.wire, SECURITY, &[("csrf_token", &csrf), ("recovery_codes", "new")])?;
        let done = self.accept("new recovery codes", &[200], &answer).end(sent);
        self.settle_withdrawn(holder, sent, done);
        if let Some(given @ Span { acked: Some(_), .. }) = done {
            let codes = shown_recovery_codes(&answer).into_iter().map(|code| Proof::new(code, given));
            self.holder(holder).recovery_codes.extend(codes);
        }
        Ok(())
    }

    /// Notes that a request withdraws every recovery code that may be valid.
    fn withdraw_recovery_codes(&mut self, holder: usize, by: Option<Span>) {
        let codes = self.holder(holder).recovery_codes.iter_mut();
        codes.filter(|code| code.withdrawn.is_none()).for_each(|code| code.withdrawn = by);
    }

    /// Notes what became of the request that was sent then: it withdrew the codes, or not, or that is unknown.
    pub(super) fn settle_withdrawn(&mut self, holder: usize, sent: Micros, done: Option<Span>) {
        let is_by_it = |by: Span| by.sent == sent && by.acked.is_none();
        let codes = self.holder(holder).recovery_codes.iter_mut();
        codes.filter(|code| code.withdrawn.is_some_and(is_by_it)).for_each(|code| code.withdrawn = done);
    }

    /// Changes the password.
    pub(super) fn change_password(&mut self, visit: &mut Visit, holder: usize) -> Result<(), NoAnswer> {
        let Some((page, csrf)) = self.account_page(visit, PASSWORD)? else { return Ok(()) };
        let state = page.field("state").unwrap_or_default();
        let (present, new, sent) = (self.present_password(holder), new_password(), unix_micros());
        let flight = Span { sent, acked: None };
        let passwords = &mut self.holder(holder).passwords;
        if let Some(old) = passwords.iter_mut().rfind(|old| old.fate() == Fate::Alive) {
            old.withdrawn = Some(flight);
        }
        passwords.push(Proof::new(new.clone(), flight));
        let form = [
            ("csrf_token", &*csrf),
            ("state", &state),
            ("present", &present),
            ("new", &new),
            ("again", &new),
        ];
        let answer = visit.post(self.wire, PASSWORD, &form)?;
        match self.accept("changed password", &[303], &answer) {
            Done::Yes => self.settle_password(holder, true),
            Done::No => self.settle_password(holder, false),
            Done::Unknown => {}
        }
        Ok(())
    }

    /// Notes whether the password that was being set is the present one.
    pub(super) fn settle_password(&mut self, holder: usize, is_set: bool) {
        let Some((new, before)) = self.holder(holder).passwords.split_last_mut() else { return };
        let sent = new.given.sent;
        let replaced = before.iter_mut().filter(|old| old.withdrawn.is_some_and(|by| by.sent == sent));
        if is_set {
            new.confirm();
            replaced.for_each(|old| old.withdrawn = Some(done_at(sent)));
        } else {
            new.withdrawn = Some(done_at(sent));
            replaced.for_each(|old| old.withdrawn = None);
        }
    }

    /// Adds a passkey.
    pub(super) fn add_passkey(&mut self, visit: &mut Visit, holder: usize) -> Result<(), NoAnswer> {
        let Some(people) = self.people else { return Ok(()) };
        let id = self.holder(holder).id.clone();
        let body = json!({ "userId": id });
        let path = (&*people.issuer, "/api/auth/passkey/register/options");
        let options = visit.call(self.wire, path, &body)?;
        if !self.has_answered("challenge for a new passkey", &[200], &options) {
            return Ok(());
        }
        let mut authenticator = Authenticator::new(&people.issuer).expect("a key");
        let created = authenticator.create(&options.json()["options"]).expect("an answer to a challenge");
        let body = json!({ "userId": id, "credential": created, "deviceName": "A key" });
        let held = HeldPasskey { id: String::new(), authenticator: Arc::new(authenticator) };
        let sent = unix_micros();
        self.holder(holder).passkeys.push(Proof::new(held, Span { sent, acked: None }));
        let path = (&*people.issuer, "/api/auth/passkey/register/verify");
        let answer = visit.call(self.wire, path, &body)?;
        let done = self.accept("passkey that was added", &[200], &answer);
        let Some(passkey) = self.holder(holder).passkeys.last_mut() else { return Ok(()) };
        match done {
            Done::Yes => {
                answer.json()["passkeyId"].as_str().unwrap_or_default().clone_into(&mut passkey.secret.id);
                passkey.confirm();
            }
            Done::No => passkey.withdrawn = Some(done_at(sent)),
            Done::Unknown => {}
        }
        Ok(())
    }

    /// Removes a passkey, as an administrator does for somebody who has lost it.
    pub(super) fn remove_passkey(&mut self, holder: usize, passkey: usize) -> Result<(), NoAnswer> {
        let own = self.holder(holder);
        let path = format!("/users/{}/authenticators/passkeys/{}", own.id, own.passkeys[passkey].secret.id);
        let sent = unix_micros();
        own.passkeys[passkey].withdrawn = Some(Span { sent, acked: None });
        let answer = self.wire.admin("DELETE", &path, None)?;
        let done = self.accept("passkey that was removed", &[200, 204], &answer);
        self.holder(holder).passkeys[passkey].withdrawn = done.end(sent);
        Ok(())
    }
}
