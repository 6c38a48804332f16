//! Clients, users, groups and roles in the form of a back-end's tables: a JSON document, with a column for each value
//! that is looked up, compared or unique.

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
