//! The `symbolon` binary.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Memory that one thread allocates is freed by another all the time, and millions of small records stay: the system's
/// allocator spends a tenth of the CPU on that (`docs/decisions/016-allocator.md`).
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    symbolon::run()
}
