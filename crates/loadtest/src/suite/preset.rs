//! Suites by name: the loads of the December 2025 reports, rate by rate; and the same load at several numbers of
//! shards.

use std::time::Duration;

use symbolon_crypto::Algorithm;

use super::Suite;
use super::load::{Load, ReshardForm, Time};
use crate::LoadtestError;
use crate::report::reference::Reference;
use crate::run::Rule;
use crate::scenario::Scenario;

/// Every load of the reports.
const DECEMBER_2025: &str = "december-2025";

/// How long each load of a preset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As in the reports: three minutes and ramps of a quarter, two minutes for codes and refresh tokens.
    Reports,
    /// Seconds: enough for every verdict, and for a figure.
    Short,
}

/// Connections for any rate: requests in flight while a provider stalls for a tenth of a second at the highest.
const CONNECTIONS: usize = 256;

/// What the reports did not load, at rates that a small machine bears. The hash of a password takes tens of milliseconds on
/// purpose; the reports' logins were by e-mail code, and of those by passkey they have scripts, but no figures.
const BESIDES: [(Scenario, f64); 4] = [
    (Scenario::ClientCredentials, 1_000.0),
    (Scenario::Discovery, 2_000.0),
    (Scenario::Login, 10.0),
    (Scenario::LoginPasskey, 150.0),
];

