//! For random plans of faults, counts and the verdict are those that the plan itself says, and percentiles those that the fake
//! measured.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::Run;
use symbolon_loadtest::run::{Plan, Rule, Traffic};
use symbolon_loadtest::scenario::Scenario;

use crate::fake::front::{Fate, Front, Visit};
use crate::verdicts::load;

pub(crate) const RATE: f64 = 200.0;
pub(crate) const SECONDS: u64 = 1;
const ARRIVALS: u64 = 200;
const TIMEOUT: Duration = Duration::from_millis(1_000);
const LATE: u64 = 500;
const TRICKLE: u64 = 200;
/// The histogram's error.
const ERROR: f64 = 0.001;
/// By so many milliseconds more than requests were late at the fake answers may be late at the generator: what a busy machine
/// does after the last arrival shows in no request.
const SLACK: f64 = 25.0;
/// Answers that come so late after the plateau count for its rate.
const PATIENCE: Duration = Duration::from_millis(50);

/// Fates with their weights, dealt out by a number, and a stall: requests in a row that are all held until its end.
#[derive(Clone, Debug)]
struct Faults {
    weights: Vec<(Fate, u64)>,
    seed: u64,
    stall: Option<Range<u64>>,
}

impl Faults {
    fn of(&self, number: u64) -> Fate {
        if let Some(stall) = self.stall.as_ref().filter(|stall| stall.contains(&number)) {
            return Fate::Stalled(due_ms(stall.end) as u64);
        }
        let total: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        // SplitMix64's last steps, so that neighbours differ.
        let mut mixed = (number + self.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mut at = (mixed ^ (mixed >> 31)) % total;
        for (fate, weight) in &self.weights {
            match at.checked_sub(*weight) {
                // What comes after the last answer is not waited for.
                None if *fate == Fate::Stray && number + 20 >= ARRIVALS => return Fate::Right,
                None => return *fate,
                Some(rest) => at = rest,
            }
        }
        Fate::Right
    }
}

fn faults() -> impl Strategy<Value = Faults> {
    const OTHERS: [Fate; 10] = [
        Fate::Late(LATE),
        Fate::Trickle(TRICKLE),
        Fate::Hang,
        Fate::Reset,
        Fate::Cut,
        Fate::Refused,
        Fate::Limited,
        Fate::Wrong,
        Fate::Twice,
        Fate::Stray,
    ];
    let some = proptest::collection::vec((proptest::sample::select(&OTHERS[..]), 1_u64..30), 0..4);
    // It ends before the last arrivals, whose rate would be a matter of milliseconds.
    let stall = proptest::option::of((0_u64..130, 10_u64..60).prop_map(|(from, length)| from..from + length));
    (some, any::<u32>(), stall).prop_map(|(mut weights, seed, stall)| {
        if weights.iter().any(|(fate, _)| *fate == Fate::Stray) {
            // Where most connections hang, one is used again so soon that the stray looks like the next answer.
            weights.retain(|(fate, _)| *fate != Fate::Hang);
        }
        weights.push((Fate::Right, 60));
        Faults { weights, seed: u64::from(seed), stall }
    })
}

/// When the request of this number is due, in milliseconds after the first.
fn due_ms(number: u64) -> f64 {
    number as f64 / RATE * 1e3
}

/// The shortest latency that the request of this number has with this fate, in milliseconds.
fn least_ms(number: u64, fate: Fate) -> f64 {
    match fate {
        Fate::Late(ms) | Fate::Trickle(ms) => ms as f64,
        Fate::Stalled(ms) => (ms as f64 - due_ms(number)).max(0.0),
        Fate::Hang => TIMEOUT.as_secs_f64() * 1e3,
        _ => 0.0,
    }
}

/// So many plans, or as many as `PROPTEST_CASES` says.
fn plans(usual: u32) -> ProptestConfig {
    let told = std::env::var("PROPTEST_CASES").ok().and_then(|told| told.parse().ok());
    let cases = told.unwrap_or(usual);
    ProptestConfig { cases, max_shrink_iters: 4, failure_persistence: None, ..ProptestConfig::default() }
}

fn assert_counts(run: &Run, front: &Front) {
    let of = |fates: &[Fate]| fates.iter().map(|fate| front.of(*fate)).sum::<u64>();
    let failures = |kind: &str| run.failure_kinds.get(kind).copied().unwrap_or(0);
    let wrong = |kind: &str| run.wrong_kinds.get(kind).copied().unwrap_or(0);
    assert_eq!((run.requests, run.missed), (ARRIVALS, 0), "{run:?}");
    assert_eq!(front.counts().requests, ARRIVALS);
    assert_eq!(failures("timeout"), of(&[Fate::Hang]), "{run:?}");
    assert_eq!(failures("connection_reset"), of(&[Fate::Reset]), "{run:?}");
    assert_eq!(failures("closed"), of(&[Fate::Cut]), "{run:?}");
    assert_eq!(run.failures, of(&[Fate::Hang, Fate::Reset, Fate::Cut]));
    assert_eq!(wrong("status_503"), of(&[Fate::Refused]), "{run:?}");
    assert_eq!(wrong("status_429"), of(&[Fate::Limited]), "{run:?}");
    assert_eq!(wrong("sub"), of(&[Fate::Wrong]), "{run:?}");
    assert_eq!(run.unasked_kinds.values().sum::<u64>(), of(&[Fate::Twice, Fate::Stray]), "{run:?}");
}

/// What the front measured, in milliseconds.
struct Measured {
    /// From when each request was due to when it was answered, or given up, in rising order. The first moment is not known
    /// at the front: it is taken from the request that was least late.
    latencies: Vec<f64>,
    /// How late requests came at most: the generator, the machine and new connections. As late, answers may come back, and as
    /// far may requests have overtaken each other.
    late: f64,
}

fn measured(front: &Front) -> Measured {
    let mut visits = front.counts().visits;
    visits.sort_by_key(|visit| visit.received);
    let by_due = || (0..).map(due_ms).map(|ms| Duration::from_secs_f64(ms / 1e3)).zip(&visits);
    let began = by_due().map(|(due, visit)| visit.received - due).min().unwrap();
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let late = |due: Duration, visit: &Visit| ms(visit.received.saturating_duration_since(began + due));
    let mut latencies: Vec<f64> = by_due()
        .map(|(due, visit)| match visit.answered {
            Some(answered) => ms(answered.saturating_duration_since(began + due)),
            // The generator waits from the sending.
            None => late(due, visit) + ms(TIMEOUT),
        })
        .collect();
    latencies.sort_by(f64::total_cmp);
    Measured { latencies, late: by_due().map(|(due, visit)| late(due, visit)).fold(0.0, f64::max) }
}

/// Whether a percentile is the one that the fake measured, where requests came so late at most.
fn agrees(got: f64, measured: f64, late: f64) -> bool {
    got >= measured * (1.0 - ERROR) - late && got <= measured * (1.0 + ERROR) + late + SLACK
}

#[test]
fn percentiles_that_are_far_off_do_not_agree() {
    // On a machine that was busy for a while.
    let late = 40.0;
    for (got, measured) in [(300.0, 0.0), (0.0, 300.0), (500.0, 350.0), (1_000.0, 500.0)] {
        assert!(!agrees(got, measured, late), "{got} ms for {measured} ms");
    }
    for (got, measured) in [(0.4, 0.3), (30.0, 0.3), (505.0, 500.0), (1_000.0, 1_000.5)] {
        assert!(agrees(got, measured, late), "{got} ms for {measured} ms");
    }
}

/// Those that two hundred arrivals are enough for.
fn percentiles(run: &Run) -> [(usize, f64); 5] {
    let of = &run.latency;
    let told = [(50, of.p50_ms), (75, of.p75_ms), (90, of.p90_ms), (95, of.p95_ms), (99, of.p99_ms)];
    told.map(|(percentile, ms)| (percentile, ms.unwrap()))
}

/// Its place among the arrivals, by rising latency.
const fn place(percentile: usize) -> usize {
    ARRIVALS as usize * percentile / 100 - 1
}

/// Percentiles of [`ARRIVALS`] at [`RATE`] are those that the front measured.
pub(crate) fn assert_percentiles_are_measured(run: &Run, front: &Front, what: &dyn Debug) {
    let Measured { latencies, late } = measured(front);
    for (percentile, got) in percentiles(run) {
        let expected = latencies[place(percentile)];
        assert!(
            agrees(got, expected, late),
            "P{percentile}: {got} ms for {expected} ms, late by {late} ms, {what:?}"
        );
    }
}

/// Besides, those that were given up are lower bounds.
fn assert_percentiles(run: &Run, faults: &Faults, front: &Front) {
    assert_percentiles_are_measured(run, front, faults);
    let mut least: Vec<f64> = (0..ARRIVALS).map(|number| least_ms(number, faults.of(number))).collect();
    least.sort_by(f64::total_cmp);
    for (percentile, got) in percentiles(run) {
        let given_up = least[place(percentile)] >= TIMEOUT.as_secs_f64() * 1e3;
        assert_eq!(run.latency.is_at_least(got), given_up, "P{percentile} of {faults:?}");
    }
}

/// Whether it is answered rightly, and nothing else comes.
const fn is_harmless(fate: Fate) -> bool {
    matches!(fate, Fate::Right | Fate::Late(_) | Fate::Trickle(_) | Fate::Stalled(_))
}

/// What the plan says of the rate: right answers that came in time.
fn achieved(faults: &Faults) -> f64 {
    let in_time = |number: &u64| {
        let answered = due_ms(*number) + least_ms(*number, faults.of(*number));
        answered <= SECONDS as f64 * 1e3 + PATIENCE.as_secs_f64() * 1e3
    };
    let right = |number: &u64| {
        is_harmless(faults.of(*number)) || matches!(faults.of(*number), Fate::Twice | Fate::Stray)
    };
    (0..ARRIVALS).filter(|number| right(number) && in_time(number)).count() as f64 / SECONDS as f64
}

proptest! {
    #![proptest_config(plans(8))]

    #[test]
    fn counts_percentiles_and_verdict_are_those_of_the_plan(faults in faults()) {
        let schedule = Schedule::constant(RATE, Duration::from_secs(SECONDS)).unwrap();
        let plan = Plan {
            warm_up: Duration::ZERO,
            timeout: TIMEOUT,
            thresholds: Rule::with_usual(["p90_ms<400".parse().unwrap()]),
            ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule))
        };
        let fates = faults.clone();
        let (results, front): (_, Arc<Front>) = load(plan, move |number| fates.of(number));
        let run = &results.runs[0];
        assert_counts(run, &front);
        assert_percentiles(run, &faults, &front);
        let rate = achieved(&faults);
        // Arrivals at the edge of the patience may fall on either side.
        prop_assert!((run.achieved_rate - rate).abs() <= 12.0, "{} for {rate}, {faults:?}", run.achieved_rate);
        let slow = run.latency.p90_ms.unwrap() >= 400.0;
        let clean = run.failures + run.wrong == 0 && run.unasked_kinds.is_empty();
        prop_assert_eq!(results.passed(), clean && !slow && run.achieved_rate >= 0.99 * RATE, "{:?}", faults);
        prop_assert_eq!(clean, (0..ARRIVALS).all(|number| is_harmless(faults.of(number))));
    }
}

