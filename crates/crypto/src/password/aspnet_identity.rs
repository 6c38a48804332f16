//! The hashes of ASP.NET Core Identity: base64 of a byte that says the version, the parameters of PBKDF2 (RFC 8018 5.2),
//! salt and output. Version 2 has fixed parameters; version 3 says them in numbers of 32 bits, big-endian.

use super::error::PasswordError;
use super::pbkdf2::{Digest, Pbkdf2};
use super::text;

const MALFORMED: PasswordError =
    PasswordError::MalformedHash("hash of ASP.NET Identity (base64 whose first byte is 0 or 1)");

/// What Identity asks of the salt and the output of version 3, in bytes.
const LEAST: usize = 16;

/// Reads the base64 text of either version.
pub(super) fn read(text: &str) -> Result<Pbkdf2, PasswordError> {
    let bytes = text::base64(text).ok_or(MALFORMED)?;
    match bytes.split_first() {
        Some((0, rest)) => version_2(rest),
        Some((1, rest)) => version_3(rest),
        _ => Err(MALFORMED),
    }
}

/// A salt of 16 bytes and an output of 32, by 1,000 iterations with SHA-1.
fn version_2(rest: &[u8]) -> Result<Pbkdf2, PasswordError> {
    match rest.split_at_checked(16) {
        Some((salt, derived)) if derived.len() == 32 => {
            Pbkdf2::new((Digest::Sha1, 1_000), salt.into(), derived.into(), MALFORMED)
        }
        _ => Err(MALFORMED),
    }
}

/// The digest, the iterations, the salt's length, then salt and output.
fn version_3(rest: &[u8]) -> Result<Pbkdf2, PasswordError> {
    let (digest, rest) = number(rest)?;
    let (iterations, rest) = number(rest)?;
    let (length, rest) = number(rest)?;
    let digest = match digest {
        0 => Digest::Sha1,
        1 => Digest::Sha256,
        2 => Digest::Sha512,
        _ => return Err(MALFORMED),
    };
    let length = usize::try_from(length).map_err(|_| MALFORMED)?;
    let (salt, derived) = rest.split_at_checked(length).ok_or(MALFORMED)?;
    if salt.len() < LEAST || derived.len() < LEAST {
        return Err(MALFORMED);
    }
    Pbkdf2::new((digest, iterations), salt.into(), derived.into(), MALFORMED)
}

fn number(bytes: &[u8]) -> Result<(u32, &[u8]), PasswordError> {
    let (number, rest) = bytes.split_first_chunk().ok_or(MALFORMED)?;
    Ok((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::tests::{PASSWORD, assert_whole, parse};
    use super::super::{PasswordError, PasswordHash, limits};

    /// From the tests of ASP.NET Core's `PasswordHasher`, whose salt is 0 to 15; the last made likewise by Python's hashlib.
    const DOCUMENTED: [&str; 3] = [
        "AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==",
        "AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==",
        "AQAAAAIAAYagAAAAEAABAgMEBQYHCAkKCwwNDg/Q8A0WMKbtHQJQ2DHCdoEeeFBrgNlldq6vH4qX/CGqGQ==",
    ];
    /// SHA-1 in version 3.
    const SHA_1: &str =
        "AQAAAAAAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg/Kv5tkqQSdO0Z/d/XxWNczkIjFP2C3aR/Oyg84EdRL9A==";

    #[test]
    fn its_own_vectors_are_verified() {
        DOCUMENTED.iter().for_each(|text| assert_whole(text, "my password"));
        assert_whole(SHA_1, PASSWORD);
        assert!(parse(DOCUMENTED[2]).work_kib() > 50 * parse(DOCUMENTED[0]).work_kib());
    }

    /// The vector with these bytes in place of its own.
    fn with(vector: &str, at: usize, bytes: &[u8]) -> String {
        let mut blob = STANDARD.decode(vector).unwrap();
        blob[at..at + bytes.len()].copy_from_slice(bytes);
        STANDARD.encode(blob)
    }

    #[test]
    fn cut_malformed_or_ruinous_blobs_are_refused() {
        let cut = |vector: &str, length: usize| STANDARD.encode(&STANDARD.decode(vector).unwrap()[..length]);
        for text in [
            "A",
            "AA==",
            "AQ==",
            "A quick brown fox",
            &cut(DOCUMENTED[0], 48),
            &cut(DOCUMENTED[1], 12),
            &cut(DOCUMENTED[1], 44),
            &DOCUMENTED[1][..50],
            &with(DOCUMENTED[1], 1, &[0, 0, 0, 3]),
            &with(DOCUMENTED[1], 5, &[0, 0, 0, 0]),
            &with(DOCUMENTED[1], 9, &[0, 0, 0, 15]),
            &with(DOCUMENTED[1], 9, &[0, 0, 0, 33]),
            &with(DOCUMENTED[1], 9, &[255, 255, 255, 255]),
        ] {
            let refused = PasswordHash::parse(text).err();
            let unknown = refused == Some(PasswordError::UnsupportedHash) && text.contains(' ');
            assert!(
                unknown
                    || matches!(refused, Some(PasswordError::MalformedHash(form)) if form.contains("ASP.NET")),
                "{text}: {refused:?}"
            );
        }
        let ruinous = with(DOCUMENTED[1], 5, &[255, 255, 255, 255]);
        assert_eq!(PasswordHash::parse(&ruinous).err(), Some(limits::PBKDF2));
    }
}
