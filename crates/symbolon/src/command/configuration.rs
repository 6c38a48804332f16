//! `symbolon config`.

use std::io::Write;

use clap::ArgMatches;
use symbolon_server::config;

use super::{CommandError, load};

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match matches.subcommand() {
        Some(("check", matches)) => {
            let config = load(matches)?;
            for warning in config.warnings() {
                writeln!(out, "warning: {}: {}", warning.key, warning.text)?;
            }
            writeln!(out, "the configuration is good")?;
        }
        Some(("show", matches)) => write!(out, "{}", load(matches)?.show())?,
        Some(("schema", _)) => writeln!(out, "{:#}", config::json_schema())?,
        _ => {}
    }
    Ok(())
}
