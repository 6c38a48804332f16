//! The reserve of free disk space below which writes are refused.
//!
//! If fjall finds the disk full when it writes, flushes and compactions included, it takes no more writes until it is
//! restarted. So the shortage must be noticed *before* the disk is full: the engine asks for the free space at most
//! every 100 ms, and refuses writes while less than the reserve is left. Reads are still answered, no acknowledged
//! change is lost, and writes are taken again by themselves once space is freed.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long an answer of the file system is used.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Returns how many bytes the process may still write, or `None` if that is unknown.
pub type FreeBytes = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// How many bytes the process may still write to the file system of `path`; `None` if that is unknown.
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
    /// Nanoseconds from `started` to the last check.
    looked_at: AtomicU64,
}

impl FreeSpace {
    /// Watches the file system of `path`, with `reserve` bytes to be left free.
    #[must_use]
    pub fn of(path: &Path, reserve: u64) -> Self {
        let path = path.to_owned();
        Self::from_probe(Arc::new(move || free_bytes(&path)), reserve)
    }

    /// As [`of`](Self::of), with the free space that `free_bytes` returns.
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

/// Whether the error means that the disk or a quota is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// An unknown amount of free space counts as enough.
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
