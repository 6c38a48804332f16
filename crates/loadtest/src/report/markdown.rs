//! The report as Markdown.

use std::fmt::Write as _;

use crate::results::{Machine, Results};

use super::findings::findings;
use super::group::{self, Group};
use super::number::count;
use super::reference::Reference;
use super::table::Table;
use super::verdict::{self, verdict};
use super::{
    agent_tables, capacity, client_tables, comparison, day_tables, goals, layers, part_tables, replay_tables,
    server_tables, soak, text,
};

/// `report.md`: the verdict, the limits, and one section of tables per scenario, beside December 2025 and beside
/// `earlier` where that has runs of the same names.
pub fn markdown(results: &Results, earlier: Option<&Results>) -> String {
    let reference = Reference::december_2025().filter(|_| results.is_beside_december_2025());
    let mut page = format!("# Load test: {}\n\n", text::markdown(&results.title));
    write_verdict(&mut page, results);
    write_findings(&mut page, results);
    for (name, value) in facts(results) {
        let _ = writeln!(page, "- {}: {}", text::markdown(name), text::markdown(&value));
    }
    page.push('\n');
    if !results.capacities.is_empty() {
        page.push_str("## Capacity\n\n");
    }
    for table in capacity::capacities(results) {
        table.write_markdown(&mut page);
    }
    let summary = summary(results, reference.as_ref());
    if !summary.is_empty() {
        page.push_str("## Summary\n\n");
    }
    for table in summary {
        table.write_markdown(&mut page);
    }
    for group in group::by_scenario(&results.runs) {
        let _ = write!(page, "## Scenario {}\n\n", text::markdown(group.scenario));
        for table in tables(&group, (results.machine.cores, reference.as_ref()), earlier) {
            table.write_markdown(&mut page);
        }
        write_examples(&mut page, &group);
    }
    page
}

/// The first failure or wrong answer of each kind of each run, with its request and answer.
fn write_examples(page: &mut String, group: &Group<'_>) {
    let mut examples =
        group.runs.iter().flat_map(|run| run.examples.iter().map(move |example| (run, example))).peekable();
    if examples.peek().is_some() {
        page.push_str("### The first failure of each kind\n\n");
    }
    for (run, (kind, example)) in examples {
        let (name, kind) = (text::markdown(&run.name), text::markdown(&verdict::words(kind)));
        let detail = text::markdown(&text::shortened(&example.detail, 200));
        let _ = write!(page, "{name}: the first {kind}, {detail}\n\n");
        let parts = [("The request:", &example.request), ("The answer:", &example.answer)];
        for (what, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            let _ = write!(page, "{what}\n\n{}\n", text::markdown_block(part));
        }
    }
}

fn write_findings(page: &mut String, results: &Results) {
    let findings = findings(results);
    if findings.is_empty() {
        return;
    }
    page.push_str("What the figures say:\n\n");
    for finding in findings {
        let _ = writeln!(page, "- {}", text::markdown(&finding));
    }
    page.push('\n');
}

fn write_verdict(page: &mut String, results: &Results) {
    let verdict = verdict(results);
    let _ = write!(page, "**{}**: {}.\n\n", verdict.word, verdict.sum);
    for line in verdict.reasons.iter().chain(&verdict.notes) {
        let _ = writeln!(page, "- {}", text::markdown(line));
    }
    if !verdict.reasons.is_empty() || !verdict.notes.is_empty() {
        page.push('\n');
    }
}

/// What was under load, where and when.
pub(super) fn facts(results: &Results) -> Vec<(&str, String)> {
    let (machine, provider) = (&results.machine, &results.provider);
    let software = provider.software.as_deref().unwrap_or("software unknown");
    let algorithm = provider
        .algorithm
        .as_ref()
        .map_or_else(String::new, |algorithm| format!(", signing with {algorithm}"));
    let mut facts = vec![
        ("Started", results.started.clone()),
        ("Machine", described(machine)),
        ("Provider", format!("{}: {software}{algorithm}", provider.issuer)),
    ];
    facts.extend(results.environment.iter().map(|(name, value)| (name.as_str(), value.clone())));
    facts
}

fn described(machine: &Machine) -> String {
    if machine == &Machine::default() {
        return "k6 does not say".to_owned();
    }
    let Machine { processor, cores, memory_mib, system } = machine;
    let plural = if *cores == 1 { "" } else { "s" };
    format!("{processor}, {cores} core{plural}, {} MiB, {system}", count(*memory_mib))
}

