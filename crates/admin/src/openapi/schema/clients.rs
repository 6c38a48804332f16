//! Clients and their settings.

use serde_json::{Value, json};
use symbolon_protocol::client_metadata::IN_LANGUAGES;
use symbolon_protocol::client_registration::{LONGEST_LIFE, MOST_USES};
use symbolon_protocol::client_secret::LONGEST_KEPT;
use symbolon_protocol::logo;
use symbolon_protocol::redirect_uri::RedirectUriForm;
use symbolon_protocol::security_profile::SecurityProfile;
use symbolon_protocol::sign_in::acr::Acr;
use symbolon_protocol::token::access_token::AccessTokenTyp;
use symbolon_protocol::translation::MOST_TRANSLATIONS;

use super::super::super::operation::reference;
use super::{
    Schemas, algorithm, bulk_of, claims, described, dpop_nonce, encryption_alg, encryption_enc, extended,
    flag, id_token_claims, list, number, object, optional, pkce, require_pkce, second_factor, seconds,
    secret, shown_only, text, texts, time,
};

fn access_token_typ() -> Value {
    json!({ "type": "string", "enum": [AccessTokenTyp::AtJwt, AccessTokenTyp::Jwt] })
}

fn acr_values() -> Value {
    json!({ "type": "array", "items": { "type": "string", "enum": Acr::ALL.map(Acr::as_str) } })
}

/// The logos of clients and of issuers.
pub(super) fn logos() -> Schemas {
    let about = format!("A PNG, JPEG, WebP or SVG of {} KiB at most.", logo::LARGEST / 1024);
    let image =
        json!({ "type": "string", "format": "binary", "maxLength": logo::LARGEST, "description": about });
    let path = json!({ "type": "string", "description": "Where pages load it, on the issuer's origin." });
    let shown = [("media_type", text()), ("bytes", number()), ("digest", text()), ("path", path)];
    let names = shown.each_ref().map(|(name, _)| *name);
    let owner = json!({ "type": "string", "description": "The client; none where it is the issuer's own." });
    let content = json!({ "type": "string", "description": "The image in base64url without padding." });
    let exported = [("client_id", owner), ("media_type", text()), ("content", content)];
    vec![
        ("Image", image),
        ("Logo", object(&names, &shown)),
        ("ExportedLogo", object(&["media_type", "content"], &exported)),
    ]
}

