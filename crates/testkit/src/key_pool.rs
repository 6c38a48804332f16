//! RSA keys for tests without the search for primes, which took three quarters of the time of all tests of a server.
//!
//! Any two of the primes in `primes.txt` make a key. Whoever has two such keys can compute both from their common prime: they
//! are good for tests alone.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use num_bigint::BigUint;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::key::{KeyError, KeyGenerator, SigningKey};
use symbolon_crypto::secret::SecretBytes;

/// Primes of 1,024 bits in hexadecimal digits, each with its two highest bits set, so that the product of two has 2,048 bits.
/// None is 1 more than a multiple of [`EXPONENT`].
static PRIMES: LazyLock<Vec<BigUint>> = LazyLock::new(|| {
    let lines = include_str!("primes.txt").lines();
    lines.map(|digits| BigUint::parse_bytes(digits.as_bytes(), 16).expect("a number")).collect()
});

/// The public exponent (RFC 8017 3.1).
const EXPONENT: u32 = 65_537;

/// The `AlgorithmIdentifier` of RSA keys, `rsaEncryption` with NULL (RFC 8017 A.1).
const RSA_ENCRYPTION: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// Makes RSA keys from prepared primes, no two alike in this process, and other keys as the server does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyPool;

impl KeyGenerator for KeyPool {
    fn generate(&self, algorithm: Algorithm) -> Result<SigningKey, KeyError> {
        static DRAWN: AtomicUsize = AtomicUsize::new(0);
        match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => {
                let (one, other) = pair(DRAWN.fetch_add(1, Ordering::Relaxed));
                SigningKey::from_pkcs8(algorithm, None, &SecretBytes::new(pkcs8(one, other)))
            }
            Algorithm::Es256 | Algorithm::EdDsa => SigningKey::generate(algorithm, None),
        }
    }
}

/// The pair of primes of a number; each number below `n * (n - 1) / 2` has another pair.
///
/// # Panics
/// When all pairs are drawn.
fn pair(number: usize) -> (&'static BigUint, &'static BigUint) {
    let (mut larger, mut rest) = (1, number);
    while rest >= larger {
        rest -= larger;
        larger += 1;
    }
    let larger = PRIMES.get(larger).expect("every pair of primes.txt was drawn: add lines");
    (larger, &PRIMES[rest])
}

/// An RSA key in PKCS#8 (RFC 5958 2, RFC 8017 A.1.2).
fn pkcs8(p: &BigUint, q: &BigUint) -> Vec<u8> {
    let less_one = |prime: &BigUint| prime - 1_u32;
    let exponent = BigUint::from(EXPONENT);
    let inverse = |value: &BigUint, modulus: &BigUint| value.modinv(modulus).expect("no common divisor");
    let d = inverse(&exponent, &(less_one(p) * less_one(q)));
    let numbers = [
        BigUint::ZERO,
        p * q,
        exponent,
        d.clone(),
        p.clone(),
        q.clone(),
        &d % less_one(p),
        &d % less_one(q),
        inverse(q, p),
    ];
    let key = der(0x30, &numbers.iter().flat_map(integer).collect::<Vec<u8>>());
    der(0x30, &[&integer(&BigUint::ZERO)[..], &RSA_ENCRYPTION, &der(0x04, &key)].concat())
}

fn integer(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes.first().is_some_and(|first| *first >= 0x80) {
        bytes.insert(0, 0);
    }
    der(0x02, &bytes)
}

/// An element in DER: its tag, its length in the shortest form (X.690 10.1), its content.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().position(|byte| *byte > 0).unwrap_or(length.len() - 1)..];
    let mut element = vec![tag];
    if content.len() >= 0x80 {
        element.push(0x80 | u8::try_from(length.len()).expect("eight bytes at most"));
    }
    element.extend_from_slice(length);
    element.extend_from_slice(content);
    element
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_pool_key_signs_and_none_comes_twice() {
        let (first, second) =
            (KeyPool.generate(Algorithm::Rs256).unwrap(), KeyPool.generate(Algorithm::Ps256).unwrap());
        assert_ne!(first.kid(), second.kid());
        for key in [&first, &second] {
            let signature = key.sign(b"input").unwrap();
            assert!(key.public().verify(b"input", signature.as_ref()).is_ok());
        }
        let pairs = PRIMES.len() * (PRIMES.len() - 1) / 2;
        let different: BTreeSet<_> = (0..pairs).map(pair).collect();
        assert_eq!(different.len(), pairs);
        assert!(different.iter().all(|(one, other)| one != other));
    }
}
