//! The reserve of free disk space below which writes are refused.
//!
//! fjall poisons itself when a write meets a full disk, flushes and compactions included, and only a restart
//! heals it. So a full disk must be seen *before* it is full: the engine asks how much is free, at most every
//! tenth of a second, and stops taking writes while less than the reserve is left. Reads go on, nothing that
//! was acknowledged is lost, and writing resumes by itself when space is freed.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long an answer of the file system is believed.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Answers how many bytes the process may still write, or nothing if that cannot be found out.
pub type FreeBytes = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// How many bytes the process may still write to the file system of `path`, if that can be found out.
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Watches the free space of one file system.
pub struct FreeSpace {
    free_bytes: FreeBytes,
    reserve: u64,
    enough: AtomicBool,
    started: Instant,
    /// Nanoseconds after `started` of the last look.
    looked_at: AtomicU64,
}

impl FreeSpace {
    /// Watches the file system of `path`, with `reserve` bytes to be left free.
    #[must_use]
    pub fn of(path: &Path, reserve: u64) -> Self {
        let path = path.to_owned();
        Self::from_probe(Arc::new(move || free_bytes(&path)), reserve)
    }

    /// Watches what `free_bytes` answers.
    #[must_use]
    pub fn from_probe(free_bytes: FreeBytes, reserve: u64) -> Self {
        let enough = has_enough(&free_bytes, reserve);
        Self {
            free_bytes,
            reserve,
            enough: AtomicBool::new(enough),
            started: monotonic_now(),
            looked_at: AtomicU64::new(0),
        }
    }

    /// Whether more than the reserve is free. Mostly one atomic load; one `statvfs` every 100 ms.
    pub fn is_enough(&self) -> bool {
        let now = u64::try_from(monotonic_now().duration_since(self.started).as_nanos()).unwrap_or(u64::MAX);
        let looked_at = self.looked_at.load(Ordering::Relaxed);
        let due = now.saturating_sub(looked_at) >= CHECK_EVERY.as_nanos() as u64;
        if due
            && self.looked_at.compare_exchange(looked_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.look();
        }
        self.enough.load(Ordering::Relaxed)
    }

    /// Asks the file system now.
    pub fn look(&self) -> bool {
        let enough = has_enough(&self.free_bytes, self.reserve);
        if self.enough.swap(enough, Ordering::Relaxed) != enough {
            if enough {
                tracing::info!(reserve = self.reserve, "disk space is free again; taking writes");
            } else {
                tracing::error!(
                    reserve = self.reserve,
                    "the disk is full up to the reserve; refusing writes"
                );
            }
        }
        enough
    }
}

impl fmt::Debug for FreeSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeSpace").field("reserve", &self.reserve).finish_non_exhaustive()
    }
}

/// Whether the system refused for want of room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A file system that does not answer is not taken for a full one.
fn has_enough(free_bytes: &FreeBytes, reserve: u64) -> bool {
    free_bytes().is_none_or(|free| free > reserve)
}

#[allow(
    clippy::disallowed_methods,
    reason = "paces a look at the file system; decides nothing in the domain"
)]
pub(crate) fn monotonic_now() -> Instant {
    Instant::now()
}
