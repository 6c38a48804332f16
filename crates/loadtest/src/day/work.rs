//! What a day asks of a provider, and its verdicts by scenario.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Timeouts;
use crate::executor::{JourneyCount, Journeys};
use crate::results::{self, Journey, Kind, Run, Storm, Threshold};
use crate::run::{CODE_SECONDS, Plan, Rule, Traffic, Work};
use crate::scenario::{JourneyPlan, JourneyUsers, Medley, Mix, Scenario, Visitor};
use crate::seed::{Seed, SeedOptions};
use crate::{LoadtestError, Target};

/// What must hold of each scenario.
pub(super) type Limits = BTreeMap<Scenario, Vec<Rule>>;

/// A day's work.
pub(super) struct DayWork {
    pub(super) name: String,
    /// Those that are asked for singly, by their number.
    pub(super) scenarios: Vec<Scenario>,
    pub(super) journeys: Vec<JourneyPlan>,
    /// The scenario that is asked most.
    pub(super) heaviest: Option<Scenario>,
    pub(super) limits: Limits,
    /// After the beginning of the mixture.
    pub(super) storms: Vec<Storm>,
    pub(super) day_seconds: f64,
    pub(super) begins_seconds: f64,
}

impl DayWork {
    /// Every scenario that is asked, singly or in a journey.
    fn all(&self) -> impl Iterator<Item = Scenario> + '_ {
        self.limits.keys().copied()
    }

    fn code(&self) -> Option<u32> {
        let place = self.scenarios.iter().position(|scenario| *scenario == Scenario::Code);
        place.and_then(|place| u32::try_from(place).ok())
    }
}

impl Work for DayWork {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, plan: &Plan) -> Result<(), LoadtestError> {
        // A little of their life goes by while they are obtained.
        let lasts = plan.whole() + Timeouts::default().request;
        if self.code().is_some() && lasts > Duration::from_secs(CODE_SECONDS) {
            let reason = "mix: code: its codes are obtained before the load and live ten minutes; make the run shorter, or write a \
                          journey with the steps silent and code";
            return Err(LoadtestError::Options(reason.into()));
        }
        Ok(())
    }

    fn check_offer(&self, target: &Target) -> Result<(), LoadtestError> {
        self.all().try_for_each(|scenario| scenario.check_offer(target))
    }

    fn ask_for(&self, connections: usize, seed: &mut SeedOptions) {
        self.scenarios.iter().for_each(|scenario| scenario.ask_for(connections, seed));
    }

    fn check_seed(&self, seed: &Seed, until: u64) -> Result<(), LoadtestError> {
        self.all().try_for_each(|scenario| scenario.check_seed(seed, until))
    }

    fn rotates_families(&self) -> bool {
        // Journeys rotate what they got themselves.
        self.scenarios.contains(&Scenario::Refresh)
    }

    fn codes(&self, plan: &Plan) -> usize {
        match (&plan.traffic, self.code()) {
            (Traffic::Mixture(mixture), Some(code)) => mixture.requests_of(code, plan.warm_up),
            _ => 0,
        }
    }

    fn shards(&self) -> Option<&'static str> {
        self.heaviest.as_ref()?.shards()
    }

    fn mix(&self, seed: &Seed) -> Option<Mix> {
        self.scenarios.iter().find_map(|scenario| scenario.mix(seed))
    }

    fn visitors(&self, seed: &Arc<Seed>, connections: usize) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        Medley::visitors(&self.scenarios, seed, connections)
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.scenarios.iter().map(|scenario| Scenario::name(*scenario)).collect()
    }

    fn journeys(&self, seed: &Arc<Seed>) -> Result<Arc<dyn Journeys>, LoadtestError> {
        Ok(Arc::new(JourneyUsers::new(seed, &self.journeys)?))
    }

    fn add_to(&self, run: &mut Run, journeys: &[JourneyCount]) {
        let later = |storm: &Storm| Storm { at: storm.at + run.warm_up_seconds, ..storm.clone() };
        let journey = |(plan, count): (&JourneyPlan, &JourneyCount)| Journey {
            name: plan.name.clone(),
            begun: count.begun,
            finished: count.finished,
            broken: count.broken,
        };
        run.day = Some(results::Day {
            day_seconds: self.day_seconds,
            begins_seconds: self.begins_seconds,
            storms: self.storms.iter().map(later).collect(),
            journeys: self.journeys.iter().zip(journeys).map(journey).collect(),
        });
        for scenario in self.all().map(Scenario::name) {
            if !run.kinds.iter().any(|kind| kind.name == scenario) {
                run.kinds.push(Kind { name: scenario.into(), ..Kind::default() });
            }
        }
        run.kinds.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// Looks at each scenario. One that was never asked holds no limit.
    fn judge(&self, run: &Run) -> Vec<Threshold> {
        let mut judged = Vec::new();
        for (scenario, rules) in &self.limits {
            let name = scenario.name();
            let of = run.kinds.iter().find(|kind| kind.name == name).map(|kind| as_run(kind, run.seconds));
            let held = rules.iter().filter_map(|rule| Some(rule.judge(of.as_ref()?)));
            judged.extend(held.map(|threshold| Threshold { scenario: Some(name.into()), ..threshold }));
        }
        judged
    }
}

