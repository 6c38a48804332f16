//! The text of an id that is drawn, assembled without a detour through the formatter or the heap.

use smallvec::SmallVec;
use smol_str::SmolStr;
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};

/// Characters that need no allocation: more than any id of ours has.
const INLINE: usize = 128;

/// A text under construction. It stays where it is and is written on: moving it from call to call would copy all of its
/// room each time.
pub struct IdText(SmallVec<[u8; INLINE]>);

impl IdText {
    /// Begins with a prefix.
    pub fn new(prefix: &str) -> Self {
        Self(SmallVec::from_slice(prefix.as_bytes()))
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends a number in decimal, without leading zeros.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.text(itoa::Buffer::new().format(number))
    }

    /// Appends bytes in base64url without padding.
    pub fn base64url<const BYTES: usize>(&mut self, bytes: &[u8; BYTES]) -> &mut Self {
        let begin = self.0.len();
        self.0.resize(begin + encoding::encoded_len(BYTES), 0);
        if let Some(room) = self.0.get_mut(begin..) {
            // It fits: the room was made to measure.
            let _ = encoding::encode_to_slice(bytes, room);
        }
        self
    }

    /// Appends `BYTES` random bytes in base64url.
    pub fn random<const BYTES: usize>(&mut self, random: &dyn Random) -> &mut Self {
        self.base64url(&random::bytes::<BYTES>(random))
    }

    /// What has been assembled so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same as text.
    pub fn as_str(&self) -> &str {
        // Only whole texts and ASCII were put in.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The finished text.
    pub fn build(&self) -> SmolStr {
        SmolStr::new(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    #[test]
    fn it_says_what_the_formatter_would() {
        for number in [0, 7, 10, 1_700_000_000_123, u64::MAX] {
            let text =
                IdText::new("ac_").number(number).text("_").random::<32>(&SeededRandom::new(3)).build();
            let tail = random::base64url::<32>(&SeededRandom::new(3));
            assert_eq!(text, format!("ac_{number}_{tail}"));
        }
        let long = "x".repeat(2 * INLINE);
        assert_eq!(IdText::new(&long).number(12).build(), format!("{long}12"));
    }
}
