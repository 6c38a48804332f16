//! The course of one run: percentiles, rate and the provider's cores, one above the other over the same seconds.

use std::fmt::Write as _;

use crate::results::{Run, Second};

use super::group::label;
use super::number::count;
use super::plot::{self, Frame, Scale};
use super::text;

const WIDTH: f64 = 590.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 546.0;
const LATENCY: Frame = Frame { left: LEFT, top: 44.0, right: RIGHT, bottom: 154.0 };
const RATE: Frame = Frame { left: LEFT, top: 184.0, right: RIGHT, bottom: 234.0 };
const CORES: Frame = Frame { left: LEFT, top: 264.0, right: RIGHT, bottom: 304.0 };

/// The plot, as SVG; none where the run has no course.
pub(super) fn timeline_plot(run: &Run) -> Option<String> {
    let last = run.timeline.last()?;
    let most_cores = run.timeline.iter().filter_map(|second| second.server_cores).reduce(f64::max);
    let lowest = if most_cores.is_some() { CORES } else { RATE };
    let x = Scale::linear(f64::from(last.at), (LEFT, RIGHT));
    let errors: u64 = run.timeline.iter().map(|second| second.errors).sum();
    let what = format!("{}: latency, rate and cores by second, {} errors.", run.name, count(errors));

    let mut svg = plot::open(WIDTH, lowest.bottom + 40.0, &what);
    let _ = write!(
        svg,
        "<text class=\"strong\" x=\"8\" y=\"16\">{}</text>",
        text::html(&text::shortened(label(run), 60))
    );
    write_latency(&mut svg, &run.timeline, &x);
    write_rate(&mut svg, &run.timeline, &x);
    if let Some(most) = most_cores {
        write_cores(&mut svg, &run.timeline, &x, most);
    }
    lowest.write_x(&mut svg, &x, 6.0);
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">seconds</text></svg>",
        (LEFT + RIGHT) / 2.0,
        lowest.bottom + 32.0
    );
    Some(svg)
}

fn write_latency(svg: &mut String, seconds: &[Second], x: &Scale) {
    let answered = || seconds.iter().filter(|second| second.answered > 0);
    let y = Scale::logarithmic(
        answered().flat_map(|second| [second.p50_ms, second.p99_ms]),
        (LATENCY.bottom, LATENCY.top),
    );
    LATENCY.write_y(svg, &y, 0.0);
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">latency in ms</text>", LATENCY.top - 9.0);
    let mut ends = Vec::new();
    for (class, name, read) in [
        ("p50", "P50", (|second| second.p50_ms) as fn(&Second) -> f64),
        ("p99", "P99", |second| second.p99_ms),
    ] {
        plot::write_line(
            svg,
            answered().map(|second| (x.at(f64::from(second.at)), y.at(read(second)))),
            class,
        );
        ends.extend(answered().next_back().map(|second| (y.at(read(second)), class, name)));
    }
    let heights: Vec<f64> = ends.iter().map(|(height, _, _)| *height).collect();
    let places = plot::spread(&heights, 14.0, (LATENCY.top, LATENCY.bottom));
    for ((_, class, name), place) in ends.iter().zip(places) {
        let _ = write!(
            svg,
            "<text class=\"{class}-text strong\" x=\"{}\" y=\"{:.1}\">{name}</text>",
            RIGHT + 6.0,
            place + 4.0
        );
    }
}

/// Answers per second, with a red bar for every second that had errors.
fn write_rate(svg: &mut String, seconds: &[Second], x: &Scale) {
    let most = seconds.iter().map(|second| second.answered).max().unwrap_or(0) as f64;
    let y = Scale::rounded(most, 2.0, (RATE.bottom, RATE.top));
    RATE.write_y(svg, &y, 2.0);
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">answers per second</text>", RATE.top - 9.0);
    plot::write_line(
        svg,
        seconds.iter().map(|second| (x.at(f64::from(second.at)), y.at(second.answered as f64))),
        "rate",
    );
    for second in seconds.iter().filter(|second| second.errors > 0) {
        let _ = write!(
            svg,
            "<path class=\"error\" d=\"M{:.1} {}v-12\"><title>second {}: {} errors</title></path>",
            x.at(f64::from(second.at)),
            RATE.bottom,
            second.at,
            count(second.errors)
        );
    }
}

fn write_cores(svg: &mut String, seconds: &[Second], x: &Scale, most: f64) {
    let y = Scale::rounded(most.max(0.1), 2.0, (CORES.bottom, CORES.top));
    CORES.write_y(svg, &y, 2.0);
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">server cores busy</text>", CORES.top - 9.0);
    let known =
        seconds.iter().filter_map(|second| Some((x.at(f64::from(second.at)), y.at(second.server_cores?))));
    plot::write_line(svg, known, "cores");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_course_shows_errors_and_leaves_out_unknown_cores() {
        let mut run = sample::small().runs.remove(0);
        run.timeline[1].errors = 3;
        let svg = timeline_plot(&run).unwrap();
        assert!(
            svg.contains("<title>second 1: 3 errors</title>") && svg.contains("server cores busy"),
            "{svg}"
        );
        for second in &mut run.timeline {
            second.server_cores = None;
        }
        assert!(!timeline_plot(&run).unwrap().contains("server cores busy"));
    }

    #[test]
    fn an_empty_course_has_no_plot_and_a_silent_one_has() {
        let mut run = sample::small().runs.remove(0);
        run.timeline = vec![Second::default()];
        assert!(!timeline_plot(&run).unwrap().contains("NaN"));
        run.timeline.clear();
        assert_eq!(timeline_plot(&run), None);
    }
}
