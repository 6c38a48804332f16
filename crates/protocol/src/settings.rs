//! Settings of an issuer, and the overrides of a client. They can be changed at runtime.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use symbolon_crypto::algorithm::Algorithm;

use crate::attribute::AttributeSchema;
use crate::authorization_details::AuthorizationDetailsType;
use crate::branding::Branding;
use crate::claim_definition::ClaimDefinition;
use crate::client::GrantType;
use crate::client_registration::ClientRegistration;
use crate::dpop::DpopNonce;
use crate::identity_provider::IdentityProvider;
use crate::pkce::PkcePolicy;
use crate::scope::Scope;
use crate::security_profile::{LONGEST_CODE_LIFE, SecurityProfile, is_fapi2};
use crate::sign_in::acr::RequestedAcr;
use crate::sign_in::method::{SignInMethods, SignInPage};
use crate::sign_in::origin::AllowedOrigin;
use crate::sign_in::registration::Registration;
use crate::sign_in::second_factor_roles::SecondFactorRoles;
use crate::time::Timestamp;
use crate::token::access_token::AccessTokenTyp;
use crate::token::token_exchange::{ACCESS_TOKEN_TYPE, ID_TOKEN_TYPE, JWT_TYPE};
use crate::trusted_issuer::TrustedIssuer;
use crate::ui_locale::UiLocale;

/// The longest lifetime of a session or refresh-token family that anybody may set: stores keep generations of shards
/// for that long.
pub const LONGEST_LIFE: Duration = Duration::from_secs(10 * 366 * 86_400);

/// Lifetimes. In JSON: whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lifetimes {
    /// Authorization code (RFC 6749 4.1.2 recommends at most 10 minutes).
    #[serde(with = "seconds")]
    pub code: Duration,
    /// Access token.
    #[serde(with = "seconds")]
    pub access_token: Duration,
    /// ID token.
    #[serde(with = "seconds")]
    pub id_token: Duration,
    /// Refresh-token family that is not used.
    #[serde(with = "seconds")]
    pub refresh_token_idle: Duration,
    /// Refresh-token family in any case.
    #[serde(with = "seconds")]
    pub refresh_token_absolute: Duration,
    /// Session in any case.
    #[serde(with = "seconds")]
    pub session: Duration,
    /// Session that is not used; zero: for as long as it lives. Not written while it is zero, so that nodes of earlier versions
    /// read the settings.
    #[serde(with = "seconds", skip_serializing_if = "Duration::is_zero")]
    pub session_idle: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        const HOUR: Duration = Duration::from_secs(3_600);
        Self {
            code: Duration::from_secs(60),
            access_token: HOUR,
            id_token: HOUR,
            refresh_token_idle: 30 * DAY,
            refresh_token_absolute: 30 * DAY,
            session: DAY,
            session_idle: Duration::ZERO,
        }
    }
}

