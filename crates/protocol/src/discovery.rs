//! The metadata document (OpenID Connect Discovery 1.0 3, RFC 8414 2).

use serde::Serialize;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jwe::{ContentEncryption, KeyManagement};

use crate::attribute::{AttributeDefinition, AttributeType};
use crate::authorize::{Prompt, ResponseMode};
use crate::backchannel_authentication::DeliveryMode;
use crate::claim_definition::{Destination, Origin};
use crate::client::{GrantType, TokenEndpointAuthMethod};
use crate::response_type::ResponseType;
use crate::scope::{GROUPS, ROLES, Scope};
use crate::settings::IssuerSettings;
use crate::sign_in::acr::Acr;
use crate::token::id_jag;
use crate::trusted_issuer::TrustedUse;
use crate::ui_locale::UiLocale;
use crate::user_claims::PROFILE_CLAIMS;

/// Paths of the endpoints under an issuer's URL.
#[allow(missing_docs, reason = "each is the path of the endpoint of the same name")]
pub mod path {
    pub const AUTHORIZATION: &str = "/authorize";
    pub const TOKEN: &str = "/token";
    pub const USERINFO: &str = "/userinfo";
    pub const INTROSPECTION: &str = "/introspect";
    pub const REVOCATION: &str = "/revoke";
    pub const PUSHED_AUTHORIZATION_REQUEST: &str = "/par";
    pub const DEVICE_AUTHORIZATION: &str = "/device_authorization";
    pub const DEVICE: &str = "/device";
    pub const BACKCHANNEL_AUTHENTICATION: &str = "/bc-authorize";
    pub const END_SESSION: &str = "/logout";
    pub const CHECK_SESSION: &str = "/check-session";
    pub const REGISTRATION: &str = "/connect/register";
    pub const REGISTRATION_OF_CLIENT: &str = "/connect/register/{name}";
    pub const JWKS: &str = "/.well-known/jwks.json";
    pub const OPENID_CONFIGURATION: &str = "/.well-known/openid-configuration";
    pub const USERINFO_METADATA: &str = "/.well-known/oauth-protected-resource/userinfo";
    pub const OAUTH_AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
}

/// The scopes that have a predefined meaning (OpenID Connect Core 3.1.2.1, 5.4, 11); `groups` and `roles` are this
/// server's own.
pub const SCOPES: [&str; 8] =
    ["openid", "profile", "email", "address", "phone", GROUPS, ROLES, "offline_access"];

/// The standard claims that ID tokens and UserInfo may carry (OpenID Connect Core 2, 5.1).
fn standard_claims() -> Vec<&'static str> {
    const OF_TOKENS: [&str; 13] = [
        "iss",
        "sub",
        "aud",
        "exp",
        "iat",
        "auth_time",
        "nonce",
        "acr",
        "amr",
        "at_hash",
        "c_hash",
        "s_hash",
        "sid",
    ];
    const OTHERS: [&str; 8] = [
        "updated_at",
        "email",
        "email_verified",
        "phone_number",
        "phone_number_verified",
        "address",
        "groups",
        "roles",
    ];
    [&OF_TOKENS, PROFILE_CLAIMS, &OTHERS].concat()
}

/// All claims that ID tokens and UserInfo may carry: the standard ones, the attributes that a scope releases, and those that
/// the issuer defines, which take the place of others of their name. What a client defines for itself is no matter of
/// others.
fn claims(settings: &IssuerSettings) -> Vec<&str> {
    let is_claim = |definition: &&AttributeDefinition| {
        definition.scope.is_some() && definition.kind != AttributeType::Aggregated
    };
    let attributes = settings.attributes.definitions().iter().filter(is_claim);
    let mut all = standard_claims();
    all.extend(attributes.map(|definition| definition.name.as_str()));
    // Whether an address or number was verified is told of the user's own alone, and goes with it.
    let goes_with = |name| match name {
        "email_verified" => "email",
        "phone_number_verified" => "phone_number",
        name => name,
    };
    all.retain(|name| settings.claims.iter().all(|definition| definition.name != goes_with(name)));
    for definition in settings.claims.iter().filter(|definition| definition.origin != Origin::Off) {
        let is_shown = [Destination::IdToken, Destination::Userinfo]
            .into_iter()
            .any(|destination| definition.destinations.contain(destination));
        if is_shown {
            all.push(&definition.name);
        }
    }
    all
}

