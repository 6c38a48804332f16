//! Where load tests write their results, and what decides about the exit status.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::gate::{self, Gate, Pairing, Tolerance};
use symbolon_loadtest::report;
use symbolon_loadtest::results::{Results, VERSION};

use super::terminal::tell;
use crate::command::CommandError;

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
