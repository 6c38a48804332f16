//! Hands what was counted in each second from the thread that sends to the one that tells. The teller may be held up, by a
//! terminal that was paused for instance: seconds that it does not take are put together then, so that they fill no memory and
//! none is lost.

use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::tally::Lately;

/// Seconds that may wait.
const WAITING: usize = 16;

type Told = (Duration, Lately);

/// The sending end.
pub(super) struct Relay {
    sender: Sender<Told>,
    /// What nobody took yet.
    held: Option<Told>,
}

/// Both ends.
pub(super) fn seconds() -> (Relay, Receiver<Told>) {
    let (sender, receiver) = channel(WAITING);
    (Relay { sender, held: None }, receiver)
}

impl Relay {
    /// Hands a second over, or keeps it for the next.
    pub(super) fn tell(&mut self, now: Duration, lately: &Lately) {
        let mut counted = lately.clone();
        if let Some((_, mut held)) = self.held.take() {
            counted.take(&mut held);
        }
        match self.sender.try_send((now, counted)) {
            Err(TrySendError::Full(told)) => self.held = Some(told),
            // Nobody listens any more only when the run is being given up.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    /// Hands over what is left, and waits until it is taken. Not for a thread of an asynchronous runtime.
    pub(super) fn end(self) {
        if let Some(told) = self.held {
            let _ = self.sender.blocking_send(told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::LatenciesOfASecond;
    use crate::scenario::Right;
    use crate::tally::{End, Tally};

    #[test]
    fn what_nobody_takes_is_put_together_and_not_lost() {
        let (mut relay, mut receiver) = seconds();
        let mut tally = Tally::watched().unwrap();
        for second in 1..=100 {
            (0..3).for_each(|_| tally.right("", Duration::from_millis(1), Right::default()));
            tally.missed("", Duration::from_secs(1));
            let mut lately = Lately::new().unwrap();
            lately.take_from(&mut tally, true).unwrap();
            relay.tell(Duration::from_secs(second), &lately);
        }
        let reading = std::thread::spawn(move || {
            let mut told = Vec::new();
            while let Some(second) = receiver.blocking_recv() {
                told.push(second);
            }
            told
        });
        relay.end();
        let told = reading.join().unwrap();
        assert_eq!(told.len(), WAITING + 1);
        let sum = |read: fn(&Lately) -> u64| told.iter().map(|(_, lately)| read(lately)).sum::<u64>();
        assert_eq!((sum(|lately| lately.answered), sum(|lately| lately.errors)), (300, 100));
        // By how they ended too, and what was counted in all is what the latest says.
        let ended = |lately: &Lately, end| lately.plateau.of(end).map_or(0, LatenciesOfASecond::count);
        for (end, count) in [(End::Right, 300), (End::Missed, 100)] {
            assert_eq!(told.iter().map(|(_, lately)| ended(lately, end)).sum::<u64>(), count, "{end:?}");
            assert_eq!(told.last().unwrap().1.plateau_so_far.of(end), count, "{end:?}");
        }
        assert_eq!(told.last().unwrap().0, Duration::from_secs(100));
    }
}
