//! What a claim can be made from without an expression.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use crate::id::ClientId;
use crate::user::User;
use crate::user_claims::{PROFILE_CLAIMS, RecordsNeeded, profile_text};

/// What a claim is made from. In JSON: a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimSource {
    /// `sub`: the user's id.
    Sub,
    /// The standard claim of this name (OpenID Connect Core 5.1).
    User(&'static str),
    /// `attribute:NAME`: an attribute of the user.
    Attribute(SmolStr),
    /// `groups`: the names of the user's groups.
    Groups,
    /// `roles`: the names of the user's roles of the issuer and of the client that the token is for.
    Roles,
    /// `issuer_roles`: the names of the user's roles of the issuer.
    IssuerRoles,
    /// `client_roles`: the names of the user's roles of every client, by client.
    ClientRoles,
    /// `client_roles:CLIENT`: the names of the user's roles of one client.
    ClientRolesOf(ClientId),
    /// `auth_time`: when the user signed in, in seconds (OpenID Connect Core 2).
    AuthTime,
    /// `acr`: the authentication context class of the sign-in, if it is known (OpenID Connect Core 2).
    Acr,
    /// `amr`: the methods of the sign-in (OpenID Connect Core 2).
    Amr,
}

/// The standard claims besides the texts of the scope `profile` that a definition can be made from.
const OTHER_CLAIMS: [&str; 5] =
    ["email", "email_verified", "phone_number", "phone_number_verified", "updated_at"];

/// The standard claim of a name, if a definition or an expression may be made from it.
pub(super) fn standard_claim(name: &str) -> Option<&'static str> {
    PROFILE_CLAIMS.iter().chain(&OTHER_CLAIMS).copied().find(|own| *own == name)
}

/// Every standard claim that a definition or an expression may be made from.
pub(super) fn standard_claims() -> impl Iterator<Item = &'static str> {
    PROFILE_CLAIMS.iter().chain(&OTHER_CLAIMS).copied()
}

/// A value that is known about a user.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Known<'a> {
    Text(&'a str),
    Number(i64),
    Decimal(f64),
    Flag(bool),
    Texts(Vec<&'a str>),
}

/// The value of a [`standard_claim`], if the user has one.
pub(super) fn standard_value<'a>(user: &'a User, name: &str) -> Option<Known<'a>> {
    match name {
        "email" => user.email.as_deref().map(Known::Text),
        "email_verified" => user.email.as_ref().map(|_| Known::Flag(user.email_verified)),
        "phone_number" => user.profile.phone_number.as_deref().map(Known::Text),
        "phone_number_verified" => {
            let is_verified = user.profile.phone_number_verified.unwrap_or(false);
            user.profile.phone_number.as_ref().map(|_| Known::Flag(is_verified))
        }
        "updated_at" => i64::try_from(user.updated_at.seconds()).ok().map(Known::Number),
        _ => profile_text(&user.profile, name).map(Known::Text),
    }
}

/// What a source yields, as far as the form of a claim depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Names.
    Names,
    /// Names for each client.
    NamesByClient,
    /// A text.
    Text,
    /// A number, or true or false.
    Scalar,
    /// Whatever the attribute holds.
    Any,
}

impl ClaimSource {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Groups | Self::Roles | Self::IssuerRoles | Self::ClientRolesOf(_) | Self::Amr => {
                Kind::Names
            }
            Self::ClientRoles => Kind::NamesByClient,
            Self::AuthTime | Self::User("email_verified" | "phone_number_verified" | "updated_at") => {
                Kind::Scalar
            }
            Self::Sub | Self::Acr | Self::User(_) => Kind::Text,
            Self::Attribute(_) => Kind::Any,
        }
    }

    /// Whether the names are those of roles.
    pub(super) fn is_of_roles(&self) -> bool {
        matches!(self, Self::Roles | Self::IssuerRoles | Self::ClientRoles | Self::ClientRolesOf(_))
    }

    pub(super) fn needs(&self) -> RecordsNeeded {
        RecordsNeeded {
            user: matches!(self, Self::User(_) | Self::Attribute(_)),
            entitlements: matches!(self, Self::Groups) || self.is_of_roles(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix("attribute:") {
            return (!name.is_empty() && name.len() <= 200).then(|| Self::Attribute(name.into()));
        }
        if let Some(client) = text.strip_prefix("client_roles:") {
            return ClientId::parse(client).ok().map(Self::ClientRolesOf);
        }
        Some(match text {
            "sub" => Self::Sub,
            "groups" => Self::Groups,
            "roles" => Self::Roles,
            "issuer_roles" => Self::IssuerRoles,
            "client_roles" => Self::ClientRoles,
            "auth_time" => Self::AuthTime,
            "acr" => Self::Acr,
            "amr" => Self::Amr,
            name => Self::User(standard_claim(name)?),
        })
    }
}

impl fmt::Display for ClaimSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sub => f.write_str("sub"),
            Self::User(name) => f.write_str(name),
            Self::Attribute(name) => write!(f, "attribute:{name}"),
            Self::Groups => f.write_str("groups"),
            Self::Roles => f.write_str("roles"),
            Self::IssuerRoles => f.write_str("issuer_roles"),
            Self::ClientRoles => f.write_str("client_roles"),
            Self::ClientRolesOf(client) => write!(f, "client_roles:{client}"),
            Self::AuthTime => f.write_str("auth_time"),
            Self::Acr => f.write_str("acr"),
            Self::Amr => f.write_str("amr"),
        }
    }
}

impl Serialize for ClaimSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClaimSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SmolStr::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let names: Vec<&str> = standard_claims().collect();
            serde::de::Error::custom(format!(
                "source must be sub, groups, roles, issuer_roles, client_roles, client_roles:CLIENT, attribute:NAME, \
                 auth_time, acr, amr or a standard claim: {}",
                names.join(", ")
            ))
        })
    }
}
