//! Members of JSON objects that nothing reads. They are refused, with the nearest known name.
//!
//! A misspelt member that is ignored looks like one that took effect: somebody sends `disabled` for a user, and the user
//! can still sign in. So the admin API refuses every member that it does not know. (Dynamic registration ignores unknown
//! client metadata instead, RFC 7591 2; the admin API is not bound by that.)
//!
//! [`Members`] is an object that remembers which names were asked for, so the list of known names is what the code reads,
//! and never a second list beside it. For an object that serde reads into a struct, [`names_of`] has the struct's names.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde_json::{Map, Value};

use crate::error::OAuthError;
use crate::refusal::Reason;

/// The longest name, in bytes, for which a near one is looked for. A longer one is not a misspelling.
const LONGEST: usize = 80;

/// How many characters of an unknown name an error repeats.
const REPEATED: usize = 64;

/// A member that nothing reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMember {
    name: String,
    nearest: Option<String>,
}

impl UnknownMember {
    /// The member `name` of an object that is at `within` in the body (empty for the body itself) and whose known members
    /// are these.
    fn new<'a>(name: &str, known: impl Iterator<Item = &'a str>, within: &str) -> Self {
        let nearest = nearest(name, known).map(|known| placed(known, within));
        let shown = |c: char| if c.is_control() || matches!(c, '"' | '\\') { '?' } else { c };
        let name: String = name.chars().map(shown).take(REPEATED).collect();
        Self { name: placed(&name, within), nearest }
    }
}

/// The place of a member, such as `address.country`.
fn placed(name: &str, within: &str) -> String {
    if within.is_empty() { name.to_owned() } else { format!("{within}.{name}") }
}

impl fmt::Display for UnknownMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown member \"{}\"", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownMember {}

impl From<UnknownMember> for OAuthError {
    fn from(unknown: UnknownMember) -> Self {
        // Not by `OAuthError::with`, which replaces quotation marks: RFC 6749 5.2 forbids them in the answers of the token
        // endpoint. This error is one of the admin API, where a JSON text may have them.
        let fixed = Self::invalid_request(Reason::ClientMetadataInvalid, "");
        Self { description: Cow::Owned(unknown.to_string()), ..fixed }
    }
}

/// A JSON object that is read member by member, and that knows at the end which members nobody asked for.
pub struct Members {
    unread: Map<String, Value>,
    known: Vec<&'static str>,
    within: &'static str,
}

impl Members {
    /// Starts reading the object that is the whole body.
    pub fn new(object: Map<String, Value>) -> Self {
        Self::within("", object)
    }

    /// Starts reading an object that is the member `within` of another. Errors name its members with it.
    pub fn within(within: &'static str, object: Map<String, Value>) -> Self {
        Self { unread: object, known: Vec::with_capacity(48), within }
    }

    /// Takes a member. It may be `null`.
    pub fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.unread.remove(name)
    }

    /// Takes the members that give `name` in further languages: `name#TAG` (OpenID Connect Dynamic Client Registration
    /// 1.0 2.1).
    pub fn take_translations(&mut self, name: &str) -> Vec<(String, Value)> {
        let is_of = |member: &String| member.strip_prefix(name).is_some_and(|rest| rest.starts_with('#'));
        let members: Vec<String> = self.unread.keys().filter(|member| is_of(member)).cloned().collect();
        members.into_iter().filter_map(|member| self.unread.remove_entry(&member)).collect()
    }

    /// A member that was not taken yet.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.unread.get(name)
    }

    /// Accepts members that have no effect. Each list of such members says beside it why they are accepted.
    pub fn ignore(&mut self, names: &[&'static str]) {
        for name in names {
            self.take(name);
        }
    }

    /// Names members that were taken from the object before, so that a misspelling of one finds it.
    pub fn know(&mut self, names: &[&'static str]) {
        self.known.extend_from_slice(names);
    }

    /// Refuses the first member that was neither taken nor [ignored](Self::ignore).
    ///
    /// # Errors
    /// [`UnknownMember`]
    pub fn finish(&self) -> Result<(), UnknownMember> {
        match self.unread.keys().next() {
            Some(name) => Err(UnknownMember::new(name, self.known.iter().copied(), self.within)),
            None => Ok(()),
        }
    }
}

/// Refuses the first member of an object at `within` whose name is not among the known ones.
///
/// # Errors
/// [`UnknownMember`]
pub fn check(object: &Map<String, Value>, known: &[&str], within: &str) -> Result<(), UnknownMember> {
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(UnknownMember::new(name, known.iter().copied(), within)),
        None => Ok(()),
    }
}

