//! How a run goes, second by second: a line for the terminal, and the timeline of the report.

use std::io::Write;
use std::time::Duration;

use crate::cpu::CpuReading;
use crate::results::Second;
use crate::tally::Lately;

/// Without a terminal a line is written for the first second and then this often.
const LINE_EVERY: u32 = 10;

/// Told every second.
pub(super) struct Live<'a> {
    name: String,
    whole: Duration,
    progress: &'a mut (dyn Write + Send),
    terminal: bool,
    pid: Option<u32>,
    before: Option<(Duration, CpuReading)>,
    pub(super) timeline: Vec<Second>,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        name: &str,
        whole: Duration,
        (progress, terminal): (&'a mut (dyn Write + Send), bool),
        pid: Option<u32>,
    ) -> Self {
        let before = pid.and_then(|pid| CpuReading::of(pid).ok()).map(|reading| (Duration::ZERO, reading));
        Self { name: name.into(), whole, progress, terminal, pid, before, timeline: Vec::new() }
    }

    pub(super) fn second(&mut self, now: Duration, lately: &Lately) {
        let second = Second {
            at: u32::try_from(now.as_secs()).unwrap_or(u32::MAX),
            answered: lately.answered,
            errors: lately.errors,
            p50_ms: millis(lately.latency(50.0)),
            p99_ms: millis(lately.latency(99.0)),
            server_cores: self.cores(now),
        };
        self.timeline.push(second);
        if self.terminal || second.at == 1 || second.at.is_multiple_of(LINE_EVERY) {
            self.line(&second);
        }
    }

    /// Cores that the provider kept busy since the last second.
    fn cores(&mut self, now: Duration) -> Option<f64> {
        let reading = CpuReading::of(self.pid?).ok()?;
        let (then, before) = self.before.replace((now, reading))?;
        Some(reading.since(&before).as_secs_f64() / (now.saturating_sub(then)).as_secs_f64().max(0.001))
    }

    fn line(&mut self, second: &Second) {
        let left = self.whole.as_secs().saturating_sub(u64::from(second.at));
        let errors: u64 = self.timeline.iter().map(|second| second.errors).sum();
        let line = format!(
            "{}: {}/s, P50 {:.2} ms, P99 {:.2} ms, {errors} errors, {left} s left",
            self.name, second.answered, second.p50_ms, second.p99_ms,
        );
        // The line is a convenience: a run does not end because nobody reads it.
        let _ = if self.terminal {
            write!(self.progress, "\r\x1b[2K{line}").and_then(|()| self.progress.flush())
        } else {
            writeln!(self.progress, "{line}")
        };
    }

    /// Ends the line that was written over and over.
    pub(super) fn end(self) -> Vec<Second> {
        if self.terminal {
            let _ = writeln!(self.progress);
        }
        self.timeline
    }
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
