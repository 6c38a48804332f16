//! The page of a load test that goes on: its parts, drawn with the report's own plots and tables.

use std::fmt::Write as _;

use crate::results::{Latency, Run};
use crate::tally::End;
use crate::watch::{Course, Current};

use super::group;
use super::html::{write_courses, write_heat_maps, write_latency_plots, write_verdict};
use super::markdown::{summary, tables};
use super::number::{NONE, count, figure, latency, rate, share};
use super::table::{Cell, Table};
use super::text;
use super::timeline_plot::timeline_plot;
use super::verdict::{self, of_run};

/// The sections that change all the time. They are always there, so that the script finds where each belongs; the one of the
/// runs that are over comes after them.
const RUNNING: [&str; 4] = ["state", "figures", "plot", "tables"];

/// The report's style, and what this page has besides.
pub(crate) fn style() -> String {
    concat!(include_str!("style.css"), include_str!("live.css")).to_owned()
}

/// The whole document. It loads nothing but the stream of its parts.
pub(crate) fn page(title: &str, parts: &str, script: &str) -> String {
    let title = text::html(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\
         <title>Load test under way: {title}</title><style>{}</style></head>\n<body><header><h1>Load test: {title}</h1>\
         <noscript><p class=\"note\">Without JavaScript this page shows the moment at which it was loaded. Reload it for \
         a newer one.</p></noscript><p id=\"connection\" class=\"bad\" role=\"status\"></p></header>\
         <main id=\"course\">{parts}</main><script>{script}</script></body></html>\n",
        style()
    )
}

/// What changes every second: each part is a section with an id of its own.
pub(crate) fn running(course: &Course) -> String {
    let mut page = String::with_capacity(32 * 1024);
    for id in RUNNING {
        let _ = write!(page, "<section id=\"{id}\">");
        match (id, &course.current, &course.end) {
            ("state", current, _) => write_state(&mut page, course, current.as_ref()),
            ("figures", Some(current), _) => write_figures(&mut page, current),
            ("plot", Some(current), _) => write_plot(&mut page, current),
            ("tables", Some(current), _) => write_tables(&mut page, current),
            _ => {}
        }
        page.push_str("</section>\n");
    }
    page
}

/// Which run it is, what comes next, and how it ended.
fn write_state(page: &mut String, course: &Course, current: Option<&Current>) {
    let (begun, of) = (course.finished.len() + 1, course.planned.len());
    let which = if of > 1 { format!("Run {begun} of {of}: ") } else { String::new() };
    if let Some(end) = &course.end {
        match &end.results {
            Some(results) => write_verdict(page, results),
            None => page.push_str("<h2>It is over</h2>"),
        }
        let _ = write!(page, "<p class=\"end\">{}</p>", text::html(&end.says));
    } else if let Some(current) = current {
        let left = current.whole.saturating_sub(current.now).as_secs();
        let _ = write!(
            page,
            "<h2>{}{}</h2><p>{}, {left} s left</p>",
            text::html(&which),
            text::html(&current.run.name),
            current.part()
        );
    } else {
        let doing = if course.doing.is_empty() { "It begins" } else { &course.doing };
        let _ = write!(page, "<h2>{}</h2>", text::html(doing));
    }
    if let Some(next) = course.next().filter(|_| course.end.is_none()) {
        let _ = write!(page, "<p class=\"note\">Next: {}</p>", text::html(next));
    }
    for note in &course.notes {
        let _ = write!(page, "<p class=\"bad\">{}</p>", text::html(note));
    }
}

