//! Builds the text of a new id without formatter and heap allocation.

use smallvec::SmallVec;
use smol_str::SmolStr;
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};

/// Characters that fit without allocation: more than any generated id has.
const INLINE: usize = 128;

/// A text under construction. Its methods take `&mut self`: passing it by value would copy the whole inline buffer at
/// each call.
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
            // Cannot fail: the buffer has exactly the encoded length.
            let _ = encoding::encode_to_slice(bytes, room);
        }
        self
    }

    /// Appends `BYTES` random bytes in base64url.
    pub fn random<const BYTES: usize>(&mut self, random: &dyn Random) -> &mut Self {
        self.base64url(&random::bytes::<BYTES>(random))
    }

    /// The text so far, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        // Always valid: only `&str` and ASCII were appended.
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
