//! Colours, and the contrast of two of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A colour, written `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Colour([u8; 3]);

impl TryFrom<String> for Colour {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<Colour> for String {
    fn from(colour: Colour) -> Self {
        colour.to_string()
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Colour {
    /// The colour of a number `0xrrggbb`.
    pub(super) const fn of(number: u32) -> Self {
        let [_, red, green, blue] = number.to_be_bytes();
        Self([red, green, blue])
    }

    /// Reads a colour.
    ///
    /// # Errors
    /// How a colour is written.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const WRITTEN: &str = "a colour is written #rrggbb";
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6).ok_or(WRITTEN)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(WRITTEN);
        }
        u32::from_str_radix(digits, 16).map(Self::of).map_err(|_| WRITTEN)
    }

    /// Relative luminance as WCAG 2.2 defines it.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let channel = f64::from(channel) / 255.0;
            if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// The contrast ratio of two colours as WCAG 2.2 defines it, 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (own, others) = (self.luminance(), other.luminance());
        (own.max(others) + 0.05) / (own.min(others) + 0.05)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        let colour = |text: &str| Colour::parse(text).unwrap();
        assert!((colour("#000000").contrast(colour("#ffffff")) - 21.0).abs() < 1e-9);
        assert!((colour("#777777").contrast(colour("#ffffff")) - 4.478).abs() < 1e-3);
        assert_eq!(colour("#0F665d").to_string(), "#0f665d");
        assert_eq!(Colour::of(0x0f_66_5d), colour("#0f665d"));
    }

    #[test]
    fn a_colour_is_written_in_one_way() {
        for wrong in ["red", "#fff", "#12345g", "#1234567", "url(x)", "#+12345", "#éab0", "", "#12345\n"] {
            assert!(Colour::parse(wrong).is_err(), "{wrong}");
        }
    }
}
