//! How many instructions the server executes for one request of each operation; of a login, for all of its requests.
//!
//! Times depend on the machine, on its other load and on the minute; the number of executed instructions does not. The
//! server runs under valgrind's `callgrind`, which counts every instruction of every thread of the process, and nothing
//! of the kernel. The load generator is another process, so it is not counted. `scripts/instructions` runs this.
//!
//! For the same figure every time: one worker thread; one connection with one request in flight; a fixed number of
//! requests; EdDSA (RSA would be nine tenths of every figure); a pause after the requests, in which the audit log
//! writes what it gathered, so that this is counted too; and the best of several such slices. Valgrind shows the
//! program a processor without AVX-512, so the cryptography takes the same code path on every machine that has AVX2.

mod baseline;
mod callgrind;
mod limit;
mod operation;
mod visitor;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Scenario, Visitor};
use symbolon_loadtest::seed::{Seed, SeedOptions, harvest_codes, plant};
use tokio::runtime::Runtime;

use callgrind::Counted;

pub use baseline::{ALLOWED_PERCENT, Baseline, Comparison};
pub use limit::Limit;
pub use operation::Operation;

/// How long the server gets for work that requests leave behind: the audit log gathers for a second at most.
const SETTLE: Duration = Duration::from_millis(1_300);

/// How many servers are counted at the same time.
const SERVERS: usize = 4;

/// How many users have a passkey, where one signs in by it.
const PASSKEYS: usize = 4;

/// Instructions per request, by the operation's name. A whole login counts as one request.
pub type Counts = BTreeMap<String, u64>;

/// What to count, and how.
pub struct CountOptions {
    /// The binary that is counted.
    pub binary: PathBuf,
    /// The operations to count.
    pub operations: Vec<Operation>,
    /// Requests of each slice; a tenth of it of whole logins. Codes live for a minute, in which all of a slice must be redeemed.
    pub requests: u64,
    /// Slices of each operation that count, after one that does not: in that one caches fill, and every token is
    /// verified for the first time. The slice with the fewest instructions is reported, because the sweep, which runs
    /// every five seconds by the clock, is as much as a tenth of a slice of cheap requests; of ten slices, some are
    /// free of it.
    pub slices: u32,
    /// The directory that keeps callgrind's dumps, one for each operation, for `callgrind_annotate`.
    pub dumps: Option<PathBuf>,
}

impl CountOptions {
    /// All operations, ten slices of 300 requests each.
    pub fn new(binary: PathBuf) -> Self {
        Self { binary, operations: Operation::ALL.to_vec(), requests: 300, slices: 10, dumps: None }
    }
}

/// Starts servers under callgrind, sends each its part of the operations, one after the other, and returns the instructions
/// per request. The servers run at the same time: three quarters of a count are pauses. Reports its progress on `progress`.
///
/// # Errors
/// [`LoadtestError`] if valgrind cannot be started or does not answer, or if any answer was wrong.
pub fn count(options: &CountOptions, progress: &mut (dyn Write + Send)) -> Result<Counts, LoadtestError> {
    let parts: Vec<Vec<Operation>> = (0..SERVERS)
        .map(|server| options.operations.iter().copied().skip(server).step_by(SERVERS).collect())
        .filter(|part: &Vec<Operation>| !part.is_empty())
        .collect();
    let counted: Vec<(Result<Counts, LoadtestError>, Vec<u8>)> = std::thread::scope(|scope| {
        let servers: Vec<_> = parts.iter().map(|part| scope.spawn(|| count_part(options, part))).collect();
        servers.into_iter().map(|server| server.join().expect("no panic while counting")).collect()
    });
    let mut counts = Counts::new();
    for (part, printed) in counted {
        progress.write_all(&printed)?;
        counts.extend(part?);
    }
    Ok(counts)
}

/// The figures of some operations, by one server, and what is to be printed about them.
fn count_part(options: &CountOptions, operations: &[Operation]) -> (Result<Counts, LoadtestError>, Vec<u8>) {
    let mut printed = Vec::new();
    // The server's output is read on this runtime while the load blocks.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let counts = runtime.map_err(LoadtestError::from).and_then(|runtime| {
        let counts = run(&runtime, options, operations, &mut printed);
        runtime.shutdown_background();
        counts
    });
    (counts, printed)
}

