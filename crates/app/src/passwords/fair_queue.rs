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

/// Jobs ordered by turn. A job's turn is the number of jobs served when it arrived, plus a delay for what its account
/// and address have in flight. No job waits for ever, because jobs that arrive later get later turns.
pub(super) struct FairQueue<J> {
    limit: usize,
    /// By turn; jobs of the same turn in order of arrival.
    waiting: BTreeMap<(u64, u64), (FairnessKey, J)>,
    in_flight: HashMap<InFlightOf, u64>,
    served: u64,
    arrived: u64,
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
    /// An empty queue for at most `limit` jobs.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, waiting: BTreeMap::new(), in_flight: HashMap::new(), served: 0, arrived: 0 }
    }

    /// Adds a job. If the queue is full, the job with the latest turn is returned for refusal: the new one or a
    /// waiting one.
    pub(super) fn push(&mut self, fairness: FairnessKey, job: J) -> Option<J> {
        self.arrived += 1;
        let place = (self.served + self.back(fairness), self.arrived);
        let full = self.waiting.len() >= self.limit;
        if full && self.waiting.last_key_value().is_none_or(|(last, _)| *last < place) {
            return Some(job);
        }
        let refused =
            if full { self.waiting.pop_last().map(|(_, (fairness, job))| (fairness, job)) } else { None };
        self.waiting.insert(place, (fairness, job));
        for key in fairness.parts() {
            *self.in_flight.entry(key).or_default() += 1;
        }
        refused.map(|(fairness, job)| {
            self.done(fairness);
            job
        })
    }

    /// Takes the job whose turn is next. It counts as in flight until [`done`](Self::done).
    pub(super) fn pop(&mut self) -> Option<(FairnessKey, J)> {
        let (_, next) = self.waiting.pop_first()?;
        self.served += 1;
        Some(next)
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
        let mut dropped = Vec::new();
        self.waiting.retain(|_, (fairness, job)| {
            let wanted = is_wanted(job);
            if !wanted {
                dropped.push(*fairness);
            }
            wanted
        });
        dropped.iter().for_each(|fairness| self.done(*fairness));
        dropped.len()
    }

    /// Drops all waiting jobs.
    pub(super) fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// The number of waiting jobs.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the queue is full.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.limit
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
            assert_eq!(queue.push(fairness(1, 1), "flood"), None);
        }
        assert_eq!(queue.push(fairness(2, 2), "elsewhere"), None);
        let order = all(&mut queue);
        assert!(order.iter().position(|job| *job == "elsewhere").unwrap() <= 2, "{order:?}");
        for _ in 0..40 {
            queue.push(fairness(1, 1), "flood");
        }
        queue.push(fairness(2, 1), "same address");
        let order = all(&mut queue);
        assert!(order.iter().position(|job| *job == "same address").unwrap() <= 6, "{order:?}");
    }

    #[test]
    fn a_flood_of_one_account_from_many_addresses_waits_behind_others() {
        let mut queue = FairQueue::new(64);
        for address in 10..50 {
            queue.push(fairness(1, address), "flood");
        }
        queue.push(fairness(2, 2), "other");
        assert!(all(&mut queue).iter().position(|job| *job == "other").unwrap() <= 2);
    }

    #[test]
    fn a_full_queue_gives_back_whoever_has_most_in_it() {
        let mut queue = FairQueue::new(4);
        for _ in 0..4 {
            assert_eq!(queue.push(fairness(1, 1), "flood"), None);
        }
        assert_eq!(queue.push(fairness(1, 1), "one more"), Some("one more"));
        assert_eq!(queue.push(fairness(2, 2), "other"), Some("flood"));
        assert_eq!(queue.len(), 4);
        assert!(all(&mut queue).contains(&"other"));
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut queue = FairQueue::new(64);
        for _ in 0..8 {
            queue.push(fairness(1, 1), "busy");
        }
        let mut served = 0;
        for stranger in 100..300 {
            queue.push(fairness(stranger, stranger), "stranger");
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
            queue.push(fairness(account, account), "job");
        }
        assert_eq!(queue.retain(|_| false), 8);
        assert!(queue.in_flight.is_empty());
        queue.push(fairness(1, 1), "a");
        queue.push(fairness(1, 1), "b");
        assert_eq!(all(&mut queue), ["a", "b"]);
        assert!(queue.in_flight.is_empty());
    }
}
