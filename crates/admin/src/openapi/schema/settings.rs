//! Settings of an issuer.

use serde_json::{Value, json};
use symbolon_protocol::branding::{IN_LANGUAGES, VariableKind, Variables};
use symbolon_protocol::client::GrantType;
use symbolon_protocol::settings::MOST_ACCOUNTS;
use symbolon_protocol::sign_in::puzzle;
use symbolon_protocol::sign_in::second_factor_roles::MOST_ROLES;
use symbolon_protocol::token::token_exchange::{ACCESS_TOKEN_TYPE, ID_TOKEN_TYPE, JWT_TYPE};
use symbolon_protocol::ui_locale::UiLocale;

use super::super::super::operation::reference;
use super::super::super::script_members::ID_JAG;
use super::clients::with_translations;
use super::{
    Schemas, algorithm, claims, dpop_nonce, flag, id_token_claims, list, number, object, optional, pkce,
    require_pkce, second_factor, seconds, text, texts, time, without_effect,
};

fn sign_in_methods() -> Value {
    json!({
        "type": ["array", "null"],
        "minItems": 1,
        "items": { "type": "string", "enum": ["password", "passkey", "email_code", "magic_link"] },
        "description": "`null`: password and passkey, and `email_code` where mail is configured.",
    })
}

fn second_factor_roles() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "maxItems": MOST_ROLES,
        "description": "Ids of roles, of the issuer or of a client, whose holders need a second factor.",
    })
}

fn registration() -> Value {
    json!({ "type": ["string", "null"], "enum": ["closed", "open", "invited", null] })
}

fn client_registration() -> Value {
    json!({
        "type": "string",
        "enum": ["off", "initial_access_token", "open"],
        "description": "Whether applications may register themselves as clients (RFC 7591).",
    })
}

fn document_hosts() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "maxItems": 256,
        "description": "The hosts at which applications may publish their metadata, so that their client_id is a URL: `app.example`, \
                        `app.example:8443`, `*.app.example` for the hosts below, `*` for every host. Empty: no application is \
                        known in this way.",
    })
}

fn resources() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string", "format": "uri", "maxLength": 2048 },
        "maxItems": 256,
        "description": "The resources that clients may name that registered themselves (RFC 8707).",
    })
}

fn grant_types() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "items": { "type": "string", "enum": GrantType::ALL.map(GrantType::as_str) },
    })
}

/// The variables of the pages' style sheet.
fn variables() -> Value {
    let colour = json!({ "type": ["string", "null"], "pattern": "^#[0-9A-Fa-f]{6}$" });
    let of = |kind| match kind {
        VariableKind::Colour => object(&[], &[("light", colour.clone()), ("dark", colour.clone())]),
        VariableKind::Length => json!({ "type": "string", "pattern": "^[0-9][0-9.]*(px|rem)$" }),
        VariableKind::Fonts => {
            json!({ "type": "array", "items": { "type": "string", "maxLength": 40 }, "minItems": 1, "maxItems": 8 })
        }
        VariableKind::Shadow => json!({ "type": "string", "enum": ["none", null] }),
    };
    let all: Vec<(&str, Value)> =
        Variables::kinds().map(|(name, kind)| (name, optional(&of(kind)))).collect();
    object(&[], &all)
}

pub(super) fn branding() -> Value {
    let colour = || json!({ "type": "string", "pattern": "^#[0-9A-Fa-f]{6}$" });
    let line = |most: u32| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let branding = object(
        &[],
        &[
            ("name", optional(&line(80))),
            ("accent", optional(&object(&["light", "dark"], &[("light", colour()), ("dark", colour())]))),
            ("variables", optional(&variables())),
            ("help_uri", optional(&text())),
            ("policy_uri", optional(&text())),
            ("tos_uri", optional(&text())),
            ("intro", optional(&line(500))),
            ("foot", optional(&line(500))),
        ],
    );
    with_translations(branding, &IN_LANGUAGES)
}

fn subject_token_types() -> Value {
    json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": [ACCESS_TOKEN_TYPE, JWT_TYPE, ID_TOKEN_TYPE] } })
}

