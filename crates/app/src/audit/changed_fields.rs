//! What an administrator's change did to a record: each member with its value before and after.
//!
//! A record of the audit log has them in `detail.changes`. Every such list is made here, by comparing the record before
//! and after as JSON, so that no handler can forget a member, and secrets are left out in one place.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use serde_json::{Map, Value, json};
use symbolon_protocol::key::KeyRecord;

/// Members whose values are secret, at whatever depth they stand. Of them the log says only that they changed.
const SECRET: [&str; 7] = [
    "client_secret",
    "client_secrets",
    "password",
    "password_hash",
    "registration_access_token",
    "sealed",
    "sealed_secret",
];

/// The private members of a JWK (RFC 7518 6.2.2, 6.3.2 and 6.4.1), which are secret too.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Members that are told otherwise: the audit record itself says when a record was written, and `detail.secrets` which
/// secrets a client got and lost.
const TOLD_OTHERWISE: [&str; 3] = ["created_at", "updated_at", "client_secret_records"];

/// The most members in one list. A record of ours has far fewer; an administrator may send others.
const MOST_MEMBERS: usize = 100;

/// How deep members are told one by one, as `lifetimes.code`. An object below that is one value.
const DEEPEST: usize = 4;

/// The longest value, in bytes of its text. A longer one is cut.
const LONGEST: usize = 2_000;

/// The longest path of a member, in bytes. A longer one is cut, too: the names in nested objects may be anything.
const LONGEST_PATH: usize = 200;

/// The members of a record that a change gave another value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFields {
    /// `None` for an event that changes no record.
    members: Option<Map<String, Value>>,
    /// How many members are not in the list, because it is full.
    left_out: u64,
}

impl ChangedFields {
    /// No list at all: of an event that changes no record.
    pub fn none() -> Self {
        Self::default()
    }

    /// The difference between two states of a record. A member that is absent, `null`, an empty list or an empty object
    /// has no value, so replacing one of these by another is no change.
    pub fn between(before: &impl Serialize, after: &impl Serialize) -> Self {
        let mut changed = Self { members: Some(Map::new()), left_out: 0 };
        changed.compare(&mut Vec::new(), &as_json(before), &as_json(after));
        changed
    }

    /// Every member of a new record.
    pub fn made(record: &impl Serialize) -> Self {
        Self::between(&Value::Null, record)
    }

    /// Every member of a record that is gone.
    pub fn removed(record: &impl Serialize) -> Self {
        Self::between(record, &Value::Null)
    }

    /// The difference between two states of an issuer's signing keys: the members of each key below its `kid`.
    pub fn of_keys(before: &[KeyRecord], after: &[KeyRecord]) -> Self {
        let by_kid = |keys: &[KeyRecord]| {
            let members = keys.iter().map(|key| (key.kid.as_str().to_owned(), as_json(key)));
            Value::Object(members.collect())
        };
        Self::between(&by_kid(before), &by_kid(after))
    }

    /// Adds that a value changed which the log may not tell: a secret that is stored beside the record, or a member that
    /// administrators may not see.
    #[must_use]
    pub fn with_untold(mut self, path: impl Into<String>) -> Self {
        self.add(path.into(), is_changed());
        self
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.members.as_ref().is_none_or(Map::is_empty)
    }

    /// Adds the list to the details of an audit record, as `changes`.
    pub fn onto(self, detail: Value) -> Value {
        let Some(members) = self.members else { return detail };
        let mut detail = match detail {
            Value::Object(detail) => detail,
            _ => Map::new(),
        };
        detail.insert("changes".to_owned(), Value::Object(members));
        if self.left_out > 0 {
            detail.insert("changes_left_out".to_owned(), self.left_out.into());
        }
        Value::Object(detail)
    }

    fn add(&mut self, path: String, told: Value) {
        let path = if path.len() > LONGEST_PATH { cut_text(&path, 0, LONGEST_PATH) } else { path };
        let members = self.members.get_or_insert_default();
        if members.len() < MOST_MEMBERS {
            members.insert(path, told);
        } else {
            self.left_out += 1;
        }
    }

