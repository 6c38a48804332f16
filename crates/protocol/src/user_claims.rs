//! The claims about a user that a scope requests (OpenID Connect Core 5.4). UserInfo and ID tokens write them by this
//! one rule.

use std::sync::Arc;

use crate::json::Object;
use crate::scope::Scope;
use crate::user::{Profile, User};

/// The claims that a scope requests besides `sub`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedClaims {
    profile: bool,
    email: bool,
    address: bool,
    phone: bool,
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
                _ => {}
            }
        }
        requested
    }

    /// Whether any of them is made from the user's record.
    pub fn need_user(self) -> bool {
        self.profile || self.email || self.address || self.phone
    }
}

/// The claims of one user that a scope requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserClaims {
    requested: RequestedClaims,
    user: Arc<User>,
}

impl UserClaims {
    /// The requested claims of a user.
    pub fn of(user: Arc<User>, requested: RequestedClaims) -> Self {
        Self { requested, user }
    }

    /// Writes them as members.
    pub(crate) fn write(&self, json: &mut Object) {
        write(&self.user, self.requested, json);
    }
}

/// Writes the requested claims of a user as members. A claim without a value is left out (OpenID Connect Core 5.3.2).
pub(crate) fn write(user: &User, requested: RequestedClaims, json: &mut Object) {
    if requested.profile {
        write_profile(&user.profile, json);
        // In seconds (OpenID Connect Core 5.1).
        json.number("updated_at", user.updated_at.seconds());
    }
    if let Some(email) = user.email.as_deref().filter(|_| requested.email) {
        json.text("email", email);
        json.flag("email_verified", user.email_verified);
    }
    if requested.address {
        json.optional_value("address", user.profile.address.as_deref());
    }
    if let Some(number) = user.profile.phone_number.as_deref().filter(|_| requested.phone) {
        json.text("phone_number", number);
        json.flag("phone_number_verified", user.profile.phone_number_verified.unwrap_or(false));
    }
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
