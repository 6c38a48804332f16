//! What to plan with: limits by number of shards and their gain, and rates for goals of latency.

use crate::results::Results;

use super::group::{self, Group, Series, clean, offered};
use super::number::{NONE, figure, rate};
use super::table::{Cell, Table, Tone};

/// Goals for P99, in milliseconds.
const GOALS: [f64; 5] = [10.0, 20.0, 50.0, 100.0, 300.0];
/// A fifth of a rate that held is left for what nobody foresaw.
const PEAK: f64 = 0.8;

/// The highest rate without failure for each number of shards, beside that for the next smaller one.
pub(super) fn by_shards(results: &Results) -> Option<Table> {
    let head = ["Scenario", "Shards", "No failure up to /s", "Failure from /s", "Gain"];
    let mut table = Table::new("Highest rate without failure by number of shards", &head);
    table.note = "Gain: beside the next smaller number of shards. ≥: no higher rate was tried, so that the gain is not known."
        .to_owned();
    for group in group::by_scenario(&results.runs).into_iter().filter(|group| !group.is_day()) {
        let series = group.series();
        let sharded: Vec<&Series<'_>> = series.iter().filter(|series| series.shards.is_some()).collect();
        if sharded.len() < 2 {
            continue;
        }
        let mut before: Option<(f64, bool)> = None;
        for series in sharded {
            let (limit, failing) = (series.limit().map(offered), series.first_failing());
            let open = failing.is_none();
            let gain =
                before.zip(limit).map(|((before, was_open), limit)| gain(before, limit, open || was_open));
            table.rows.push(vec![
                group.scenario.into(),
                series.shards.unwrap_or(0).to_string().into(),
                limit
                    .map_or_else(
                        || "none".into(),
                        |limit| format!("{}{}", if open { "≥ " } else { "" }, rate(limit)),
                    )
                    .into(),
                failing.map_or_else(|| NONE.to_owned(), rate).into(),
                gain.unwrap_or_else(|| NONE.into()),
            ]);
            before = limit.map(|limit| (limit, open)).or(before);
        }
    }
    table.finished()
}

fn gain(before: f64, now: f64, unknown: bool) -> Cell {
    if unknown || before <= 0.0 {
        return NONE.into();
    }
    let percent = 100.0 * (now / before - 1.0);
    let tone = if percent >= 0.0 { Tone::Good } else { Tone::Bad };
    Cell { text: format!("{percent:+.0} %"), tone }
}

/// For each goal of P99 the highest rate that kept it, and what to plan with.
pub(super) fn recommendations(results: &Results) -> Option<Table> {
    let goals: Vec<String> = GOALS.iter().map(|goal| format!("P99 < {goal} ms")).collect();
    let mut head = vec!["Scenario"];
    head.extend(goals.iter().map(String::as_str));
    let mut table = Table::new("What to plan with for a goal of latency, in requests per second", &head);
    table.note = "80 % of the highest rate that was tried without failure and kept the goal, below the lowest that did not; ≥ where no \
                  rate broke it."
        .to_owned();
    for group in group::by_scenario(&results.runs).into_iter().filter(|group| !group.is_day()) {
        for series in group.series() {
            let mut row: Vec<Cell> = vec![series.name().into()];
            row.extend(GOALS.map(|goal| recommended(&series, goal)));
            table.rows.push(row);
        }
    }
    table.finished()
}

fn recommended(series: &Series<'_>, goal: f64) -> Cell {
    let keeps = |run: &&crate::results::Run| {
        clean(run) && run.latency.p99_ms.is_some_and(|ms| ms < goal && !run.latency.is_at_least(ms))
    };
    let breaks = series.runs.iter().find(|run| !keeps(run)).map(|run| offered(run));
    let kept = series.runs.iter().filter(|run| keeps(run)).map(|run| offered(run));
    let highest = kept.filter(|kept| breaks.is_none_or(|breaks| *kept < breaks)).reduce(f64::max);
    match highest {
        None => "none".into(),
        Some(highest) => {
            format!("{}{}", if breaks.is_none() { "≥ " } else { "" }, rate((PEAK * highest).floor())).into()
        }
    }
}

/// How much faster or slower the last third of the hardest run's plateau was than its first, by P99; none where neither is
/// known.
pub(super) fn drift(group: &Group<'_>) -> Option<(String, f64)> {
    let run = group.hardest()?;
    let (first, last) = (run.thirds.first()?.p99_ms?, run.thirds.last()?.p99_ms?);
    (first > 0.0).then(|| (format!("{} → {} ms", figure(first), figure(last)), last / first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn texts(table: &Table) -> Vec<Vec<&str>> {
        table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect()
    }

    #[test]
    fn more_shards_stand_beside_fewer() {
        let table = by_shards(&sample::full()).unwrap();
        let rows = texts(&table);
        // Without a gain that is known there is no such column.
        assert_eq!(rows[0], ["silent", "64", "4,000", "4,500"]);
        assert_eq!(rows[1], ["silent", "128", "≥ 4,500", NONE]);
        let mut results = sample::full();
        for run in results.runs.iter_mut().filter(|run| run.shards == Some(128) && run.rate == 4_500.0) {
            run.failures = 3;
        }
        assert_eq!(texts(&by_shards(&results).unwrap())[1], ["silent", "128", "4,000", "4,500", "+0 %"]);
    }

    #[test]
    fn a_goal_is_kept_up_to_a_rate() {
        let results = sample::full();
        let table = recommendations(&results).unwrap();
        let silent = &texts(&table)[0];
        assert_eq!(silent[0], "silent, 64 shards");
        // P99 is 2.4 ms and more, by how near the rate comes to 4,500/s, at which requests fail.
        assert_eq!(silent[1..], ["2,400", "2,800", "3,200", "3,200", "3,200"]);
    }
}
