//! Reports progress on standard error.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use symbolon_app::clock::{Clock, SystemClock};
use symbolon_protocol::time::Timestamp;
use symbolon_store::transfer::Class;

/// How often the progress within one class is reported.
const EVERY: Duration = Duration::from_secs(2);

/// Reports how many records of each class were moved.
pub(super) struct Progress {
    clock: Arc<SystemClock>,
    last: Option<(Class, u64)>,
    told_at: Timestamp,
}

impl Progress {
    pub(super) fn new(clock: &Arc<SystemClock>) -> Self {
        Self { clock: Arc::clone(clock), last: None, told_at: clock.now() }
    }

    /// Notes how many records of a class were moved so far.
    pub(super) fn tell(&mut self, class: Class, count: u64) {
        if self.last.is_some_and(|(last, _)| last != class) {
            self.end();
        }
        self.last = Some((class, count));
        let now = self.clock.now();
        if now.since(self.told_at) >= EVERY {
            self.told_at = now;
            line(class, count);
        }
    }

    /// Reports the total of the last class.
    pub(super) fn end(&mut self) {
        if let Some((class, count)) = self.last.take() {
            line(class, count);
        }
    }
}

fn line(class: Class, count: u64) {
    say(&format!("{:12}{count}", class.as_str()));
}

/// Prints a line.
pub(super) fn say(text: &str) {
    // If standard error is closed, the line is dropped.
    drop(writeln!(std::io::stderr(), "{text}"));
}
