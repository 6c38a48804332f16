//! Tables of what the provider says of itself.

use std::collections::BTreeSet;

use crate::results::{Generator, Percentiles, Run, Second, ServerFigures, StoreFigures};

use super::group::{Group, label};
use super::number::{NONE, count, figure, optional, share, times};
use super::table::{Cell, Table, Tone};

/// A hot shard bears so many times the mean before the report points at it.
const UNEVEN: f64 = 2.0;

/// How its percentiles are known.
const INTERPOLATED: &str = "Percentiles are those of its histograms, in proportion within a bucket; bounds go by 1, 2, 5, \
                            10 and so on, or are finer.";

/// Request duration, CPU and memory.
pub(super) fn durations(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Requests",
        "Mean",
        "P50",
        "P75",
        "P90",
        "P99",
        "P99.9",
        "Server CPU µs/request",
        "CPU s",
        "Most cores",
        "Memory MiB",
        "Generator CPU µs/request",
        "Generator lag ms",
    ];
    let mut table = Table::new("Request duration in the server in ms, CPU and memory", &head);
    table.note = INTERPOLATED.to_owned();
    for run in &group.runs {
        let server = run.server.as_ref();
        let own = run.generator == Generator::Own;
        let mut row: Vec<Cell> = vec![label(run).into()];
        row.extend(percentiles(server.map(|server| &server.request_duration), true));
        row.extend([
            optional(run.server_cpu_us_per_request).into(),
            optional(server.map(|server| server.cpu_seconds)).into(),
            optional(run.timeline.iter().filter_map(Second::most_cores).reduce(f64::max)).into(),
            optional(server.map(|server| server.resident_mib)).into(),
            optional(own.then_some(run.generator_cpu_us_per_request)).into(),
            optional(own.then_some(run.generator_lag_ms)).into(),
        ]);
        table.rows.push(row);
    }
    // Of runs by k6 there may be nothing but their names.
    table.finished().filter(|table| table.head.len() > 1)
}

/// Shard wall time and queue wait by kind.
pub(super) fn shard_times(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Kind",
        "Operations",
        "Wall P50",
        "P75",
        "P90",
        "P99",
        "P99.9",
        "Wait P50",
        "P75",
        "P90",
        "P99",
        "P99.9",
    ];
    let mut table = Table::new("Shard wall time and queue wait in ms", &head);
    table.note = INTERPOLATED.to_owned();
    table.text_columns = 2;
    table.folded = true;
    for (run, store) in stores(group) {
        let mut row: Vec<Cell> =
            vec![label(run).into(), store.kind.as_str().into(), count(store.wall.count).into()];
        row.extend(percentiles(Some(&store.wall), false));
        row.extend(percentiles(Some(&store.queue_wait), false));
        table.rows.push(row);
    }
    table.finished()
}

/// How evenly operations fell on shards.
pub(super) fn balance(group: &Group<'_>) -> Option<Table> {
    let head = ["Run", "Kind", "Shards", "Least", "Mean", "Most", "Most ÷ mean", "Errors"];
    let mut table = Table::new("Operations per shard", &head);
    table.text_columns = 2;
    table.folded = true;
    for (run, store) in stores(group) {
        let operations: Vec<u64> = store.shards.iter().map(|shard| shard.operations).collect();
        let (Some(&least), Some(&most)) = (operations.iter().min(), operations.iter().max()) else {
            continue;
        };
        let mean = operations.iter().sum::<u64>() as f64 / operations.len() as f64;
        let uneven = times(most as f64, mean);
        let tone = if uneven.is_some_and(|uneven| uneven > UNEVEN) { Tone::Bad } else { Tone::Plain };
        table.rows.push(vec![
            label(run).into(),
            store.kind.as_str().into(),
            operations.len().to_string().into(),
            count(least).into(),
            figure(mean).into(),
            count(most).into(),
            Cell { text: optional(uneven), tone },
            count(store.shards.iter().map(|shard| shard.errors).sum()).into(),
        ]);
    }
    table.finished()
}

