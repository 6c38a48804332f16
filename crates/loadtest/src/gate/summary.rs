//! What the gate says, for a terminal and for the summary of a job of GitHub's.

use std::fmt::Write as _;

use super::{Finding, Gate, Verdict};
use crate::report;
use crate::results::Results;

impl Verdict {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Worse => "WORSE",
            Self::Unmeasured => "NOT MEASURED",
        }
    }
}

impl Finding {
    /// In one sentence.
    pub fn told(&self) -> String {
        let Self { run, figure, tolerated, verdict, why, .. } = self;
        let value =
            |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
        let change = self.worse_by.map_or_else(String::new, |worse| format!(", {:+.1} %", 100.0 * worse));
        format!(
            "{run}: {figure} {} ({} before, {} now{change}, tolerated {:.0} %); {why}",
            verdict.word(),
            value(self.before),
            value(self.now),
            100.0 * tolerated
        )
    }
}

/// Markdown: the verdict, every run, and every figure that was compared.
pub fn summary(results: &Results, gate: Option<&Gate>) -> String {
    let mut page = format!(
        "### Load test: {}\n\n| run | verdict | P50 ms | P99 ms | CPU µs |\n|---|---|--:|--:|--:|\n",
        report::cell(&results.title)
    );
    let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    for run in results.runs.iter().filter(|run| !run.probe) {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            report::cell(&run.name),
            report::of_run(run),
            value(run.latency.p50_ms),
            value(run.latency.p99_ms),
            value(run.server_cpu_us_per_request)
        );
    }
    page.push('\n');
    if let Some(gate) = gate {
        page.push_str("Beside the earlier runs:\n\n");
        for finding in &gate.findings {
            let mark = if finding.verdict == Verdict::Held { "✓" } else { "✗" };
            let _ = writeln!(page, "- {mark} {}", report::cell(&finding.told()));
        }
        for name in &gate.unknown {
            let _ = writeln!(page, "- ✗ {}: there is no earlier run of this name", report::cell(name));
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::super::{Pairing, compare};
    use super::*;
    use crate::report::sample;

    #[test]
    fn runs_and_findings_are_listed() {
        let earlier = sample::full();
        let mut now = sample::full();
        now.runs[0].latency.p99_ms = Some(99.0);
        let gate = compare(&earlier, &now, &["p99_ms=10%".parse().unwrap()], Pairing::Apart);
        let page = summary(&now, Some(&gate));
        assert!(page.contains("| silent 500/s, 64 shards | PASS |"), "{page}");
        assert!(
            page.contains("- ✗ silent 500/s, 64 shards: p99_ms WORSE (2.700 before, 99.000 now, +3566.7 %"),
            "{page}"
        );
        assert!(page.contains("- ✓ silent 1000/s, 64 shards: p99_ms held"), "{page}");
    }
}
