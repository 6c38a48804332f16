//! Tables of what the generator saw.

use crate::results::{Generator, Results, Run, Stage};

use super::group::{self, Group, label, offered};
use super::number::{self, NONE, count, figure, optional, rate};
use super::reference::Reference;
use super::table::{Cell, Table, Tone};
use super::verdict;

/// One row per scenario and number of shards: the highest rate without failure, and what it cost.
pub(super) fn limits(results: &Results, reference: Option<&Reference>) -> Option<Table> {
    let head = [
        "Scenario",
        "No failure up to /s",
        "P50 ms",
        "P99 ms",
        "Server CPU µs/request",
        "Failure from /s",
        "December 2025 /s",
        "Ratio",
    ];
    let mut table = Table::new("Highest rate without failure", &head);
    table.note = "Without failure: every arrival sent, every answer right, every threshold held.".to_owned();
    if reference.is_some() {
        table.note.push_str(" December 2025: the highest rate that its report calls a pass.");
    }
    for group in group::by_scenario(&results.runs).into_iter().filter(|group| !group.is_day()) {
        for series in group.series() {
            let before =
                reference.and_then(|reference| reference.highest_pass(group.scenario, series.shards));
            let limit = series.limit();
            let highest = limit.map(offered);
            let failing = series.first_failing();
            let ratio = highest.zip(before).map(|(ours, before)| ours / before);
            table.rows.push(vec![
                series.name().into(),
                highest
                    .map_or_else(|| Cell::judged("none".to_owned(), false), |highest| rate(highest).into()),
                optional(limit.and_then(|run| run.latency.p50_ms)).into(),
                optional(limit.and_then(|run| run.latency.p99_ms)).into(),
                optional(limit.and_then(|run| run.server_cpu_us_per_request)).into(),
                failing.map_or_else(|| NONE.to_owned(), rate).into(),
                before.map_or_else(|| NONE.to_owned(), rate).into(),
                ratio.map_or_else(|| NONE.into(), |ratio| reached(ratio, failing.is_some())),
            ]);
        }
    }
    table.finished()
}

/// How many times the reference's rate was reached: at least so many where no rate failed.
fn reached(ratio: f64, failed_above: bool) -> Cell {
    let text = format!("{}{}×", if failed_above { "" } else { "≥ " }, figure(ratio));
    if failed_above || ratio >= 1.0 { Cell::judged(text, ratio >= 1.0) } else { text.into() }
}

/// Client latency.
pub(super) fn latency(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Rate /s",
        "Achieved /s",
        "Requests",
        "Failures",
        "Wrong",
        "Missed",
        "Min",
        "Mean",
        "P50",
        "P95",
        "P99",
        "P99.9",
        "Max",
        "Result",
    ];
    let own = group.runs.iter().all(|run| run.generator == Generator::Own);
    let from = if own { "the intended arrival" } else { "the sending of the request" };
    let mut table = Table::new(&format!("Client latency in ms, from {from}"), &head);
    for run in &group.runs {
        let mut row: Vec<Cell> = vec![
            label(run).into(),
            if run.rate > 0.0 { rate(run.rate).into() } else { NONE.into() },
            rate(run.achieved_rate).into(),
            count(run.requests).into(),
        ];
        row.extend([run.failures, run.wrong, run.missed].map(errors));
        let of = &run.latency;
        let latencies = [of.min_ms, of.mean_ms, of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms];
        row.extend(latencies.map(|value| Cell::from(number::latency(of, value))));
        row.push(result(run));
        table.rows.push(row);
    }
    table.finished()
}

fn errors(number: u64) -> Cell {
    if number == 0 { "0".into() } else { Cell::judged(count(number), false) }
}

fn result(run: &Run) -> Cell {
    let word = verdict::of_run(run);
    let tone = match word {
        verdict::PASS => Tone::Good,
        verdict::WARN => Tone::Plain,
        _ => Tone::Bad,
    };
    Cell { text: word.to_owned(), tone }
}

/// How the load was made.
pub(super) fn schedules(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Executor", "Stages, requests per second", "Protocol", "Plateau s", "Connections"];
    let mut table = Table::new("Load", &head);
    table.text_columns = 4;
    table.folded = true;
    for run in &group.runs {
        let stages: Vec<String> = run.stages.iter().map(stage).collect();
        table.rows.push(vec![
            label(run).into(),
            run.executor.as_str().into(),
            stages.join(", ").into(),
            protocol(run).into(),
            rate(run.seconds).into(),
            connections(run).into(),
        ]);
    }
    table.finished()
}