/// The figures that are looked at most, large.
fn write_figures(page: &mut String, current: &Current) {
    let run = &current.run;
    let last = current.last.unwrap_or_default();
    let answered = last.answered as f64 / last.seconds().max(0.001);
    let bad = run.wrong + run.failures + run.missed;
    let arrivals = run.requests + run.missed;
    let of_latency = |value: Option<f64>| match latency(&run.latency, value) {
        none if none == NONE => none,
        ms => format!("{ms} ms"),
    };
    let asked = current
        .rate_now()
        .map_or_else(|| "as fast as it goes".to_owned(), |asked| format!("{}/s", rate(asked.round())));
    page.push_str("<dl class=\"figures\">");
    let mut write = |name: &str, value: &str, is_bad: bool| {
        let class = if is_bad { " class=\"bad\"" } else { "" };
        let _ = write!(page, "<div><dt>{name}</dt><dd{class}>{}</dd></div>", text::html(value));
    };
    write("asked for now", &asked, false);
    write("answered in the last second", &format!("{}/s", rate(answered.round())), false);
    write("P50 of the plateau", &of_latency(run.latency.p50_ms), false);
    write("P95", &of_latency(run.latency.p95_ms), false);
    write("P99", &of_latency(run.latency.p99_ms), false);
    write("P99.9", &of_latency(run.latency.p999_ms), false);
    write("longest", &of_latency(run.latency.max_ms), false);
    write("wrong, failed or missed", &format!("{} ({})", count(bad), share(bad, arrivals)), bad > 0);
    page.push_str("</dl>");
}

fn write_plot(page: &mut String, current: &Current) {
    let Some(plot) = timeline_plot(&current.run) else {
        page.push_str("<p class=\"note\">The course is drawn from the first second on.</p>");
        return;
    };
    let _ =
        write!(page, "<figure><figcaption>Course of the run</figcaption><div class=\"scroll\">{plot}</div>");
    if current.seconds_a_point > 1 {
        let seconds = current.seconds_a_point;
        let _ = write!(
            page,
            "<p class=\"note\">Each point stands for {seconds} s and has the percentiles of all their requests.</p>"
        );
    }
    page.push_str("</figure>");
}

fn write_tables(page: &mut String, current: &Current) {
    page.push_str("<div class=\"tables\">");
    for table in
        [counts(current), kinds(&current.run), errors(&current.run), thresholds(current), generator(current)]
            .into_iter()
            .flatten()
    {
        table.write_html(page);
    }
    page.push_str("</div>");
}

/// How arrivals ended, in the plateau and beside it.
fn counts(current: &Current) -> Option<Table> {
    use crate::watch::Part;
    let mut table =
        Table::new("Arrivals so far", &["", "right", "wrong", "failed", "missed", "right per second"]);
    for (part, name) in [(Part::Plateau, "plateau"), (Part::Besides, "warm-up and ramps")] {
        let counts = &current.totals.of(part).counts;
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(End::ALL.map(|end| match (end, counts.of(end)) {
            (End::Right, right) => count(right).into(),
            (_, 0) => "0".into(),
            (_, bad) => Cell::judged(count(bad), false),
        }));
        let is_plateau = part == Part::Plateau && current.run.requests > 0;
        row.push(if is_plateau { rate(current.run.achieved_rate.round()).into() } else { NONE.into() });
        table.rows.push(row);
    }
    table.finished()
}

fn kinds(run: &Run) -> Option<Table> {
    let head = ["kind", "right", "wrong", "failed", "missed"];
    let title = if run.day.is_some() { "Scenarios of the day" } else { "Kinds of request" };
    let mut table = Table::new(title, &head);
    let bad = |number: u64| if number == 0 { "0".into() } else { Cell::judged(count(number), false) };
    table.rows = run
        .kinds
        .iter()
        .map(|kind| {
            let mut row: Vec<Cell> = vec![kind.name.as_str().into(), count(kind.right).into()];
            row.extend([kind.wrong, kind.failures, kind.missed].map(bad));
            row
        })
        .collect();
    table.finished()
}

fn errors(run: &Run) -> Option<Table> {
    let mut table = Table::new("What went wrong", &["kind", "", "number"]);
    table.text_columns = 2;
    for (outcome, kinds) in [
        ("wrong answer", &run.wrong_kinds),
        ("no answer", &run.failure_kinds),
        ("nobody asked for it", &run.unasked_kinds),
    ] {
        table.rows.extend(kinds.iter().map(|(kind, number)| {
            vec![verdict::words(kind).into(), outcome.into(), Cell::judged(count(*number), false)]
        }));
    }
    table.finished()
}

