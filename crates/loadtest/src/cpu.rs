//! The CPU time of another process, from `/proc`.

use std::fs;
use std::io;
use std::time::Duration;

use crate::LoadtestError;

/// More disagreement than two ticks between the two sources means that threads came and went.
const TOLERANCE: Duration = Duration::from_millis(25);

/// The CPU time that a process has used so far, user and system, from two sources.
///
/// The scheduler's figures per thread are exact to the nanosecond but forget threads that ended; the figures of
/// the process remember them but count in ticks of 10 ms.
#[derive(Clone, Copy, Debug)]
pub struct CpuReading {
    threads: Duration,
    process: Duration,
}

impl CpuReading {
    /// Reads the process's figures.
    ///
    /// # Errors
    /// [`LoadtestError::Cpu`] when the process is gone or there is no `/proc`.
    pub fn of(pid: u32) -> Result<Self, LoadtestError> {
        let read = || Ok(Self { threads: threads(pid)?, process: process(pid)? });
        read().map_err(|source| LoadtestError::Cpu { pid, source })
    }

    /// The time used between an earlier reading and this one.
    pub fn since(&self, earlier: &Self) -> Duration {
        let threads = self.threads.checked_sub(earlier.threads);
        let process = self.process.saturating_sub(earlier.process);
        match threads {
            Some(threads) if threads.abs_diff(process) <= TOLERANCE => threads,
            _ => process,
        }
    }
}

/// The sum over `/proc/PID/task/*/schedstat`, whose first figure is the time on a CPU in ns.
fn threads(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        let first = text.split_whitespace().next().and_then(|figure| figure.parse::<u64>().ok());
        nanos += first.ok_or(io::ErrorKind::InvalidData)?;
    }
    Ok(Duration::from_nanos(nanos))
}

/// `utime` and `stime` of `/proc/PID/stat`, fields 14 and 15.
fn process(pid: u32) -> io::Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Field 2, the name in parentheses, may hold spaces and parentheses itself.
    let (_, fields) = text.rsplit_once(')').ok_or(io::ErrorKind::InvalidData)?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>();
    let ticks = ticks.map_err(|_| io::ErrorKind::InvalidData)?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Ok(Duration::from_nanos(ticks * (1_000_000_000 / per_second)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn agrees_with_the_thread_clock() {
        let before = (CpuReading::of(std::process::id()).unwrap(), clock::thread_cpu());
        let mut x = 1_u64;
        while clock::thread_cpu() - before.1 < Duration::from_millis(120) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let used = CpuReading::of(std::process::id()).unwrap().since(&before.0);
        // Other tests run in this process at the same time, so there is no upper bound.
        assert!(used >= Duration::from_millis(110), "{used:?}");
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        assert!(matches!(CpuReading::of(u32::MAX), Err(LoadtestError::Cpu { .. })));
    }
}
