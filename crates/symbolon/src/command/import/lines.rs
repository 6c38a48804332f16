//! The lines of a text file, each of bounded length.

use std::io::{self, BufRead, Read};

use super::record::Fault;
use super::unreadable;
use crate::command::CommandError;

/// A line that is not blank: its number, and its bytes unless it is too long.
pub(super) type Line = (u64, Result<Vec<u8>, Fault>);

/// The lines of a file, counted from 1, of at most `longest` bytes.
pub(super) fn lines(
    mut file: impl BufRead,
    path: &str,
    longest: u64,
) -> impl Iterator<Item = Result<Line, CommandError>> {
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            let mut line = Vec::new();
            match file.by_ref().take(longest + 1).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => number += 1,
                Err(source) => return Some(Err(unreadable(path, source))),
            }
            if line.len() as u64 > longest && !line.ends_with(b"\n") {
                let fault = Fault::from(format!("the line is longer than {} KiB", longest >> 10));
                return Some(match skip_line(&mut file) {
                    Ok(()) => Ok((number, Err(fault))),
                    Err(source) => Err(unreadable(path, source)),
                });
            }
            if !line.trim_ascii().is_empty() {
                return Some(Ok((number, Ok(line))));
            }
        }
    })
}

/// Reads to the end of the line, in pieces that are not kept.
fn skip_line(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        let piece = file.fill_buf()?;
        let (length, is_end) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        file.consume(length);
        if is_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_those_that_are_too_long_are_told() {
        let text = format!("a\n\n{}\nb\r\n{}", "x".repeat(5_000), "y".repeat(1_024));
        let all: Vec<Line> = lines(text.as_bytes(), "x", 1_024).map(|line| line.unwrap()).collect();
        let told: Vec<(u64, Option<usize>)> =
            all.iter().map(|(number, line)| (*number, line.as_ref().ok().map(Vec::len))).collect();
        assert_eq!(told, [(1, Some(2)), (3, None), (4, Some(3)), (5, Some(1_024))]);
    }
}
