//! The length of a text after encoding for a URL or a JSON document. Limits apply to the encoded length, because 1
//! KiB of text may become 6 KiB of escapes.

use crate::error::OAuthError;
use crate::refusal::{Details, Reason};

/// The longest `state`, in bytes after URL encoding. Proxies refuse request lines beyond 8 KB, and the redirect URI
/// and the code need room too.
pub const LONGEST_STATE: usize = 4 * 1024;

/// Whether a `state` may be kept and sent back.
///
/// # Errors
/// `invalid_request` for one beyond [`LONGEST_STATE`].
pub(crate) fn check_state(state: Option<&str>) -> Result<(), OAuthError> {
    match state.is_none_or(|state| fits_address(state, LONGEST_STATE)) {
        true => Ok(()),
        false => Err(OAuthError::invalid_request(
            Reason::StateTooLong,
            "state is longer than 4096 bytes, as an address has it",
        )
        .about(Details::of("state"))),
    }
}

/// Whether a text has at most `most` bytes in `application/x-www-form-urlencoded`.
pub fn fits_address(text: &str, most: usize) -> bool {
    // A byte becomes at most three, so short texts need not be counted.
    text.len() * 3 <= most || text.bytes().map(in_address).sum::<usize>() <= most
}

const fn in_address(byte: u8) -> usize {
    match byte {
        b'*' | b'-' | b'.' | b'_' | b' ' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => 1,
        _ => 3,
    }
}

/// Whether a text has at most `most` bytes in a JSON string (RFC 8259 7).
pub fn fits_json(text: &str, most: usize) -> bool {
    text.len() * 6 <= most || text.bytes().map(in_json).sum::<usize>() <= most
}

const fn in_json(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_longer_than_it_was_said_to_be(text: String, most in 0_usize..200) {
            let address: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
            prop_assert!(fits_address(&text, address.len()));
            prop_assert!(address.is_empty() || !fits_address(&text, address.len() - 1));
            let json = serde_json::to_string(&text).unwrap().len() - 2;
            // Serializers have shorter escapes for some control characters.
            prop_assert!(!fits_json(&text, most) || json <= most);
        }

        #[test]
        fn what_has_nothing_to_escape_is_as_long_as_it_is(text in "[a-z0-9]{0,40}") {
            prop_assert!(fits_json(&text, text.len()) && fits_address(&text, text.len()));
        }
    }
}
