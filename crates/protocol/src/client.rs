//! Clients and their metadata, by the names of RFC 7591 and OpenID Connect Dynamic Client Registration.

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwk::JwkSet;

use crate::branding::Branding;
use crate::client_secret::ClientSecrets;
use crate::error::{ErrorCode, OAuthError};
use crate::id::ClientId;
use crate::redirect_uri::RedirectUriForm;
use crate::refusal::{Details, Reason};
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::settings::ClientOverrides;
use crate::sign_in::acr::RequestedAcr;
use crate::time::Timestamp;
use crate::translation;

/// A grant type that the token endpoint knows (RFC 7591 2, `grant_types`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GrantType {
    /// RFC 6749 4.1.
    #[serde(rename = "authorization_code")]
    AuthorizationCode,
    /// RFC 6749 6.
    #[serde(rename = "refresh_token")]
    RefreshToken,
    /// RFC 6749 4.4.
    #[serde(rename = "client_credentials")]
    ClientCredentials,
    /// RFC 8693.
    #[serde(rename = "urn:ietf:params:oauth:grant-type:token-exchange")]
    TokenExchange,
}

impl GrantType {
    /// Every grant type, as discovery lists them.
    pub const ALL: [Self; 4] =
        [Self::AuthorizationCode, Self::RefreshToken, Self::ClientCredentials, Self::TokenExchange];

    /// The value of `grant_type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }

    /// Reads a `grant_type` parameter.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.as_str() == text)
    }
}

/// How a client authenticates at the token, introspection and revocation endpoints (RFC 7591 2, OpenID Connect Core
/// 9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenEndpointAuthMethod {
    /// Basic credentials (RFC 6749 2.3.1).
    #[default]
    ClientSecretBasic,
    /// `client_id` and `client_secret` in the form.
    ClientSecretPost,
    /// A signed assertion, which can be used once (RFC 7523 2.2).
    PrivateKeyJwt,
    /// A public client: no authentication.
    None,
}

impl TokenEndpointAuthMethod {
    /// Every method, as discovery lists them.
    pub const ALL: [Self; 4] =
        [Self::ClientSecretBasic, Self::ClientSecretPost, Self::PrivateKeyJwt, Self::None];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::None => "none",
        }
    }
}

/// Whether a client can keep a secret (RFC 6749 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientType {
    /// It can, and authenticates.
    Confidential,
    /// It cannot: a single-page or native application.
    Public,
}

/// What a client may do by token exchange (RFC 8693).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenExchangePolicy {
    /// Whether the client may exchange at all.
    #[serde(rename = "token_exchange_allowed")]
    pub allowed: bool,
    /// Allowed targets (`audience` and `resource` values); `None` allows any.
    #[serde(rename = "allowed_token_exchange_resources", skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Other clients whose tokens it may present. It may always present its own tokens and those whose `aud` names
    /// it.
    #[serde(rename = "allowed_subject_token_clients", skip_serializing_if = "Vec::is_empty")]
    pub subject_token_clients: Vec<ClientId>,
    /// Whether results contain the actor.
    pub delegation_mode: DelegationMode,
}

/// Whether token exchange results carry `act` (RFC 8693 1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelegationMode {
    /// The result names the actor, and keeps the chain of actors.
    #[default]
    Delegation,
    /// The result contains only the subject.
    Impersonation,
    /// The client may not exchange tokens.
    None,
}

