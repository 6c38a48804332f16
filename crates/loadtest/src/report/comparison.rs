//! Our figures beside those of December 2025, and beside an earlier run.

use crate::results::{Results, Run};

use super::group::{Group, label, offered};
use super::number::{NONE, bucket, count, figure, rate, roughly, times};
use super::reference::{Reference, Row};
use super::table::{Cell, Table, Tone};

/// A change by more than this share is news.
const NEWS: f64 = 0.1;

/// A scenario's runs beside the rows of the December 2025 reports, as the client and as the server saw them; none
/// where it has no such report.
pub(super) fn with_reference(group: &Group<'_>, reference: &Reference) -> Vec<Table> {
    let mut client = Table::new(
        "Client beside December 2025: its figure → ours (how many times less)",
        &["Run", "Report's row", "Failures", "P50 ms", "P95 ms", "P99 ms"],
    );
    let mut server = Table::new(
        "Server beside December 2025: its figure → ours (how many times less)",
        &["Run", "Report's row", "Duration P50 ms", "Duration P99 ms", "CPU ms/request", "Shard wall P99 ms"],
    );
    for run in &group.runs {
        if let Some(row) = reference.row(group.scenario, offered(run), run.shards) {
            client.rows.push(client_beside(run, row));
            server.rows.push(server_beside(run, row));
        }
    }
    client.note = format!(
        "{} under {}, whose latency includes the internet between the two. A run between two of its rates is compared \
         with the lower one.{}",
        reference.system,
        reference.load_generator,
        missing(group, reference)
    );
    server.note =
        "CPU: its median of the worker, our mean of the whole process. Shard wall: our slowest kind that is split into shards. \
         Of our percentiles the bucket of the histogram is known in which they lie, and the ratio to its bounds."
            .to_owned();
    let tables = [client, server].map(|mut table| {
        table.text_columns = 2;
        table.finished().filter(|table| table.head.len() > 2)
    });
    tables.into_iter().flatten().collect()
}

/// The report's rates that no run of ours answers.
fn missing(group: &Group<'_>, reference: &Reference) -> String {
    let answered = |row: &&Row| {
        group.runs.iter().any(|run| {
            reference.row(group.scenario, offered(run), run.shards).is_some_and(|taken| taken == *row)
        })
    };
    let rows: Vec<String> =
        reference.rows(group.scenario).iter().filter(|row| !answered(row)).map(row_name).collect();
    if rows.is_empty() {
        String::new()
    } else {
        format!(" Its rows without a run of ours: {}.", rows.join("; "))
    }
}

fn row_name(row: &Row) -> String {
    match row.shards {
        Some(shards) => format!("{}/s, {shards} shards", rate(row.rate)),
        None => format!("{}/s", rate(row.rate)),
    }
}

fn named(run: &Run, row: &Row) -> Vec<Cell> {
    vec![label(run).into(), row_name(row).into()]
}

fn client_beside(run: &Run, row: &Row) -> Vec<Cell> {
    let mut cells = named(run, row);
    cells.extend([
        row.failures.map_or_else(|| NONE.into(), |before| counted(before, run.failures)),
        against(row.client.p50, run.latency.p50_ms),
        against(row.client.p95, run.latency.p95_ms),
        against(row.client.p99, run.latency.p99_ms),
    ]);
    cells
}

fn server_beside(run: &Run, row: &Row) -> Vec<Cell> {
    let duration =
        run.server.as_ref().map(|server| server.request_duration).filter(|duration| duration.count > 0);
    let stores = run.server.iter().flat_map(|server| &server.stores).filter(|store| store.wall.count > 0);
    // What is never split, for instance the audit log, has no counterpart among the reference's shards.
    let split = stores.filter(|store| store.shards.len() > 1 || run.shards == Some(1));
    let slowest = split.filter_map(|store| store.wall.p99_ms).reduce(f64::max);
    let mut cells = named(run, row);
    cells.extend([
        against_bucket(row.duration.p50, duration.and_then(|duration| duration.p50_ms)),
        against_bucket(row.duration.p99, duration.and_then(|duration| duration.p99_ms)),
        against(row.cpu.p50, run.server_cpu_us_per_request.map(|micros| micros / 1000.0)),
        against_bucket(row.shard_wall.p99, slowest),
    ]);
    cells
}

fn against(reference: Option<f64>, ours: Option<f64>) -> Cell {
    let (Some(reference), Some(ours)) = (reference, ours) else { return NONE.into() };
    match times(reference, ours) {
        Some(ratio) => Cell::judged(
            format!("{} → {} ({}×)", figure(reference), figure(ours), figure(ratio)),
            ratio >= 1.0,
        ),
        None => format!("{} → {}", figure(reference), figure(ours)).into(),
    }
}

/// The same of a percentile of the provider's own, of which its bucket is known: ratios to both of its bounds, rounded apart.
fn against_bucket(reference: Option<f64>, ours: Option<f64>) -> Cell {
    let (Some(reference), Some((lower, upper))) = (reference, ours.and_then(bucket)) else {
        return NONE.into();
    };
    let pair = format!("{} → {}–{}", figure(reference), figure(lower), figure(upper));
    let (Some(least), Some(most)) = (times(reference, upper), times(reference, lower)) else {
        return pair.into();
    };
    let text = format!("{pair} ({}–{}×)", roughly(least, f64::floor), roughly(most, f64::ceil));
    let tone = match (least >= 1.0, most >= 1.0) {
        (true, _) => Tone::Good,
        (false, true) => Tone::Plain,
        (false, false) => Tone::Bad,
    };
    Cell { text, tone }
}

