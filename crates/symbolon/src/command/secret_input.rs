//! Passwords: from a file, from standard input or asked for, never from the command line, which others can see.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Arg, ArgMatches};
use rustix::termios::{self, LocalModes, OptionalActions};
use symbolon_crypto::secret::SecretString;

use super::CommandError;

/// `--password-file`.
pub(super) fn argument() -> Arg {
    Arg::new("password-file")
        .long("password-file")
        .value_name("FILE")
        .help("Read the password from the first line of a file, or of standard input where it is -")
}

/// The password of `--password-file`, if it was given.
pub(super) fn from_file(matches: &ArgMatches) -> Result<Option<SecretString>, CommandError> {
    match matches.get_one::<String>("password-file").map(String::as_str) {
        None => Ok(None),
        Some("-") => from_input().map(Some),
        Some(path) => {
            let text = fs::read_to_string(path);
            let text = text.map_err(|source| CommandError::File { path: path.to_owned(), source })?;
            first_line(&text).map(Some)
        }
    }
}

/// The password of `--password-file`, else asked for on a terminal, else the first line of standard input.
pub(super) fn get(matches: &ArgMatches) -> Result<SecretString, CommandError> {
    match from_file(matches)? {
        Some(password) => Ok(password),
        None if io::stdin().is_terminal() => ask(),
        None => from_input(),
    }
}

fn from_input() -> Result<SecretString, CommandError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| CommandError::File { path: "standard input".into(), source })?;
    first_line(&line)
}

fn first_line(text: &str) -> Result<SecretString, CommandError> {
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(SecretString::new(line.to_owned())),
        _ => Err(CommandError::Usage("the password is empty".into())),
    }
}

/// Asks twice: a typing mistake must not lock a user out.
fn ask() -> Result<SecretString, CommandError> {
    let first = unechoed("New password: ")?;
    let second = unechoed("Once more: ")?;
    if first.expose() != second.expose() {
        return Err(CommandError::Usage("the two passwords differ".into()));
    }
    Ok(first)
}

fn unechoed(prompt: &str) -> Result<SecretString, CommandError> {
    let terminal = |source: io::Error| CommandError::File { path: "the terminal".into(), source };
    let input = io::stdin();
    let before = termios::tcgetattr(&input).map_err(|error| terminal(error.into()))?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    let mut out = io::stderr();
    write!(out, "{prompt}").and_then(|()| out.flush()).map_err(terminal)?;
    termios::tcsetattr(&input, OptionalActions::Now, &silent).map_err(|error| terminal(error.into()))?;
    let read = from_input();
    // Whatever was read, the terminal must show what is typed next.
    termios::tcsetattr(&input, OptionalActions::Now, &before).map_err(|error| terminal(error.into()))?;
    writeln!(out).map_err(terminal)?;
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_counts_and_it_must_not_be_empty() {
        for text in ["pass word\n", "pass word\r\n", "pass word", "pass word\nmore"] {
            assert_eq!(first_line(text).unwrap().expose(), "pass word", "{text:?}");
        }
        assert_eq!(first_line(" spaces stay ").unwrap().expose(), " spaces stay ");
        for text in ["", "\n", "\r\nsecond"] {
            assert!(first_line(text).is_err(), "{text:?}");
        }
    }
}
