//! What a file holds, in one form whatever the file is: records for the bulk endpoints of the admin API.

use serde_json::{Map, Value, json};
use symbolon_crypto::{digest, encoding};

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// The kinds of records, in the order in which they are sent: each may name those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::command) enum Kind {
    Client,
    Role,
    Group,
    User,
    Membership,
    GivenRole,
    IdentityProvider,
    Identity,
    Consent,
    Logo,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Client,
        Self::Role,
        Self::Group,
        Self::User,
        Self::Membership,
        Self::GivenRole,
        Self::IdentityProvider,
        Self::Identity,
        Self::Consent,
        Self::Logo,
    ];

    /// The endpoint that creates them, a line each; none where each has a path of its own.
    pub(super) const fn path(self) -> Option<&'static str> {
        match self {
            Self::Client => Some("/clients/bulk"),
            Self::Role => Some("/roles/bulk"),
            Self::Group => Some("/groups/bulk"),
            Self::User => Some("/users/bulk"),
            Self::Membership => Some("/memberships/bulk"),
            Self::GivenRole => Some("/given-roles/bulk"),
            Self::IdentityProvider => Some("/identity-providers/bulk"),
            Self::Identity => Some("/identities/bulk"),
            Self::Consent => Some("/consents/bulk"),
            Self::Logo => None,
        }
    }

    /// The endpoint that only checks them. What belongs to records that are not created yet cannot be checked.
    pub(super) const fn dry_path(self) -> Option<&'static str> {
        match self {
            Self::Client => Some("/clients/bulk?dry_run=true"),
            Self::Role => Some("/roles/bulk?dry_run=true"),
            Self::Group => Some("/groups/bulk?dry_run=true"),
            Self::User => Some("/users/bulk?dry_run=true"),
            Self::IdentityProvider => Some("/identity-providers/bulk?dry_run=true"),
            Self::Membership | Self::GivenRole | Self::Identity | Self::Consent | Self::Logo => None,
        }
    }

    /// What one is called.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Role => "role",
            Self::Group => "group",
            Self::User => "user",
            Self::Membership => "membership",
            Self::GivenRole => "given role",
            Self::IdentityProvider => "identity provider",
            Self::Identity => "identity",
            Self::Consent => "consent",
            Self::Logo => "logo",
        }
    }

    /// What several are called.
    pub(super) const fn nouns(self) -> &'static str {
        match self {
            Self::Client => "clients",
            Self::Role => "roles",
            Self::Group => "groups",
            Self::User => "users",
            Self::Membership => "memberships",
            Self::GivenRole => "given roles",
            Self::IdentityProvider => "identity providers",
            Self::Identity => "identities",
            Self::Consent => "consents",
            Self::Logo => "logos",
        }
    }

    /// The member of a report about them.
    pub(super) fn member(self) -> String {
        self.nouns().replace(' ', "_")
    }

    /// The member that is the id of a record.
    pub(super) const fn id_member(self) -> &'static str {
        match self {
            Self::Client | Self::Logo => "client_id",
            Self::Identity | Self::Consent => "user_id",
            Self::Membership => "group_id",
            Self::GivenRole => "role_id",
            Self::Role | Self::Group | Self::User | Self::IdentityProvider => "id",
        }
    }
}

/// Where a record stands in the file, and how a person recognizes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The line, or the number of the record among those of its kind.
    pub(super) place: u64,
    /// The id in the file; empty where there is none.
    pub(super) id: String,
    /// An e-mail address or a name.
    pub(super) name: String,
}

impl Origin {
    /// The origin of a user, as its members name it.
    pub(super) fn of_user(place: u64, user: &Object) -> Self {
        let text = |member: &str| user.get(member).and_then(Value::as_str).map(str::to_owned);
        let name = ["email", "preferred_username", "phone_number"].into_iter().find_map(text);
        Self { place, id: text("id").unwrap_or_default(), name: name.unwrap_or_default() }
    }
}

/// Why something was not taken, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) why: String,
    /// Empty where the cause already says it.
    pub(super) mend: String,
}

impl Fault {
    pub(super) fn new(why: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { why: why.into(), mend: mend.into() }
    }
}

impl From<&str> for Fault {
    fn from(why: &str) -> Self {
        Self::new(why, "")
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::new(why, "")
    }
}

/// A part of a record that was not taken, while the rest of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// What it is called in the file.
    pub(super) name: String,
    pub(super) fault: Fault,
}

impl Part {
    pub(super) fn new(name: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Self { name: name.into(), fault: fault.into() }
    }
}

