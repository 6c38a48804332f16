//! Where load tests write their results, and what they print at the end.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::gate::{self, Gate, Pairing, Tolerance};
use symbolon_loadtest::report;
use symbolon_loadtest::results::{Capacity, Example, Gain, Latency, Results, Run, VERSION, gains};

use crate::command::CommandError;

/// Lines of a request or an answer that the terminal shows; the report has all.
const EXAMPLE_LINES: usize = 12;

/// The file with the log of the providers that are started.
const LOG: &str = "provider.log";

/// `--out`, and `--compare`.
pub(super) fn arguments() -> [Arg; 7] {
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
        Arg::new("history")
            .long("history")
            .value_name("FILE")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help("The results.json of many earlier runs, to be drawn over time in report.html"),
        Arg::new("tolerance")
            .long("tolerance")
            .value_name("FIGURE=PERCENT")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(value_parser!(Tolerance))
            .help(
                "By how much a figure may be worse than in the runs to compare with, for instance 'p99_ms=10%'; beyond it the \
                 exit status is 1",
            ),
        Arg::new("junit")
            .long("junit")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Write the verdicts as JUnit's XML too"),
        Arg::new("job-summary")
            .long("job-summary")
            .value_name("FILE")
            .env("GITHUB_STEP_SUMMARY")
            .value_parser(value_parser!(PathBuf))
            .help("Append the verdicts as Markdown to this file"),
        Arg::new("december-2025")
            .long("december-2025")
            .action(ArgAction::SetTrue)
            .help("Set the figures of December 2025 beside these; the suite of that name does without"),
    ]
}

/// The directory of the results, and the results to compare them with.
pub(super) struct Output {
    directory: PathBuf,
    december_2025: bool,
    earlier: Option<Results>,
    history: Vec<Results>,
    tolerances: Vec<Tolerance>,
    junit: Option<PathBuf>,
    job_summary: Option<PathBuf>,
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
        let history = matches.get_many::<PathBuf>("history").into_iter().flatten();
        let history = history.map(|path| read(path)).collect::<Result<_, _>>()?;
        let tolerances: Vec<_> = matches.get_many("tolerance").into_iter().flatten().cloned().collect();
        let beside = matches.try_get_one::<PathBuf>("beside").ok().flatten().is_some();
        if !tolerances.is_empty() && earlier.is_none() && !beside {
            return Err(CommandError::Usage(
                "--tolerance needs --compare with earlier results, or --beside".into(),
            ));
        }
        Ok(Self {
            directory,
            december_2025: matches.get_flag("december-2025"),
            earlier,
            history,
            tolerances,
            junit: matches.get_one("junit").cloned(),
            job_summary: matches.get_one("job-summary").cloned(),
        })
    }

    /// Where the report is, once it was written.
    pub(super) fn report(&self) -> PathBuf {
        self.directory.join("report.html")
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
        self.finish_beside(results, self.earlier.as_ref(), Pairing::Apart)
    }

    /// The same of two builds that took turns; the earlier one's results are written too.
    pub(super) fn finish_turns(&self, results: &Results, earlier: &Results) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(earlier).map_err(std::io::Error::from)?;
        self.write("earlier.json", &text)?;
        self.finish_beside(results, Some(earlier), Pairing::Turns)
    }

    fn finish_beside(
        &self,
        results: &Results,
        earlier: Option<&Results>,
        pairing: Pairing,
    ) -> Result<(), CommandError> {
        let results =
            &Results { december_2025: self.december_2025 || results.december_2025, ..results.clone() };
        tell(results)?;
        let text = serde_json::to_string_pretty(results).map_err(std::io::Error::from)?;
        self.write("results.json", &text)?;
        self.write("report.md", &report::markdown(results, earlier))?;
        self.write("report.html", &report::html_with_history(results, earlier, &self.history))?;
        let gate = earlier
            .filter(|_| !self.tolerances.is_empty())
            .map(|earlier| gate::compare(earlier, results, &self.tolerances, pairing));
        self.write_verdicts(results, gate.as_ref())?;
        writeln!(std::io::stdout(), "written to {}", self.directory.display())?;
        let gated = gate.as_ref().is_none_or(Gate::passed);
        match results.partial {
            None if results.passed() && gated => Ok(()),
            None if results.passed() => {
                Err(CommandError::Failed("it is worse than the earlier runs, or cannot be compared"))
            }
            None => Err(CommandError::Failed("a threshold did not hold, or an answer was wrong")),
            Some(_) => Err(CommandError::Failed("it was cut short: the results are partial")),
        }
    }

    /// Tells what the gate found, and writes it for CI systems.
    fn write_verdicts(&self, results: &Results, gate: Option<&Gate>) -> Result<(), CommandError> {
        let mut out = std::io::stdout().lock();
        for finding in gate.iter().flat_map(|gate| &gate.findings) {
            writeln!(out, "{}", finding.told())?;
        }
        for name in gate.iter().flat_map(|gate| &gate.unknown) {
            writeln!(out, "{name}: there is no earlier run of this name")?;
        }
        let failed = |path: &Path, error: std::io::Error| {
            LoadtestError::Options(format!("{} cannot be written: {error}", path.display()))
        };
        if let Some(path) = &self.junit {
            fs::write(path, gate::junit(results, gate)).map_err(|error| failed(path, error))?;
        }
        if let Some(path) = &self.job_summary {
            let mut file = fs::OpenOptions::new().append(true).create(true).open(path);
            let written = file.as_mut().map_or_else(
                |error| Err(std::io::Error::from(error.kind())),
                |file| file.write_all(gate::summary(results, gate).as_bytes()),
            );
            written.map_err(|error| failed(path, error))?;
        }
        Ok(())
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
    for gain in gains(&results.capacities) {
        tell_gain(&mut to, &gain)?;
    }
    Ok(())
}

