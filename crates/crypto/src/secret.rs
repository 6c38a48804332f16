//! Types that hold secrets: one accessor, nothing printed, wiped on drop.

use std::fmt;

use serde::{Deserialize, Deserializer};
use zeroize::optimization_barrier;

/// Secret bytes of any length. Wiped on drop; `Debug` shows nothing of them.
#[derive(Clone)]
pub struct SecretBytes(Vec<u8>);

impl SecretBytes {
    /// Takes ownership of the bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes themselves. The caller is responsible for where they go.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<&[u8]> for SecretBytes {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes.to_vec())
    }
}

/// Secret text: a password, a client secret, a PEM key. Wiped on drop; `Debug` shows nothing of it.
///
/// It can be deserialised (a secret arrives in a request or in configuration) and never serialised.
#[derive(Clone)]
pub struct SecretString(String);

impl SecretString {
    /// Takes ownership of the text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself. The caller is responsible for where it goes.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for SecretString {
    fn drop(&mut self) {
        wipe(&mut std::mem::take(&mut self.0).into_bytes());
    }
}

/// Overwrites a whole allocation with zeros, also what is beyond the length.
fn wipe(bytes: &mut Vec<u8>) {
    bytes.clear();
    // This is within the capacity, so nothing is allocated anew.
    bytes.resize(bytes.capacity(), 0);
    overwrite(bytes);
}

/// Overwrites bytes with zeros, in words: `zeroize` writes byte by byte, which takes about as long as digesting a short
/// secret.
pub(crate) fn overwrite(bytes: &mut [u8]) {
    bytes.fill(0);
    // Without it the compiler might leave out writes to memory that is not read afterwards.
    optimization_barrier(bytes);
}

impl From<String> for SecretString {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for SecretString {
    fn from(text: &str) -> Self {
        Self::new(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for SecretString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// A secret of fixed length, such as a derived key. Wiped on drop; `Debug` shows nothing of it.
///
/// The bytes live on the heap, so that moving the value leaves no copy behind.
#[derive(Clone)]
pub struct SecretArray<const N: usize>(Box<[u8; N]>);

impl<const N: usize> SecretArray<N> {
    /// Takes the bytes. Arrays are `Copy`: the caller must wipe its own copy.
    pub fn new(bytes: [u8; N]) -> Self {
        Self(Box::new(bytes))
    }

    /// A secret that `fill` writes in place, starting from zeros.
    pub fn filled_by(fill: impl FnOnce(&mut [u8; N])) -> Self {
        let mut secret = Self(Box::new([0; N]));
        fill(&mut secret.0);
        secret
    }

    /// The bytes themselves. The caller is responsible for where they go.
    pub fn expose(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> Drop for SecretArray<N> {
    fn drop(&mut self) {
        overwrite(&mut *self.0);
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBytes(redacted)")
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretString(redacted)")
    }
}

impl<const N: usize> fmt::Debug for SecretArray<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretArray(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_content() {
        let shown = format!(
            "{:?} {:?} {:?}",
            SecretBytes::from(&b"hunter2"[..]),
            SecretString::from("hunter2"),
            SecretArray::new(*b"hunter2"),
        );
        assert_eq!(shown, "SecretBytes(redacted) SecretString(redacted) SecretArray(redacted)");
    }

    #[test]
    fn wiping_covers_the_whole_allocation() {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(b"a secret that was longer");
        bytes.truncate(3);
        let (allocation, capacity) = (bytes.as_ptr(), bytes.capacity());
        wipe(&mut bytes);
        assert_eq!((bytes.as_ptr(), bytes.len()), (allocation, capacity));
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn content_is_exposed_only_on_request() {
        assert_eq!(SecretBytes::new(vec![1, 2]).expose(), [1, 2]);
        assert_eq!(serde_json::from_str::<SecretString>("\"x\"").unwrap().expose(), "x");
        assert_eq!(SecretArray::<3>::filled_by(|bytes| bytes[1] = 9).expose(), &[0, 9, 0]);
    }
}