/// A user of the file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) origin: Origin,
    /// The members for the admin API, or why there are none.
    pub(super) user: Result<Object, Fault>,
    /// Members of the file that mean nothing here. They are counted by name.
    pub(super) left_out: Vec<String>,
    /// What was not taken of this user.
    pub(super) parts: Vec<Part>,
    /// The ids of the groups that the user is a member of. The user has an id then.
    pub(super) groups: Vec<String>,
    /// The ids of the roles that the user is given. The user has an id then.
    pub(super) roles: Vec<String>,
    /// The attributes that the source defines itself. The importer sorts them.
    pub(super) attributes: Vec<Custom>,
}

/// An attribute of a user that the source defines itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Custom {
    /// The name that the schema of the target may define.
    pub(super) name: String,
    /// What it is called in the file.
    pub(super) called: String,
    pub(super) value: Value,
}

impl Entry {
    /// A user without groups and roles.
    pub(super) fn new(place: u64, user: Object) -> Self {
        let origin = Origin::of_user(place, &user);
        Self {
            origin,
            user: Ok(user),
            left_out: Vec::new(),
            parts: Vec::new(),
            groups: Vec::new(),
            roles: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// Notes an attribute that the source defines itself, unless it has no value.
    pub(super) fn attribute(&mut self, name: &str, called: &str, value: Value) {
        if !is_empty(&value) {
            self.attributes.push(Custom { name: name.to_owned(), called: called.to_owned(), value });
        }
    }

    /// A user that cannot be read.
    pub(super) fn unreadable(place: u64, why: impl Into<Fault>) -> Self {
        let mut entry = Self::new(place, Object::new());
        entry.user = Err(why.into());
        entry
    }
}

/// Gives a member to a record, where there is a value.
pub(super) fn set(record: &mut Object, member: &str, value: Option<Value>) {
    if let Some(value) = value.filter(|value| !value.is_null() && value.as_str() != Some("")) {
        record.insert(member.to_owned(), value);
    }
}

/// Hands on whether a user is active, as the source says it: the server knows its names for that, and refuses a value that
/// is neither true nor false. Nobody comes in active because a value was not understood.
pub(super) fn hand_on_active(user: &mut Object, member: &str, said: Option<Value>) {
    if let Some(said) = said.filter(|said| !said.is_null()) {
        user.insert(member.to_owned(), said);
    }
}

/// Takes a text out of a record; an empty one counts as absent.
pub(super) fn take_text(record: &mut Object, member: &str) -> Option<String> {
    match record.remove(member) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Takes a number out of a record: an integer, or the digits of one.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Whether a value says nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The id of a record to which the file gives none: always the same one, so that a second import finds the record.
pub(super) fn derived_id(letter: char, parts: &[&str]) -> String {
    let mut whole = Vec::new();
    for part in parts {
        // The length first, so that no two lists of parts are one text.
        whole.extend_from_slice(&(part.len() as u64).to_be_bytes());
        whole.extend_from_slice(part.as_bytes());
    }
    let digest = digest::sha256(&[&whole]);
    let head = digest.get(..16).unwrap_or_default();
    format!("{letter}{}", encoding::encode(head))
}

/// Counts an attribute of a group that the source defines itself: groups have none here.
pub(super) fn group_attribute(left_out: &mut Vec<String>, name: &str, value: &Value) {
    if !is_empty(value) {
        left_out.push(format!("attribute {name} of a group"));
    }
}

/// A membership, as the admin API takes it.
pub(super) fn membership(group: &str, user: &str) -> Object {
    object(json!({ "group_id": group, "user_id": user }))
}

/// A given role, as the admin API takes it. `holder` is `user_id` or `group_id`.
pub(super) fn given_role(role: &str, holder: &str, id: &str) -> Object {
    object(json!({ "role_id": role, holder: id }))
}

/// The members of an object; none of any other value.
pub(super) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_derived_from_every_part() {
        let id = derived_id('u', &["a", "b"]);
        assert_eq!(id, derived_id('u', &["a", "b"]));
        assert!(id != derived_id('u', &["ab", ""]) && id != derived_id('u', &["a", "c"]));
        assert!(id.starts_with('u') && id.len() == 23, "{id}");
    }

    #[test]
    fn what_says_nothing_is_not_counted() {
        let mut left_out = Vec::new();
        let mut entry = Entry::new(1, Object::new());
        for value in [json!(null), json!(""), json!([]), json!({})] {
            group_attribute(&mut left_out, "x", &value);
            entry.attribute("x", "x", value);
        }
        entry.attribute("department", "custom:department", json!(["IT"]));
        group_attribute(&mut left_out, "site", &json!("Vienna"));
        assert_eq!((entry.attributes.len(), &*entry.attributes[0].name), (1, "department"));
        assert_eq!(left_out, ["attribute site of a group"]);
        assert_eq!((number(&json!(5)), number(&json!("6")), number(&json!("x"))), (Some(5), Some(6), None));
    }
}
