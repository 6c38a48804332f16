//! The report as Markdown.

use std::fmt::Write as _;

use crate::results::{Machine, Results};

use super::group::{self, Group};
use super::number::count;
use super::reference::Reference;
use super::table::Table;
use super::verdict::verdict;
use super::{capacity, client_tables, comparison, server_tables, text};

/// `report.md`: the verdict, the limits, and one section of tables per scenario, beside December 2025 and beside
/// `earlier` where that has runs of the same names.
pub fn markdown(results: &Results, earlier: Option<&Results>) -> String {
    let reference = Reference::december_2025();
    let mut page = format!("# Load test: {}\n\n", text::markdown(&results.title));
    write_verdict(&mut page, results);
    for (name, value) in facts(results) {
        let _ = writeln!(page, "- {name}: {}", text::markdown(&value));
    }
    page.push('\n');
    if !results.capacities.is_empty() {
        page.push_str("## Capacity\n\n");
    }
    for table in capacity::capacities(results) {
        table.write_markdown(&mut page);
    }
    page.push_str("## Summary\n\n");
    if let Some(table) = client_tables::limits(results, reference.as_ref()) {
        table.write_markdown(&mut page);
    }
    for group in group::by_scenario(&results.runs) {
        let _ = write!(page, "## Scenario {}\n\n", text::markdown(group.scenario));
        for table in tables(&group, reference.as_ref(), earlier) {
            table.write_markdown(&mut page);
        }
    }
    page
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
pub(super) fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let (machine, provider) = (&results.machine, &results.provider);
    let software = provider.software.as_deref().unwrap_or("software unknown");
    let algorithm = provider
        .algorithm
        .as_ref()
        .map_or_else(String::new, |algorithm| format!(", signing with {algorithm}"));
    vec![
        ("Started", results.started.clone()),
        ("Machine", described(machine)),
        ("Provider", format!("{}: {software}{algorithm}", provider.issuer)),
    ]
}

fn described(machine: &Machine) -> String {
    if machine == &Machine::default() {
        return "k6 does not say".to_owned();
    }
    let Machine { processor, cores, memory_mib, system } = machine;
    let plural = if *cores == 1 { "" } else { "s" };
    format!("{processor}, {cores} core{plural}, {} MiB, {system}", count(*memory_mib))
}

/// Everything that is said of a scenario, in the order of reading.
pub(super) fn tables(
    group: &Group<'_>,
    reference: Option<&Reference>,
    earlier: Option<&Results>,
) -> Vec<Table> {
    let mut tables: Vec<Table> = client_tables::latency(group).into_iter().collect();
    tables.extend(reference.into_iter().flat_map(|reference| comparison::with_reference(group, reference)));
    tables.extend(earlier.and_then(|earlier| comparison::with_earlier(group, earlier)));
    tables.extend(server_tables::durations(group));
    tables.extend(server_tables::shard_times(group));
    tables.extend(server_tables::balance(group));
    tables.extend(server_tables::database(group));
    tables.extend(client_tables::schedules(group));
    tables.extend(client_tables::thresholds(group));
    tables.extend(client_tables::error_kinds(group));
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::results::Run;

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
            page.starts_with("# Load test: suite\n\n**Partial**: 1 run, 90,000 requests: 0 wrong, 0 failed, 0 missed.\n\n- Not everything was run: interrupted\n"),
            "{page}"
        );
        assert!(page.contains("- Machine: EPYC, 2 cores, 8,192 MiB, Linux\n"), "{page}");
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
        results.runs = vec![Run { p50_ms: f64::NAN, max_ms: f64::INFINITY, ..Run::default() }];
        let page = markdown(&results, Some(&results));
        sample::assert_numbers(&page);
    }
}
