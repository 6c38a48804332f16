//! Latency by part of a run and by outcome, verdicts by kind of request, and what both sides counted.

use crate::results::{Kind, Latency, Run, Second};

use super::group::{Group, label};
use super::number::{self, NONE, count, figure, optional, share};
use super::table::{Cell, Table};

/// Latency of the whole plateau, of its right answers and refusals, of its thirds, and of the warm-up.
pub(super) fn parts(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Part", "Min", "Mean", "P50", "P95", "P99", "P99.9", "Max"];
    let mut table = Table::new("Latency in ms by part of the run and by outcome", &head);
    table.note = "Whole: every arrival of the plateau, whatever its end; from ≥ on a figure is a lower bound, because waits \
                  were given up. The last third far above the first: the provider was not in balance at this rate."
        .to_owned();
    table.text_columns = 2;
    table.folded = true;
    for run in &group.runs {
        for (part, latency) in parts_of(run) {
            let of = [
                latency.min_ms,
                latency.mean_ms,
                latency.p50_ms,
                latency.p95_ms,
                latency.p99_ms,
                latency.p999_ms,
                latency.max_ms,
            ];
            let mut row: Vec<Cell> = vec![label(run).into(), part.into()];
            row.extend(of.map(|value| Cell::from(number::latency(latency, value))));
            table.rows.push(row);
        }
    }
    table.finished().filter(|table| table.rows.len() > group.runs.len())
}

fn parts_of(run: &Run) -> Vec<(&'static str, &Latency)> {
    let mut parts = vec![("whole", &run.latency)];
    let differs = run.failures + run.wrong + run.missed > 0;
    parts.extend(run.answers.iter().filter(|_| differs).map(|latency| ("right answers", latency)));
    parts.extend(run.refusals.iter().map(|latency| ("wrong answers", latency)));
    parts.extend(run.warm_up.iter().map(|latency| ("warm-up", latency)));
    parts.extend(["first third", "second third", "last third"].into_iter().zip(&run.thirds));
    parts
}

/// Latency of each step, where several requests count as one.
pub(super) fn steps(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Step", "Answers", "P50 ms", "P95 ms", "P99 ms", "P99.9 ms", "Max ms"];
    let mut table = Table::new("Latency in ms by step of a login", &head);
    table.note = "From the sending of a step's request to its answer. A login's own latency counts from when it should have \
                  begun, and has what the generator does between the steps."
        .to_owned();
    table.text_columns = 2;
    for run in &group.runs {
        for step in &run.steps {
            let of = &step.latency;
            let mut row: Vec<Cell> =
                vec![label(run).into(), step.name.as_str().into(), count(step.count).into()];
            let values = [of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms];
            row.extend(values.map(|value| Cell::from(number::latency(of, value))));
            table.rows.push(row);
        }
    }
    table.finished()
}

/// How each kind of request of a mix was answered.
pub(super) fn kinds(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Kind", "Requests", "Right", "Wrong", "No answer", "Accuracy", "P50 ms", "P99 ms"];
    let mut table = Table::new("Verdicts by kind of request", &[&head[..], &APART].concat());
    table.note = format!(
        "Accuracy: right answers of all that were answered. A token that must be refused is answered rightly by a refusal. \
         {APART_NOTE}"
    );
    table.text_columns = 2;
    for run in group.runs.iter().filter(|run| run.day.is_none()) {
        table.rows.extend(run.kinds.iter().map(|kind| kind_row(run, kind)));
    }
    table.finished()
}

fn kind_row(run: &Run, kind: &Kind) -> Vec<Cell> {
    let answered = kind.right + kind.wrong;
    let accuracy = share(kind.right, answered);
    let mut row: Vec<Cell> = vec![
        label(run).into(),
        kind.name.as_str().into(),
        count(answered + kind.failures).into(),
        count(kind.right).into(),
        count(kind.wrong).into(),
        count(kind.failures).into(),
        if answered == 0 { NONE.into() } else { Cell::judged(accuracy, kind.wrong == 0) },
        number::latency(&kind.latency, kind.latency.p50_ms).into(),
        number::latency(&kind.latency, kind.latency.p99_ms).into(),
    ];
    row.extend(apart(kind));
    row
}