/// The nearest known name, if it is near enough to be what was meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let scored = known.map(|candidate| (nearness(name, candidate), candidate));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= 0.6).then_some(best.1)
}

/// How near a name is to a known one, 0 to 1. Dots separate the name of a table from that of a key in it.
fn nearness(name: &str, candidate: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(name, candidate);
    let last = name.rsplit('.').next().unwrap_or(name);
    // The right key in the wrong table.
    let part = if candidate.rsplit('.').next() == Some(last) {
        0.7
    } else {
        0.9 * strsim::normalized_damerau_levenshtein(last, candidate)
    };
    // The end of a name, such as `name` for `client_name`.
    let is_end = candidate.strip_suffix(name).is_some_and(|begin| begin.ends_with('_'));
    whole.max(part).max(if is_end { 0.65 } else { 0.0 })
}

/// The names of the members from which serde makes the struct `T`, its aliases among them. Empty if `T` is not read as a
/// struct with a fixed list of members.
pub fn names_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It always fails: `Names` has no values to read.
    drop(T::deserialize(Names(&mut names)));
    names
}

/// A deserializer that only notes for which members it is asked.
struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = NoValue;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
        Err(NoValue::custom("there is nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NoValue> {
        *self.0 = names;
        Err(NoValue::custom("there is nothing to read"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::settings::{ClientOverrides, IssuerSettings, Lifetimes};

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    fn told(members: &Members) -> Option<String> {
        members.finish().err().map(|unknown| unknown.to_string())
    }

    #[test]
    fn what_nobody_took_is_refused_with_the_nearest_name() {
        let mut members = Members::new(object(json!({ "email": "a@x.example", "emial_verified": true })));
        assert!(members.take("email").is_some());
        assert_eq!(members.take("email_verified"), None);
        assert_eq!(
            told(&members).as_deref(),
            Some("unknown member \"emial_verified\"; did you mean \"email_verified\"?")
        );
        members.ignore(&["emial_verified"]);
        assert_eq!(told(&members), None);
    }

    #[test]
    fn a_member_that_is_like_none_gets_no_suggestion_and_null_is_a_member() {
        let mut members = Members::new(object(json!({ "enabled": null })));
        members.ignore(&["client_name", "scope"]);
        assert_eq!(told(&members).as_deref(), Some("unknown member \"enabled\""));
    }

    #[test]
    fn members_of_an_inner_object_are_told_with_their_place() {
        let mut members = Members::within("address", object(json!({ "contry": "AT" })));
        members.ignore(&["country", "locality"]);
        let expected = "unknown member \"address.contry\"; did you mean \"address.country\"?";
        assert_eq!(told(&members).as_deref(), Some(expected));
        let unknown =
            check(&object(json!({ "id_token_lifetim": 1 })), names_of::<ClientOverrides>(), "settings");
        let expected =
            "unknown member \"settings.id_token_lifetim\"; did you mean \"settings.id_token_lifetime\"?";
        assert_eq!(unknown.err().map(|unknown| unknown.to_string()).as_deref(), Some(expected));
    }

    #[test]
    fn the_names_of_a_struct_are_those_that_serde_reads() {
        assert!(names_of::<ClientOverrides>().contains(&"code_lifetime"));
        assert!(names_of::<IssuerSettings>().contains(&"lifetimes"));
        assert!(names_of::<Lifetimes>().contains(&"access_token"));
        assert!(names_of::<Vec<u8>>().is_empty());
    }

    #[test]
    fn slips_find_what_was_meant() {
        let known =
            || ["listen", "management_listen", "log.level", "tls.key_file", "client_name"].into_iter();
        for (slip, meant) in [
            ("lisen", "listen"),
            ("log.levle", "log.level"),
            ("server.listen", "listen"),
            ("key_file", "tls.key_file"),
            ("name", "client_name"),
            ("clientName", "client_name"),
        ] {
            assert_eq!(nearest(slip, known()), Some(meant), "{slip}");
        }
        assert_eq!(nearest("postgres", known()), None);
        assert_eq!(nearest("", known()), None);
        assert_eq!(nearest(&"listen".repeat(40), known()), None);
    }

    proptest! {
        #[test]
        fn whatever_the_name_is_the_error_is_short_and_without_control_characters(name in any::<String>()) {
            let known = ["email", "name"];
            let object = object(json!({ name.as_str(): 1 }));
            match check(&object, &known, "") {
                Ok(()) => prop_assert!(known.contains(&name.as_str())),
                Err(unknown) => {
                    let told = unknown.to_string();
                    prop_assert!(told.chars().count() < 120 && !told.chars().any(char::is_control));
                }
            }
        }
    }
}
