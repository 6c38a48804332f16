//! The report as one self-contained HTML page.

use std::fmt::Write as _;

use crate::results::{Example, Results, Run};

use super::error_bars::error_bars;
use super::findings::findings;
use super::group::{self, Group};
use super::heat_map::{OPERATIONS, WALL, heat_map};
use super::history_plot::history_plots;
use super::latency_plot::{dashed, finding, latency_plot};
use super::markdown::{facts, summary, tables};
use super::number::rate;
use super::reference::Reference;
use super::shard_plot::shard_plot;
use super::timeline_plot::timeline_plot;
use super::verdict::{self, FAIL, PASS, verdict};
use super::{capacity, soak, text};

const STYLE: &str = include_str!("style.css");
/// More courses than this are shown when they are opened.
const COURSES: usize = 4;

/// `report.html`: what `report.md` says, with plots. It loads nothing, runs no script, and follows the reader's choice
/// of light or dark.
pub fn html(results: &Results, earlier: Option<&Results>) -> String {
    html_with_history(results, earlier, &[])
}

/// The same with a plot of each run over these earlier results, whatever their order.
pub fn html_with_history(results: &Results, earlier: Option<&Results>, history: &[Results]) -> String {
    let reference = Reference::december_2025().filter(|_| results.is_beside_december_2025());
    let groups = group::by_scenario(&results.runs);
    let title = text::html(&results.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\
         <title>Load test: {title}</title><style>{STYLE}</style></head>\n<body><header><h1>Load test: {title}</h1>"
    );
    write_verdict(&mut page, results);
    write_facts(&mut page, results);
    page.push_str("</header><main>\n");
    for table in capacity::capacities(results) {
        table.write_html(&mut page);
    }
    for table in summary(results, reference.as_ref()) {
        table.write_html(&mut page);
    }
    write_history(&mut page, &history_plots(history, results));
    write_contents(&mut page, &groups);
    for (place, group) in groups.iter().enumerate() {
        let beside = (results.machine.cores, reference.as_ref());
        write_scenario(&mut page, (place, group), beside, earlier);
    }
    page.push_str("</main></body></html>\n");
    page
}

pub(super) fn write_verdict(page: &mut String, results: &Results) {
    let verdict = verdict(results);
    let (class, sign) = match verdict.word {
        PASS => ("passed", "✓"),
        FAIL => ("failed", "✗"),
        _ => ("partial", "◐"),
    };
    let _ = write!(
        page,
        "<div class=\"verdict {class}\"><p><strong>{sign} {}</strong> {}</p>",
        verdict.word, verdict.sum
    );
    write_list(page, &verdict.reasons, "");
    write_list(page, &verdict.notes, " class=\"notes\"");
    page.push_str("</div>");
    let findings = findings(results);
    if !findings.is_empty() {
        page.push_str("<h2>What the figures say</h2>");
        write_list(page, &findings, " class=\"findings\"");
    }
}

fn write_list(page: &mut String, lines: &[String], class: &str) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(page, "<ul{class}>");
    for line in lines {
        let _ = write!(page, "<li>{}</li>", text::html(line));
    }
    page.push_str("</ul>");
}

fn write_facts(page: &mut String, results: &Results) {
    page.push_str("<dl>");
    for (name, value) in facts(results) {
        let _ = write!(page, "<div><dt>{}</dt><dd>{}</dd></div>", text::html(name), text::html(&value));
    }
    page.push_str("</dl>");
}

