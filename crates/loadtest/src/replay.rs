//! Replay of a request log: its requests at its times, as the seed can make them.
//!
//! A log has neither bodies nor secrets. Each of its lines stands for a request to an endpoint, in whose place a scenario's
//! request to the same endpoint is sent; what has no secret in it, a plain GET, is sent as it stands there.

mod common_log;
mod mapping;
mod request_log;
mod visitor;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::LoadtestError;
use crate::executor::{Arrivals, Schedule};
use crate::results::Replayed;
use crate::scenario::{Scenario, Visitor};
use crate::seed::Seed;

pub(crate) use mapping::Request;
use mapping::{Logged, Mapped};

/// More different kinds of lines that nothing is sent for are told together.
const MOST_LEFT_OUT: usize = 12;

/// How a log is read.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions {
    /// How many times as fast as the log.
    pub speed: f64,
    /// What a line of the token endpoint stands for in a log that does not say which grant it was: one of the scenarios
    /// `code`, `refresh`, `client-credentials` and `exchange`. Without it nothing is sent for such lines.
    pub token: Option<Scenario>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { speed: 1.0, token: None }
    }
}

/// A log that was read.
#[derive(Clone)]
pub struct Replay {
    /// The different requests; an arrival says which by its place.
    requests: Arc<[Request]>,
    arrivals: Arrivals,
    summary: Replayed,
    name: Arc<str>,
}

/// What one line of a log is.
enum Line {
    /// A request and when it came, in microseconds since 1970.
    Request(u64, Logged),
    /// Something else that belongs into such a file.
    Other,
    Unreadable,
}

/// What is collected from the lines.
#[derive(Default)]
struct Collected {
    places: HashMap<Request, u32>,
    requests: Vec<Request>,
    arrivals: Vec<(u64, u32)>,
    left_out: BTreeMap<String, u64>,
    lines: u64,
    other: u64,
    unreadable: u64,
}

impl Replay {
    /// Reads a log in the provider's own form (JSON lines) or in the Common or Combined Log Format.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the file: it cannot be read, is no such log, or has nothing that can be sent.
    pub fn read(path: &Path, options: &ReplayOptions) -> Result<Self, LoadtestError> {
        let refused = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        if !(options.speed.is_finite() && options.speed > 0.0) {
            let reason = format!("speed {}: it must be a number above 0, for instance 2", options.speed);
            return Err(LoadtestError::Options(reason));
        }
        if let Some(scenario) = options.token.filter(|scenario| !mapping::is_of_the_token_endpoint(*scenario))
        {
            let reason =
                format!("{scenario} is no grant: code, refresh, client-credentials or exchange is one");
            return Err(LoadtestError::Options(reason));
        }
        let file = File::open(path).map_err(|error| refused(error.to_string()))?;
        let (mut collected, is_common) = collect(BufReader::new(file), options).map_err(refused)?;
        if collected.arrivals.is_empty() {
            return Err(refused(format!(
                "none of its {} lines is a request that can be sent ({} unreadable; nothing is sent for {})",
                collected.lines,
                collected.unreadable,
                told(&collected.left_out)
            )));
        }
        collected.arrivals.sort_unstable();
        let first = collected.arrivals.first().map_or(0, |(at, _)| *at);
        let spread = is_common && spread_whole_seconds(&mut collected.arrivals);
        let due = |at: u64| Duration::from_micros(at.saturating_sub(first)).div_f64(options.speed);
        let arrivals = Arrivals::new(collected.arrivals.iter().map(|(at, what)| (due(*at), *what)));
        let mut sent_as = BTreeMap::<String, u64>::new();
        for (_, what) in &collected.arrivals {
            let request = usize::try_from(*what).ok().and_then(|place| collected.requests.get(place));
            *sent_as.entry(request.map_or("", Request::name).to_owned()).or_default() += 1;
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self {
            requests: collected.requests.into(),
            arrivals: arrivals.map_err(|error| refused(error.to_string()))?,
            name: format!("replay of {stem}").into(),
            summary: Replayed {
                file: path.display().to_string(),
                speed: options.speed,
                lines: collected.lines,
                sent_as,
                left_out: collected.left_out,
                unreadable: collected.unreadable,
                not_requests: collected.other,
                spread,
            },
        })
    }

