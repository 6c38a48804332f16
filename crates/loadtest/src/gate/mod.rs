//! A gate for CI: whether runs are worse than earlier ones by more than is tolerated. With repeats a rank test decides, which
//! knows how far the repeats lie apart; one run beside another says nothing of chance, and the gate says so.

mod interval;
mod junit;
pub(crate) mod rank;
mod summary;

use std::str::FromStr;

pub use junit::junit;
pub use summary::summary;

use crate::LoadtestError;
use crate::results::{Results, Run};
use crate::run::figure;

/// A result as improbable as this is no accident.
const SIGNIFICANT: f64 = 0.05;

/// By how much a figure may be worse: `p99_ms=10%`.
#[derive(Clone, Debug)]
pub struct Tolerance {
    figure: &'static str,
    of: fn(&Run) -> Option<f64>,
    /// Whether more of it is better.
    more_is_better: bool,
    /// As a share: 0.1 for 10 %.
    share: f64,
}

impl FromStr for Tolerance {
    type Err = LoadtestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            let names = figure::names().join(", ");
            LoadtestError::Options(format!("tolerance {text}: write FIGURE=NUMBER% with one of {names}"))
        };
        let (name, percent) = text.split_once('=').ok_or_else(invalid)?;
        let percent: f64 =
            percent.trim().strip_suffix('%').ok_or_else(invalid)?.trim().parse().map_err(|_| invalid())?;
        let figure = figure::named(name.trim()).ok_or_else(invalid)?;
        if !(percent.is_finite() && percent >= 0.0) {
            return Err(invalid());
        }
        let more_is_better = figure.more_is_better();
        Ok(Self { figure: figure.name, of: figure.of, more_is_better, share: percent / 100.0 })
    }
}

/// How two sets of runs stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They were made at different times.
    Apart,
    /// The builds took turns, so that each run has one of the other build beside it.
    Turns,
}

impl Pairing {
    /// With fewer repeats no result can be as improbable as [`SIGNIFICANT`]: of three and three one order in twenty has all of
    /// ours above, of five pairs one combination of signs in 32 has all of them.
    const fn repeats(self) -> usize {
        match self {
            Self::Apart => 3,
            Self::Turns => 5,
        }
    }
}

/// What the gate found.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// One finding for each run and figure.
    pub findings: Vec<Finding>,
    /// Runs that have no earlier one of their name.
    pub unknown: Vec<String>,
}

/// A figure of a run, beside the earlier one's.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The run, without the number of its repeat.
    pub run: String,
    /// The figure.
    pub figure: &'static str,
    /// Its median in the earlier runs.
    pub before: Option<f64>,
    /// Its median now.
    pub now: Option<f64>,
    /// By how much it is worse, as a share; below 0 where it is better.
    pub worse_by: Option<f64>,
    /// Between which the true one lies; none where there are too few repeats, or where a figure is 0.
    pub doubt: Option<Doubt>,
    /// By how much it may be.
    pub tolerated: f64,
    /// What that means.
    pub verdict: Verdict,
    /// How that is known, and how sure it is.
    pub why: String,
}

/// By how much a figure is worse, as shares: an estimate, and the interval in which the true change lies nine times in ten. Its
/// ends belong to the rank test: what is [`Verdict::Worse`] has its least beyond what is tolerated, or close to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// The least.
    pub least: f64,
    /// The middle of the changes between all repeats, or of those of the pairs (Hodges and Lehmann).
    pub estimate: f64,
    /// The most.
    pub most: f64,
}

/// What a comparison means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is not worse by more than is tolerated, as far as can be told.
    Held,
    /// It is.
    Worse,
    /// One of the sides has no such figure.
    Unmeasured,
}

impl Gate {
    /// Whether nothing is worse, everything was measured, and every run has an earlier one.
    pub fn passed(&self) -> bool {
        self.unknown.is_empty()
            && !self.findings.is_empty()
            && self.findings.iter().all(|finding| finding.verdict == Verdict::Held)
    }
}

