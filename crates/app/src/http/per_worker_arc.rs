//! A reference to shared state whose reference count belongs to one worker.

use std::ops::Deref;
use std::sync::Arc;

/// An [`Arc`] whose clones share a reference count that only one worker uses.
///
/// The reference count of a plain [`Arc`] that several cores clone and drop moves between their caches on every
/// request (docs/topics/speed.md). A worker runs all its connections on one thread, so a count per worker stays in
/// one cache.
#[allow(clippy::redundant_allocation, reason = "the outer count is the one that clones share")]
pub struct PerWorkerArc<T>(Arc<Arc<T>>);

impl<T> PerWorkerArc<T> {
    /// Makes a reference with a reference count of its own.
    pub fn new(shared: &Arc<T>) -> Self {
        Self(Arc::new(Arc::clone(shared)))
    }

    /// The reference that all workers share.
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