pub(super) fn clients() -> Schemas {
    let settings = [
        ("profile", json!({ "type": "string", "enum": SecurityProfile::NAMES })),
        ("code_lifetime", seconds()),
        ("access_token_lifetime", seconds()),
        ("id_token_lifetime", seconds()),
        ("refresh_token_idle_lifetime", seconds()),
        ("refresh_token_absolute_lifetime", seconds()),
        ("refresh_token_rotation", flag()),
        ("refresh_retry_window", seconds()),
        ("pkce", pkce()),
        ("require_pkce", require_pkce()),
        ("access_token_typ", access_token_typ()),
        ("audience_is_issuer", flag()),
        ("dpop_nonce", dpop_nonce()),
        ("id_token_claims", id_token_claims()),
        ("second_factor", second_factor()),
        ("consent_version", number()),
        ("consent_lifetime_seconds", seconds()),
        ("claims", claims::definitions()),
    ];
    let overrides = object(&[], &settings);
    let method = json!({
        "type": "string",
        "enum": [
            "client_secret_basic", "client_secret_post", "private_key_jwt", "none", "tls_client_auth",
            "self_signed_tls_client_auth",
        ],
    });
    let shared = object(
        &["client_name"],
        &[
            ("client_id", text()),
            ("client_name", text()),
            ("redirect_uris", texts()),
            ("redirect_uri_forms", forms()),
            ("post_logout_redirect_uris", texts()),
            ("backchannel_logout_uri", text()),
            ("backchannel_logout_session_required", flag()),
            ("frontchannel_logout_uri", text()),
            ("frontchannel_logout_session_required", flag()),
            ("grant_types", texts()),
            ("response_types", texts()),
            ("scope", text()),
            ("token_endpoint_auth_method", method),
            ("jwks", json!({ "type": "object" })),
            ("jwks_uri", text()),
            ("assertion_issuers", list(assertion_issuer())),
            ("subject_type", json!({ "type": "string", "enum": ["public", "pairwise"] })),
            ("token_endpoint_auth_signing_alg", algorithm()),
            ("id_token_signed_response_alg", algorithm()),
            ("authorization_signed_response_alg", algorithm()),
            ("id_token_encrypted_response_alg", encryption_alg()),
            ("id_token_encrypted_response_enc", encryption_enc()),
            ("userinfo_signed_response_alg", algorithm()),
            ("userinfo_encrypted_response_alg", encryption_alg()),
            ("userinfo_encrypted_response_enc", encryption_enc()),
            ("introspection_signed_response_alg", algorithm()),
            ("request_object_signing_alg", algorithm()),
            ("request_uris", texts()),
            ("backchannel_token_delivery_mode", json!({ "type": "string", "enum": ["poll", "ping"] })),
            ("backchannel_client_notification_endpoint", text()),
            ("backchannel_authentication_request_signing_alg", algorithm()),
            ("require_signed_request_object", flag()),
            ("access_token_signed_response_alg", algorithm()),
            ("dpop_bound_access_tokens", flag()),
            ("tls_client_certificate_bound_access_tokens", flag()),
            ("tls_client_auth_subject_dn", text()),
            ("tls_client_auth_san_dns", text()),
            ("tls_client_auth_san_uri", text()),
            ("tls_client_auth_san_ip", text()),
            ("tls_client_auth_san_email", text()),
            ("is_trusted", flag()),
            ("skip_consent", flag()),
            ("require_pushed_authorization_requests", flag()),
            ("authorization_details_types", texts()),
            ("token_exchange_allowed", flag()),
            ("allowed_token_exchange_resources", texts()),
            ("allowed_subject_token_clients", texts()),
            ("id_token_exchange_allowed", flag()),
            ("allowed_subject_token_issuers", texts()),
            ("id_jag_audiences", list(id_jag_audience())),
            ("delegation_mode", json!({ "type": "string", "enum": ["delegation", "impersonation", "none"] })),
            ("audiences", texts()),
            ("access_token_audiences", texts()),
            ("allowed_redirect_origins", texts()),
            ("default_max_age", seconds()),
            ("default_acr_values", acr_values()),
            ("initiate_login_uri", text()),
            ("settings", overrides),
            ("branding", optional(&super::settings::branding())),
            ("logo_uri", text()),
            ("client_uri", text()),
            ("policy_uri", text()),
            ("tos_uri", text()),
            ("contacts", texts()),
            ("application_type", text()),
            ("software_id", text()),
            ("software_version", text()),
            ("sector_identifier_uri", text()),
            ("allow_claims_without_scope", flag()),
        ],
    );
    let shared = with_translations(shared, &IN_LANGUAGES);
    let kept_secret = [
        ("id", text()),
        ("created_at", optional(&time())),
        ("expires_at", optional(&time())),
        ("last_used_at", optional(&time())),
    ];
    let kept_secrets = list(object(&kept_secret.each_ref().map(|(name, _)| *name), &kept_secret));
    let shown = extended(
        &shared,
        &["client_id"],
        &[("client_secrets", kept_secrets.clone()), ("created_at", time()), ("updated_at", time())],
    );
    let secrets = [("client_secret", secret()), ("client_secret_expires_at", number())];
    let with_secret = extended(&shown, &[], &secrets);
    let registration =
        object(&["client"], &[("client", reference("ClientWithSecret")), ("warnings", texts())]);
    let digest = [("sha256", text()), ("expires_at", time())];
    let digests = list(object(&["sha256"], &digest));
    let exported = extended(&shown, &[], &[("client_secret_digests", digests.clone())]);
    let accepted = [
        ("client_secret", secret()),
        ("client_secret_digests", digests),
        ("client_secrets", shown_only(kept_secrets)),
        ("client_secret_expires_at", shown_only(number())),
        ("client_id_issued_at", shown_only(number())),
        ("created_at", shown_only(time())),
        ("updated_at", shown_only(time())),
    ];
    // A setting may also stand beside `settings`; it is shown in `settings` alone.
    let metadata = extended(&extended(&shared, &[], &accepted), &[], &settings);
    let claims = json!({ "type": "object" });
    let is_cut = json!({
        "type": "boolean",
        "description": "Whether the user has more groups or roles than tokens carry, so that some are left out.",
    });
    let failure = object(&["name", "why"], &[("name", text()), ("destination", text()), ("why", text())]);
    let preview = object(
        &["scope", "id_token", "access_token", "userinfo", "introspection", "is_cut", "failures"],
        &[
            ("scope", text()),
            ("id_token", optional(&claims)),
            ("access_token", claims.clone()),
            ("userinfo", optional(&claims)),
            ("introspection", claims),
            ("is_cut", is_cut),
            ("failures", list(failure)),
        ],
    );
    vec![
        ("BulkClient", bulk_of(&registration)),
        ("Registration", registration),
        ("ClientMetadata", metadata),
        ("NewInitialAccessToken", new_initial_access_token()),
        ("InitialAccessToken", initial_access_token()),
        ("RegenerateSecret", object(&[], &[("keep_old_seconds", kept_for())])),
        ("ClientWithSecret", with_secret),
        ("TokenPreview", preview),
        ("ExportedClient", exported),
        ("Client", shown),
    ]
}

