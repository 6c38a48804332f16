//! Clients, users, groups and roles in the form of a back-end's tables: a JSON document, with a column for each value
//! that is looked up, compared or unique.

use serde::Deserialize;
use symbolon_protocol::attribute::{AttributeName, AttributeSchema, AttributeValue, Attributes};
use symbolon_protocol::client::Client;
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::group::Group;
use symbolon_protocol::id::{ClientId, GroupId};
use symbolon_protocol::role::Role;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

use crate::StoreError;

/// The form in which a database stores the texts that users and clients typed.
#[derive(Clone, Copy)]
pub struct TextForm {
    /// The form of a text that is looked up without regard to case.
    pub looked_up: fn(&str) -> String,
    /// The form that earlier releases gave to a text that is looked up; their records still have it.
    pub looked_up_before: fn(&str) -> String,
    /// The form of a text that is searched.
    pub searched: fn(&str) -> String,
}

/// The columns of a client.
pub struct ClientColumns {
    /// `client_id`.
    pub id: String,
    /// The text that is searched.
    pub search: String,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds; an update compares it with the time that it saw.
    pub updated_at: i64,
    /// The record.
    pub document: String,
}

impl ClientColumns {
    /// The columns of a record.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be written as JSON.
    pub fn of(client: &Client, form: TextForm) -> Result<Self, StoreError> {
        Ok(Self {
            id: client.client_id.as_str().to_owned(),
            search: (form.searched)(&format!("{}\n{}", client.client_id, client.client_name)),
            created_at: millis(client.created_at),
            updated_at: millis(client.updated_at),
            document: document(client)?,
        })
    }
}

/// The columns of a user, except the password's hash, which is kept apart from the document.
pub struct UserColumns {
    /// `sub`.
    pub id: String,
    /// The e-mail address as it is looked up; unique inside the issuer.
    pub email: Option<String>,
    /// The e-mail address as records of earlier releases have it.
    pub email_before: Option<String>,
    /// `preferred_username` as it is looked up; not unique.
    pub username: Option<String>,
    /// `preferred_username` as records of earlier releases have it.
    pub username_before: Option<String>,
    /// `email_verified`.
    pub verified: bool,
    /// The text that is searched.
    pub search: String,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds; an update compares it with the time that it saw.
    pub updated_at: i64,
    /// The attributes, of which those that the issuer's schema makes unique have [rows of their own](AttributeColumns).
    pub attributes: Attributes,
    /// The record.
    pub document: String,
}

impl UserColumns {
    /// The columns of a record.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be written as JSON.
    pub fn of(user: &User, form: TextForm) -> Result<Self, StoreError> {
        let username = user.profile.preferred_username.as_deref();
        let names = [user.profile.name.as_deref(), user.email.as_deref(), username];
        let names = names.into_iter().flatten().fold(user.id.to_string(), |text, name| text + "\n" + name);
        Ok(Self {
            id: user.id.as_str().to_owned(),
            email: user.email.as_deref().map(form.looked_up),
            email_before: user.email.as_deref().map(form.looked_up_before),
            username: username.map(form.looked_up),
            username_before: username.map(form.looked_up_before),
            verified: user.email_verified,
            search: (form.searched)(&names),
            created_at: millis(user.created_at),
            updated_at: millis(user.updated_at),
            attributes: user.profile.attributes.clone(),
            document: document(user)?,
        })
    }

    /// The same columns, with address and user name in the form of earlier releases: for a record from another store,
    /// where another user may have the address in another spelling. Once all users are stored, each name is normalized
    /// unless another user has it.
    #[must_use]
    pub fn spelled_as_before(self) -> Self {
        Self { email: self.email_before.clone(), username: self.username_before.clone(), ..self }
    }
}

/// The value of a unique attribute, as a row says whose it is: no two rows of an issuer have the same name and key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeColumns {
    /// The name of the attribute.
    pub name: String,
    /// The value as it is looked up: texts without regard to case.
    pub key: String,
}

impl AttributeColumns {
    /// The rows of a user by the schema of the issuer, in their order: writers that take them in this order do not wait for
    /// each other in a circle.
    pub fn of(attributes: &Attributes, schema: &AttributeSchema, form: TextForm) -> Vec<Self> {
        let rows = schema.unique(attributes).filter_map(|(name, value)| Self::of_value(name, value, form));
        let mut rows: Vec<Self> = rows.collect();
        rows.sort_unstable();
        rows
    }

    /// The row by which the user of a value is found; `None` for a value that cannot be unique.
    pub fn of_value(name: &AttributeName, value: &AttributeValue, form: TextForm) -> Option<Self> {
        let key = (form.looked_up)(&value.unique_text()?);
        Some(Self { name: name.as_str().to_owned(), key })
    }
}

/// How the rows of unique attributes follow a new schema.
pub struct AttributeReindex {
    /// The attributes whose rows are deleted: they are no longer unique, or no longer of the same type.
    pub dropped: Vec<String>,
    /// The attributes whose values get rows, if no two users have the same one.
    pub added: AttributeSchema,
}