/// Settings of an issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IssuerSettings {
    /// Lifetimes.
    pub lifetimes: Lifetimes,
    /// Whether refresh tokens rotate; those of public clients always do.
    pub refresh_token_rotation: bool,
    /// How long a refresh can be repeated because its answer was lost. In JSON: seconds.
    #[serde(with = "seconds")]
    pub refresh_retry_window: Duration,
    /// Whether confidential clients must use PKCE; public clients always must. Records of earlier versions have
    /// `require_pkce`.
    #[serde(alias = "require_pkce")]
    pub pkce: PkcePolicy,
    /// Whether the `aud` of a client assertion must be the issuer; otherwise the token endpoint is accepted too.
    pub audience_is_issuer: bool,
    /// Whether DPoP proofs must carry a nonce of the server (RFC 9449 8). Not written while it is off, so that nodes of
    /// earlier versions read the settings.
    #[serde(skip_serializing_if = "DpopNonce::is_off")]
    pub dpop_nonce: DpopNonce,
    /// Which claims about the user ID tokens carry.
    pub id_token_claims: IdTokenClaims,
    /// The claims that it defines, besides or instead of the standard ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimDefinition>,
    /// Whether a client may have definitions of its own. Set by the server before it saves the first: until then a request
    /// that has no other need of the client's record does not read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub clients_define_claims: bool,
    /// Whether a client may get signed UserInfo answers. Set by the server before it saves the first, for the same reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub clients_sign_userinfo: bool,
    /// Algorithm of tokens for clients that name none.
    pub signing_algorithm: Algorithm,
    /// The algorithm that is used until relying parties know a key of `signing_algorithm`. Set by the server when
    /// that setting changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_algorithm_before: Option<Algorithm>,
    /// Days after which an active signing key is replaced; 0 disables rotation by age.
    pub key_rotation_days: u32,
    /// Whether token exchange is enabled (RFC 8693).
    pub token_exchange: bool,
    /// The token types as which a subject token may be presented for an access token.
    pub token_exchange_subject_token_types: SubjectTokenTypes,
    /// Whether clients may get an ID-JAG for the audiences in their metadata (draft-ietf-oauth-identity-assertion-authz-grant). Not
    /// written while it is off, so that nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub token_exchange_id_jag: bool,
    /// The most `audience` parameters, and the most `resource` parameters, of a token exchange.
    pub token_exchange_max_targets: u16,
    /// Strict introspection: a token is active only if its `aud` contains the issuer (or `introspection_audience`)
    /// and its client exists.
    pub introspection_strict: bool,
    /// The audience that strict introspection requires instead of the issuer.
    pub introspection_audience: Option<String>,
    /// Days for which audit records are kept.
    pub audit_days: u32,
    /// The work of the costliest password hash that was imported, in KiB of Argon2's memory times its passes. Every
    /// attempt at a password is answered as late as if it had met that hash. Raised by the server before it saves a
    /// costlier one; whoever knows that none is left may lower it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_work_kib: Option<u64>,
    /// Whether people may delete their accounts themselves, on the account pages. Not written while it is off, so that
    /// nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub self_deletion: bool,
    /// Whether applications may watch the browser's state in a frame (OpenID Connect Session Management 1.0). Off at first:
    /// browsers keep cookies of other sites from frames, so that few applications can use it, and every authorization
    /// response costs more. Not written while it is off, so that nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session_management: bool,
    /// Whether every authorization request must be pushed (RFC 9126 5). Not written while it is off, so that nodes of earlier
    /// versions read the settings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_pushed_authorization_requests: bool,
    /// The attributes that users may have besides the standard claims. Not written while there are none, so that nodes of
    /// earlier versions read the settings.
    #[serde(skip_serializing_if = "AttributeSchema::is_empty")]
    pub attributes: AttributeSchema,
    /// The origins whose pages may call the login API besides the issuer's own. Not written while there are none, so that
    /// nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub login_api_origins: Vec<AllowedOrigin>,
    /// Whether everybody needs a second factor to sign in. Not written while it is optional, so that nodes of earlier
    /// versions read the settings.
    #[serde(skip_serializing_if = "SecondFactor::is_optional")]
    pub second_factor: SecondFactor,
    /// The roles whose holders need one, whatever the line above says. Not written while there are none, so that nodes of earlier
    /// versions read the settings.
    #[serde(skip_serializing_if = "SecondFactorRoles::is_empty")]
    pub second_factor_roles: SecondFactorRoles,
    /// The methods by which people sign in; if absent, password and passkey, and a code by e-mail where mail can arrive. Not
    /// written while it is absent, like the three that follow: nodes of earlier versions refuse what they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in_methods: Option<SignInMethods>,
    /// How the sign-in page asks for them.
    #[serde(skip_serializing_if = "SignInPage::is_default")]
    pub sign_in_page: SignInPage,
    /// Whether somebody who signed in by password is asked, once in a while, to create a passkey.
    #[serde(skip_serializing_if = "is_true")]
    pub offer_passkey: bool,
    /// For how many days a browser in which a second factor was proven may stand in for it; 0: for none.
    #[serde(skip_serializing_if = "is_never")]
    pub remember_device_days: u32,
    /// How many accounts may be signed in in one browser at once. With 1, whoever signs in as somebody else ends the session
    /// before. Not written while it is the default, so that nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "is_usual_accounts")]
    pub accounts_per_browser: u8,
    /// The version of what people consent to: whenever it is changed, all are asked again. Not written while it is 0, so that
    /// nodes of earlier versions read the settings, like the one that follows.
    #[serde(skip_serializing_if = "is_never")]
    pub consent_version: u32,
    /// Seconds after which a consent is asked for again; without it never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent_lifetime_seconds: Option<u64>,
    /// Who may open an account; without it nobody, and in development mode everybody. Not written while it is unset, so that
    /// nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    /// How many bits of a puzzle a browser solves before a registration is taken; 0 asks for none. Not written while it is
    /// 0, so that nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "is_zero")]
    pub registration_puzzle: u8,
    /// Who may register clients without an administrator. Not written while nobody may, so that nodes of earlier versions
    /// read the settings, like the eight that follow.
    #[serde(skip_serializing_if = "ClientRegistration::is_off")]
    pub client_registration: ClientRegistration,
    /// The scopes that such a client may have; without it [`DEFAULT_SCOPE`](crate::client_registration::DEFAULT_SCOPE).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_registration_scope: Option<Scope>,
    /// Whether such a client gets all of these scopes, and not only those that it names. Clients name what they need at first, and
    /// could not ask for more later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client_registration_full_scope: bool,
    /// The grant types that such a client may have; without it
    /// [`DEFAULT_GRANT_TYPES`](crate::client_registration::DEFAULT_GRANT_TYPES).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_registration_grant_types: Option<Vec<GrantType>>,
    /// Whether such a client needs a software statement of a trusted issuer (RFC 7591 2.3) to register.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client_registration_require_software_statement: bool,
    /// The resources that such a client may name besides the issuer (RFC 8707 2). Asked at every request, so that what is taken
    /// away here ends for clients that are there too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_registration_resources: Vec<String>,
    /// With how many clients of the issuer, whoever made them, no more register themselves.
    #[serde(skip_serializing_if = "is_usual_most_clients")]
    pub client_registration_most_clients: u32,
    /// Days after which a client is deleted that registered itself and never got a token; 0: never.
    #[serde(skip_serializing_if = "is_usual_unused_days")]
    pub client_registration_unused_days: u32,
    /// Initial access tokens that were made before are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_registration_tokens_from: Option<Timestamp>,
    /// The hosts at which clients may publish what they are, so that their `client_id` is a URL
    /// ([`document`](crate::client_registration::document)); none by default. Not written while there are none, so that nodes of earlier
    /// versions read the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_id_metadata_documents: Vec<String>,
    /// The language of pages for those who ask for none of which there are pages. Not written while it is English, so that
    /// nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "UiLocale::is_english")]
    pub default_language: UiLocale,
    /// How pages present the issuer. Not written while it is empty, so that nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "Branding::is_empty")]
    pub branding: Branding,
    /// The other providers by which people sign in. They have endpoints of their own. Not written while there are none, so
    /// that nodes of earlier versions read the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identity_providers: Vec<IdentityProvider>,
    /// The other issuers whose assertions are believed. Not written while there are none, so that nodes of earlier versions
    /// read the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_issuers: Vec<TrustedIssuer>,
    /// The types of authorization details that clients may ask for (RFC 9396 2.1). Not written while there are none, so that nodes of
    /// earlier versions read the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types: Vec<AuthorizationDetailsType>,
    /// The longer lifetime of tokens that were issued under earlier settings. Set by the server when lifetimes
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlived: Option<EarlierLifetime>,
}

