//! Reports: [`crate::results::Results`] as Markdown and as one self-contained HTML page, beside the figures of December
//! 2025 and beside an earlier run. Pure functions: reading and writing files is the caller's part.
//!
//! Every table is built once (in `table.rs`) and written in both forms; the plots are in the HTML only.

mod capacity;
mod client_tables;
mod comparison;
mod error_bars;
mod group;
mod heat_map;
mod html;
mod latency_plot;
mod markdown;
mod number;
mod plot;
pub mod reference;
#[cfg(test)]
pub(crate) mod sample;
mod server_tables;
mod shard_plot;
mod table;
mod text;
mod timeline_plot;
mod verdict;

pub use capacity::name as bottleneck;
pub use html::html;
pub use markdown::markdown;
