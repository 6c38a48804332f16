//! How a run goes, second by second: a line for the terminal, and the course for the report.

use std::io::Write;
use std::time::Duration;

use super::watched::Watched;
use crate::course::Course;
use crate::cpu::CpuReading;
use crate::results::Second;
use crate::tally::Lately;

/// Without a terminal a line is written for the first second and then this often: after so many seconds, every so many.
const LINES: [(u32, u32); 3] = [(7_200, 600), (600, 60), (0, 10)];

/// Told every second.
pub(crate) struct Live<'a> {
    name: String,
    whole: Duration,
    progress: &'a mut (dyn Write + Send),
    terminal: bool,
    pid: Option<u32>,
    before: Option<CpuReading>,
    course: Course,
    watched: Watched,
}

impl<'a> Live<'a> {
    pub(crate) fn new(
        name: &str,
        whole: Duration,
        (progress, terminal): (&'a mut (dyn Write + Send), bool),
        pid: Option<u32>,
    ) -> Self {
        let before = pid.and_then(|pid| CpuReading::of(pid).ok());
        let (course, watched) = (Course::new(), Watched::default());
        Self { name: name.into(), whole, progress, terminal, pid, before, course, watched }
    }

    /// The first request is about to be sent: those who watch are told.
    pub(super) fn begin(&mut self, watched: Watched) {
        self.before = self.pid.and_then(|pid| CpuReading::of(pid).ok());
        self.watched = watched;
    }

    /// Tells of a second that reaches to `now`. The CPU time that the provider used in it.
    pub(crate) fn second(&mut self, now: Duration, lately: &Lately) -> Option<Duration> {
        let cpu = self.cpu();
        let second = self.course.record(now, lately, cpu);
        self.watched.second(now, second, lately);
        self.tell_notes();
        if self.terminal || is_line(second.at) {
            self.line(&second);
        }
        cpu
    }

    /// The CPU time that the provider used since the last second.
    fn cpu(&mut self) -> Option<Duration> {
        let reading = CpuReading::of(self.pid?).ok()?;
        let before = self.before.replace(reading)?;
        Some(reading.since(&before))
    }

    /// What is to be said of those who take the metrics.
    fn tell_notes(&mut self) {
        for note in self.watched.take_notes() {
            self.tell(&note);
        }
    }

    fn line(&mut self, second: &Second) {
        let left = self.whole.as_secs().saturating_sub(u64::from(second.at));
        let errors = self.course.errors();
        let ms = |value: Option<f64>| value.map_or_else(|| "–".into(), |ms| format!("{ms:.2} ms"));
        let line = format!(
            "{}: {:.0}/s, P50 {}, P99 {}, {errors} errors, {left} s left",
            self.name,
            second.answered as f64 / second.seconds().max(0.001),
            ms(second.p50_ms),
            ms(second.p99_ms),
        );
        // The line is a convenience: a run does not end because nobody reads it.
        let _ = if self.terminal {
            write!(self.progress, "\r\x1b[2K{line}").and_then(|()| self.progress.flush())
        } else {
            writeln!(self.progress, "{line}")
        };
    }

    /// Tells something besides, at once.
    pub(crate) fn tell(&mut self, line: &str) {
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        // As above.
        let _ = writeln!(self.progress, "{clear}{line}").and_then(|()| self.progress.flush());
    }

    /// Ends the line that was written over and over.
    pub(super) fn end(self) -> Vec<Second> {
        if self.terminal {
            let _ = writeln!(self.progress);
        }
        self.course.seconds()
    }
}

/// Whether a line is written of this second where no terminal writes over it: a log must not grow by thousands of them.
fn is_line(second: u32) -> bool {
    let every = LINES.iter().find(|(after, _)| second > *after).map_or(1, |(_, every)| *every);
    second <= 1 || second.is_multiple_of(every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_few_lines() {
        let lines: Vec<u32> = (1..=86_400).filter(|second| is_line(*second)).collect();
        assert_eq!(lines[..4], [1, 10, 20, 30]);
        assert!(lines.len() < 310, "{}", lines.len());
    }
}