/// How thresholds stand by the figures so far.
fn thresholds(current: &Current) -> Option<Table> {
    let mut table = Table::new("Thresholds so far", &["figure", "limit", "so far", ""]);
    table.text_columns = 2;
    table.rows = current
        .thresholds()
        .iter()
        .map(|threshold| {
            let (value, verdict) = match threshold.value {
                None => (NONE.into(), Cell::from("not measured yet")),
                Some(value) if threshold.name.ends_with("_ms") => {
                    (latency(&current.run.latency, Some(value)), held(threshold.held))
                }
                Some(value) => (figure(value), held(threshold.held)),
            };
            vec![threshold.name.as_str().into(), threshold.limit.as_str().into(), value.into(), verdict]
        })
        .collect();
    table.finished()
}

fn held(held: bool) -> Cell {
    Cell::judged(if held { "✓ holds" } else { "✗ does not hold" }.into(), held)
}

/// What the generator is doing, and at which limits of its own it is.
fn generator(current: &Current) -> Option<Table> {
    let (now, run) = (&current.generator, &current.run);
    let most = run.connection_use.as_ref().map_or(0, |used| used.most_in_use);
    let mut table = Table::new("Generator", &["", ""]);
    let cores = |cores: Option<f64>| cores.map_or_else(|| NONE.to_owned(), figure);
    let mut row = |name: &str, value: String| table.rows.push(vec![name.into(), value.into()]);
    row(
        "requests in flight",
        format!("{} of {} at most", count(now.in_flight as u64), count(now.bound as u64)),
    );
    row("most in flight, looked at every second", count(most as u64));
    row("the open connections carry", format!("{} at once", count(now.workers as u64)));
    row("arrivals waiting for a connection", count(now.waiting as u64));
    row("sent late at worst, in ms", figure(run.generator_lag_ms));
    row("cores of this process in the last second", cores(current.generator_cores));
    row("cores of the provider", cores(current.last.and_then(|second| second.server_cores)));
    row("provider's CPU per right answer, in µs", cores(run.server_cpu_us_per_request));
    for limit in current.limits() {
        table.rows.push(vec!["at its limit".into(), Cell::judged(limit, false)]);
    }
    table.finished()
}

/// What changes when a run ends: the section of the runs that are over.
pub(crate) fn finished(course: &Course) -> String {
    let mut page = String::from("<section id=\"finished\">");
    if !course.finished.is_empty() {
        write_finished(&mut page, course);
    }
    page.push_str("</section>\n");
    page
}

fn write_finished(page: &mut String, course: &Course) {
    page.push_str("<h2>Runs that are over</h2>");
    overview(&course.finished).write_html(page);
    let results = course.end.as_ref().and_then(|end| end.results.as_ref());
    for table in results.map(|results| summary(results, None)).unwrap_or_default() {
        table.write_html(page);
    }
    for group in group::by_scenario(&course.finished) {
        let _ = write!(page, "<h3>{}</h3>", text::html(group.scenario));
        if group.runs.len() > 1 {
            write_latency_plots(page, &group, None);
        }
        for table in results.map(|of| tables(&group, (of.machine.cores, None), None)).unwrap_or_default() {
            table.write_html(page);
        }
        write_heat_maps(page, &group);
        write_courses(page, &group);
    }
}

