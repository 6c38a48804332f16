//! The course of a load test, as whoever watches it sees it.

use std::time::Duration;

use super::totals::Totals;
use crate::client::generator_lacks;
use crate::course;
use crate::latency::{Latencies, millis};
use crate::results::{ConnectionUse, Kind, Latency, Results, Run, Second, Threshold};
use crate::run::Rule;
use crate::tally::{Counts, End, GeneratorNow, Lately};

/// Points at most: with more, neighbours become one, so that a long run's plot stays small.
const POINTS: usize = 1_200;

/// Everything that is told to viewers.
#[derive(Default)]
pub(crate) struct Course {
    /// What the load test is called.
    pub(crate) title: String,
    /// The names of all runs in their order; empty for a search, which does not know them beforehand.
    pub(crate) planned: Vec<String>,
    /// What is done between the runs.
    pub(crate) doing: String,
    /// The run that goes on.
    pub(crate) current: Option<Current>,
    /// The runs that ended.
    pub(crate) finished: Vec<Run>,
    /// What was said of those who take the metrics.
    pub(crate) notes: Vec<String>,
    /// How it ended.
    pub(crate) end: Option<Ending>,
}

/// How a load test ended.
pub(crate) struct Ending {
    /// What came out; none where it could not run.
    pub(crate) results: Option<Results>,
    /// Where the report is, or why there is none.
    pub(crate) says: String,
}

impl Course {
    /// The run after the one that goes on, or the next one where none does.
    pub(crate) fn next(&self) -> Option<&str> {
        let begun = self.finished.len() + usize::from(self.current.is_some());
        self.planned.get(begun).map(String::as_str)
    }
}

/// A run that goes on.
pub(crate) struct Current {
    /// What is known of it so far, in the form of a run that is over: counts, percentiles and the course so far.
    pub(crate) run: Run,
    /// What must hold.
    rules: Vec<Rule>,
    /// From the first request to the last.
    pub(crate) whole: Duration,
    /// How long it has gone on.
    pub(crate) now: Duration,
    /// What the last second brought.
    pub(crate) last: Option<Second>,
    /// What the generator is doing.
    pub(crate) generator: GeneratorNow,
    /// What metrics say.
    pub(crate) totals: Totals,
    /// Threads of the generator.
    threads: usize,
    /// Cores that this process used in the last second.
    pub(crate) generator_cores: Option<f64>,
    /// The plateau's latencies.
    latencies: Option<Latencies>,
    /// Wrong answers and the like that nobody asked for, of the whole run.
    besides: Counts,
    /// Arrivals of a mixture whose time came in the plateau; none where a schedule says how many come.
    offered: Option<f64>,
    /// The provider's CPU time in the plateau, in seconds.
    plateau_cpu: f64,
    /// How many seconds a point of the course stands for. Its percentiles are of all of them together.
    pub(crate) seconds_a_point: usize,
    course: course::Course,
}

/// What is told of a second.
pub(crate) struct Told<'a> {
    /// The time since the run began.
    pub(crate) now: Duration,
    /// What the report's course has of it.
    pub(crate) second: Second,
    /// What was counted.
    pub(crate) lately: &'a Lately,
    /// CPU time of this process since the run began.
    pub(crate) generator_cpu: Option<Duration>,
}

impl Current {
    /// A run of which nothing is known but what is asked.
    pub(crate) fn new(run: Run, rules: Vec<Rule>, (whole, threads): (Duration, usize)) -> Self {
        Self {
            run,
            rules,
            whole,
            now: Duration::ZERO,
            last: None,
            generator: GeneratorNow::default(),
            totals: Totals::default(),
            threads,
            generator_cores: None,
            latencies: Latencies::new().ok(),
            besides: Counts::default(),
            offered: None,
            plateau_cpu: 0.0,
            seconds_a_point: 1,
            course: course::Course::of_rows(POINTS),
        }
    }

