//! The metadata document (OpenID Connect Discovery 1.0 3, RFC 8414 2).

use serde::Serialize;
use symbolon_crypto::algorithm::Algorithm;

use crate::authorize::{Prompt, ResponseMode};
use crate::claim_definition::{Destination, Origin};
use crate::client::{GrantType, TokenEndpointAuthMethod};
use crate::scope::{GROUPS, ROLES, Scope};
use crate::settings::IssuerSettings;
use crate::sign_in::acr::Acr;
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
    pub const END_SESSION: &str = "/logout";
    pub const CHECK_SESSION: &str = "/check-session";
    pub const JWKS: &str = "/.well-known/jwks.json";
    pub const OPENID_CONFIGURATION: &str = "/.well-known/openid-configuration";
    pub const OAUTH_AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
}

/// The scopes that have a predefined meaning (OpenID Connect Core 3.1.2.1, 5.4, 11); `groups` and `roles` are this
/// server's own.
pub const SCOPES: [&str; 8] =
    ["openid", "profile", "email", "address", "phone", GROUPS, ROLES, "offline_access"];

/// The standard claims that ID tokens and UserInfo may carry (OpenID Connect Core 2, 5.1).
fn standard_claims() -> Vec<&'static str> {
    const OF_TOKENS: [&str; 11] =
        ["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "at_hash", "sid"];
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
    let attributes = settings.attributes.definitions().iter().filter(|definition| definition.scope.is_some());
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

/// The scopes with a predefined meaning, those that release attributes of users, and those that release claims which the
/// issuer defines.
fn scopes(settings: &IssuerSettings) -> Vec<&str> {
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

/// The document, for both well-known locations.
#[derive(Clone, Debug, Serialize)]
#[allow(
    missing_docs,
    reason = "each field is the metadata of the same name in Discovery 3, RFC 8414 2, RFC 9207 3 or the logout specifications"
)]
pub struct ProviderMetadata<'a> {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub userinfo_endpoint: String,
    pub jwks_uri: String,
    pub introspection_endpoint: String,
    pub revocation_endpoint: String,
    pub end_session_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_session_iframe: Option<String>,
    pub scopes_supported: Vec<&'a str>,
    pub claims_supported: Vec<&'a str>,
    pub claim_types_supported: &'static [&'static str],
    pub subject_types_supported: &'static [&'static str],
    pub response_types_supported: &'static [&'static str],
    pub response_modes_supported: Vec<&'static str>,
    pub grant_types_supported: Vec<&'static str>,
    pub ui_locales_supported: [&'static str; 6],
    pub prompt_values_supported: &'static [&'static str],
    pub acr_values_supported: Vec<&'static str>,
    pub code_challenge_methods_supported: &'static [&'static str],
    pub id_token_signing_alg_values_supported: Vec<&'static str>,
    pub token_endpoint_auth_methods_supported: Vec<&'static str>,
    pub token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    pub introspection_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    pub revocation_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    pub authorization_response_iss_parameter_supported: bool,
    pub backchannel_logout_supported: bool,
    pub backchannel_logout_session_supported: bool,
    pub frontchannel_logout_supported: bool,
    pub frontchannel_logout_session_supported: bool,
    pub claims_parameter_supported: bool,
    pub request_parameter_supported: bool,
    pub request_uri_parameter_supported: bool,
    pub require_request_uri_registration: bool,
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

