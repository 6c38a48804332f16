//! Clients and their metadata, by the names of RFC 7591 and OpenID Connect Dynamic Client Registration.

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwk::{Jwk, JwkSet};

use crate::backchannel_authentication;
use crate::branding::Branding;
use crate::client_registration::{DynamicRegistration, document};
use crate::client_secret::ClientSecrets;
use crate::error::{ErrorCode, OAuthError};
use crate::id::ClientId;
use crate::mutual_tls::CertificateSubject;
use crate::redirect_uri::RedirectUriForm;
use crate::refusal::{Details, Reason};
use crate::response_encryption::ResponseEncryption;
use crate::response_type::ResponseType;
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::security_profile::{self, SecurityProfile};
use crate::settings::ClientOverrides;
use crate::sign_in::acr::RequestedAcr;
use crate::time::Timestamp;
use crate::token::id_jag::IdJagAudience;
use crate::translation;
use crate::trusted_issuer::AssertionIssuer;

/// A way to get tokens (RFC 7591 2, `grant_types`).
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
    /// Tokens from the authorization endpoint (RFC 6749 4.2, OpenID Connect Core 3.2 and 3.3). The token endpoint does not
    /// know it.
    #[serde(rename = "implicit")]
    Implicit,
    /// RFC 8628.
    #[serde(rename = "urn:ietf:params:oauth:grant-type:device_code")]
    DeviceCode,
    /// CIBA Core 10.1.
    #[serde(rename = "urn:openid:params:grant-type:ciba")]
    Ciba,
    /// RFC 7523 2.1.
    #[serde(rename = "urn:ietf:params:oauth:grant-type:jwt-bearer")]
    JwtBearer,
}

impl GrantType {
    /// Every grant type, as discovery lists them.
    pub const ALL: [Self; 8] = [
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::ClientCredentials,
        Self::TokenExchange,
        Self::Implicit,
        Self::DeviceCode,
        Self::Ciba,
        Self::JwtBearer,
    ];

    /// The values of the parameter `grant_type` at the token endpoint.
    pub fn of_token_endpoint() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|grant| *grant != Self::Implicit).map(Self::as_str)
    }

    /// The value of `grant_type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
            Self::Implicit => "implicit",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
            Self::Ciba => "urn:openid:params:grant-type:ciba",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
        }
    }

    /// Reads a grant type.
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
    /// A TLS certificate of an authority (RFC 8705 2.1).
    TlsClientAuth,
    /// A TLS certificate whose key the client registered (RFC 8705 2.2).
    SelfSignedTlsClientAuth,
}

impl TokenEndpointAuthMethod {
    /// Every method, in the order in which discovery lists them.
    pub const ALL: [Self; 6] = [
        Self::ClientSecretBasic,
        Self::ClientSecretPost,
        Self::PrivateKeyJwt,
        Self::None,
        Self::TlsClientAuth,
        Self::SelfSignedTlsClientAuth,
    ];