/// Database, commits, caches and signatures.
pub(super) fn database(group: &Group<'_>) -> Option<Table> {
    let servers = || group.runs.iter().filter_map(|run| Some((*run, run.server.as_ref()?)));
    let caches: BTreeSet<&str> =
        servers().flat_map(|(_, server)| server.caches.keys().map(String::as_str)).collect();
    let head = [
        "Run",
        "Read queries",
        "Write queries",
        "Rows read",
        "Rows written",
        "Commits",
        "Operations per commit",
        "Commit P50 ms",
        "P99 ms",
    ];
    let mut table = Table::new("Database, commits, caches and signatures", &head);
    table.head.extend(caches.iter().map(|cache| format!("Cache {cache}")));
    table.head.push("Signatures".to_owned());
    table.folded = true;
    for (run, server) in servers() {
        let mut row: Vec<Cell> = vec![label(run).into()];
        row.extend(
            [
                server.read_queries,
                server.write_queries,
                server.rows_read,
                server.rows_written,
                server.commits,
            ]
            .map(|number| Cell::from(count(number))),
        );
        let committed = (server.commits > 0).then_some(&server.commit_duration);
        row.extend([
            optional(committed.map(|_| server.commit_operations as f64 / server.commits as f64)).into(),
            optional(committed.and_then(|duration| duration.p50_ms)).into(),
            optional(committed.and_then(|duration| duration.p99_ms)).into(),
        ]);
        row.extend(caches.iter().map(|cache| Cell::from(hits(server, cache))));
        row.push(signatures(server).into());
        table.rows.push(row);
    }
    table.finished()
}

fn hits(server: &ServerFigures, cache: &str) -> String {
    let figures = server.caches.get(cache).copied().unwrap_or_default();
    share(figures.hits, figures.hits + figures.misses)
}

fn signatures(server: &ServerFigures) -> String {
    let listed: Vec<String> =
        server.signatures.iter().map(|(name, number)| format!("{name} {}", count(*number))).collect();
    if listed.is_empty() { NONE.to_owned() } else { listed.join(", ") }
}

/// Kinds of state that were used.
fn stores<'r>(group: &Group<'r>) -> impl Iterator<Item = (&'r Run, &'r StoreFigures)> {
    group
        .runs
        .iter()
        .flat_map(|&run| {
            run.server.iter().flat_map(move |server| server.stores.iter().map(move |store| (run, store)))
        })
        .filter(|(_, store)| store.wall.count > 0 || store.shards.iter().any(|shard| shard.operations > 0))
}

/// Five percentiles, with the count and the mean before them where `whole`.
fn percentiles(of: Option<&Percentiles>, whole: bool) -> Vec<Cell> {
    let of = of.filter(|of| of.count > 0);
    let value = |read: fn(&Percentiles) -> Option<f64>| Cell::from(optional(of.and_then(read)));
    let mut cells = Vec::new();
    if whole {
        cells.push(of.map_or_else(|| NONE.to_owned(), |of| count(of.count)).into());
        cells.push(value(|of| of.mean_ms));
    }
    cells.extend([
        value(|of| of.p50_ms),
        value(|of| of.p75_ms),
        value(|of| of.p90_ms),
        value(|of| of.p99_ms),
        value(|of| of.p999_ms),
    ]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    fn texts(table: Option<Table>) -> Vec<String> {
        table.unwrap().rows[0].iter().map(|cell| cell.text.clone()).collect()
    }

    #[test]
    fn the_provider_s_figures_stand_in_their_tables() {
        let results = sample::small();
        let group = &group::by_scenario(&results.runs)[0];
        let run = "500/s, 64 shards";
        assert_eq!(
            texts(durations(group)),
            [
                run, "100,000", "0.400", "0.350", "0.500", "0.700", "1.90", "6.00", "61.0", "6.40", "0.310",
                "84.0", "9.50", "0.200"
            ]
        );
        assert_eq!(
            texts(shard_times(group)),
            [
                run, "code", "400", "0.010", "0.020", "0.030", "0.090", "0.400", "0.001", "0.002", "0.003",
                "0.009", "0.040"
            ]
        );
        assert_eq!(texts(balance(group)), [run, "code", "4", "50", "100", "220", "2.20", "1"]);
        assert_eq!(
            texts(database(group)),
            [run, "1,234", "56", "7,890", "12", "4,000", "25.0", "0.900", "3.10", "99.0 %", "RS256 100,000"]
        );
    }

    #[test]
    fn without_the_provider_s_figures_only_the_generator_speaks() {
        let mut results = sample::small();
        results.runs[0].server = None;
        results.runs[0].server_cpu_us_per_request = None;
        results.runs[0].timeline.clear();
        let group = &group::by_scenario(&results.runs)[0];
        assert_eq!(texts(durations(group)), ["500/s, 64 shards", "9.50", "0.200"]);
        assert!(shard_times(group).is_none() && balance(group).is_none() && database(group).is_none());
    }
}