/// The figures of one scenario as those of a run of its own.
fn as_run(kind: &Kind, seconds: f64) -> Run {
    let requests = kind.right + kind.wrong + kind.failures;
    let per_second = |count: u64| count as f64 / seconds.max(f64::MIN_POSITIVE);
    Run {
        requests,
        wrong: kind.wrong,
        failures: kind.failures,
        missed: kind.missed,
        rate: per_second(requests + kind.missed),
        achieved_rate: per_second(kind.right),
        latency: kind.latency,
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Latency;

    #[test]
    fn a_scenario_is_judged_by_its_own_figures() {
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        let latency = |p99: f64| Latency { p99_ms: Some(p99), ..Latency::default() };
        let work = DayWork {
            name: "day x".into(),
            scenarios: vec![Scenario::Silent, Scenario::Login, Scenario::Refresh],
            journeys: Vec::new(),
            heaviest: Some(Scenario::Silent),
            limits: [
                (Scenario::Silent, vec![rule("p99_ms<100")]),
                (
                    Scenario::Login,
                    vec![rule("p99_ms<100"), rule("failure_share<=0.1"), rule("achieved_share>=0.9")],
                ),
                (Scenario::Refresh, vec![rule("failure_share<=0.1")]),
            ]
            .into(),
            storms: vec![Storm { at: 3.0, seconds: 1.0, requests: 5, of: "login".into() }],
            day_seconds: 60.0,
            begins_seconds: 0.0,
        };
        let kind = |name: &str, p99: f64| Kind {
            name: name.into(),
            right: 90,
            latency: latency(p99),
            ..Kind::default()
        };
        let mut run = Run {
            kinds: vec![kind("silent", 10.0), Kind { missed: 10, ..kind("login", 300.0) }],
            seconds: 10.0,
            warm_up_seconds: 2.0,
            ..Run::default()
        };
        work.add_to(&mut run, &[]);
        run.thresholds = work.judge(&run);
        let told: Vec<_> = run
            .thresholds
            .iter()
            .map(|of| (of.scenario.as_deref().unwrap(), of.name.as_str(), of.held))
            .collect();
        assert_eq!(
            told,
            [
                ("silent", "p99_ms", true),
                ("refresh", "failure_share", false),
                ("login", "p99_ms", false),
                ("login", "failure_share", true),
                ("login", "achieved_share", true),
            ],
            "nobody asked for refresh"
        );
        assert!(!run.passed());
        assert_eq!(run.day.unwrap().storms[0].at, 5.0, "after the warm-up");
        assert_eq!(
            run.kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>(),
            ["login", "refresh", "silent"]
        );
    }
}