fn run(
    runtime: &Runtime,
    options: &CountOptions,
    operations: &[Operation],
    progress: &mut (dyn Write + Send),
) -> Result<Counts, LoadtestError> {
    let seeding = SeedOptions {
        users: 20,
        tokens: 64,
        families: 8,
        passkeys: if operations.iter().any(|operation| operation.needs_passkeys()) { PASSKEYS } else { 0 },
        algorithm: Some(Algorithm::EdDsa),
        ..SeedOptions::default()
    };
    let (counted, seed) = runtime.block_on(async {
        let counted = Counted::start(&options.binary, options.dumps.as_deref()).await?;
        let seed = plant(counted.target().await?, &seeding, progress).await?;
        Ok::<_, LoadtestError>((counted, Arc::new(seed)))
    })?;
    if operations.iter().any(|operation| operation.needs_groups()) {
        counted.admin().plant(&seed)?;
    }
    counted.count_from_now_on()?;
    let mut counts = Counts::new();
    for operation in operations {
        let settings = operation.settings();
        if let Some((set, _)) = &settings {
            counted.admin().set(&seed.client.id, set)?;
        }
        let slices = Counting { runtime, options, seed: &seed, operation: *operation }.count(&counted)?;
        if let Some((_, taken_back)) = &settings {
            counted.admin().set(&seed.client.id, taken_back)?;
        }
        let least = slices.iter().min().copied().unwrap_or(u64::MAX);
        writeln!(progress, "{}: {least} instructions, the least of {slices:?}", operation.name())?;
        counts.insert(operation.name().to_owned(), least);
    }
    runtime.block_on(counted.end());
    Ok(counts)
}

/// Counts the operations once more that take more than their baseline allows, and keeps the lower figure of each: on a
/// busy machine threads of the server wait for each other in other places, which is up to 4 % of some operations. What
/// really takes more does so both times.
///
/// # Errors
/// As [`count`].
pub fn count_again(
    options: CountOptions,
    baseline: &Baseline,
    mut counts: Counts,
    progress: &mut (dyn Write + Send),
) -> Result<Counts, LoadtestError> {
    let comparison = baseline.compare(&counts);
    let over = comparison.over();
    let operations: Vec<Operation> =
        options.operations.iter().copied().filter(|operation| over.contains(operation.name())).collect();
    if operations.is_empty() {
        return Ok(counts);
    }
    writeln!(progress, "once more, because they take too much: {}", names(&operations))?;
    let again = count(&CountOptions { operations, ..options }, progress)?;
    keep_lower(&mut counts, again);
    Ok(counts)
}

fn names(operations: &[Operation]) -> String {
    operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ")
}

fn keep_lower(counts: &mut Counts, again: Counts) {
    for (name, now) in again {
        counts.entry(name).and_modify(|before| *before = now.min(*before)).or_insert(now);
    }
}

/// One operation, requested again and again.
struct Counting<'a> {
    runtime: &'a Runtime,
    options: &'a CountOptions,
    seed: &'a Arc<Seed>,
    operation: Operation,
}

impl Counting<'_> {
    /// Instructions per request, of each slice that counts.
    fn count(&self, counted: &Counted) -> Result<Vec<u64>, LoadtestError> {
        let (scenario, requests) =
            (self.operation.scenario(), self.operation.requests(self.options.requests));
        let mut visitors = self.operation.visitors(self.seed)?;
        let mut slices = Vec::new();
        for slice in 0..=self.options.slices {
            if scenario == Scenario::Code {
                let codes = usize::try_from(requests).unwrap_or(usize::MAX);
                self.runtime.block_on(harvest_codes(self.seed, codes))?;
                std::thread::sleep(SETTLE);
            }
            counted.zero()?;
            visitors = self.ask(requests, visitors)?;
            std::thread::sleep(SETTLE);
            let instructions = counted.instructions(self.operation.name())?;
            if slice > 0 {
                slices.push(instructions / requests.max(1));
            }
        }
        Ok(slices)
    }

    /// Sends `requests` requests, one after the other, and checks every answer.
    fn ask(
        &self,
        requests: u64,
        visitors: Vec<Box<dyn Visitor>>,
    ) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        let load = Load::to(self.seed.target.peer.clone());
        let outcome = closed(&Closed { load, until: Until::Requests(requests) }, visitors)?;
        if outcome.tally.is_clean() && outcome.tally.right == requests {
            return Ok(outcome.visitors);
        }
        let (wrong, failed) = (outcome.tally.first_wrong(), &outcome.tally.failures);
        let detail = format!("{} right answers of {requests}: {wrong:?} {failed:?}", outcome.tally.right);
        Err(LoadtestError::Refused { what: self.operation.name(), status: 0, detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_figure_of_two_counts_is_kept() {
        let counts = |figures: &[(&str, u64)]| -> Counts {
            figures.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let mut kept = counts(&[("code", 480), ("silent", 70), ("refresh", 400)]);
        keep_lower(&mut kept, counts(&[("code", 460), ("silent", 72)]));
        assert_eq!(kept, counts(&[("code", 460), ("silent", 70), ("refresh", 400)]));
    }
}
