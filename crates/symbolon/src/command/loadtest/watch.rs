//! Who watches a load test while it runs: viewers of its page, and those who collect its metrics.

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use symbolon_loadtest::RunOptions;
use symbolon_loadtest::results::Results;
use symbolon_loadtest::watch::{Destination, Listen, WatchOptions, Watching};

use super::output::Output;
use crate::command::CommandError;
use crate::command::api::trust;

/// `--live`, `--otlp`, `--remote-write`, and the files with the header fields that those want.
pub(super) fn arguments() -> [Arg; 5] {
    let url = |name: &'static str, help: &'static str| Arg::new(name).long(name).value_name("URL").help(help);
    let fields = |name: &'static str, of: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .requires(of)
            .value_parser(value_parser!(PathBuf))
            .help(help)
    };
    [
        Arg::new("live")
            .long("live")
            .value_name("HOST:PORT")
            .value_parser(value_parser!(Listen))
            .help("Serve a page with the course while it runs, for instance on 127.0.0.1:0, a free port"),
        url("otlp", "Send metrics to this collector by OTLP over HTTP; without a path to /v1/metrics"),
        fields("otlp-header-file", "otlp", "Header fields for it, one a line: 'Authorization: Bearer ...'"),
        url("remote-write", "Send metrics by Prometheus' remote write; without a path to /api/v1/write"),
        fields("remote-write-header-file", "remote-write", "Header fields for it, one a line"),
    ]
}

/// Those who watch; nobody unless the arguments say so.
pub(super) struct Watchers(Option<Watching>);

impl Watchers {
    /// Begins to serve and to send what the arguments say, of the load test with these options.
    pub(super) fn start(matches: &ArgMatches, options: &mut RunOptions) -> Result<Self, CommandError> {
        let watching = Watching::start(WatchOptions {
            live: matches.get_one::<Listen>("live").cloned(),
            otlp: destination(matches, "otlp", "otlp-header-file")?,
            remote_write: destination(matches, "remote-write", "remote-write-header-file")?,
            every: None,
        })?;
        if let Some(watching) = &watching {
            options.watch = watching.watch();
            if let Some(address) = watching.address() {
                writeln!(std::io::stderr(), "live: http://{address}/")?;
            }
        }
        Ok(Self(watching))
    }

    /// The load test is over, and `finished` says how its report was written.
    pub(super) fn end(
        self,
        results: &Results,
        output: &Output,
        finished: Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let Some(watching) = self.0 else { return finished };
        let says = match &finished {
            Ok(()) | Err(CommandError::Failed(_)) => format!("The report is {}.", output.report().display()),
            Err(error) => format!("The report could not be written: {error}"),
        };
        for note in watching.end(Some(results), &says) {
            writeln!(std::io::stderr(), "{note}")?;
        }
        finished
    }
}

/// Where metrics go.
fn destination(matches: &ArgMatches, name: &str, fields: &str) -> Result<Option<Destination>, CommandError> {
    let Some(url) = matches.get_one::<String>(name) else { return Ok(None) };
    let mut destination = Destination::at(url)?;
    if let Some(path) = matches.get_one::<PathBuf>(fields) {
        destination = destination.with_fields_of(path)?;
    }
    if destination.url.scheme() == "https" {
        destination.trust = Some(trust::of_machine()?);
    }
    Ok(Some(destination))
}
