//! Latency over the rate that was asked for, with the limit and the curve of December 2025.

use std::fmt::Write as _;

use crate::results::Run;

use super::group::{Series, clean, label, offered};
use super::number::{self, rate};
use super::plot::{self, Frame, Scale};
use super::reference::{Reference, Row};
use super::text;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 380.0;
const FRAME: Frame = Frame { left: 62.0, top: 42.0, right: 836.0, bottom: 330.0 };

/// A percentile: its class and name, and how it is read of both sides.
pub(super) struct Percentile {
    /// In the style sheet.
    pub(super) class: &'static str,
    /// As it is read.
    pub(super) name: &'static str,
    /// In a run of ours.
    pub(super) ours: fn(&Run) -> Option<f64>,
    reference: fn(&Row) -> Option<f64>,
}

/// What is drawn.
pub(super) const PERCENTILES: [Percentile; 3] = [
    Percentile { class: "p50", name: "P50", ours: |run| run.latency.p50_ms, reference: |row| row.client.p50 },
    Percentile { class: "p95", name: "P95", ours: |run| run.latency.p95_ms, reference: |row| row.client.p95 },
    Percentile { class: "p99", name: "P99", ours: |run| run.latency.p99_ms, reference: |row| row.client.p99 },
];

/// What a series says of its limit, in one sentence.
pub(super) fn finding(series: &Series<'_>) -> String {
    match (series.limit(), series.first_failing()) {
        (Some(run), None) => format!("No failure up to {}/s, the highest rate tried", rate(offered(run))),
        (Some(run), Some(failing)) => {
            format!("No failure up to {}/s; failure from {}/s", rate(offered(run)), rate(failing))
        }
        (None, Some(failing)) => format!("Failure from {}/s, the lowest rate tried", rate(failing)),
        (None, None) => "No run".to_owned(),
    }
}

/// How many shards the reference's curve had, where it is drawn.
pub(super) fn dashed(series: &Series<'_>, reference: Option<&Reference>) -> Option<String> {
    let run = series.runs.first()?;
    let row = reference?.curve(run.what(), series.shards).into_iter().next()?;
    let shards = row.shards.map_or_else(String::new, |shards| format!(", {shards} shards"));
    Some(format!("Dashed: December 2025{shards}."))
}

/// The plot, as SVG.
pub(super) fn latency_plot(series: &Series<'_>, reference: Option<&Reference>) -> String {
    let runs: Vec<&Run> = series.runs.iter().copied().filter(|run| run.requests > 0).collect();
    let scenario = series.runs.first().map_or("", |run| run.what());
    let curve = reference.map_or_else(Vec::new, |reference| reference.curve(scenario, series.shards));
    let rates = series.runs.iter().map(|run| offered(run)).chain(curve.iter().map(|row| row.rate));
    let x = Scale::linear(rates.fold(0.0, f64::max) * 1.04, (FRAME.left, FRAME.right));
    let ours = runs.iter().flat_map(|run| PERCENTILES.map(|percentile| (percentile.ours)(run))).flatten();
    let theirs =
        curve.iter().flat_map(|row| PERCENTILES.map(|percentile| (percentile.reference)(row))).flatten();
    let y = Scale::logarithmic(ours.chain(theirs), (FRAME.bottom, FRAME.top));

    let description = format!("{}: latency over rate. {}.", series.name(), finding(series));
    let mut svg = plot::open(WIDTH, HEIGHT, &description);
    write_failing_part(&mut svg, series, &x);
    FRAME.write_y(&mut svg, &y, 0.0);
    FRAME.write_x(&mut svg, &x, 8.0);
    write_titles(&mut svg);
    write_curves(&mut svg, &runs, &curve, (&x, &y));
    for run in &runs {
        write_marks(&mut svg, run, x.at(offered(run)), &y);
    }
    write_limit(&mut svg, series, &x);
    svg.push_str("</svg>");
    svg
}

fn write_titles(svg: &mut String) {
    let middle = (FRAME.left + FRAME.right) / 2.0;
    let _ = write!(
        svg,
        "<text x=\"8\" y=\"12\">Latency in ms (logarithmic)</text>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">Requests per second asked for</text>",
        HEIGHT - 10.0
    );
}

/// Shades the rates from the first failing one on.
fn write_failing_part(svg: &mut String, series: &Series<'_>, x: &Scale) {
    let Some(failing) = series.first_failing() else { return };
    let left = x.at(failing);
    let (top, height) = (FRAME.top, FRAME.bottom - FRAME.top);
    let _ = write!(
        svg,
        "<rect class=\"failing\" x=\"{left:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{height}\"/>",
        (FRAME.right - left).max(3.0)
    );
}

