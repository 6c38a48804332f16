//! NDJSON input: splits arriving bytes into numbered lines of bounded length.

use bytes::{Buf, BytesMut};

/// The longest line, in bytes.
pub(crate) const MAX_LINE: usize = 64 * 1024;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1. Blank lines count too, but get no answer.
    pub(crate) number: u64,
    /// The line's bytes; `None` if it was longer than [`MAX_LINE`].
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Splits a stream into lines. Buffers at most one incomplete line.
#[derive(Default)]
pub(crate) struct Lines {
    unread: BytesMut,
    number: u64,
    /// The current line is too long, and its bytes are dropped until it ends.
    skipping: bool,
}

impl Lines {
    /// Takes arrived bytes and passes each line that they complete to `each`.
    pub(crate) fn push(&mut self, mut arrived: &[u8], mut each: impl FnMut(Line)) {
        while let Some(end) = arrived.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = arrived.split_at(end);
            self.keep(head);
            self.end(&mut each);
            arrived = rest.get(1..).unwrap_or_default();
        }
        self.keep(arrived);
    }

    /// Ends the stream: buffered bytes are the last line.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Line)) {
        if self.skipping || !self.unread.is_empty() {
            self.end(&mut each);
        }
    }

    /// The number of the line that is being read.
    pub(crate) fn current(&self) -> u64 {
        self.number + 1
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping || self.unread.len() + bytes.len() > MAX_LINE {
            self.skipping = true;
            self.unread.clear();
        } else {
            self.unread.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, each: &mut impl FnMut(Line)) {
        self.number += 1;
        let number = self.number;
        if std::mem::take(&mut self.skipping) {
            return each(Line { number, bytes: None });
        }
        let bytes = self.unread.trim_ascii().to_vec();
        self.unread.advance(self.unread.len());
        if !bytes.is_empty() {
            each(Line { number, bytes: Some(bytes) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(parts: &[&[u8]]) -> Vec<Line> {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        for part in parts {
            lines.push(part, |line| out.push(line));
        }
        lines.finish(|line| out.push(line));
        out
    }

    fn line(number: u64, text: &str) -> Line {
        Line { number, bytes: Some(text.as_bytes().to_vec()) }
    }

    #[test]
    fn lines_are_cut_wherever_the_bytes_were_split() {
        assert_eq!(cut(&[b"{\"a\":", b"1}\n{}", b"\r\n"]), [line(1, "{\"a\":1}"), line(2, "{}")]);
        assert_eq!(cut(&[b"a\nb"]), [line(1, "a"), line(2, "b")]);
    }

    #[test]
    fn blank_lines_count_and_have_no_answer() {
        assert_eq!(cut(&[b"\n\n  \na\n"]), [line(4, "a")]);
        assert_eq!(cut(&[b""]), []);
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_read() {
        let long = vec![b'x'; MAX_LINE + 1];
        assert_eq!(cut(&[&long, b"yy\nz\n"]), [Line { number: 1, bytes: None }, line(2, "z")]);
        assert_eq!(cut(&[&long]), [Line { number: 1, bytes: None }]);
        let longest = vec![b'x'; MAX_LINE];
        assert_eq!(
            cut(&[&longest, b"\n"]).first().and_then(|line| line.bytes.as_ref()).map(Vec::len),
            Some(MAX_LINE)
        );
    }

    proptest! {
        #[test]
        fn splitting_changes_nothing(text in "[a-c\n]{0,60}", at in 0_usize..60) {
            let at = at.min(text.len());
            let (head, tail) = text.as_bytes().split_at(at);
            prop_assert_eq!(cut(&[head, tail]), cut(&[text.as_bytes()]));
        }
    }
}
