//! Users and their claims (OpenID Connect Core 5.1).

use serde::{Deserialize, Serialize};

use crate::id::UserId;
use crate::time::Timestamp;

/// A user as it is stored; the password's hash is kept apart ([`PasswordHash`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Who: `sub`.
    pub id: UserId,
    /// The e-mail address, unique inside the issuer whatever its case.
    pub email: Option<String>,
    /// Whether the address was proved.
    #[serde(default)]
    pub email_verified: bool,
    /// The other standard claims.
    #[serde(flatten)]
    pub profile: Profile,
    /// Whether the user may sign in and its tokens are good.
    #[serde(default = "active")]
    pub active: bool,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

fn active() -> bool {
    true
}

/// The standard claims of the scopes `profile`, `address` and `phone` (OpenID Connect Core 5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each field is the claim of the same name in OpenID Connect Core 5.1")]
pub struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub birthdate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoneinfo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Box<Address>>,
}

/// The `address` claim (OpenID Connect Core 5.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each field is the member of the same name in OpenID Connect Core 5.1.1")]
pub struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formatted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// A password's hash in PHC form. It has no Debug: a hash is food for guessing.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Takes a PHC string.
    pub fn new(phc: String) -> Self {
        Self(phc)
    }

    /// The PHC string.
    pub fn expose(&self) -> &str {
        &self.0
    }
}
