//! The Prometheus text exposition format, version 0.0.4.

use std::fmt::Write as _;

use symbolon_figures::HistogramSnapshot;

/// The `Content-Type` of an exposition.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The kind of a metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// Only ever grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Cumulative buckets, sum and count.
    Histogram,
}

impl MetricType {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A source of further metrics for the page.
pub trait MetricSource: Send + Sync {
    /// Writes its families, each followed at once by its samples.
    fn expose(&self, page: &mut Exposition);
}

/// Label names and values of one sample.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page being written. Start a family, then write its samples, then the next family.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    family: String,
}

impl Exposition {
    /// An empty page.
    pub fn new() -> Self {
        Self { text: String::with_capacity(64 * 1024), family: String::new() }
    }

    /// Starts a family. `name` matches `[a-zA-Z_:][a-zA-Z0-9_:]*` and is used once per page; `help` is one sentence.
    pub fn family(&mut self, name: &str, kind: MetricType, help: &str) {
        name.clone_into(&mut self.family);
        self.text.push_str("# HELP ");
        self.text.push_str(name);
        self.text.push(' ');
        escape(&mut self.text, help, false);
        self.text.push_str("\n# TYPE ");
        self.text.push_str(name);
        self.text.push(' ');
        self.text.push_str(kind.name());
        self.text.push('\n');
    }

    /// Writes a sample of the family: an integer.
    pub fn count(&mut self, labels: Labels<'_>, value: u64) {
        self.line("", labels, None);
        self.number(value);
    }

    /// Writes a sample of the family: nanoseconds, as seconds.
    pub fn seconds(&mut self, labels: Labels<'_>, nanoseconds: u64) {
        self.line("", labels, None);
        write_seconds(&mut self.text, nanoseconds);
        self.text.push('\n');
    }

    /// Writes a histogram of the family: nanoseconds, as seconds.
    pub fn histogram(&mut self, labels: Labels<'_>, histogram: &HistogramSnapshot) {
        let mut cumulative = 0_u64;
        for (bucket, bound) in histogram.buckets.iter().zip(histogram.bounds) {
            cumulative = cumulative.wrapping_add(*bucket);
            self.line("_bucket", labels, Some(Some(*bound)));
            self.number(cumulative);
        }
        let count = histogram.count();
        self.line("_bucket", labels, Some(None));
        self.number(count);
        self.line("_sum", labels, None);
        write_seconds(&mut self.text, histogram.sum_ns);
        self.text.push('\n');
        self.line("_count", labels, None);
        self.number(count);
    }

    /// The finished page.
    pub fn finish(self) -> String {
        self.text
    }

    /// Writes a sample up to its value. `le` is a bucket's bound in nanoseconds, or infinity.
    fn line(&mut self, suffix: &str, labels: Labels<'_>, le: Option<Option<u64>>) {
        self.text.push_str(&self.family);
        self.text.push_str(suffix);
        if !labels.is_empty() || le.is_some() {
            self.text.push('{');
            let mut first = true;
            for (name, value) in labels {
                if !first {
                    self.text.push(',');
                }
                first = false;
                self.text.push_str(name);
                self.text.push_str("=\"");
                escape(&mut self.text, value, true);
                self.text.push('"');
            }
            if let Some(bound) = le {
                self.text.push_str(if first { "le=\"" } else { ",le=\"" });
                match bound {
                    Some(bound) => write_seconds(&mut self.text, bound),
                    None => self.text.push_str("+Inf"),
                }
                self.text.push('"');
            }
            self.text.push('}');
        }
        self.text.push(' ');
    }

    fn number(&mut self, value: u64) {
        self.text.push_str(itoa::Buffer::new().format(value));
        self.text.push('\n');
    }
}

/// Writes nanoseconds as exact decimal seconds without trailing zeros.
fn write_seconds(text: &mut String, nanoseconds: u64) {
    let (seconds, mut fraction) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    text.push_str(itoa::Buffer::new().format(seconds));
    if fraction > 0 {
        let mut digits = 9;
        while fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        // Writing to a String cannot fail.
        let _ = write!(text, ".{fraction:0digits$}");
    }
}

/// Escapes a label value, or (without `quotes`) a help text, as the format requires.
fn escape(text: &mut String, value: &str, quotes: bool) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
#[path = "prometheus_tests.rs"]
pub(super) mod tests;
