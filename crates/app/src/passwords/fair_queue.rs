//! A bounded queue that is fair to accounts and addresses: the more of them a job's account and address already have
//! in flight, the later its turn.

use std::collections::{BTreeMap, HashMap};

/// The account and the address of a job, as keyed hashes. Fairness is decided by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairnessKey {
    pub(super) account: u64,
    pub(super) address: u64,
}

/// By how many turns a job is delayed for each job of its account in flight. A person types one password after
/// another, so an honest account rarely has two.
const BACK_PER_ACCOUNT: u64 = 8;
/// The same for each job of its address in flight. Smaller, because many people may share an address.
const BACK_PER_ADDRESS: u64 = 1;

/// When a job is served: jobs with a lower number first, and those of the same number in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    number: u64,
    arrival: u64,
}

/// Jobs ordered by turn. A job's turn is the number of jobs served when its place was reserved, plus a delay for what
/// its account and address have in flight. No job waits for ever, because later ones get later turns.
pub(super) struct FairQueue<J> {
    limit: usize,
    waiting: BTreeMap<Turn, Place<J>>,
    in_flight: HashMap<InFlightOf, u64>,
    served: u64,
    arrived: u64,
}

struct Place<J> {
    fairness: FairnessKey,
    /// `None` as long as the place is only reserved.
    job: Option<J>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum InFlightOf {
    Account(u64),
    Address(u64),
}

impl FairnessKey {
    const fn parts(self) -> [InFlightOf; 2] {
        [InFlightOf::Account(self.account), InFlightOf::Address(self.address)]
    }
}

impl<J> FairQueue<J> {
    /// An empty queue of at most `limit` places.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, waiting: BTreeMap::new(), in_flight: HashMap::new(), served: 0, arrived: 0 }
    }

    /// Reserves a place for a job that will [`fill`](Self::fill) it. From now on it counts as in flight. If the queue
    /// is full, the place with the latest turn is lost: the new one (`None`), or another, whose job is returned beside
    /// the turn if it had one.
    pub(super) fn reserve(&mut self, fairness: FairnessKey) -> Option<(Turn, Option<J>)> {
        self.arrived += 1;
        let turn = Turn { number: self.served + self.back(fairness), arrival: self.arrived };
        let mut displaced = None;
        if self.is_full() {
            let last = self.waiting.last_entry().filter(|last| *last.key() > turn)?.remove();
            self.done(last.fairness);
            displaced = last.job;
        }
        self.waiting.insert(turn, Place { fairness, job: None });
        for key in fairness.parts() {
            *self.in_flight.entry(key).or_default() += 1;
        }
        Some((turn, displaced))
    }

    /// Puts a job at its place; returns it if a job with an earlier turn has taken the place.
    pub(super) fn fill(&mut self, turn: Turn, job: J) -> Option<J> {
        match self.waiting.get_mut(&turn) {
            Some(place) => place.job.replace(job),
            None => Some(job),
        }
    }

    /// Gives a place back that no job has filled.
    pub(super) fn release(&mut self, turn: Turn) {
        if self.waiting.get(&turn).is_some_and(|place| place.job.is_none()) {
            self.remove(turn);
        }
    }

    /// Takes the job whose turn is next. It counts as in flight until [`done`](Self::done).
    pub(super) fn pop(&mut self) -> Option<(FairnessKey, J)> {
        let turn = *self.waiting.iter().find(|(_, place)| place.job.is_some())?.0;
        let Place { fairness, job } = self.waiting.remove(&turn)?;
        self.served += 1;
        Some((fairness, job?))
    }

