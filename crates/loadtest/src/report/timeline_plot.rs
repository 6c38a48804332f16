//! The course of one run: percentiles, rate and the provider's cores, one above the other over the same seconds.

use std::fmt::Write as _;

use crate::results::{Run, Second};

use super::day_tables::hour;
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
    let most_cores = run.timeline.iter().filter_map(Second::most_cores).reduce(f64::max);
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
    write_storms(&mut svg, run, &x, lowest.bottom);
    write_edges(&mut svg, run, &x, lowest.bottom);
    write_latency(&mut svg, &run.timeline, &x);
    write_rate(&mut svg, &run.timeline, &x);
    if let Some(most) = most_cores {
        write_cores(&mut svg, &run.timeline, &x, most);
    }
    let (unit, seconds) = unit(last.at);
    lowest.write_x(&mut svg, &Scale::linear(f64::from(last.at) / seconds, (LEFT, RIGHT)), 6.0);
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{unit}</text></svg>",
        (LEFT + RIGHT) / 2.0,
        lowest.bottom + 32.0
    );
    Some(svg)
}

/// What a course of so many seconds is told in, and how many seconds that is.
fn unit(last: u32) -> (&'static str, f64) {
    match last {
        0..=1_800 => ("seconds", 1.0),
        1_801..=14_400 => ("minutes", 60.0),
        _ => ("hours", 3_600.0),
    }
}

/// When more came than the curve says.
fn write_storms(svg: &mut String, run: &Run, x: &Scale, bottom: f64) {
    for (day, storm) in run.day.iter().flat_map(|day| day.storms.iter().map(move |storm| (day, storm))) {
        let (from, to) = (x.at(storm.at), x.at(storm.at + storm.seconds));
        let what = format!(
            "{}: {} × {} in {:.1} s",
            hour(run, day, storm.at),
            count(storm.requests),
            text::shortened(&storm.of, 40),
            storm.seconds
        );
        let _ = write!(
            svg,
            "<path class=\"storm\" d=\"M{from:.1} {}H{:.1}V{bottom}H{from:.1}Z\"><title>{}</title></path>",
            LATENCY.top,
            // However short it is, it is seen.
            to.max(from + 2.0),
            text::html(&what)
        );
    }
}

/// Where the warm-up ends, the plateau begins and ends, and the number of shards changes.
fn write_edges(svg: &mut String, run: &Run, x: &Scale, bottom: f64) {
    let (begins, ends) = run.plateau_edges();
    let last = run.timeline.last().map_or(0.0, |second| f64::from(second.at));
    let warm_up = (run.warm_up_seconds > 0.0).then_some((run.warm_up_seconds, "warm-up ends".to_owned()));
    let ramp_up = (begins > run.warm_up_seconds).then(|| (begins, "plateau begins".to_owned()));
    let end = (ends < last).then(|| (ends, "plateau ends".to_owned()));
    let reshard = run.reshard.map(|reshard| (reshard.at, format!("{} shards from here", reshard.to)));
    // Of a course that goes on, or was cut short, some are still to come.
    let come = [warm_up, ramp_up, end].into_iter().flatten().filter(|(at, _)| *at <= last);
    for (at, what) in come {
        write_edge(svg, "edge", x.at(at), (&what, bottom));
    }
    if let Some((at, what)) = reshard {
        write_edge(svg, "edge reshard", x.at(at), (&what, bottom));
        let _ = write!(
            svg,
            "<text class=\"reshard-text\" x=\"{:.1}\" y=\"{}\">{what}</text>",
            x.at(at) + 3.0,
            LATENCY.top - 1.0
        );
    }
}

fn write_edge(svg: &mut String, class: &str, at: f64, (what, bottom): (&str, f64)) {
    let top = LATENCY.top;
    let _ = write!(
        svg,
        "<path class=\"{class}\" d=\"M{at:.1} {top}V{bottom}\"><title>{}</title></path>",
        text::html(what)
    );
}

