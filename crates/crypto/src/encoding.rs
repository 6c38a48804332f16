//! Base64url without padding (RFC 4648 5; RFC 7515 2), strict: one text per value.
//!
//! Padding, other alphabets, white space and non-zero trailing bits are refused, so that two different texts
//! never mean the same bytes.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::Simd;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};

/// Why a text is not base64url, or has the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// Not canonical base64url without padding.
    #[error("not canonical base64url without padding")]
    NotBase64Url,
    /// The decoded or encoded form does not have the required length.
    #[error("wrong length")]
    Length,
}

/// The number of characters that `bytes` bytes take.
pub const fn encoded_len(bytes: usize) -> usize {
    bytes / 3 * 4
        + match bytes % 3 {
            0 => 0,
            1 => 2,
            _ => 3,
        }
}

/// For payloads: the fastest implementation for this processor. Texts as short as an id gain nothing from it.
static LONG: LazyLock<Simd> = LazyLock::new(|| Simd::url_safe(NO_PAD));

/// Encodes into a new string.
pub fn encode(bytes: &[u8]) -> String {
    LONG.encode(bytes)
}

/// Appends the encoded form to `out`.
pub fn encode_into(out: &mut String, bytes: &[u8]) {
    LONG.encode_string(bytes, out);
}

/// Appends the encoded form to a buffer of bytes.
pub fn append_to(out: &mut Vec<u8>, bytes: &[u8]) {
    let begin = out.len();
    out.resize(begin + encoded_len(bytes.len()), 0);
    if let Some(room) = out.get_mut(begin..) {
        // Cannot fail: the buffer has exactly the encoded length.
        let _ = LONG.encode_slice(bytes, room);
    }
}

/// Encodes into the beginning of `out` and returns the text.
///
/// # Errors
/// [`EncodingError::Length`] when `out` is shorter than [`encoded_len`].
pub fn encode_to_slice<'a>(bytes: &[u8], out: &'a mut [u8]) -> Result<&'a str, EncodingError> {
    let written = URL_SAFE_NO_PAD.encode_slice(bytes, &mut *out).map_err(|_| EncodingError::Length)?;
    let text = out.get(..written).ok_or(EncodingError::Length)?;
    std::str::from_utf8(text).map_err(|_| EncodingError::NotBase64Url)
}

/// Decodes into a new vector.
///
/// # Errors
/// [`EncodingError::NotBase64Url`]
pub fn decode(text: &str) -> Result<Vec<u8>, EncodingError> {
    LONG.decode(text).map_err(|_| EncodingError::NotBase64Url)
}

/// Appends the decoded bytes to `out`. On an error `out` may have been extended.
///
/// # Errors
/// [`EncodingError::NotBase64Url`]
pub fn decode_into(out: &mut Vec<u8>, text: &str) -> Result<(), EncodingError> {
    LONG.decode_vec(text, out).map_err(|_| EncodingError::NotBase64Url)
}

/// Decodes exactly `N` bytes, without allocating.
///
/// # Errors
/// [`EncodingError::Length`] for another length, [`EncodingError::NotBase64Url`] for another text.
pub fn decode_array<const N: usize>(text: &str) -> Result<[u8; N], EncodingError> {
    if text.len() != encoded_len(N) {
        return Err(EncodingError::Length);
    }
    let mut out = [0; N];
    let written = URL_SAFE_NO_PAD.decode_slice(text, &mut out).map_err(|_| EncodingError::NotBase64Url)?;
    if written == N { Ok(out) } else { Err(EncodingError::Length) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rfc_7515_appendix_c_example() {
        assert_eq!(encode(&[3, 236, 255, 224, 193]), "A-z_4ME");
        assert_eq!(decode("A-z_4ME").unwrap(), [3, 236, 255, 224, 193]);
    }

    #[test]
    fn other_texts_for_the_same_bytes_are_refused() {
        for text in ["AA==", "AB", "A", "A+8", "A/8", "AA\n", " AA", "AAé"] {
            assert_eq!(decode(text), Err(EncodingError::NotBase64Url), "{text:?}");
        }
        assert_eq!(decode("AA").unwrap(), [0]);
        assert_eq!(decode_array::<2>("AA"), Err(EncodingError::Length));
        assert_eq!(decode_array::<1>("AB"), Err(EncodingError::NotBase64Url));
    }

    #[test]
    fn a_short_buffer_is_an_error() {
        assert_eq!(encode_to_slice(b"abc", &mut [0; 3]), Err(EncodingError::Length));
        assert_eq!(encode_to_slice(b"abc", &mut [0; 9]), Ok("YWJj"));
    }

    proptest! {
        #[test]
        fn round_trip(bytes: Vec<u8>) {
            let text = encode(&bytes);
            prop_assert_eq!(text.len(), encoded_len(bytes.len()));
            prop_assert_eq!(&decode(&text).unwrap(), &bytes);
            let mut appended = String::from("x.");
            encode_into(&mut appended, &bytes);
            prop_assert_eq!(&appended[2..], &text);
            let mut appended = b"x.".to_vec();
            append_to(&mut appended, &bytes);
            prop_assert_eq!(&appended[2..], text.as_bytes());
            let mut decoded = vec![1];
            decode_into(&mut decoded, &text).unwrap();
            prop_assert_eq!(&decoded[1..], &bytes);
        }

        #[test]
        fn whatever_decodes_encodes_to_the_same_text(text in "[A-Za-z0-9_-]{0,400}") {
            if let Ok(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }

        #[test]
        fn the_fast_way_says_what_the_plain_one_says(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            (at, wrong) in (any::<prop::sample::Index>(), any::<char>()),
        ) {
            let text = encode(&bytes);
            prop_assert_eq!(&text, &URL_SAFE_NO_PAD.encode(&bytes));
            let mut symbols: Vec<char> = text.chars().collect();
            if !symbols.is_empty() {
                *at.get_mut(&mut symbols) = wrong;
            }
            let text: String = symbols.into_iter().collect();
            prop_assert_eq!(decode(&text).ok(), URL_SAFE_NO_PAD.decode(&text).ok());
        }
    }
}