/// Compares every run with the earlier ones of its name.
pub fn compare(earlier: &Results, now: &Results, tolerances: &[Tolerance], pairing: Pairing) -> Gate {
    let mut names: Vec<&str> = Vec::new();
    for run in now.runs.iter().filter(|run| !run.probe) {
        if !names.contains(&run.base_name()) {
            names.push(run.base_name());
        }
    }
    let of = |results: &Results, name: &str| -> Vec<Run> {
        results.runs.iter().filter(|run| run.base_name() == name && !run.probe).cloned().collect()
    };
    let (mut findings, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let (before, now) = (of(earlier, name), of(now, name));
        if before.is_empty() {
            unknown.push(name.to_owned());
            continue;
        }
        findings.extend(tolerances.iter().map(|tolerance| tolerance.judge(name, (&before, &now), pairing)));
    }
    Gate { findings, unknown }
}

impl Tolerance {
    fn judge(&self, name: &str, (before, now): (&[Run], &[Run]), pairing: Pairing) -> Finding {
        let read = |runs: &[Run]| runs.iter().map(self.of).collect::<Option<Vec<f64>>>();
        let (before, now) = (read(before), read(now));
        let medians = (before.as_deref().and_then(rank::median), now.as_deref().and_then(rank::median));
        let worse_by = medians.0.zip(medians.1).and_then(|(before, now)| self.worse_by(before, now));
        let doubt = before.as_deref().zip(now.as_deref()).and_then(|sides| self.doubt(sides, pairing));
        let (verdict, why) = match (&before, &now, worse_by) {
            (Some(before), Some(now), Some(worse_by)) => {
                let (verdict, why) = self.decide((before, now), worse_by, pairing);
                (verdict, doubt.map(|doubt| format!("{}; {why}", self.told(&doubt))).unwrap_or(why))
            }
            _ => (Verdict::Unmeasured, "one of the sides has no such figure, or one of 0".to_owned()),
        };
        Finding {
            run: name.to_owned(),
            figure: self.figure,
            before: medians.0,
            now: medians.1,
            worse_by,
            doubt,
            tolerated: self.share,
            verdict,
            why,
        }
    }

    /// By how much now is worse, as a share; none where that cannot be said.
    fn worse_by(&self, before: f64, now: f64) -> Option<f64> {
        let change = if before == now { 0.0 } else { now / before - 1.0 };
        change.is_finite().then_some(if self.more_is_better { -change } else { change })
    }

    /// How wide the doubt is of how much worse now is; none of fewer repeats than a rank test needs.
    fn doubt(&self, (before, now): (&[f64], &[f64]), pairing: Pairing) -> Option<Doubt> {
        if before.len().min(now.len()) < pairing.repeats() {
            return None;
        }
        let found = interval::ratio(before, now, pairing)?;
        let (low, high) = found.ends;
        Some(if self.more_is_better {
            Doubt { least: 1.0 - high, estimate: 1.0 - found.estimate, most: 1.0 - low }
        } else {
            Doubt { least: low - 1.0, estimate: found.estimate - 1.0, most: high - 1.0 }
        })
    }

    /// The interval, and how much worse a figure would have to be so that its least were beyond what is tolerated.
    fn told(&self, doubt: &Doubt) -> String {
        let Doubt { least, estimate, most } = doubt;
        let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
        format!(
            "a change of {} is estimated, which lies between {} and {} nine times in ten; one of about {} would be seen",
            percent(*estimate),
            percent(*least),
            percent(*most),
            percent(self.share + estimate - least)
        )
    }

