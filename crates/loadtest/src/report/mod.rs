//! Reports: [`crate::results::Results`] as Markdown and as one self-contained HTML page, beside the figures of December
//! 2025 and beside an earlier run. Pure functions: reading and writing files is the caller's part.
//!
//! Every table is built once (in `table.rs`) and written in both forms; the plots are in the HTML only.

mod agent_tables;
mod capacity;
mod client_tables;
mod comparison;
mod day_tables;
mod error_bars;
mod findings;
mod goals;
mod group;
mod heat_map;
mod history_plot;
mod html;
mod latency_plot;
mod layers;
pub(crate) mod live;
mod markdown;
mod number;
mod part_tables;
mod plot;
pub mod reference;
mod replay_tables;
#[cfg(test)]
pub(crate) mod sample;
mod server_tables;
mod shard_plot;
mod soak;
mod table;
mod text;
mod timeline_plot;
mod verdict;

pub use capacity::name as bottleneck;
pub use html::{html, html_with_history};
pub use markdown::markdown;
pub use soak::leaks;
pub use text::{html as escaped, markdown as cell};
pub use verdict::{LIMITED, PASS, WARN, broken as reasons, limits_are_on, of_run};