/// The types of claims that can be told (OpenID Connect Core 5.6).
fn claim_types(settings: &IssuerSettings) -> &'static [&'static str] {
    let passes_on = settings.attributes.aggregating().any(|definition| definition.scope.is_some());
    if passes_on { &["normal", "aggregated"] } else { &["normal"] }
}

/// The scopes with a predefined meaning, those that release attributes of users, and those that release claims which the
/// issuer defines.
pub(crate) fn scopes(settings: &IssuerSettings) -> Vec<&str> {
    let of_attributes = settings.attributes.definitions().iter();
    let of_attributes = of_attributes.filter_map(|definition| definition.scope.as_ref()).map(Scope::as_str);
    let of_claims = settings.claims.iter().filter_map(|definition| definition.scope.as_deref());
    let mut all = SCOPES.to_vec();
    for scope in of_attributes.chain(of_claims) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    all
}

/// What an issuer offers of mutual TLS (RFC 8705), where client certificates arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MutualTls {
    /// The URL to whose end the paths of endpoints are appended, where clients with a certificate call another host than others.
    pub base: Option<String>,
}

/// The endpoints that a client calls with its certificate (RFC 8705 5).
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "each is the endpoint of the same name")]
pub struct MtlsEndpointAliases {
    pub token_endpoint: String,
    pub userinfo_endpoint: String,
    pub introspection_endpoint: String,
    pub revocation_endpoint: String,
    pub pushed_authorization_request_endpoint: String,
    pub device_authorization_endpoint: String,
    pub backchannel_authentication_endpoint: String,
}

impl MtlsEndpointAliases {
    fn at(base: &str) -> Self {
        let url = |path| endpoint(base, path);
        Self {
            token_endpoint: url(path::TOKEN),
            userinfo_endpoint: url(path::USERINFO),
            introspection_endpoint: url(path::INTROSPECTION),
            revocation_endpoint: url(path::REVOCATION),
            pushed_authorization_request_endpoint: url(path::PUSHED_AUTHORIZATION_REQUEST),
            device_authorization_endpoint: url(path::DEVICE_AUTHORIZATION),
            backchannel_authentication_endpoint: url(path::BACKCHANNEL_AUTHENTICATION),
        }
    }
}

