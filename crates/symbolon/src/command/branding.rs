//! `symbolon branding`: how the issuer's pages present it.

pub(super) mod logo;
pub(super) mod style;

use clap::{ArgMatches, Command};

use super::CommandError;

/// The path of the issuer's logo.
const LOGO: &str = "/branding/logo";

pub(super) fn command() -> Command {
    Command::new("branding")
        .about("Manage the logo and the style of an issuer's pages")
        .subcommand_required(true)
        .subcommand(logo::command("Put or remove the logo of the issuer's pages", None))
        .subcommand(style::command("Show, set or remove variables of the pages' style sheet", None))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("logo", matches)) => logo::run(matches, |_| Ok(LOGO.to_owned())),
        Some(("style", matches)) => style::run(matches, |_| Ok(("/settings".to_owned(), "settings"))),
        _ => Ok(()),
    }
}
