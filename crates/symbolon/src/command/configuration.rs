//! `symbolon config`.

use std::io::Write;

use clap::ArgMatches;
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_config as config;

use super::{CommandError, load};
use crate::process::{breached_passwords, master_key, places, store};

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match matches.subcommand() {
        Some(("check", matches)) => {
            let config = load(matches)?;
            let mut found = store::check(&config);
            found.extend(master_key::check_stored(&config));
            found.extend(breached_passwords::check(&config));
            found.extend(places::check(&config));
            let of_files = config.check_files(SystemClock::start().now(), found)?;
            for warning in config.warnings().iter().chain(&of_files) {
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
