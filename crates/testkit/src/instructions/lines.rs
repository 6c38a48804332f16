//! Reports of several counts that run at the same time, line by line on one output.

use std::io::{self, Write};

use parking_lot::Mutex;

/// The output that several writers share.
pub(super) type Shared<'a> = Mutex<&'a mut (dyn Write + Send)>;

/// Writes whole lines to a shared output, so that the lines of several writers do not mix.
pub(super) struct Lines<'a, 'b> {
    output: &'a Shared<'b>,
    begun: Vec<u8>,
}

impl<'a, 'b> Lines<'a, 'b> {
    /// A writer of the output.
    pub(super) fn to(output: &'a Shared<'b>) -> Self {
        Self { output, begun: Vec::new() }
    }
}

impl Write for Lines<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        if let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = self.begun.drain(..=end).collect();
            self.output.lock().write_all(&whole)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_writers_stay_whole() {
        let mut written = Vec::new();
        let output: Shared<'_> = Mutex::new(&mut written);
        let (mut one, mut other) = (Lines::to(&output), Lines::to(&output));
        one.write_all(b"silent: ").unwrap();
        other.write_all(b"code: 9\nrefresh").unwrap();
        one.write_all(b"7\n").unwrap();
        other.write_all(b": 8\n").unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "code: 9\nsilent: 7\nrefresh: 8\n");
    }
}