impl AttributeReindex {
    /// From one schema to another.
    pub fn between(before: &AttributeSchema, after: &AttributeSchema) -> Self {
        let gone = before.newly_unique(after);
        let dropped =
            gone.definitions().iter().map(|definition| definition.name.as_str().to_owned()).collect();
        Self { dropped, added: after.newly_unique(before) }
    }

    /// Whether the rows stay as they are.
    pub fn is_nothing(&self) -> bool {
        self.dropped.is_empty() && self.added.is_empty()
    }
}

/// The text in the document of every user who has attributes, and of no other: with it a database finds them without
/// reading JSON.
pub const MARK_OF_ATTRIBUTES: &str = "\"attributes\":{";

/// The schema of attributes in the document of an issuer's settings.
///
/// # Errors
/// [`StoreError::Failed`] if it cannot be read back.
pub fn schema_of(settings: &str) -> Result<AttributeSchema, StoreError> {
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        attributes: AttributeSchema,
    }
    let part: Part = parsed(settings)?;
    Ok(part.attributes)
}

/// The attributes in the document of a user.
///
/// # Errors
/// [`StoreError::Failed`] if they cannot be read back.
pub fn attributes_of(user: &str) -> Result<Attributes, StoreError> {
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        attributes: Attributes,
    }
    let part: Part = parsed(user)?;
    Ok(part.attributes)
}

fn parsed<'a, T: Deserialize<'a>>(document: &'a str) -> Result<T, StoreError> {
    serde_json::from_str(document).map_err(|error| StoreError::Failed(error.to_string()))
}

/// The columns of a group or role.
#[derive(Clone)]
pub struct NamedColumns {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The name as it is looked up; unique among the groups of an issuer, or the roles of one `owner`.
    pub key: String,
    /// What it belongs to: the parent of a group, the client of a role. Empty if there is none: no id is empty.
    pub owner: String,
    /// The text that is searched.
    pub search: String,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds; an update compares it with the time that it saw.
    pub updated_at: i64,
    /// The record.
    pub document: String,
}

impl NamedColumns {
    /// The columns of a group.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be written as JSON.
    pub fn of_group(group: &Group, form: TextForm) -> Result<Self, StoreError> {
        let owner = group.parent.as_ref().map_or("", GroupId::as_str).to_owned();
        let (created_at, updated_at) = (millis(group.created_at), millis(group.updated_at));
        let columns = Self::named(group.id.as_str(), &group.name, form);
        Ok(Self { owner, created_at, updated_at, document: document(group)?, ..columns })
    }

    /// The columns of a role.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if it cannot be written as JSON.
    pub fn of_role(role: &Role, form: TextForm) -> Result<Self, StoreError> {
        let owner = role.client_id.as_ref().map_or("", ClientId::as_str).to_owned();
        let (created_at, updated_at) = (millis(role.created_at), millis(role.updated_at));
        let columns = Self::named(role.id.as_str(), &role.name, form);
        Ok(Self { owner, created_at, updated_at, document: document(role)?, ..columns })
    }

    fn named(id: &str, name: &EntitlementName, form: TextForm) -> Self {
        Self {
            id: id.to_owned(),
            name: name.as_str().to_owned(),
            key: (form.looked_up)(name.as_str()),
            owner: String::new(),
            search: (form.searched)(&format!("{id}\n{name}")),
            created_at: 0,
            updated_at: 0,
            document: String::new(),
        }
    }
}

fn document<T: serde::Serialize>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(|error| StoreError::Failed(error.to_string()))
}

