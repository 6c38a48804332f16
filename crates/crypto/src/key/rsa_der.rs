//! Reads the two numbers out of the `RSAPublicKey` (RFC 8017 A.1.1) that the library writes for a key pair.

/// Modulus and exponent, big-endian without leading zeros; `None` for anything that is not this structure.
pub(super) fn modulus_and_exponent(der: &[u8]) -> Option<(&[u8], &[u8])> {
    const SEQUENCE: u8 = 0x30;
    let (body, rest) = element(SEQUENCE, der)?;
    let (n, body) = unsigned(body)?;
    let (e, body) = unsigned(body)?;
    (rest.is_empty() && body.is_empty()).then_some((n, e))
}

fn unsigned(der: &[u8]) -> Option<(&[u8], &[u8])> {
    const INTEGER: u8 = 0x02;
    let (value, rest) = element(INTEGER, der)?;
    // A leading zero only shows that the number is not negative (X.690 8.3).
    Some((value.strip_prefix(&[0]).unwrap_or(value), rest))
}

/// One DER element: its content and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, first], mut rest) = der.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let mut len = usize::from(first);
    if first >= 0x80 {
        // The long form: the low bits count the octets of the length (X.690 8.1.3.5); two are enough for 8192 bits.
        let (octets, after) =
            rest.split_at_checked(usize::from(first & 0x7f)).filter(|(o, _)| o.len() <= 2)?;
        len = octets.iter().fold(0, |len, octet| len << 8 | usize::from(*octet));
        rest = after;
    }
    rest.split_at_checked(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_numbers() {
        assert_eq!(modulus_and_exponent(&[0x30, 7, 2, 2, 0, 0x81, 2, 1, 3]), Some((&[0x81][..], &[3][..])));
        let long = [&[0x30, 0x81, 134, 2, 0x81, 128][..], &[1; 128], &[2, 1, 3]].concat();
        assert_eq!(modulus_and_exponent(&long), Some((&[1; 128][..], &[3][..])));
    }

    #[test]
    fn anything_else_is_refused() {
        for der in [
            &[][..],
            &[0x30],
            &[0x31, 0],
            &[0x30, 3, 2, 1, 1],
            &[0x30, 6, 2, 1, 1, 2, 1, 3, 0],
            &[0x30, 0x83],
        ] {
            assert_eq!(modulus_and_exponent(der), None, "{der:?}");
        }
    }
}
