//! Arrivals at instants that somebody lists, each with a number that says what is asked.

use std::sync::Arc;
use std::time::Duration;

use crate::LoadtestError;

/// Bits of an arrival that say what is asked; the others are its microseconds.
const WHAT_BITS: u32 = 24;
/// The longest list in microseconds: 12 days.
const MAX_MICROS: u64 = u64::MAX >> WHAT_BITS;

/// Arrivals in the order of their instants, eight bytes for each.
#[derive(Clone, Debug)]
pub struct Arrivals(Arc<[u64]>);

impl Arrivals {
    /// What an arrival asks is less than this.
    pub const MOST_KINDS: u32 = 1 << WHAT_BITS;

    /// Instants after the beginning, in any order, each with what is asked then.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: there are none, or one is out of bounds.
    pub fn new(arrivals: impl IntoIterator<Item = (Duration, u32)>) -> Result<Self, LoadtestError> {
        let refused = |reason: &str| LoadtestError::Options(reason.into());
        let pack = |(at, what): (Duration, u32)| {
            let micros = u64::try_from(at.as_micros()).ok().filter(|micros| *micros <= MAX_MICROS);
            let micros = micros.ok_or_else(|| refused("an arrival is more than 12 days after the first"))?;
            if what >= Self::MOST_KINDS {
                return Err(refused("more than 16 million different requests"));
            }
            Ok((micros << WHAT_BITS) | u64::from(what))
        };
        let mut packed = arrivals.into_iter().map(pack).collect::<Result<Vec<u64>, _>>()?;
        if packed.is_empty() {
            return Err(refused("there is nothing to send"));
        }
        // By instant first. What arrives in the same microsecond has no order.
        packed.sort_unstable();
        Ok(Self(packed.into()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When one arrives after the beginning, and what it asks.
    pub fn get(&self, index: u64) -> Option<(Duration, u32)> {
        let packed = *self.0.get(usize::try_from(index).ok()?)?;
        let what = u32::try_from(packed & u64::from(Self::MOST_KINDS - 1)).unwrap_or_default();
        Some((Duration::from_micros(packed >> WHAT_BITS), what))
    }

    /// From the beginning to one more mean interval after the last of them; a second at least.
    pub(super) fn duration(&self) -> Duration {
        let last = self.0.last().map_or(0, |packed| packed >> WHAT_BITS);
        let intervals = u64::try_from(self.0.len()).unwrap_or(u64::MAX).saturating_sub(1).max(1);
        Duration::from_micros(last + last / intervals).max(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_hold_an_instant_and_what_is_asked() {
        let last = Duration::from_micros(MAX_MICROS);
        let given = [(last, 0), (Duration::from_micros(3), Arrivals::MOST_KINDS - 1), (Duration::ZERO, 7)];
        let arrivals = Arrivals::new(given).unwrap();
        assert_eq!(arrivals.len(), 3);
        let all: Vec<_> = (0..).map_while(|index| arrivals.get(index)).collect();
        assert_eq!(all, [given[2], given[1], given[0]]);
    }

    #[test]
    fn a_list_lasts_until_its_last_arrival_had_its_interval() {
        let of = |seconds: &[u64]| {
            let arrivals = seconds.iter().map(|second| (Duration::from_secs(*second), 0));
            Arrivals::new(arrivals).unwrap().duration().as_secs_f64()
        };
        assert_eq!((of(&[0, 10, 20]), of(&[0, 0, 0]), of(&[0])), (30.0, 1.0, 1.0));
    }

    #[test]
    fn what_cannot_be_held_is_refused() {
        let one = |at: Duration, what| Arrivals::new([(at, what)]).err().unwrap().to_string();
        assert!(one(Duration::from_micros(MAX_MICROS + 1), 0).contains("12 days"));
        assert!(one(Duration::ZERO, Arrivals::MOST_KINDS).contains("16 million"));
        assert!(Arrivals::new([]).is_err());
    }
}
