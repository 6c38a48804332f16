//! Rules that end a run at once: `failure_share>0.05 for 10s`.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Rule;
use super::figure::ACHIEVED_SHARE;
use crate::LoadtestError;
use crate::course::SparseLatencies;
use crate::latency::millis;
use crate::results::{Aborted, Latency, Run};
use crate::tally::Lately;

/// The time that a rule looks back over where it says nothing else.
const USUALLY: Duration = Duration::from_secs(10);
/// The shortest and the longest such time.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3_600);
/// Seconds are told a little before or after they are over.
const SLACK: Duration = Duration::from_millis(100);

/// What must not happen. Its figure is taken over all that ended in the last so many seconds; nothing is said before they are
/// over, nor of a figure for which too little ended in them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AbortRule {
    /// When it is true the run ends.
    rule: Rule,
    over: Duration,
}

impl FromStr for AbortRule {
    type Err = LoadtestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = |reason: String| LoadtestError::Options(format!("abort rule {text}: {reason}"));
        let (rule, over) = match text.rsplit_once(" for ") {
            None => (text, USUALLY),
            Some((rule, over)) => {
                let over = humantime::parse_duration(over.trim());
                (
                    rule,
                    over.map_err(|error| {
                        refused(format!("write FIGURE>NUMBER for TIME, as in 10s: {error}"))
                    })?,
                )
            }
        };
        if !(SHORTEST..=LONGEST).contains(&over) {
            return Err(refused("the time that it looks back over must be from 1s to 1h".into()));
        }
        let rule: Rule = rule.trim().parse()?;
        if rule.figure() == ACHIEVED_SHARE.name {
            return Err(refused("whether the rate was reached is known at the end of the plateau only; failure_share tells of arrivals that found no connection too".into()));
        }
        Ok(Self { rule, over })
    }
}

impl std::fmt::Display for AbortRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {}", String::from(self.rule.clone()), humantime::format_duration(self.over))
    }
}

