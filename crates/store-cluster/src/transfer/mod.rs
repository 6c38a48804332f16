//! Exports and imports everything that the two engines store, record by record, to move a store between back-ends.

mod export;
mod import;

pub use export::ClusterExport;
pub use import::{ClusterImport, ImportError};