    /// What results call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its lines came to.
    pub fn summary(&self) -> &Replayed {
        &self.summary
    }

    /// When its requests arrive.
    ///
    /// # Errors
    /// As [`Schedule::listed`].
    pub fn schedule(&self) -> Result<Schedule, LoadtestError> {
        Schedule::listed(self.arrivals.clone())
    }

    /// The scenarios whose requests stand in for lines.
    pub(crate) fn scenarios(&self) -> BTreeSet<Scenario> {
        self.requests.iter().filter_map(Request::scenario).collect()
    }

    /// The visitors; fewer than connections where the seed has not so many refresh-token families.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] when the seed or the target lacks something.
    pub(crate) fn visitors(
        &self,
        seed: &Arc<Seed>,
        connections: usize,
    ) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        visitor::visitors(&self.requests, seed, connections)
    }
}

impl Replayed {
    /// In words, for the terminal.
    pub fn in_words(&self) -> String {
        let Self { file, speed, lines, sent_as, left_out, unreadable, not_requests, spread } = self;
        let sent: u64 = sent_as.values().sum();
        let mut words = format!(
            "replay of {file} at speed {speed}: {sent} of {lines} lines are sent, as {}",
            told(sent_as)
        );
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                words.push_str(&format!("; {what}"));
            }
        };
        say(left_out.values().sum(), &format!("nothing is sent for {}", told(left_out)));
        say(*unreadable, &format!("{unreadable} lines cannot be read"));
        say(*not_requests, &format!("{not_requests} lines are no requests"));
        say(u64::from(*spread), "its times are whole seconds, whose requests are spread evenly over them");
        words
    }
}

/// `silent 40, userinfo 2`.
fn told(counts: &BTreeMap<String, u64>) -> String {
    let told: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    told.join(", ")
}

/// Reads all lines. Whether they are of the Common Log Format: the first says it.
fn collect(mut file: impl BufRead, options: &ReplayOptions) -> Result<(Collected, bool), String> {
    let (mut collected, mut is_common, mut bytes) = (Collected::default(), None, Vec::new());
    let common = common_log::Reader::new()?;
    loop {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).map_err(|error| error.to_string())? == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        collected.lines += 1;
        let is_common = *is_common.get_or_insert_with(|| !line.starts_with('{'));
        let read = if is_common { common.read(line) } else { request_log::read(line) };
        collected.add(read, options)?;
    }
    Ok((collected, is_common.unwrap_or(false)))
}

impl Collected {
    fn add(&mut self, line: Line, options: &ReplayOptions) -> Result<(), String> {
        match line {
            Line::Other => self.other += 1,
            Line::Unreadable => self.unreadable += 1,
            Line::Request(at, logged) => match logged.mapped(options.token) {
                Mapped::As(request) => {
                    let what = self.place(request)?;
                    self.arrivals.push((at, what));
                }
                Mapped::LeftOut(what) => {
                    let is_known = self.left_out.contains_key(&what);
                    let all = self.left_out.len() >= MOST_LEFT_OUT && !is_known;
                    *self.left_out.entry(if all { "others".into() } else { what }).or_default() += 1;
                }
            },
        }
        Ok(())
    }

    fn place(&mut self, request: Request) -> Result<u32, String> {
        if let Some(place) = self.places.get(&request) {
            return Ok(*place);
        }
        let place = u32::try_from(self.requests.len()).ok().filter(|place| *place < Arrivals::MOST_KINDS);
        let place = place.ok_or("it has more than 16 million different requests")?;
        self.requests.push(request.clone());
        self.places.insert(request, place);
        Ok(place)
    }
}

/// Requests of one second at even intervals in it, where all times are whole seconds: together at its beginning they would
/// be a burst that never was. Whether that was so.
fn spread_whole_seconds(arrivals: &mut [(u64, u32)]) -> bool {
    const SECOND: u64 = 1_000_000;
    if arrivals.iter().any(|(at, _)| at % SECOND != 0) {
        return false;
    }
    for second in arrivals.chunk_by_mut(|(one, _), (other, _)| one == other) {
        let count = u64::try_from(second.len()).unwrap_or(u64::MAX);
        for (place, (at, _)) in (0_u64..).zip(second) {
            *at += place * SECOND / count;
        }
    }
    true
}

#[cfg(test)]
mod tests;