/// The names of all presets, the one that holds all others first.
pub fn presets() -> Vec<String> {
    let mut names = vec![DECEMBER_2025.to_owned()];
    for load in december_2025(Length::Short).unwrap_or_default() {
        let name = name(&load);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A preset by its name; none of that name is no error.
///
/// # Errors
/// [`LoadtestError::Options`], only if the reference's figures could not be read.
pub fn preset(wanted: &str, length: Length) -> Result<Option<Suite>, LoadtestError> {
    let mut loads = december_2025(length)?;
    if wanted != DECEMBER_2025 {
        loads.retain(|load| name(load) == wanted);
    }
    let suite = Suite { title: wanted.to_owned(), algorithm: Some(Algorithm::Es256), loads };
    Ok((!suite.loads.is_empty()).then_some(suite))
}

/// `december-2025/silent-64`: one scenario at one number of shards.
fn name(load: &Load) -> String {
    let shards = load.shards.map(|shards| format!("-{shards}")).unwrap_or_default();
    format!("{DECEMBER_2025}/{}{shards}", load.asks())
}

/// Every rate of the reports at its number of shards, scenario by scenario.
fn december_2025(length: Length) -> Result<Vec<Load>, LoadtestError> {
    let broken = || LoadtestError::Options("the reference figures cannot be read".into());
    let reference = Reference::december_2025().ok_or_else(broken)?;
    let mut loads: Vec<Load> = Vec::new();
    for scenario in Scenario::ALL {
        let mut rows: Vec<(Option<u32>, f64)> =
            reference.rows(scenario.name()).iter().map(|row| (row.shards, row.rate)).collect();
        rows.dedup();
        // Stable: rates keep their order.
        rows.sort_by_key(|(shards, _)| *shards);
        loads.extend(rows.into_iter().map(|(shards, rate)| load(scenario, shards, rate, length)));
    }
    loads.extend(BESIDES.into_iter().map(|(scenario, rate)| load(scenario, None, rate, length)));
    Ok(loads)
}

fn load(scenario: Scenario, shards: Option<u32>, rate: f64, length: Length) -> Load {
    let (ramp, plateau) = match (length, scenario) {
        (Length::Short, _) => (1, 6),
        (Length::Reports, Scenario::Code) => (0, 120),
        (Length::Reports, Scenario::Refresh) => (10, 120),
        (Length::Reports, _) => (15, 180),
    };
    let warm_up = Duration::from_secs(if length == Length::Short { 1 } else { 5 });
    Load {
        shards,
        ramp: (ramp > 0).then_some(Time(Duration::from_secs(ramp))),
        warm_up: Some(Time(warm_up)),
        connections: Some(CONNECTIONS),
        ..Load::at(scenario, rate, Duration::from_secs(plateau))
    }
}

/// The same load at each number of shards, then once more from the second number to the last but one in mid-run, where
/// nothing may fail.
///
/// # Errors
/// [`LoadtestError::Options`] for fewer than two numbers of shards.
pub fn shard_sweep(load: &Load, counts: &[u32]) -> Result<Suite, LoadtestError> {
    let ([_, from, ..], [.., to, _]) = (counts, counts) else {
        return Err(LoadtestError::Options("a sweep needs two numbers of shards at least".into()));
    };
    let mut loads: Vec<Load> =
        counts.iter().map(|shards| Load { shards: Some(*shards), ..load.clone() }).collect();
    let whole = load.plan()?.traffic.duration() + load.warm_up.map_or(Duration::ZERO, |warm_up| warm_up.0);
    let (from, to) = if from == to { (counts.first().unwrap_or(from), to) } else { (from, to) };
    loads.push(Load {
        shards: Some(*from),
        reshard: Some(ReshardForm { after: Time(whole / 2), to: *to }),
        thresholds: vec![Rule::no_failure()],
        ..load.clone()
    });
    Ok(Suite { title: format!("{} by shards", load.asks()), algorithm: None, loads })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Plan;

    #[test]
    fn the_suite_has_every_rate_of_the_reports_and_every_scenario() {
        let groups = preset(DECEMBER_2025, Length::Short).unwrap().unwrap().groups().unwrap();
        let rates = |scenario: Scenario, shards: Option<u32>| -> Vec<u32> {
            let of = groups.iter().filter(|group| group.shards == shards).flat_map(|group| &group.plans);
            of.filter(|plan| plan.work.name() == scenario.name())
                .filter_map(|plan| plan.traffic.rate().map(|rate| rate as u32))
                .collect()
        };
        assert_eq!(rates(Scenario::Silent, Some(64)), [500, 1000, 1500, 2000, 2500, 3000, 3500, 4000]);
        assert_eq!(rates(Scenario::Silent, Some(128)), [4000, 4500]);
        assert_eq!(rates(Scenario::Refresh, Some(48)), [3000, 4000]);
        assert_eq!(rates(Scenario::Introspect, Some(32)), [500, 750]);
        assert_eq!(rates(Scenario::Code, Some(128)), [50, 100, 200, 300]);
        assert_eq!(rates(Scenario::LoginEmailCode, None), [50, 100, 125, 150]);
        for scenario in Scenario::ALL {
            assert!(
                groups.iter().flat_map(|group| &group.plans).any(|plan| plan.work.name() == scenario.name()),
                "{scenario}"
            );
        }
        // The short form stays far below ten minutes of load.
        let whole = |plan: &Plan| plan.traffic.duration() + plan.warm_up;
        let short: Duration = groups.iter().flat_map(|group| &group.plans).map(whole).sum();
        assert!(short < Duration::from_secs(6 * 60), "{short:?}");
    }

    #[test]
    fn every_matrix_has_a_name() {
        let names = presets();
        for name in
            ["december-2025", "december-2025/silent-64", "december-2025/refresh-48", "december-2025/login"]
        {
            assert!(names.iter().any(|known| known == name), "{names:?}");
        }
        for name in &names {
            let suite = preset(name, Length::Reports).unwrap().unwrap();
            assert!(!suite.groups().unwrap().is_empty(), "{name}");
        }
        let silent = preset("december-2025/silent-128", Length::Short).unwrap().unwrap();
        assert_eq!(
            silent.loads.iter().map(|load| load.rate).collect::<Vec<_>>(),
            [Some(4000.0), Some(4500.0)]
        );
        assert!(preset("december-2026", Length::Short).unwrap().is_none());
    }

    #[test]
    fn a_sweep_ends_with_a_change_in_mid_run() {
        let load = Load::at(Scenario::Silent, 100.0, Duration::from_secs(10));
        let sweep = shard_sweep(&load, &[1, 8, 32, 64, 128]).unwrap();
        let last = sweep.loads.last().unwrap();
        assert_eq!(sweep.loads.len(), 6);
        assert_eq!((last.shards, last.reshard.unwrap().to), (Some(8), 64));
        assert_eq!(last.reshard.unwrap().after, Time(Duration::from_secs(5)));
        let two = shard_sweep(&load, &[4, 16]).unwrap();
        assert_eq!((two.loads[2].shards, two.loads[2].reshard.unwrap().to), (Some(16), 4));
        assert!(shard_sweep(&load, &[4]).is_err());
    }
}
