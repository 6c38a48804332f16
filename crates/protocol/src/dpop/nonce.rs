//! Nonces for proofs (RFC 9449 8, 9). They are derived from the time by a key of the issuer, so nothing is stored, and
//! every node makes the same.

use std::time::Duration;

use smol_str::SmolStr;
use symbolon_crypto::digest::{HmacKey, constant_time_eq};
use symbolon_crypto::encoding;

use crate::time::Timestamp;

/// How long one nonce is handed out. It is accepted for as long again.
pub const NONCE_LIFE: Duration = Duration::from_secs(5 * 60);

/// The nonce to send now (RFC 9449 8.1): 22 characters that nobody can foresee.
pub fn draw_nonce(key: &HmacKey, now: Timestamp) -> SmolStr {
    of_window(key, window(now))
}

/// Whether a nonce was handed out now or a life ago. The next one counts too, because the clock of the node that made
/// it may be ahead by a little.
pub fn is_good_nonce(key: &HmacKey, now: Timestamp, nonce: &str) -> bool {
    let present = window(now);
    [present, present.saturating_sub(1), present.saturating_add(1)]
        .into_iter()
        .any(|window| constant_time_eq(of_window(key, window).as_bytes(), nonce.as_bytes()))
}

fn window(now: Timestamp) -> u64 {
    now.seconds() / NONCE_LIFE.as_secs()
}

fn of_window(key: &HmacKey, window: u64) -> SmolStr {
    let tag = key.sign(&[b"dpop nonce", &[0], &window.to_be_bytes()]);
    SmolStr::new(encoding::encode(tag.first_chunk::<16>().unwrap_or(&[0; 16])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_good_for_its_life_and_one_more() {
        let key = HmacKey::new(b"a key");
        let begin = Timestamp::from_seconds(NONCE_LIFE.as_secs() * 1_000_000);
        let nonce = draw_nonce(&key, begin);
        assert_eq!(nonce.len(), 22);
        for (now, good) in [
            (begin, true),
            (begin + NONCE_LIFE, true),
            (begin + NONCE_LIFE * 2 - Duration::from_secs(1), true),
            (begin + NONCE_LIFE * 2, false),
            (begin - Duration::from_secs(1), true),
            (begin - NONCE_LIFE - Duration::from_secs(1), false),
        ] {
            assert_eq!(is_good_nonce(&key, now, &nonce), good, "{now}");
        }
        assert!(!is_good_nonce(&HmacKey::new(b"another"), begin, &nonce));
        assert!(!is_good_nonce(&key, begin, "") && !is_good_nonce(&key, begin, &nonce[1..]));
    }
}