/// What more shards brought, as far as both limits say.
fn tell_gain(to: &mut impl Write, gain: &Gain<'_>) -> std::io::Result<()> {
    let Gain { scenario, shards: (fewer, more), between } = gain;
    let told = match between {
        None => "what they bring is not known, because one of the limits was not found".to_owned(),
        Some((least, most)) => {
            let between = format!("between {:+.0} % and {:+.0} %", 100.0 * least, 100.0 * most);
            if *least < 0.0 && *most > 0.0 {
                format!("{between}, so that no difference is known")
            } else {
                between
            }
        }
    };
    writeln!(to, "{scenario}: {more} shards beside {fewer}: {told}")
}

fn tell_capacity(to: &mut impl Write, capacity: &Capacity) -> std::io::Result<()> {
    let Capacity { scenario, shards, limit, normal, peak, evidence, .. } = capacity;
    let scenario = match shards {
        None => scenario.clone(),
        Some(1) => format!("{scenario}, 1 shard"),
        Some(shards) => format!("{scenario}, {shards} shards"),
    };
    if *limit <= 0.0 {
        return writeln!(to, "{scenario}: no rate held that was tried");
    }
    if !capacity.is_claimed() {
        let limit = format!("{limit:.0}/s held; the provider's limit was not found");
        return writeln!(to, "{scenario}: {limit}, because the generator had its own: {evidence}");
    }
    let failing = capacity.failing.map(|rate| format!(", not {rate:.0}/s")).unwrap_or_default();
    writeln!(to, "{scenario} holds {limit:.0}/s{failing}")?;
    writeln!(to, "  {}: {evidence}", report::bottleneck(capacity.bottleneck))?;
    let users = capacity.monthly_active_users;
    writeln!(to, "  plan with {normal:.0}/s, {peak:.0}/s at the worst time: {users:.0} monthly active users")
}

fn tell_run(to: &mut impl Write, run: &Run) -> std::io::Result<()> {
    let verdict = match report::of_run(run) {
        report::PASS => "passed",
        report::WARN => "passed, with a warning",
        _ => "FAILED",
    };
    writeln!(to, "{}: {verdict}", run.name)?;
    writeln!(
        to,
        "  {:.1}/s of {:.1}/s for {:.0} s: {} requests, {} failed, {} wrong, {} missed",
        run.achieved_rate, run.rate, run.seconds, run.requests, run.failures, run.wrong, run.missed,
    )?;
    if let Some(loss) = run.loss() {
        writeln!(to, "  {loss}")?;
    }
    tell_latency(to, "latency", &run.latency)?;
    if let (Some(answers), true) = (&run.answers, run.failures + run.wrong + run.missed > 0) {
        tell_latency(to, "right answers alone", answers)?;
    }
    if let Some(server) = run.server_cpu_us_per_request {
        let generator = run.generator_cpu_us_per_request;
        writeln!(to, "  CPU per request in µs: server {server:.1}, generator {generator:.1}")?;
    }
    let kinds = run.wrong_kinds.iter().chain(&run.failure_kinds).chain(&run.unasked_kinds);
    for (kind, count) in kinds {
        writeln!(to, "  {count} × {}", kind.replace('_', " "))?;
        if let Some(example) = run.examples.get(kind) {
            tell_example(to, example)?;
        }
    }
    tell_besides(to, run)?;
    if run.wrong_kinds.contains_key(report::LIMITED) {
        writeln!(to, "  {}", report::limits_are_on())?;
    }
    for threshold in run.thresholds.iter().filter(|threshold| !threshold.held) {
        let measured =
            threshold.value.map_or_else(|| "it was not measured".into(), |value| format!("{value:.4}"));
        writeln!(to, "  {} {} did not hold: {measured}", threshold.what(), threshold.limit)?;
    }
    for sentence in report::leaks(run) {
        writeln!(to, "  {sentence}")?;
    }
    if let Some(limit) = &run.generator_limit {
        writeln!(to, "  the generator was at its limit, so that the provider's is not known: {limit}")?;
    }
    Ok(())
}