/// The columns of [`apart`].
pub(super) const APART: [&str; 4] = ["Right P50 ms", "Right P99 ms", "Wrong P50 ms", "Wrong P99 ms"];

/// How they are to be read.
pub(super) const APART_NOTE: &str = "Percentiles are of all requests, whatever their end; where not all were answered rightly, \
                                     those of the right and of the wrong answers stand apart as well.";

/// How long its right and its wrong answers took, where that differs from all of it.
pub(super) fn apart(kind: &Kind) -> [Cell; 4] {
    let cell = |of: Option<Latency>, read: fn(&Latency) -> Option<f64>| -> Cell {
        of.map_or_else(|| NONE.into(), |of| number::latency(&of, read(&of)).into())
    };
    [
        cell(kind.answers, |of| of.p50_ms),
        cell(kind.answers, |of| of.p99_ms),
        cell(kind.refusals, |of| of.p50_ms),
        cell(kind.refusals, |of| of.p99_ms),
    ]
}

/// When each run was, and what client and server counted in it.
pub(super) fn totals(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Began", "Ended", "Client total", "Server total", "Difference"];
    let mut table = Table::new("Times, and requests as both sides counted them", &head);
    table.note = "Totals are over HTTP and of the whole run, warm-up and ramps included; the reading of the \
                  server's own figures is one request more there, and so is a change of shards. A request that nobody answered may have reached it or not."
        .to_owned();
    table.text_columns = 3;
    table.folded = true;
    for run in group.runs.iter().filter(|run| !run.began.is_empty()) {
        let server =
            run.server.as_ref().map(|server| server.request_duration.count).filter(|count| *count > 0);
        let difference = run.sent.zip(server).map(|(sent, server)| server as f64 - sent as f64);
        table.rows.push(vec![
            label(run).into(),
            run.began.as_str().into(),
            run.ended.as_str().into(),
            run.sent.map_or_else(|| NONE.to_owned(), count).into(),
            server.map_or_else(|| NONE.to_owned(), count).into(),
            optional(difference).into(),
        ]);
    }
    table.finished()
}

/// Percentiles of the CPU time per request, over the seconds of the plateau.
pub(super) fn cpu(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Seconds", "Mean", "P50", "P90", "P99", "Max"];
    let mut table =
        Table::new("CPU time of the server per request in µs, over the seconds of the plateau", &head);
    table.folded = true;
    if group.runs.iter().any(|run| widest(run) > 1.5) {
        table.note = "4 × 8 s: of a long run, windows of several seconds instead of seconds; its percentiles are over these."
            .to_owned();
    }
    for run in &group.runs {
        let mut of = cpu_by_second(run);
        of.sort_by(f64::total_cmp);
        let at = |percentile: f64| {
            let rank = (percentile / 100.0 * of.len() as f64).ceil().max(1.0) as usize;
            let enough = of.len() as u64 >= crate::latency::needed(percentile);
            of.get(rank - 1).copied().filter(|_| enough)
        };
        if of.is_empty() {
            continue;
        }
        table.rows.push(vec![
            label(run).into(),
            windows(run, of.len()).into(),
            figure(of.iter().sum::<f64>() / of.len() as f64).into(),
            optional(at(50.0)).into(),
            optional(at(90.0)).into(),
            optional(at(99.0)).into(),
            optional(of.last().copied()).into(),
        ]);
    }
    table.finished()
}

/// How long the longest rows of its course are, in seconds.
fn widest(run: &Run) -> f64 {
    run.timeline.iter().map(Second::seconds).fold(0.0, f64::max)
}

/// How many seconds there are, or windows of how many.
fn windows(run: &Run, rows: usize) -> String {
    let rows = count(rows as u64);
    // A generator that was held up makes single rows longer; a long run all of them.
    let several = run.timeline.iter().filter(|second| second.seconds() > 1.5).count();
    if 2 * several > run.timeline.len() { format!("{rows} × {:.0} s", widest(run)) } else { rows }
}

