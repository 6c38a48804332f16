//! Nonces for proofs (RFC 9449 8, 9). They are derived from the time by a key of the issuer, so nothing is stored, and
//! every node makes the same.

use std::time::Duration;

use smol_str::SmolStr;
use symbolon_crypto::digest::{HmacKey, constant_time_eq};
use symbolon_crypto::encoding;

use crate::time::Timestamp;

/// How long one nonce is handed out. It is accepted for as long again.
pub const NONCE_LIFE: Duration = Duration::from_secs(5 * 60);

/// The nonces of an issuer.
#[derive(Clone, Copy)]
pub struct Nonces<'a> {
    /// The issuer's key of nonces.
    pub key: &'a HmacKey,
    /// The moment up to which it is not known which proofs were used; `None` where that is always known. Nonces that were
    /// handed out before are not good any more: whoever proves one that is, has made the proof since.
    pub since: Option<Timestamp>,
}

impl Nonces<'_> {
    /// The nonce to send now (RFC 9449 8.1): 22 characters that nobody can foresee.
    pub fn draw(self, now: Timestamp) -> SmolStr {
        self.of_window(window(now))
    }

    /// Whether a nonce was handed out now or a life ago. The next one counts too, because the clock of the node that made
    /// it may be ahead by a little.
    pub fn is_good(self, now: Timestamp, nonce: &str) -> bool {
        let present = window(now);
        [present, present.saturating_sub(1), present.saturating_add(1)]
            .into_iter()
            .any(|window| constant_time_eq(self.of_window(window).as_bytes(), nonce.as_bytes()))
    }

    fn of_window(self, window: u64) -> SmolStr {
        let since = self.since.map(|since| since.millis().to_be_bytes());
        let since = since.as_ref().map(|since| since.as_slice()).unwrap_or_default();
        let tag = self.key.sign(&[b"dpop nonce", &[0], &window.to_be_bytes(), since]);
        SmolStr::new(encoding::encode(tag.first_chunk::<16>().unwrap_or(&[0; 16])))
    }
}

fn window(now: Timestamp) -> u64 {
    now.seconds() / NONCE_LIFE.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_good_for_its_life_and_one_more() {
        let (key, another) = (HmacKey::new(b"a key"), HmacKey::new(b"another"));
        let nonces = Nonces { key: &key, since: None };
        let begin = Timestamp::from_seconds(NONCE_LIFE.as_secs() * 1_000_000);
        let nonce = nonces.draw(begin);
        assert_eq!(nonce.len(), 22);
        for (now, good) in [
            (begin, true),
            (begin + NONCE_LIFE, true),
            (begin + NONCE_LIFE * 2 - Duration::from_secs(1), true),
            (begin + NONCE_LIFE * 2, false),
            (begin - Duration::from_secs(1), true),
            (begin - NONCE_LIFE - Duration::from_secs(1), false),
        ] {
            assert_eq!(nonces.is_good(now, &nonce), good, "{now}");
        }
        assert!(!Nonces { key: &another, since: None }.is_good(begin, &nonce));
        assert!(!nonces.is_good(begin, "") && !nonces.is_good(begin, &nonce[1..]));
        let since = Nonces { key: &key, since: Some(begin) };
        assert!(!since.is_good(begin, &nonce) && since.is_good(begin, &since.draw(begin)));
    }
}