fn overview(runs: &[Run]) -> Table {
    let head = ["run", "verdict", "asked/s", "right/s", "P50 ms", "P99 ms", "wrong", "failed", "missed"];
    let mut table = Table::new("Results", &head);
    table.text_columns = 2;
    let of = |of: &Latency, value: Option<f64>| Cell::from(latency(of, value));
    let bad = |number: u64| if number == 0 { "0".into() } else { Cell::judged(count(number), false) };
    table.rows = runs
        .iter()
        .map(|run| {
            let verdict = if run.probe && !run.passed() { "did not hold" } else { of_run(run) };
            vec![
                run.name.as_str().into(),
                Cell::judged(verdict.into(), run.passed()),
                rate(run.rate).into(),
                rate(run.achieved_rate).into(),
                of(&run.latency, run.latency.p50_ms),
                of(&run.latency, run.latency.p99_ms),
                bad(run.wrong),
                bad(run.failures),
                bad(run.missed),
            ]
        })
        .collect();
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::html::tests::assert_well_formed;
    use super::*;
    use crate::report::sample;
    use crate::results::{Results, Second};
    use crate::tally::{GeneratorNow, Lately, Tally};
    use crate::watch::Told;

    const HOSTILE: &str = "\"><script>alert('1')</script>&<!--";

    /// A run of a minute with one right and one missed answer in its first second.
    fn current(name: &str) -> Current {
        let run = Run { name: name.into(), rate: 10.0, seconds: 60.0, ..sample::small().runs.remove(0) };
        let run = Run { timeline: Vec::new(), ..run };
        let rules = ["p99_ms<100", "failure_share<=0.001"].map(|rule| rule.parse().unwrap());
        let mut current = Current::new(run, rules.to_vec(), (Duration::from_secs(60), 1));
        let (mut tally, mut lately) = (Tally::watched().unwrap(), Lately::new().unwrap());
        tally.right("valid", Duration::from_millis(2), crate::scenario::Right::default());
        tally.missed("", Duration::from_secs(1));
        lately.take_from(&mut tally, true).unwrap();
        lately.generator = GeneratorNow {
            in_flight: 4,
            bound: 4,
            waiting: 2,
            refused: Some(HOSTILE.into()),
            ..GeneratorNow::default()
        };
        let second = Second { at: 1, answered: 1, errors: 1, ..Second::default() };
        current.second(&Told { now: Duration::from_secs(1), second, lately: &lately, generator_cpu: None });
        current
    }

    fn whole(course: &Course) -> String {
        let parts = format!("{}{}", running(course), finished(course));
        let page = page(&course.title, &parts, "");
        assert_well_formed(&page);
        sample::assert_numbers(&page);
        assert!(!page.contains("<script>alert"), "{page}");
        page
    }

    #[test]
    fn a_course_says_what_goes_on_and_what_comes_next() {
        let course = Course {
            title: HOSTILE.into(),
            planned: ["first", "second", "third"].map(String::from).to_vec(),
            finished: vec![Run { name: "first".into(), ..sample::small().runs.remove(0) }],
            current: Some(current(HOSTILE)),
            notes: vec![HOSTILE.into()],
            ..Course::default()
        };
        let page = whole(&course);
        for part in
            ["Run 2 of 3", "Next: third", "1 (50.0 %)", "not measured yet", "✗ does not hold", "at its limit"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("all 4 requests that may be in flight are, and 2 more wait"), "{page}");
        assert!(page.contains("Course of the run") && page.contains("Runs that are over"), "{page}");
    }

    #[test]
    fn before_the_first_run_and_after_the_last_there_is_a_page_too() {
        let mut course = Course { doing: "A provider is made ready".into(), ..Course::default() };
        assert!(whole(&course).contains("A provider is made ready"));
        assert!(whole(&Course::default()).contains("It begins"));
        let results = Results { partial: Some(HOSTILE.into()), ..sample::full() };
        course.finished.clone_from(&results.runs);
        course.end = Some(crate::watch::Ending { results: Some(results), says: HOSTILE.into() });
        let page = whole(&course);
        assert!(page.contains("class=\"verdict partial\"") && page.contains("Highest rate"), "{page}");
        course.end = Some(crate::watch::Ending { results: None, says: "It could not run.".into() });
        assert!(whole(&course).contains("It could not run."));
    }
}
