//! A figure of each run over many results, oldest first.

use std::fmt::Write as _;

use crate::results::{Results, Run};

use super::number::{count, figure};
use super::plot::{self, Frame, Scale};
use super::text;

const WIDTH: f64 = 590.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 546.0;
const LATENCY: Frame = Frame { left: LEFT, top: 44.0, right: RIGHT, bottom: 154.0 };
const CPU: Frame = Frame { left: LEFT, top: 184.0, right: RIGHT, bottom: 244.0 };

/// The runs of one name, each with the place of its results among all.
struct History<'r> {
    name: &'r str,
    runs: Vec<(usize, &'r str, &'r Run)>,
}

/// A figure: its class in the style sheet, its name, and where it stands.
struct Figure {
    class: &'static str,
    name: &'static str,
    of: fn(&Run) -> Option<f64>,
}

const P50: Figure = Figure { class: "p50", name: "P50", of: |run| run.latency.p50_ms };
const P99: Figure = Figure { class: "p99", name: "P99", of: |run| run.latency.p99_ms };
const CPU_TIME: Figure = Figure { class: "rate", name: "CPU", of: |run| run.server_cpu_us_per_request };

/// The plots, one for each run of the newest results that an earlier one has too.
pub(super) fn history_plots(earlier: &[Results], now: &Results) -> Vec<String> {
    let mut all: Vec<&Results> = earlier.iter().chain([now]).collect();
    // Times in UTC sort as text does.
    all.sort_by(|one, other| one.started.cmp(&other.started));
    let mut names: Vec<&str> = now.runs.iter().filter(|run| !run.probe).map(Run::base_name).collect();
    names.dedup();
    let histories = names.into_iter().map(|name| history(name, &all));
    histories.filter(|history| history.runs.len() > 1).map(|history| plot(&history, all.len())).collect()
}

fn history<'r>(name: &'r str, all: &[&'r Results]) -> History<'r> {
    let runs = all.iter().enumerate().flat_map(|(place, results)| {
        let of = results.runs.iter().filter(move |run| run.base_name() == name && !run.probe);
        of.map(move |run| (place, results.started.as_str(), run))
    });
    History { name, runs: runs.collect() }
}

fn plot(history: &History<'_>, results: usize) -> String {
    let label = format!("{}: latency and CPU time over {} results.", history.name, count(results as u64));
    let mut svg = plot::open(WIDTH, CPU.bottom + 30.0, &label);
    let name = text::html(&text::shortened(history.name, 60));
    let _ = write!(svg, "<text class=\"strong\" x=\"8\" y=\"16\">{name}</text>");
    let x = Scale::linear(results.saturating_sub(1).max(1) as f64, (LEFT, RIGHT));
    let latencies =
        history.runs.iter().flat_map(|(_, _, run)| [run.latency.p50_ms, run.latency.p99_ms]).flatten();
    let y = Scale::logarithmic(latencies, (LATENCY.bottom, LATENCY.top));
    LATENCY.write_y(&mut svg, &y, 0.0);
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">latency in ms</text>", LATENCY.top - 9.0);
    write_figure(&mut svg, history, &P50, (&x, &y));
    write_figure(&mut svg, history, &P99, (&x, &y));
    let most =
        history.runs.iter().filter_map(|(_, _, run)| run.server_cpu_us_per_request).fold(0.0, f64::max);
    if most > 0.0 {
        let y = Scale::rounded(most, 2.0, (CPU.bottom, CPU.top));
        CPU.write_y(&mut svg, &y, 2.0);
        let _ = write!(svg, "<text x=\"8\" y=\"{}\">server CPU µs per request</text>", CPU.top - 9.0);
        write_figure(&mut svg, history, &CPU_TIME, (&x, &y));
    }
    write_times(&mut svg, history);
    svg.push_str("</svg>");
    svg
}

/// A line through the runs, and a mark for each with its time and value; crosses where the run did not pass.
fn write_figure(
    svg: &mut String,
    history: &History<'_>,
    Figure { class, name, of }: &Figure,
    (x, y): (&Scale, &Scale),
) {
    let points: Vec<(f64, f64, &str, f64, &Run)> = history
        .runs
        .iter()
        .filter_map(|(place, started, run)| {
            let value = of(run)?;
            Some((x.at(*place as f64), y.at(value), *started, value, *run))
        })
        .collect();
    plot::write_line(svg, points.iter().map(|(at, height, ..)| (*at, *height)), class);
    for (at, height, started, value, run) in &points {
        let shape = if run.passed() {
            format!("M{:.1} {height:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", at - 3.0)
        } else {
            format!("M{:.1} {:.1}l8 8m0 -8l-8 8", at - 4.0, height - 4.0)
        };
        let (class, failed) = if run.passed() { (*class, "") } else { ("failed", ", FAIL") };
        let _ = write!(
            svg,
            "<path class=\"mark {class}\" d=\"{shape}\"><title>{}: {name} {}{failed}</title></path>",
            text::html(started),
            figure(*value)
        );
    }
    if let Some((_, height, ..)) = points.last() {
        let place = height + 4.0;
        let _ = write!(
            svg,
            "<text class=\"{class}-text strong\" x=\"{}\" y=\"{place:.1}\">{name}</text>",
            RIGHT + 8.0
        );
    }
}

/// The first time and the last.
fn write_times(svg: &mut String, history: &History<'_>) {
    let day = |started: &str| text::html(started.split('T').next().unwrap_or(started));
    let (Some((_, first, _)), Some((_, last, _))) = (history.runs.first(), history.runs.last()) else {
        return;
    };
    let y = CPU.bottom + 22.0;
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{y}\">{}</text><text x=\"{RIGHT}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
        day(first),
        day(last)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_result_has_its_mark_in_the_order_of_time() {
        let now = sample::small();
        let mut earlier: Vec<Results> = vec![sample::small(), sample::small()];
        earlier[0].started = "2026-11-20T08:00:00Z".into();
        earlier[1].started = "2026-11-19T08:00:00Z".into();
        earlier[1].runs[0].wrong = 1;
        let plots = history_plots(&earlier, &now);
        let [plot] = &plots[..] else { panic!("{plots:?}") };
        assert_eq!(plot.matches("class=\"mark ").count(), 9);
        assert_eq!(plot.matches(", FAIL").count(), 3);
        let at = |started: &str| plot.find(&format!("<title>{started}")).unwrap();
        assert!(at("2026-11-19") < at("2026-11-20") && at("2026-11-20") < at("2026-11-21"));
        sample::assert_numbers(plot);
    }

    #[test]
    fn a_run_without_a_past_has_no_plot() {
        assert!(history_plots(&[], &sample::small()).is_empty());
        let mut other = sample::small();
        other.runs[0].name = "userinfo 5/s".into();
        assert!(history_plots(&[other], &sample::small()).is_empty());
    }
}
