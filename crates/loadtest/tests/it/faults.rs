//! For random plans of faults, counts, percentiles and the verdict are those that the plan itself says.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::Run;
use symbolon_loadtest::run::{Plan, Rule, Traffic};
use symbolon_loadtest::scenario::Scenario;

use crate::fake::front::{Fate, Front};
use crate::verdicts::load;

const RATE: f64 = 200.0;
const SECONDS: u64 = 1;
const ARRIVALS: u64 = 200;
const TIMEOUT: Duration = Duration::from_millis(1_000);
const LATE: u64 = 500;
/// What a busy machine adds to a latency. Latencies of the plan lie further apart.
const SLACK: f64 = 350.0;
/// Answers that come so late after the plateau count for its rate.
const PATIENCE: Duration = Duration::from_millis(50);

/// Fates with their weights, dealt out by a number.
#[derive(Clone, Debug)]
struct Faults {
    weights: Vec<(Fate, u64)>,
    seed: u64,
}

impl Faults {
    fn of(&self, number: u64) -> Fate {
        let total: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        // SplitMix64's last steps, so that neighbours differ.
        let mut mixed = (number + self.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mut at = (mixed ^ (mixed >> 31)) % total;
        for (fate, weight) in &self.weights {
            match at.checked_sub(*weight) {
                None => return *fate,
                Some(rest) => at = rest,
            }
        }
        Fate::Right
    }
}

fn faults() -> impl Strategy<Value = Faults> {
    const OTHERS: [Fate; 8] = [
        Fate::Late(LATE),
        Fate::Hang,
        Fate::Reset,
        Fate::Cut,
        Fate::Refused,
        Fate::Limited,
        Fate::Wrong,
        Fate::Twice,
    ];
    let some = proptest::collection::vec((proptest::sample::select(&OTHERS[..]), 1_u64..30), 0..4);
    (some, any::<u32>()).prop_map(|(mut weights, seed)| {
        weights.push((Fate::Right, 60));
        Faults { weights, seed: u64::from(seed) }
    })
}

/// The shortest latency that a request of this fate has, in milliseconds.
fn least_ms(fate: Fate) -> f64 {
    match fate {
        Fate::Late(ms) => ms as f64,
        Fate::Hang => TIMEOUT.as_secs_f64() * 1e3,
        _ => 0.0,
    }
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
    assert_eq!(run.unasked_kinds.values().sum::<u64>(), of(&[Fate::Twice]), "{run:?}");
}

fn assert_percentiles(run: &Run, faults: &Faults) {
    let mut least: Vec<f64> = (0..ARRIVALS).map(|number| least_ms(faults.of(number))).collect();
    least.sort_by(f64::total_cmp);
    for (percentile, got) in [
        (50, run.latency.p50_ms),
        (75, run.latency.p75_ms),
        (90, run.latency.p90_ms),
        (95, run.latency.p95_ms),
        (99, run.latency.p99_ms),
    ] {
        let expected = least[ARRIVALS as usize * percentile / 100 - 1];
        let got = got.unwrap();
        assert!(
            got >= expected * 0.999 && got <= expected + SLACK,
            "P{percentile}: {got} ms for {expected} ms, {faults:?}"
        );
        let given_up = expected >= least_ms(Fate::Hang);
        assert_eq!(run.latency.is_at_least(got), given_up, "P{percentile} of {faults:?}");
    }
}

/// What the plan says of the rate: right answers that came in time.
fn achieved(faults: &Faults) -> f64 {
    let in_time = |number: &u64| {
        let due = *number as f64 / RATE;
        let answered = due + least_ms(faults.of(*number)) / 1e3;
        answered <= SECONDS as f64 + PATIENCE.as_secs_f64()
    };
    let right = |number: &u64| matches!(faults.of(*number), Fate::Right | Fate::Late(_) | Fate::Twice);
    (0..ARRIVALS).filter(|number| right(number) && in_time(number)).count() as f64 / SECONDS as f64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 4, failure_persistence: None, ..ProptestConfig::default() })]

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
        assert_percentiles(run, &faults);
        let rate = achieved(&faults);
        // Arrivals at the edge of the patience may fall on either side.
        prop_assert!((run.achieved_rate - rate).abs() <= 12.0, "{} for {rate}, {faults:?}", run.achieved_rate);
        let slow = run.latency.p90_ms.unwrap() >= 400.0;
        let clean = run.failures + run.wrong == 0 && run.unasked_kinds.is_empty();
        prop_assert_eq!(results.passed(), clean && !slow && run.achieved_rate >= 0.99 * RATE, "{:?}", faults);
        let harmless = |fate| matches!(fate, Fate::Right | Fate::Late(_));
        prop_assert_eq!(clean, (0..ARRIVALS).all(|number| harmless(faults.of(number))));
    }
}
