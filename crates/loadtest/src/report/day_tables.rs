//! What a day was: its scenarios with their limits, its journeys and its storms.

use crate::day::time_of_day;
use crate::results::{Day, Kind, Run, Threshold};

use super::group::{Group, label};
use super::number::{self, NONE, count, figure};
use super::part_tables::{APART, APART_NOTE, apart};
use super::table::{Cell, Table};
use super::verdict::{FAIL, PASS};

/// Each scenario of a day with its limits.
pub(super) fn scenarios(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Scenario",
        "Limits",
        "Result",
        "Requests",
        "Right",
        "Wrong",
        "No answer",
        "Missed",
        "P50 ms",
        "P95 ms",
        "P99 ms",
        "Max ms",
    ];
    let mut table = Table::new("Scenarios of the day, and their limits", &[&head[..], &APART].concat());
    table.note = format!(
        "Behind each limit stands what was measured. A step of a journey counts from when its user has thought, after the answer \
         before. {APART_NOTE}"
    );
    table.text_columns = 4;
    for run in days(group) {
        table.rows.extend(run.kinds.iter().map(|kind| scenario_row(run, kind)));
    }
    table.finished()
}

fn days<'a>(group: &'a Group<'_>) -> impl Iterator<Item = &'a Run> {
    group.runs.iter().copied().filter(|run| run.day.is_some())
}

fn scenario_row(run: &Run, kind: &Kind) -> Vec<Cell> {
    let own = |threshold: &&Threshold| threshold.scenario.as_ref() == Some(&kind.name);
    let limits: Vec<String> = run.thresholds.iter().filter(own).map(limit).collect();
    let held = kind.wrong == 0 && run.thresholds.iter().filter(own).all(|threshold| threshold.held);
    let mut row: Vec<Cell> = vec![
        label(run).into(),
        kind.name.as_str().into(),
        if limits.is_empty() { NONE.into() } else { limits.join("; ").into() },
        Cell::judged(if held { PASS } else { FAIL }.to_owned(), held),
        count(kind.right + kind.wrong + kind.failures).into(),
        count(kind.right).into(),
    ];
    row.extend([kind.wrong, kind.failures, kind.missed].map(|errors| match errors {
        0 => "0".into(),
        errors => Cell::judged(count(errors), false),
    }));
    let of = &kind.latency;
    row.extend([of.p50_ms, of.p95_ms, of.p99_ms, of.max_ms].map(|ms| Cell::from(number::latency(of, ms))));
    row.extend(apart(kind));
    row
}

fn limit(threshold: &Threshold) -> String {
    let measured = threshold.value.map_or_else(|| "not measured".to_owned(), figure);
    let broken = if threshold.held { "" } else { ", broken" };
    format!("{} {} ({measured}{broken})", threshold.name, threshold.limit)
}

/// How the journeys went.
pub(super) fn journeys(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Journey", "Begun", "Finished", "Broken off", "Under way at the end"];
    let mut table = Table::new("Journeys", &head);
    table.note = "Whole runs, warm-up included. A journey is broken off where one of its steps failed, was answered wrongly or \
                  was never sent."
        .to_owned();
    table.text_columns = 2;
    for run in days(group) {
        for journey in run.day.iter().flat_map(|day| &day.journeys) {
            let under_way = journey.begun.saturating_sub(journey.finished + journey.broken);
            let mut row: Vec<Cell> = vec![label(run).into(), journey.name.as_str().into()];
            row.extend([journey.begun, journey.finished].map(|number| Cell::from(count(number))));
            row.push(match journey.broken {
                0 => "0".into(),
                broken => Cell::judged(count(broken), false),
            });
            row.push(count(under_way).into());
            table.rows.push(row);
        }
    }
    table.finished()
}

/// What came on top of the curve.
pub(super) fn storms(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "What", "Time of day", "After s", "Within s", "Arrivals", "Per second"];
    let mut table = Table::new("Storms", &head);
    table.note = "On top of the curve. Time of day is that of the day which the run stands for; the other times are those of the \
                  run."
        .to_owned();
    table.text_columns = 3;
    table.folded = true;
    for run in days(group) {
        for (day, storm) in run.day.iter().flat_map(|day| day.storms.iter().map(move |storm| (day, storm))) {
            table.rows.push(vec![
                label(run).into(),
                storm.of.as_str().into(),
                hour(run, day, storm.at).into(),
                figure(storm.at).into(),
                figure(storm.seconds).into(),
                count(storm.requests).into(),
                figure(storm.requests as f64 / storm.seconds.max(0.001)).into(),
            ]);
        }
    }
    table.finished()
}

/// The time of day so many seconds after the beginning of the load.
pub(super) fn hour(run: &Run, day: &Day, at: f64) -> String {
    let share = (at - run.warm_up_seconds) / run.seconds.max(0.001);
    time_of_day(day.begins_seconds + share * day.day_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};
    use crate::results::Latency;

    fn texts(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn each_scenario_stands_with_its_limits_and_its_verdict() {
        let results = sample::day();
        let groups = group::by_scenario(&results.runs);
        let table = scenarios(&groups[0]).unwrap();
        assert_eq!(
            texts(&table, 0)[1..6],
            ["login", "p95_ms < 800 (912, broken); failure_share <= 0 (0)", "FAIL", "400", "400"]
        );
        assert_eq!(texts(&table, 1)[1..4], ["silent", "p99_ms < 300 (4.50)", "PASS"]);
        let table = journeys(&groups[0]).unwrap();
        assert_eq!(texts(&table, 0)[1..], ["purchase", "120", "100", "2", "18"]);
        let table = storms(&groups[0]).unwrap();
        assert_eq!(texts(&table, 0)[1..], ["login", "20:00", "17.0", "2.00", "300", "150"]);
    }

    #[test]
    fn refusals_of_a_scenario_have_percentiles_of_their_own() {
        let mut results = sample::day();
        let kind = &mut results.runs[0].kinds[0];
        (kind.wrong, kind.answers) = (12, Some(kind.latency));
        kind.refusals = Some(Latency { p50_ms: Some(0.25), ..Latency::default() });
        let table = scenarios(&group::by_scenario(&results.runs)[0]).unwrap();
        let place = table.head.iter().position(|name| name == "Wrong P50 ms").unwrap();
        assert_eq!((texts(&table, 0)[place], texts(&table, 1)[place]), ("0.250", NONE));
    }

    #[test]
    fn other_runs_have_no_such_tables() {
        let results = sample::small();
        let groups = group::by_scenario(&results.runs);
        assert!(
            scenarios(&groups[0]).is_none() && journeys(&groups[0]).is_none() && storms(&groups[0]).is_none()
        );
    }
}
