//! What load tests print at the end.

use std::io::Write;

use symbolon_loadtest::report;
use symbolon_loadtest::results::{Capacity, Example, Gain, Latency, Results, Run, gains};

use crate::command::CommandError;

/// Lines of a request or an answer that the terminal shows; the report has all.
const EXAMPLE_LINES: usize = 12;

/// Every run, and what searches found.
pub(super) fn tell(results: &Results) -> Result<(), CommandError> {
    let mut to = std::io::stdout().lock();
    if let Some(why) = &results.partial {
        writeln!(to, "partial: {why}")?;
    }
    // Probes of a search for a limit are in the report only.
    for run in results.runs.iter().filter(|run| !run.probe) {
        tell_run(&mut to, run)?;
    }
    for capacity in &results.capacities {
        tell_capacity(&mut to, capacity)?;
    }
    for gain in gains(&results.capacities) {
        tell_gain(&mut to, &gain)?;
    }
    Ok(())
}

/// What more shards brought, as far as both limits say.
fn tell_gain(to: &mut impl Write, gain: &Gain<'_>) -> std::io::Result<()> {
    let Gain { scenario, shards: (fewer, more), between } = gain;
    let told = match between {
        None => "what they bring is not known, because one of the limits was not found".to_owned(),
        Some((least, most)) => {
            let between = format!("between {:+.0} % and {:+.0} %", 100.0 * least, 100.0 * most);
            if *least < 0.0 && *most > 0.0 {
                format!("{between}, so that no difference is known")
            } else {
                between
            }
        }
    };
    writeln!(to, "{scenario}: {more} shards beside {fewer}: {told}")
}

fn tell_capacity(to: &mut impl Write, capacity: &Capacity) -> std::io::Result<()> {
    let Capacity { scenario, shards, limit, normal, peak, evidence, .. } = capacity;
    let scenario = match shards {
        None => scenario.clone(),
        Some(1) => format!("{scenario}, 1 shard"),
        Some(shards) => format!("{scenario}, {shards} shards"),
    };
    if *limit <= 0.0 {
        return writeln!(to, "{scenario}: no rate held that was tried");
    }
    if !capacity.is_claimed() {
        let limit = format!("{limit:.0}/s held; the provider's limit was not found");
        return writeln!(to, "{scenario}: {limit}, because the generator had its own: {evidence}");
    }
    let failing = capacity.failing.map(|rate| format!(", not {rate:.0}/s")).unwrap_or_default();
    writeln!(to, "{scenario} holds {limit:.0}/s{failing}")?;
    writeln!(to, "  {}: {evidence}", report::bottleneck(capacity.bottleneck))?;
    let users = capacity.monthly_active_users;
    writeln!(to, "  plan with {normal:.0}/s, {peak:.0}/s at the worst time: {users:.0} monthly active users")
}

fn tell_run(to: &mut impl Write, run: &Run) -> std::io::Result<()> {
    let verdict = match report::of_run(run) {
        report::PASS => "passed",
        report::WARN => "passed, with a warning",
        _ => "FAILED",
    };
    writeln!(to, "{}: {verdict}", run.name)?;
    writeln!(
        to,
        "  {:.1}/s of {:.1}/s for {:.0} s: {} requests, {} failed, {} wrong, {} missed",
        run.achieved_rate, run.rate, run.seconds, run.requests, run.failures, run.wrong, run.missed,
    )?;
    if let Some(loss) = run.loss() {
        writeln!(to, "  {loss}")?;
    }
    tell_latency(to, "latency", &run.latency)?;
    if let (Some(answers), true) = (&run.answers, run.failures + run.wrong + run.missed > 0) {
        tell_latency(to, "right answers alone", answers)?;
    }
    if let Some(server) = run.server_cpu_us_per_request {
        let generator = run.generator_cpu_us_per_request;
        writeln!(to, "  CPU per request in µs: server {server:.1}, generator {generator:.1}")?;
    }
    let kinds = run.wrong_kinds.iter().chain(&run.failure_kinds).chain(&run.unasked_kinds);
    for (kind, count) in kinds {
        writeln!(to, "  {count} × {}", kind.replace('_', " "))?;
        if let Some(example) = run.examples.get(kind) {
            tell_example(to, example)?;
        }
    }
    tell_besides(to, run)?;
    if run.wrong_kinds.contains_key(report::LIMITED) {
        writeln!(to, "  {}", report::limits_are_on())?;
    }
    for threshold in run.thresholds.iter().filter(|threshold| !threshold.held) {
        let measured =
            threshold.value.map_or_else(|| "it was not measured".into(), |value| format!("{value:.4}"));
        writeln!(to, "  {} {} did not hold: {measured}", threshold.what(), threshold.limit)?;
    }
    for sentence in report::leaks(run) {
        writeln!(to, "  {sentence}")?;
    }
    if let Some(limit) = &run.generator_limit {
        writeln!(to, "  the generator was at its limit, so that the provider's is not known: {limit}")?;
    }
    Ok(())
}

