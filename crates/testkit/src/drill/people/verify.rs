//! Verifies after the accident that people sign in by what they have, and by nothing that they had.

use super::ledger::{MailedKind, indices};
use super::second_factor::Brought;
use super::sign_in::Door;
use super::visit::{Form, Visit};
use crate::drill::actor::Actor;
use crate::drill::ledger::{Fate, Span};
use crate::drill::verify::Depth;
use crate::drill::{Dice, NoAnswer, Pressure, unix_micros};

/// Most people of whom everything is checked, per worker.
const HOLDERS: usize = 10;
/// The same where only a part is checked.
const SOME_HOLDERS: usize = 2;
/// Most of each kind of what comes by mail that are checked, per worker.
const MAILED: usize = 12;

impl Actor<'_> {
    /// Compares what people may sign in by with the process.
    pub(in crate::drill) fn verify_sign_ins(
        &mut self,
        depth: Depth,
        dice: &mut Dice,
    ) -> Result<(), NoAnswer> {
        if self.people.is_none() {
            return Ok(());
        }
        let most = if depth.is_all() { HOLDERS } else { SOME_HOLDERS };
        let mut holders: Vec<usize> = (0..self.ledger.holders.len()).collect();
        while holders.len() > most {
            holders.swap_remove(dice.below(holders.len()));
        }
        for holder in holders {
            let verified = self.verify_holder(holder, dice);
            self.or_lost(verified)?;
            let verified = self.verify_passkeys(holder, dice);
            self.or_lost(verified)?;
        }
        self.read_mail();
        for kind in MailedKind::ALL {
            for index in self.ledger.mailed_of(kind).into_iter().rev().take(MAILED) {
                let verified = self.check_registered(index);
                self.or_lost(verified)?;
                let verified = self.check_mailed(index);
                self.or_lost(verified)?;
            }
        }
        Ok(())
    }

    /// In a cluster an answer may be lost: then it stays unknown what became of the request, which is not repeated.
    fn or_lost(&mut self, result: Result<(), NoAnswer>) -> Result<(), NoAnswer> {
        match result {
            Err(_) if self.pressure == Pressure::Faults => {
                self.tally.count("lost answer");
                Ok(())
            }
            result => result,
        }
    }

    fn verify_holder(&mut self, holder: usize, dice: &mut Dice) -> Result<(), NoAnswer> {
        let mut visit = Visit::default();
        let Some(form) = self.login_form(&mut visit)? else { return Ok(()) };
        let opened = match self.by_past_password(&mut visit, &form, holder, dice)? {
            Some(Door::Shut) | None => self.by_password(&mut visit, &form, holder)?,
            // That is a violation, and leads on.
            opened => opened,
        };
        let Some(door) = opened else { return Ok(()) };
        self.settle_generator(holder, &door);
        let generator = self.holder(holder).generator();
        match (door, generator) {
            (Door::Shut, _) => Ok(()),
            (Door::In, generator) => {
                let holds = generator.is_none();
                let told = || "no second factor was asked for".to_owned();
                self.tally.check("generator that was set up, or removed", holds, told);
                Ok(())
            }
            (Door::SecondFactor(_), None) => {
                let told = || "a removed generator was asked for".to_owned();
                self.tally.check("generator that was set up, or removed", false, told);
                Ok(())
            }
            (Door::SecondFactor(form), Some(generator)) => {
                self.tally.count("checked generator that was set up, or removed");
                self.verify_codes_of(&mut visit, &form, (holder, generator), dice)
            }
        }
    }

    /// Types a password that was replaced; `None` if there is none, or the answer is unavailable.
    fn by_past_password(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        holder: usize,
        dice: &mut Dice,
    ) -> Result<Option<Door>, NoAnswer> {
        let ended = indices(&self.holder(holder).passwords, Fate::Ended);
        let Some(past) = dice.pick(&ended) else { return Ok(None) };
        let past = self.holder(holder).passwords[past].secret.clone();
        let door = self.type_password(visit, form, holder, &past)?;
        if let Some(door) = &door {
            let shut = matches!(door, Door::Shut);
            self.tally.check("password that was replaced", shut, || "it was accepted".to_owned());
        }
        Ok(door)
    }

    /// Types the password that must be accepted; if a change was not answered, first the new one. `None`: that is unknown.
    fn by_password(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        holder: usize,
    ) -> Result<Option<Door>, NoAnswer> {
        let passwords = &self.holder(holder).passwords;
        if let Some(new) = passwords.last().filter(|new| new.fate() == Fate::Unknown) {
            let new = new.secret.clone();
            let Some(door) = self.type_password(visit, form, holder, &new)? else { return Ok(None) };
            let is_set = !matches!(door, Door::Shut);
            self.tally.count("checked password whose change was in flight");
            self.settle_password(holder, is_set);
            if is_set {
                return Ok(Some(door));
            }
        }
        let present = self.present_password(holder);
        let Some(door) = self.type_password(visit, form, holder, &present)? else { return Ok(None) };
        let shut = matches!(door, Door::Shut);
        self.tally.check("present password", !shut, || "it was refused".to_owned());
        Ok(Some(door))
    }

    /// Whether a second factor is asked for tells what became of a generator whose setting up or removal was not answered.
    fn settle_generator(&mut self, holder: usize, door: &Door) {
        let own = self.holder(holder);
        let Some(generator) = own.generators.last_mut() else { return };
        if generator.fate() != Fate::Unknown {
            return;
        }
        let removal = generator.withdrawn;
        match door {
            Door::Shut => return,
            Door::SecondFactor(_) => generator.confirm(),
            Door::In => {
                let sent = removal.map_or(generator.given.sent, |span| span.sent);
                generator.withdrawn = Some(Span { sent, acked: Some(unix_micros()) });
            }
        }
        let done = generator.withdrawn;
        if let Some(removal) = removal {
            self.settle_withdrawn(holder, removal.sent, done);
        }
        self.tally.count("checked generator whose change was in flight");
    }

    /// On the page of the second factor: what was used or withdrawn is refused, what was in flight counts once at most, and
    /// what was neither is accepted.
    fn verify_codes_of(
        &mut self,
        visit: &mut Visit,
        form: &Form,
        (holder, generator): (usize, usize),
        dice: &mut Dice,
    ) -> Result<(), NoAnswer> {
        if !self.bring_ended(visit, form, holder, dice)? {
            return Ok(());
        }
        if let Some(unknown) = self.unknown_code(holder, generator) {
            let Some(accepted) = self.bring_code(visit, form, holder, unknown)? else { return Ok(()) };
            self.tally.count(&format!("checked {} whose use was in flight", unknown.kind()));
            if accepted {
                return Ok(());
            }
            // It must be refused from now on, too.
            let text = self.text_of(holder, unknown);
            let Some(accepted) = self.type_code(visit, form, &text)? else { return Ok(()) };
            let kind = format!("{} that was refused", unknown.kind());
            self.tally.check(&kind, !accepted, || "it was accepted".to_owned());
            if accepted {
                return Ok(());
            }
        }
        let Some(brought) = self.choose_code(holder, generator, dice) else { return Ok(()) };
        self.bring_fresh(visit, form, holder, brought).map(drop)
    }

    /// A code of which it is unknown whether it was used or withdrawn.
    fn unknown_code(&mut self, holder: usize, generator: usize) -> Option<Brought> {
        let own = &self.ledger.holders[holder];
        let step = (0..own.steps.len()).rev().find(|index| {
            let step = &own.steps[*index];
            let is_unknown = step.fate() == Fate::Unknown && !step.uses.is_empty();
            is_unknown && step.secret.generator == generator && self.is_in_time(step.secret.number)
        });
        let recovery = own.recovery_codes_of(Fate::Unknown).pop();
        step.map(Brought::Step).or(recovery.map(Brought::Recovery))
    }

    fn verify_passkeys(&mut self, holder: usize, dice: &mut Dice) -> Result<(), NoAnswer> {
        let own = &self.holder(holder).passkeys;
        // The one that was removed last, and any other.
        let removed = indices(own, Fate::Ended).pop();
        let others: Vec<usize> = (0..own.len()).filter(|index| Some(*index) != removed).collect();
        let passkeys = [removed, dice.pick(&others)].into_iter().flatten();
        for passkey in passkeys {
            let fate = self.holder(holder).passkeys[passkey].fate();
            let Some(accepted) = self.bring_passkey(holder, passkey)? else { continue };
            let told = || format!("accepted: {accepted}");
            match fate {
                Fate::Alive => self.tally.check("passkey that was added", accepted, told),
                Fate::Ended => self.tally.check("passkey that was removed", !accepted, told),
                Fate::Unknown => self.settle_passkey(holder, passkey, accepted),
            }
        }
        Ok(())
    }

    fn settle_passkey(&mut self, holder: usize, passkey: usize, accepted: bool) {
        self.tally.count("checked passkey whose change was in flight");
        let own = &mut self.holder(holder).passkeys[passkey];
        if accepted && !own.secret.id.is_empty() {
            own.confirm();
        } else if !accepted {
            own.withdrawn = Some(Span { sent: own.given.sent, acked: Some(unix_micros()) });
        }
    }
}
