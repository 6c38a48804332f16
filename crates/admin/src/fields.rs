//! Reads a JSON object member by member, so that errors name the member and no member goes unseen.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::unknown_member::Members;
use symbolon_protocol::user::is_claim_text;

use crate::error::AdminError;

/// A JSON object that is being read. Every reader ends with [`finish`](Self::finish), which refuses members that nobody
/// read.
pub(super) struct Fields(Members);

fn invalid(name: &str, why: impl std::fmt::Display) -> AdminError {
    AdminError::invalid(format!("{name} {why}"))
}

impl Fields {
    /// Starts reading the object that is the whole body, or a line of it.
    pub(super) fn new(object: Map<String, Value>) -> Self {
        Self(Members::new(object))
    }

    /// Starts reading an object that is the member `within` of another.
    pub(super) fn within(within: &'static str, object: Map<String, Value>) -> Self {
        Self(Members::within(within, object))
    }

    /// Whether a member is present, even as `null`, and was not taken yet.
    pub(super) fn names(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// Accepts members that have no effect. Each list of such members says beside it why they are accepted.
    pub(super) fn ignore(&mut self, names: &[&'static str]) {
        self.0.ignore(names);
    }

    /// Takes a member of type `T`; `None` if it is absent or `null`.
    ///
    /// # Errors
    /// 400 that names the member.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, AdminError> {
        match self.0.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value)
                .map(Some)
                .map_err(|error| invalid(name, format!("is not valid: {error}"))),
        }
    }

    /// Takes a required member.
    ///
    /// # Errors
    /// 400 that names the member.
    pub(super) fn require<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, AdminError> {
        self.take(name)?.ok_or_else(|| invalid(name, "is required"))
    }

    /// Takes a required member that may have either of two names.
    ///
    /// # Errors
    /// 400 that names the member, also where both are given: one of them would go unseen.
    pub(super) fn require_either<T: DeserializeOwned>(
        &mut self,
        names: [&'static str; 2],
    ) -> Result<T, AdminError> {
        let [first, second] = names;
        match (self.take(first)?, self.take(second)?) {
            (Some(_), Some(_)) => {
                Err(invalid(second, format!("is another name of {first}: give one of them")))
            }
            (Some(value), None) | (None, Some(value)) => Ok(value),
            (None, None) => Err(invalid(first, "is required")),
        }
    }

    /// Takes a text of at most 2,048 bytes without control characters; an empty one counts as absent.
    ///
    /// # Errors
    /// 400 that names the member.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, AdminError> {
        match self.take::<String>(name)? {
            Some(text) if text.is_empty() => Ok(None),
            Some(text) if is_claim_text(&text) => Ok(Some(text)),
            Some(_) => Err(invalid(name, "must be at most 2048 bytes without control characters")),
            None => Ok(None),
        }
    }

    /// Takes a secret, whose value never appears in an error.
    ///
    /// # Errors
    /// 400 that names the member.
    pub(super) fn secret(&mut self, name: &'static str) -> Result<Option<SecretString>, AdminError> {
        match self.0.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(SecretString::new(text))),
            Some(_) => Err(invalid(name, "must be a text")),
        }
    }

    /// Takes a number within bounds.
    ///
    /// # Errors
    /// 400 that names the member and the bounds.
    pub(super) fn bounded(
        &mut self,
        name: &'static str,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, AdminError> {
        match self.take::<u64>(name)? {
            Some(number) if bounds.contains(&number) => Ok(Some(number)),
            Some(_) => Err(invalid(name, format!("must be {} to {}", bounds.start(), bounds.end()))),
            None => Ok(None),
        }
    }

    /// Refuses members that were neither taken nor [ignored](Self::ignore).
    ///
    /// # Errors
    /// 400 that names the first one, and the known name that is nearest to it.
    pub(super) fn finish(self) -> Result<(), AdminError> {
        Ok(self.0.finish()?)
    }
}

/// A name from the request, shortened for an error message.
pub(super) fn clipped(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        let Value::Object(object) = value else { panic!("an object") };
        Fields::new(object)
    }

    fn told<T>(result: Result<T, AdminError>) -> String {
        result.err().map(|error| error.told().1.into_owned()).expect("refused")
    }

    #[test]
    fn errors_name_the_member() {
        let mut read = fields(json!({ "a": 1, "b": "x", "c": "a\u{0}b", "n": 9, "s": 4 }));
        assert!(told(read.take::<String>("a")).starts_with("a is not valid"));
        assert_eq!(told(read.require::<String>("zz")), "zz is required");
        assert!(told(read.text("c")).starts_with("c must"));
        assert_eq!(told(read.bounded("n", 1..=5)), "n must be 1 to 5");
        assert_eq!(told(read.secret("s")), "s must be a text");
        assert_eq!(told(read.finish()), "unknown member \"b\"");
    }

    #[test]
    fn a_misspelt_member_is_refused_and_an_ignored_one_is_not() {
        let mut read = fields(json!({ "shards": 4, "shardz": 5, "notes": "x" }));
        assert_eq!(read.bounded("shards", 1..=9).expect("valid"), Some(4));
        read.ignore(&["notes"]);
        assert_eq!(told(read.finish()), "unknown member \"shardz\"; did you mean \"shards\"?");
        let mut read = fields(json!({ "notes": "x" }));
        read.ignore(&["notes"]);
        assert!(read.finish().is_ok());
    }

    #[test]
    fn one_of_two_names_is_given_not_both() {
        let mut read = fields(json!({ "user_id": "a", "userId": "a" }));
        let refused = told(read.require_either::<String>(["user_id", "userId"]));
        assert_eq!(refused, "userId is another name of user_id: give one of them");
    }

    #[test]
    fn null_and_empty_are_absent() {
        let mut read = fields(json!({ "a": null, "b": "" }));
        assert_eq!(read.take::<String>("a").expect("valid"), None);
        assert_eq!(read.text("b").expect("valid"), None);
        assert_eq!(read.require_either::<u8>(["x", "y"]).err().map(|e| e.told().0), Some("invalid_request"));
    }

    #[test]
    fn a_secret_is_never_repeated() {
        let mut read = fields(json!({ "password": ["hunter2"] }));
        assert!(!told(read.secret("password")).contains("hunter2"));
    }
}
