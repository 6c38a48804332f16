//! Rich Authorization Requests (RFC 9396): what a client asks for in objects of registered types, such as one payment to one creditor,
//! where a scope could name only a kind of access.
//!
//! An issuer's setting lists the types ([`AuthorizationDetailsType`]), and a client's metadata which of them it may ask for.

mod definition;
mod detail;
mod request;
mod words;

pub use definition::{AuthorizationDetailsType, DetailMember, MOST_TYPES, MemberType, Texts, check_types};
pub use request::{asks_always, narrowed, refuse, requested};
pub use words::{Described, Word, described};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use smol_str::SmolStr;

use crate::settings::IssuerSettings;
use detail::Detail;

/// The name of the parameter (RFC 9396 2), of the member of a token response (7), and of the claim (9.1).
pub const PARAMETER: &str = "authorization_details";

/// The most objects that a consent remembers.
const MOST_REMEMBERED: usize = 64;
/// The most bytes of them.
const LONGEST_REMEMBERED: usize = 16 * 1024;

/// Authorization details that were requested or granted: the text of a JSON array of objects, with the members of each in the order of
/// their names, so that equal objects have equal texts. One pointer, because few records have any.
///
/// In JSON an array; in binary records its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizationDetails(Option<Box<SmolStr>>);

impl AuthorizationDetails {
    /// No details.
    pub const NONE: Self = Self(None);

    fn of(details: &[Detail]) -> Self {
        if details.is_empty() {
            return Self::NONE;
        }
        // JSON that was read can be written.
        serde_json::to_string(details).map_or(Self::NONE, |json| Self(Some(Box::new(json.into()))))
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The JSON array.
    pub fn as_json(&self) -> &str {
        self.0.as_ref().map_or("[]", |json| json.as_str())
    }

    fn details(&self) -> Vec<Detail> {
        self.0.as_ref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }

    /// Those that meet a condition.
    fn filtered(self, keeps: impl Fn(&Detail) -> bool) -> Self {
        let mut details = self.details();
        let before = details.len();
        details.retain(keeps);
        if details.len() == before { self } else { Self::of(&details) }
    }

    /// Whether every object of others is among these, exactly as it is.
    pub fn covers(&self, others: &Self) -> bool {
        if others.is_empty() || self == others {
            return true;
        }
        let own = self.details();
        others.details().iter().all(|detail| own.contains(detail))
    }

    /// These and newer ones, as a consent remembers them: 64 objects and 16 KiB at most, of which the newer ones go first.
    #[must_use]
    pub fn joined(&self, newer: &Self) -> Self {
        if self.is_empty() || newer.is_empty() {
            return if newer.is_empty() { self.clone() } else { newer.clone() };
        }
        let mut all = newer.details();
        for older in self.details() {
            if all.len() < MOST_REMEMBERED && !all.contains(&older) {
                all.push(older);
            }
        }
        let mut joined = Self::of(&all);
        while joined.as_json().len() > LONGEST_REMEMBERED && all.pop().is_some() {
            joined = Self::of(&all);
        }
        joined
    }

    /// Those for a token with these resources (RFC 9396 9.1: filtered to the audience): whose `locations`, or else those of their
    /// type, name one of them. All, if the token is for no resource alone; one without any location is for every resource.
    #[must_use]
    pub fn at(self, resources: &[&str], settings: &IssuerSettings) -> Self {
        if self.is_empty() || resources.is_empty() {
            return self;
        }
        self.filtered(|detail| {
            let own = detail.locations();
            let of_type = definition::find(settings, detail.name());
            let of_type = of_type.iter().flat_map(|known| known.locations.iter().map(String::as_str));
            let places: Vec<&str> = if own.is_empty() { of_type.collect() } else { own };
            places.is_empty() || places.iter().any(|place| resources.contains(place))
        })
    }

    /// Those of types that access tokens carry.
    #[must_use]
    pub fn told(self, settings: &IssuerSettings) -> Self {
        if self.is_empty() {
            return self;
        }
        self.filtered(|detail| {
            definition::find(settings, detail.name()).is_some_and(|known| known.in_access_tokens)
        })
    }

    /// Reads the claim of a token. Whatever is no array of objects counts as none: a token that a script signed may have anything there.
    ///
    /// # Errors
    /// What is no JSON.
    pub(crate) fn if_they_are<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(serde_json::from_value(value).unwrap_or_default())
    }
}

impl Serialize for AuthorizationDetails {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return self.details().serialize(serializer);
        }
        serializer.serialize_str(self.0.as_ref().map_or("", |json| json.as_str()))
    }
}

impl<'de> Deserialize<'de> for AuthorizationDetails {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Vec::<Detail>::deserialize(deserializer).map(|details| Self::of(&details));
        }
        let json = String::deserialize(deserializer)?;
        Ok(Self((!json.is_empty()).then(|| Box::new(json.into()))))
    }
}

#[cfg(test)]
mod tests;