/// How long a request may take, and wait, where connections are few.
const SHORT: Duration = Duration::from_millis(400);

/// Of so many connections, on each of which a request that hangs keeps the next ones waiting: how many arrivals are sent, and
/// how many are missed.
fn sent_and_missed(connections: usize, faults: &Faults) -> (u64, u64) {
    let mut free = vec![0.0_f64; connections];
    let (mut sent, mut missed) = (0, 0);
    for arrival in 0..ARRIVALS {
        let due = due_ms(arrival);
        let Some(first) = free.iter_mut().min_by(|one, other| one.total_cmp(other)) else { break };
        let begins = due.max(*first);
        if begins - due > SHORT.as_secs_f64() * 1e3 {
            missed += 1;
            continue;
        }
        let takes = if faults.of(sent) == Fate::Hang { SHORT.as_secs_f64() * 1e3 } else { 0.0 };
        *first = begins + takes;
        sent += 1;
    }
    (sent, missed)
}

proptest! {
    #![proptest_config(plans(4))]

    #[test]
    fn arrivals_that_find_no_connection_in_time_are_missed_and_counted(
        (connections, hanging, seed) in (4_usize..12, 0_u64..60, any::<u32>()),
    ) {
        let weights = vec![(Fate::Right, 60), (Fate::Hang, hanging)];
        let faults = Faults { weights, seed: u64::from(seed), stall: None };
        let schedule = Schedule::constant(RATE, Duration::from_secs(SECONDS)).unwrap();
        let plan = Plan {
            warm_up: Duration::ZERO,
            timeout: SHORT,
            connections,
            ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule))
        };
        let fates = faults.clone();
        let (results, front): (_, Arc<Front>) = load(plan, move |number| fates.of(number));
        let run = &results.runs[0];
        prop_assert_eq!((run.requests, run.requests + run.missed), (front.counts().requests, ARRIVALS), "{:?}", run);
        let hung = front.of(Fate::Hang);
        prop_assert_eq!((run.failures, run.failure_kinds.get("timeout").copied().unwrap_or(0)), (hung, hung), "{:?}", run);
        // Who waits as long as a request may take, is sent or missed by a millisecond.
        let (sent, missed) = sent_and_missed(connections, &faults);
        prop_assert!(run.missed.abs_diff(missed) <= 6 + ARRIVALS / 10, "{} for {missed} of {sent}, {faults:?}", run.missed);
        if run.missed > 0 {
            // They stand in the percentiles as long as they waited, at least.
            let most = run.latency.max_ms.unwrap();
            prop_assert!(most >= SHORT.as_secs_f64() * 1e3 && run.latency.is_at_least(most), "{:?}", run.latency);
            prop_assert!(run.generator_limit.as_ref().is_some_and(|why| why.contains("may be in flight")), "{:?}", run);
            prop_assert!(!results.passed());
        }
    }
}
