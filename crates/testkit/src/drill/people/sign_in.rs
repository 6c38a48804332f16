//! The way through the sign-in pages.

use std::sync::Arc;

use serde_json::json;

use super::ledger::Holder;
use super::visit::{Form, Visit};
use crate::browser::Answer;
use crate::drill::actor::{Actor, told};
use crate::drill::ledger::Fate;
use crate::drill::relying_party::REDIRECT_URI;
use crate::drill::{NoAnswer, Pressure};

/// The page of the second factor, and its form's target.
pub(super) const SECOND_FACTOR: &str = "/login/second-factor";

/// What a typed password opened.
pub(super) enum Door {
    /// The person is signed in.
    In,
    /// A second factor is asked for.
    SecondFactor(Form),
    /// It was refused.
    Shut,
}

/// Whether an answer leads back to the application with a code.
pub(super) fn is_signed_in(answer: &Answer) -> bool {
    let location = answer.header("location").unwrap_or_default();
    answer.status == 303 && location.starts_with(REDIRECT_URI) && location.contains("code=")
}

impl Actor<'_> {
    /// Whether a page answered as it should. Notes a violation if not, unless it may be unavailable.
    pub(super) fn has_answered(&mut self, what: &str, wanted: &[u16], answer: &Answer) -> bool {
        if self.pressure == Pressure::Faults && answer.is_unavailable() {
            self.tally.count(&format!("unavailable (503) {what}"));
            return false;
        }
        let is_wanted = wanted.contains(&answer.status);
        if !is_wanted {
            self.tally.violation(format!("{what}: {}", told(answer)));
        }
        is_wanted
    }

    pub(super) fn holder(&mut self, index: usize) -> &mut Holder {
        &mut self.ledger.holders[index]
    }

    /// Opens the sign-in page on the way from the application; `None` if it is unavailable.
    pub(super) fn login_form(&mut self, visit: &mut Visit) -> Result<Option<Form>, NoAnswer> {
        let (path, _) = self.authorization(None);
        let sent = visit.get(self.wire, &path)?;
        if !self.has_answered("authorization request of a person", &[302, 303], &sent) {
            return Ok(None);
        }
        let page = visit.get(self.wire, &sent.location())?;
        Ok(self.form_of("sign-in page", &page))
    }

    /// The form of a page; `None` if the page is unavailable.
    pub(super) fn form_of(&mut self, what: &str, page: &Answer) -> Option<Form> {
        if !self.has_answered(what, &[200], page) {
            return None;
        }
        let form = Form::of(page);
        if form.is_none() {
            self.tally.violation(format!("{what} without a form: {}", told(page)));
        }
        form
    }

    /// Types a password of a holder; `None` if the answer is unavailable.
    pub(super) fn type_password(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        holder: usize,
        password: &str,
    ) -> Result<Option<Door>, NoAnswer> {
        let email = self.holder(holder).email.clone();
        let fields = [
            ("transaction", &*form.transaction),
            ("csrf_token", &form.csrf),
            ("username", &email),
            ("password", password),
        ];
        let answer = visit.post(self.wire, "/login", &fields)?;
        if !self.has_answered("password", &[303, 403], &answer) {
            return Ok(None);
        }
        if answer.status == 403 {
            return Ok(Some(Door::Shut));
        }
        if is_signed_in(&answer) {
            return Ok(Some(Door::In));
        }
        if !answer.location().starts_with(SECOND_FACTOR) {
            self.tally.violation(format!("password: {}", told(&answer)));
            return Ok(None);
        }
        let page = visit.get(self.wire, &answer.location())?;
        Ok(self.form_of("page of the second factor", &page).map(Door::SecondFactor))
    }

    /// The password that must be accepted.
    pub(super) fn present_password(&mut self, holder: usize) -> String {
        let passwords = &self.holder(holder).passwords;
        let present = passwords.iter().rev().find(|password| password.fate() != Fate::Ended);
        present.map(|password| password.secret.clone()).unwrap_or_default()
    }

    /// Signs in with a passkey; whether it was accepted, `None` if the answer is unavailable.
    pub(super) fn bring_passkey(&mut self, holder: usize, passkey: usize) -> Result<Option<bool>, NoAnswer> {
        let Some(people) = self.people else { return Ok(None) };
        let authenticator = Arc::clone(&self.holder(holder).passkeys[passkey].secret.authenticator);
        let mut visit = Visit::default();
        let path = (&*people.issuer, "/api/auth/passkey/login/options");
        let asked = visit.call(self.wire, path, &json!({}))?;
        if !self.has_answered("challenge for a passkey", &[200], &asked) {
            return Ok(None);
        }
        let asked = asked.json();
        let credential = authenticator.get(&asked["options"]).expect("an answer to a challenge");
        let body = json!({ "challengeId": asked["challengeId"], "credential": credential });
        let answer = visit.call(self.wire, (&people.issuer, "/api/auth/passkey/login/verify"), &body)?;
        let known = self.has_answered("passkey", &[200, 400], &answer);
        Ok(known.then_some(answer.status == 200))
    }
}
