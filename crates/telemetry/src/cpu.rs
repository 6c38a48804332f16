//! A request's own CPU time: the time spent inside its polls.
//!
//! Which clock: reading `clock_gettime(CLOCK_THREAD_CPUTIME_ID)` is a system call (515 ns on the development
//! machine), and a poll needs two; reading the monotonic clock is not (23 ns). A poll never blocks, so its monotonic
//! time is its CPU time plus the time for which the kernel preempted the thread. Therefore every poll is measured by
//! the monotonic clock, and one request in [`CHECK_ONE_IN`] by both clocks. Both sums are exported
//! (`symbolon_request_cpu_check_seconds_total`); their ratio shows how much preemption is in the metrics. It is near
//! 1 while the cores are not oversubscribed.
//!
//! Not included: parsing and writing of HTTP and TLS, which the connection does, and work of other threads (argon2's
//! pool, the group-commit writer). `process_cpu_seconds_total` includes all.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use symbolon_figures::{machine_now, thread_stripe};

/// One request in so many is also measured by the thread's CPU clock (a poll then costs two system calls more).
pub const CHECK_ONE_IN: u64 = 256;

/// Measures one request from its arrival, poll by poll.
#[derive(Debug)]
pub struct PollMeter {
    started: Instant,
    running_since: Option<Instant>,
    last_left: Instant,
    busy: Duration,
    check: Option<CpuCheck>,
}

#[derive(Debug, Clone, Copy)]
struct CpuCheck {
    thread: usize,
    entered: Duration,
    busy: Duration,
    broken: bool,
}

impl PollMeter {
    /// Starts the measurement. The time up to the first poll (routing) counts as part of that poll, because the HTTP
    /// server polls a new request at once. With `check`, both clocks measure.
    #[inline]
    pub fn start(check: bool) -> Self {
        let check = check.then(|| CpuCheck {
            thread: thread_stripe(),
            entered: thread_clock(),
            busy: Duration::ZERO,
            broken: false,
        });
        let now = machine_now();
        Self { started: now, running_since: Some(now), last_left: now, busy: Duration::ZERO, check }
    }

    /// Runs one poll and measures it.
    #[inline]
    pub fn poll<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        let since = match self.running_since.take() {
            Some(since) => {
                // If the first poll is on another thread than the arrival, the readings of the thread clock cannot be
                // compared.
                if let Some(check) = &mut self.check {
                    check.broken |= check.thread != thread_stripe();
                }
                since
            }
            None => {
                if let Some(check) = &mut self.check {
                    check.entered = thread_clock();
                }
                machine_now()
            }
        };
        let result = poll();
        let left = machine_now();
        self.last_left = left;
        self.busy += left.saturating_duration_since(since);
        if let Some(check) = &mut self.check {
            check.busy +=
                thread_clock().saturating_sub(check.entered).saturating_sub(thread_clock_overhead());
        }
        result
    }

    /// The time of the start.
    #[inline]
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// Nanoseconds spent in polls so far.
    #[inline]
    pub fn busy_ns(&self) -> u64 {
        nanoseconds(self.busy)
    }

    /// Nanoseconds from the start to the end of the last poll.
    #[inline]
    pub fn duration_ns(&self) -> u64 {
        nanoseconds(self.last_left.saturating_duration_since(self.started))
    }

    /// Nanoseconds from the start to now, for a request that ends outside a poll.
    pub fn elapsed_ns(&self) -> u64 {
        nanoseconds(machine_now().saturating_duration_since(self.started))
    }

    /// Nanoseconds of thread CPU time spent in polls, if this request is one that both clocks measure.
    #[inline]
    pub fn checked_ns(&self) -> Option<u64> {
        self.check.filter(|check| !check.broken).map(|check| nanoseconds(check.busy))
    }
}

#[inline]
fn nanoseconds(duration: Duration) -> u64 {
    // 64 bits of nanoseconds are 584 years.
    duration.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(duration.subsec_nanos()))
}

/// CPU time of the calling thread.
fn thread_clock() -> Duration {
    duration_of(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of the process, user and system.
pub fn process_clock() -> Duration {
    duration_of(clock_gettime(ClockId::ProcessCPUTime))
}

fn duration_of(time: rustix::time::Timespec) -> Duration {
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// The difference between two successive readings of the thread clock: the least of 32 pairs, measured once.
pub(super) fn thread_clock_overhead() -> Duration {
    static OVERHEAD: OnceLock<Duration> = OnceLock::new();
    *OVERHEAD.get_or_init(|| {
        let pair = |_| {
            let first = thread_clock();
            thread_clock().saturating_sub(first)
        };
        (0..32).map(pair).min().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn(wanted: Duration) {
        let start = thread_clock();
        while thread_clock().saturating_sub(start) < wanted {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn time_between_polls_is_duration_and_not_cpu() {
        let mut meter = PollMeter::start(true);
        meter.poll(|| burn(Duration::from_millis(2)));
        burn(Duration::from_millis(20));
        meter.poll(|| burn(Duration::from_millis(2)));
        assert!(meter.busy_ns() >= 4_000_000, "{}", meter.busy_ns());
        assert!(meter.duration_ns() >= meter.busy_ns() + 20_000_000);
        assert!(meter.elapsed_ns() >= meter.duration_ns());
        let checked = meter.checked_ns().unwrap();
        assert!((4_000_000..20_000_000).contains(&checked), "{checked}");
    }

    #[test]
    fn work_before_the_first_poll_counts() {
        let mut meter = PollMeter::start(false);
        burn(Duration::from_millis(2));
        meter.poll(|| ());
        assert!(meter.busy_ns() >= 2_000_000);
        assert_eq!(meter.checked_ns(), None);
    }

    #[test]
    fn a_first_poll_elsewhere_gives_no_check() {
        let mut meter = PollMeter::start(true);
        let meter = std::thread::spawn(move || {
            meter.poll(|| ());
            meter
        });
        assert_eq!(meter.join().unwrap().checked_ns(), None);
    }

    #[test]
    fn the_process_clock_runs() {
        let before = process_clock();
        burn(Duration::from_millis(1));
        assert!(process_clock() > before);
    }
}
