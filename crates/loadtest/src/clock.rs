//! The one place of this crate that reads a clock: measuring is what it is for.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock.
#[allow(
    clippy::disallowed_methods,
    reason = "measuring needs the real clock; everything else here takes it from this function"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// The CPU time, user and system, that the calling thread has used so far.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The wall clock, in seconds since 1970.
pub fn unix_seconds() -> u64 {
    u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0)
}
