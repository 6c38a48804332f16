//! The result of a backup.

use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What a backup contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// Every commit up to this one is contained; counted since the process started.
    pub commit: u64,
    /// Sessions, refresh families, tombstones and marks.
    pub records: u64,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target cannot be used as it is: a mistake of the caller's.
    #[error("{0}")]
    Target(String),
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}