/// How many accounts may be signed in in one browser, where the issuer says nothing else.
const USUAL_ACCOUNTS: u8 = 5;
/// The most accounts of one browser that an issuer may allow: their sessions' ids are in one cookie.
pub const MOST_ACCOUNTS: u8 = 10;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_usual_accounts(number: &u8) -> bool {
    *number == USUAL_ACCOUNTS
}

/// With how many clients no more register themselves, where the issuer says nothing else.
const USUAL_MOST_CLIENTS: u32 = 10_000;
/// Days after which an unused registration is deleted, where the issuer says nothing else.
const USUAL_UNUSED_DAYS: u32 = 30;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_usual_most_clients(number: &u32) -> bool {
    *number == USUAL_MOST_CLIENTS
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_usual_unused_days(number: &u32) -> bool {
    *number == USUAL_UNUSED_DAYS
}

const fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// Which claims about the user ID tokens carry besides those about the sign-in (OpenID Connect Core 2, 5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdTokenClaims {
    /// Those that the granted scopes request, as UserInfo returns them.
    #[default]
    Scopes,
    /// None: the client asks UserInfo.
    Minimal,
}

/// Whether a sign-in needs a second factor of somebody who has none. Whoever has one is always asked for it. The stricter one is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondFactor {
    /// It does not.
    #[default]
    Optional,
    /// It does if the request asks for it: by `acr_values`, or its client by `default_acr_values`.
    Requested,
    /// It does: who has none sets one up.
    Required,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(flag: &bool) -> bool {
    *flag
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_never(number: &u32) -> bool {
    *number == 0
}

impl SecondFactor {
    fn is_optional(&self) -> bool {
        *self == Self::Optional
    }

    /// Whether a sign-in needs one for a request that asks for these classes.
    pub fn is_needed(self, asked: RequestedAcr) -> bool {
        match self {
            Self::Optional => false,
            Self::Requested => asked.needs_second_factor(),
            Self::Required => true,
        }
    }
}

/// The token types as which a subject token may be presented (RFC 8693 3): at least one. In JSON: a list of URNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<SubjectTokenType>", into = "Vec<SubjectTokenType>")]
pub struct SubjectTokenTypes {
    access_token: bool,
    jwt: bool,
    id_token: bool,
}

/// One of these types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SubjectTokenType {
    #[serde(rename = "urn:ietf:params:oauth:token-type:access_token")]
    AccessToken,
    #[serde(rename = "urn:ietf:params:oauth:token-type:jwt")]
    Jwt,
    #[serde(rename = "urn:ietf:params:oauth:token-type:id_token")]
    IdToken,
}