fn counted(before: u64, now: u64) -> Cell {
    Cell::judged(format!("{} → {}", count(before), count(now)), now <= before)
}

/// A scenario's runs beside runs of the same name; none where there is none.
pub(super) fn with_earlier(group: &Group<'_>, earlier: &Results) -> Option<Table> {
    let head = [
        "Run",
        "Achieved /s",
        "Failures",
        "Wrong",
        "P50 ms",
        "P95 ms",
        "P99 ms",
        "Server CPU µs/request",
        "Memory MiB",
    ];
    let mut table = Table::new(&format!("Beside the earlier run of {}: then → now", earlier.started), &head);
    for run in &group.runs {
        let Some(before) = earlier.runs.iter().find(|before| before.name == run.name) else { continue };
        let memory = |run: &Run| run.server.as_ref().map(|server| server.resident_mib);
        table.rows.push(vec![
            label(run).into(),
            changed(Some(before.achieved_rate), Some(run.achieved_rate), true),
            counted(before.failures, run.failures),
            counted(before.wrong, run.wrong),
            changed(before.latency.p50_ms, run.latency.p50_ms, false),
            changed(before.latency.p95_ms, run.latency.p95_ms, false),
            changed(before.latency.p99_ms, run.latency.p99_ms, false),
            changed(before.server_cpu_us_per_request, run.server_cpu_us_per_request, false),
            changed(memory(before), memory(run), false),
        ]);
    }
    table.note = "Marked are changes by more than 10 %.".to_owned();
    table.finished()
}

fn changed(before: Option<f64>, now: Option<f64>, more_is_better: bool) -> Cell {
    let (Some(before), Some(now)) = (before, now) else { return NONE.into() };
    let pair = format!("{} → {}", figure(before), figure(now));
    if before <= 0.0 || !(now / before).is_finite() {
        return pair.into();
    }
    let change = now / before - 1.0;
    let tone = match (change.abs() > NEWS, (change > 0.0) == more_is_better) {
        (false, _) => Tone::Plain,
        (true, true) => Tone::Good,
        (true, false) => Tone::Bad,
    };
    let percent = (change * 1000.0).round() / 10.0;
    let change = if percent == 0.0 { "same".to_owned() } else { format!("{percent:+.1} %") };
    Cell { text: format!("{pair} ({change})"), tone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    fn texts(table: &Table) -> Vec<&str> {
        table.rows[0].iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn a_run_stands_beside_the_row_of_its_rate() {
        let results = sample::small();
        let reference = Reference::december_2025().unwrap();
        let tables = with_reference(&group::by_scenario(&results.runs)[0], &reference);
        let run = "500/s, 64 shards";
        assert_eq!(
            texts(&tables[0]),
            [run, run, "0 → 0", "407 → 0.720 (565×)", "454 → 2.10 (216×)", "536 → 4.50 (119×)"]
        );
        assert_eq!(
            texts(&tables[1]),
            [
                run,
                run,
                "48.1 → 0.200–0.500 (96–250×)",
                "68.1 → 1.00–2.00 (34–69×)",
                "2.24 → 0.061 (36.7×)",
                "1,779 → 0.050–0.100 (17,000–36,000×)"
            ]
        );
        let note = &tables[0].note;
        assert!(note.contains("Its rows without a run of ours: 1,000/s, 64 shards; "), "{note}");
    }

    #[test]
    fn what_lies_on_both_sides_of_the_reference_is_neither_better_nor_worse() {
        let toned = |ours| against_bucket(Some(1.5), Some(ours)).tone;
        assert_eq!((toned(0.9), toned(1.4), toned(2.1)), (Tone::Good, Tone::Plain, Tone::Bad));
        assert_eq!(against_bucket(Some(1.5), Some(1.4)).text, "1.50 → 1.00–2.00 (0.75–1.5×)");
        assert_eq!(
            (against_bucket(Some(1.5), None), against_bucket(None, Some(1.0))),
            (NONE.into(), NONE.into())
        );
    }

    #[test]
    fn without_the_server_s_figures_only_clients_are_compared() {
        let mut results = sample::small();
        results.runs[0].server = None;
        results.runs[0].server_cpu_us_per_request = None;
        let reference = Reference::december_2025().unwrap();
        assert_eq!(with_reference(&group::by_scenario(&results.runs)[0], &reference).len(), 1);
    }

    #[test]
    fn a_scenario_without_a_report_has_no_comparison() {
        let mut results = sample::small();
        results.runs[0].scenario = "discovery".to_owned();
        let reference = Reference::december_2025().unwrap();
        assert_eq!(with_reference(&group::by_scenario(&results.runs)[0], &reference), []);
    }

    #[test]
    fn an_earlier_run_is_found_by_its_name() {
        let mut results = sample::small();
        let mut earlier = sample::small();
        earlier.runs[0].latency.p99_ms = Some(9.0);
        earlier.runs[0].achieved_rate = 0.0;
        let table = with_earlier(&group::by_scenario(&results.runs)[0], &earlier).unwrap();
        assert_eq!(texts(&table)[1], "0 → 500");
        assert_eq!(texts(&table)[6], "9.00 → 4.50 (-50.0 %)");
        assert_eq!(table.rows[0][6].tone, Tone::Good);
        assert_eq!(texts(&table)[5], "2.10 → 2.10 (same)");
        assert_eq!(table.rows[0][5].tone, Tone::Plain);

        results.runs[0].name = "silent 600/s".to_owned();
        assert_eq!(with_earlier(&group::by_scenario(&results.runs)[0], &earlier), None);
    }
}
