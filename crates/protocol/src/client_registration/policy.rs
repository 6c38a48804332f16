//! Who may register clients without an administrator, and what such a client may have.

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;

use crate::client::{Client, GrantType};
use crate::scope::Scope;
use crate::settings::IssuerSettings;

/// Who may register clients without an administrator (RFC 7591 1.2, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientRegistration {
    /// Nobody.
    #[default]
    Off,
    /// Who has an initial access token, which an administrator made.
    InitialAccessToken,
    /// Everybody.
    Open,
}

impl ClientRegistration {
    /// Whether nobody may.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// The scopes that a client may have that registered itself, where the issuer says nothing else.
pub const DEFAULT_SCOPE: &str = "openid profile email address phone offline_access";

/// The grant types that such a client may have, where the issuer says nothing else.
pub const DEFAULT_GRANT_TYPES: [GrantType; 2] = [GrantType::AuthorizationCode, GrantType::RefreshToken];

/// What a client may have that registers itself.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Scopes.
    pub scope: Scope,
    /// Whether it gets all of them, and not only those that it names.
    pub full_scope: bool,
    /// Grant types.
    pub grant_types: Vec<GrantType>,
    /// Algorithms of ID tokens and signed answers: those for which the issuer has a key. No stranger makes it draw another.
    pub algorithms: Vec<Algorithm>,
}

impl Policy {
    /// That of an issuer, which has keys for these algorithms.
    pub fn of(settings: &IssuerSettings, algorithms: Vec<Algorithm>) -> Self {
        let scope = settings.client_registration_scope.clone();
        let grant_types = settings.client_registration_grant_types.clone();
        Self {
            scope: scope.unwrap_or_else(|| Scope::parse(DEFAULT_SCOPE).unwrap_or_default()),
            full_scope: settings.client_registration_full_scope,
            grant_types: grant_types.unwrap_or_else(|| DEFAULT_GRANT_TYPES.to_vec()),
            algorithms,
        }
    }

    /// That for a client that is there: what an administrator gave it beyond, it may keep.
    #[must_use]
    pub(super) fn beside(&self, client: &Client) -> Self {
        let mut wider = self.clone();
        wider.scope = self.scope.union(&client.scope).unwrap_or_else(|_| self.scope.clone());
        wider.grant_types.extend(client.grant_types.iter().copied());
        wider.algorithms.extend(client.id_token_signed_response_alg);
        wider.algorithms.extend(client.userinfo_signed_response_alg);
        wider.algorithms.extend(client.introspection_signed_response_alg);
        wider
    }
}
