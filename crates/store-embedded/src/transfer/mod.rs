//! Everything that the store keeps, given out and taken in record by record, to move between back-ends.

mod export;
mod import;

pub use export::EmbeddedExport;
pub use import::{EmbeddedImport, ImportError};
