//! The question before what cannot be undone, and `--yes`, which answers it.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Arg, ArgAction, ArgMatches};

use super::CommandError;
use super::output::line;

/// `--yes`.
pub(super) fn argument() -> Arg {
    Arg::new("yes")
        .long("yes")
        .action(ArgAction::SetTrue)
        .help("Do not ask on a terminal whether it is meant")
}

/// Asks on a terminal whether to go on. A script has no terminal at its standard input, so it is not asked.
///
/// # Errors
/// [`CommandError::Failed`] where the answer is not yes.
pub(super) fn ask(matches: &ArgMatches, question: &str) -> Result<(), CommandError> {
    if matches.get_flag("yes") || !io::stdin().is_terminal() {
        return Ok(());
    }
    let mut out = io::stderr();
    write!(out, "{} [y/N] ", line(question)).and_then(|()| out.flush())?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|source| CommandError::File { path: "the terminal".into(), source })?;
    if is_yes(&answer) {
        return Ok(());
    }
    Err(CommandError::Failed("cancelled: nothing was changed"))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for yes in ["y\n", "Y\r\n", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "no\n", "yess\n", "y n\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
