//! Where load tests write their results, and what they print at the end.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::report;
use symbolon_loadtest::results::{Capacity, Results, Run, VERSION};

use crate::command::CommandError;

/// The file with the log of the providers that are started.
const LOG: &str = "provider.log";

/// `--out`, and `--compare`.
pub(super) fn arguments() -> [Arg; 2] {
    [
        Arg::new("out")
            .long("out")
            .value_name("DIR")
            .default_value("loadtest-report")
            .value_parser(value_parser!(PathBuf))
            .help("Where report.html, report.md, results.json and the provider's log go"),
        Arg::new("compare")
            .long("compare")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("The results.json of an earlier run, to stand beside this one in the report"),
    ]
}

/// The directory of the results, and the results to compare them with.
pub(super) struct Output {
    directory: PathBuf,
    earlier: Option<Results>,
}

impl Output {
    /// Checked before the run, which would be useless if its results could not be written.
    pub(super) fn of(matches: &ArgMatches) -> Result<Self, CommandError> {
        let directory = matches.get_one::<PathBuf>("out").cloned().unwrap_or_default();
        let unusable =
            |error: std::io::Error| LoadtestError::Options(format!("--out {}: {error}", directory.display()));
        fs::create_dir_all(&directory).map_err(unusable)?;
        tempfile::tempfile_in(&directory).map_err(unusable)?;
        let earlier = matches.get_one::<PathBuf>("compare").map(|path| read(path)).transpose()?;
        Ok(Self { directory, earlier })
    }

    /// The file to which every provider of a run appends its log. The log of an earlier run is removed.
    pub(super) fn log(&self) -> Result<PathBuf, CommandError> {
        let path = self.directory.join(LOG);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LoadtestError::Options(format!("{}: {error}", path.display())).into())
            }
            _ => Ok(path),
        }
    }

    /// Prints the results, writes them and their reports, and fails if the results are bad. Prints first, because the
    /// disk may have become full, or the directory may have been removed, since the run began.
    pub(super) fn finish(&self, results: &Results) -> Result<(), CommandError> {
        tell(results)?;
        let text = serde_json::to_string_pretty(results).map_err(std::io::Error::from)?;
        self.write("results.json", &text)?;
        self.write("report.md", &report::markdown(results, self.earlier.as_ref()))?;
        self.write("report.html", &report::html(results, self.earlier.as_ref()))?;
        writeln!(std::io::stdout(), "written to {}", self.directory.display())?;
        match results.partial {
            None if results.passed() => Ok(()),
            None => Err(CommandError::Failed("a threshold did not hold, or an answer was wrong")),
            Some(_) => Err(CommandError::Failed("it was cut short: the results are partial")),
        }
    }

    /// Replaces the file completely or not at all: half a file would look damaged.
    fn write(&self, name: &str, text: &str) -> Result<(), LoadtestError> {
        let path = self.directory.join(name);
        let failed = |error: std::io::Error| {
            LoadtestError::Options(format!("{} cannot be written: {error}", path.display()))
        };
        let readable = Permissions::from_mode(0o666);
        let file = tempfile::Builder::new().permissions(readable).tempfile_in(&self.directory);
        let mut file = file.map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Reads a `results.json`.
pub(super) fn read(path: &Path) -> Result<Results, CommandError> {
    let unusable = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    let results: Results = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    if results.version > VERSION {
        let version = results.version;
        return Err(
            unusable(format!("it has version {version}, and this program reads up to {VERSION}")).into()
        );
    }
    Ok(results)
}

fn tell(results: &Results) -> Result<(), CommandError> {
    let mut to = std::io::stdout().lock();
    if let Some(why) = &results.partial {
        writeln!(to, "partial: {why}")?;
    }
    // Probes of a search for a limit are in the report only.
    for run in results.runs.iter().filter(|run| !run.probe) {
        tell_run(&mut to, run)?;
    }
    for capacity in &results.capacities {
        tell_capacity(&mut to, capacity)?;
    }
    Ok(())
}

fn tell_capacity(to: &mut impl Write, capacity: &Capacity) -> std::io::Result<()> {
    let Capacity { scenario, limit, normal, peak, evidence, .. } = capacity;
    if *limit <= 0.0 {
        return writeln!(to, "{scenario}: no rate held that was tried");
    }
    let failing = capacity.failing.map(|rate| format!(", not {rate:.0}/s")).unwrap_or_default();
    writeln!(to, "{scenario} holds {limit:.0}/s{failing}")?;
    writeln!(to, "  {}: {evidence}", report::bottleneck(capacity.bottleneck))?;
    let users = capacity.monthly_active_users;
    writeln!(to, "  plan with {normal:.0}/s, {peak:.0}/s at the worst time: {users:.0} monthly active users")
}

fn tell_run(to: &mut impl Write, run: &Run) -> std::io::Result<()> {
    writeln!(to, "{}: {}", run.name, if run.passed() { "passed" } else { "FAILED" })?;
    writeln!(
        to,
        "  {:.1}/s of {:.1}/s for {:.0} s: {} requests, {} failed, {} wrong, {} missed",
        run.achieved_rate, run.rate, run.seconds, run.requests, run.failures, run.wrong, run.missed,
    )?;
    writeln!(
        to,
        "  latency in ms: P50 {:.2}, P95 {:.2}, P99 {:.2}, P99.9 {:.2}, longest {:.2}",
        run.p50_ms, run.p95_ms, run.p99_ms, run.p999_ms, run.max_ms,
    )?;
    if let Some(server) = run.server_cpu_us_per_request {
        let generator = run.generator_cpu_us_per_request;
        writeln!(to, "  CPU per request in µs: server {server:.1}, generator {generator:.1}")?;
    }
    for (kind, count) in run.wrong_kinds.iter().chain(&run.failure_kinds) {
        writeln!(to, "  {count} × {kind}")?;
    }
    if let Some(wrong) = &run.first_wrong {
        writeln!(to, "  for instance {wrong}")?;
    }
    for threshold in run.thresholds.iter().filter(|threshold| !threshold.held) {
        writeln!(to, "  {} {} did not hold: {:.4}", threshold.name, threshold.limit, threshold.value)?;
    }
    if let Some(limit) = &run.generator_limit {
        writeln!(to, "  the generator was the limit: {limit}")?;
    }
    Ok(())
}
