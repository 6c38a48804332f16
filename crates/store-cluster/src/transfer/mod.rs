//! Everything that the two engines keep, given out and taken in record by record, to move between back-ends.

mod export;
mod import;

pub use export::ClusterExport;
pub use import::{ClusterImport, ImportError};
