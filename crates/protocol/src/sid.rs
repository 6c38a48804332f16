//! The public id of a session.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use crate::id::{InvalidId, visible_ascii};

/// Bytes that are stored inline: enough for a generated `sid` whose generation and shard have six digits or fewer.
const IN_PLACE: usize = 30;
/// The longest `sid`, in bytes.
const MAX: usize = 255;

/// The public id of a session, `sid` (OpenID Connect Front-Channel Logout 3); not the session's secret.
///
/// A separate type among the [identifiers](crate::id), because it is somewhat longer than what [`SmolStr`] stores
/// inline, and every session in memory has one.
#[derive(Clone)]
pub struct Sid(Text);

#[derive(Clone)]
enum Text {
    Short { length: u8, bytes: [u8; IN_PLACE] },
    Long(Arc<str>),
}

impl Sid {
    /// Checks the grammar and takes the text.
    ///
    /// # Errors
    /// [`InvalidId`] when the text is empty, too long, or has a character outside its alphabet.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if text.is_empty() || text.len() > MAX || !visible_ascii(text) {
            return Err(InvalidId { kind: "a sid", grammar: "1 to 255 visible ASCII characters" });
        }
        Ok(Self::of(text))
    }

    /// Takes a text that this process generated, or that was checked before it was stored.
    pub fn trusted(text: impl Into<SmolStr>) -> Self {
        Self::of(&text.into())
    }

    fn of(text: &str) -> Self {
        let mut bytes = [0; IN_PLACE];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self(Text::Short { length, bytes })
            }
            _ => Self(Text::Long(text.into())),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Always valid: the bytes were copied from a text.
            Text::Short { length, bytes } => bytes
                .get(..usize::from(*length))
                .and_then(|text| str::from_utf8(text).ok())
                .unwrap_or_default(),
            Text::Long(text) => text,
        }
    }
}

impl PartialEq for Sid {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Sid {}

impl PartialOrd for Sid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sid {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Sid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl std::str::FromStr for Sid {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::parse(text)
    }
}

impl Serialize for Sid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Sid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Reader)
    }
}

/// Deserializes a `sid` directly: by way of a [`SmolStr`], most would need an allocation.
struct Reader;

impl Visitor<'_> for Reader {
    type Value = Sid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sid")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sid, E> {
        Sid::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_come_back() {
        for length in [1, 22, 27, 29, 30, 31, 255] {
            let text = "s".repeat(length);
            let sid = Sid::parse(&text).unwrap();
            assert_eq!(sid.as_str(), text);
            assert_eq!(sid, Sid::trusted(text.clone()));
            assert_eq!(serde_json::to_string(&sid).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Sid>(&format!("\"{text}\"")).unwrap(), sid);
        }
        assert_ne!(Sid::trusted("s1"), Sid::trusted("s2"));
        for bad in ["", "a b", "\u{e4}", &"s".repeat(256)] {
            assert!(Sid::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_of_ours_needs_no_second_allocation() {
        assert!(matches!(Sid::trusted("12_1023_AAAAAAAAAAAAAAAAAAAAAA").0, Text::Short { .. }));
        assert_eq!(size_of::<Option<Sid>>(), 32);
    }
}