    /// What the schedule asks for at the moment, in requests per second; of a mixture, what came due in the last second. None
    /// where nothing is asked for.
    pub(crate) fn rate_now(&self) -> Option<f64> {
        if let Some((second, offered)) = self.last.and_then(|second| Some((second, second.offered?))) {
            return Some(offered as f64 / second.seconds().max(0.001));
        }
        let mut at = self.run.warm_up_seconds;
        let now = self.now.as_secs_f64();
        let first = self.run.stages.first()?;
        if now < at {
            // The warm-up goes at the rate of the schedule's beginning, or of its end where that is nothing.
            return Some(if first.from > 0.0 { first.from } else { first.to });
        }
        for stage in &self.run.stages {
            if now < at + stage.seconds {
                return Some(stage.from + (stage.to - stage.from) * (now - at) / stage.seconds);
            }
            at += stage.seconds;
        }
        Some(0.0)
    }

    /// Which part of the run this is, in words.
    pub(crate) fn part(&self) -> &'static str {
        let (begins, ends) = self.run.plateau_edges();
        let now = self.now.as_secs_f64();
        match () {
            () if now < self.run.warm_up_seconds => "warm-up",
            () if now < begins => "ramp before the plateau",
            () if now < ends => "plateau",
            () if now < self.whole.as_secs_f64() => "ramp after the plateau",
            () => "waiting for the last answers",
        }
    }

    /// What was told of one more second.
    pub(crate) fn second(&mut self, told: &Told<'_>) {
        let lately = told.lately;
        let before = std::mem::replace(&mut self.now, told.now);
        let covers = told.now.saturating_sub(before).as_secs_f64().max(0.001);
        if let Some(latencies) = &mut self.latencies {
            End::ALL
                .into_iter()
                .filter_map(|end| lately.plateau.of(end))
                .for_each(|of| latencies.add_second(of));
        }
        let cpu = told.generator_cpu.map(|cpu| cpu.as_secs_f64());
        self.generator_cores =
            cpu.map(|cpu| (cpu - self.totals.generator_cpu.unwrap_or_default()).max(0.0) / covers);
        self.totals.add(lately, cpu, told.second.server_cores.map(|cores| cores * covers));
        self.generator = lately.generator.clone();
        self.besides = lately.besides_so_far.clone();
        self.last = Some(told.second);
        let (begins, ends) = self.run.plateau_edges();
        let now = told.now.as_secs_f64();
        if let Some(offered) = told.second.offered {
            // Of the second in which the warm-up ends, as much as lies behind it.
            let measured = (now - begins).clamp(0.0, covers) / covers;
            *self.offered.get_or_insert(0.0) += offered as f64 * measured;
        }
        if now > begins && now <= ends + covers {
            self.plateau_cpu += told.second.server_cores.unwrap_or_default() * covers;
        }
        self.count(&lately.plateau_so_far, (now.min(ends) - begins).max(0.0));
        let cpu = told.second.server_cores.map(|cores| Duration::try_from_secs_f64(cores * covers));
        self.draw(told, cpu.and_then(Result::ok));
    }

    /// The figures of the run from what the plateau has counted in so many seconds.
    fn count(&mut self, so_far: &Counts, seconds: f64) {
        let [right, wrong, failures, missed] = End::ALL.map(|end| so_far.of(end));
        let named = |kinds: &std::collections::BTreeMap<&'static str, u64>| {
            kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
        };
        let run = &mut self.run;
        run.requests = right + wrong + failures;
        (run.wrong, run.failures, run.missed) = (wrong, failures, missed);
        (run.wrong_kinds, run.failure_kinds) = (named(&so_far.wrong), named(&so_far.failures));
        run.unasked_kinds = named(&so_far.unasked);
        let besides = &self.besides;
        run.errors_besides = besides.of(End::Wrong)
            + besides.of(End::Failed)
            + besides.of(End::Missed)
            + besides.unasked.values().sum::<u64>();
        run.achieved_rate = right as f64 / seconds.max(0.001);
        if let Some(offered) = self.offered {
            run.rate = offered / seconds.max(0.001);
        } else if run.stages.is_empty() {
            run.rate = run.achieved_rate;
        }
        run.latency = self.latencies.as_ref().map_or_else(Latency::default, Latencies::figures);
        let counted = so_far.kinds.iter().filter(|(name, _)| !name.is_empty()).map(kind);
        let mut kinds: Vec<Kind> = counted.collect();
        // A day names its scenarios before anything is asked.
        let is_new = |named: &&Kind| !so_far.kinds.contains_key(named.name.as_str());
        kinds.extend(run.kinds.iter().filter(is_new).cloned());
        kinds.sort_by(|one, other| one.name.cmp(&other.name));
        run.kinds = kinds;
        run.server_cpu_us_per_request =
            (self.plateau_cpu > 0.0 && right > 0).then(|| self.plateau_cpu * 1e6 / right as f64);
        run.generator_lag_ms = millis(Duration::from_nanos(self.generator.worst_lag_ns));
        let most = run.connection_use.as_ref().map_or(0, |used| used.most_in_use);
        run.connection_use = Some(ConnectionUse {
            bound: self.generator.bound,
            most_in_use: most.max(self.generator.in_flight),
            exhausted_seconds: 0.0,
            refused: self.generator.refused.clone(),
            lacking: self.generator.lacking,
        });
    }

    /// Adds a second to the course, in which the provider used so much CPU time. Of a long run several seconds are one point.
    fn draw(&mut self, told: &Told<'_>, cpu: Option<Duration>) {
        self.course.record(told.now, told.lately, cpu);
        let (points, width) = self.course.size();
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        if width != self.seconds_a_point {
            self.seconds_a_point = width;
            self.run.timeline = self.course.seconds();
            return;
        }
        // The last one may have grown.
        self.run.timeline.truncate(points.saturating_sub(1));
        self.run.timeline.extend(self.course.last());
    }

    /// How the thresholds stand.
    pub(crate) fn thresholds(&self) -> Vec<Threshold> {
        self.rules.iter().map(|rule| rule.judge(&self.run)).collect()
    }

    /// At which limits of its own the generator is or was.
    pub(crate) fn limits(&self) -> Vec<String> {
        /// More than the system's timer and a busy core explain.
        const LATE_MS: f64 = 100.0;
        /// A thread that is busier has no time left.
        const BUSY: f64 = 0.9;
        let GeneratorNow { in_flight, bound, workers, waiting, refused, nothing_to_ask, .. } =
            &self.generator;
        let mut limits = Vec::new();
        // In a closed run all are always in flight.
        if *in_flight >= *bound && *waiting > 0 {
            limits.push(format!(
                "all {bound} requests that may be in flight are, and {waiting} more wait (--connections allows more)"
            ));
        }
        if let Some(refused) = refused {
            limits.push(format!("it can have no more than {workers} requests in flight: {refused}"));
        }
        limits.extend(
            self.run
                .failure_kinds
                .iter()
                .filter_map(|(kind, count)| Some(format!("{}: {count} times", generator_lacks(kind)?))),
        );
        if self.run.generator_lag_ms > LATE_MS {
            limits.push(format!("it sent {:.0} ms late at worst", self.run.generator_lag_ms));
        }
        if *nothing_to_ask > 0 {
            limits.push(format!("its seed is used up: {nothing_to_ask} arrivals found nothing left to ask"));
        }
        let threads = self.threads as f64;
        limits.extend(self.generator_cores.filter(|cores| *cores > BUSY * threads).map(|cores| {
            format!(
                "its process used {cores:.2} cores, with {threads} threads to send (--threads gives it more)"
            )
        }));
        limits
    }
}