fn new_initial_access_token() -> Value {
    let life = json!({
        "type": "integer",
        "minimum": 60,
        "maximum": LONGEST_LIFE.as_secs(),
        "description": "Seconds; a day without.",
    });
    let uses = json!({
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_USES,
        "description": "How many clients may register with it; without it any number, until it expires.",
    });
    object(&[], &[("expires_in", optional(&life)), ("uses", optional(&uses))])
}

fn initial_access_token() -> Value {
    let token = described(text(), "Told once, to be sent as bearer token of a registration.");
    let members = [
        ("id", text()),
        ("expires_at", time()),
        ("uses", optional(&number())),
        ("initial_access_token", token),
    ];
    object(&["id", "expires_at", "initial_access_token"], &members)
}

/// A schema of which these members for people may be given in further languages, as `client_name#de` (RFC 7591 2.2).
pub(super) fn with_translations(schema: Value, members: &[&str]) -> Value {
    let mut schema = schema;
    let names = members.join("|");
    let pattern = format!("^({names})#[A-Za-z0-9]{{1,8}}(-[A-Za-z0-9]{{1,8}})*$");
    let about = format!(
        "The member before `#` in the language of the tag behind it (RFC 7591 2.2, RFC 5646), such as `{}#de`: \
         {MOST_TRANSLATIONS} at most together, null without effect.",
        members.first().copied().unwrap_or_default()
    );
    let translated = described(optional(&text()), &about);
    if let Value::Object(parts) = &mut schema {
        parts.insert("patternProperties".to_owned(), json!({ pattern: translated }));
    }
    schema
}

/// Whose assertions authenticate the client in place of its own, and what they must say.
fn assertion_issuer() -> Value {
    let claims = json!({
        "type": "object", "additionalProperties": { "type": ["string", "integer", "boolean"] },
    });
    object(&["issuer", "sub"], &[("issuer", text()), ("sub", text()), ("claims", claims)])
}

/// An authorization server of another domain, and what the client may ask for there.
fn id_jag_audience() -> Value {
    object(
        &["audience", "client_id"],
        &[
            ("audience", text()),
            ("client_id", text()),
            ("relying_party", text()),
            ("scope", text()),
            ("resources", texts()),
        ],
    )
}

/// Forms of redirect URIs that a client may be allowed.
fn forms() -> Value {
    list(json!({ "type": "string", "enum": RedirectUriForm::ALL.map(RedirectUriForm::as_str) }))
}

/// How long an old secret stays alive.
fn kept_for() -> Value {
    let most = LONGEST_KEPT.as_secs();
    let about = "Seconds for which the old secret stays alive beside the new one; 0 without.";
    json!({ "type": "integer", "minimum": 0, "maximum": most, "description": about })
}
