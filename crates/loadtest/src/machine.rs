//! What the machine is, for reports.

use std::fs;

use crate::results::Machine;

/// Reads it from `/proc`; what is not there stays empty.
pub(crate) fn describe() -> Machine {
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

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(':')?.1.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let machine = describe();
        assert!(machine.cores > 0 && machine.memory_mib > 0 && machine.system.len() > "Linux ".len());
        assert_eq!(field("a: 1\nmodel name\t: X 5\n", "model name").as_deref(), Some("X 5"));
    }
}
