//! The claims about a user that a scope requests (OpenID Connect Core 5.4; `groups`, `roles` and attributes are this
//! server's own).
//! UserInfo and ID tokens write them by this one rule.

use std::sync::Arc;

use crate::attribute::{AttributeName, AttributeSchema};
use crate::entitlement::Entitlements;
use crate::id::ClientId;
use crate::json::Object;
use crate::scope::{GROUPS, ROLES, Scope};
use crate::user::{Profile, User};

/// The claims that a scope requests besides `sub`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedClaims {
    profile: bool,
    email: bool,
    address: bool,
    phone: bool,
    groups: bool,
    roles: bool,
    attributes: bool,
}

impl RequestedClaims {
    /// The claims that a granted scope requests. Scope tokens without claims of their own, such as those of an API,
    /// request none.
    pub fn by(scope: &Scope) -> Self {
        let mut requested = Self::default();
        for token in scope.iter() {
            match token {
                "profile" => requested.profile = true,
                "email" => requested.email = true,
                "address" => requested.address = true,
                "phone" => requested.phone = true,
                GROUPS => requested.groups = true,
                ROLES => requested.roles = true,
                _ => {}
            }
        }
        requested
    }

    /// These, and the attributes that the scope releases by the schema of the issuer.
    pub fn and_attributes(self, schema: &AttributeSchema, scope: &Scope) -> Self {
        Self { attributes: schema.releases_by(scope), ..self }
    }

    /// Whether any of them is made from the user's record.
    pub fn need_user(self) -> bool {
        self.profile || self.email || self.address || self.phone || self.attributes
    }

    /// Whether any of them is made from the user's groups and roles.
    pub fn need_entitlements(self) -> bool {
        self.groups || self.roles
    }

    /// Whether `roles` is requested.
    pub(crate) fn roles(self) -> bool {
        self.roles
    }
}

/// The records that claims about a user are made from, as far as they were needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRecords {
    /// The user's record, if there is one.
    pub user: Option<Arc<User>>,
    /// The user's groups and roles.
    pub entitlements: Option<Arc<Entitlements>>,
}

/// The claims of one user that a scope requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserClaims {
    requested: RequestedClaims,
    records: UserRecords,
    /// The attributes that are released. Of most users none: then this takes no memory.
    attributes: Vec<AttributeName>,
}

impl UserClaims {
    /// The requested claims of a user.
    pub fn of(records: UserRecords, requested: RequestedClaims) -> Self {
        Self { requested, records, attributes: Vec::new() }
    }

    /// Adds the attributes that the scope releases, if they are [requested](RequestedClaims::and_attributes).
    #[must_use]
    pub fn with_attributes(mut self, schema: &AttributeSchema, scope: &Scope) -> Self {
        if let Some(user) = self.records.user.as_deref().filter(|_| self.requested.attributes) {
            self.attributes = schema.released(scope, &user.profile.attributes).cloned().collect();
        }
        self
    }

    /// Writes the claims as members, for a client. A claim without a value is left out (OpenID Connect Core 5.3.2). A
    /// user without groups has an empty list of them, so that the client can tell this from a scope that was not granted.
    pub(crate) fn write(&self, client: &ClientId, json: &mut Object) {
        if let Some(user) = &self.records.user {
            self.write_user(user, json);
        }
        let Some(entitlements) = &self.records.entitlements else { return };
        if self.requested.groups {
            json.texts("groups", entitlements.groups.iter().map(|group| group.name.as_str()));
        }
        if self.requested.roles {
            json.texts("roles", role_names(entitlements, Some(client.as_str())));
        }
    }

    fn write_user(&self, user: &User, json: &mut Object) {
        if self.requested.profile {
            write_profile(&user.profile, json);
            // In seconds (OpenID Connect Core 5.1).
            json.number("updated_at", user.updated_at.seconds());
        }
        if let Some(email) = user.email.as_deref().filter(|_| self.requested.email) {
            json.text("email", email);
            json.flag("email_verified", user.email_verified);
        }
        if self.requested.address {
            json.optional_value("address", user.profile.address.as_deref());
        }
        if let Some(number) = user.profile.phone_number.as_deref().filter(|_| self.requested.phone) {
            json.text("phone_number", number);
            json.flag("phone_number_verified", user.profile.phone_number_verified.unwrap_or(false));
        }
        for name in &self.attributes {
            if let Some(value) = user.profile.attributes.get(name) {
                json.named_value(name.as_str(), value);
            }
        }
    }
}

/// The names of a user's roles of the issuer and of one client, each once. Roles of other clients are left out: a name
/// does not say whose role it is, so the client would take another client's role for its own.
pub(crate) fn role_names<'a>(
    entitlements: &'a Entitlements,
    client: Option<&str>,
) -> impl Iterator<Item = &'a str> {
    let is_for = move |own: &ClientId| client == Some(own.as_str());
    let roles = entitlements.roles.iter().filter(move |role| role.client_id.as_ref().is_none_or(is_for));
    // The roles are sorted by name, so equal names, of the issuer and of the client, stand side by side.
    let mut last = None;
    roles.map(|role| role.name.as_str()).filter(move |name| last.replace(*name) != Some(*name))
}

macro_rules! profile_claims {
    ($($claim:ident)*) => {
        /// The names of the string claims of the scope `profile` (OpenID Connect Core 5.1, 5.4): all its claims
        /// except `updated_at`.
        pub const PROFILE_CLAIMS: &[&str] = &[$(stringify!($claim)),*];

        fn write_profile(profile: &Profile, json: &mut Object) {
            for (name, value) in [$((stringify!($claim), &profile.$claim)),*] {
                json.optional_text(name, value.as_deref());
            }
        }
    };
}

profile_claims! {
    name given_name family_name middle_name nickname preferred_username profile picture website gender birthdate
    zoneinfo locale
}

#[cfg(test)]
mod tests;
