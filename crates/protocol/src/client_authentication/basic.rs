//! The Basic scheme as RFC 6749 2.3.1 uses it: id and secret are form-encoded before they are joined.

use std::borrow::Cow;
use std::cell::RefCell;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use symbolon_crypto::digest::constant_time_eq;
use symbolon_crypto::secret::{SecretBytes, SecretString};

use super::secret_digest;
use crate::client::SecretDigest;
use crate::id::ClientId;
use crate::params;

/// The longest header that is looked at, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// RFC 7617 2 writes padding; some clients leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Headers that a thread remembers, with what they say.
const REMEMBERED: usize = 64;

/// A header, and what it says.
struct Remembered {
    header: SecretBytes,
    credentials: Credentials,
}

thread_local! {
    /// A client sends the same header with each of its requests: decoding it and digesting the secret anew would cost more
    /// than all else that there is to its authentication. Only what the bytes say is remembered; whether that is the
    /// client's secret is asked each time.
    static SEEN: RefCell<[Option<Remembered>; REMEMBERED]> =
        const { RefCell::new([const { None }; REMEMBERED]) };
}

/// Credentials from the header.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) client_id: ClientId,
    /// The secret as RFC 6749 2.3.1 writes it.
    pub(super) digest: SecretDigest,
    /// The same characters as they stand, where decoding changed them: many clients do not encode.
    pub(super) verbatim: Option<SecretDigest>,
}

/// Reads an `Authorization` header; none where it is not Basic or not well-formed.
pub(super) fn read(header: &[u8]) -> Option<Credentials> {
    SEEN.with_borrow_mut(|seen| {
        let place = seen.get_mut(place(header))?;
        match place {
            Some(known) if constant_time_eq(known.header.expose(), header) => Some(known.credentials.clone()),
            _ => {
                let credentials = decode(header)?;
                *place = Some(Remembered { header: header.into(), credentials: credentials.clone() });
                Some(credentials)
            }
        }
    })
}

/// Where a header is remembered: by its end, where the secret is.
fn place(header: &[u8]) -> usize {
    header.iter().rev().take(16).map(|byte| usize::from(*byte)).sum::<usize>() % REMEMBERED
}

/// Reads a header that is not remembered.
fn decode(header: &[u8]) -> Option<Credentials> {
    if header.len() > MAX_LENGTH {
        return None;
    }
    let (scheme, encoded) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    // RFC 9110 11.1: the scheme's case does not matter.
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let decoded = SecretBytes::new(BASE64.decode(encoded.trim_matches(' ')).ok()?);
    let (id, secret) = std::str::from_utf8(decoded.expose()).ok()?.split_once(':')?;
    // As RFC 6749 2.3.1 writes it, or as it stands, where that makes no id.
    let written = params::decode(id).and_then(|id| ClientId::parse(&id).ok());
    let client_id = written.or_else(|| ClientId::parse(id).ok())?;
    let verbatim = secret_digest(secret);
    let Some(Cow::Owned(form)) = params::decode(secret) else {
        return Some(Credentials { client_id, digest: verbatim, verbatim: None });
    };
    let digest = secret_digest(SecretString::new(form).expose());
    Some(Credentials { client_id, digest, verbatim: Some(verbatim) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: &str, secret: &str) -> Vec<u8> {
        format!("Basic {}", BASE64.encode(format!("{id}:{secret}"))).into_bytes()
    }

    #[test]
    fn what_is_remembered_of_a_header_is_said_of_no_other() {
        // More than are remembered, so that they take each other's places; and some that share theirs.
        let secrets = (0..3 * REMEMBERED).map(|number| format!("{number:032}"));
        let of_one: Vec<Vec<u8>> = secrets.map(|secret| header("app", &secret)).collect();
        let of_others = ["one", "two", "six"].map(|id| header(id, &"s".repeat(32)));
        assert_eq!(place(&of_others[0]), place(&of_others[1]));
        let headers: Vec<&Vec<u8>> = of_one.iter().chain(&of_others).collect();
        for _ in 0..2 {
            for header in &headers {
                // Once as it is decoded, once as it is remembered.
                for _ in 0..2 {
                    let (read, decoded) = (read(header).unwrap(), decode(header).unwrap());
                    assert_eq!(read.client_id, decoded.client_id);
                    assert!(read.digest == decoded.digest && read.verbatim == decoded.verbatim);
                }
            }
        }
        assert!(read(b"Basic").is_none() && read(b"").is_none());
    }
}
