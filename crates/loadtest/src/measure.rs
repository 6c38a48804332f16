//! The server's CPU per request, beside what the machine needs for the cryptography and for bare HTTP.
//!
//! Every figure of a round is taken within seconds of the others: machines are noisy, and a ratio is only as
//! good as its two halves are of one moment. Rounds repeat and the median counts.

mod floor;
mod generator;
mod hello;
mod primitive;
mod report;
mod rounds;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use symbolon_crypto::Algorithm;
use tokio::signal::unix::{SignalKind, signal};

use crate::LoadtestError;
use crate::executor::Stop;
use crate::provider::ProviderOptions;
use crate::scenario::Scenario;
use crate::seed::SeedOptions;

pub use generator::{GeneratorOptions, GeneratorReport, generator};
pub use report::{HelloFigures, PrimitiveFigures, Report, ScenarioFigures};

/// What to measure, and how thoroughly.
pub struct MeasureOptions {
    /// The scenarios, in this order; none measures the machine alone and needs no provider.
    pub scenarios: Vec<Scenario>,
    /// What the provider is to sign with.
    pub algorithm: Algorithm,
    /// Keep-alive connections, which is also the number of requests in flight.
    pub connections: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// Rounds that count; one more goes before them to warm everything up.
    pub rounds: usize,
    /// How long a scenario is loaded in each round.
    pub slice: Duration,
    /// End a slice after this many requests instead.
    pub requests: Option<u64>,
    /// What to seed.
    pub seed: SeedOptions,
    /// The provider to measure. Its program is the hello server too.
    pub provider: ProviderOptions,
    /// The arguments that make `program` the hello server; `--listen 127.0.0.1:0` and `--per-core` are added.
    pub hello_arguments: Vec<String>,
}

impl MeasureOptions {
    /// All operations with RS256, 32 in flight, 5 rounds of 1 s, against a provider that `program` starts.
    pub fn new(program: PathBuf) -> Self {
        Self {
            scenarios: Scenario::operations().collect(),
            algorithm: Algorithm::Rs256,
            connections: 32,
            threads: 1,
            rounds: 5,
            slice: Duration::from_secs(1),
            requests: None,
            seed: SeedOptions::default(),
            provider: ProviderOptions::new(program),
            hello_arguments: vec!["loadtest".into(), "hello".into()],
        }
    }

    fn check(&self) -> Result<(), LoadtestError> {
        let missing = match self {
            _ if self.connections == 0 => "no connections",
            _ if self.rounds == 0 => "no rounds",
            _ if self.slice.is_zero() || self.requests == Some(0) => "an empty slice",
            _ => return Ok(()),
        };
        Err(LoadtestError::Options(format!("nothing to measure: {missing}")))
    }
}

/// Measures; blocks the calling thread, which must not be one of an asynchronous runtime. Says on `progress`
/// what it does. Processes that it starts end with it, also on an error, on Ctrl-C and on SIGTERM.
///
/// # Errors
/// [`LoadtestError`] when it could not run. A wrong answer or a limit that is not held is no error: see
/// [`Report::passed`].
pub fn measure(options: &MeasureOptions, progress: &mut (dyn Write + Send)) -> Result<Report, LoadtestError> {
    options.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = Stop::default();
    let measured = runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            measured = rounds::run(options, &stop, progress) => measured,
            _ = tokio::signal::ctrl_c() => Err(LoadtestError::Interrupted),
            _ = terminated.recv() => Err(LoadtestError::Interrupted),
        }
    });
    stop.stop();
    // A slice under way ends by itself, its servers being gone; nobody waits for it.
    runtime.shutdown_background();
    measured
}