/// Marks the highest rate without failure across the plot.
fn write_limit(svg: &mut String, series: &Series<'_>, x: &Scale) {
    let Some(run) = series.limit() else { return };
    let at = x.at(offered(run));
    let tried = if series.first_failing().is_none() { " (highest tried)" } else { "" };
    let _ = write!(
        svg,
        "<path class=\"limit\" d=\"M{at:.1} {:.1}V{}\"/><text class=\"strong\" x=\"{:.1}\" y=\"33\" text-anchor=\"{}\">\
         no failure up to {}/s{tried}</text>",
        FRAME.top - 4.0,
        FRAME.bottom,
        if at > 400.0 { at + 4.0 } else { at - 4.0 },
        if at > 400.0 { "end" } else { "start" },
        rate(offered(run))
    );
}

/// All lines, ours whole and the reference's dashed, with their names at the right ends.
fn write_curves(svg: &mut String, runs: &[&Run], curve: &[&Row], (x, y): (&Scale, &Scale)) {
    let mut names: Vec<(f64, f64, String, &str)> = Vec::new();
    for percentile in &PERCENTILES {
        let points: Vec<(f64, f64)> = curve
            .iter()
            .filter_map(|row| Some((x.at(row.rate), y.at((percentile.reference)(row)?))))
            .collect();
        if let Some((right, height)) = points.last() {
            names.push((*right, *height, format!("{} Dec 2025", percentile.name), percentile.class));
        }
        plot::write_line(svg, points.into_iter(), &format!("{} reference", percentile.class));

        let points: Vec<(f64, f64)> =
            runs.iter().filter_map(|run| Some((x.at(offered(run)), y.at((percentile.ours)(run)?)))).collect();
        if let Some((right, height)) = points.last() {
            names.push((*right, *height, percentile.name.to_owned(), percentile.class));
        }
        plot::write_line(svg, points.into_iter(), percentile.class);
    }
    let heights: Vec<f64> = names.iter().map(|(_, height, _, _)| *height).collect();
    let places = plot::spread(&heights, 15.0, (FRAME.top, FRAME.bottom));
    for ((right, height, name, class), place) in names.iter().zip(places) {
        let weight = if name.len() > 3 { "" } else { " strong" };
        let _ = write!(
            svg,
            "<path class=\"leader\" d=\"M{:.1} {height:.1}L{} {place:.1}\"/>\
             <text class=\"{class}-text{weight}\" x=\"{}\" y=\"{:.1}\">{name}</text>",
            right + 7.0,
            FRAME.right + 12.0,
            FRAME.right + 16.0,
            place + 4.0
        );
    }
}

/// A run's points, each percentile in its own shape; crosses where the run failed.
pub(super) fn write_marks(svg: &mut String, run: &Run, at: f64, y: &Scale) {
    for percentile in &PERCENTILES {
        let Some(value) = (percentile.ours)(run) else { continue };
        let height = y.at(value);
        let shape = match (clean(run), percentile.class) {
            (false, _) => format!("M{:.1} {:.1}l10 10m0 -10l-10 10", at - 5.0, height - 5.0),
            (true, "p50") => format!("M{:.1} {height:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", at - 4.0),
            (true, "p95") => format!("M{:.1} {:.1}h8v8h-8z", at - 4.0, height - 4.0),
            (true, _) => format!("M{at:.1} {:.1}l5 5l-5 5l-5 -5z", height - 5.0),
        };
        let class = if clean(run) { percentile.class } else { "failed" };
        let _ = write!(
            svg,
            "<path class=\"mark {class}\" d=\"{shape}\"><title>{}: {} {} ms{}</title></path>",
            text::html(label(run)),
            percentile.name,
            number::latency(&run.latency, Some(value)),
            if clean(run) { "" } else { ", with failures" }
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    #[test]
    fn the_limit_is_marked_and_failures_are_crossed() {
        let results = sample::full();
        let groups = group::by_scenario(&results.runs);
        let series = &groups[0].series()[0];
        let svg = latency_plot(series, Reference::december_2025().as_ref());
        assert!(svg.contains("no failure up to 4,000/s</text>"), "{svg}");
        assert!(svg.contains("No failure up to 4,000/s; failure from 4,500/s."), "{svg}");
        assert_eq!(svg.matches("class=\"mark failed\"").count(), 3);
        assert_eq!(svg.matches(" reference\"").count(), 3);
        let dashed = dashed(&groups[0].series()[1], Reference::december_2025().as_ref());
        assert_eq!(dashed.unwrap(), "Dashed: December 2025, 64 shards.");
        sample::assert_numbers(&svg);
    }

    #[test]
    fn one_run_alone_and_none_that_counts_are_drawn_too() {
        let results = sample::small();
        let svg = latency_plot(&group::by_scenario(&results.runs)[0].series()[0], None);
        assert!(svg.contains("no failure up to 500/s (highest tried)"), "{svg}");
        let empty = Series { shards: None, runs: Vec::new() };
        let svg = latency_plot(&empty, None);
        assert!(svg.ends_with("</svg>") && !svg.contains("NaN"), "{svg}");
        assert_eq!(finding(&empty), "No run");
    }
}
