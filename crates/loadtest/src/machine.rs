//! What the machine is and how busy, for reports.

use std::fs;

use crate::results::Machine;

/// Reads it from `/proc`; what is not there stays empty.
pub fn describe() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let system = read("/proc/sys/kernel/osrelease");
    Machine {
        processor,
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_mib: kib / 1024,
        system: format!("Linux {}", system.trim()),
    }
}

/// How busy all cores have been since the machine started, in ticks of `/proc/stat`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy {
    busy: u64,
    all: u64,
    cores: u64,
}

impl Busy {
    /// Reads it; none where there is no `/proc/stat`.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line, `cpu user nice system idle iowait irq softirq steal`, sums over all cores, whose own lines
    /// follow it.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let figures: Vec<u64> =
            lines.next()?.strip_prefix("cpu ")?.split_whitespace().take(8).flat_map(str::parse).collect();
        let all = figures.iter().sum();
        let idle: u64 = figures.get(3..5)?.iter().sum();
        let cores = lines.take_while(|line| line.starts_with("cpu")).count();
        Some(Self { busy: all - idle, all, cores: u64::try_from(cores).ok()? })
    }

    /// Cores that were busy since an earlier reading, with anything.
    pub(crate) fn cores_since(&self, earlier: &Self) -> Option<f64> {
        let (busy, all) = (self.busy.checked_sub(earlier.busy)?, self.all.checked_sub(earlier.all)?);
        (all > 0).then(|| self.cores as f64 * busy as f64 / all as f64)
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(':')?.1.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_cores_are_what_was_not_idle() {
        let read = |line: &str| Busy::parse(&format!("{line}\ncpu0 1\ncpu1 1\nintr 5\n")).unwrap();
        let before = read("cpu  100 0 50 800 50 0 0 0 7 7");
        // 100 ticks of two cores: 60 idle or waiting for a disk, 10 taken by another machine.
        let after = read("cpu  120 0 60 850 60 0 0 10 9 9");
        assert_eq!(after.cores_since(&before), Some(2.0 * 0.4));
        assert_eq!(after.cores_since(&after), None);
        assert!(Busy::parse("intr 5").is_none());
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let machine = describe();
        assert!(machine.cores > 0 && machine.memory_mib > 0 && machine.system.len() > "Linux ".len());
        assert_eq!(field("a: 1\nmodel name\t: X 5\n", "model name").as_deref(), Some("X 5"));
    }
}
