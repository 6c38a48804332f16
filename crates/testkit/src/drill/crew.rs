//! Several workers at one process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::actor::Actor;
use super::ledger::{Ledger, Moment};
use super::people::People;
use super::relying_party::RelyingPartyAtHand;
use super::verify::Depth;
use super::{Dice, Tally, Wire};

/// The faults that a load may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    /// None: every operation must succeed, until the process is killed.
    None,
    /// A full disk: writes may be refused by 503 with Retry-After.
    FullDisk,
    /// Faults of a cluster's nodes and engines: any answer may be lost, or be 503 with Retry-After; then it is unknown
    /// whether the request was carried out.
    Faults,
}

/// The workers, their ledgers and their counts.
#[derive(Clone)]
pub struct Crew {
    party: RelyingPartyAtHand,
    workers: Vec<Worker>,
    crowd: usize,
    people: Option<People>,
}

/// What all workers of a crew have in common.
#[derive(Clone, Copy)]
struct Common<'a> {
    party: &'a RelyingPartyAtHand,
    people: Option<&'a People>,
    pressure: Pressure,
    crowd: usize,
}

#[derive(Clone)]
struct Worker {
    ledger: Ledger,
    tally: Tally,
    dice: Dice,
}

impl Crew {
    /// `size` workers for one client.
    pub fn new(party: RelyingPartyAtHand, size: usize, seed: u64) -> Self {
        let worker = |index| Worker {
            ledger: Ledger::default(),
            tally: Tally::default(),
            dice: Dice::new(seed.wrapping_mul(31).wrapping_add(index as u64)),
        };
        Self { party, workers: (0..size).map(worker).collect(), crowd: 0, people: None }
    }

    /// Lets the load open this many sessions at once now and then, so that the store flushes and compacts.
    #[must_use]
    pub fn with_crowds(self, crowd: usize) -> Self {
        Self { crowd, ..self }
    }

    /// Lets people sign in, and mail be queued.
    #[must_use]
    pub fn with_people(self, people: People) -> Self {
        Self { people: Some(people), ..self }
    }

    /// Takes the people back to a moment, whose state a process with such a clock is about to be started on.
    pub fn go_back_to(&mut self, moment: Moment, ahead: i64) {
        if let Some(people) = &mut self.people {
            (people.inbox, people.ahead) = (people.inbox.as_of(moment), ahead);
        }
    }

    /// What the people have around them, if there are any.
    pub fn people(&self) -> Option<&People> {
        self.people.as_ref()
    }

    /// Calls `work` with the ledger of each worker, and the counts to add to.
    pub(super) fn each_ledger(&mut self, mut work: impl FnMut(&Ledger, &mut Tally)) {
        self.workers.iter_mut().for_each(|worker| work(&worker.ledger, &mut worker.tally));
    }

    /// Loads the process until `accident` returns, which may end the process. `accident` gets a flag, and sets it
    /// before answers may be lost: a request that gets no answer earlier is a violation, unless the pressure is
    /// [`Pressure::Faults`].
    pub fn load(&mut self, wire: &Wire, pressure: Pressure, accident: impl FnOnce(&AtomicBool)) {
        let (people, crowd, over) = (self.people.as_ref(), self.crowd, &AtomicBool::new(false));
        let common = Common { party: &self.party, people, pressure, crowd };
        std::thread::scope(|scope| {
            // Set even if `accident` panics, because the scope waits for the workers.
            let _over = SetWhenDropped(over);
            for (index, worker) in self.workers.iter_mut().enumerate() {
                let wire = wire.another(index);
                scope.spawn(move || worker.load(common, &wire, over));
            }
            accident(over);
        });
    }

    /// Compares every ledger with the process, which was started again.
    pub fn verify(&mut self, wire: &Wire, depth: Depth) -> Tally {
        self.verify_under(wire, Pressure::None, depth, None)
    }

    /// The same with a copy of the process's state at a moment.
    pub fn verify_as_of(&mut self, wire: &Wire, depth: Depth, past: Moment) -> Tally {
        self.verify_under(wire, Pressure::None, depth, Some(past))
    }

    /// Compares every ledger with a cluster whose faults are healed. It may still answer 503 for a while, but not for
    /// longer than `mended_within`.
    pub fn verify_cluster(&mut self, wire: &Wire, depth: Depth, mended_within: Duration) -> Tally {
        let wire = wire.another(0).patient(mended_within);
        self.verify_under(&wire, Pressure::Faults, depth, None)
    }

    fn verify_under(&mut self, wire: &Wire, pressure: Pressure, depth: Depth, past: Option<Moment>) -> Tally {
        let party = &self.party;
        if let Some(at) = past {
            self.workers.iter_mut().for_each(|worker| worker.ledger = worker.ledger.as_of(at));
            if party.registered.acked.is_none_or(|acked| acked > at) {
                return Tally::default();
            }
        }
        let people = self.people.as_ref();
        let common = Common { party, people, pressure, crowd: 0 };
        std::thread::scope(|scope| {
            for (index, worker) in self.workers.iter_mut().enumerate() {
                let wire = wire.another(index);
                scope.spawn(move || worker.verify(common, &wire, depth));
            }
        });
        self.tally()
    }

    /// The counts of all workers.
    pub fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        self.workers.iter().for_each(|worker| sum.merge(worker.tally.clone()));
        sum
    }

    /// Resets the counts, but not the ledgers.
    pub fn forget_counts(&mut self) {
        self.workers.iter_mut().for_each(|worker| worker.tally = Tally::default());
    }

    /// The number of acknowledged operations in the ledgers.
    pub fn acknowledged(&self) -> u64 {
        self.tally().acknowledged()
    }
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Worker {
    fn actor<'a>(&'a mut self, common: Common<'a>, wire: &'a Wire) -> (Actor<'a>, &'a mut Dice) {
        let Common { party, people, pressure, crowd } = common;
        let (ledger, tally) = (&mut self.ledger, &mut self.tally);
        (Actor { wire, party, ledger, tally, pressure, crowd, people }, &mut self.dice)
    }

    fn load(&mut self, common: Common<'_>, wire: &Wire, over: &AtomicBool) {
        while !over.load(Ordering::SeqCst) {
            let (mut actor, dice) = self.actor(common, wire);
            let Err(lost) = actor.step(dice) else { continue };
            // The accident may be a moment away from setting the flag.
            std::thread::sleep(Duration::from_millis(50));
            if common.pressure == Pressure::Faults {
                self.tally.count("lost answer");
                continue;
            }
            if !over.load(Ordering::SeqCst) {
                self.tally.violation(format!("no answer from a running process: {}", lost.0));
            }
            return;
        }
    }

    fn verify(&mut self, common: Common<'_>, wire: &Wire, depth: Depth) {
        let (mut actor, dice) = self.actor(common, wire);
        if let Err(lost) = actor.verify(depth, dice) {
            self.tally.violation(format!("no answer from a process that was started again: {}", lost.0));
        }
    }
}
