//! The reaction to a disk that can no longer be trusted.

use std::fmt;
use std::sync::Arc;

/// Called once when a write or an fsync failed: after that, what is on disk is unknown (a second fsync may
/// report success for pages that the kernel has already dropped), so the process must end and recover from
/// what the disk really holds. The default logs and aborts; tests observe instead.
#[derive(Clone)]
pub struct OnFatal(Arc<dyn Fn(&str) + Send + Sync>);

impl OnFatal {
    /// Calls `observe` instead of aborting. The engine that called it stays stopped: nothing more is
    /// acknowledged.
    pub fn observed(observe: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn call(&self, what: &str) {
        (self.0)(what);
    }
}

impl Default for OnFatal {
    fn default() -> Self {
        Self(Arc::new(|what| {
            tracing::error!(
                what,
                "the disk failed; ending the process, so that nothing untrue is acknowledged"
            );
            std::process::abort();
        }))
    }
}

impl fmt::Debug for OnFatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFatal")
    }
}