    fn decide(&self, (before, now): (&[f64], &[f64]), worse_by: f64, pairing: Pairing) -> (Verdict, String) {
        let repeats = before.len().min(now.len());
        if repeats < pairing.repeats() {
            let verdict = if worse_by > self.share { Verdict::Worse } else { Verdict::Held };
            let why = format!(
                "{repeats} of each: nothing is known of how much is chance; --repeat 5 tells, and --beside BINARY is surer"
            );
            return (verdict, why);
        }
        // What was tolerated is taken off first: only what is beyond it counts.
        let sign = if self.more_is_better { -1.0 } else { 1.0 };
        let bound = |value: &f64| {
            if self.more_is_better { value * (1.0 - self.share) } else { value * (1.0 + self.share) }
        };
        let bounds: Vec<f64> = before.iter().map(|value| sign * bound(value)).collect();
        let ours: Vec<f64> = now.iter().map(|value| sign * value).collect();
        let probability = match pairing {
            Pairing::Apart => rank::greater(&ours, &bounds),
            Pairing::Turns => {
                let pairs: Vec<f64> = ours.iter().zip(&bounds).map(|(now, bound)| now - bound).collect();
                rank::positive(&pairs)
            }
        };
        let verdict = if probability <= SIGNIFICANT { Verdict::Worse } else { Verdict::Held };
        let test = if pairing == Pairing::Turns { "in turns" } else { "at different times" };
        let why = format!(
            "{repeats} of each {test}: if it were within the tolerance, chance would show as much with probability {probability:.3}; \
             repeats of one side lie up to {:.0} % apart",
            100.0 * spread(before).max(spread(now))
        );
        (verdict, why)
    }
}

