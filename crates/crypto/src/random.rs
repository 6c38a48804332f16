//! Randomness as a parameter: the system's in production, a seeded stream in tests.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use smol_str::SmolStr;
use zeroize::Zeroize;

use crate::{digest, encoding};

/// A source of random bytes.
pub trait Random: Send + Sync {
    /// Fills `out` with random bytes.
    fn fill(&self, out: &mut [u8]);
}

/// The cryptographic generator of aws-lc-rs, seeded and reseeded from the operating system.
///
/// A call of the generator takes about 0.4 µs for any length up to some hundred bytes, so each thread draws 2,048 bytes
/// at once and hands them out in pieces. A byte is wiped when it is handed out, so that none is used twice or can be
/// read afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

/// Bytes that a thread draws at once.
const DRAWN: usize = 2048;

/// Random bytes of one thread that were drawn and not handed out yet.
struct Drawn {
    bytes: [u8; DRAWN],
    used: usize,
}

thread_local! {
    static DRAWN_BYTES: RefCell<Drawn> = const { RefCell::new(Drawn { bytes: [0; DRAWN], used: DRAWN }) };
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl Drawn {
    /// Moves the next bytes to `out`. False if `out` is longer than what is drawn at once.
    fn hand_out(&mut self, out: &mut [u8]) -> bool {
        if DRAWN - self.used < out.len() {
            generate(&mut self.bytes);
            self.used = 0;
        }
        let Some(next) = self.bytes.get_mut(self.used..self.used + out.len()) else { return false };
        out.copy_from_slice(next);
        next.zeroize();
        self.used += out.len();
        true
    }
}

fn generate(out: &mut [u8]) {
    if aws_lc_rs::rand::fill(out).is_err() {
        // AWS-LC itself aborts when it has no entropy. If it returns an error instead, abort too: no guessable token
        // may be issued.
        std::process::abort();
    }
}

impl Random for SystemRandom {
    fn fill(&self, out: &mut [u8]) {
        // This thread may be ending, so that its bytes are dropped already.
        let handed_out = DRAWN_BYTES.try_with(|drawn| drawn.borrow_mut().hand_out(out)).unwrap_or(false);
        if !handed_out {
            generate(out);
        }
    }
}

/// A deterministic stream for tests: the same seed gives the same bytes in the same order of calls.
///
/// Not for production: anyone who knows the seed can compute every token.
#[derive(Debug)]
pub struct SeededRandom {
    seed: u64,
    block: AtomicU64,
}

impl SeededRandom {
    /// A stream that starts at its beginning.
    pub fn new(seed: u64) -> Self {
        Self { seed, block: AtomicU64::new(0) }
    }
}

impl Random for SeededRandom {
    fn fill(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(32) {
            let block = self.block.fetch_add(1, Ordering::Relaxed);
            let bytes =
                digest::sha256(&[b"symbolon seeded random", &self.seed.to_be_bytes(), &block.to_be_bytes()]);
            for (to, from) in chunk.iter_mut().zip(bytes) {
                *to = from;
            }
        }
    }
}

/// `N` random bytes.
pub fn bytes<const N: usize>(random: &dyn Random) -> [u8; N] {
    let mut out = [0; N];
    random.fill(&mut out);
    out
}

/// `BYTES` random bytes as base64url text.
pub fn base64url<const BYTES: usize>(random: &dyn Random) -> String {
    encoding::encode(&bytes::<BYTES>(random))
}

/// 128 random bits as 22 base64url characters, kept inline (no allocation): the smallest identifier that
/// cannot be guessed (RFC 6749 10.10 asks for 2^-128).
pub fn token_128(random: &dyn Random) -> SmolStr {
    let mut text = [0; 22];
    encoding::encode_to_slice(&bytes::<16>(random), &mut text)
        .map_or_else(|_| SmolStr::default(), SmolStr::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_streams_repeat_and_differ_by_seed() {
        let (a, b, c) = (SeededRandom::new(7), SeededRandom::new(7), SeededRandom::new(8));
        let first = bytes::<40>(&a);
        assert_eq!(first, bytes::<40>(&b));
        assert_ne!(first, bytes::<40>(&c));
        assert_ne!(first, bytes::<40>(&a), "the stream goes on");
    }

    #[test]
    fn tokens_are_22_characters_of_16_bytes() {
        let token = token_128(&SystemRandom);
        assert_eq!(token.len(), 22);
        assert_eq!(encoding::decode_array::<16>(&token).unwrap().len(), 16);
        assert_ne!(token, token_128(&SystemRandom));
    }

    #[test]
    fn base64url_has_the_length_of_its_bytes() {
        assert_eq!(base64url::<32>(&SeededRandom::new(3)).len(), 43);
    }

    #[test]
    fn no_byte_is_handed_out_twice_whatever_the_lengths() {
        let mut seen = std::collections::HashSet::new();
        for length in (0..2_000).map(|n| 16 + n % 40).chain([DRAWN + 88, DRAWN, DRAWN - 1, 16]) {
            let mut out = vec![0; length];
            SystemRandom.fill(&mut out);
            for piece in out.windows(16) {
                assert!(seen.insert(piece.to_vec()), "sixteen bytes came twice");
            }
        }
    }
}
