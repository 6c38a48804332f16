//! Measures the availability of the load's requests during a fault, as clients see it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{AddAssign, Range};
use std::sync::{Mutex, PoisonError};

use super::Micros;

/// The outcome of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An answer, except those of the next variant.
    Answered,
    /// 503 with Retry-After, or `temporarily_unavailable` (RFC 6749 4.1.2.1).
    Unavailable,
    /// No answer.
    Lost,
    /// A node refused the connection, and the request went to the next one.
    Refused,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Noted {
    /// The first segment of its path.
    pub endpoint: String,
    /// When it was sent.
    pub sent: Micros,
    /// When its outcome was known.
    pub known: Micros,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The outcomes of the requests of all workers.
#[derive(Default)]
pub struct Meter {
    noted: Mutex<Vec<Noted>>,
    reasons: Mutex<Vec<String>>,
}

impl Meter {
    /// Notes an outcome.
    pub fn note(&self, noted: Noted) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    }

    /// How many outcomes are known.
    pub fn count(&self) -> usize {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Notes why an answer was lost.
    pub fn note_reason(&self, why: &str) {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).push(why.to_owned());
    }

    /// Why answers were lost.
    pub fn reasons(&self) -> Vec<String> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The availability in a span of time, from the requests whose outcome was known in it.
    pub fn between(&self, span: Range<Micros>) -> Availability {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        noted.retain(|one| span.contains(&one.known));
        noted.sort_by_key(|one| one.known);
        let mut sum = Availability { lasted: span.end - span.start, ..Availability::default() };
        let mut failing: BTreeMap<&str, Micros> = BTreeMap::new();
        for Noted { endpoint, sent, known, outcome } in &noted {
            let sent = (*sent).max(span.start);
            match outcome {
                Outcome::Answered => {
                    sum.answered += 1;
                    let since = failing.remove(&**endpoint).map_or(sent, |since| since.min(sent));
                    sum.note_outage(known - since, endpoint);
                    continue;
                }
                Outcome::Unavailable => sum.unavailable += 1,
                Outcome::Lost => sum.lost += 1,
                Outcome::Refused => {
                    sum.refused += 1;
                    continue;
                }
            }
            failing.entry(endpoint).and_modify(|since| *since = sent.min(*since)).or_insert(sent);
        }
        failing.into_iter().for_each(|(endpoint, since)| sum.note_outage(span.end - since, endpoint));
        sum
    }
}

/// Counts of requests in a span of time, or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    /// Microseconds.
    pub lasted: Micros,
    /// Requests with an answer other than 503.
    pub answered: u64,
    /// Requests answered by 503.
    pub unavailable: u64,
    /// Requests without an answer.
    pub lost: u64,
    /// Connections that were refused; their requests went to another node.
    pub refused: u64,
    /// The longest outage of an endpoint, in microseconds: from the sending of a request that failed, or that was
    /// answered late, to the next answer other than 503 from any node.
    pub outage: Micros,
    /// The endpoint of that outage.
    pub worst: String,
}

impl Availability {
    /// The heading of the columns of the text form.
    pub const HEADING: &'static str = "seconds requests     503   lost refused   failed outage s of";

    /// The share of requests that failed, of 1.
    pub fn failed(&self) -> f64 {
        let failed = self.unavailable + self.lost;
        failed as f64 / (failed + self.answered).max(1) as f64
    }

    fn note_outage(&mut self, lasted: Micros, endpoint: &str) {
        if lasted > self.outage {
            (self.outage, self.worst) = (lasted, endpoint.to_owned());
        }
    }
}

impl AddAssign<&Self> for Availability {
    fn add_assign(&mut self, other: &Self) {
        self.lasted += other.lasted;
        self.answered += other.answered;
        self.unavailable += other.unavailable;
        self.lost += other.lost;
        self.refused += other.refused;
        self.note_outage(other.outage, &other.worst);
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>7.1} {:>8} {:>7} {:>6} {:>7} {:>7.2}% {:>8.2} {}",
            self.lasted as f64 / 1e6,
            self.answered + self.unavailable + self.lost,
            self.unavailable,
            self.lost,
            self.refused,
            self.failed() * 100.0,
            self.outage as f64 / 1e6,
            self.worst,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(notes: &[(&str, Micros, Micros, Outcome)]) -> Meter {
        let meter = Meter::default();
        for (endpoint, sent, known, outcome) in notes {
            let (endpoint, sent, known, outcome) = ((*endpoint).to_owned(), *sent, *known, *outcome);
            meter.note(Noted { endpoint, sent, known, outcome });
        }
        meter
    }

    #[test]
    fn an_outage_lasts_from_the_first_that_failed_to_the_next_answer_of_that_endpoint() {
        let meter = meter(&[
            ("token", 80, 90, Outcome::Lost),
            ("token", 200, 210, Outcome::Answered),
            ("token", 130, 150, Outcome::Unavailable),
            ("token", 120, 160, Outcome::Lost),
            ("token", 110, 140, Outcome::Answered),
            ("userinfo", 155, 170, Outcome::Answered),
            ("token", 215, 220, Outcome::Refused),
            ("token", 295, 300, Outcome::Answered),
        ]);
        let seen = meter.between(100..300);
        let counts = (seen.answered, seen.unavailable, seen.lost, seen.refused, seen.lasted);
        assert_eq!(counts, (3, 1, 1, 1, 200));
        assert_eq!((seen.outage, &*seen.worst), (90, "token"));
        assert!((seen.failed() - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_late_answer_is_an_outage_and_one_that_does_not_end_lasts_to_the_end() {
        let late = meter(&[("token", 90, 180, Outcome::Answered), ("token", 181, 182, Outcome::Answered)]);
        assert_eq!(late.between(100..200).outage, 80);
        let away = meter(&[("token", 120, 121, Outcome::Unavailable), ("jwks", 122, 199, Outcome::Answered)]);
        assert_eq!(away.between(100..200).outage, 80);
        assert_eq!(away.between(400..500), Availability { lasted: 100, ..Availability::default() });
    }

    #[test]
    fn of_several_times_the_longest_outage_counts() {
        let meter = meter(&[("token", 0, 5, Outcome::Answered), ("jwks", 10, 30, Outcome::Answered)]);
        let mut sum = meter.between(0..8);
        sum += &meter.between(8..40);
        assert_eq!((sum.answered, sum.outage, &*sum.worst), (2, 20, "jwks"));
    }
}
