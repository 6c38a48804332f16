//! What the generator itself can do, and what it costs: against a server that does nothing.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::LoadtestError;
use crate::executor::{Load, Open, OpenOutcome, Schedule, open};
use crate::process::Server;
use crate::run::on_a_runtime;

use super::hello::{HelloVisitor, Method};

/// What is tried.
pub struct GeneratorOptions {
    /// The binary that has the hello server, as `loadtest hello`.
    pub program: PathBuf,
    /// Requests per second.
    pub rate: f64,
    /// For how long.
    pub duration: Duration,
    /// Connections at most.
    pub connections: usize,
    /// Threads that send; one more lets arrivals go.
    pub threads: usize,
}

/// What came of it.
pub struct GeneratorReport {
    rate: f64,
    threads: usize,
    outcome: OpenOutcome,
}

/// Drives the open executor against the hello server at a rate; blocks the calling thread, which must not be one of an
/// asynchronous runtime.
///
/// # Errors
/// [`LoadtestError`] when it could not run.
pub fn generator(options: &GeneratorOptions) -> Result<GeneratorReport, LoadtestError> {
    let schedule = Schedule::constant(options.rate, options.duration)?;
    if options.connections == 0 || options.threads == 0 {
        return Err(LoadtestError::Options("it needs a connection and a thread".into()));
    }
    on_a_runtime(async {
        let arguments = ["loadtest", "hello", "--listen", "127.0.0.1:0"];
        let server = Server::start(&options.program, arguments, &[], None).await?;
        let authority = server.url.trim_start_matches("http://").to_owned();
        let address: SocketAddr =
            authority.parse().map_err(|_| LoadtestError::Options(format!("{authority} is no address")))?;
        let load = Load {
            threads: options.threads,
            warm_up: Duration::from_secs(1),
            pid: Some(server.pid()),
            ..Load::to(address)
        };
        let visitors = HelloVisitor::all(Method::Get, &authority, options.connections);
        let loading = move || open(&Open { load, schedule }, visitors, &mut |_, _| ());
        let outcome =
            tokio::task::spawn_blocking(loading).await.map_err(|_| LoadtestError::Interrupted)??;
        server.kill().await;
        Ok(GeneratorReport { rate: options.rate, threads: options.threads, outcome })
    })
}

impl GeneratorReport {
    /// Whether every arrival was sent and answered, and the rate was reached within 1 %.
    pub fn passed(&self) -> bool {
        let open = &self.outcome;
        open.outcome.tally.is_clean() && open.achieved_rate >= 0.99 * self.rate
    }
}

impl fmt::Display for GeneratorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, outcome) = (&self.outcome, &self.outcome.outcome);
        let tally = &outcome.tally;
        writeln!(
            f,
            "{:.0}/s of {:.0}/s: {} requests, {} failed, {} wrong, {} missed",
            open.achieved_rate,
            self.rate,
            tally.requests(),
            tally.failures_total(),
            tally.wrong_total(),
            tally.missed,
        )?;
        let us = outcome.generator_us_per_request();
        let cores = us * open.achieved_rate / 1e6;
        writeln!(
            f,
            "generator: {us:.2} µs of CPU per request, {cores:.2} cores on {} threads",
            self.threads
        )?;
        let server = outcome.server_us_per_request().unwrap_or_default();
        writeln!(f, "bare server: {server:.2} µs of CPU per request")?;
        let milliseconds = |percentile| tally.latency(percentile).as_secs_f64() * 1e3;
        writeln!(
            f,
            "latency in ms: P50 {:.3}, P99 {:.3}, P99.9 {:.3}; the generator's own lag {:.3} at worst",
            milliseconds(50.0),
            milliseconds(99.0),
            milliseconds(99.9),
            open.worst_lag.as_secs_f64() * 1e3,
        )
    }
}
