//! Other providers by which people sign in: any OpenID provider, and GitHub (OAuth 2.0, RFC 6749).
//!
//! Here the issuer is a client of somebody else's provider. What that provider says is an identity: its key, and the `sub`
//! that it never gives to anybody else (OpenID Connect Core 2, 8). An e-mail address is none: addresses are given to others.

pub mod authentication_request;
pub mod bounds;
pub mod decision;
pub mod id_token;
pub mod metadata;
pub mod preset;
pub mod token_response;
pub mod upstream_user;
pub mod way_left;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::id::{GroupId, IdentityProviderId, UserId};
use crate::time::Timestamp;

/// The most providers of one issuer.
pub const MOST_PROVIDERS: usize = 32;
/// The most identities of one user: one of each provider.
pub const MOST_IDENTITIES: usize = MOST_PROVIDERS;

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// OpenID Connect: it has metadata, and answers with an ID token.
    Openid,
    /// GitHub: OAuth 2.0, and an API that says who it is.
    Github,
}

/// How its answer comes to the callback (OAuth 2.0 Multiple Response Type Encoding Practices 2.1, Form Post Response Mode 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderResponseMode {
    /// In the query of a redirect.
    #[default]
    Query,
    /// As a form that the browser posts.
    FormPost,
}

/// What becomes of a logout of somebody who signed in by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderLogout {
    /// It ends the session here alone.
    #[default]
    Here,
    /// The person is sent to the provider's `end_session_endpoint` afterwards, if it has one (RP-Initiated Logout 1.0 2).
    PassedOn,
}

impl ProviderLogout {
    /// Whether it ends the session here alone.
    pub fn is_here(&self) -> bool {
        *self == Self::Here
    }
}

/// Which of a provider's groups are which of the issuer's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupMapping {
    /// The claim that names the provider's groups: a text, or a list of texts.
    pub claim: String,
    /// The issuer's group for each of the provider's. Who signs in is put into those that the claim names, and taken out of the
    /// others in this list.
    pub groups: BTreeMap<String, GroupId>,
}

/// Another provider by which people sign in at an issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityProvider {
    /// Its id, which its callback's path has.
    pub id: IdentityProviderId,
    /// Drawn when it is made, and named by identities: a later provider of the same id inherits none.
    pub key: SmolStr,
    /// Its name on buttons.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Its issuer identifier (OpenID Connect Discovery 3), or GitHub's address.
    pub issuer: String,
    /// The `client_id` that it gave to this issuer.
    pub client_id: String,
    /// The secret that it gave, sealed under a key of the issuer. Without one this issuer is a public client of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_secret: Option<String>,
    /// The scopes to ask for.
    pub scopes: Vec<String>,
    /// How its answer comes.
    #[serde(default)]
    pub response_mode: ProviderResponseMode,
    /// Which of its claims a new user's claims are taken from: standard claims by their names, each from a claim of the
    /// provider.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
    /// Which of its groups are the issuer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupMapping>,
    /// Whether somebody without an account gets one.
    #[serde(default)]
    pub sign_up: bool,
    /// Whether an account is connected by its address, where both sides have verified it.
    #[serde(default)]
    pub link_by_verified_email: bool,
    /// The domains whose people are led to it, and the only ones for whose addresses it is believed. Empty: it leads nobody,
    /// and is believed for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_domains: Vec<String>,
    /// What becomes of a logout of somebody who signed in by it.
    #[serde(default, skip_serializing_if = "ProviderLogout::is_here")]
    pub logout: ProviderLogout,
    /// Whether people may sign in by it.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl IdentityProvider {
    /// Whether it is the one for an address, by the domain.
    pub fn routes(&self, address: &str) -> bool {
        self.enabled && domain(address).is_some_and(|own| self.email_domains.contains(&own))
    }

    /// Whether it is believed when it says that an address is somebody's.
    pub fn may_vouch_for(&self, address: &str) -> bool {
        self.email_domains.is_empty() || domain(address).is_some_and(|own| self.email_domains.contains(&own))
    }
}

/// The domain of an address, as domains are compared.
fn domain(address: &str) -> Option<String> {
    address.rsplit_once('@').map(|(_, domain)| domain.trim_end_matches('.').to_ascii_lowercase())
}

/// An identity of a user: who they are to another provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The provider's key.
    pub provider: SmolStr,
    /// Its `sub` for the person.
    pub subject: String,
    /// The user.
    pub user: UserId,
    /// What the person knows it by: an address or a name, as the provider told it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it was connected.
    pub linked_at: Timestamp,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn provider() -> IdentityProvider {
        IdentityProvider {
            id: IdentityProviderId::trusted("acme"),
            key: "k1".into(),
            name: "Acme".to_owned(),
            kind: ProviderKind::Openid,
            issuer: "https://acme.example".to_owned(),
            client_id: "us".to_owned(),
            sealed_secret: None,
            scopes: vec!["openid".to_owned(), "email".to_owned()],
            response_mode: ProviderResponseMode::default(),
            claims: bounds::default_claims(),
            groups: None,
            sign_up: false,
            link_by_verified_email: false,
            email_domains: Vec::new(),
            logout: ProviderLogout::default(),
            enabled: true,
            created_at: Timestamp::EPOCH,
            updated_at: Timestamp::EPOCH,
        }
    }

    #[test]
    fn domains_lead_and_bound_whom_it_is_believed_for() {
        let own = IdentityProvider { email_domains: vec!["acme.example".to_owned()], ..provider() };
        for (address, is_own) in [
            ("ann@acme.example", true),
            ("ANN@ACME.EXAMPLE.", true),
            ("ann@sub.acme.example", false),
            ("ann@acme.example.evil.example", false),
            ("\"ann@acme.example\"@evil.example", false),
            ("acme.example", false),
        ] {
            assert_eq!((own.routes(address), own.may_vouch_for(address)), (is_own, is_own), "{address}");
            assert!(!provider().routes(address) && provider().may_vouch_for(address), "{address}");
        }
        assert!(!IdentityProvider { enabled: false, ..own }.routes("ann@acme.example"));
    }
}
