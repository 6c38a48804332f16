//! What the figures of a report say, in sentences. Each is computed; where nothing is remarkable, nothing is said.

use crate::results::{Results, Run};

use super::goals::drift;
use super::group::{self, Group, Series, clean, label, offered};
use super::number::{figure, rate};
use super::soak;

/// A change by less is no news.
const NEWS: f64 = 1.25;
/// Latency that has grown so many times says that the limit is near.
const STEEP: f64 = 3.0;

/// All findings, scenario by scenario.
pub(super) fn findings(results: &Results) -> Vec<String> {
    let mut told = Vec::new();
    for group in group::by_scenario(&results.runs) {
        if group.is_day() {
            // That one scenario is slower than another, and that it changes over the day, is no news.
            told.extend(group.runs.iter().filter_map(|run| wrong_kinds(run)));
            continue;
        }
        for series in group.series() {
            told.extend(growth(&series));
            told.extend(cpu(&series));
        }
        told.extend(slower_at_the_end(&group));
        told.extend(cold(&group));
        told.extend(shards(&group));
        told.extend(kinds(&group));
        told.extend(soak::findings(&group));
    }
    told
}

/// How latency goes with the rate.
fn growth(series: &Series<'_>) -> Option<String> {
    let mut clean = series.runs.iter().filter(|run| clean(run) && run.latency.p99_ms.is_some());
    let (first, last) = (clean.next()?, clean.next_back()?);
    let (from, to) = (first.latency.p99_ms.filter(|ms| *ms > 0.0)?, last.latency.p99_ms?);
    let times = to / from;
    let (lower, higher) = (rate(offered(first)), rate(offered(last)));
    let how = match times {
        times if times >= STEEP => format!("grows {} times", figure(times)),
        times if times >= NEWS => format!("grows by {} %", figure(100.0 * (times - 1.0))),
        times if times <= 1.0 / NEWS => format!("falls by {} %", figure(100.0 * (1.0 - times))),
        _ => format!("changes by less than {:.0} %", 100.0 * (NEWS - 1.0)),
    };
    Some(format!(
        "{}: P99 {how} from {lower}/s to {higher}/s ({} → {} ms).",
        series.name(),
        figure(from),
        figure(to)
    ))
}

/// How the cost of a request goes with the rate.
fn cpu(series: &Series<'_>) -> Option<String> {
    let mut known = series.runs.iter().filter(|run| clean(run) && run.server_cpu_us_per_request.is_some());
    let (first, last) = (known.next()?, known.next_back()?);
    let (from, to) = (first.server_cpu_us_per_request?, last.server_cpu_us_per_request?);
    let change = to / from;
    let told = match change {
        change if change >= NEWS => "costs more",
        change if change <= 1.0 / NEWS => "costs less",
        _ => return None,
    };
    Some(format!(
        "{}: a request {told} CPU at {}/s than at {}/s ({} → {} µs).",
        series.name(),
        rate(offered(last)),
        rate(offered(first)),
        figure(from),
        figure(to)
    ))
}

fn slower_at_the_end(group: &Group<'_>) -> Option<String> {
    let (told, times) = drift(group)?;
    let run = label(group.hardest()?);
    (times >= NEWS).then(|| {
        format!("{} {run}: the last third of the plateau is slower than the first (P99 {told}): it had not come to rest.", group.scenario)
    })
}

/// What a cold start costs.
fn cold(group: &Group<'_>) -> Option<String> {
    let run = group.runs.first()?;
    let (cold, warm) = (run.warm_up?.p99_ms?, run.latency.p99_ms?);
    (cold >= STEEP * warm).then(|| {
        format!(
            "{} {}: P99 in the warm-up is {} times that of the plateau ({} and {} ms).",
            group.scenario,
            label(run),
            figure(cold / warm),
            figure(cold),
            figure(warm)
        )
    })
}

/// Whether operations fell evenly on shards.
fn shards(group: &Group<'_>) -> Option<String> {
    let run = group.hardest()?;
    let uneven = run.server.iter().flat_map(|server| &server.stores).filter_map(|store| {
        let all: u64 = store.shards.iter().map(|shard| shard.operations).sum();
        let most = store.shards.iter().max_by_key(|shard| shard.operations)?;
        let mean = all as f64 / store.shards.len() as f64;
        // Few operations fall unevenly by chance.
        (store.shards.len() > 1 && mean >= 100.0).then(|| (most.operations as f64 / mean, store, most.shard))
    });
    let (times, store, shard) = uneven.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (times >= 2.0).then(|| {
        format!(
            "{} {}: shard {shard} of {} bears {} times the mean of its kind.",
            group.scenario,
            label(run),
            store.kind,
            figure(times)
        )
    })
}

