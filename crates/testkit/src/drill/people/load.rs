//! What people do under load.

use super::ledger::{MailedKind, indices};
use super::sign_in::Door;
use super::visit::Visit;
use crate::drill::actor::Actor;
use crate::drill::ledger::Fate;
use crate::drill::{Dice, NoAnswer};

/// Most people with second factors, per worker: each is looked at after the last accident.
const HOLDERS: usize = 5;

/// Of each kind of what comes by mail, how many are left for after the accident, per worker.
const LEFT: usize = 1;

/// Most passkeys that one of them has at a time.
const PASSKEYS: usize = 3;

impl Actor<'_> {
    /// One thing that a person does, if there are people.
    pub(in crate::drill) fn person_step(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        match dice.below(100) {
            0..18 => self.queue_mail(dice),
            18..30 => self.ask_by_mail(MailedKind::Code),
            30..36 => self.ask_by_mail(MailedKind::RecoveryLink),
            36..42 => self.ask_by_mail(MailedKind::RegistrationCode),
            42..66 => self.use_mailed(dice),
            _ => self.holder_step(dice),
        }
    }

    /// Uses what has arrived by mail, now and then what was used before.
    fn use_mailed(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        self.read_mail();
        let wanted = if dice.once_in(4) { Fate::Ended } else { Fate::Alive };
        let Some(kind) = dice.pick(&MailedKind::ALL) else { return Ok(()) };
        let mut found = self.ledger.mailed_of(kind);
        found.retain(|index| self.ledger.mailed[*index].fate() == Some(wanted));
        let found =
            if wanted == Fate::Alive { &found[..found.len().saturating_sub(LEFT)] } else { &found[..] };
        dice.pick(found).map_or(Ok(()), |index| self.check_mailed(index))
    }

    fn holder_step(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        let holders = &self.ledger.holders;
        let settled: Vec<usize> = (0..holders.len()).filter(|index| holders[*index].is_settled()).collect();
        let holder = match dice.pick(&settled) {
            Some(holder) if holders.len() >= HOLDERS || !dice.once_in(4) => holder,
            _ if holders.len() >= 2 * HOLDERS => return Ok(()),
            _ => match self.new_holder()? {
                Some(holder) => holder,
                None => return Ok(()),
            },
        };
        let passkeys = indices(&self.holder(holder).passkeys, Fate::Alive);
        match (dice.below(10), dice.pick(&passkeys)) {
            (0..2, Some(passkey)) => return self.sign_in_by_passkey(holder, passkey),
            (2..4, Some(passkey)) => return self.remove_passkey(holder, passkey),
            _ => {}
        }
        let Some(mut visit) = self.sign_in(holder, dice)? else { return Ok(()) };
        let generator = self.holder(holder).generator();
        match (generator, dice.below(10)) {
            (None, _) => self.set_generator_up(&mut visit, holder),
            (Some(_), 0..2) => self.change_password(&mut visit, holder),
            (Some(_), 2) => self.draw_recovery_codes(&mut visit, holder),
            (Some(generator), 3) => self.remove_generator(&mut visit, (holder, generator)),
            (Some(_), 4..8) if passkeys.len() < PASSKEYS => self.add_passkey(&mut visit, holder),
            _ => Ok(()),
        }
    }

    fn sign_in_by_passkey(&mut self, holder: usize, passkey: usize) -> Result<(), NoAnswer> {
        if let Some(accepted) = self.bring_passkey(holder, passkey)? {
            self.tally.check("passkey under load", accepted, || "it was refused".to_owned());
        }
        Ok(())
    }

    /// Signs in by the password and, where a generator was set up, by a code; sometimes codes that must be refused come first.
    /// The browser that is signed in then; `None` if it is not.
    fn sign_in(&mut self, holder: usize, dice: &mut Dice) -> Result<Option<Visit>, NoAnswer> {
        let mut visit = Visit::default();
        let Some(form) = self.login_form(&mut visit)? else { return Ok(None) };
        let password = self.present_password(holder);
        let Some(door) = self.type_password(&mut visit, &form, holder, &password)? else { return Ok(None) };
        let generator = self.holder(holder).generator();
        let form = match (door, generator) {
            (Door::In, None) => return Ok(Some(visit)),
            (Door::SecondFactor(form), Some(_)) => form,
            (Door::Shut, _) => return self.wrong_door("the present password was refused"),
            (Door::In, Some(_)) => return self.wrong_door("no second factor was asked for"),
            (Door::SecondFactor(_), None) => return self.wrong_door("a removed generator was asked for"),
        };
        if dice.once_in(3) && !self.bring_ended(&mut visit, &form, holder, dice)? {
            return Ok(None);
        }
        let brought = generator.and_then(|generator| self.choose_code(holder, generator, dice));
        let Some(brought) = brought else { return Ok(None) };
        let accepted = self.bring_fresh(&mut visit, &form, holder, brought)?;
        Ok(accepted.then_some(visit))
    }

    fn wrong_door(&mut self, what: &str) -> Result<Option<Visit>, NoAnswer> {
        self.tally.violation(format!("sign-in under load: {what}"));
        Ok(None)
    }
}