    /// Whether the client authenticates by its TLS certificate (RFC 8705 2).
    pub const fn is_by_certificate(self) -> bool {
        matches!(self, Self::TlsClientAuth | Self::SelfSignedTlsClientAuth)
    }

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::None => "none",
            Self::TlsClientAuth => "tls_client_auth",
            Self::SelfSignedTlsClientAuth => "self_signed_tls_client_auth",
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
    /// Whether it may exchange ID tokens for access tokens. An ID token has no scope, so the result has what the client registered.
    #[serde(rename = "id_token_exchange_allowed", skip_serializing_if = "is_false")]
    pub id_tokens: bool,
    /// The trusted issuers whose JWTs about users it may exchange.
    #[serde(rename = "allowed_subject_token_issuers", skip_serializing_if = "Vec::is_empty")]
    pub subject_token_issuers: Vec<String>,
    /// The authorization servers of other domains for which it may get an ID-JAG.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub id_jag_audiences: Vec<IdJagAudience>,
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
    /// What its authorization requests may ask for; where it is empty, `code` if the client has that grant type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_types: Vec<ResponseType>,
    /// The scopes that it may be granted.
    #[serde(default)]
    pub scope: Scope,
    /// How it authenticates.
    #[serde(default)]
    pub token_endpoint_auth_method: TokenEndpointAuthMethod,
    /// What its TLS certificate must have, if it authenticates by `tls_client_auth` (RFC 8705 2.1.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_subject: Option<CertificateSubject>,
    /// Its public keys, by which its assertions and request objects are verified, and its self-signed certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<JwkSet>,
    /// Where it publishes these keys instead (RFC 7591 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The trusted issuers whose assertions authenticate it in place of its own, and what they must say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertion_issuers: Vec<AssertionIssuer>,
    /// The only algorithm that its assertions may use; if absent, any that fits its keys (OpenID Connect Registration
    /// 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg: Option<Algorithm>,
    /// The algorithm of its ID tokens; if absent, the issuer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_token_signed_response_alg: Option<Algorithm>,
    /// The only algorithm that its request objects may use; if absent, any that fits its keys (OpenID Connect Registration 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_object_signing_alg: Option<Algorithm>,
    /// Where it publishes request objects: the only addresses that its `request_uri` may name (OpenID Connect Registration 2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_uris: Vec<String>,
    /// Whether its authorization requests must be signed request objects (RFC 9101 10.5).
    #[serde(default, skip_serializing_if = "is_false")]
    pub require_signed_request_object: bool,
    /// The algorithm of the signed answers of the authorization endpoint (JARM 3); if absent, the issuer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_signed_response_alg: Option<Algorithm>,
    /// The algorithm of its UserInfo answers, which are JWTs then; if absent, they are plain JSON (OpenID Connect Registration
    /// 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userinfo_signed_response_alg: Option<Algorithm>,
    /// How its ID tokens are encrypted after they are signed; if absent, they are not (OpenID Connect Registration 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_token_encryption: Option<ResponseEncryption>,
    /// How its UserInfo answers are encrypted; if absent, they are not (OpenID Connect Registration 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userinfo_encryption: Option<ResponseEncryption>,
    /// The algorithm of introspection answers that it asks for as JWTs; if absent, the issuer's (RFC 9701 6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection_signed_response_alg: Option<Algorithm>,
    /// The algorithm of its access tokens; if absent, the issuer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_token_signed_response_alg: Option<Algorithm>,
    /// Whether it gets only tokens that are bound to a key (RFC 9449 5.2).
    #[serde(default, skip_serializing_if = "is_false")]
    pub dpop_bound_access_tokens: bool,
    /// Whether it gets only tokens that are bound to its TLS certificate (RFC 8705 3.4).
    #[serde(default, skip_serializing_if = "is_false")]
    pub tls_client_certificate_bound_access_tokens: bool,
    /// Whether it belongs to the provider or a partner: only information for administrators.
    #[serde(default)]
    pub is_trusted: bool,
    /// Whether users are never asked for consent.
    #[serde(default)]
    pub skip_consent: bool,
    /// Whether its authorization requests must be pushed (RFC 9126 6).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_pushed_authorization_requests: bool,
    /// The types of authorization details that it may ask for (RFC 9396 10); none by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types: Vec<String>,
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
    /// How it asks people for an authentication elsewhere; `None` without the grant type (CIBA Core 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backchannel: Option<Box<backchannel_authentication::Metadata>>,
    /// Its sector, where its subjects are pairwise; `None` where they are public (OpenID Connect Core 8.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector: Option<String>,
    /// Settings that differ from the issuer's.
    #[serde(default)]
    pub settings: ClientOverrides,
    /// How the pages of its requests present the provider, where that is not as the issuer says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branding: Option<Box<Branding>>,
    /// That it registered itself, and by what it manages its registration (RFC 7591, RFC 7592).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_registration: Option<Box<DynamicRegistration>>,
    /// That nobody registered it: its metadata were read at the URL that is its id. Such a client is never stored.
    #[serde(skip)]
    pub is_from_document: bool,
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