impl From<AbortRule> for String {
    fn from(rule: AbortRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for AbortRule {
    type Error = LoadtestError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// A second that some rule still looks back to.
struct Past {
    /// Its end.
    at: Duration,
    answered: u64,
    errors: u64,
    latencies: SparseLatencies,
    cpu: Option<Duration>,
}

/// Watches a run.
pub(super) struct AbortWatch {
    rules: Vec<AbortRule>,
    /// Nothing before counts: the warm-up.
    from: Duration,
    /// As many seconds as the rule that looks back furthest needs.
    past: VecDeque<Past>,
}

impl AbortWatch {
    pub(super) fn new(rules: &[AbortRule], from: Duration) -> Self {
        Self { rules: rules.to_vec(), from, past: VecDeque::new() }
    }

    /// Counts a second that reaches to `now`. Why the run must end, where it must.
    pub(super) fn second(
        &mut self,
        now: Duration,
        lately: &Lately,
        cpu: Option<Duration>,
    ) -> Option<Aborted> {
        let furthest = self.rules.iter().map(|rule| rule.over).max()?;
        if now < self.from + SLACK {
            return None;
        }
        let latencies = SparseLatencies::of(&lately.latencies);
        self.past.push_back(Past {
            at: now,
            answered: lately.answered,
            errors: lately.errors,
            latencies,
            cpu,
        });
        while self.past.front().is_some_and(|past| past.at + furthest <= now + SLACK) {
            self.past.pop_front();
        }
        self.rules.iter().find_map(|rule| self.broken(rule, now))
    }

    fn broken(&self, rule: &AbortRule, now: Duration) -> Option<Aborted> {
        if now + SLACK < self.from + rule.over {
            return None;
        }
        let seconds = self.past.iter().filter(|past| past.at + rule.over > now + SLACK);
        let judged = rule.rule.judge(&over(seconds));
        let value = judged.value.filter(|_| judged.held)?;
        Some(Aborted { rule: rule.to_string(), at: now.as_secs_f64(), value })
    }
}

/// The figures of several seconds, as those of a run.
fn over<'p>(seconds: impl Iterator<Item = &'p Past>) -> Run {
    let (mut latencies, mut answered, mut errors) = (SparseLatencies::default(), 0, 0);
    let mut cpu = Some(Duration::ZERO);
    for past in seconds {
        latencies.merge(&past.latencies);
        (answered, errors) = (answered + past.answered, errors + past.errors);
        cpu = cpu.zip(past.cpu).map(|(sum, cpu)| sum + cpu);
    }
    let ms = |percentile| latencies.percentile(percentile).map(millis);
    // Whatever ended has a latency, but an answer that nobody had asked for.
    let requests = latencies.count().max(errors);
    Run {
        requests,
        failures: errors,
        latency: Latency {
            mean_ms: latencies.mean().map(millis),
            p50_ms: ms(50.0),
            p75_ms: ms(75.0),
            p90_ms: ms(90.0),
            p95_ms: ms(95.0),
            p99_ms: ms(99.0),
            p999_ms: ms(99.9),
            max_ms: latencies.longest().map(millis),
            ..Latency::default()
        },
        server_cpu_us_per_request: cpu
            .filter(|_| answered > 0)
            .map(|cpu| cpu.as_secs_f64() * 1e6 / answered as f64),
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rule(text: &str) -> AbortRule {
        text.parse().unwrap()
    }

    /// A second with so many answers in a millisecond and so many failures after a while.
    fn lately(answered: u64, errors: u64, took: Duration) -> Lately {
        let mut lately = Lately { answered, errors, ..Lately::new().unwrap() };
        (0..answered).for_each(|_| lately.latencies.record(Duration::from_millis(1)));
        (0..errors).for_each(|_| lately.latencies.record(took));
        lately
    }

    /// When a rule ends a run whose seconds are these; each is told a little late.
    fn ends(text: &str, from: u32, seconds: impl Fn(u32) -> Lately) -> Option<Aborted> {
        let mut watch = AbortWatch::new(&[rule(text)], from * SECOND);
        (1..=60).find_map(|second| {
            watch.second(
                second * SECOND + Duration::from_millis(u64::from(second % 5)),
                &seconds(second),
                Some(SECOND / 10),
            )
        })
    }

    #[test]
    fn a_figure_is_that_of_the_last_seconds_together() {
        // From second 21 on a fifth fails: 5 % of five seconds are there after two of them.
        let bad = |second| if second > 20 { lately(80, 20, SECOND) } else { lately(100, 0, SECOND) };
        let ended = ends("failure_share>0.05 for 5s", 0, bad).unwrap();
        assert_eq!((ended.at.floor(), ended.rule.as_str()), (22.0, "failure_share>0.05 for 5s"));
        assert!((ended.value - 0.08).abs() < 1e-9, "{ended:?}");
        // Of ten, after three.
        assert_eq!(ends("failure_share>0.05", 0, bad).unwrap().at.floor(), 23.0);
        assert_eq!(ends("success_share<0.7 for 2s", 0, bad), None);
        assert_eq!(ends("p99_ms>900 for 2s", 0, bad).unwrap().at.floor(), 21.0);
        assert_eq!(ends("max_ms>5000 for 2s", 0, bad), None);
        // A tenth of a second of CPU for eighty answers.
        assert_eq!(ends("server_cpu_us_per_request>1200 for 1s", 0, bad).unwrap().at.floor(), 21.0);
    }

    #[test]
    fn nothing_is_said_before_the_time_is_over_and_of_the_warm_up() {
        let all_bad = |_| lately(0, 10, SECOND);
        assert_eq!(ends("failure_share>0.5 for 7s", 0, all_bad).unwrap().at.floor(), 7.0);
        assert_eq!(ends("failure_share>0.5 for 7s", 3, all_bad).unwrap().at.floor(), 10.0);
        let bad_at_first = |second| if second <= 5 { lately(0, 50, SECOND) } else { lately(50, 0, SECOND) };
        assert_eq!(ends("failure_share>0.05 for 3s", 5, bad_at_first), None, "it was warm-up");
    }

    #[test]
    fn too_little_breaks_nothing() {
        assert_eq!(ends("p99_ms>10 for 5s", 0, |_| lately(1, 1, SECOND)), None, "ten have no P99");
        assert_eq!(ends("failure_share>0.05 for 5s", 0, |_| lately(0, 0, SECOND)), None, "nothing ended");
    }

    #[test]
    fn rules_are_read_and_written() {
        assert_eq!(rule("failure_share > 0.05 for 10s").to_string(), "failure_share>0.05 for 10s");
        assert_eq!(rule("p99_ms>=2000 for 1m 30s").to_string(), "p99_ms>=2000 for 1m 30s");
        assert_eq!(rule("p99_ms>2000").to_string(), "p99_ms>2000 for 10s");
        for (text, why) in [
            ("p99_ms>2000 for soon", "for TIME"),
            ("p99_ms>2000 for 0s", "from 1s to 1h"),
            ("p99_ms>2000 for 2h", "from 1s to 1h"),
            ("speed>1 for 10s", "p99_ms"),
            ("achieved_share<0.9", "end of the plateau"),
        ] {
            let told = text.parse::<AbortRule>().unwrap_err().to_string();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
