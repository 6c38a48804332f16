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

impl StoreError {
    /// There is no room for another record of a kind, which is named in the plural. `of_issuer`: it is one issuer that has what it
    /// may take.
    #[must_use]
    pub fn no_room(kind: &str, of_issuer: bool) -> Self {
        Self::Unavailable(match of_issuer {
            true => format!("{kind} of the issuer take all that one issuer may (storage.issuer_share)"),
            false => format!("{kind} take all the memory that they may"),
        })
    }
}
