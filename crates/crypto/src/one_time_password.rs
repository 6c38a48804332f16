//! One-time passwords from HMAC-SHA-1 (RFC 4226), as generators on phones compute them.
//!
//! SHA-1 is what all of them know. Its collisions do not weaken HMAC, of which only 31 bits are used here.

use aws_lc_rs::hmac;

use crate::secret::SecretBytes;

/// The one-time password of a counter: a number of `digits` decimal digits, 9 at most (RFC 4226 5.3).
pub fn hotp(secret: &SecretBytes, counter: u64, digits: u32) -> u32 {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.expose());
    let tag = hmac::sign(&key, &counter.to_be_bytes());
    // Dynamic truncation (RFC 4226 5.3): the last four bits say where the four bytes begin.
    let begin = usize::from(tag.as_ref().last().copied().unwrap_or_default() & 0x0f);
    let bytes =
        tag.as_ref().get(begin..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
    (u32::from_be_bytes(bytes) & 0x7fff_ffff) % 10_u32.pow(digits.min(9))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4226, appendix D.
    #[test]
    fn the_values_of_the_specification() {
        let secret = SecretBytes::new(b"12345678901234567890".to_vec());
        let expected =
            [755_224, 287_082, 359_152, 969_429, 338_314, 254_676, 287_922, 162_583, 399_871, 520_489];
        for (counter, password) in (0..).zip(expected) {
            assert_eq!(hotp(&secret, counter, 6), password, "{counter}");
        }
    }

    /// RFC 6238, appendix B: eight digits, the counter is the time in steps of 30 s.
    #[test]
    fn the_values_of_time_steps() {
        let secret = SecretBytes::new(b"12345678901234567890".to_vec());
        for (seconds, password) in
            [(59, 94_287_082), (1_111_111_109, 7_081_804), (20_000_000_000, 65_353_130)]
        {
            assert_eq!(hotp(&secret, seconds / 30, 8), password, "{seconds}");
        }
    }
}