/// Of each row of the course that lies in the plateau, and in which something was answered.
fn cpu_by_second(run: &Run) -> Vec<f64> {
    let (begins, ends) = run.plateau_edges();
    let seconds = run.timeline.iter().filter(|second| {
        let at = f64::from(second.at);
        // Times are told in whole seconds: a row begins up to one of them after what it says.
        at - second.seconds() > begins - 1.0 && at > begins && at <= ends && second.answered > 0
    });
    seconds
        .filter_map(|second| Some(1e6 * second.server_cores? * second.seconds() / second.answered as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    fn texts(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn every_part_has_its_row() {
        let mut results = sample::small();
        results.runs[0].failures = 1;
        let table = parts(&group::by_scenario(&results.runs)[0]).unwrap();
        let named: Vec<_> = (0..table.rows.len()).map(|row| texts(&table, row)[1]).collect();
        assert_eq!(named, ["whole", "right answers", "warm-up", "first third", "second third", "last third"]);
    }

    #[test]
    fn accuracy_is_of_what_was_answered() {
        let mut results = sample::small();
        let kind = |name: &str, right, wrong| Kind {
            name: name.into(),
            right,
            wrong,
            failures: 5,
            ..Kind::default()
        };
        results.runs[0].kinds = vec![kind("valid", 995, 0), kind("expired", 3, 1), kind("revoked", 0, 0)];
        let table = kinds(&group::by_scenario(&results.runs)[0]).unwrap();
        let told = |row| (texts(&table, row)[2], texts(&table, row)[6]);
        assert_eq!([told(0), told(1), told(2)], [("1,000", "100 %"), ("9", "75.0 %"), ("5", NONE)]);
    }

    #[test]
    fn right_and_wrong_answers_of_a_kind_stand_apart() {
        let mut results = sample::small();
        let of = |p50_ms, p99_ms| Latency { p50_ms: Some(p50_ms), p99_ms, ..Latency::default() };
        let valid = Kind { name: "valid".into(), right: 900, latency: of(2.0, Some(3.0)), ..Kind::default() };
        let revoked = Kind {
            name: "revoked".into(),
            right: 50,
            wrong: 60,
            latency: of(20.0, Some(41.0)),
            answers: Some(of(2.5, None)),
            refusals: Some(of(40.0, None)),
            ..Kind::default()
        };
        results.runs[0].kinds = vec![valid.clone(), revoked];
        let table = kinds(&group::by_scenario(&results.runs)[0]).unwrap();
        // Too few of either for a P99: those columns are not there.
        assert_eq!(table.head[7..], ["P50 ms", "P99 ms", "Right P50 ms", "Wrong P50 ms"]);
        assert_eq!(texts(&table, 0)[7..], ["2.00", "3.00", NONE, NONE]);
        assert_eq!(texts(&table, 1)[7..], ["20.0", "41.0", "2.50", "40.0"]);
        results.runs[0].kinds = vec![valid];
        let table = kinds(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(table.head[7..], ["P50 ms", "P99 ms"], "all of it is answers");
    }

    #[test]
    fn both_sides_totals_stand_beside_each_other() {
        let results = sample::small();
        let table = totals(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(
            texts(&table, 0)[1..],
            ["2026-11-21T22:00:00Z", "2026-11-21T22:03:30Z", "100,000", "100,000", "0"]
        );
    }

    #[test]
    fn cpu_is_told_of_the_plateau_alone() {
        let mut results = sample::full();
        let run = &mut results.runs[0];
        for second in &mut run.timeline {
            second.server_cores = Some(if second.at > 17 { 0.05 } else { 9.0 });
            second.answered = 500;
        }
        let table = cpu(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(texts(&table, 0)[1..4], ["180", "100", "100"]);

        // Rows of four seconds: what reaches over an edge is left out.
        let run = &mut results.runs[0];
        run.timeline.retain(|second| second.at % 4 == 0);
        for second in &mut run.timeline {
            (second.covers, second.answered) = (Some(4.0), 2_000);
            second.server_cores = Some(if (21..=196).contains(&second.at) { 0.05 } else { 9.0 });
        }
        run.timeline.iter_mut().find(|second| second.at == 20).unwrap().server_cores = Some(9.0);
        let table = cpu(&group::by_scenario(&results.runs)[0]).unwrap();
        assert_eq!(texts(&table, 0)[1..4], ["44 × 4 s", "100", "100"]);
    }
}
