//! Export and import of everything that the store keeps, record by record, to move between back-ends.

mod export;
mod import;

pub use export::EmbeddedExport;
pub use import::{EmbeddedImport, ImportError};
