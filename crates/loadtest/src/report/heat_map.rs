//! How operations and their time fell on shards: kinds as rows, shards as columns.

use std::fmt::Write as _;

use crate::results::{Run, ShardFigures, StoreFigures};

use super::number::figure;
use super::plot;
use super::text;

/// Columns; more shards are folded, so many neighbours to a column.
const COLUMNS: usize = 128;
const LEFT: f64 = 96.0;
const CELLS: f64 = 640.0;
const ROW: f64 = 22.0;
const WIDTH: f64 = 960.0;

/// What is shown of a shard.
pub(super) struct Measure {
    /// Its name, with its unit.
    name: &'static str,
    read: fn(&ShardFigures) -> f64,
}

/// Operations.
pub(super) const OPERATIONS: Measure = Measure { name: "operations", read: |shard| shard.operations as f64 };
/// Wall time.
pub(super) const WALL: Measure = Measure { name: "ms wall time", read: |shard| shard.wall_ms };

/// The map, as SVG; none where nothing was measured by shard.
pub(super) fn heat_map(run: &Run, measure: &Measure) -> Option<String> {
    let stores = run.server.iter().flat_map(|server| &server.stores);
    // One shard has nothing to be even with.
    let split = stores.filter(|store| store.shards.len() > 1);
    let used: Vec<&StoreFigures> =
        split.filter(|store| store.shards.iter().any(|shard| (measure.read)(shard) > 0.0)).collect();
    if used.is_empty() {
        return None;
    }
    let height = 30.0 + ROW * used.len() as f64;
    let label = format!("{}: {} by kind and shard.", run.name, measure.name);
    let mut svg = plot::open(WIDTH, height, &label);
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"14\">from shard 0 on; the strongest colour is the kind's most</text>\
         <text x=\"{}\" y=\"14\">{}, mean / most</text>",
        LEFT + CELLS + 12.0,
        measure.name
    );
    for (row, store) in used.iter().enumerate() {
        write_row(&mut svg, store, measure, 24.0 + ROW * row as f64);
    }
    svg.push_str("</svg>");
    Some(svg)
}

fn write_row(svg: &mut String, store: &StoreFigures, measure: &Measure, top: f64) {
    let columns = folded(&store.shards, measure);
    let most = columns.iter().map(|column| column.2).fold(0.0, f64::max);
    let mean = columns.iter().map(|column| column.2).sum::<f64>() / columns.len() as f64;
    let width = CELLS / columns.len() as f64;
    let gap = if width > 3.0 { 1.0 } else { 0.0 };
    let base = top + 15.0;
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{}</text><g class=\"heat\">",
        LEFT - 8.0,
        text::html(&text::shortened(&store.kind, 13))
    );
    for (place, (first, last, value)) in columns.iter().enumerate() {
        let shards =
            if first == last { format!("shard {first}") } else { format!("shards {first} to {last}") };
        let _ = write!(
            svg,
            "<rect x=\"{:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{}\" fill-opacity=\"{:.2}\"><title>{shards}: {} {}</title></rect>",
            LEFT + width * place as f64,
            width - gap,
            ROW - 2.0,
            0.06 + 0.94 * (value / most).clamp(0.0, 1.0),
            figure(*value),
            measure.name
        );
    }
    let _ = write!(
        svg,
        "</g><text x=\"{}\" y=\"{base}\">{} / {}</text>",
        LEFT + CELLS + 12.0,
        figure(mean),
        figure(most)
    );
}

/// First shard, last shard and sum by column, in the shards' order.
fn folded(shards: &[ShardFigures], measure: &Measure) -> Vec<(u32, u32, f64)> {
    let mut ordered: Vec<&ShardFigures> = shards.iter().collect();
    ordered.sort_by_key(|shard| shard.shard);
    ordered
        .chunks(shards.len().div_ceil(COLUMNS).max(1))
        .filter_map(|chunk| {
            let value =
                chunk.iter().map(|shard| (measure.read)(shard)).filter(|value| value.is_finite()).sum();
            Some((chunk.first()?.shard, chunk.last()?.shard, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_shard_has_a_cell_with_its_figure() {
        let run = sample::small().runs.remove(0);
        let svg = heat_map(&run, &OPERATIONS).unwrap();
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(
            svg.contains("<title>shard 3: 220 operations</title>") && svg.contains(">100 / 220<"),
            "{svg}"
        );
    }

    #[test]
    fn many_shards_are_folded_without_losing_any() {
        let shards: Vec<ShardFigures> = (0..300)
            .rev()
            .map(|shard| ShardFigures { shard, operations: 1, ..ShardFigures::default() })
            .collect();
        let columns = folded(&shards, &OPERATIONS);
        assert_eq!(columns.len(), 100);
        assert_eq!(columns[0], (0, 2, 3.0));
        assert_eq!(columns.iter().map(|column| column.2).sum::<f64>(), 300.0);
    }

    #[test]
    fn unused_kinds_and_absent_figures_have_no_map() {
        let mut run = sample::small().runs.remove(0);
        run.server.as_mut().unwrap().stores[0].shards.truncate(1);
        assert_eq!(heat_map(&run, &WALL), None);
        run.server.as_mut().unwrap().stores[0].shards.clear();
        assert_eq!(heat_map(&run, &WALL), None);
        run.server = None;
        assert_eq!(heat_map(&run, &OPERATIONS), None);
    }
}