    /// Whether no administrator made it: it registered itself, or its metadata were read at the URL that is its id.
    pub const fn is_of_stranger(&self) -> bool {
        self.dynamic_registration.is_some() || self.is_from_document
    }

    /// The host by which people know it that claims a name: where its metadata were read.
    pub fn document_host(&self) -> Option<String> {
        self.is_from_document.then(|| document::host_of(&self.client_id))?
    }

    /// The keys that verify what it signed: those that were fetched from its `jwks_uri`, or else those that it registered.
    pub fn verifying_keys<'k>(&'k self, fetched: Option<&'k JwkSet>) -> &'k [Jwk] {
        fetched.or(self.jwks.as_ref()).map(|set| set.keys.as_slice()).unwrap_or_default()
    }

    /// Whether assertions of this issuer may authenticate it.
    pub fn takes_assertions_of(&self, iss: &str) -> bool {
        self.token_endpoint_auth_method == TokenEndpointAuthMethod::PrivateKeyJwt
            && self.assertion_issuers.iter().any(|own| own.issuer == iss)
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

    /// Whether its authorization requests must be signed request objects: by its own word (RFC 9101 10.5), or by its profile
    /// (FAPI 2.0 Message Signing 5.3.1, FAPI 1.0 Advanced 5.2.2-1).
    pub fn requires_signed_requests(&self) -> bool {
        self.require_signed_request_object
            || self.settings.profile.is_some_and(SecurityProfile::signs_requests)
    }

    /// Whether its backchannel authentication requests must be signed: by the algorithm that it registered (CIBA Core 4), as its
    /// other requests, or by its profile (FAPI-CIBA 5.2.2).
    pub fn requires_signed_backchannel_requests(&self) -> bool {
        self.backchannel.as_ref().is_some_and(|own| own.request_signing_alg.is_some())
            || self.requires_signed_requests()
            || self.settings.profile.is_some()
    }

    /// Whether its UserInfo answers are JWTs: signed, encrypted, or both (OpenID Connect Core 5.3.2).
    pub const fn gets_userinfo_as_jwt(&self) -> bool {
        self.userinfo_signed_response_alg.is_some() || self.userinfo_encryption.is_some()
    }

    /// Whether its token requests must have a DPoP proof: by its own word (RFC 9449 5.2), or by a profile of FAPI 2.0, unless its
    /// tokens are bound to its certificate (FAPI 2.0 Security Profile 5.3.2.1).
    pub const fn requires_proof(&self) -> bool {
        self.dpop_bound_access_tokens
            || (security_profile::is_fapi2(self.settings.profile)
                && !self.tls_client_certificate_bound_access_tokens)
    }

    /// Whether it gets only tokens that are bound, to a key or to its certificate.
    pub const fn requires_bound_tokens(&self) -> bool {
        self.requires_proof() || self.tls_client_certificate_bound_access_tokens
    }

    /// The algorithm that signs an answer for it: `own`, which it registered for this kind of answer, else the issuer's. Under
    /// a profile that of its ID tokens stands in for what is not registered, since the issuer's may not be allowed (FAPI 2.0
    /// Security Profile 5.4).
    pub fn signing_algorithm(&self, own: Option<Algorithm>, of_issuer: Algorithm) -> Algorithm {
        let of_profile = self.settings.profile.and(self.id_token_signed_response_alg);
        own.or(of_profile).unwrap_or(of_issuer)
    }

    /// What its authorization requests may ask for.
    pub fn response_types(&self) -> &[ResponseType] {
        match self.response_types.is_empty() && self.may_use(GrantType::AuthorizationCode) {
            true => &[ResponseType::Code],
            false => &self.response_types,
        }
    }

    /// `unauthorized_client` for a grant type that it has not registered (RFC 6749 5.2).
    pub fn refused_grant(&self, grant: GrantType, description: &'static str) -> OAuthError {
        let registered = self.grant_types.iter().map(|own| own.as_str());
        OAuthError::new(ErrorCode::UnauthorizedClient, Reason::GrantTypeNotRegistered, description).about(
            Details::of("grant_type").sent(grant.as_str()).registered(registered).client(&self.client_id),
        )
    }
}
