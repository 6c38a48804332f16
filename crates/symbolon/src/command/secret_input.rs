//! Passwords and other secrets: read from a file, from standard input or from a prompt; never from the command line, which
//! others can see.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Arg, ArgMatches};
use rustix::io::{Errno, retry_on_intr};
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex};
use symbolon_crypto::secret::SecretString;

use super::CommandError;

/// The byte that Ctrl-C sends.
const INTERRUPT: u8 = 3;
/// Longer than any line that a terminal delivers (`N_TTY_BUF_SIZE`).
const LONGEST_LINE: usize = 4096;

/// `--password-file`.
pub(super) fn argument() -> Arg {
    Arg::new("password-file")
        .long("password-file")
        .value_name("FILE")
        .help("Read the password from the first line of a file, or of standard input where it is -")
}

/// The password from `--password-file`, else from a prompt if there is a terminal, else from the first line of standard
/// input. `None` if it is empty.
pub(super) fn get(matches: &ArgMatches, prompt: &str) -> Result<Option<SecretString>, CommandError> {
    match matches.get_one::<String>("password-file").map(String::as_str) {
        None if io::stdin().is_terminal() => ask(prompt),
        None => from_input(),
        Some(path) => from_file(("password-file", path), "password").map(Some),
    }
}

/// A secret from the first line of the file that an option names, or of standard input where it is `-`. There must be one.
pub(super) fn from_file((option, path): (&str, &str), what: &str) -> Result<SecretString, CommandError> {
    let found = match path {
        "-" => from_input()?,
        path => {
            let text = fs::read_to_string(path).map(SecretString::new);
            let text =
                text.map_err(|source| CommandError::File { path: format!("--{option} {path}"), source })?;
            first_line(text.expose())
        }
    };
    found.ok_or_else(|| CommandError::Usage(format!("the {what} is empty")))
}

/// Refuses an empty password.
pub(super) fn required(password: Option<SecretString>) -> Result<SecretString, CommandError> {
    password.ok_or_else(|| CommandError::Usage("the password is empty".into()))
}

fn from_input() -> Result<Option<SecretString>, CommandError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| CommandError::File { path: "standard input".into(), source })?;
    Ok(first_line(SecretString::new(line).expose()))
}

fn first_line(text: &str) -> Option<SecretString> {
    text.lines().next().filter(|line| !line.is_empty()).map(|line| SecretString::new(line.to_owned()))
}

/// Asks twice, because a typing mistake would lock the user out.
fn ask(prompt: &str) -> Result<Option<SecretString>, CommandError> {
    let Some(first) = unechoed(prompt)? else { return Ok(None) };
    let second = unechoed("Once more: ")?;
    if second.is_none_or(|second| second.expose() != first.expose()) {
        return Err(CommandError::Usage("the two passwords differ".into()));
    }
    Ok(Some(first))
}

/// Reads a line from the terminal without showing it.
fn unechoed(prompt: &str) -> Result<Option<SecretString>, CommandError> {
    let refused = |source: io::Error| CommandError::File { path: "the terminal".into(), source };
    let system = |error: Errno| refused(error.into());
    let (input, mut out) = (io::stdin(), io::stderr());
    let before = termios::tcgetattr(&input).map_err(system)?;
    let mut silent = before.clone();
    // Ctrl-C is read as a character that ends the line. If it ended the process, the terminal would stay without echo.
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    silent.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
    termios::tcsetattr(&input, OptionalActions::Flush, &silent).map_err(system)?;
    let prompted = write!(out, "{prompt}").and_then(|()| out.flush());
    let mut line = vec![0; LONGEST_LINE];
    let read = prompted.and_then(|()| {
        let read = retry_on_intr(|| rustix::io::read(&input, &mut line))?;
        line.truncate(read);
        Ok(())
    });
    // Whatever was read, the terminal must show its input again.
    termios::tcsetattr(&input, OptionalActions::Now, &before).map_err(system)?;
    writeln!(out).map_err(refused)?;
    read.map_err(refused)?;
    if line.contains(&INTERRUPT) {
        return Err(CommandError::Failed("cancelled"));
    }
    let line =
        String::from_utf8(line).map_err(|_| CommandError::Usage("the password is not UTF-8".into()))?;
    Ok(first_line(SecretString::new(line).expose()))
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
            assert!(first_line(text).is_none(), "{text:?}");
        }
    }
}
