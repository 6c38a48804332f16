//! The search for the highest rate that holds: doubled until one does not, then halved in between.

/// No higher rate is tried.
const MOST: f64 = 1_000_000.0;

/// What is known so far.
pub(super) struct Search {
    from: f64,
    /// No lower rate is tried.
    least: f64,
    /// How near the limit is to be told, as a share of it.
    precision: f64,
    held: Vec<f64>,
    failed: Option<f64>,
}

impl Search {
    /// Begins at `from` requests per second and gives up below `least`.
    pub(super) fn new((from, least): (f64, f64), precision: f64) -> Self {
        Self { from, least, precision, held: Vec::new(), failed: None }
    }

    /// The highest rate that held below the lowest that did not.
    pub(super) fn limit(&self) -> Option<f64> {
        self.held.iter().copied().reduce(f64::max)
    }

    /// The lowest rate that did not hold.
    pub(super) fn failed(&self) -> Option<f64> {
        self.failed
    }

    /// The rate to try next; none when the limit is known well enough.
    pub(super) fn next(&self) -> Option<f64> {
        match (self.limit(), self.failed) {
            (None, None) => Some(self.from),
            (Some(held), None) => (held < MOST).then_some(held * 2.0),
            (None, Some(failed)) => (failed / 2.0 >= self.least).then_some(failed / 2.0),
            (Some(held), Some(failed)) => {
                let middle = round(f64::midpoint(held, failed));
                (failed > held * (1.0 + self.precision) && middle > held && middle < failed).then_some(middle)
            }
        }
    }

    /// What came of a rate. One that did not hold takes back whatever was said of higher ones.
    pub(super) fn tried(&mut self, rate: f64, held: bool) {
        if held {
            self.held.push(rate);
        } else {
            self.failed = Some(self.failed.map_or(rate, |failed| failed.min(rate)));
            self.held.retain(|held| *held < rate);
        }
    }
}

/// To three digits: nobody asks for 4,687.5 requests a second.
fn round(rate: f64) -> f64 {
    let step = 10f64.powf(rate.log10().floor() - 2.0);
    (rate / step).round() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(limit: f64, from: f64, precision: f64) -> (Option<f64>, usize) {
        let mut search = Search::new((from, 0.5), precision);
        let mut tries = 0;
        while let Some(rate) = search.next() {
            search.tried(rate, rate <= limit);
            tries += 1;
            assert!(tries < 60);
        }
        (search.limit(), tries)
    }

    #[test]
    fn the_limit_is_found_within_the_precision() {
        for limit in [1.0, 7.3, 99.0, 640.0, 4_321.0, 87_654.0] {
            for precision in [0.02, 0.05, 0.2] {
                let (found, tries) = find(limit, 100.0, precision);
                let found = found.unwrap();
                assert!(found <= limit && found >= limit / (1.0 + precision) * 0.98, "{limit}: {found}");
                assert!(tries < 25, "{limit}: {tries}");
            }
        }
    }

    #[test]
    fn what_never_holds_and_what_always_does_ends() {
        assert_eq!(find(0.0, 100.0, 0.05).0, None);
        assert!(find(f64::INFINITY, 100.0, 0.05).0.unwrap() >= 1_000_000.0);
    }

    #[test]
    fn a_rate_that_fails_later_takes_back_higher_ones() {
        let mut search = Search::new((100.0, 0.5), 0.05);
        for (rate, held) in [(100.0, true), (200.0, true), (400.0, false), (300.0, true), (300.0, false)] {
            search.tried(rate, held);
        }
        assert_eq!((search.limit(), search.failed()), (Some(200.0), Some(300.0)));
        assert_eq!(search.next(), Some(250.0));
    }
}
