//! The attributes that users of the target may have: an attribute that it does not take must not cost the whole user.

use std::collections::HashMap;

use serde::Deserialize as _;
use serde_json::Value;
use symbolon_protocol::attribute::AttributeType;

use super::record::{Fault, Object, Part};

/// The member of a user that has the attributes, and that of the settings that defines them.
const MEMBER: &str = "attributes";

/// What is known of the definition of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Defined {
    /// Whether administrators may write it.
    pub(super) is_writable: bool,
    /// Its type, if this release knows it.
    pub(super) kind: Option<AttributeType>,
    pub(super) pattern: Option<String>,
}

/// The attributes that an issuer defines, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schema(HashMap<String, Defined>);

impl Schema {
    /// Reads the definitions in a document that has them as `attributes`; `None` where it says nothing of them.
    pub(super) fn of(document: &Value) -> Option<Self> {
        let definitions = document.get(MEMBER)?.as_array()?.iter();
        let read = |definition: &Value| {
            let writers = definition.get("writable_by").and_then(Value::as_array);
            // What the admin API does where the member is not there.
            let is_writable = writers.is_none_or(|all| all.iter().any(|party| party == "administrator"));
            let kind = definition.get("type").and_then(|kind| AttributeType::deserialize(kind).ok());
            let pattern = definition.get("pattern").and_then(Value::as_str).map(str::to_owned);
            let name = definition.get("name")?.as_str()?.to_owned();
            Some((name, Defined { is_writable, kind, pattern }))
        };
        Some(Self(definitions.filter_map(read).collect()))
    }

    /// Whether an administrator may write an attribute.
    fn takes(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|defined| defined.is_writable)
    }

    /// The definitions, by name.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&str, &Defined)> {
        self.0.iter().map(|(name, defined)| (name.as_str(), defined))
    }

    /// The type of an attribute, if it is defined and this release knows the type.
    pub(super) fn kind(&self, name: &str) -> Option<AttributeType> {
        self.0.get(name)?.kind
    }

    /// Takes from a user the attributes that the target does not take, and names them.
    pub(super) fn strip(&self, user: &mut Object) -> Vec<Part> {
        let mut parts = Vec::new();
        for name in removed(user, |name| self.takes(name)) {
            let fault = if self.0.contains_key(&name) {
                Fault::from("administrators may not write it here")
            } else {
                Fault::new(
                    "the issuer defines no such attribute",
                    "define it by symbolon attribute set, or let --settings take the definitions of the file, before users \
                     come in",
                )
            };
            parts.push(Part::new(format!("{MEMBER}.{name}"), fault));
        }
        parts
    }

    /// Takes from a user the attributes that are not defined yet, without a word; whether there are any.
    pub(super) fn strip_silently(&self, user: &mut Object) -> bool {
        !removed(user, |name| self.takes(name)).is_empty()
    }
}

/// Takes attributes from a user; their names.
fn removed(user: &mut Object, is_kept: impl Fn(&str) -> bool) -> Vec<String> {
    let Some(Value::Object(attributes)) = user.get_mut(MEMBER) else { return Vec::new() };
    let gone: Vec<String> = attributes.keys().filter(|name| !is_kept(name)).cloned().collect();
    attributes.retain(|name, _| is_kept(name));
    if attributes.is_empty() {
        user.remove(MEMBER);
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::record::object;
    use serde_json::json;

    #[test]
    fn what_the_target_does_not_take_is_taken_out_and_named() {
        let schema = Schema::of(&json!({ "attributes": [
            { "name": "team", "writable_by": ["administrator"] }, { "name": "own", "writable_by": ["person"] }, { "name": "plain" },
        ] }));
        let schema = schema.unwrap();
        let mut user = object(
            json!({ "id": "u1", "attributes": { "team": "a", "own": "b", "gone": 1, "plain": true } }),
        );
        let parts = schema.strip(&mut user);
        assert_eq!(user["attributes"], json!({ "team": "a", "plain": true }));
        let named: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
        assert_eq!(named, ["attributes.gone", "attributes.own"]);
        assert!(parts[0].fault.mend.contains("--settings") && parts[1].fault.why.contains("may not write"));
        assert!(Schema::default().strip_silently(&mut user) && !user.contains_key("attributes"));
        assert_eq!(
            (Schema::of(&json!({})), Schema::of(&json!({ "attributes": [] }))),
            (None, Some(Schema::default()))
        );
    }
}
