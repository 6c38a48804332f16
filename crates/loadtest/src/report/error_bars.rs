//! Failures and wrong answers of a scenario by kind.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::group::Group;
use super::number::count;
use super::{plot, text, verdict};

const ROW: f64 = 24.0;
const LEFT: f64 = 300.0;
const BAR: f64 = 380.0;
const WIDTH: f64 = 780.0;
/// Kinds that are drawn; the table has them all.
const MOST: usize = 20;

/// The bars, as SVG, most first; none where nothing went wrong.
pub(super) fn error_bars(group: &Group<'_>) -> Option<String> {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for run in &group.runs {
        for (word, kinds) in [("failure", &run.failure_kinds), ("wrong", &run.wrong_kinds)] {
            for (kind, number) in kinds.iter().filter(|(_, number)| **number > 0) {
                *sums.entry((word, kind)).or_default() += number;
            }
        }
    }
    let mut bars: Vec<((&str, &str), u64)> = sums.into_iter().collect();
    bars.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    bars.truncate(MOST);
    let most = bars.first()?.1 as f64;

    let label = format!("{}: errors by kind.", group.scenario);
    let mut svg = plot::open(WIDTH, ROW * bars.len() as f64 + 4.0, &label);
    for (row, ((word, kind), number)) in bars.iter().enumerate() {
        let top = ROW * row as f64 + 2.0;
        let name = format!("{word}: {}", verdict::words(kind));
        let width = (BAR * *number as f64 / most).max(2.0);
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}<title>{}</title></text>\
             <rect class=\"{word}\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 8.0,
            top + 14.0,
            text::html(&text::shortened(&name, 42)),
            text::html(&name),
            ROW - 6.0,
            LEFT + width + 6.0,
            top + 14.0,
            count(*number)
        );
    }
    svg.push_str("</svg>");
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    #[test]
    fn kinds_are_added_over_runs_and_escaped() {
        let mut results = sample::small();
        assert_eq!(error_bars(&group::by_scenario(&results.runs)[0]), None);
        results.runs[0].failure_kinds = [("<timeout>".to_owned(), 3)].into();
        results.runs.push(results.runs[0].clone());
        let svg = error_bars(&group::by_scenario(&results.runs)[0]).unwrap();
        assert!(svg.contains("failure: &lt;timeout&gt;") && svg.contains(">6</text>"), "{svg}");
    }
}