/// How a client is told that a session has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogoutUris {
    /// Where logout tokens are posted (Back-Channel Logout 1.0 2.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_logout_uri: Option<String>,
    /// Whether the client needs `sid` in logout tokens. They have one anyway.
    #[serde(skip_serializing_if = "is_false")]
    pub backchannel_logout_session_required: bool,
    /// What the signed-out page loads in a frame (Front-Channel Logout 1.0 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontchannel_logout_uri: Option<String>,
    /// Whether the client needs `iss` and `sid` in that frame's address. It has them anyway.
    #[serde(skip_serializing_if = "is_false")]
    pub frontchannel_logout_session_required: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls `skip_serializing_if` with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A client as stored.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// RFC 7591 3.2.1.
    pub client_id: ClientId,
    /// Its secrets; none for public clients and for those that sign assertions.
    #[serde(flatten)]
    pub client_secrets: ClientSecrets,
    /// The name shown to users.
    #[serde(default)]
    pub client_name: String,
    /// Compared as strings, except for the port on loopback addresses (RFC 8252 7.3) and what `redirect_uri_forms` allows.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// Forms of redirect URIs that an administrator allowed it beyond those that every client may register.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uri_forms: Vec<RedirectUriForm>,
    /// OpenID Connect RP-Initiated Logout 3.1.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<String>,
    /// How it is told that a session has ended.
    #[serde(flatten)]
    pub logout: LogoutUris,
    /// The grant types that it may use.
    #[serde(default)]
    pub grant_types: Vec<GrantType>,
    /// The scopes that it may be granted.
    #[serde(default)]
    pub scope: Scope,
    /// How it authenticates.
    #[serde(default)]
    pub token_endpoint_auth_method: TokenEndpointAuthMethod,
    /// Its public keys, for `private_key_jwt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<JwkSet>,
    /// The only algorithm that its assertions may use; if absent, any that fits its keys (OpenID Connect Registration
    /// 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg: Option<Algorithm>,
    /// The algorithm of its ID tokens; if absent, the issuer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_token_signed_response_alg: Option<Algorithm>,
    /// The algorithm of its access tokens; if absent, the issuer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_token_signed_response_alg: Option<Algorithm>,
    /// Whether it belongs to the provider or a partner: only information for administrators.
    #[serde(default)]
    pub is_trusted: bool,
    /// Whether users are never asked for consent.
    #[serde(default)]
    pub skip_consent: bool,
    /// Token exchange.
    #[serde(flatten)]
    pub token_exchange: TokenExchangePolicy,
    /// Audiences whose tokens it may introspect besides its own; an admin may also register the issuer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audiences: Vec<String>,
    /// Values of `aud` in its access tokens besides the issuer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_token_audiences: Vec<String>,
    /// Origins whose scripts may call the token and UserInfo endpoints for it, besides those of its redirect URIs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_redirect_origins: Vec<String>,
    /// OpenID Connect Registration 2, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_max_age: Option<u64>,
    /// The classes of authentication that its requests ask for unless they say otherwise (OpenID Connect Registration 2).
    #[serde(default, skip_serializing_if = "RequestedAcr::is_empty")]
    pub default_acr_values: RequestedAcr,
    /// Where a sign-in at the client begins that it did not ask for (OpenID Connect Registration 2, Core 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiate_login_uri: Option<String>,
    /// Settings that differ from the issuer's.
    #[serde(default)]
    pub settings: ClientOverrides,
    /// How the pages of its requests present the provider, where that is not as the issuer says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branding: Option<Box<Branding>>,
    /// Metadata that is only displayed: `logo_uri`, `client_uri`, `policy_uri`, `tos_uri`, `contacts`, ...
    #[serde(default)]
    pub display: serde_json::Map<String, serde_json::Value>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What a later build wrote and this one does not know. Kept, because a node of this build that runs on during an upgrade
    /// writes the whole record, also when it only notes the use of a secret.
    #[serde(flatten)]
    pub unknown_members: serde_json::Map<String, serde_json::Value>,
}

impl Client {
    /// Whether it is a public client, which cannot keep a secret (RFC 6749 2.1).
    pub fn is_public(&self) -> bool {
        self.token_endpoint_auth_method == TokenEndpointAuthMethod::None
    }

    /// Its client type (RFC 6749 2.1).
    pub fn client_type(&self) -> ClientType {
        if self.is_public() { ClientType::Public } else { ClientType::Confidential }
    }

    /// Its name for people.
    pub fn display_name(&self) -> &str {
        if self.client_name.is_empty() { self.client_id.as_str() } else { &self.client_name }
    }

    /// Whether the pages of its requests have a name of its own in their head, and its logo beside it.
    pub fn has_name_in_head(&self) -> bool {
        self.branding.as_ref().is_some_and(|branding| branding.name.is_some())
    }

    /// A displayed member of its metadata, such as `client_uri`.
    pub fn displayed(&self, member: &str) -> Option<String> {
        self.display.get(member)?.as_str().map(str::to_owned)
    }

    /// A displayed member in a language, if it is given in it (OpenID Connect Dynamic Client Registration 1.0 2.1): by the
    /// whole tag, else by the first subtag, else without a language.
    pub fn displayed_in(&self, member: &str, language: &str) -> Option<String> {
        let given = || {
            let shown = self.display.iter();
            shown.filter_map(move |(key, value)| Some((translation::tag_of(key, member)?, value.as_str()?)))
        };
        let found = translation::lookup(given, language);
        found.map(str::to_owned).or_else(|| self.displayed(member))
    }

    /// Its name for people in a language.
    pub fn display_name_in(&self, language: &str) -> String {
        self.displayed_in("client_name", language).unwrap_or_else(|| self.display_name().to_owned())
    }

    /// The scope of its authorization requests without `scope`: the pre-defined default of RFC 6749 3.3. Access that
    /// outlives the session must be asked for (OpenID Connect Core 11), so `offline_access` is not in it
    /// (`docs/decisions/068-a-missing-scope-means-the-registered-scopes.md`).
    pub fn default_scope(&self) -> Scope {
        if !self.scope.contains(OFFLINE_ACCESS) {
            return self.scope.clone();
        }
        self.scope.filtered(|token| token != OFFLINE_ACCESS)
    }

    /// Whether it has registered a grant type.
    pub fn may_use(&self, grant: GrantType) -> bool {
        self.grant_types.contains(&grant)
    }

    /// `unauthorized_client` for a grant type that it has not registered (RFC 6749 5.2).
    pub fn refused_grant(&self, grant: GrantType, description: &'static str) -> OAuthError {
        let registered = self.grant_types.iter().map(|own| own.as_str());
        OAuthError::new(ErrorCode::UnauthorizedClient, Reason::GrantTypeNotRegistered, description).about(
            Details::of("grant_type").sent(grant.as_str()).registered(registered).client(&self.client_id),
        )
    }
}
