//! Claim definitions: claims that an issuer, or one of its clients, defines beside the standard ones.
//!
//! A definition says where the value comes from (a [`ClaimSource`], a constant, or an expression in the Common Expression
//! Language), which scope releases it, and to which [`Destinations`] it goes. [`check`] refuses what cannot be right when
//! it is saved. A [`ClaimSet`] holds the definitions that are in force for one client, prepared once and used for every
//! token.

mod attributes;
mod bounds;
mod check;
mod dry_run;
mod expression;
mod form;
mod name;
mod set;
mod source;
mod variables;

pub use check::{MOST_DEFINITIONS, Refused, check, check_attributes};
pub use expression::{LONGEST_EXPRESSION, LONGEST_RESULT};
pub use form::Form;
pub use set::{ClaimFailure, ClaimInput, ClaimSet, DefinedClaims, NO_CLAIMS};
pub use source::ClaimSource;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

/// The definition of one claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Document", into = "Document")]
pub struct ClaimDefinition {
    /// The name of the claim, as in the token.
    pub name: SmolStr,
    /// What its value is made from.
    pub origin: Origin,
    /// The scope token that releases it. Without one, it is released whatever was granted.
    pub scope: Option<SmolStr>,
    /// Where it goes.
    pub destinations: Destinations,
}

/// What the value of a claim is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What is known about the user or the sign-in.
    Source {
        /// Which of it.
        source: ClaimSource,
        /// How it is written; `None` as it is: names as a list, a text as a text.
        form: Option<Form>,
        /// What is put before every text of it.
        prefix: String,
    },
    /// The same value for everybody.
    Constant(Value),
    /// The result of an expression in the Common Expression Language.
    Expression(String),
    /// Nothing: the claim of this name is switched off.
    Off,
}

/// Where a claim can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// ID tokens (OpenID Connect Core 2).
    IdToken = 1,
    /// Access tokens (RFC 9068 2.2.2).
    AccessToken = 2,
    /// The answer of UserInfo (OpenID Connect Core 5.3.2).
    Userinfo = 4,
    /// The answer of introspection (RFC 7662 2.2).
    Introspection = 8,
}

impl Destination {
    /// Every destination.
    pub const ALL: [Self; 4] = [Self::IdToken, Self::AccessToken, Self::Userinfo, Self::Introspection];

    /// Its name in definitions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdToken => "id_token",
            Self::AccessToken => "access_token",
            Self::Userinfo => "userinfo",
            Self::Introspection => "introspection",
        }
    }
}

/// A set of destinations. In JSON: a list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Destination>", into = "Vec<Destination>")]
pub struct Destinations(u8);

impl Destinations {
    /// Whether a destination is in the set.
    pub const fn contain(self, destination: Destination) -> bool {
        self.0 & destination as u8 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Those of a definition that names none: where the standard claims about a user are (OpenID Connect Core 5.4).
impl Default for Destinations {
    fn default() -> Self {
        Self(Destination::IdToken as u8 | Destination::Userinfo as u8)
    }
}

impl From<Vec<Destination>> for Destinations {
    fn from(named: Vec<Destination>) -> Self {
        Self(named.into_iter().fold(0, |set, destination| set | destination as u8))
    }
}

impl From<Destinations> for Vec<Destination> {
    fn from(set: Destinations) -> Self {
        Destination::ALL.into_iter().filter(|destination| set.contain(*destination)).collect()
    }
}

/// A definition in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: SmolStr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<ClaimSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expression: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form: Option<Form>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prefix: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    destinations: Option<Destinations>,
    #[serde(default = "enabled", skip_serializing_if = "is_enabled")]
    enabled: bool,
}

const fn enabled() -> bool {
    true
}

const fn is_enabled(enabled: &bool) -> bool {
    *enabled
}

impl TryFrom<Document> for ClaimDefinition {
    type Error = &'static str;

    fn try_from(document: Document) -> Result<Self, Self::Error> {
        let Document { name, source, expression, value, form, prefix, scope, destinations, enabled } =
            document;
        let is_shaped = form.is_some() || !prefix.is_empty();
        let origin = match (source, expression, value) {
            (None, None, None) if enabled => return Err("a claim needs a source, an expression or a value"),
            (None, None, None) if is_shaped || scope.is_some() || destinations.is_some() => {
                return Err("a claim that is not enabled has nothing but its name");
            }
            (None, None, None) => Origin::Off,
            _ if !enabled => return Err("a claim that is not enabled has nothing but its name"),
            (Some(source), None, None) => Origin::Source { source, form, prefix },
            (None, Some(_), None) | (None, None, Some(_)) if is_shaped => {
                return Err("form and prefix belong to a source");
            }
            (None, Some(expression), None) => Origin::Expression(expression),
            (None, None, Some(value)) => Origin::Constant(value),
            _ => return Err("a claim has one of source, expression and value"),
        };
        Ok(Self { name, origin, scope, destinations: destinations.unwrap_or_default() })
    }
}

impl From<ClaimDefinition> for Document {
    fn from(definition: ClaimDefinition) -> Self {
        let ClaimDefinition { name, origin, scope, destinations } = definition;
        let mut document = Self {
            name,
            source: None,
            expression: None,
            value: None,
            form: None,
            prefix: String::new(),
            scope,
            destinations: Some(destinations),
            enabled: true,
        };
        match origin {
            Origin::Source { source, form, prefix } => {
                document.source = Some(source);
                document.form = form;
                document.prefix = prefix;
            }
            Origin::Constant(value) => document.value = Some(value),
            Origin::Expression(expression) => document.expression = Some(expression),
            Origin::Off => {
                document.destinations = None;
                document.enabled = false;
            }
        }
        document
    }
}

#[cfg(test)]
mod tests;
