//! What all cores share, lent to one of them.

use std::ops::Deref;
use std::sync::Arc;

/// A reference to something that everybody uses, whose clones are counted apart from everybody else's.
///
/// The count of an [`Arc`] that requests on several cores clone and drop moves from core to core each time, which takes
/// longer than most of what they do with it. A worker, and each of its connections, stays on one core: it has a count of
/// its own.
#[allow(clippy::redundant_allocation, reason = "it is for the second count")]
pub struct Lent<T>(Arc<Arc<T>>);

impl<T> Lent<T> {
    /// Lends it once more.
    pub fn new(shared: &Arc<T>) -> Self {
        Self(Arc::new(Arc::clone(shared)))
    }

    /// The reference that everybody shares.
    pub fn shared(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T> Clone for Lent<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
