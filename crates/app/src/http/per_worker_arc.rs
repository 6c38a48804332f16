//! What all cores share, lent to one of them.

use std::ops::Deref;
use std::sync::Arc;

/// A reference to something that everybody uses, whose clones are counted apart from everybody else's.
///
/// The count of an [`Arc`] that requests on several cores clone and drop moves from core to core each time
/// (docs/topics/speed.md). A worker has one thread for all its connections, and so a count of its own.
#[allow(clippy::redundant_allocation, reason = "the outer count is the one that clones share")]
pub struct PerWorkerArc<T>(Arc<Arc<T>>);

impl<T> PerWorkerArc<T> {
    /// Lends it once more.
    pub fn new(shared: &Arc<T>) -> Self {
        Self(Arc::new(Arc::clone(shared)))
    }

    /// The reference that everybody shares.
    pub fn shared(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T> Clone for PerWorkerArc<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for PerWorkerArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
