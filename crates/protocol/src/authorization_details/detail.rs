//! One object of authorization details (RFC 9396 2).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The member that every object has: the name of its type.
pub(super) const TYPE: &str = "type";
/// The member with the resource servers at which an object counts (RFC 9396 2.2).
pub(super) const LOCATIONS: &str = "locations";

/// An object, with its members in the order of their names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Detail(BTreeMap<String, Value>);

impl Detail {
    /// The name of its type; empty if it has none.
    pub(super) fn name(&self) -> &str {
        self.member(TYPE).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn member(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All members.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The resource servers at which it counts, if it names some.
    pub(super) fn locations(&self) -> Vec<&str> {
        let named = self.member(LOCATIONS).and_then(Value::as_array);
        named.map(|named| named.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Detail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

/// Reads an object, and refuses a member that stands in it twice: readers of JSON differ in which of the two counts, so that one could be
/// shown to the person and the other be taken by the resource server (RFC 8259 4).
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Detail;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Detail, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member stands twice"));
            }
        }
        Ok(Detail(members))
    }
}
