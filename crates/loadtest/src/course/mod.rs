//! The course of a run, of bounded size however long the run is: seconds first, then windows of 2, 4, 8 seconds and so on.

mod sparse;

use std::time::Duration;

use crate::latency::millis;
use crate::results::{Second, WorstSecond};
use crate::tally::Lately;
pub(crate) use sparse::SparseLatencies;

/// Rows at most: with more, neighbours become one.
const ROWS: usize = 1_800;

/// What differs by more is not called a second.
const NOT_A_SECOND: f64 = 0.05;

/// Records a run second by second. What it keeps, and gives back, is bounded: half an hour is kept by seconds; of a longer
/// run neighbouring rows are put together, pair by pair, their counts added and their percentiles taken from both histograms
/// together.
#[derive(Clone, Debug)]
pub struct Course {
    rows: Vec<Row>,
    /// Rows at most.
    most: usize,
    /// Seconds to a row.
    width: u32,
    /// What was recorded last reaches to here.
    told: Duration,
    answered: u64,
    errors: u64,
}

/// A part of the course.
#[derive(Clone, Debug)]
struct Row {
    /// Its end, in whole seconds since the start.
    at: u32,
    answered: u64,
    errors: u64,
    /// Arrivals whose time came, where they are counted.
    offered: Option<u64>,
    latencies: SparseLatencies,
    /// How long it is.
    covers: Duration,
    /// The CPU time of the provider in as much of it as is known, and how much that is.
    cpu: Duration,
    cpu_of: Duration,
    /// Of the seconds that it was made of; of a single second none.
    worst: Option<WorstSecond>,
}

impl Default for Course {
    fn default() -> Self {
        Self::new()
    }
}

impl Course {
    /// Nothing recorded yet.
    pub fn new() -> Self {
        Self::of_rows(ROWS)
    }

    /// The same of so many rows at most.
    pub(crate) fn of_rows(most: usize) -> Self {
        Self { rows: Vec::new(), most, width: 1, told: Duration::ZERO, answered: 0, errors: 0 }
    }

    /// Adds what was counted from the last call until `now`, a time since the start, and the CPU time that the provider used
    /// meanwhile, where it is known. The second as it is told while the run goes on.
    pub fn record(&mut self, now: Duration, lately: &Lately, cpu: Option<Duration>) -> Second {
        let counts = (lately.answered, lately.errors, lately.offered);
        self.add(now, counts, (SparseLatencies::of(&lately.latencies), cpu))
    }

    fn add(
        &mut self,
        now: Duration,
        (answered, errors, offered): (u64, u64, Option<u64>),
        (latencies, cpu): (SparseLatencies, Option<Duration>),
    ) -> Second {
        let before = std::mem::replace(&mut self.told, now);
        // What is told at the end belongs to a second that is not over.
        let at = now.as_secs() + u64::from(now.as_secs() == before.as_secs());
        let covers = now.saturating_sub(before);
        let row = Row {
            at: u32::try_from(at).unwrap_or(u32::MAX),
            answered,
            errors,
            offered,
            latencies,
            covers,
            cpu: cpu.unwrap_or_default(),
            cpu_of: if cpu.is_some() { covers } else { Duration::ZERO },
            worst: None,
        };
        (self.answered, self.errors) = (self.answered + row.answered, self.errors + row.errors);
        let second = row.second();
        self.push(row);
        second
    }

    /// Failures and wrong answers so far.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Answers so far.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// The rows, in their order.
    pub fn seconds(&self) -> Vec<Second> {
        self.rows.iter().map(Row::second).collect()
    }

    /// How many rows there are, and how many seconds a whole one covers.
    pub(crate) fn size(&self) -> (usize, u32) {
        (self.rows.len(), self.width)
    }

    /// The last row, which may still grow.
    pub(crate) fn last(&self) -> Option<Second> {
        self.rows.last().map(Row::second)
    }

    fn push(&mut self, row: Row) {
        let window = self.window(&row);
        match self.rows.last_mut() {
            Some(last) if self.width > 1 && window == (last.at.saturating_sub(1)) / self.width => {
                last.merge(&row);
            }
            _ => self.rows.push(row),
        }
        while self.rows.len() > self.most {
            self.width = self.width.saturating_mul(2);
            self.join_neighbours();
        }
    }

    /// The number of the window that a row ends in.
    fn window(&self, row: &Row) -> u32 {
        row.at.saturating_sub(1) / self.width
    }

    fn join_neighbours(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let mut joined: Vec<Row> = Vec::with_capacity(self.most + 1);
        for row in rows {
            let window = self.window(&row);
            match joined.last_mut() {
                Some(last) if self.window(last) == window => last.merge(&row),
                _ => joined.push(row),
            }
        }
        self.rows = joined;
    }
}

impl Row {
    fn merge(&mut self, later: &Self) {
        self.worst = Some(self.worst().with(&later.worst()));
        self.at = self.at.max(later.at);
        self.answered += later.answered;
        self.errors += later.errors;
        self.offered = self.offered.into_iter().chain(later.offered).reduce(|own, later| own + later);
        self.latencies.merge(&later.latencies);
        self.covers += later.covers;
        self.cpu += later.cpu;
        self.cpu_of += later.cpu_of;
    }

    /// The worst of its seconds; of a single one that itself.
    fn worst(&self) -> WorstSecond {
        self.worst.unwrap_or_else(|| WorstSecond {
            p99_ms: self.latencies.percentile(99.0).map(millis),
            max_ms: self.latencies.longest().map(millis),
            errors: self.errors,
            fewest_answered: self.answered as f64 / self.covers.as_secs_f64().max(0.001),
            server_cores: self.cores(),
        })
    }

    fn cores(&self) -> Option<f64> {
        (!self.cpu_of.is_zero()).then(|| self.cpu.as_secs_f64() / self.cpu_of.as_secs_f64().max(0.001))
    }

    fn second(&self) -> Second {
        let covers = self.covers.as_secs_f64();
        let latency = |percentile| self.latencies.percentile(percentile).map(millis);
        Second {
            at: self.at,
            answered: self.answered,
            errors: self.errors,
            p50_ms: latency(50.0),
            p99_ms: latency(99.0),
            server_cores: self.cores(),
            offered: self.offered,
            covers: ((covers - 1.0).abs() > NOT_A_SECOND).then_some(covers),
            worst: self.worst,
        }
    }
}

impl WorstSecond {
    /// The worse of each figure.
    fn with(&self, other: &Self) -> Self {
        let higher = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        Self {
            p99_ms: higher(self.p99_ms, other.p99_ms),
            max_ms: higher(self.max_ms, other.max_ms),
            errors: self.errors.max(other.errors),
            fewest_answered: self.fewest_answered.min(other.fewest_answered),
            server_cores: higher(self.server_cores, other.server_cores),
        }
    }
}

#[cfg(test)]
mod tests;