impl SubjectTokenTypes {
    /// Whether a token may be presented as this type.
    pub fn include(&self, name: &str) -> bool {
        (self.access_token && name == ACCESS_TOKEN_TYPE)
            || (self.jwt && name == JWT_TYPE)
            || (self.id_token && name == ID_TOKEN_TYPE)
    }
}

impl Default for SubjectTokenTypes {
    fn default() -> Self {
        Self { access_token: true, jwt: true, id_token: false }
    }
}

impl TryFrom<Vec<SubjectTokenType>> for SubjectTokenTypes {
    type Error = &'static str;

    fn try_from(types: Vec<SubjectTokenType>) -> Result<Self, Self::Error> {
        if types.is_empty() {
            return Err("name one at least, or turn token exchange off");
        }
        let named = |kind| types.contains(&kind);
        Ok(Self {
            access_token: named(SubjectTokenType::AccessToken),
            jwt: named(SubjectTokenType::Jwt),
            id_token: named(SubjectTokenType::IdToken),
        })
    }
}

impl From<SubjectTokenTypes> for Vec<SubjectTokenType> {
    fn from(types: SubjectTokenTypes) -> Self {
        let all = [
            (types.access_token, SubjectTokenType::AccessToken),
            (types.jwt, SubjectTokenType::Jwt),
            (types.id_token, SubjectTokenType::IdToken),
        ];
        all.into_iter().filter(|(named, _)| *named).map(|(_, kind)| kind).collect()
    }
}