fn write_contents(page: &mut String, groups: &[Group<'_>]) {
    if groups.len() < 2 {
        return;
    }
    page.push_str("<nav aria-label=\"Scenarios\">");
    for (place, group) in groups.iter().enumerate() {
        let _ = write!(page, "<a href=\"#s{place}\">{}</a>", text::html(group.scenario));
    }
    page.push_str("</nav>\n");
}

fn write_scenario(
    page: &mut String,
    (place, group): (usize, &Group<'_>),
    (cores, reference): (usize, Option<&Reference>),
    earlier: Option<&Results>,
) {
    let _ = writeln!(page, "<section id=\"s{place}\"><h2>{}</h2>", text::html(group.scenario));
    write_latency_plots(page, group, reference);
    if let Some(bars) = error_bars(group) {
        write_figure(page, "Errors by kind, all runs", &bars);
    }
    for run in &group.runs {
        for (kind, example) in &run.examples {
            write_example(page, run, (kind, example));
        }
    }
    for table in tables(group, (cores, reference), earlier) {
        table.write_html(page);
    }
    write_heat_maps(page, group);
    for plot in group.runs.iter().flat_map(|run| soak::plots(run)) {
        let _ = writeln!(page, "<div class=\"scroll\">{plot}</div>");
    }
    write_courses(page, group);
    page.push_str("</section>\n");
}

/// Latency over the rate, and over the number of shards where that was tried.
pub(super) fn write_latency_plots(page: &mut String, group: &Group<'_>, reference: Option<&Reference>) {
    let sweeps = group.sweeps();
    for series in group.series().iter().filter(|series| {
        // Over one rate there is nothing to draw of a day, whose rate goes up and down.
        !group.is_day() && (sweeps.is_empty() || series.runs.len() > 1)
    }) {
        let dashed = dashed(series, reference).unwrap_or_default();
        let caption = format!("{}: {}. {dashed}", series.name(), finding(series).to_lowercase());
        write_figure(page, &caption, &latency_plot(series, reference));
    }
    for (asked, runs) in &sweeps {
        let caption = format!("{} at {}/s: latency over number of shards.", group.scenario, rate(*asked));
        write_figure(page, &caption, &shard_plot(runs));
    }
}

/// The first failure or wrong answer of a kind, with its request and answer.
fn write_example(page: &mut String, run: &Run, (kind, example): (&str, &Example)) {
    let (name, kind) = (text::html(&run.name), text::html(&verdict::words(kind)));
    let _ = write!(
        page,
        "<details class=\"example\"><summary>{name}: the first {kind}, {}</summary>",
        text::html(&text::shortened(&example.detail, 200))
    );
    for part in [&example.request, &example.answer].into_iter().filter(|part| !part.is_empty()) {
        let _ = write!(page, "<pre>{}</pre>", text::html(part));
    }
    page.push_str("</details>\n");
}

/// The maps of the hardest run; the tables say how even the others were.
pub(super) fn write_heat_maps(page: &mut String, group: &Group<'_>) {
    let Some(run) = group.hardest() else { return };
    for (title, measure) in [("Operations per shard", &OPERATIONS), ("Wall time per shard", &WALL)] {
        if let Some(map) = heat_map(run, measure) {
            write_figure(page, &format!("{title}, run {}", run.name), &map);
        }
    }
}

pub(super) fn write_courses(page: &mut String, group: &Group<'_>) {
    let plots: Vec<String> = group.runs.iter().filter_map(|run| timeline_plot(run)).collect();
    if plots.is_empty() {
        return;
    }
    let open = if plots.len() > COURSES { "" } else { " open=\"open\"" };
    let _ = write!(
        page,
        "<details{open}><summary>Course of each run: percentiles, rate and cores by second ({})</summary><div class=\"courses\">",
        plots.len()
    );
    for plot in plots {
        let _ = writeln!(page, "<div class=\"scroll\">{plot}</div>");
    }
    page.push_str("</div></details>\n");
}

fn write_history(page: &mut String, plots: &[String]) {
    if plots.is_empty() {
        return;
    }
    page.push_str("<h2>History</h2><p class=\"note\">Each result has a mark; a cross is a run that failed.</p><div class=\"courses\">");
    for plot in plots {
        let _ = writeln!(page, "<div class=\"scroll\">{plot}</div>");
    }
    page.push_str("</div>\n");
}

fn write_figure(page: &mut String, caption: &str, svg: &str) {
    let caption = text::html(caption);
    let _ = writeln!(
        page,
        "<figure><figcaption>{caption}</figcaption><div class=\"scroll\">{svg}</div></figure>"
    );
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::sample;
    use crate::results::{Latency, Run};

    /// Every element is closed by its own end, every `<` begins one, every attribute is quoted.
    pub(in crate::report) fn assert_well_formed(page: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
        while let Some(start) = rest.find('<') {
            assert!(
                !rest[..start].contains('>') || open.last() == Some(&"style"),
                "stray >: {}",
                &rest[..start]
            );
            let end = start + rest[start..].find('>').expect("a tag ends");
            let tag = &rest[start + 1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "quotes: {tag}");
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).expect("a name");
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "{open:?}");
    }

    fn assert_sound(page: &str) {
        assert_well_formed(page);
        sample::assert_numbers(page);
        assert!(
            !page.contains("<script") && !page.contains("http://") && !page.contains("src="),
            "not self-contained"
        );
    }

    #[test]
    fn a_full_report_is_well_formed_and_self_contained() {
        let earlier = sample::small();
        let page = html(&sample::full(), Some(&earlier));
        assert_sound(&page);
        for part in [
            "class=\"verdict failed\"",
            "no failure up to 4,000/s",
            "then → now",
            "Dec 2025",
            "class=\"heat\"",
        ] {
            assert!(page.contains(part), "{part}");
        }
        if let Some(directory) = std::env::var_os("SYMBOLON_SAMPLE_REPORT") {
            let directory = std::path::Path::new(&directory);
            std::fs::write(directory.join("report.html"), &page).unwrap();
            std::fs::write(
                directory.join("report.md"),
                crate::report::markdown(&sample::full(), Some(&earlier)),
            )
            .unwrap();
        }
    }

    #[test]
    fn hostile_text_stays_text_everywhere() {
        let hostile = "\"><script>alert('1')</script>&<!--";
        let mut results = sample::small();
        results.title = hostile.to_owned();
        results.partial = Some(hostile.to_owned());
        results.started = hostile.to_owned();
        results.provider.issuer = hostile.to_owned();
        results.machine.processor = hostile.to_owned();
        let run = &mut results.runs[0];
        run.name = hostile.to_owned();
        run.scenario = hostile.to_owned();
        run.first_wrong = Some(hostile.to_owned());
        run.failure_kinds = [(hostile.to_owned(), 1)].into();
        run.wrong_kinds = [(hostile.to_owned(), 1)].into();
        run.generator_limit = Some(hostile.to_owned());
        run.thresholds[0].name = hostile.to_owned();
        run.thresholds[0].limit = hostile.to_owned();
        let server = run.server.as_mut().unwrap();
        server.stores[0].kind = hostile.to_owned();
        server.caches = [(hostile.to_owned(), crate::results::CacheFigures { hits: 1, misses: 0 })].into();
        server.signatures = [(hostile.to_owned(), 1)].into();
        assert_sound(&html(&results, Some(&results)));
    }

    #[test]
    fn little_and_nothing_are_reports_too() {
        let mut results = sample::small();
        assert_sound(&html(&results, None));
        results.runs[0].server = None;
        results.runs[0].timeline.clear();
        assert_sound(&html(&results, None));
        results.runs[0] = Run {
            latency: Latency { mean_ms: Some(f64::NAN), ..Latency::default() },
            rate: f64::NAN,
            ..Run::default()
        };
        assert_sound(&html(&results, Some(&results)));
        results.runs.clear();
        let page = html(&results, None);
        assert_sound(&page);
        assert!(page.contains("There is no run."), "{page}");
    }
}
