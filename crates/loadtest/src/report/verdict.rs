//! Whether the runs passed, and why not.

use crate::results::{Bottleneck, Capacity, Generator, Leak, Results, Run};
use crate::trend::Growth;

use super::capacity;
use super::number::{count, figure, rate};

/// Every threshold held and every answer was right.
pub const PASS: &str = "PASS";
/// It passed, and there is something that a reader must know.
pub const WARN: &str = "WARN";
/// A threshold did not hold, or an answer was wrong.
pub(super) const FAIL: &str = "FAIL";
/// Not everything was run.
const PARTIAL: &str = "PARTIAL";

/// The verdict over one run. Nothing that it measured is to be doubted where it passed.
pub fn of_run(run: &Run) -> &'static str {
    match run.passed() {
        false => FAIL,
        true if is_doubtful(run) => WARN,
        true => PASS,
    }
}

/// Whether something failed within the thresholds, or the generator's own limits, or the machine's, are in the figures.
fn is_doubtful(run: &Run) -> bool {
    is_too_short(run)
        || run.failures > 0
        || run.missed > 0
        || run.generator_limit.is_some()
        || run.requests == 0
}

/// Whether it was watched for leaks for too short a time to tell.
fn is_too_short(run: &Run) -> bool {
    let is_short = |leak: &Leak| leak.growth == Growth::TooShort;
    run.soak.as_ref().is_some_and(|soak| soak.leaks.is_empty() || soak.leaks.iter().any(is_short))
}

/// The verdict over a report.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    /// [`PASS`], [`WARN`], [`FAIL`] or [`PARTIAL`].
    pub(super) word: &'static str,
    /// All runs in one sentence.
    pub(super) sum: String,
    /// Why it did not pass.
    pub(super) reasons: Vec<String>,
    /// What a reader must know although it fails nothing.
    pub(super) notes: Vec<String>,
}

/// The verdict over all runs.
pub(super) fn verdict(results: &Results) -> Verdict {
    let mut reasons: Vec<String> =
        results.partial.iter().map(|why| format!("Not everything was run: {why}")).collect();
    if results.runs.is_empty() {
        reasons.push("There is no run.".to_owned());
    }
    let counted = || results.runs.iter().filter(|run| !run.probe);
    reasons.extend(counted().flat_map(broken));
    let generators = results.capacities.iter().filter(|of| of.limit > 0.0 && !of.is_claimed());
    reasons.extend(generators.map(|of| {
        format!(
            "The limit of {} was not found, because the generator had its own: {}.",
            of.scenario, of.evidence
        )
    }));
    let lost = results.capacities.iter().filter(|capacity| capacity.limit <= 0.0);
    reasons.extend(lost.map(|capacity| format!("No rate of {} that was tried held.", capacity.scenario)));
    let word = match (results.partial.is_some(), results.passed()) {
        (true, _) => PARTIAL,
        (false, true) if counted().any(is_doubtful) => WARN,
        (false, true) => PASS,
        (false, false) => FAIL,
    };
    Verdict {
        word,
        sum: sum(&results.runs),
        reasons,
        notes: (results.capacities.iter().filter_map(limit))
            .chain(by_k6(&results.runs))
            .chain(counted().flat_map(remarkable))
            .collect(),
    }
}

fn limit(capacity: &Capacity) -> Option<String> {
    let Capacity { scenario, limit, bottleneck, .. } = capacity;
    let why = match bottleneck {
        Bottleneck::Unknown => "what limits it is not known".to_owned(),
        known => format!("then {} is the limit", capacity::name(*known)),
    };
    capacity.is_claimed().then(|| format!("{scenario} holds {}/s; {why}.", rate(*limit)))
}

fn sum(runs: &[Run]) -> String {
    let total = |read: fn(&Run) -> u64| runs.iter().map(read).sum::<u64>();
    let (runs, requests) = (many(runs.len() as u64, "run"), many(total(|run| run.requests), "request"));
    let (wrong, failed, missed) =
        (total(|run| run.wrong), total(|run| run.failures), total(|run| run.missed));
    format!("{runs}, {requests}: {} wrong, {} failed, {} missed", count(wrong), count(failed), count(missed))
}

/// What is different where k6 sent the requests.
fn by_k6(runs: &[Run]) -> Option<String> {
    runs.iter().any(|run| run.generator != Generator::Own).then(|| {
        "k6 sent the requests: latencies count from the sending of the request, so that the wait behind a stall is not in \
         them; an arrival that found all virtual users waiting is missed."
            .to_owned()
    })
}