fn kind((name, of): (&&'static str, &crate::tally::OfOneKind)) -> Kind {
    Kind {
        name: (*name).into(),
        right: of.right,
        wrong: of.wrong,
        failures: of.failed,
        missed: of.missed,
        ..Kind::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Stage;
    use crate::scenario::Right;
    use crate::tally::Tally;

    fn stage(from: f64, to: f64, seconds: f64) -> Stage {
        Stage { from, to, seconds }
    }

    fn current(stages: Vec<Stage>) -> Current {
        let run = Run { rate: 100.0, warm_up_seconds: 2.0, stages, ..Run::default() };
        Current::new(run, vec!["achieved_share>=0.99".parse().unwrap()], (Duration::from_secs(20), 1))
    }

    fn tell(current: &mut Current, now: u64, tally: &mut Tally, server_cores: Option<f64>) {
        let mut lately = Lately::new().unwrap();
        lately.take_from(tally, true).unwrap();
        let at = u32::try_from(now).unwrap();
        let second = Second {
            at,
            answered: lately.answered,
            p99_ms: Some(now as f64),
            server_cores,
            ..Second::default()
        };
        let generator_cpu = Some(Duration::from_millis(500 * now));
        current.second(&Told { now: Duration::from_secs(now), second, lately: &lately, generator_cpu });
    }

    #[test]
    fn the_rate_and_the_part_follow_the_schedule() {
        let mut current =
            current(vec![stage(50.0, 100.0, 5.0), stage(100.0, 100.0, 10.0), stage(100.0, 0.0, 3.0)]);
        for (now, rate, part) in [
            (1.0, 50.0, "warm-up"),
            (4.5, 75.0, "ramp before the plateau"),
            (10.0, 100.0, "plateau"),
            (18.5, 50.0, "ramp after the plateau"),
            (21.0, 0.0, "waiting for the last answers"),
        ] {
            current.now = Duration::from_secs_f64(now);
            assert_eq!((current.rate_now(), current.part()), (Some(rate), part), "{now}");
        }
        current.run.stages.clear();
        assert_eq!(current.rate_now(), None);
    }

    #[test]
    fn a_mixture_asks_for_what_came_due() {
        let mut current = current(vec![stage(1.0, 1.0, 86_400.0)]);
        let mut lately = Lately::new().unwrap();
        // The plateau begins after two seconds.
        for (at, offered) in [(1, 40), (2, 60), (3, 200)] {
            let second = Second { at, offered: Some(offered), ..Second::default() };
            lately.offered = Some(offered);
            let now = Duration::from_secs(at.into());
            current.second(&Told { now, second, lately: &lately, generator_cpu: None });
            assert_eq!(current.rate_now(), Some(offered as f64));
        }
        assert!((current.run.rate - 200.0).abs() < 1e-9, "{}", current.run.rate);
        let points = &current.run.timeline;
        assert_eq!(points.iter().filter_map(|point| point.offered).sum::<u64>(), 300);
    }

    #[test]
    fn thresholds_are_judged_by_what_the_plateau_has_so_far() {
        let mut current = current(vec![stage(100.0, 100.0, 10.0)]);
        let mut tally = Tally::watched().unwrap();
        assert_eq!(current.thresholds()[0].value, Some(0.0));
        for _ in 0..300 {
            tally.right("", Duration::from_millis(3), Right::default());
        }
        // Three seconds of the plateau, which begins after two.
        tell(&mut current, 5, &mut tally, Some(0.6));
        let threshold = &current.thresholds()[0];
        assert!(threshold.held && (threshold.value.unwrap() - 1.0).abs() < 1e-9, "{threshold:?}");
        assert!((current.run.latency.p99_ms.unwrap() - 3.0).abs() < 0.05);
        assert_eq!(current.generator_cores, Some(0.5));
        // 0.6 cores for five seconds, by 300 answers.
        assert!((current.run.server_cpu_us_per_request.unwrap() - 10_000.0).abs() < 1e-6);
        tell(&mut current, 8, &mut tally, None);
        assert!(!current.thresholds()[0].held);
    }

    #[test]
    fn a_long_course_keeps_few_points_with_the_percentiles_of_all_their_seconds() {
        let mut current = current(vec![stage(1.0, 1.0, 86_400.0)]);
        let mut tally = Tally::watched().unwrap();
        for now in 1..=5_000 {
            // One second in eight is slow: its median is not that of the eight.
            let ms = if now % 8 == 3 { 60 } else { 2 };
            for _ in 0..20 {
                tally.right("", Duration::from_millis(ms), Right::default());
            }
            tell(&mut current, now, &mut tally, Some(1.0));
        }
        let points = &current.run.timeline;
        assert!((POINTS / 2..=POINTS).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|point| point.answered).sum::<u64>(), 100_000);
        assert_eq!((current.seconds_a_point, points[0].seconds()), (8, 8.0));
        for point in points {
            let is_near = |value: Option<f64>, ms: f64| (value.unwrap() / ms - 1.0).abs() < 0.02;
            assert!(is_near(point.p50_ms, 2.0) && is_near(point.p99_ms, 60.0), "{point:?}");
            assert!((point.server_cores.unwrap() - 1.0).abs() < 1e-6, "{point:?}");
        }
    }
}