pub(super) fn settings() -> Schemas {
    let lifetimes = [
        "code",
        "access_token",
        "id_token",
        "refresh_token_idle",
        "refresh_token_absolute",
        "session",
        "session_idle",
    ];
    let settings = object(
        &[],
        &[
            ("lifetimes", object(&[], &lifetimes.map(|name| (name, seconds())))),
            ("refresh_token_rotation", flag()),
            ("refresh_retry_window", seconds()),
            ("pkce", pkce()),
            ("require_pkce", require_pkce()),
            ("audience_is_issuer", flag()),
            ("dpop_nonce", dpop_nonce()),
            ("id_token_claims", id_token_claims()),
            ("second_factor", second_factor()),
            ("second_factor_roles", second_factor_roles()),
            ("sign_in_methods", sign_in_methods()),
            ("sign_in_page", json!({ "type": "string", "enum": ["all_at_once", "identifier_first"] })),
            ("offer_passkey", flag()),
            ("remember_device_days", number()),
            ("accounts_per_browser", json!({ "type": "integer", "minimum": 1, "maximum": MOST_ACCOUNTS })),
            ("consent_version", number()),
            ("consent_lifetime_seconds", optional(&seconds())),
            ("registration", registration()),
            ("registration_puzzle", json!({ "type": "integer", "minimum": 0, "maximum": puzzle::MOST_BITS })),
            ("client_registration", client_registration()),
            ("client_registration_scope", optional(&text())),
            ("client_registration_full_scope", flag()),
            ("client_registration_require_software_statement", flag()),
            ("client_registration_grant_types", optional(&grant_types())),
            ("client_registration_resources", resources()),
            ("client_registration_most_clients", json!({ "type": "integer", "minimum": 1 })),
            ("client_registration_unused_days", number()),
            ("client_registration_tokens_from", optional(&time())),
            ("client_id_metadata_documents", document_hosts()),
            ("branding", branding()),
            ("default_language", json!({ "type": "string", "enum": UiLocale::ALL.map(UiLocale::tag) })),
            ("claims", claims::definitions()),
            ("signing_algorithm", algorithm()),
            ("key_rotation_days", number()),
            ("token_exchange", flag()),
            ("token_exchange_subject_token_types", subject_token_types()),
            ("token_exchange_max_targets", number()),
            ("token_exchange_id_jag", flag()),
            ("introspection_strict", flag()),
            ("introspection_audience", optional(&text())),
            ("audit_days", number()),
            ("login_api_origins", json!({ "type": "array", "items": { "type": "string" }, "maxItems": 50 })),
            ("password_work_kib", optional(&number())),
            ("self_deletion", flag()),
            ("session_management", flag()),
            ("require_pushed_authorization_requests", flag()),
            ("attributes", list(reference("AttributeDefinition"))),
            ("trusted_issuers", list(trusted_issuer())),
            ("authorization_details_types", list(authorization_details_type())),
        ],
    );
    let introspection = [("strictValidation", flag()), ("expectedAudience", optional(&text()))];
    let exchange = [
        ("enabled", flag()),
        ("allowedSubjectTokenTypes", subject_token_types()),
        ("maxResourceParams", number()),
        ("maxAudienceParams", number()),
        ("idJag", id_jag()),
    ];
    vec![
        ("IssuerSettings", settings),
        (
            "IssuerSettingsInEffect",
            object(
                &["settings"],
                &[("settings", reference("IssuerSettings")), ("signs_from", optional(&time()))],
            ),
        ),
        ("IntrospectionValidation", object(&["strictValidation"], &introspection)),
        ("TokenExchangeSettings", object(&[], &exchange)),
    ]
}

/// A type of authorization details (RFC 9396).
fn authorization_details_type() -> Value {
    let member = object(
        &["name", "type"],
        &[
            ("name", text()),
            ("type", json!({ "type": "string", "enum": ["string", "number", "boolean", "strings"] })),
            ("required", flag()),
            ("values", texts()),
        ],
    );
    let members = [
        ("type", text()),
        ("text", text()),
        ("members", list(member)),
        ("locations", texts()),
        ("in_access_tokens", flag()),
        ("asks_always", flag()),
        ("for_self_registered", flag()),
    ];
    with_translations(object(&["type", "text"], &members), &["text"])
}

/// Another issuer whose assertions are believed.
fn trusted_issuer() -> Value {
    let uses = ["client_authentication", "jwt_bearer", "id_jag", "token_exchange", "software_statement"];
    let uses = json!({ "type": "string", "enum": uses });
    object(
        &["issuer", "for"],
        &[
            ("issuer", text()),
            ("jwks_uri", text()),
            ("audience", text()),
            ("for", json!({ "type": "array", "items": uses, "minItems": 1 })),
            ("subject", json!({ "type": "string", "enum": ["identity", "user_id"] })),
        ],
    )
}

/// Identity assertions for other domains. What other systems say of them beside that has no effect.
fn id_jag() -> Value {
    let mut members = vec![("enabled", flag())];
    members.extend(ID_JAG.map(|name| (name, without_effect())));
    object(&[], &members)
}
