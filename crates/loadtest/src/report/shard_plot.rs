//! Latency over the number of shards, under the same load.

use std::fmt::Write as _;

use crate::results::Run;

use super::group::offered;
use super::latency_plot::{PERCENTILES, Percentile, write_marks};
use super::number::{count, rate};
use super::plot::{self, Frame, Scale};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 270.0;
const FRAME: Frame = Frame { left: 62.0, top: 26.0, right: 836.0, bottom: 220.0 };

/// The plot, as SVG, of runs by rising number of shards; these stand at even distances.
pub(super) fn shard_plot(runs: &[&Run]) -> String {
    let y = Scale::logarithmic(
        runs.iter()
            .filter(|run| run.requests > 0)
            .flat_map(|run| PERCENTILES.map(|percentile| (percentile.ours)(run)))
            .flatten(),
        (FRAME.bottom, FRAME.top),
    );
    let x = Scale::linear(runs.len() as f64, (FRAME.left, FRAME.right));
    let places: Vec<(&Run, f64)> =
        runs.iter().enumerate().map(|(place, &run)| (run, x.at(place as f64 + 0.5))).collect();
    let asked = runs.first().map_or(0.0, |run| offered(run));
    let mut svg = plot::open(WIDTH, HEIGHT, &format!("Latency over number of shards at {}/s.", rate(asked)));
    FRAME.write_y(&mut svg, &y, 0.0);
    let _ = write!(
        svg,
        "<text x=\"8\" y=\"14\">Latency in ms (logarithmic)</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">Shards</text>",
        (FRAME.left + FRAME.right) / 2.0,
        HEIGHT - 10.0
    );
    for (run, at) in &places {
        let shards = count(u64::from(run.shards.unwrap_or(0)));
        let _ = write!(
            svg,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{shards}</text>",
            FRAME.bottom + 18.0
        );
    }
    let measured = || places.iter().filter(|(run, _)| run.requests > 0);
    for percentile in &PERCENTILES {
        plot::write_line(
            &mut svg,
            measured().filter_map(|(run, at)| Some((*at, y.at((percentile.ours)(run)?)))),
            percentile.class,
        );
    }
    for (run, at) in measured() {
        write_marks(&mut svg, run, *at, &y);
    }
    if let Some((run, at)) = measured().next_back() {
        write_names(&mut svg, run, *at, &y);
    }
    svg.push_str("</svg>");
    svg
}

fn write_names(svg: &mut String, run: &Run, at: f64, y: &Scale) {
    let told: Vec<(&Percentile, f64)> = PERCENTILES
        .iter()
        .filter_map(|percentile| Some((percentile, y.at((percentile.ours)(run)?))))
        .collect();
    let heights: Vec<f64> = told.iter().map(|(_, height)| *height).collect();
    let places = plot::spread(&heights, 15.0, (FRAME.top, FRAME.bottom));
    for ((percentile, _), height) in told.iter().zip(places) {
        let (class, name) = (percentile.class, percentile.name);
        let _ = write!(
            svg,
            "<text class=\"strong {class}-text\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            at + 12.0,
            height + 4.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_number_of_shards_stands_on_the_axis() {
        let results = sample::full();
        let runs: Vec<&Run> = results.runs.iter().filter(|run| run.scenario == "code").collect();
        let svg = shard_plot(&runs);
        for shards in [1, 8, 32, 128] {
            assert!(svg.contains(&format!("text-anchor=\"middle\">{shards}</text>")), "{svg}");
        }
        assert_eq!(svg.matches("class=\"mark").count(), 12);
        sample::assert_numbers(&shard_plot(&[]));
    }
}
