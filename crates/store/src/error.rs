//! What can go wrong in a store.

/// Why a store could not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Out of reach, overloaded, or out of space: the same request may work later (503 with Retry-After).
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// Another caller changed the same record: load it and decide once more.
    #[error("the record changed meanwhile")]
    Conflict,
    /// What was stored cannot be read back, or the engine failed.
    #[error("the store failed: {0}")]
    Failed(String),
}
