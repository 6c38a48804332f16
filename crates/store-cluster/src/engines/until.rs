//! Waiting for something that another process brings about.

use std::thread;
use std::time::{Duration, Instant};

/// Far beyond what anything here takes on a slow and loaded machine (PostgreSQL that was killed syncs all its files first,
/// behind whatever else the disk has to write): it only bounds a test that would never end.
const PATIENCE: Duration = Duration::from_secs(600);

const BETWEEN: Duration = Duration::from_millis(10);

/// Asks `answer` every ten milliseconds until it has one.
///
/// # Panics
/// After ten minutes without one, with `what` was waited for.
#[allow(clippy::disallowed_methods, reason = "the processes waited for live in real time")]
pub fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "waited {} s for this: {what}", PATIENCE.as_secs());
        thread::sleep(BETWEEN);
    }
}
