//! Codes of generators and recovery codes: each is accepted once.

use symbolon_crypto::one_time_password::hotp;
use symbolon_crypto::secret::SecretBytes;

use super::ledger::{Proof, Step};
use super::sign_in::{SECOND_FACTOR, is_signed_in};
use super::visit::{Form, Visit};
use crate::drill::actor::Actor;
use crate::drill::ledger::{Fate, Span};
use crate::drill::{Dice, NoAnswer, Pressure, unix_micros};

/// Seconds of a step (RFC 6238 5.2).
const STEP: u64 = 30;
/// How near the end of a step, in seconds, the time may have gone on to the next one when the request arrives.
const MARGIN: u64 = 5;

/// Microseconds after which a generator's code may be too old when the provider looks at it.
pub(super) const LATE: u64 = MARGIN * 1_000_000;

/// A code that is brought, by its index in the ledger.
#[derive(Clone, Copy, Debug)]
pub(super) enum Brought {
    /// A code of a generator.
    Step(usize),
    /// A recovery code.
    Recovery(usize),
}

impl Brought {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Step(_) => "code of a generator",
            Self::Recovery(_) => "recovery code",
        }
    }
}

impl Actor<'_> {
    /// The digits of a step.
    pub(super) fn digits(&mut self, holder: usize, step: Step) -> String {
        let secret = self.holder(holder).generators[step.generator].secret.clone();
        format!("{:06}", hotp(&SecretBytes::new(secret), step.number, 6))
    }

    /// The present step of the provider's clock, and the seconds of it that are over.
    pub(super) fn present_step(&self) -> (u64, u64) {
        let now = self.people.map_or(0, super::People::now);
        (now / STEP, now % STEP)
    }

    /// A step after `latest` whose code is accepted for some seconds more. That before the present one and that after it are
    /// accepted too; in a cluster only the present one is brought, because a request may take long.
    pub(super) fn fresh_step(&self, latest: u64) -> Option<u64> {
        let (present, over) = self.present_step();
        let late = over + MARGIN >= STEP;
        let alone = self.pressure != Pressure::Faults;
        let earlier = (alone && !late).then_some(present - 1);
        let next = (alone && over >= MARGIN).then_some(present + 1);
        [earlier, Some(present), next].into_iter().flatten().find(|step| *step > latest)
    }

    /// Whether a code of this step would be accepted now, if it had not been used.
    pub(super) fn is_in_time(&self, step: u64) -> bool {
        let (present, over) = self.present_step();
        let late = over + MARGIN >= STEP;
        step.abs_diff(present) <= 1 && !(late && step < present)
    }

    /// Chooses a code that must be accepted; `None` if there is none at present.
    pub(super) fn choose_code(
        &mut self,
        holder: usize,
        generator: usize,
        dice: &mut Dice,
    ) -> Option<Brought> {
        let latest = self.holder(holder).latest_step(generator);
        let recovery = self.holder(holder).recovery_codes_of(Fate::Alive);
        match self.fresh_step(latest) {
            Some(number) if recovery.is_empty() || dice.once_in(2) => {
                let given = self.holder(holder).generators[generator].given;
                let steps = &mut self.holder(holder).steps;
                steps.push(Proof::new(Step { generator, number }, given));
                Some(Brought::Step(steps.len() - 1))
            }
            _ => dice.pick(&recovery).map(Brought::Recovery),
        }
    }

    /// Brings a code that counts once, and notes its use; whether it was accepted, `None` if that is unknown.
    pub(super) fn bring_code(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        holder: usize,
        brought: Brought,
    ) -> Result<Option<bool>, NoAnswer> {
        let text = self.text_of(holder, brought);
        let use_of = Span { sent: unix_micros(), acked: None };
        self.uses(holder, brought).push(use_of);
        let accepted = self.type_code(visit, form, &text)?;
        // One that was refused will not be accepted later.
        let acked = accepted.map(|_| unix_micros());
        if let Some(last) = self.uses(holder, brought).last_mut() {
            last.acked = acked;
        }
        if accepted == Some(true) {
            self.tally.count(&format!("acknowledged sign-in by a {}", brought.kind()));
        }
        Ok(accepted)
    }

    /// Brings a code that must be accepted; whether it was.
    pub(super) fn bring_fresh(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        holder: usize,
        brought: Brought,
    ) -> Result<bool, NoAnswer> {
        let sent = unix_micros();
        let Some(accepted) = self.bring_code(visit, form, holder, brought)? else { return Ok(false) };
        let is_late = matches!(brought, Brought::Step(_)) && unix_micros() - sent > LATE;
        if accepted || !is_late {
            let kind = format!("{} that was not used", brought.kind());
            self.tally.check(&kind, accepted, || "it was refused".to_owned());
        }
        Ok(accepted)
    }

    pub(super) fn text_of(&mut self, holder: usize, brought: Brought) -> String {
        match brought {
            Brought::Step(index) => {
                let step = self.holder(holder).steps[index].secret;
                self.digits(holder, step)
            }
            Brought::Recovery(index) => self.holder(holder).recovery_codes[index].secret.clone(),
        }
    }

    fn uses(&mut self, holder: usize, brought: Brought) -> &mut Vec<Span> {
        match brought {
            Brought::Step(index) => &mut self.holder(holder).steps[index].uses,
            Brought::Recovery(index) => &mut self.holder(holder).recovery_codes[index].uses,
        }
    }

    /// Types a code on the page of the second factor; whether it was accepted, `None` if the answer is unavailable.
    pub(super) fn type_code(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        code: &str,
    ) -> Result<Option<bool>, NoAnswer> {
        let fields = [("transaction", &*form.transaction), ("csrf_token", &form.csrf), ("code", code)];
        let answer = visit.post(self.wire, SECOND_FACTOR, &fields)?;
        if is_signed_in(&answer) {
            return Ok(Some(true));
        }
        Ok(self.has_answered("second factor", &[403], &answer).then_some(false))
    }

    /// Brings codes that must be refused: some that were used or withdrawn. Returns whether all were refused, so that the page
    /// goes on.
    pub(super) fn bring_ended(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        holder: usize,
        dice: &mut Dice,
    ) -> Result<bool, NoAnswer> {
        for brought in self.ended_codes(holder, dice) {
            let text = self.text_of(holder, brought);
            let how = match brought {
                Brought::Step(_) => "used",
                Brought::Recovery(index) => self.holder(holder).recovery_codes[index].ended_as(),
            };
            let Some(accepted) = self.type_code(visit, form, &text)? else { return Ok(false) };
            let kind = format!("{} that was {how}", brought.kind());
            self.tally.check(&kind, !accepted, || "it was accepted".to_owned());
            if accepted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Some codes that were used or withdrawn: the newest of each kind, and any other recovery code. An old step is refused anyway.
    fn ended_codes(&mut self, holder: usize, dice: &mut Dice) -> Vec<Brought> {
        let Some(generator) = self.holder(holder).generator() else { return Vec::new() };
        let ended = self.holder(holder).recovery_codes_of(Fate::Ended);
        let used = |index: &usize| self.ledger.holders[holder].recovery_codes[*index].ended_as() == "used";
        let newest_used = ended.iter().copied().rfind(used);
        let newest_withdrawn = ended.iter().copied().rfind(|index| !used(index));
        let any = dice.pick(&ended);
        let mut recovery: Vec<usize> = [newest_used, newest_withdrawn, any].into_iter().flatten().collect();
        recovery.sort_unstable();
        recovery.dedup();
        let steps = &self.ledger.holders[holder].steps;
        let current = (0..steps.len()).rev().filter(|index| {
            let step = &steps[*index];
            step.fate() == Fate::Ended
                && step.secret.generator == generator
                && self.is_in_time(step.secret.number)
        });
        current.take(2).map(Brought::Step).chain(recovery.into_iter().map(Brought::Recovery)).collect()
    }
}
