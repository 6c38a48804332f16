//! Fields, numbers and base64 as the forms of other systems write them.

use std::str::FromStr;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// With padding or without: PHC strings and passlib leave it out, Django and Firebase write it.
static BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The fields between `$`, if they are exactly `N`.
pub(super) fn fields<const N: usize>(text: &str) -> Option<[&str; N]> {
    let mut parts = text.split('$');
    let mut fields = [""; N];
    for field in &mut fields {
        *field = parts.next()?;
    }
    parts.next().is_none().then_some(fields)
}

/// A number in decimal digits, without a sign or zeros before it: one text per number.
pub(super) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok()).flatten()
}

/// Standard base64 (RFC 4648 4).
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// Standard base64, or passlib's, which has `.` for `+`.
pub(super) fn adapted_base64(text: &str) -> Option<Vec<u8>> {
    base64(&text.replace('.', "+"))
}

/// Standard base64, or that for URLs (RFC 4648 5), in which some of Firebase's interfaces answer.
pub(super) fn url_or_standard_base64(text: &str) -> Option<Vec<u8>> {
    base64(&text.replace('-', "+").replace('_', "/"))
}

/// Hexadecimal digits, two for each byte.
pub(super) fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some((digit(high)? << 4) | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted() {
        assert_eq!(fields("$a$$b"), Some(["", "a", "", "b"]));
        assert_eq!(fields::<3>("$a"), None);
        assert_eq!(fields::<1>("$a"), None);
    }

    #[test]
    fn a_number_has_one_text() {
        assert_eq!((decimal("0"), decimal("1000")), (Some(0_u32), Some(1000_u32)));
        for text in ["", "+1", "-1", "01", "1 ", "4294967296", "x"] {
            assert_eq!(decimal::<u32>(text), None, "{text}");
        }
    }

    #[test]
    fn base64_of_every_kind() {
        let bytes = Some(vec![0xfb, 0xff]);
        for text in ["+/8", "+/8="] {
            assert_eq!(base64(text), bytes, "{text}");
        }
        assert_eq!((adapted_base64("./8"), url_or_standard_base64("-_8=")), (bytes.clone(), bytes));
        for text in ["+/9", "+/8==", "+", "-_8", "+/ 8"] {
            assert_eq!(base64(text), None, "{text}");
        }
        assert_eq!(hexadecimal("fBff00"), Some(vec![0xfb, 0xff, 0]));
        assert_eq!((hexadecimal("fbf"), hexadecimal("+f")), (None, None));
    }
}
