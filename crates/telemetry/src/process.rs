//! Metrics of the process from the operating system, read at each scrape.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use super::cpu::process_clock;
use super::prometheus::{Exposition, MetricSource, MetricType};

/// Metrics of the process. Those from `/proc` are omitted if it does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFigures {
    /// CPU time of all threads, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_fds: Option<u64>,
    /// The limit of open file descriptors, if there is one.
    pub max_fds: Option<u64>,
    /// Start of the process, in nanoseconds since 1970.
    pub started_unix_ns: Option<u64>,
}

impl ProcessFigures {
    /// Reads the present values. Takes tens of microseconds, so use it for scrapes, not for requests.
    pub fn read() -> Self {
        Self {
            cpu_ns: u64::try_from(process_clock().as_nanos()).unwrap_or(u64::MAX),
            resident_bytes: resident_bytes(),
            open_fds: open_fds(),
            max_fds: getrlimit(Resource::Nofile).current,
            started_unix_ns: started_unix_ns(),
        }
    }
}

/// The second field of `/proc/self/statm`, in pages (proc(5)).
fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(page_size()).ok()?)
}

/// Entries of `/proc/self/fd`, minus the descriptor that reads the directory.
fn open_fds() -> Option<u64> {
    let entries = fs::read_dir("/proc/self/fd").ok()?.count();
    u64::try_from(entries.saturating_sub(1)).ok()
}

/// Field 22 of `/proc/self/stat` (ticks after boot), and the boot time from `/proc/stat` (proc(5)).
fn started_unix_ns() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Field 2 is the command in parentheses, and may contain anything; field 3 follows the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let after_boot = ticks.checked_mul(1_000_000_000)?.checked_div(clock_ticks_per_second())?;
    boot.checked_mul(1_000_000_000)?.checked_add(after_boot)
}

/// The process's metrics as a source for the page.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessSource;

impl MetricSource for ProcessSource {
    fn expose(&self, page: &mut Exposition) {
        let figures = ProcessFigures::read();
        let help = "CPU time of the process, user and system.";
        page.family("process_cpu_seconds_total", MetricType::Counter, help);
        page.seconds(&[], figures.cpu_ns);
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory.", figures.resident_bytes),
            ("process_open_fds", "Open file descriptors.", figures.open_fds),
            ("process_max_fds", "Most file descriptors that may be open.", figures.max_fds),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                page.family(name, MetricType::Gauge, help);
                page.count(&[], value);
            }
        }
        if let Some(started) = figures.started_unix_ns {
            let help = "Start of the process, seconds since 1970.";
            page.family("process_start_time_seconds", MetricType::Gauge, help);
            page.seconds(&[], started);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods)] // the very thing compared with
    fn figures_are_plausible() {
        let before = ProcessFigures::read();
        let file = fs::File::open("/proc/self/stat").unwrap();
        let block = vec![1_u8; 16 << 20];
        std::hint::black_box(&block);
        let after = ProcessFigures::read();
        // Other tests run in the same process: only what they cannot undo is compared.
        assert!(after.cpu_ns > before.cpu_ns);
        assert!(after.resident_bytes.unwrap() > 16 << 20);
        assert!(after.open_fds.unwrap() >= 4);
        drop(file);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let started = after.started_unix_ns.unwrap() / 1_000_000_000;
        assert!((now - 3_600..=now + 2).contains(&started), "{started} against {now}");
    }
}