/// What went wrong in the warm-up and the ramps, which fails a run too. Examples that were shown already are not shown again.
fn tell_besides(to: &mut impl Write, run: &Run) -> std::io::Result<()> {
    if run.errors_besides > 0 {
        writeln!(
            to,
            "  in the warm-up or a ramp, outside of the plateau: {} went wrong",
            run.errors_besides
        )?;
    }
    let is_told = |kind: &String| {
        [&run.wrong_kinds, &run.failure_kinds, &run.unasked_kinds]
            .iter()
            .any(|kinds| kinds.contains_key(kind))
    };
    for (kind, count) in &run.besides_kinds {
        writeln!(to, "  {count} × {}, outside of the plateau", kind.replace('_', " "))?;
        if let Some(example) = run.examples.get(kind).filter(|_| !is_told(kind)) {
            tell_example(to, example)?;
        }
    }
    Ok(())
}

fn tell_latency(to: &mut impl Write, what: &str, of: &Latency) -> std::io::Result<()> {
    let told = |value: Option<f64>| match value {
        Some(ms) if of.is_at_least(ms) => format!("≥ {ms:.2}"),
        Some(ms) => format!("{ms:.2}"),
        None => "– (too few)".into(),
    };
    let [p50, p95, p99, p999, most] = [of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms].map(told);
    writeln!(to, "  {what} in ms: P50 {p50}, P95 {p95}, P99 {p99}, P99.9 {p999}, longest {most}")
}

/// What went wrong first, with the request and its answer, each in a few lines.
fn tell_example(to: &mut impl Write, example: &Example) -> std::io::Result<()> {
    writeln!(to, "    the first: {}", example.detail)?;
    for (sign, text) in [('>', &example.request), ('<', &example.answer)] {
        for line in text.lines().filter(|line| !line.trim().is_empty()).take(EXAMPLE_LINES) {
            writeln!(to, "    {sign} {line}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_that_may_be_none_is_called_so() {
        let told = |between| {
            let mut told = Vec::new();
            tell_gain(&mut told, &Gain { scenario: "silent", shards: (1, 8), between }).unwrap();
            String::from_utf8(told).unwrap()
        };
        assert_eq!(told(Some((0.1, 0.25))), "silent: 8 shards beside 1: between +10 % and +25 %\n");
        assert!(
            told(Some((-0.04, 0.05))).ends_with("between -4 % and +5 %, so that no difference is known\n")
        );
        assert!(told(None).contains("is not known"));
    }

    #[test]
    fn what_failed_in_the_warm_up_is_told_with_its_request_and_answer() {
        let example = Example {
            detail: "status 503".into(),
            request: "GET /userinfo HTTP/1.1".into(),
            answer: "HTTP/1.1 503 Service Unavailable".into(),
        };
        let run = Run {
            name: "userinfo 100/s".into(),
            requests: 100,
            errors_besides: 5,
            besides_kinds: [("status_503".to_owned(), 5)].into(),
            examples: [("status_503".to_owned(), example)].into(),
            ..Run::default()
        };
        let mut told = Vec::new();
        tell_run(&mut told, &run).unwrap();
        let told = String::from_utf8(told).unwrap();
        for wanted in [
            "userinfo 100/s: FAILED",
            "in the warm-up or a ramp, outside of the plateau: 5 went wrong",
            "5 × status 503",
            "> GET /userinfo",
            "< HTTP/1.1 503",
        ] {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    }
}
