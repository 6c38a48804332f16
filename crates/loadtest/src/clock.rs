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

/// The wall clock in UTC: `2026-11-22T02:20:00Z`.
pub(crate) fn utc() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(unix_seconds());
    humantime::format_rfc3339_seconds(now).to_string()
}

/// The wall clock, since 1970.
pub(crate) fn wall() -> Duration {
    let time = clock_gettime(ClockId::Realtime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The wall clock, in seconds since 1970.
pub fn unix_seconds() -> u64 {
    u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0)
}

/// The wall clock, in milliseconds since 1970.
pub(crate) fn unix_millis() -> u64 {
    let time = clock_gettime(ClockId::Realtime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds * 1_000 + nanos / 1_000_000
}