/// How far apart values lie, as a share of their median.
fn spread(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    rank::median(values).filter(|median| *median > 0.0).map_or(0.0, |median| (most - least) / median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Latency, Repeat};

    /// Runs of one plan with these P99 and CPU times.
    fn results(values: &[f64]) -> Results {
        let of = values.len();
        let run = |(place, value): (usize, &f64)| Run {
            name: format!("silent 500/s ({} of {of})", place + 1),
            repeat: Some(Repeat { number: place + 1, of }),
            latency: Latency { p99_ms: Some(*value), ..Latency::default() },
            ..Run::default()
        };
        let mut results = crate::report::sample::full();
        results.runs = values.iter().enumerate().map(run).collect();
        results
    }

    fn judge(before: &[f64], now: &[f64], pairing: Pairing) -> Verdict {
        let tolerances = ["p99_ms=10%".parse().unwrap()];
        let gate = compare(&results(before), &results(now), &tolerances, pairing);
        assert_eq!((gate.findings.len(), gate.findings[0].run.as_str()), (1, "silent 500/s"));
        assert_eq!(gate.passed(), gate.findings[0].verdict == Verdict::Held);
        gate.findings[0].verdict
    }

    #[test]
    fn repeats_decide_and_not_one_outlier() {
        let before = [1.00, 1.02, 0.98, 1.01, 0.99];
        assert_eq!(judge(&before, &[1.21, 1.19, 1.22, 1.18, 1.20], Pairing::Apart), Verdict::Worse);
        assert_eq!(judge(&before, &[1.21, 1.19, 1.22, 1.18, 1.20], Pairing::Turns), Verdict::Worse);
        assert_eq!(
            judge(&before, &[1.00, 0.99, 3.00, 1.02, 0.98], Pairing::Apart),
            Verdict::Held,
            "one outlier"
        );
        assert_eq!(
            judge(&before, &[1.05, 1.08, 1.06, 1.07, 1.09], Pairing::Apart),
            Verdict::Held,
            "tolerated"
        );
        assert_eq!(judge(&before, &[0.5, 0.5, 0.5, 0.5, 0.5], Pairing::Turns), Verdict::Held, "better");
    }

    #[test]
    fn builds_in_turns_show_what_a_drifting_machine_hides() {
        // The machine becomes slower; each build in turn has the same of it.
        let before = [1.0, 1.3, 1.7, 2.2, 2.9];
        let slower: Vec<f64> = before.iter().map(|value| value * 1.2).collect();
        assert_eq!(judge(&before, &slower, Pairing::Apart), Verdict::Held);
        assert_eq!(judge(&before, &slower, Pairing::Turns), Verdict::Worse);
        assert_eq!(judge(&before, &before, Pairing::Turns), Verdict::Held);
    }

    #[test]
    fn the_width_of_the_doubt_is_told_beside_the_probability() {
        let told = |now: &[f64], pairing| {
            let tolerances = ["p99_ms=10%".parse().unwrap()];
            compare(&results(&[1.00, 1.02, 0.98, 1.01, 0.99]), &results(now), &tolerances, pairing)
                .findings
                .remove(0)
        };
        // Pair by pair from 1.17 to 1.24 times as much.
        let slower = told(&[1.21, 1.19, 1.22, 1.18, 1.20], Pairing::Turns);
        let doubt = slower.doubt.unwrap();
        assert!(
            doubt.least > 0.1 && doubt.least < doubt.estimate && doubt.estimate < doubt.most,
            "{doubt:?}"
        );
        assert!(doubt.most < 0.3 && (doubt.estimate - 0.2).abs() < 0.02, "{doubt:?}");
        let estimated = "a change of +20.5 % is estimated, which lies between +16.7 % and +24.5 % nine times in ten; \
                         one of about +13.8 % would be seen; 5 of each";
        assert!(slower.told().contains(estimated), "{}", slower.told());
        assert!(slower.why.contains("probability 0.031"), "{}", slower.why);
        // One outlier makes the doubt wide and does not move the estimate.
        let held = told(&[1.00, 0.99, 3.00, 1.02, 0.98], Pairing::Turns);
        let doubt = held.doubt.unwrap();
        assert!(held.verdict == Verdict::Held && doubt.most > 1.0 && doubt.estimate < 0.1, "{doubt:?}");
        assert!(told(&[1.0, 1.0, 1.0, 1.0], Pairing::Turns).doubt.is_none(), "four pairs say nothing");
    }

    #[test]
    fn of_what_is_better_in_greater_numbers_the_doubt_is_turned_round() {
        let tolerance: Tolerance = "achieved_share=5%".parse().unwrap();
        let (before, now) = ([1.00, 0.99, 1.00, 0.98, 1.00], [0.90, 0.89, 0.90, 0.88, 0.80]);
        let doubt = tolerance.doubt((&before, &now), Pairing::Turns).unwrap();
        assert!(
            0.05 < doubt.least && doubt.least <= doubt.estimate && doubt.estimate <= doubt.most,
            "{doubt:?}"
        );
        assert!((doubt.most - 0.2).abs() < 1e-9, "{doubt:?}");
    }

    #[test]
    fn one_run_is_compared_and_its_doubt_is_told() {
        let tolerances = ["p99_ms=10%".parse().unwrap()];
        let gate = compare(&results(&[1.0]), &results(&[1.2]), &tolerances, Pairing::Apart);
        assert_eq!(gate.findings[0].verdict, Verdict::Worse);
        assert!(gate.findings[0].why.contains("nothing is known of how much is chance"), "{gate:?}");
    }

    #[test]
    fn what_cannot_be_compared_does_not_pass() {
        let tolerances = ["server_cpu_us_per_request=5%".parse().unwrap()];
        let gate = compare(&results(&[1.0]), &results(&[1.0]), &tolerances, Pairing::Apart);
        assert_eq!(gate.findings[0].verdict, Verdict::Unmeasured);
        assert!(!gate.passed());
        let mut other = results(&[1.0]);
        other.runs[0].name = "userinfo 5/s".into();
        other.runs[0].repeat = None;
        let gate = compare(&results(&[1.0]), &other, &tolerances, Pairing::Apart);
        assert_eq!((gate.unknown.as_slice(), gate.passed()), (["userinfo 5/s".to_owned()].as_slice(), false));
    }

    #[test]
    fn more_of_a_share_is_better() {
        let tolerance: Tolerance = "achieved_share=5%".parse().unwrap();
        assert!((tolerance.worse_by(1.0, 0.9).unwrap() - 0.1).abs() < 1e-12);
        for wrong in ["", "p99_ms", "p99_ms=5", "speed=5%", "p99_ms=-1%", "p99_ms=x%"] {
            assert!(wrong.parse::<Tolerance>().is_err(), "{wrong}");
        }
    }
}