/// The metadata of an issuer.
pub fn provider_metadata<'a>(issuer_url: &str, settings: &'a IssuerSettings) -> ProviderMetadata<'a> {
    let url = |path| endpoint(issuer_url, path);
    let algorithms = || Algorithm::ALL.map(Algorithm::as_str).to_vec();
    // RFC 9864 2.2: newer clients call EdDSA with Ed25519 `Ed25519`; both names are accepted.
    let accepted =
        || Algorithm::ALL.map(Algorithm::as_str).into_iter().chain(["Ed25519"]).collect::<Vec<_>>();
    let methods = || TokenEndpointAuthMethod::ALL.map(TokenEndpointAuthMethod::as_str).to_vec();
    let grants = GrantType::ALL.into_iter();
    ProviderMetadata {
        issuer: issuer_url.to_owned(),
        authorization_endpoint: url(path::AUTHORIZATION),
        token_endpoint: url(path::TOKEN),
        userinfo_endpoint: url(path::USERINFO),
        jwks_uri: url(path::JWKS),
        introspection_endpoint: url(path::INTROSPECTION),
        revocation_endpoint: url(path::REVOCATION),
        end_session_endpoint: url(path::END_SESSION),
        check_session_iframe: settings.session_management.then(|| url(path::CHECK_SESSION)),
        scopes_supported: scopes(settings),
        claims_supported: claims(settings),
        claim_types_supported: &["normal"],
        subject_types_supported: &["public"],
        response_types_supported: &["code"],
        response_modes_supported: ResponseMode::ALL.map(ResponseMode::as_str).to_vec(),
        grant_types_supported: grants
            .filter(|grant| settings.token_exchange || *grant != GrantType::TokenExchange)
            .map(GrantType::as_str)
            .collect(),
        ui_locales_supported: UiLocale::ALL.map(UiLocale::tag),
        prompt_values_supported: &Prompt::VALUES,
        acr_values_supported: Acr::ALL.map(Acr::as_str).to_vec(),
        code_challenge_methods_supported: &["S256"],
        id_token_signing_alg_values_supported: algorithms(),
        token_endpoint_auth_methods_supported: methods(),
        token_endpoint_auth_signing_alg_values_supported: accepted(),
        // RFC 7662 2.1: introspection requires an authenticated caller, so `none` is not listed.
        introspection_endpoint_auth_methods_supported: TokenEndpointAuthMethod::ALL
            .into_iter()
            .filter(|method| *method != TokenEndpointAuthMethod::None)
            .map(TokenEndpointAuthMethod::as_str)
            .collect(),
        introspection_endpoint_auth_signing_alg_values_supported: accepted(),
        revocation_endpoint_auth_methods_supported: methods(),
        revocation_endpoint_auth_signing_alg_values_supported: accepted(),
        authorization_response_iss_parameter_supported: true,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        frontchannel_logout_supported: true,
        frontchannel_logout_session_supported: true,
        claims_parameter_supported: false,
        request_parameter_supported: false,
        // Discovery 3: its default is true, so false must be stated.
        request_uri_parameter_supported: false,
        require_request_uri_registration: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document(issuer: &str, settings: &IssuerSettings) -> Value {
        serde_json::to_value(provider_metadata(issuer, settings)).unwrap()
    }

    #[test]
    fn the_frame_of_session_management_is_told_where_it_is_on() {
        let on = IssuerSettings { session_management: true, ..IssuerSettings::default() };
        let told = document("https://op.example", &on);
        assert_eq!(told["check_session_iframe"], json!("https://op.example/check-session"));
        assert!(document("https://op.example", &IssuerSettings::default())["check_session_iframe"].is_null());
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
            ("backchannel_logout_supported", json!(true)),
            ("backchannel_logout_session_supported", json!(true)),
            ("frontchannel_logout_supported", json!(true)),
            ("frontchannel_logout_session_supported", json!(true)),
            ("response_types_supported", json!(["code"])),
            ("response_modes_supported", json!(["query", "fragment", "form_post"])),
            ("subject_types_supported", json!(["public"])),
            ("ui_locales_supported", json!(["en", "de", "es", "fr", "ja", "ar"])),
            ("code_challenge_methods_supported", json!(["S256"])),
            ("id_token_signing_alg_values_supported", json!(["RS256", "PS256", "ES256", "EdDSA"])),
            (
                "token_endpoint_auth_methods_supported",
                json!(["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]),
            ),
            (
                "introspection_endpoint_auth_methods_supported",
                json!(["client_secret_basic", "client_secret_post", "private_key_jwt"]),
            ),
            ("authorization_response_iss_parameter_supported", json!(true)),
            ("request_parameter_supported", json!(false)),
            ("request_uri_parameter_supported", json!(false)),
            ("claims_parameter_supported", json!(false)),
        ];
        for (name, value) in expected {
            assert_eq!(document[name], value, "{name}");
        }
        assert_eq!(document["grant_types_supported"].as_array().map(Vec::len), Some(4));
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

    #[test]
    fn what_is_off_is_not_listed() {
        let settings = IssuerSettings { token_exchange: false, ..IssuerSettings::default() };
        let grants = &document("https://op.example", &settings)["grant_types_supported"];
        assert_eq!(*grants, json!(["authorization_code", "refresh_token", "client_credentials"]));
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
