//! Whether a store takes writes: the one that is the source of a move does not.

use crate::StoreError;

/// The state of a store that may be the source of a move: whether it takes writes, and whether servers start on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// It takes writes.
    Lifted,
    /// It is being moved: only reads are answered, also after a restart.
    Migrating,
    /// It was moved: no server starts on it any more.
    Migrated,
}

impl Freeze {
    /// The text that back-ends store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lifted => "lifted",
            Self::Migrating => "migrating",
            Self::Migrated => "migrated",
        }
    }

    /// Whether a store in the state `found` may go to this one. Only a frozen store becomes moved, and a moved store is
    /// not frozen again before its freeze was lifted. A freeze may be lifted from any state.
    #[must_use]
    pub const fn may_follow(self, found: Self) -> bool {
        match self {
            Self::Lifted => true,
            Self::Migrating => !matches!(found, Self::Migrated),
            Self::Migrated => !matches!(found, Self::Lifted),
        }
    }

    /// Parses the text that a back-end stored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Lifted, Self::Migrating, Self::Migrated].into_iter().find(|freeze| freeze.as_str() == text)
    }
}

/// Why a store could not be frozen or thawed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FreezeError {
    /// The store is in a state from which it cannot go to the wanted one. Nothing was changed.
    #[error("the store is {}, and cannot become {}", found.as_str(), wanted.as_str())]
    OutOfOrder {
        /// The state of the store.
        found: Freeze,
        /// The state that was asked for.
        wanted: Freeze,
    },
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}