/// What went wrong in the warm-up and the ramps, which fails a run too. Examples that were shown already are not shown again.
fn tell_besides(to: &mut impl Write, run: &Run) -> std::io::Result<()> {
    if run.errors_besides > 0 {
        writeln!(
            to,
            "  in the warm-up or a ramp, outside of the plateau: {} went wrong",
            run.errors_besides
        )?;
    }
    let is_told = |kind: &String| {
        [&run.wrong_kinds, &run.failure_kinds, &run.unasked_kinds]
            .iter()
            .any(|kinds| kinds.contains_key(kind))
    };
    for (kind, count) in &run.besides_kinds {
        writeln!(to, "  {count} × {}, outside of the plateau", kind.replace('_', " "))?;
        if let Some(example) = run.examples.get(kind).filter(|_| !is_told(kind)) {
            tell_example(to, example)?;
        }
    }
    Ok(())
}

fn tell_latency(to: &mut impl Write, what: &str, of: &Latency) -> std::io::Result<()> {
    let told = |value: Option<f64>| match value {
        Some(ms) if of.is_at_least(ms) => format!("≥ {ms:.2}"),
        Some(ms) => format!("{ms:.2}"),
        None => "– (too few)".into(),
    };
    let [p50, p95, p99, p999, most] = [of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms].map(told);
    writeln!(to, "  {what} in ms: P50 {p50}, P95 {p95}, P99 {p99}, P99.9 {p999}, longest {most}")
}

/// What went wrong first, with the request and its answer, each in a few lines.
fn tell_example(to: &mut impl Write, example: &Example) -> std::io::Result<()> {
    writeln!(to, "    the first: {}", example.detail)?;
    for (sign, text) in [('>', &example.request), ('<', &example.answer)] {
        for line in text.lines().filter(|line| !line.trim().is_empty()).take(EXAMPLE_LINES) {
            writeln!(to, "    {sign} {line}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_that_may_be_none_is_called_so() {
        let told = |between| {
            let mut told = Vec::new();
            tell_gain(&mut told, &Gain { scenario: "silent", shards: (1, 8), between }).unwrap();
            String::from_utf8(told).unwrap()
        };
        assert_eq!(told(Some((0.1, 0.25))), "silent: 8 shards beside 1: between +10 % and +25 %\n");
        assert!(
            told(Some((-0.04, 0.05))).ends_with("between -4 % and +5 %, so that no difference is known\n")
        );
        assert!(told(None).contains("is not known"));
    }

    #[test]
    fn what_failed_in_the_warm_up_is_told_with_its_request_and_answer() {
        let example = Example {
            detail: "status 503".into(),
            request: "GET /userinfo HTTP/1.1".into(),
            answer: "HTTP/1.1 503 Service Unavailable".into(),
        };
        let run = Run {
            name: "userinfo 100/s".into(),
            requests: 100,
            errors_besides: 5,
            besides_kinds: [("status_503".to_owned(), 5)].into(),
            examples: [("status_503".to_owned(), example)].into(),
            ..Run::default()
        };
        let mut told = Vec::new();
        tell_run(&mut told, &run).unwrap();
        let told = String::from_utf8(told).unwrap();
        for wanted in [
            "userinfo 100/s: FAILED",
            "in the warm-up or a ramp, outside of the plateau: 5 went wrong",
            "5 × status 503",
            "> GET /userinfo",
            "< HTTP/1.1 503",
        ] {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    }
}