/// Earlier settings under which tokens were issued that may still be alive. Tombstones and retired keys are kept for
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierLifetime {
    /// The longest lifetime that they allowed.
    #[serde(with = "seconds")]
    pub life: Duration,
    /// When everything issued under them has expired.
    pub until: Timestamp,
}

impl Default for IssuerSettings {
    fn default() -> Self {
        Self {
            lifetimes: Lifetimes::default(),
            refresh_token_rotation: true,
            refresh_retry_window: Duration::from_secs(10),
            pkce: PkcePolicy::default(),
            audience_is_issuer: false,
            dpop_nonce: DpopNonce::default(),
            id_token_claims: IdTokenClaims::default(),
            claims: Vec::new(),
            clients_define_claims: false,
            clients_sign_userinfo: false,
            signing_algorithm: Algorithm::Rs256,
            signing_algorithm_before: None,
            key_rotation_days: 90,
            token_exchange: true,
            token_exchange_subject_token_types: SubjectTokenTypes::default(),
            token_exchange_id_jag: false,
            token_exchange_max_targets: 10,
            introspection_strict: false,
            introspection_audience: None,
            audit_days: 90,
            password_work_kib: None,
            self_deletion: false,
            session_management: false,
            require_pushed_authorization_requests: false,
            attributes: AttributeSchema::default(),
            login_api_origins: Vec::new(),
            second_factor: SecondFactor::default(),
            second_factor_roles: SecondFactorRoles::default(),
            sign_in_methods: None,
            sign_in_page: SignInPage::default(),
            offer_passkey: true,
            remember_device_days: 0,
            accounts_per_browser: USUAL_ACCOUNTS,
            consent_version: 0,
            consent_lifetime_seconds: None,
            registration: None,
            registration_puzzle: 0,
            client_registration: ClientRegistration::Off,
            client_registration_scope: None,
            client_registration_full_scope: false,
            client_registration_grant_types: None,
            client_registration_require_software_statement: false,
            client_registration_resources: Vec::new(),
            client_registration_most_clients: USUAL_MOST_CLIENTS,
            client_registration_unused_days: USUAL_UNUSED_DAYS,
            client_registration_tokens_from: None,
            client_id_metadata_documents: Vec::new(),
            default_language: UiLocale::default(),
            branding: Branding::default(),
            identity_providers: Vec::new(),
            trusted_issuers: Vec::new(),
            authorization_details_types: Vec::new(),
            outlived: None,
        }
    }
}

/// The settings of a client that differ from its issuer's; absent members are the issuer's. In JSON: whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientOverrides {
    /// The security profile that the client keeps to. It decides some of the settings below, and some of its metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<SecurityProfile>,
    /// Lifetime of a code, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_lifetime: Option<u64>,
    /// Seconds that an access token lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_lifetime: Option<u64>,
    /// Seconds that an ID token lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token_lifetime: Option<u64>,
    /// Seconds that an unused refresh-token family lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token_idle_lifetime: Option<u64>,
    /// Seconds that a refresh-token family lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token_absolute_lifetime: Option<u64>,
    /// Whether its refresh tokens rotate; ignored for public clients, whose tokens always do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token_rotation: Option<bool>,
    /// How long, in seconds, a refresh can be repeated because its answer was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_retry_window: Option<u64>,
    /// Whether it must use PKCE; ignored for public clients, which always must (RFC 9700 2.1.1). Records of earlier
    /// versions have `require_pkce`.
    #[serde(alias = "require_pkce", skip_serializing_if = "Option::is_none")]
    pub pkce: Option<PkcePolicy>,
    /// `typ` of its access tokens; `at+jwt` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_typ: Option<AccessTokenTyp>,
    /// Whether the `aud` of its assertions must be the issuer; otherwise the token endpoint is accepted too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience_is_issuer: Option<bool>,
    /// Whether its DPoP proofs must carry a nonce of the server (RFC 9449 8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpop_nonce: Option<DpopNonce>,
    /// Which claims about the user its ID tokens carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token_claims: Option<IdTokenClaims>,
    /// Whether a sign-in for it needs a second factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_factor: Option<SecondFactor>,
    /// The version of what people consent to at this client: whenever it is changed, they are asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent_version: Option<u32>,
    /// Seconds after which a consent to this client is asked for again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent_lifetime_seconds: Option<u64>,
    /// The claims that it defines. One that the issuer defines too is replaced for this client, or switched off.
    #[serde(deserialize_with = "list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimDefinition>,
}

