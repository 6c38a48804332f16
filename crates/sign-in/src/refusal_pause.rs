//! The pause before an answer to an attempt that was refused unseen.

use std::time::Duration;

use symbolon_crypto::random::{self, Random};

/// How long an attempt waits that is refused without a look at its password: 0.5 to 1.5 s, at random. Whoever repeats
/// attempts on many connections sends the next ones that much later and not all together, so that requests of others
/// find the processor free.
pub(super) fn refusal_pause(random: &dyn Random) -> Duration {
    let [share] = random::bytes::<1>(random);
    Duration::from_millis(500 + 4 * u64::from(share))
}