    fn compare<'a>(&mut self, path: &mut Vec<&'a str>, before: &'a Value, after: &'a Value) {
        if before == after || (has_no_value(before) && has_no_value(after)) {
            return;
        }
        if path.last().is_some_and(|name| is_secret(name)) {
            self.add(path.join("."), is_changed());
            return;
        }
        let has_members = |value: &Value| value.is_object() || has_no_value(value);
        if path.len() == DEEPEST || !has_members(before) || !has_members(after) {
            self.add(path.join("."), told(before, after));
            return;
        }
        let objects = before.as_object().into_iter().chain(after.as_object());
        let names: BTreeSet<&'a String> = objects.flat_map(Map::keys).collect();
        for name in names {
            if path.is_empty() && TOLD_OTHERWISE.contains(&name.as_str()) {
                continue;
            }
            path.push(name);
            self.compare(path, member(before, name), member(after, name));
            path.pop();
        }
    }
}

fn is_secret(name: &str) -> bool {
    SECRET.contains(&name) || PRIVATE.contains(&name)
}

/// A member of an object; `null` of what is absent.
fn member<'a>(object: &'a Value, name: &str) -> &'a Value {
    static ABSENT: Value = Value::Null;
    object.get(name).unwrap_or(&ABSENT)
}

fn is_changed() -> Value {
    json!({ "changed": true })
}

/// Serializing a record into memory cannot fail; if it did, nothing would be told of that state.
fn as_json(record: &impl Serialize) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

fn has_no_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// A value before and after, without secrets, each cut where it is long.
fn told(before: &Value, after: &Value) -> Value {
    let (from, to) = (without_secrets(before), without_secrets(after));
    if length(&from) <= LONGEST && length(&to) <= LONGEST {
        return json!({ "from": from, "to": to });
    }
    // Of long values only what differs is told: the beginnings of two long lists may be the same.
    let (from, to) = match (&from, &to) {
        (Value::Array(own), Value::Array(others)) => (cut_list(own, others), cut_list(others, own)),
        _ => {
            let (own, other) = (text(&from), text(&to));
            let differs = own.char_indices().zip(other.chars()).find(|((_, a), b)| a != b);
            let at = match from.is_null() || to.is_null() {
                true => 0,
                false => differs.map_or_else(|| own.len().min(other.len()), |((at, _), _)| at),
            };
            let cut = |value: &Value, text: &str| match value {
                Value::Null => Value::Null,
                _ => Value::String(cut_text(text, at, LONGEST)),
            };
            (cut(&from, &own), cut(&to, &other))
        }
    };
    json!({ "from": from, "to": to, "cut": true })
}

fn length(value: &Value) -> usize {
    text(value).len()
}

/// A text itself; any other value as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A copy in which every secret member is replaced.
fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shown = members.iter().map(|(name, value)| {
                (name.clone(), if is_secret(name) { Value::from("secret") } else { without_secrets(value) })
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_secrets).collect()),
        value => value.clone(),
    }
}

/// The items that the other list has not, as many as fit.
fn cut_list(own: &[Value], others: &[Value]) -> Value {
    let others: HashSet<String> = others.iter().map(Value::to_string).collect();
    let (mut items, mut room) = (Vec::new(), LONGEST);
    for item in own {
        let json = item.to_string();
        if others.contains(&json) {
            continue;
        }
        let (item, length) = match json.len() <= room {
            true => (item.clone(), json.len()),
            false => (Value::String(cut_text(&json, 0, room)), room),
        };
        items.push(item);
        room = room.saturating_sub(length + 1);
        if room == 0 {
            break;
        }
    }
    Value::Array(items)
}

/// A part of a text, from `begin` on, of at most `longest` bytes; dots stand for what is left out.
fn cut_text(text: &str, begin: usize, longest: usize) -> String {
    let begin = text.floor_char_boundary(begin);
    let end = text.floor_char_boundary(begin.saturating_add(longest));
    let part = text.get(begin..end).unwrap_or_default();
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{part}{}", dots(begin > 0), dots(end < text.len()))
}

#[cfg(test)]
#[path = "changed_fields_tests.rs"]
mod tests;
