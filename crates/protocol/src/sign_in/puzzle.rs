//! A puzzle that a browser solves before a registration is taken (proof of work): it costs a person nothing that they
//! notice, and whoever registers by the thousand the time of a processor.
//!
//! A solution is a number that, written in decimal behind the page's id and the address, gives a SHA-256 digest that begins
//! with so many zero bits. The address is part of it, so each address takes a solution of its own.

use symbolon_crypto::digest::sha256;

/// The most bits that may be asked for: beyond it a phone takes minutes.
pub const MOST_BITS: u8 = 22;

/// The longest solution, in digits.
const LONGEST: usize = 12;

/// Whether a solution is one of this puzzle. Without bits every answer is.
pub fn is_solved(bits: u8, (page, email): (&str, &str), solution: &str) -> bool {
    if bits == 0 {
        return true;
    }
    let is_number = (1..=LONGEST).contains(&solution.len()) && solution.bytes().all(|b| b.is_ascii_digit());
    let text = format!("{page}\n{email}\n{solution}");
    is_number && leading_zeros(&sha256(&[text.as_bytes()])) >= u32::from(bits)
}

fn leading_zeros(digest: &[u8]) -> u32 {
    let mut zeros = 0;
    for byte in digest {
        zeros += byte.leading_zeros();
        if *byte != 0 {
            break;
        }
    }
    zeros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_is_for_one_page_and_one_address() {
        let at = ("page", "ann@example.com");
        let solution = (0_u32..).map(|n| n.to_string()).find(|n| is_solved(10, at, n)).unwrap();
        assert!(is_solved(10, at, &solution));
        let fits = |at| is_solved(10, at, &solution);
        assert!(!(fits(("page", "bob@example.com")) && fits(("other", "ann@example.com"))));
        assert!(is_solved(0, at, ""), "none is asked for");
        for bad in ["", "-1", "1e3", "1234567890123", " 1"] {
            assert!(!is_solved(1, at, bad), "{bad}");
        }
    }

    #[test]
    fn zeros_are_counted_over_bytes() {
        assert_eq!([&[0x80_u8][..], &[0, 0x10], &[0, 0]].map(leading_zeros), [0, 11, 16]);
    }
}