/// Milliseconds as a database's integer. Times beyond its range become the latest one, which is as good as never.
pub fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::id::{RoleId, UserId};
    use symbolon_protocol::user::Profile;

    use super::*;

    #[test]
    fn a_user_is_looked_up_by_address_and_name_and_searched_by_all_its_names() {
        let profile = Profile {
            name: Some("Ann Lee".to_owned()),
            preferred_username: Some("Annie".to_owned()),
            ..Profile::default()
        };
        let user = User {
            id: UserId::trusted("U-1"),
            email: Some("Ann@Example.com".to_owned()),
            email_verified: true,
            profile: profile.into(),
            active: true,
            created_at: Timestamp::from_millis(7),
            updated_at: Timestamp::FOREVER,
        };
        let form = TextForm {
            looked_up: str::to_lowercase,
            looked_up_before: str::to_uppercase,
            searched: str::to_uppercase,
        };
        let columns = UserColumns::of(&user, form).unwrap();
        assert_eq!(columns.id, "U-1");
        assert_eq!(columns.email.as_deref(), Some("ann@example.com"));
        assert_eq!(columns.email_before.as_deref(), Some("ANN@EXAMPLE.COM"));
        assert_eq!(columns.username.as_deref(), Some("annie"));
        assert_eq!(columns.search, "U-1\nANN LEE\nANN@EXAMPLE.COM\nANNIE");
        assert_eq!((columns.verified, columns.created_at, columns.updated_at), (true, 7, i64::MAX));
        assert_eq!(serde_json::from_str::<User>(&columns.document).unwrap(), user);
    }

    const FORM: TextForm = TextForm {
        looked_up: str::to_lowercase,
        looked_up_before: str::to_uppercase,
        searched: str::to_uppercase,
    };

    fn schema(json: serde_json::Value) -> AttributeSchema {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_unique_attributes_of_a_user_have_rows() {
        let schema = schema(serde_json::json!([
            { "name": "number", "type": "string", "unique": true },
            { "name": "badge", "type": "number", "unique": true },
            { "name": "team", "type": "string" },
        ]));
        let attributes = serde_json::json!({ "number": "E-1", "badge": 7.0, "team": "blue", "gone": "x" });
        let bare = serde_json::json!({ "id": "ann", "email": null, "created_at": 1, "updated_at": 1 });
        let mut user: User = serde_json::from_value(bare).unwrap();
        assert!(!UserColumns::of(&user, FORM).unwrap().document.contains(MARK_OF_ATTRIBUTES));
        user.profile.attributes = serde_json::from_value(attributes).unwrap();
        let columns = UserColumns::of(&user, FORM).unwrap();
        let row = |name: &str, key: &str| AttributeColumns { name: name.to_owned(), key: key.to_owned() };
        assert_eq!(
            AttributeColumns::of(&columns.attributes, &schema, FORM),
            [row("badge", "7"), row("number", "e-1")]
        );
        assert!(columns.document.contains(MARK_OF_ATTRIBUTES));
        assert_eq!(attributes_of(&columns.document).unwrap(), columns.attributes);
        let settings = serde_json::json!({ "audit_days": 1, "attributes": schema }).to_string();
        assert_eq!(
            (schema_of(&settings).unwrap(), schema_of("{}").unwrap()),
            (schema, AttributeSchema::default())
        );
        // No other text of a user looks like the mark: a quotation mark inside a text is escaped.
        user.profile.attributes.clear();
        user.profile.name = Some("\"attributes\":{".to_owned());
        assert!(!UserColumns::of(&user, FORM).unwrap().document.contains(MARK_OF_ATTRIBUTES));
    }

    #[test]
    fn rows_follow_what_a_schema_makes_unique() {
        let of =
            |kind: &str, unique| schema(serde_json::json!([{ "name": "x", "type": kind, "unique": unique }]));
        let change = |before: &AttributeSchema, after: &AttributeSchema| {
            let reindex = AttributeReindex::between(before, after);
            assert_eq!(reindex.is_nothing(), reindex.dropped.is_empty() && reindex.added.is_empty());
            (reindex.dropped.len(), reindex.added.definitions().len())
        };
        let none = AttributeSchema::default();
        let (plain, unique, number) = (of("string", false), of("string", true), of("number", true));
        assert_eq!(change(&none, &plain), (0, 0));
        assert_eq!(change(&plain, &unique), (0, 1));
        assert_eq!(change(&unique, &unique), (0, 0));
        assert_eq!(change(&unique, &number), (1, 1), "values of another type have another key");
        assert_eq!((change(&unique, &plain), change(&unique, &none)), ((1, 0), (1, 0)));
    }

    #[test]
    fn a_group_and_a_role_are_looked_up_by_name_and_belong_to_something_or_nothing() {
        let form = TextForm {
            looked_up: str::to_lowercase,
            looked_up_before: str::to_uppercase,
            searched: str::to_uppercase,
        };
        let (created_at, updated_at) = (Timestamp::from_millis(7), Timestamp::from_millis(8));
        let name = EntitlementName::trusted("On Call");
        let (id, parent) = (GroupId::trusted("G-1"), Some(GroupId::trusted("top")));
        let mut group = Group { id, name: name.clone(), description: None, parent, created_at, updated_at };
        let columns = NamedColumns::of_group(&group, form).unwrap();
        assert_eq!((columns.id.as_str(), columns.name.as_str()), ("G-1", "On Call"));
        assert_eq!((columns.key.as_str(), columns.owner.as_str()), ("on call", "top"));
        assert_eq!(columns.search, "G-1\nON CALL");
        assert_eq!((columns.created_at, columns.updated_at), (7, 8));
        assert_eq!(serde_json::from_str::<Group>(&columns.document).unwrap(), group);
        group.parent = None;
        assert_eq!(NamedColumns::of_group(&group, form).unwrap().owner, "");
        let (id, client_id) = (RoleId::trusted("R-1"), Some(ClientId::trusted("app")));
        let role = Role { id, name, client_id, description: None, created_at, updated_at };
        let columns = NamedColumns::of_role(&role, form).unwrap();
        assert_eq!((columns.id.as_str(), columns.owner.as_str()), ("R-1", "app"));
        assert_eq!(serde_json::from_str::<Role>(&columns.document).unwrap(), role);
    }
}
