//! Runs that belong together, and the limit that they show.

use std::collections::BTreeSet;

use crate::results::Run;

/// The runs of one scenario.
pub(super) struct Group<'r> {
    /// Its name.
    pub(super) scenario: &'r str,
    /// The runs in their order.
    pub(super) runs: Vec<&'r Run>,
}

/// Runs that differ in their rate only.
pub(super) struct Series<'r> {
    /// Shards of all of them.
    pub(super) shards: Option<u32>,
    /// The runs by rising rate.
    pub(super) runs: Vec<&'r Run>,
}

/// Scenarios in the order of their first run; each mix is one of its own, lest they be compared.
pub(super) fn by_scenario(runs: &[Run]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|group| group.scenario == run.what()) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { scenario: run.what(), runs: vec![run] }),
        }
    }
    groups
}

impl<'r> Group<'r> {
    /// By number of shards.
    pub(super) fn series(&self) -> Vec<Series<'r>> {
        let counts: BTreeSet<Option<u32>> = self.runs.iter().map(|run| run.shards).collect();
        counts
            .into_iter()
            .map(|shards| {
                let mut runs: Vec<&Run> =
                    self.runs.iter().copied().filter(|run| run.shards == shards).collect();
                runs.sort_by(|one, other| offered(one).total_cmp(&offered(other)));
                // Of a search that tried a rate several times the last one counts.
                let followed = |place: usize, run: &Run| {
                    runs.get(place + 1).is_some_and(|next| run.probe && offered(next) == offered(run))
                };
                let last = runs.iter().enumerate().filter(|(place, run)| !followed(*place, run));
                let runs = last.map(|(_, run)| *run).collect();
                Series { shards, runs }
            })
            .collect()
    }

    /// Runs of one rate with at least three numbers of shards: the rate, and its runs by rising number.
    pub(super) fn sweeps(&self) -> Vec<(f64, Vec<&'r Run>)> {
        let mut rates: Vec<f64> = self.runs.iter().map(|run| offered(run)).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let of_rate = |rate: f64| {
            let mut runs: Vec<&Run> = self
                .runs
                .iter()
                .copied()
                .filter(|run| offered(run) == rate && run.shards.is_some() && run.reshard.is_none())
                .collect();
            runs.sort_by_key(|run| run.shards);
            runs.dedup_by_key(|run| run.shards);
            (rate, runs)
        };
        rates.into_iter().map(of_rate).filter(|(_, runs)| runs.len() >= 3).collect()
    }

    /// The run with the highest rate.
    pub(super) fn hardest(&self) -> Option<&'r Run> {
        self.runs.iter().copied().max_by(|one, other| offered(one).total_cmp(&offered(other)))
    }
}

impl<'r> Series<'r> {
    /// The scenario and, where it is known, the number of shards.
    pub(super) fn name(&self) -> String {
        let scenario = self.runs.first().map_or("", |run| run.what());
        match self.shards {
            Some(1) => format!("{scenario}, 1 shard"),
            Some(shards) => format!("{scenario}, {shards} shards"),
            None => scenario.to_owned(),
        }
    }

    /// The lowest rate at which something failed.
    pub(super) fn first_failing(&self) -> Option<f64> {
        self.runs.iter().find(|run| !clean(run)).map(|run| offered(run))
    }

    /// The run with the highest rate below which, and at which, nothing failed.
    pub(super) fn limit(&self) -> Option<&'r Run> {
        let bound = self.first_failing().unwrap_or(f64::INFINITY);
        self.runs.iter().copied().rfind(|run| clean(run) && offered(run) < bound)
    }
}

impl Group<'_> {
    /// Whether its runs are days, whose rates go up and down: nothing is said of them over a rate.
    pub(super) fn is_day(&self) -> bool {
        self.runs.iter().all(|run| run.day.is_some())
    }
}

/// The rate that was asked for; a closed run asks for none, so what it reached.
pub(super) fn offered(run: &Run) -> f64 {
    if run.rate > 0.0 { run.rate } else { run.achieved_rate }
}