impl IssuerSettings {
    /// Records that tokens with lifetime `life` may have been issued until `now`. Forgets an earlier record that has
    /// expired.
    pub fn outlive(&mut self, life: Duration, now: Timestamp) {
        let before = self.outlived.filter(|before| before.until > now);
        let (known, until) = before.map_or((Duration::ZERO, now), |before| (before.life, before.until));
        self.outlived = Some(EarlierLifetime { life: life.max(known), until: until.max(now + life) });
    }

    /// The longest lifetime of tokens that were issued under earlier settings and may still be alive.
    pub fn outlived_life(&self) -> Duration {
        self.outlived.map_or(Duration::ZERO, |outlived| outlived.life)
    }

    /// What a client must send against injected codes, if it is confidential.
    pub fn pkce_for(&self, client: &ClientOverrides) -> PkcePolicy {
        match client.profile {
            // FAPI 2.0 Security Profile 5.3.2.2: PKCE is required of every client.
            Some(profile) if profile.is_fapi2() => PkcePolicy::Required,
            _ => client.pkce.unwrap_or(self.pkce),
        }
    }

    /// Whether the refresh tokens of a confidential client rotate. FAPI 2.0 Security Profile 5.3.2.1: they do not, because
    /// they are bound to the client already, and a client that loses the answer of a rotation loses the grant.
    pub fn rotates_for(&self, client: &ClientOverrides) -> bool {
        !is_fapi2(client.profile) && client.refresh_token_rotation.unwrap_or(self.refresh_token_rotation)
    }

    /// Whether a client's DPoP proofs must carry a nonce of the server.
    pub fn dpop_nonce_for(&self, client: &ClientOverrides) -> DpopNonce {
        client.dpop_nonce.unwrap_or(self.dpop_nonce)
    }

    /// Which claims about the user a client's ID tokens carry.
    pub fn id_token_claims_for(&self, client: &ClientOverrides) -> IdTokenClaims {
        client.id_token_claims.unwrap_or(self.id_token_claims)
    }

    /// Whether a sign-in for a client needs a second factor. What the issuer requires, no client waives.
    pub fn second_factor_for(&self, client: &ClientOverrides) -> SecondFactor {
        self.second_factor.max(client.second_factor.unwrap_or_default())
    }

    /// The lifetimes for a client.
    pub fn lifetimes_for(&self, client: &ClientOverrides) -> Lifetimes {
        let pick = |own: Option<u64>, issuer: Duration| own.map_or(issuer, Duration::from_secs);
        let code = pick(client.code_lifetime, self.lifetimes.code);
        Lifetimes {
            // FAPI 2.0 Security Profile 5.3.2.1: 60 seconds at most, also where the issuer says more.
            code: if is_fapi2(client.profile) { code.min(LONGEST_CODE_LIFE) } else { code },
            access_token: pick(client.access_token_lifetime, self.lifetimes.access_token),
            id_token: pick(client.id_token_lifetime, self.lifetimes.id_token),
            refresh_token_idle: pick(client.refresh_token_idle_lifetime, self.lifetimes.refresh_token_idle),
            refresh_token_absolute: pick(
                client.refresh_token_absolute_lifetime,
                self.lifetimes.refresh_token_absolute,
            ),
            session: self.lifetimes.session,
            session_idle: self.lifetimes.session_idle,
        }
    }
}