fn protocol(run: &Run) -> String {
    let name = if run.protocol.is_empty() { "HTTP/1.1" } else { &run.protocol };
    format!("{name}{}", if run.tls { ", TLS" } else { "" })
}

fn connections(run: &Run) -> String {
    let connections = count(run.connections as u64);
    if run.streams > 1 { format!("{connections} × {} streams", run.streams) } else { connections }
}

fn stage(stage: &Stage) -> String {
    let seconds = rate(stage.seconds);
    if stage.from == stage.to {
        return format!("{} for {seconds} s", rate(stage.to));
    }
    format!("{} to {} in {seconds} s", rate(stage.from), rate(stage.to))
}

/// Thresholds.
pub(super) fn thresholds(group: &Group<'_>) -> Option<Table> {
    let mut table = Table::new("Thresholds", &["Run", "Figure", "Limit", "Measured", "Held"]);
    table.text_columns = 3;
    table.folded = true;
    for run in &group.runs {
        for threshold in &run.thresholds {
            let held = if threshold.held { "yes" } else { "no" };
            table.rows.push(vec![
                label(run).into(),
                threshold.what().into(),
                threshold.limit.as_str().into(),
                optional(threshold.value).into(),
                Cell::judged(held.to_owned(), threshold.held),
            ]);
        }
    }
    table.finished()
}

/// Error kinds.
pub(super) fn error_kinds(group: &Group<'_>) -> Option<Table> {
    let mut table = Table::new("Errors by kind", &["Run", "Error", "Kind", "Count"]);
    table.text_columns = 3;
    table.folded = true;
    for run in &group.runs {
        for (word, kinds) in [("failure", &run.failure_kinds), ("wrong", &run.wrong_kinds)] {
            for (kind, number) in kinds.iter().filter(|(_, number)| **number > 0) {
                table.rows.push(vec![
                    label(run).into(),
                    word.into(),
                    verdict::words(kind).into(),
                    count(*number).into(),
                ]);
            }
        }
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn texts(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn latency_has_the_figures_of_the_run() {
        let results = sample::small();
        let table = latency(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(
            texts(&table, 0),
            [
                "500/s, 64 shards",
                "500",
                "500",
                "90,000",
                "0",
                "0",
                "0",
                "0.310",
                "0.800",
                "0.720",
                "2.10",
                "4.50",
                "12.3",
                "58.6",
                "PASS"
            ]
        );
    }

    #[test]
    fn the_limit_stands_beside_the_reference() {
        let results = sample::small();
        let table = limits(&results, Reference::december_2025().as_ref()).unwrap();
        assert_eq!(
            texts(&table, 0),
            ["silent, 64 shards", "500", "0.720", "4.50", "61.0", "3,500", "≥ 0.143×"]
        );
        assert!(!table.head.contains(&"Failure from /s".to_owned()));
    }

    #[test]
    fn the_schedule_is_written_out() {
        let results = sample::small();
        let table = schedules(&group::by_scenario(&results.runs)[0]).unwrap();
        let stages = "0 to 500 in 15 s, 500 for 180 s";
        let row = ["500/s, 64 shards", "ramping-arrival-rate", stages, "HTTP/1.1", "180", "64"];
        assert_eq!(texts(&table, 0), row);
    }

    #[test]
    fn shared_and_encrypted_connections_are_told() {
        let mut results = sample::small();
        let run = &mut results.runs[0];
        (run.protocol, run.tls, run.connections, run.streams) = ("HTTP/2".to_owned(), true, 2, 32);
        let table = schedules(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(texts(&table, 0)[3..], ["HTTP/2, TLS", "180", "2 × 32 streams"]);
    }

    #[test]
    fn a_run_without_requests_has_no_latency() {
        let mut results = sample::small();
        results.runs[0] = Run { scenario: "silent".to_owned(), name: "silent".to_owned(), ..Run::default() };
        let table = latency(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(table.head, ["Run", "Achieved /s", "Requests", "Failures", "Wrong", "Missed", "Result"]);
        assert_eq!(texts(&limits(&results, None).unwrap(), 0), ["silent", "none", "0"]);
    }
}