fn write_latency(svg: &mut String, seconds: &[Second], x: &Scale) {
    let y = Scale::logarithmic(
        seconds.iter().flat_map(|second| [second.p50_ms, second.p99_ms, second.worst_p99_ms()]).flatten(),
        (LATENCY.bottom, LATENCY.top),
    );
    LATENCY.write_y(svg, &y, 0.0);
    let longer = seconds.iter().any(|second| second.worst.is_some());
    let besides = if longer { "; faint: P99 of the worst second of each row" } else { "" };
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">latency in ms{besides}</text>", LATENCY.top - 9.0);
    if longer {
        let worst =
            seconds.iter().filter_map(|second| Some((x.at(second.place()), y.at(second.worst_p99_ms()?))));
        plot::write_line(svg, worst, "worst");
    }
    let mut ends = Vec::new();
    for (class, name, read) in [
        ("p50", "P50", (|second| second.p50_ms) as fn(&Second) -> Option<f64>),
        ("p99", "P99", |second| second.p99_ms),
    ] {
        let points = || seconds.iter().filter_map(|second| Some((x.at(second.place()), y.at(read(second)?))));
        plot::write_line(svg, points(), class);
        ends.extend(points().next_back().map(|(_, height)| (height, class, name)));
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
    let per_second = |second: &Second| second.answered as f64 / second.seconds().max(0.001);
    let offered = |second: &Second| Some(second.offered? as f64 / second.seconds().max(0.001));
    let most = seconds.iter().map(per_second).chain(seconds.iter().filter_map(offered)).fold(0.0, f64::max);
    let y = Scale::rounded(most, 2.0, (RATE.bottom, RATE.top));
    RATE.write_y(svg, &y, 2.0);
    let asked = if seconds.iter().any(|second| second.offered.is_some()) {
        ", dashed: what was asked for"
    } else {
        ""
    };
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">answers per second{asked}</text>", RATE.top - 9.0);
    let asked = seconds.iter().filter_map(|second| Some((x.at(second.place()), y.at(offered(second)?))));
    plot::write_line(svg, asked, "offered");
    plot::write_line(
        svg,
        seconds.iter().map(|second| (x.at(second.place()), y.at(per_second(second)))),
        "rate",
    );
    for second in seconds.iter().filter(|second| second.errors > 0) {
        let when = match second.seconds() {
            covers if covers > 1.5 => format!("{covers:.0} s until second {}", second.at),
            _ => format!("second {}", second.at),
        };
        let _ = write!(
            svg,
            "<path class=\"error\" d=\"M{:.1} {}v-12\"><title>{when}: {} errors</title></path>",
            x.at(second.place()),
            RATE.bottom,
            count(second.errors)
        );
    }
}

fn write_cores(svg: &mut String, seconds: &[Second], x: &Scale, most: f64) {
    let y = Scale::rounded(most.max(0.1), 2.0, (CORES.bottom, CORES.top));
    CORES.write_y(svg, &y, 2.0);
    let _ = write!(svg, "<text x=\"8\" y=\"{}\">server cores busy</text>", CORES.top - 9.0);
    let known = seconds.iter().filter_map(|second| Some((x.at(second.place()), y.at(second.server_cores?))));
    plot::write_line(svg, known, "cores");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::results::{Reshard, WorstSecond};

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
    fn edges_and_a_change_of_shards_are_drawn() {
        let mut run = sample::full().runs.remove(0);
        run.warm_up_seconds = 2.0;
        run.reshard = Some(Reshard { at: 40.0, to: 128 });
        let svg = timeline_plot(&run).unwrap();
        for what in ["warm-up ends", "plateau begins", "plateau ends", "128 shards from here"] {
            assert!(svg.contains(&format!("<title>{what}</title>")), "{what}: {svg}");
        }
        assert_eq!(run.plateau_edges(), (17.0, 197.0));
    }

    #[test]
    fn a_long_course_is_told_in_hours_with_its_worst_seconds() {
        let mut run = sample::small().runs.remove(0);
        let worst = WorstSecond { p99_ms: Some(900.0), errors: 2, ..WorstSecond::default() };
        let second = |place: u32| Second {
            at: place * 64,
            errors: 2,
            covers: Some(64.0),
            p99_ms: Some(4.0),
            worst: Some(worst),
            ..Second::default()
        };
        run.timeline = (1..=1_350).map(second).collect();
        let svg = timeline_plot(&run).unwrap();
        for part in [
            ">hours</text>",
            ">20</text>",
            "class=\"line worst\"",
            ">1,000</text>",
            "64 s until second 6400: 2 errors",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn a_day_shows_what_was_asked_for_and_its_storms() {
        let run = sample::day().runs.remove(0);
        let svg = timeline_plot(&run).unwrap();
        for part in [
            "dashed: what was asked for",
            "class=\"line offered\"",
            "<title>20:00: 300 × login in 2.0 s</title>",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!timeline_plot(&sample::small().runs.remove(0)).unwrap().contains("asked for"));
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
