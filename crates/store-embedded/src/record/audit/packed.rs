//! The content of a block as it is stored: compressed by LZ4, unless it is short.
//!
//! Records of the same time repeat much of each other. Fewer bytes to write are fewer to sync and to copy at the next
//! checkpoint.

use std::borrow::Cow;

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended, uncompressed_size};
use rusqlite::types::Type;

/// The first byte of a compressed content; an uncompressed one begins with the brace of a document.
const PACKED: u8 = 1;

/// Shorter contents are not compressed: they take about a page either way, and most logs have only such ones.
const SHORT: usize = 4096;

/// Longer contents are not compressed either, so that a length beyond this is known to be damage before memory is
/// allocated for it.
const LONG: usize = 64 << 20;

/// The content in its stored form.
pub(super) fn pack(content: &[u8]) -> Cow<'_, [u8]> {
    if !(SHORT..LONG).contains(&content.len()) {
        return Cow::Borrowed(content);
    }
    let mut packed = vec![PACKED];
    packed.extend(compress_prepend_size(content));
    Cow::Owned(packed)
}

/// The content in its original form.
///
/// # Errors
/// The content is damaged.
pub(super) fn unpack(stored: Vec<u8>) -> rusqlite::Result<Vec<u8>> {
    let Some((&PACKED, packed)) = stored.split_first() else { return Ok(stored) };
    let damaged = |error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error);
    let (length, _) = uncompressed_size(packed).map_err(|error| damaged(error.into()))?;
    if length >= LONG {
        return Err(damaged(format!("a block of the audit log claims {length} bytes").into()));
    }
    let content = decompress_size_prepended(packed).map_err(|error| damaged(error.into()))?;
    if content.len() != length {
        return Err(damaged(format!("a block of the audit log is cut short: {length} bytes").into()));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_repeats_itself_takes_a_fraction_and_what_is_short_stays_readable() {
        let line = b"{\"at\":1795596126866,\"event\":\"refresh_token.begun\",\"user\":\"ann\"}\n";
        assert_eq!(&*pack(line), line);
        let content = line.repeat(1_000);
        let packed = pack(&content).into_owned();
        assert!(packed.len() < content.len() / 20, "{}", packed.len());
        assert_eq!(unpack(packed).unwrap(), content);
    }

    #[test]
    fn a_length_that_no_block_has_is_refused_before_memory_is_taken() {
        let mut packed = pack(&[b'{'; 5_000]).into_owned();
        packed[1..5].fill(0xff);
        assert!(unpack(packed).unwrap_err().to_string().contains("claims 4294967295 bytes"));
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_another_content_and_never_a_panic(
            at in 0..400_usize, with: u8, length in 0..400_usize,
        ) {
            let content: Vec<u8> = (0..6_000_u32).flat_map(|n| (n / 50).to_le_bytes()).collect();
            let mut packed = pack(&content).into_owned();
            prop_assert_eq!(&unpack(packed.clone()).unwrap(), &content);
            prop_assert!(unpack(packed[..1 + length.min(packed.len() - 2)].to_vec()).is_err());
            let at = 1 + at % (packed.len() - 1);
            packed[at] = with;
            drop(unpack(packed));
        }
    }
}
