//! From a day's file to what is run.

use std::time::Duration;

use super::curve::Curve;
use super::file::{Form, JourneyForm, StormForm, ThinkTimes};
use super::refused;
use super::work::{DayWork, Limits};
use crate::LoadtestError;
use crate::executor::{Ask, Mixture, Schedule, Stage, Stream};
use crate::results;
use crate::run::Rule;
use crate::scenario::{JourneyPlan, Scenario, Step, Think};
use crate::suite::{self, Time};

/// More is no weight: what is dealt out is shuffled as a whole.
const MOST_WEIGHT: u32 = 100_000;

/// Makes a mixture of a form, and finds what is wrong with it.
pub(super) struct Builder<'a> {
    form: &'a Form,
    duration: Duration,
    /// The time that it stands for, in seconds.
    day: f64,
    /// The scenarios that are asked for singly, in the order of their numbers.
    scenarios: Vec<Scenario>,
    journeys: Vec<JourneyPlan>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(form: &'a Form) -> Result<Self, LoadtestError> {
        if form.title.trim().is_empty() {
            return refused("title = \"\": write what the report is to call it");
        }
        let duration = Self::duration(form)?;
        let day = form.day.map_or(duration, |day| day.0).as_secs_f64();
        if duration.is_zero() || day <= 0.0 {
            return refused("duration and day must be longer than nothing");
        }
        let mut builder = Self { form, duration, day, scenarios: Vec::new(), journeys: Vec::new() };
        builder.journeys =
            form.journeys.iter().map(|journey| builder.journey(journey)).collect::<Result<_, _>>()?;
        let storms = form.storms.iter().filter(|storm| storm.journey.is_none());
        let storms = storms.map(|storm| storm.scenario.unwrap_or(Scenario::Login));
        builder.scenarios = form.mix.keys().copied().chain(storms).collect();
        builder.scenarios.sort_unstable();
        builder.scenarios.dedup();
        Ok(builder)
    }

    fn duration(form: &Form) -> Result<Duration, LoadtestError> {
        if form.stages.is_empty() {
            return match form.duration {
                Some(Time(duration)) => Ok(duration),
                None => refused("duration is missing: write how long the run takes, duration = \"10m\""),
            };
        }
        for (key, is_given) in [
            ("duration", form.duration.is_some()),
            ("day", form.day.is_some()),
            ("peak", form.peak.is_some()),
            ("curve", !form.curve.is_empty()),
        ] {
            if is_given {
                return refused(&format!(
                    "{key} does not go together with stages, which say themselves how long and how high they are"
                ));
            }
        }
        Ok(form.stages.iter().map(|stage| stage.duration.0).sum())
    }

    /// By how much the run is shorter than what it stands for.
    fn compression(&self) -> f64 {
        self.duration.as_secs_f64() / self.day
    }

    fn journey(&self, form: &JourneyForm) -> Result<JourneyPlan, LoadtestError> {
        let wrong = |reason: String| LoadtestError::Options(format!("journey {:?}: {reason}", form.name));
        if form.name.trim().is_empty()
            || self.form.journeys.iter().filter(|of| of.name == form.name).count() > 1
        {
            return Err(wrong("write a name that no other journey has".into()));
        }
        if form.steps.is_empty() {
            return Err(wrong("it has no steps: write steps = [{ ask = \"login\" }]".into()));
        }
        let steps: Vec<Step> = form
            .steps
            .iter()
            .enumerate()
            .map(|(place, step)| {
                let wrong = |reason: String| wrong(format!("step {} ({}): {reason}", place + 1, step.ask));
                let think = match step.think {
                    None => Think::Fixed(Duration::ZERO),
                    Some(_) if place == 0 => {
                        return Err(wrong("nobody thinks before the first step; leave think out".into()));
                    }
                    Some(think) => self.compressed(think.think().map_err(wrong)?)?,
                };
                Ok(Step { think, scenario: step.ask })
            })
            .collect::<Result<_, _>>()?;
        let plan = JourneyPlan { name: form.name.clone(), steps };
        match plan.contradiction() {
            Some((at, reason)) => Err(wrong(format!("step {}: {reason}", at + 1))),
            None => Ok(plan),
        }
    }

    fn compressed(&self, think: Think) -> Result<Think, LoadtestError> {
        match self.form.think_times {
            Some(ThinkTimes::Compressed) => Ok(think.times(self.compression())),
            Some(ThinkTimes::Real) => Ok(think),
            None if (self.compression() - 1.0).abs() < 1e-9 => Ok(think),
            None => refused(
                "think_times is missing: the run is shorter than what it stands for; write think_times = \"real\", or \
                 \"compressed\" for times that are shorter by as much",
            ),
        }
    }

    /// The work and its mixture.
    pub(super) fn build(&self) -> Result<(DayWork, Mixture), LoadtestError> {
        let mut streams = Vec::new();
        let shares = self.shares()?;
        let (stages, highest) = self.stages(shares.is_empty())?;
        if !shares.is_empty() {
            streams.push(Stream::Dealt { schedule: Schedule::new(&stages)?, shares });
        }
        for (number, journey) in self.form.journeys.iter().enumerate() {
            streams.extend(self.rated(number, journey, (&stages, highest))?);
        }
        let mut storms = Vec::new();
        for storm in &self.form.storms {
            let (stream, told) = self.storm(storm)?;
            streams.push(stream);
            storms.push(told);
        }
        if streams.is_empty() {
            return refused("nothing is asked: write a [mix], a [[journey]] or a [[storm]]");
        }
        let work = DayWork {
            name: format!("day {}", self.form.title),
            scenarios: self.scenarios.clone(),
            journeys: self.journeys.clone(),
            heaviest: self.heaviest(),
            limits: self.limits()?,
            storms,
            day_seconds: self.day,
            begins_seconds: self.form.begins.0,
        };
        Ok((work, Mixture { streams, duration: self.duration }))
    }

    /// What is dealt out, and in which shares.
    fn shares(&self) -> Result<Vec<(Ask, usize)>, LoadtestError> {
        let mut shares: Vec<(Ask, u32)> = Vec::new();
        let checked = |what: String, weight: u32| match weight {
            1..=MOST_WEIGHT => Ok(weight),
            _ => refused(&format!(
                "{what} = {weight}: write a weight from 1 to {MOST_WEIGHT}, or leave it out"
            )),
        };
        for (scenario, weight) in &self.form.mix {
            if let Some(ask) = self.number(*scenario) {
                shares.push((ask, checked(format!("mix: {scenario}"), *weight)?));
            }
        }
        for (number, journey) in self.form.journeys.iter().enumerate() {
            if let Some(weight) = journey.weight {
                let what = format!("journey {:?}: weight", journey.name);
                shares.push((Ask::Journey(number), checked(what, weight)?));
            }
        }
        // The fewer cards the deck has, the more even is the mix.
        let divisor = shares.iter().map(|(_, weight)| *weight).reduce(greatest_common_divisor).unwrap_or(1);
        let whole: u64 = shares.iter().map(|(_, weight)| u64::from(weight / divisor)).sum();
        if whole > u64::from(10 * MOST_WEIGHT) {
            return refused(&format!("mix: the weights are {whole} together; write smaller ones"));
        }
        let share = |(ask, weight): (Ask, u32)| (ask, usize::try_from(weight / divisor).unwrap_or(1));
        Ok(shares.into_iter().map(share).collect())
    }

    fn number(&self, scenario: Scenario) -> Option<Ask> {
        let place = self.scenarios.iter().position(|one| *one == scenario)?;
        u32::try_from(place).ok().map(Ask::Request)
    }

    /// The rates over the run, and the highest of them. Where nothing is dealt out at them (`only_rated`), it is the curve of
    /// what has a rate of its own, and its highest is 1.
    fn stages(&self, only_rated: bool) -> Result<(Vec<Stage>, f64), LoadtestError> {
        let form = self.form;
        if !form.stages.is_empty() {
            let stages = suite::stages(&form.stages);
            let highest = stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max);
            return Ok((stages, highest));
        }
        let curve = Curve(&form.curve);
        if let Some(reason) = curve.contradiction() {
            return refused(&format!("curve: {reason}"));
        }
        let peak = match form.peak {
            Some(peak) if peak.is_finite() && peak > 0.0 => peak,
            Some(peak) => {
                return refused(&format!("peak = {peak}: write how many arrive per second at share 1"));
            }
            None if only_rated => 1.0,
            None => {
                return refused("peak is missing: write how many arrive per second at share 1, peak = 50");
            }
        };
        Ok((curve.stages((form.begins, self.day), self.duration, peak), peak))
    }

    /// A journey with a rate of its own.
    fn rated(
        &self,
        number: usize,
        journey: &JourneyForm,
        (stages, highest): (&[Stage], f64),
    ) -> Result<Option<Stream>, LoadtestError> {
        let wrong = |reason: &str| refused(&format!("journey {:?}: {reason}", journey.name));
        let rate = match (journey.weight, journey.rate) {
            (Some(_), None) => return Ok(None),
            (None, Some(rate)) if rate.is_finite() && rate > 0.0 => rate,
            (None, Some(rate)) => {
                return wrong(&format!("rate = {rate}: write how many begin per second at share 1"));
            }
            (None, None)
                if self.form.storms.iter().any(|storm| storm.journey.as_ref() == Some(&journey.name)) =>
            {
                return Ok(None);
            }
            _ => {
                return wrong(
                    "write a weight, which is its part of the arrivals, or a rate of its own, or a storm that begins it",
                );
            }
        };
        let stage = |stage: &Stage| Stage {
            from: stage.from / highest * rate,
            to: stage.to / highest * rate,
            duration: stage.duration,
        };
        let stages: Vec<Stage> = stages.iter().map(stage).collect();
        let schedule = Schedule::new(&stages)
            .map_err(|error| LoadtestError::Options(format!("journey {:?}: {error}", journey.name)))?;
        Ok(Some(Stream::Dealt { schedule, shares: vec![(Ask::Journey(number), 1)] }))
    }

    fn storm(&self, storm: &StormForm) -> Result<(Stream, results::Storm), LoadtestError> {
        let wrong = |reason: &str| refused(&format!("storm at {}: {reason}", storm.at));
        let (ask, of) = match (&storm.journey, storm.scenario) {
            (Some(_), Some(_)) => return wrong("give a scenario or a journey, not both"),
            (Some(name), None) => match self.journeys.iter().position(|journey| journey.name == *name) {
                Some(number) => (Ask::Journey(number), name.clone()),
                None => return wrong(&format!("journey = {name:?}: no [[journey]] has this name")),
            },
            (None, scenario) => {
                let scenario = scenario.unwrap_or(Scenario::Login);
                match self.number(scenario) {
                    Some(ask) => (ask, scenario.name().to_owned()),
                    None => return wrong("its scenario is not known"),
                }
            }
        };
        if storm.requests == 0 {
            return wrong("requests = 0: write how many come");
        }
        let after = storm.at.after(self.form.begins);
        let within = storm.within.0.as_secs_f64();
        if within <= 0.0 || after + within > self.day {
            return wrong(&format!(
                "within = \"{}\": it must be longer than nothing and end with the day, which begins at {} and is {} long",
                humantime::format_duration(storm.within.0),
                self.form.begins,
                humantime::format_duration(Duration::from_secs_f64(self.day)),
            ));
        }
        let [begins, within] = [after, within].map(|time| Duration::from_secs_f64(time * self.compression()));
        let told = results::Storm {
            at: begins.as_secs_f64(),
            seconds: within.as_secs_f64(),
            requests: storm.requests,
            of,
        };
        Ok((Stream::Even { begins, within, count: storm.requests, ask }, told))
    }

    /// The scenario that is asked most, of those that are dealt out.
    fn heaviest(&self) -> Option<Scenario> {
        let heaviest = self.form.mix.iter().max_by_key(|(_, weight)| **weight).map(|(scenario, _)| *scenario);
        heaviest.or_else(|| self.journeys.first()?.steps.first().map(|step| step.scenario))
    }

    /// What must hold of each scenario that is asked.
    fn limits(&self) -> Result<Limits, LoadtestError> {
        let steps = self.journeys.iter().flat_map(|journey| &journey.steps).map(|step| step.scenario);
        let mut asked: Vec<Scenario> = self.scenarios.iter().copied().chain(steps).collect();
        asked.sort_unstable();
        asked.dedup();
        let default = self.form.each_scenario.clone().unwrap_or_else(Rule::usual_of_a_scenario);
        for (place, limit) in self.form.limits.iter().enumerate() {
            let scenario = limit.scenario;
            let wrong = |reason: &str| refused(&format!("limit of {scenario}: {reason}"));
            if !asked.contains(&scenario) {
                let asked: Vec<_> = asked.iter().map(|scenario| scenario.name()).collect();
                return wrong(&format!("the day never asks for it; it asks for {}", asked.join(", ")));
            }
            if self.form.limits.iter().skip(place + 1).any(|other| other.scenario == scenario) {
                return wrong("it has two [[limit]]s; write its thresholds into one");
            }
            if limit.thresholds.is_empty() {
                return wrong("thresholds is empty: write thresholds = [\"p99_ms<800\"]");
            }
        }
        let own = |scenario: Scenario| {
            self.form
                .limits
                .iter()
                .filter(move |limit| limit.scenario == scenario)
                .flat_map(|limit| &limit.thresholds)
        };
        let of = |scenario: Scenario| {
            let besides =
                default.iter().filter(|rule| own(scenario).all(|own| own.figure() != rule.figure()));
            (scenario, own(scenario).chain(besides).cloned().collect::<Vec<Rule>>())
        };
        let limits: Limits = asked.into_iter().map(of).collect();
        let unknown =
            limits.iter().flat_map(|(scenario, rules)| rules.iter().map(move |rule| (scenario, rule)));
        let unknown =
            unknown.map(|(scenario, rule)| (*scenario, rule)).find(|(_, rule)| !rule.is_of_a_scenario());
        match unknown {
            Some((scenario, rule)) => refused(&format!(
                "limit of {scenario}: {} is known of the run as a whole alone; write it into thresholds",
                rule.figure()
            )),
            None => Ok(limits),
        }
    }
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}