impl ClientOverrides {
    /// Whether the audience of the client's assertions must be the issuer; `of_issuer` is the issuer's setting. FAPI 2.0
    /// Security Profile 5.3.2.1 demands it.
    pub fn requires_issuer_audience(&self, of_issuer: bool) -> bool {
        is_fapi2(self.profile) || self.audience_is_issuer.unwrap_or(of_issuer)
    }
}

/// A list, for which `null` may stand if it is empty: a merge patch removes it so.
fn list_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ClaimDefinition>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(span.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Records of earlier versions keep their meaning; where nothing was stored, the default is today's.
    #[test]
    fn stored_settings_of_earlier_versions_are_read() {
        for (stored, issuer, client) in [
            (json!({}), PkcePolicy::OrNonce, None),
            (json!({ "require_pkce": true }), PkcePolicy::Required, Some(PkcePolicy::Required)),
            (json!({ "require_pkce": false }), PkcePolicy::Optional, Some(PkcePolicy::Optional)),
            (json!({ "pkce": "or_nonce" }), PkcePolicy::OrNonce, Some(PkcePolicy::OrNonce)),
        ] {
            let read: IssuerSettings = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(read, IssuerSettings { pkce: issuer, ..IssuerSettings::default() }, "{stored}");
            let own: ClientOverrides = serde_json::from_value(stored.clone()).unwrap();
            assert_eq!(own, ClientOverrides { pkce: client, ..ClientOverrides::default() }, "{stored}");
            for written in [json!(read), json!(own)] {
                assert_eq!(written.get("require_pkce"), None, "{stored}");
            }
            assert_eq!(json!(own).get("pkce").cloned(), client.map(|policy| Value::from(policy.as_str())));
        }
    }

    /// Nodes of earlier versions, which refuse members that they do not know, read settings without a schema.
    #[test]
    fn a_schema_of_attributes_is_written_only_if_it_defines_one() {
        assert_eq!(json!(IssuerSettings::default()).get("attributes"), None);
        let stored = json!({ "attributes": [{ "name": "team", "type": "string" }] });
        let read: IssuerSettings = serde_json::from_value(stored).unwrap();
        assert_eq!(read.attributes.definitions().len(), 1);
        assert_eq!(serde_json::from_value::<IssuerSettings>(json!(read)).unwrap(), read);
    }

    /// An earlier release refuses a member that it does not know, so what is not used is not stored.
    #[test]
    fn settings_without_claim_definitions_are_stored_as_before() {
        for stored in [json!(IssuerSettings::default()), json!(ClientOverrides::default())] {
            assert!(
                stored.get("claims").is_none() && stored.get("clients_define_claims").is_none(),
                "{stored}"
            );
            assert!(stored.get("clients_sign_userinfo").is_none(), "{stored}");
        }
        let claims = json!([{ "name": "a", "source": "groups", "destinations": ["id_token"] }]);
        let read: IssuerSettings = serde_json::from_value(json!({ "claims": claims })).unwrap();
        assert_eq!((read.claims.len(), &json!(read)["claims"]), (1, &claims));
    }

    #[test]
    fn a_client_overrides_the_policy_of_its_issuer() {
        let issuer = IssuerSettings { pkce: PkcePolicy::Required, ..IssuerSettings::default() };
        assert_eq!(issuer.pkce_for(&ClientOverrides::default()), PkcePolicy::Required);
        for policy in PkcePolicy::ALL {
            let client = ClientOverrides { pkce: Some(policy), ..ClientOverrides::default() };
            assert_eq!(issuer.pkce_for(&client), policy);
        }
    }
}
