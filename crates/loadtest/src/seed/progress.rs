//! How far seeding is.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::clock;

/// A step that takes longer is told of as often.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Tells of one step after the other.
pub(crate) struct Steps<'a> {
    out: &'a mut (dyn Write + Send),
    began: Instant,
    told: Instant,
}

impl<'a> Steps<'a> {
    /// The first step begins.
    pub(crate) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        let now = clock::now();
        Self { out, began: now, told: now }
    }

    /// So many of them are there; nothing is said where that was quick.
    pub(crate) fn at(&mut self, what: &str, done: usize, of: usize) {
        let now = clock::now();
        if now.saturating_duration_since(self.told) >= TELL_EVERY {
            self.told = now;
            // Nobody's seed fails because nobody reads how it goes.
            let _ = writeln!(self.out, "{what}: {done} of {of}");
        }
    }

    /// The step is over and the next one begins.
    pub(crate) fn done(&mut self, what: &str, count: usize) {
        let now = clock::now();
        let seconds = now.saturating_duration_since(self.began).as_secs_f64();
        let _ = writeln!(self.out, "{count} {what} in {seconds:.2} s");
        (self.began, self.told) = (now, now);
    }
}