/// Which kind of request is slowest, and which was answered wrongly.
fn kinds(group: &Group<'_>) -> Vec<String> {
    let Some(run) = group.hardest() else { return Vec::new() };
    let mut told: Vec<String> = wrong_kinds(run).into_iter().collect();
    let known = || run.kinds.iter().filter_map(|kind| Some((kind.latency.p50_ms?, kind.name.as_str())));
    let slowest = known().max_by(|one, other| one.0.total_cmp(&other.0));
    let fastest = known().min_by(|one, other| one.0.total_cmp(&other.0));
    if let Some(((slow, slowest), (fast, fastest))) = slowest.zip(fastest)
        && slow >= STEEP * fast
    {
        told.push(format!(
            "{} {}: the median of kind {slowest} is {} times that of {fastest} ({} and {} ms).",
            group.scenario,
            label(run),
            figure(slow / fast),
            figure(slow),
            figure(fast)
        ));
    }
    told
}

fn wrong_kinds(run: &Run) -> Option<String> {
    let wrong: Vec<&str> =
        run.kinds.iter().filter(|kind| kind.wrong > 0).map(|kind| kind.name.as_str()).collect();
    (!wrong.is_empty() && wrong.len() < run.kinds.len()).then(|| {
        format!(
            "{} {}: only these kinds were answered wrongly: {}.",
            run.scenario,
            label(run),
            wrong.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::results::{Kind, Latency};

    #[test]
    fn what_grows_is_told_with_its_figures() {
        let told = findings(&sample::full());
        assert!(
            told.contains(
                &"silent, 64 shards: P99 grows 8.00 times from 500/s to 4,000/s (2.70 → 21.6 ms).".to_owned()
            ),
            "{told:#?}"
        );
        assert!(told.iter().any(|told| told.contains("shard 5 of session bears 2.96 times")), "{told:#?}");
    }

    #[test]
    fn what_hardly_changes_or_falls_is_not_said_to_grow_nor_to_stay() {
        let told = |to: f64| {
            let mut results = sample::small();
            let mut faster = results.runs[0].clone();
            (faster.name, faster.rate) = ("silent 1000/s, 64 shards".to_owned(), 1_000.0);
            (results.runs[0].latency.p99_ms, faster.latency.p99_ms) = (Some(2.0), Some(to));
            results.runs.push(faster);
            findings(&results).remove(0)
        };
        let between = |how: &str, to: &str| {
            format!("silent, 64 shards: P99 {how} from 500/s to 1,000/s (2.00 → {to} ms).")
        };
        assert_eq!(told(2.3), between("changes by less than 25 %", "2.30"));
        assert_eq!(told(1.7), between("changes by less than 25 %", "1.70"));
        assert_eq!(told(1.0), between("falls by 50.0 %", "1.00"));
        assert_eq!(told(2.6), between("grows by 30.0 %", "2.60"));
    }

    #[test]
    fn nothing_remarkable_is_nothing_told() {
        let mut results = sample::small();
        results.runs[0].server = None;
        assert_eq!(findings(&results), [] as [String; 0]);
    }

    #[test]
    fn drift_cold_starts_and_kinds_are_told() {
        let mut results = sample::small();
        let run = &mut results.runs[0];
        run.server = None;
        run.thirds[2].p99_ms = Some(9.0);
        run.warm_up = Some(Latency { p99_ms: Some(45.0), ..Latency::default() });
        let kind = |name: &str, p50, wrong| Kind {
            name: name.into(),
            right: 10,
            wrong,
            latency: Latency { p50_ms: Some(p50), ..Latency::default() },
            ..Kind::default()
        };
        run.kinds = vec![kind("valid", 1.0, 0), kind("revoked", 4.0, 2)];
        run.wrong = 2;
        assert_eq!(
            findings(&results),
            [
                "silent 500/s, 64 shards: the last third of the plateau is slower than the first (P99 4.50 → 9.00 ms): it had not come to rest.",
                "silent 500/s, 64 shards: P99 in the warm-up is 10.0 times that of the plateau (45.0 and 4.50 ms).",
                "silent 500/s, 64 shards: only these kinds were answered wrongly: revoked.",
                "silent 500/s, 64 shards: the median of kind revoked is 4.00 times that of valid (4.00 and 1.00 ms).",
            ]
        );
    }
}
