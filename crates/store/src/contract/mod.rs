//! The contract suite: the behaviour that every back-end must show, also under races.
//!
//! A back-end implements [`BackEnd`] in its tests and invokes [`contract_tests!`](crate::contract_tests), which makes
//! one test for every kind. Every test opens a store of its own, and panics if the back-end breaks the contract.
//!
//! One-time operations are raced by [`RACERS`] tasks in [`rounds`] rounds, records in [`record_rounds`], many rounds at a
//! time, so that a group commit serves them together: exactly one racer of a round may win.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "assertions for the tests of the back-ends; nothing of it is in a program"
)]

pub mod assertion;
pub mod attribute;
pub mod audit;
pub mod authenticator;
pub mod backchannel_authentication;
pub mod challenge;
pub mod client;
pub mod code;
pub mod consent;
pub mod delivery;
pub mod device_authorization;
pub mod durability;
pub mod email_code;
pub mod entitlement;
pub mod given_role;
pub mod group;
pub mod identity;
pub mod invitation;
pub mod issuer;
pub mod logo;
pub mod membership;
pub mod pushed_request;
pub mod refresh_token;
pub mod revocation;
pub mod role;
pub mod sample;
pub mod session;
pub mod session_end;
pub mod shards;
pub mod transfer;
pub mod user;

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::{Outcome, Store, StoreError};

/// Tasks that race in one round.
pub const RACERS: usize = 64;

/// Rounds of a race for what is used once or rotated: 200, or times as many as `SYMBOLON_RACE_TIMES` says.
pub fn rounds() -> usize {
    200 * race_times()
}

/// Rounds of a race for what administrators write, each attempt of which is a transaction: 50, or times as many as
/// `SYMBOLON_RACE_TIMES` says.
pub fn record_rounds() -> usize {
    50 * race_times()
}

fn race_times() -> usize {
    std::env::var("SYMBOLON_RACE_TIMES")
        .map_or(1, |times| times.parse().expect("SYMBOLON_RACE_TIMES is a number"))
}

/// Rounds that run at the same time.
const ROUNDS_AT_ONCE: usize = 50;

/// What the suite needs of a back-end.
#[async_trait]
pub trait BackEnd: Send + Sync {
    /// A new and empty store, kept under `name`.
    async fn open(&self, name: &str) -> Arc<dyn Store>;
    /// Another store on what the one under `name` would leave if it ended now without being closed. No operation is
    /// under way when this is called. The first store must not be used any more.
    async fn after_crash(&self, name: &str) -> Arc<dyn Store>;
    /// The time at which the suite runs.
    fn now(&self) -> Timestamp;
    /// Whether the store forgets by the time that `sweep` gets, not by its own clock.
    fn forgets_by_sweep(&self) -> bool {
        true
    }
}

/// Makes a test of every kind of the contract, named by the kind: `contract_tests!(|kind| back_end)`, where `back_end`
/// is an expression that makes a [`BackEnd`] for the test of this kind. The kinds are listed here and nowhere else, so
/// that no back-end misses one. The invoking crate needs tokio with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! contract_tests {
    (|$name:ident| $back_end:expr) => {
        $crate::contract_tests! { @each_kind @tests |$name| $back_end }
    };
    (@names) => {
        $crate::contract_tests! { @each_kind @strings }
    };
    (@each_kind $($then:tt)*) => {
        $crate::contract_tests! {
            $($then)*;
            assertion attribute audit authenticator backchannel_authentication challenge client code consent delivery device_authorization durability email_code entitlement
            given_role group identity invitation issuer logo membership pushed_request refresh_token revocation role session session_end
            shards user
        }
    };
    (@tests |$name:ident| $back_end:expr; $($kind:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $kind() {
                let $name: &'static str = stringify!($kind);
                $crate::contract::$kind::all(&$back_end).await;
            }
        )*
    };
    (@strings; $($kind:ident)*) => {
        [$(stringify!($kind)),*]
    };
}

/// A store with two issuers, which must never see each other's records.
pub(crate) struct Scene {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) issuer: IssuerId,
    pub(crate) other: IssuerId,
    pub(crate) now: Timestamp,
    pub(crate) random: SeededRandom,
    pub(crate) forgets: bool,
}

impl Scene {
    pub(crate) async fn open(back_end: &dyn BackEnd, name: &str) -> Self {
        let store = back_end.open(name).await;
        store.ready().await.expect("ready");
        let seed = name.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
        Self {
            store,
            issuer: IssuerId::parse("one").unwrap(),
            other: IssuerId::parse("two").unwrap(),
            now: back_end.now(),
            random: SeededRandom::new(seed),
            forgets: back_end.forgets_by_sweep(),
        }
    }
}

/// The value of an outcome, once it is durable.
pub(crate) async fn told<T>(outcome: Result<Outcome<T>, StoreError>) -> T {
    outcome.expect("the store works").told().await.expect("durable")
}

/// Lets [`RACERS`] tasks start `attempt(round, racer)` together, in [`rounds`] rounds; returns the outcomes of each
/// round.
pub(crate) async fn race<T, F>(attempt: impl Fn(usize, usize) -> F) -> Vec<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    race_in(rounds(), attempt).await
}

async fn race_in<T, F>(rounds: usize, attempt: impl Fn(usize, usize) -> F) -> Vec<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut outcomes: Vec<Vec<T>> = (0..rounds).map(|_| Vec::with_capacity(RACERS)).collect();
    for first in (0..rounds).step_by(ROUNDS_AT_ONCE) {
        let mut racers = JoinSet::new();
        for round in first..(first + ROUNDS_AT_ONCE).min(rounds) {
            let start = Arc::new(Barrier::new(RACERS));
            for racer in 0..RACERS {
                let (start, attempt) = (Arc::clone(&start), attempt(round, racer));
                racers.spawn(async move {
                    start.wait().await;
                    (round, attempt.await)
                });
            }
        }
        while let Some(finished) = racers.join_next().await {
            let (round, outcome) = finished.expect("a racer panicked");
            outcomes[round].push(outcome);
        }
    }
    outcomes
}

/// Races `attempt`, which returns whether it won: exactly one racer of each round must.
pub(crate) async fn race_for_one<F>(what: &str, attempt: impl Fn(usize, usize) -> F)
where
    F: Future<Output = bool> + Send + 'static,
{
    has_one_winner(what, race(attempt).await);
}

/// Like [`race_for_one`], for a record that administrators write: in [`record_rounds`] rounds.
pub(crate) async fn race_record_for_one<F>(what: &str, attempt: impl Fn(usize, usize) -> F)
where
    F: Future<Output = bool> + Send + 'static,
{
    has_one_winner(what, race_in(record_rounds(), attempt).await);
}

fn has_one_winner(what: &str, rounds: Vec<Vec<bool>>) {
    for (round, outcomes) in rounds.into_iter().enumerate() {
        let winners = outcomes.into_iter().filter(|won| *won).count();
        assert_eq!(winners, 1, "{what}: round {round} had {winners} winners");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Files of the suite that are no kinds: this file, sample records, and the move between two back-ends, which needs
    /// both of them.
    const NO_KINDS: [&str; 3] = ["mod", "sample", "transfer"];

    #[test]
    fn every_file_of_the_suite_is_a_kind_that_back_ends_run() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contract");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
        let kinds: BTreeSet<String> = names.filter(|name| !NO_KINDS.contains(&&**name)).collect();
        let run: BTreeSet<String> = contract_tests!(@names).map(str::to_owned).into();
        assert_eq!(run, kinds);
    }
}