/// Why a run did not pass, in sentences.
pub fn broken(run: &Run) -> Vec<String> {
    let mut reasons = Vec::new();
    if run.wrong > 0 {
        reasons.push(format!(
            "Run {}: {}{}.",
            run.name,
            many(run.wrong, "wrong answer"),
            kinds(run.wrong_kinds.iter())
        ));
    }
    let unasked: u64 = run.unasked_kinds.values().sum();
    if unasked > 0 {
        reasons.push(format!(
            "Run {}: {} that nobody had asked for{}.",
            run.name,
            many(unasked, "answer"),
            kinds(run.unasked_kinds.iter())
        ));
    }
    if run.errors_besides > 0 {
        reasons.push(format!(
            "Run {}: {} outside of the plateau.",
            run.name,
            many(run.errors_besides, "error")
        ));
    }
    reasons.extend(run.loss().map(|loss| format!("Run {}: {loss}.", run.name)));
    for threshold in run.thresholds.iter().filter(|threshold| !threshold.held) {
        let (name, limit) = (threshold.what(), &threshold.limit);
        let measured = match threshold.value {
            Some(value) => format!("is {}", figure(value)),
            None => "was not measured".to_owned(),
        };
        reasons.push(format!("Run {}: {name} {measured}, must be {limit}.", run.name));
    }
    reasons
}

fn remarkable(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = &run.generator_limit {
        notes.push(format!(
            "Run {}: the generator was at its limit, so that the provider's is not known: {why}.",
            run.name
        ));
    }
    if is_too_short(run) {
        notes.push(format!(
            "Run {}: the soak was too short to tell whether everything came to rest.",
            run.name
        ));
    }
    if let Generator::K6 { instances: instances @ 2.. } = run.generator {
        notes.push(format!(
            "Run {}: percentiles of its {instances} instances cannot be put together, so none is told.",
            run.name
        ));
    }
    if run.wrong_kinds.contains_key(LIMITED) {
        notes.push(format!("Run {}: {}.", run.name, limits_are_on()));
    }
    if run.failures > 0 {
        let failed = many(run.failures, "request");
        notes.push(format!(
            "Run {}: {failed} without an answer{}.",
            run.name,
            kinds(run.failure_kinds.iter())
        ));
    }
    if run.missed > 0 {
        let what = if run.generator == Generator::Own { "connection in time" } else { "virtual user" };
        notes.push(format!("Run {}: {} found no free {what}.", run.name, many(run.missed, "arrival")));
    }
    notes
}

/// Answers by which a provider says that it limits requests.
pub const LIMITED: &str = "status_429";

/// What answers by 429 mean, and what mends them.
pub fn limits_are_on() -> &'static str {
    "the provider limits requests (429): SYMBOLON_RATE_LIMITS=off turns that off at Symbolon for the time of a load test"
}

fn many(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A kind as it is read: `connection_reset` is two words.
pub(super) fn words(kind: &str) -> String {
    kind.replace('_', " ")
}

fn kinds<'k>(kinds: impl Iterator<Item = (&'k String, &'k u64)>) -> String {
    let listed: Vec<String> =
        kinds.map(|(kind, number)| format!("{} {}", words(kind), count(*number))).collect();
    if listed.is_empty() { String::new() } else { format!(" ({})", listed.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_broken_threshold_and_wrong_answer_is_a_reason() {
        let mut results = sample::small();
        assert_eq!(verdict(&results).word, PASS);
        results.runs[0].failures = 1;
        assert_eq!(verdict(&results).word, WARN);
        results.runs[0].failures = 0;
        assert!(verdict(&results).reasons.is_empty());

        results.runs[0].wrong = 2;
        results.runs[0].wrong_kinds = [("scope".to_owned(), 2)].into();
        results.runs[0].thresholds[0].held = false;
        results.runs[0].failures = 1;
        let failed = verdict(&results);
        assert_eq!(failed.word, FAIL);
        assert_eq!(
            failed.reasons,
            [
                "Run silent 500/s, 64 shards: 2 wrong answers (scope 2).",
                "Run silent 500/s, 64 shards: p95_ms is 2.10, must be < 300."
            ]
        );
        assert_eq!(failed.sum, "1 run, 90,000 requests: 2 wrong, 1 failed, 0 missed");
        assert_eq!(failed.notes, ["Run silent 500/s, 64 shards: 1 request without an answer."]);
    }

    #[test]
    fn a_partial_report_says_so_first() {
        let mut results = sample::small();
        results.partial = Some("interrupted".to_owned());
        results.runs.clear();
        let partial = verdict(&results);
        assert_eq!(partial.word, PARTIAL);
        assert_eq!(partial.reasons, ["Not everything was run: interrupted", "There is no run."]);
    }
}