    /// A job with this fairness key has ended.
    pub(super) fn done(&mut self, fairness: FairnessKey) {
        for key in fairness.parts() {
            if let Some(count) = self.in_flight.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.in_flight.remove(&key);
                }
            }
        }
    }

    /// Drops the jobs whose callers have gone; returns how many.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&J) -> bool) -> usize {
        let gone = |place: &Place<J>| place.job.as_ref().is_some_and(|job| !is_wanted(job));
        let gone: Vec<Turn> =
            self.waiting.iter().filter(|(_, place)| gone(place)).map(|(turn, _)| *turn).collect();
        gone.iter().for_each(|turn| self.remove(*turn));
        gone.len()
    }

    /// Drops all places and their jobs.
    pub(super) fn clear(&mut self) {
        while let Some((_, place)) = self.waiting.pop_first() {
            self.done(place.fairness);
        }
    }

    /// The number of places taken: jobs that wait, and reserved places.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the queue is full.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.limit
    }

    fn remove(&mut self, turn: Turn) {
        if let Some(place) = self.waiting.remove(&turn) {
            self.done(place.fairness);
        }
    }

    fn back(&self, fairness: FairnessKey) -> u64 {
        let [account, address] = fairness.parts().map(|key| self.in_flight.get(&key).copied().unwrap_or(0));
        account * BACK_PER_ACCOUNT + address * BACK_PER_ADDRESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fairness(account: u64, address: u64) -> FairnessKey {
        FairnessKey { account, address }
    }

    /// Reserves a place and fills it; returns the job that was refused, the new one or another.
    fn push(
        queue: &mut FairQueue<&'static str>,
        fairness: FairnessKey,
        job: &'static str,
    ) -> Option<&'static str> {
        let Some((turn, displaced)) = queue.reserve(fairness) else { return Some(job) };
        assert_eq!(queue.fill(turn, job), None);
        displaced
    }

    /// Takes out everything that waits.
    fn all(queue: &mut FairQueue<&'static str>) -> Vec<&'static str> {
        let mut order = Vec::new();
        while let Some((fairness, job)) = queue.pop() {
            queue.done(fairness);
            order.push(job);
        }
        order
    }

    #[test]
    fn who_has_nothing_in_flight_comes_before_the_rest_of_a_flood() {
        let mut queue = FairQueue::new(64);
        for _ in 0..40 {
            assert_eq!(push(&mut queue, fairness(1, 1), "flood"), None);
        }
        assert_eq!(push(&mut queue, fairness(2, 2), "elsewhere"), None);
        let order = all(&mut queue);
        assert!(order.iter().position(|job| *job == "elsewhere").unwrap() <= 2, "{order:?}");
        for _ in 0..40 {
            push(&mut queue, fairness(1, 1), "flood");
        }
        push(&mut queue, fairness(2, 1), "same address");
        let order = all(&mut queue);
        assert!(order.iter().position(|job| *job == "same address").unwrap() <= 6, "{order:?}");
    }

    #[test]
    fn a_flood_of_one_account_from_many_addresses_waits_behind_others() {
        let mut queue = FairQueue::new(64);
        for address in 10..50 {
            push(&mut queue, fairness(1, address), "flood");
        }
        push(&mut queue, fairness(2, 2), "other");
        assert!(all(&mut queue).iter().position(|job| *job == "other").unwrap() <= 2);
    }

    #[test]
    fn a_full_queue_gives_back_whoever_has_most_in_it() {
        let mut queue = FairQueue::new(4);
        for _ in 0..4 {
            assert_eq!(push(&mut queue, fairness(1, 1), "flood"), None);
        }
        assert_eq!(push(&mut queue, fairness(1, 1), "one more"), Some("one more"));
        assert_eq!(push(&mut queue, fairness(2, 2), "other"), Some("flood"));
        assert_eq!(queue.len(), 4);
        assert!(all(&mut queue).contains(&"other"));
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut queue = FairQueue::new(64);
        for _ in 0..8 {
            push(&mut queue, fairness(1, 1), "busy");
        }
        let mut served = 0;
        for stranger in 100..300 {
            push(&mut queue, fairness(stranger, stranger), "stranger");
            let (fairness, job) = queue.pop().unwrap();
            queue.done(fairness);
            served += usize::from(job == "busy");
        }
        assert_eq!(served, 8, "though somebody with nothing in flight came each time");
    }

    #[test]
    fn nothing_is_remembered_of_what_is_done() {
        let mut queue = FairQueue::new(8);
        for account in 0..8 {
            push(&mut queue, fairness(account, account), "job");
        }
        assert_eq!(queue.retain(|_| false), 8);
        assert!(queue.in_flight.is_empty());
        push(&mut queue, fairness(1, 1), "a");
        push(&mut queue, fairness(1, 1), "b");
        assert_eq!(all(&mut queue), ["a", "b"]);
        assert!(queue.in_flight.is_empty());
    }

    #[test]
    fn a_reserved_place_counts_and_is_filled_or_given_back() {
        let mut queue = FairQueue::new(2);
        let (first, _) = queue.reserve(fairness(1, 1)).unwrap();
        let (second, _) = queue.reserve(fairness(1, 1)).unwrap();
        assert_eq!(queue.reserve(fairness(1, 1)), None, "both places are reserved");
        assert_eq!(queue.pop(), None, "no job has come yet");
        assert_eq!(queue.fill(second, "second"), None);
        assert_eq!(
            queue.pop(),
            Some((fairness(1, 1), "second")),
            "it does not wait for who has only reserved"
        );
        queue.done(fairness(1, 1));
        queue.release(second);
        queue.release(first);
        assert_eq!((queue.len(), queue.in_flight.len()), (0, 0));
        assert_eq!(queue.fill(first, "late"), Some("late"));
    }

    #[test]
    fn a_reserved_place_goes_to_an_earlier_turn() {
        let mut queue = FairQueue::new(1);
        push(&mut queue, fairness(1, 1), "flood");
        assert_eq!(queue.pop(), Some((fairness(1, 1), "flood")));
        let (reserved, _) = queue.reserve(fairness(1, 1)).unwrap();
        assert_eq!(
            push(&mut queue, fairness(2, 2), "other"),
            None,
            "nobody waited in the place that was lost"
        );
        assert_eq!(queue.fill(reserved, "flood"), Some("flood"));
        queue.release(reserved);
        queue.done(fairness(1, 1));
        assert_eq!(all(&mut queue), ["other"]);
        assert!(queue.in_flight.is_empty());
    }
}