/// Whether every arrival was sent and answered rightly, within the thresholds.
pub(super) fn clean(run: &Run) -> bool {
    run.requests > 0 && run.failures == 0 && run.missed == 0 && run.passed()
}

/// What tells the run from others of its scenario.
pub(super) fn label(run: &Run) -> &str {
    let rest =
        run.name.strip_prefix(run.scenario.as_str()).unwrap_or(&run.name).trim_start_matches([' ', ',']);
    if rest.is_empty() { &run.name } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Mix;

    fn run(rate: f64, failures: u64) -> Run {
        Run {
            name: format!("silent {rate}/s"),
            scenario: "silent".to_owned(),
            rate,
            requests: 10,
            failures,
            ..Run::default()
        }
    }

    #[test]
    fn mixes_are_kept_apart_and_only_the_reports_bears_the_plain_name() {
        let of = |mix| Run { scenario: "introspect".into(), mix, ..run(10.0, 0) };
        // Results that say nothing of a mix are of a time when there was one.
        let runs = [of(Some(Mix::Report)), of(Some(Mix::Pure)), of(None), run(10.0, 0)];
        let groups = by_scenario(&runs);
        let told: Vec<_> = groups.iter().map(|group| (group.scenario, group.runs.len())).collect();
        assert_eq!(told, [("introspect", 2), ("introspect, valid tokens only", 1), ("silent", 1)]);
        assert_eq!(groups[1].series()[0].name(), "introspect, valid tokens only");
    }

    #[test]
    fn the_limit_is_below_the_first_failure() {
        let runs = [run(3000.0, 0), run(1000.0, 0), run(2000.0, 1)];
        let groups = by_scenario(&runs);
        let series = groups[0].series();
        assert_eq!(series.len(), 1);
        assert_eq!(series[0].first_failing(), Some(2000.0));
        assert_eq!(series[0].limit().unwrap().rate, 1000.0);
        assert_eq!(groups[0].hardest().unwrap().rate, 3000.0);
    }

    #[test]
    fn the_last_try_of_a_rate_is_the_one_that_is_drawn() {
        let tries = [(100.0, 0), (200.0, 1), (200.0, 0), (150.0, 1), (150.0, 0)];
        let mut runs: Vec<Run> =
            tries.map(|(rate, failures)| Run { probe: true, ..run(rate, failures) }).into();
        runs.push(run(200.0, 0));
        let series = &by_scenario(&runs)[0].series()[0];
        assert_eq!(
            series.runs.iter().map(|run| (run.rate, run.failures)).collect::<Vec<_>>(),
            [(100.0, 0), (150.0, 0), (200.0, 0)]
        );
        assert_eq!(series.limit().unwrap().rate, 200.0);
    }

    #[test]
    fn the_same_rate_at_three_numbers_of_shards_is_a_sweep() {
        let mut runs: Vec<Run> =
            [64, 1, 8, 8].map(|shards| Run { shards: Some(shards), ..run(1000.0, 0) }).into();
        runs.push(run(2000.0, 0));
        let sweeps = by_scenario(&runs)[0].sweeps();
        assert_eq!(sweeps.len(), 1);
        assert_eq!(
            sweeps[0].1.iter().map(|run| run.shards).collect::<Vec<_>>(),
            [Some(1), Some(8), Some(64)]
        );
        assert!(by_scenario(&runs[..2])[0].sweeps().is_empty());
    }

    #[test]
    fn a_run_without_requests_proves_nothing() {
        let runs = [Run { requests: 0, ..run(500.0, 0) }];
        assert!(by_scenario(&runs)[0].series()[0].limit().is_none());
    }

    #[test]
    fn a_label_leaves_out_what_the_heading_says() {
        assert_eq!(label(&run(500.0, 0)), "500/s");
        assert_eq!(label(&Run { name: "silent".to_owned(), ..run(1.0, 0) }), "silent");
        assert_eq!(label(&Run { name: "other".to_owned(), ..run(1.0, 0) }), "other");
    }
}