/// The document, for both well-known locations.
#[derive(Clone, Debug, Serialize)]
#[allow(
    missing_docs,
    reason = "each field is the metadata of the same name in Discovery 3, RFC 8414 2, RFC 8705 3.3 and 5, RFC 9126 5, RFC 9207 3, RFC 9396 10, RFC 9449 5.1, RFC 9701 7, JARM 4, CIBA Core 4, OAuth Client ID Metadata Document 6 or the logout specifications"
)]
pub struct ProviderMetadata<'a> {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub userinfo_endpoint: String,
    pub jwks_uri: String,
    pub introspection_endpoint: String,
    pub revocation_endpoint: String,
    pub pushed_authorization_request_endpoint: String,
    pub device_authorization_endpoint: String,
    pub backchannel_authentication_endpoint: String,
    pub end_session_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client_id_metadata_document_supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_session_iframe: Option<String>,
    pub scopes_supported: Vec<&'a str>,
    pub claims_supported: Vec<&'a str>,
    pub claim_types_supported: &'static [&'static str],
    pub subject_types_supported: &'static [&'static str],
    pub response_types_supported: Vec<&'static str>,
    pub response_modes_supported: Vec<&'static str>,
    pub grant_types_supported: Vec<&'static str>,
    pub ui_locales_supported: [&'static str; 6],
    pub prompt_values_supported: &'static [&'static str],
    pub acr_values_supported: Vec<&'static str>,
    pub code_challenge_methods_supported: &'static [&'static str],
    pub id_token_signing_alg_values_supported: Vec<&'static str>,
    pub authorization_signing_alg_values_supported: Vec<&'static str>,
    pub userinfo_signing_alg_values_supported: Vec<&'static str>,
    /// How ID tokens can be encrypted for a client: the algorithms for the key, and for the content.
    pub id_token_encryption_alg_values_supported: [&'static str; KeyManagement::ALL.len()],
    /// See above.
    pub id_token_encryption_enc_values_supported: [&'static str; ContentEncryption::ALL.len()],
    /// How UserInfo answers can be.
    pub userinfo_encryption_alg_values_supported: [&'static str; KeyManagement::ALL.len()],
    /// See above.
    pub userinfo_encryption_enc_values_supported: [&'static str; ContentEncryption::ALL.len()],
    pub introspection_signing_alg_values_supported: Vec<&'static str>,
    pub token_endpoint_auth_methods_supported: Vec<&'static str>,
    pub token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    pub introspection_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    pub revocation_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub dpop_signing_alg_values_supported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types_supported: Vec<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tls_client_certificate_bound_access_tokens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtls_endpoint_aliases: Option<MtlsEndpointAliases>,
    pub authorization_response_iss_parameter_supported: bool,
    pub backchannel_token_delivery_modes_supported: [&'static str; DeliveryMode::ALL.len()],
    pub backchannel_authentication_request_signing_alg_values_supported: Vec<&'static str>,
    pub backchannel_user_code_parameter_supported: bool,
    pub backchannel_logout_supported: bool,
    pub backchannel_logout_session_supported: bool,
    pub frontchannel_logout_supported: bool,
    pub frontchannel_logout_session_supported: bool,
    pub claims_parameter_supported: bool,
    pub request_parameter_supported: bool,
    pub request_object_signing_alg_values_supported: Vec<&'static str>,
    pub request_uri_parameter_supported: bool,
    pub require_request_uri_registration: bool,
    pub require_pushed_authorization_requests: bool,
    /// draft-ietf-oauth-identity-chaining: what a token exchange issues for other domains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identity_chaining_requested_token_types_supported: Vec<&'static str>,
    /// draft-ietf-oauth-identity-assertion-authz-grant 7: whose assertions of other domains the JWT bearer grant takes, by their kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_grant_profiles_supported: Vec<&'static str>,
}

/// An issuer's URL as the paths of its endpoints are appended to it: a terminating slash is removed before (OpenID
/// Connect Discovery 4.1, RFC 8414 3.1).
pub fn base(issuer_url: &str) -> &str {
    issuer_url.strip_suffix('/').unwrap_or(issuer_url)
}

/// The URL of an endpoint of an issuer.
pub fn endpoint(issuer_url: &str, path: &str) -> String {
    format!("{}{path}", base(issuer_url))
}

/// The metadata of an issuer. `mutual_tls` is `None` where no client certificates arrive.
pub fn provider_metadata<'a>(
    issuer_url: &str,
    settings: &'a IssuerSettings,
    mutual_tls: Option<&MutualTls>,
) -> ProviderMetadata<'a> {
    let url = |path| endpoint(issuer_url, path);
    let algorithms = || Algorithm::ALL.map(Algorithm::as_str).to_vec();
    // RFC 9864 2.2: newer clients call EdDSA with Ed25519 `Ed25519`; both names are accepted.
    let accepted =
        || Algorithm::ALL.map(Algorithm::as_str).into_iter().chain(["Ed25519"]).collect::<Vec<_>>();
    let takes_certificates = mutual_tls.is_some();
    let offered = move || {
        let all = TokenEndpointAuthMethod::ALL.into_iter();
        all.filter(move |method| takes_certificates || !method.is_by_certificate())
    };
    let methods = || offered().map(TokenEndpointAuthMethod::as_str).collect::<Vec<_>>();
    let grants = GrantType::ALL.into_iter();
    let is_trusted_for = |purpose| settings.trusted_issuers.iter().any(|own| own.is_for(purpose));
    let makes_id_jags = settings.token_exchange && settings.token_exchange_id_jag;
    ProviderMetadata {
        issuer: issuer_url.to_owned(),
        authorization_endpoint: url(path::AUTHORIZATION),
        token_endpoint: url(path::TOKEN),
        userinfo_endpoint: url(path::USERINFO),
        jwks_uri: url(path::JWKS),
        introspection_endpoint: url(path::INTROSPECTION),
        revocation_endpoint: url(path::REVOCATION),
        pushed_authorization_request_endpoint: url(path::PUSHED_AUTHORIZATION_REQUEST),
        device_authorization_endpoint: url(path::DEVICE_AUTHORIZATION),
        backchannel_authentication_endpoint: url(path::BACKCHANNEL_AUTHENTICATION),
        end_session_endpoint: url(path::END_SESSION),
        registration_endpoint: (!settings.client_registration.is_off()).then(|| url(path::REGISTRATION)),
        client_id_metadata_document_supported: !settings.client_id_metadata_documents.is_empty(),
        check_session_iframe: settings.session_management.then(|| url(path::CHECK_SESSION)),
        scopes_supported: scopes(settings),
        claims_supported: claims(settings),
        claim_types_supported: claim_types(settings),
        subject_types_supported: &["public", "pairwise"],
        response_types_supported: ResponseType::ALL.map(ResponseType::as_str).to_vec(),
        response_modes_supported: ResponseMode::VALUES.to_vec(),
        grant_types_supported: grants
            .filter(|grant| match grant {
                GrantType::TokenExchange => settings.token_exchange,
                GrantType::JwtBearer => {
                    is_trusted_for(TrustedUse::JwtBearer) || is_trusted_for(TrustedUse::IdJag)
                }
                _ => true,
            })
            .map(GrantType::as_str)
            .collect(),
        ui_locales_supported: UiLocale::ALL.map(UiLocale::tag),
        prompt_values_supported: &Prompt::VALUES,
        acr_values_supported: Acr::ALL.map(Acr::as_str).to_vec(),
        code_challenge_methods_supported: &["S256"],
        id_token_signing_alg_values_supported: algorithms(),
        authorization_signing_alg_values_supported: algorithms(),
        userinfo_signing_alg_values_supported: algorithms(),
        id_token_encryption_alg_values_supported: KeyManagement::ALL.map(KeyManagement::as_str),
        id_token_encryption_enc_values_supported: ContentEncryption::ALL.map(ContentEncryption::as_str),
        userinfo_encryption_alg_values_supported: KeyManagement::ALL.map(KeyManagement::as_str),
        userinfo_encryption_enc_values_supported: ContentEncryption::ALL.map(ContentEncryption::as_str),
        introspection_signing_alg_values_supported: algorithms(),
        token_endpoint_auth_methods_supported: methods(),
        token_endpoint_auth_signing_alg_values_supported: accepted(),
        // RFC 7662 2.1: introspection requires an authenticated caller, so `none` is not listed.
        introspection_endpoint_auth_methods_supported: offered()
            .filter(|method| *method != TokenEndpointAuthMethod::None)
            .map(TokenEndpointAuthMethod::as_str)
            .collect(),
        introspection_endpoint_auth_signing_alg_values_supported: accepted(),
        revocation_endpoint_auth_methods_supported: methods(),
        revocation_endpoint_auth_signing_alg_values_supported: accepted(),
        dpop_signing_alg_values_supported: accepted(),
        authorization_details_types_supported: settings
            .authorization_details_types
            .iter()
            .map(|own| own.name.as_str())
            .collect(),
        tls_client_certificate_bound_access_tokens: takes_certificates,
        mtls_endpoint_aliases: mutual_tls.and_then(|own| own.base.as_deref()).map(MtlsEndpointAliases::at),
        authorization_response_iss_parameter_supported: true,
        backchannel_token_delivery_modes_supported: DeliveryMode::ALL.map(DeliveryMode::as_str),
        backchannel_authentication_request_signing_alg_values_supported: accepted(),
        backchannel_user_code_parameter_supported: false,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        frontchannel_logout_supported: true,
        frontchannel_logout_session_supported: true,
        claims_parameter_supported: true,
        request_parameter_supported: true,
        request_object_signing_alg_values_supported: accepted(),
        // Discovery 3: its default is true, so false must be stated.
        request_uri_parameter_supported: true,
        // OpenID Connect Core 6.2, RFC 9101 10.4.1: no address is asked that its client has not registered.
        require_request_uri_registration: true,
        require_pushed_authorization_requests: settings.require_pushed_authorization_requests,
        identity_chaining_requested_token_types_supported: makes_id_jags
            .then_some(id_jag::TOKEN_TYPE)
            .into_iter()
            .collect(),
        // Draft 8.4: it says that the profile is known, and not whose.
        authorization_grant_profiles_supported: is_trusted_for(TrustedUse::IdJag)
            .then_some(id_jag::PROFILE)
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client_registration::ClientRegistration;

    fn document(issuer: &str, settings: &IssuerSettings) -> Value {
        serde_json::to_value(provider_metadata(issuer, settings, None)).unwrap()
    }

    #[test]
    fn the_frame_of_session_management_is_told_where_it_is_on() {
        let on = IssuerSettings { session_management: true, ..IssuerSettings::default() };
        let told = document("https://op.example", &on);
        assert_eq!(told["check_session_iframe"], json!("https://op.example/check-session"));
        assert!(document("https://op.example", &IssuerSettings::default())["check_session_iframe"].is_null());
    }

    #[test]
    fn the_registration_endpoint_is_told_where_applications_may_register() {
        for mode in [ClientRegistration::InitialAccessToken, ClientRegistration::Open] {
            let on = IssuerSettings { client_registration: mode, ..IssuerSettings::default() };
            let told = document("https://op.example/acme", &on);
            assert_eq!(told["registration_endpoint"], "https://op.example/acme/connect/register");
        }
        assert!(
            document("https://op.example", &IssuerSettings::default())["registration_endpoint"].is_null()
        );
    }

    #[test]
    fn mutual_tls_is_told_where_certificates_arrive() {
        let settings = IssuerSettings::default();
        let without = document("https://op.example", &settings);
        assert!(without["tls_client_certificate_bound_access_tokens"].is_null());
        let told = |base: Option<&str>| {
            let own = MutualTls { base: base.map(str::to_owned) };
            serde_json::to_value(provider_metadata("https://op.example/acme", &settings, Some(&own))).unwrap()
        };
        let plain = told(None);
        assert_eq!(plain["tls_client_certificate_bound_access_tokens"], json!(true));
        assert!(plain["mtls_endpoint_aliases"].is_null());
        let methods = plain["token_endpoint_auth_methods_supported"].as_array().unwrap();
        for method in ["tls_client_auth", "self_signed_tls_client_auth"] {
            assert!(methods.contains(&json!(method)), "{method}");
        }
        let elsewhere = told(Some("https://mtls.op.example/acme"));
        assert_eq!(elsewhere["token_endpoint"], "https://op.example/acme/token");
        let aliases = &elsewhere["mtls_endpoint_aliases"];
        assert_eq!(aliases["token_endpoint"], "https://mtls.op.example/acme/token");
        assert_eq!(aliases["userinfo_endpoint"], "https://mtls.op.example/acme/userinfo");
    }

    #[test]
    fn the_document_is_whole_and_true() {
        let document = document("https://op.example/acme", &IssuerSettings::default());
        let expected = [
            ("issuer", json!("https://op.example/acme")),
            ("authorization_endpoint", json!("https://op.example/acme/authorize")),
            ("token_endpoint", json!("https://op.example/acme/token")),
            ("userinfo_endpoint", json!("https://op.example/acme/userinfo")),
            ("jwks_uri", json!("https://op.example/acme/.well-known/jwks.json")),
            ("introspection_endpoint", json!("https://op.example/acme/introspect")),
            ("revocation_endpoint", json!("https://op.example/acme/revoke")),
            ("end_session_endpoint", json!("https://op.example/acme/logout")),
            ("device_authorization_endpoint", json!("https://op.example/acme/device_authorization")),
            ("backchannel_authentication_endpoint", json!("https://op.example/acme/bc-authorize")),
            ("backchannel_token_delivery_modes_supported", json!(["poll", "ping"])),
            (
                "backchannel_authentication_request_signing_alg_values_supported",
                json!(["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]),
            ),
            ("backchannel_user_code_parameter_supported", json!(false)),
            ("pushed_authorization_request_endpoint", json!("https://op.example/acme/par")),
            ("require_pushed_authorization_requests", json!(false)),
            ("backchannel_logout_supported", json!(true)),
            ("backchannel_logout_session_supported", json!(true)),
            ("frontchannel_logout_supported", json!(true)),
            ("frontchannel_logout_session_supported", json!(true)),
            (
                "response_types_supported",
                json!([
                    "code",
                    "id_token",
                    "id_token token",
                    "code id_token",
                    "code token",
                    "code id_token token"
                ]),
            ),
            ("response_modes_supported", json!(ResponseMode::VALUES)),
            ("subject_types_supported", json!(["public", "pairwise"])),
            ("ui_locales_supported", json!(["en", "de", "es", "fr", "ja", "ar"])),
            ("code_challenge_methods_supported", json!(["S256"])),
            ("id_token_signing_alg_values_supported", json!(["RS256", "PS256", "ES256", "EdDSA"])),
            ("id_token_encryption_alg_values_supported", json!(["RSA-OAEP-256", "ECDH-ES"])),
            ("userinfo_encryption_enc_values_supported", json!(["A128CBC-HS256", "A128GCM", "A256GCM"])),
            ("userinfo_signing_alg_values_supported", json!(["RS256", "PS256", "ES256", "EdDSA"])),
            ("introspection_signing_alg_values_supported", json!(["RS256", "PS256", "ES256", "EdDSA"])),
            (
                "token_endpoint_auth_methods_supported",
                json!(["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]),
            ),
            (
                "introspection_endpoint_auth_methods_supported",
                json!(["client_secret_basic", "client_secret_post", "private_key_jwt"]),
            ),
            ("dpop_signing_alg_values_supported", json!(["RS256", "PS256", "ES256", "EdDSA", "Ed25519"])),
            ("authorization_response_iss_parameter_supported", json!(true)),
            ("request_parameter_supported", json!(true)),
            ("request_uri_parameter_supported", json!(true)),
            ("claims_parameter_supported", json!(true)),
        ];
        for (name, value) in expected {
            assert_eq!(document[name], value, "{name}");
        }
        assert_eq!(document["grant_types_supported"].as_array().map(Vec::len), Some(7));
    }

    /// Discovery 4.2 and RFC 8414 3.2: what has no element is left out. Discovery 3 and RFC 8414 2: `none` is no algorithm of client
    /// authentication, and every endpoint is one of the issuer.
    #[test]
    fn nothing_is_listed_that_is_empty_and_nothing_is_signed_by_none() {
        let document = document("https://op.example", &IssuerSettings::default());
        for (name, value) in document.as_object().unwrap() {
            assert!(!value.is_null() && *value != json!([]) && *value != json!(""), "{name}");
            if name.ends_with("_alg_values_supported") {
                let algorithms = value.as_array().unwrap();
                assert!(!algorithms.contains(&json!("none")), "{name}");
            }
            if name.ends_with("_endpoint") || name.ends_with("_uri") {
                assert!(value.as_str().unwrap().starts_with("https://op.example/"), "{name}");
            }
        }
        let with_rs256 =
            ["id_token_signing_alg_values_supported", "token_endpoint_auth_signing_alg_values_supported"];
        for name in with_rs256 {
            assert!(document[name].as_array().unwrap().contains(&json!("RS256")), "{name}");
        }
    }

    #[test]
    fn groups_and_roles_are_listed_as_scopes_and_as_claims() {
        let document = document("https://op.example", &IssuerSettings::default());
        for list in ["scopes_supported", "claims_supported"] {
            let names = document[list].as_array().unwrap();
            assert!(names.contains(&json!("groups")) && names.contains(&json!("roles")), "{list}");
        }
    }

    #[test]
    fn attributes_that_a_scope_releases_are_listed_with_it() {
        let attributes = serde_json::from_value(json!([
            { "name": "team", "type": "string", "scope": "work" },
            { "name": "level", "type": "number", "scope": "work" },
            { "name": "nick", "type": "string", "scope": "profile" },
            { "name": "note", "type": "string" },
        ]));
        let settings = IssuerSettings { attributes: attributes.unwrap(), ..IssuerSettings::default() };
        let count = |names: &Value, name: &str| {
            names.as_array().unwrap().iter().filter(|listed| *listed == name).count()
        };
        let listed = |settings: &IssuerSettings| {
            let document = document("https://op.example", settings);
            let (scopes, claims) = (&document["scopes_supported"], &document["claims_supported"]);
            (
                ["openid", "work", "profile"].map(|name| count(scopes, name)),
                ["team", "level", "nick", "note"].map(|name| count(claims, name)),
            )
        };
        assert_eq!(listed(&settings), ([1, 1, 1], [1, 1, 1, 0]));
        // A definition takes the place of the attribute of its name.
        let definitions = json!([
            { "name": "team", "source": "attribute:team", "form": "list", "scope": "work" },
            { "name": "nick", "enabled": false },
        ]);
        let settings = IssuerSettings { claims: serde_json::from_value(definitions).unwrap(), ..settings };
        assert_eq!(listed(&settings), ([1, 1, 1], [1, 1, 0, 0]));
    }

    #[test]
    fn definitions_add_their_claims_and_scopes() {
        let definitions = json!([
            { "name": "policy", "source": "roles", "form": "comma_separated", "scope": "minio" },
            { "name": "groups", "source": "groups", "form": "paths", "scope": "groups" },
            { "name": "roles", "enabled": false },
            { "name": "tenant", "value": "acme", "destinations": ["access_token"] },
        ]);
        let claims = serde_json::from_value(definitions).unwrap();
        let settings = IssuerSettings { claims, ..IssuerSettings::default() };
        let document = document("https://op.example", &settings);
        let has = |list: &str, name: &str| {
            document[list].as_array().unwrap().iter().filter(|own| **own == json!(name)).count()
        };
        assert_eq!((has("claims_supported", "policy"), has("claims_supported", "groups")), (1, 1));
        assert_eq!((has("claims_supported", "roles"), has("claims_supported", "tenant")), (0, 0));
        assert_eq!((has("scopes_supported", "minio"), has("scopes_supported", "groups")), (1, 1));
    }

    /// What the JWT of another provider has is not known here.
    #[test]
    fn claims_of_other_providers_are_a_type_and_no_names() {
        let types = |attributes: Value| {
            let attributes = serde_json::from_value(attributes).unwrap();
            let told =
                document("https://op.example", &IssuerSettings { attributes, ..IssuerSettings::default() });
            assert!(!told["claims_supported"].as_array().unwrap().contains(&json!("bank")));
            told["claim_types_supported"].clone()
        };
        assert_eq!(types(json!([{ "name": "bank", "type": "aggregated" }])), json!(["normal"]));
        let released = json!([{ "name": "bank", "type": "aggregated", "scope": "credit" }]);
        assert_eq!(types(released), json!(["normal", "aggregated"]));
    }

    #[test]
    fn what_is_off_is_not_listed() {
        let settings = IssuerSettings { token_exchange: false, ..IssuerSettings::default() };
        let grants = &document("https://op.example", &settings)["grant_types_supported"];
        let device = "urn:ietf:params:oauth:grant-type:device_code";
        let ciba = "urn:openid:params:grant-type:ciba";
        assert_eq!(
            *grants,
            json!(["authorization_code", "refresh_token", "client_credentials", "implicit", device, ciba])
        );
    }

    #[test]
    fn assertions_for_other_domains_are_told_where_they_are_made_and_where_they_are_taken() {
        let (types, profiles) =
            ("identity_chaining_requested_token_types_supported", "authorization_grant_profiles_supported");
        let plain = document("https://op.example", &IssuerSettings::default());
        assert!(plain[types].is_null() && plain[profiles].is_null());
        let trusted = json!([{ "issuer": "https://idp.example", "for": ["id_jag"] }]);
        let taking = IssuerSettings {
            trusted_issuers: serde_json::from_value(trusted).unwrap(),
            ..IssuerSettings::default()
        };
        let told = document("https://op.example", &taking);
        assert_eq!((&told[types], &told[profiles]), (&Value::Null, &json!([id_jag::PROFILE])));
        let grants = told["grant_types_supported"].as_array().unwrap();
        assert!(grants.contains(&json!(GrantType::JwtBearer)), "draft 7: MUST also be there");
        let making = IssuerSettings { token_exchange_id_jag: true, ..IssuerSettings::default() };
        let told = document("https://op.example", &making);
        assert_eq!((&told[types], &told[profiles]), (&json!([id_jag::TOKEN_TYPE]), &Value::Null));
        let off = IssuerSettings { token_exchange: false, ..making };
        assert!(document("https://op.example", &off)[types].is_null());
    }

    #[test]
    fn a_trailing_slash_is_not_doubled() {
        assert_eq!(endpoint("https://op.example/", path::TOKEN), "https://op.example/token");
        for issuer in ["https://op.example/", "https://op.example/acme/"] {
            let document = document(issuer, &IssuerSettings::default());
            assert_eq!(document["issuer"], issuer, "as it is");
            for (name, value) in document.as_object().unwrap() {
                let Some((_, rest)) = value.as_str().and_then(|url| url.split_once("://")) else { continue };
                assert!(!rest.contains("//"), "{name}: {value}");
            }
        }
    }
}