/// What is said of all scenarios together.
pub(super) fn summary(results: &Results, reference: Option<&Reference>) -> Vec<Table> {
    let tables = [
        client_tables::limits(results, reference),
        goals::by_shards(results),
        // A single rate says nothing of the others.
        goals::recommendations(results).filter(|_| results.runs.len() > 1),
    ];
    tables.into_iter().flatten().collect()
}

/// Everything that is said of a scenario, in the order of reading; the machine has so many cores.
pub(super) fn tables(
    group: &Group<'_>,
    (cores, reference): (usize, Option<&Reference>),
    earlier: Option<&Results>,
) -> Vec<Table> {
    let mut tables: Vec<Table> = client_tables::latency(group).into_iter().collect();
    tables.extend(day_tables::scenarios(group));
    tables.extend(day_tables::journeys(group));
    tables.extend(day_tables::storms(group));
    tables.extend(soak::tables(group));
    tables.extend(part_tables::kinds(group));
    tables.extend(part_tables::steps(group));
    tables.extend(replay_tables::lines(group));
    tables.extend(layers::layers(group, cores));
    tables.extend(part_tables::parts(group));
    tables.extend(reference.into_iter().flat_map(|reference| comparison::with_reference(group, reference)));
    tables.extend(earlier.and_then(|earlier| comparison::with_earlier(group, earlier)));
    tables.extend(server_tables::durations(group));
    tables.extend(part_tables::cpu(group));
    tables.extend(server_tables::shard_times(group));
    tables.extend(server_tables::balance(group));
    tables.extend(server_tables::database(group));
    tables.extend(client_tables::schedules(group));
    tables.extend(agent_tables::agents(group));
    tables.extend(part_tables::totals(group));
    tables.extend(client_tables::thresholds(group));
    tables.extend(client_tables::error_kinds(group));
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::results::{Example, Latency, Run};

    #[test]
    fn every_row_has_as_many_cells_as_its_head() {
        let page = markdown(&sample::full(), Some(&sample::small()));
        let mut columns = 0;
        for line in page.lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            assert!(cells == 0 || columns == 0 || cells == columns, "{line}");
            columns = cells;
        }
        sample::assert_numbers(&page);
    }

    #[test]
    fn a_partial_report_is_marked_at_the_top() {
        let mut results = sample::small();
        results.partial = Some("interrupted".to_owned());
        let page = markdown(&results, None);
        assert!(
            page.starts_with("# Load test: suite\n\n**PARTIAL**: 1 run, 90,000 requests: 0 wrong, 0 failed, 0 missed.\n\n- Not everything was run: interrupted\n"),
            "{page}"
        );
        assert!(page.contains("- Machine: EPYC, 2 cores, 8,192 MiB, Linux\n"), "{page}");
    }

    #[test]
    fn a_summary_without_a_table_has_no_heading() {
        // Of a day there is nothing to sum up.
        assert!(!markdown(&sample::day(), None).contains("## Summary"));
        assert!(markdown(&sample::small(), None).contains("## Summary\n\n### "));
    }

    #[test]
    fn the_first_failure_of_each_kind_has_its_request_and_answer() {
        let mut results = sample::full();
        let page = markdown(&results, None);
        let told = "exchange 3000/s, 8 shards: the first scope, openid &lt;b&gt; instead of openid\n\n\
                    The request:\n\n    POST /token HTTP/1.1\n\nThe answer:\n\n    HTTP/1.1 200 OK\n\n";
        assert!(page.contains(&format!("### The first failure of each kind\n\n{told}")), "{page}");
        let run = results.runs.iter_mut().find(|run| !run.examples.is_empty()).unwrap();
        let unanswered = Example { detail: "by the peer".to_owned(), ..Example::default() };
        run.examples.insert("connection_reset".to_owned(), unanswered);
        let page = markdown(&results, None);
        assert!(
            page.contains("exchange 3000/s, 8 shards: the first connection reset, by the peer\n\n"),
            "{page}"
        );
        assert!(page.contains(told), "{page}");
    }

    #[test]
    fn hostile_names_break_no_table() {
        let mut results = sample::small();
        results.runs[0].name = "x | y\n# z <script>".to_owned();
        let page = markdown(&results, None);
        assert!(!page.contains("<script>") && !page.contains("\n# z"), "{page}");
    }

    #[test]
    fn nothing_measured_is_no_panic() {
        let mut results = sample::small();
        results.runs = vec![Run {
            latency: Latency { p50_ms: Some(f64::NAN), max_ms: Some(f64::INFINITY), ..Latency::default() },
            ..Run::default()
        }];
        let page = markdown(&results, Some(&results));
        sample::assert_numbers(&page);
    }
}
