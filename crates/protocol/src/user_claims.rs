//! The claims about a user that a scope requests (OpenID Connect Core 5.4; `groups`, `roles` and attributes are this
//! server's own).
//! UserInfo and ID tokens write them by this one rule.

use std::sync::Arc;

use crate::attribute::{AggregatedClaims, AttributeName, AttributeSchema};
use crate::claim_definition::ClaimSet;
use crate::entitlement::Entitlements;
use crate::id::ClientId;
use crate::json::Object;
use crate::scope::{GROUPS, ROLES, Scope};
use crate::time::Timestamp;
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

/// Which records the claims of something are made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsNeeded {
    /// The user's record.
    pub user: bool,
    /// The user's groups and roles.
    pub entitlements: bool,
}

impl RecordsNeeded {
    /// What either needs.
    pub fn or(self, other: Self) -> Self {
        Self { user: self.user || other.user, entitlements: self.entitlements || other.entitlements }
    }
}

/// The standard claims about a user of which definitions of the same name take the place, so that they are not written
/// twice (RFC 7519 4: the names within a claims set MUST be unique).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaced(u32);

/// The claims about a user besides the texts of the scope `profile` that a definition can replace.
const OTHERS: [&str; 5] = ["email", "phone_number", "address", GROUPS, ROLES];

/// Places in [`OTHERS`].
mod place {
    pub(super) const EMAIL: usize = 0;
    pub(super) const PHONE_NUMBER: usize = 1;
    pub(super) const ADDRESS: usize = 2;
    pub(super) const GROUPS: usize = 3;
    pub(super) const ROLES: usize = 4;
}

impl Replaced {
    /// None.
    pub const NONE: Self = Self(0);

    /// Adds the standard claim of this name, if there is one.
    pub(crate) fn add(&mut self, name: &str) {
        if let Some(n) = PROFILE_CLAIMS.iter().chain(&OTHERS).position(|own| *own == name) {
            self.0 |= 1 << n;
        }
    }

    fn holds_text(self, n: usize) -> bool {
        self.0 & (1 << n) != 0
    }

    fn holds_other(self, n: usize) -> bool {
        self.holds_text(PROFILE_CLAIMS.len() + n)
    }

    /// Whether a definition takes the place of `roles`.
    pub(crate) fn roles(self) -> bool {
        self.holds_other(place::ROLES)
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
    /// The claims of other providers that are released. Boxed, because few have any.
    aggregated: Option<Box<AggregatedClaims>>,
    replaced: Replaced,
}

impl UserClaims {
    /// The requested claims of a user.
    pub fn of(records: UserRecords, requested: RequestedClaims) -> Self {
        Self { requested, records, attributes: Vec::new(), aggregated: None, replaced: Replaced::NONE }
    }

    /// Adds the attributes that the scope releases, if they are [requested](RequestedClaims::and_attributes).
    #[must_use]
    pub fn with_attributes(mut self, schema: &AttributeSchema, scope: &Scope, now: Timestamp) -> Self {
        if let Some(user) = self.records.user.as_deref().filter(|_| self.requested.attributes) {
            let attributes = &user.profile.attributes;
            self.attributes = schema.released(scope, attributes).cloned().collect();
            self.aggregated = schema.aggregated(scope, attributes, now).map(Box::new);
        }
        self
    }

    /// The records that they are made from.
    pub(crate) fn records(&self) -> &UserRecords {
        &self.records
    }

    /// The same claims without those of which definitions take the place: a name is written once (RFC 7519 4).
    #[must_use]
    pub fn without(mut self, defined: &ClaimSet) -> Self {
        self.replaced = defined.replaced();
        self.attributes.retain(|name| !defined.replaces_attribute(name));
        if let Some(own) = self.aggregated.take() {
            self.aggregated = own.without(|name| defined.replaces_attribute(name)).map(Box::new);
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
        if self.requested.groups && !self.replaced.holds_other(place::GROUPS) {
            json.texts("groups", entitlements.groups.iter().map(|group| group.name.as_str()));
        }
        if self.requested.roles && !self.replaced.roles() {
            json.texts("roles", role_names(entitlements, Some(client.as_str())));
        }
    }

    fn write_user(&self, user: &User, json: &mut Object) {
        if self.requested.profile {
            write_profile(&user.profile, self.replaced, json);
            // In seconds (OpenID Connect Core 5.1).
            json.number("updated_at", user.updated_at.seconds());
        }
        // Whether an address was verified is told of the user's own address alone: what a definition puts in its place may
        // be another one.
        if let Some(email) =
            user.email.as_deref().filter(|_| self.requested.email && !self.replaced.holds_other(place::EMAIL))
        {
            json.text("email", email);
            json.flag("email_verified", user.email_verified);
        }
        if self.requested.address && !self.replaced.holds_other(place::ADDRESS) {
            json.optional_value("address", user.profile.address.as_deref());
        }
        if let Some(number) = user
            .profile
            .phone_number
            .as_deref()
            .filter(|_| self.requested.phone && !self.replaced.holds_other(place::PHONE_NUMBER))
        {
            json.text("phone_number", number);
            json.flag("phone_number_verified", user.profile.phone_number_verified.unwrap_or(false));
        }
        for name in &self.attributes {
            if let Some(value) = user.profile.attributes.get(name) {
                json.named_value(name.as_str(), value);
            }
        }
        if let Some(aggregated) = &self.aggregated {
            aggregated.write(json);
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

        fn write_profile(profile: &Profile, replaced: Replaced, json: &mut Object) {
            let texts = [$((stringify!($claim), &profile.$claim)),*];
            for (n, (name, value)) in texts.into_iter().enumerate() {
                if !replaced.holds_text(n) {
                    json.optional_text(name, value.as_deref());
                }
            }
        }

        /// The text of the scope `profile` of this name, if the user has it.
        pub(crate) fn profile_text<'a>(profile: &'a Profile, name: &str) -> Option<&'a str> {
            $(if name == stringify!($claim) {
                return profile.$claim.as_deref();
            })*
            None
        }
    };
}

profile_claims! {
    name given_name family_name middle_name nickname preferred_username profile picture website gender birthdate
    zoneinfo locale
}

#[cfg(test)]
mod tests;
