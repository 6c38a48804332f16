//! The document's schemas, by name. Tests compare them with what handlers read and return.

mod attributes;
mod claims;
mod groups;

use serde_json::{Map, Value, json};
use symbolon_protocol::client_secret::LONGEST_KEPT;
use symbolon_protocol::pkce::PkcePolicy;
use symbolon_protocol::redirect_uri::RedirectUriForm;
use symbolon_protocol::sign_in::acr::Acr;
use symbolon_protocol::sign_in::puzzle;
use symbolon_protocol::token::access_token::AccessTokenTyp;
use symbolon_protocol::token::token_exchange::{ACCESS_TOKEN_TYPE, JWT_TYPE};
use symbolon_protocol::ui_locale::UiLocale;
use symbolon_protocol::user_claims::PROFILE_CLAIMS;

use super::super::operation::reference;
use super::super::script_members::ID_JAG;

/// An object schema with some required members.
fn object(required: &[&str], members: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// A schema extended by further members.
fn extended(base: &Value, required: &[&str], members: &[(&str, Value)]) -> Value {
    let mut all = base.clone();
    if let Some(Value::Object(properties)) = all.get_mut("properties") {
        properties.extend(members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
    }
    if let Some(Value::Array(names)) = all.get_mut("required") {
        names.extend(required.iter().map(|name| json!(name)));
    }
    all
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn texts() -> Value {
    json!({ "type": "array", "items": text() })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// A member that is shown, and that a change accepts without effect, so that what was shown can be sent back.
fn shown_only(schema: Value) -> Value {
    let mut schema = schema;
    if let Value::Object(parts) = &mut schema {
        parts.insert("readOnly".to_owned(), true.into());
    }
    schema
}

/// A member that is accepted for callers that send it, and has no effect.
fn without_effect() -> Value {
    json!({ "description": "Accepted, without effect." })
}

fn optional(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.clone(), "null"]);
    }
    schema
}

fn time() -> Value {
    json!({ "type": "integer", "description": "Milliseconds since 1970-01-01T00:00:00Z." })
}

fn seconds() -> Value {
    json!({ "type": "integer", "minimum": 0, "description": "Seconds." })
}

fn secret() -> Value {
    json!({ "type": "string", "format": "password" })
}

fn list(item: Value) -> Value {
    json!({ "type": "array", "items": item })
}

fn pkce() -> Value {
    json!({ "type": "string", "enum": PkcePolicy::ALL })
}

/// The name of `pkce` in earlier versions.
fn require_pkce() -> Value {
    json!({
        "type": "boolean",
        "deprecated": true,
        "description": "`true` means `pkce: required`, `false` means `pkce: optional`; absent where it is `or_nonce`.",
    })
}

fn access_token_typ() -> Value {
    json!({ "type": "string", "enum": [AccessTokenTyp::AtJwt, AccessTokenTyp::Jwt] })
}

fn algorithm() -> Value {
    json!({ "type": "string", "enum": ["RS256", "PS256", "ES256", "EdDSA"] })
}

fn id_token_claims() -> Value {
    json!({ "type": "string", "enum": ["scopes", "minimal"] })
}

fn second_factor() -> Value {
    json!({ "type": "string", "enum": ["optional", "required"] })
}

fn sign_in_methods() -> Value {
    json!({
        "type": ["array", "null"],
        "minItems": 1,
        "items": { "type": "string", "enum": ["password", "passkey", "email_code", "magic_link"] },
        "description": "`null`: password and passkey, and `email_code` where mail is configured.",
    })
}

fn acr_values() -> Value {
    json!({ "type": "array", "items": { "type": "string", "enum": Acr::ALL.map(Acr::as_str) } })
}

fn registration() -> Value {
    json!({ "type": ["string", "null"], "enum": ["closed", "open", "invited", null] })
}

fn branding() -> Value {
    let colour = || json!({ "type": "string", "pattern": "^#[0-9A-Fa-f]{6}$" });
    let line = |most: u32| json!({ "type": "string", "minLength": 1, "maxLength": most });
    object(
        &[],
        &[
            ("name", optional(&line(80))),
            ("accent", optional(&object(&["light", "dark"], &[("light", colour()), ("dark", colour())]))),
            ("help_uri", optional(&text())),
            ("policy_uri", optional(&text())),
            ("tos_uri", optional(&text())),
            ("intro", optional(&line(500))),
            ("foot", optional(&line(500))),
        ],
    )
}

fn subject_token_types() -> Value {
    json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": [ACCESS_TOKEN_TYPE, JWT_TYPE] } })
}

/// All schemas.
pub(super) fn all() -> Value {
    let mut schemas = Map::new();
    for part in [
        shared(),
        clients(),
        users(),
        attributes::definitions(),
        sessions(),
        groups::groups(),
        groups::roles(),
        settings(),
        shards(),
        keys(),
        installation(),
        load_tests(),
    ] {
        for (name, schema) in part {
            schemas.insert(name.to_owned(), schema);
        }
    }
    Value::Object(schemas)
}

type Schemas = Vec<(&'static str, Value)>;

fn shared() -> Schemas {
    let page = [
        ("page", number()),
        ("limit", number()),
        ("total", number()),
        ("totalPages", number()),
        ("hasNext", flag()),
        ("hasPrev", flag()),
    ];
    let detail = json!({
        "description": "Details of the event. Of a change: in `changes` each member that changed, by its path, with its \
                        value before (`from`) and after (`to`); `{\"changed\": true}` where it is secret.",
    });
    let audit = [
        ("at", time()),
        ("event", text()),
        ("user", text()),
        ("client", text()),
        ("actor", json!({ "type": "string", "enum": ["user", "client", "admin", "system", "anonymous"] })),
        ("address", text()),
        ("request", text()),
        ("detail", detail),
    ];
    let failure = [
        ("reason", text()),
        ("at", time()),
        ("request_id", text()),
        ("event", text()),
        ("endpoint", text()),
        ("client_id", text()),
        ("user_id", text()),
        ("address", text()),
        ("login_name", text()),
        ("parameter", text()),
        ("sent", text()),
        ("registered", texts()),
        ("expected", texts()),
        ("difference", text()),
        ("cause", text()),
        ("explanation", text()),
        ("mend", text()),
        ("error", text()),
        ("error_description", text()),
        ("unrecorded", number()),
    ];
    let issuer =
        object(&["id", "url"], &[("id", text()), ("url", json!({ "type": "string", "format": "uri" }))]);
    vec![
        (
            "Error",
            object(&["error"], &[("error", text()), ("error_description", text()), ("line", number())]),
        ),
        ("Pagination", object(&page.each_ref().map(|(name, _)| *name), &page)),
        ("AuditRecord", object(&["at", "event", "actor"], &audit)),
        ("Failure", object(&["reason", "at", "request_id", "explanation", "mend"], &failure)),
        ("Issuer", extended(&issuer, &["created_at"], &[("created_at", time())])),
        ("NewIssuer", issuer),
    ]
}

fn clients() -> Schemas {
    let settings = [
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
        ("id_token_claims", id_token_claims()),
        ("second_factor", second_factor()),
        ("claims", claims::definitions()),
    ];
    let overrides = object(&[], &settings);
    let method = json!({
        "type": "string",
        "enum": ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"],
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
            ("subject_type", json!({ "type": "string", "enum": ["public"] })),
            ("token_endpoint_auth_signing_alg", algorithm()),
            ("id_token_signed_response_alg", algorithm()),
            ("access_token_signed_response_alg", algorithm()),
            ("is_trusted", flag()),
            ("skip_consent", flag()),
            ("token_exchange_allowed", flag()),
            ("allowed_token_exchange_resources", texts()),
            ("allowed_subject_token_clients", texts()),
            ("delegation_mode", json!({ "type": "string", "enum": ["delegation", "impersonation", "none"] })),
            ("audiences", texts()),
            ("access_token_audiences", texts()),
            ("allowed_redirect_origins", texts()),
            ("default_max_age", seconds()),
            ("default_acr_values", acr_values()),
            ("settings", overrides),
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
    let accepted = [
        ("client_secret", secret()),
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
        ("RegenerateSecret", object(&[], &[("keep_old_seconds", kept_for())])),
        ("ClientWithSecret", with_secret),
        ("TokenPreview", preview),
        ("Client", shown),
    ]
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

/// A line of a bulk answer: the created record under a member, or an error.
fn bulk(member: &str, schema: &Value) -> Value {
    json!({ "oneOf": [object(&[member], &[(member, schema.clone())]), { "$ref": "#/components/schemas/Error" }] })
}

/// A line of a bulk answer whose success has several members.
fn bulk_of(schema: &Value) -> Value {
    json!({ "oneOf": [schema, { "$ref": "#/components/schemas/Error" }] })
}

fn users() -> Schemas {
    let address = ["formatted", "street_address", "locality", "region", "postal_code", "country"];
    let claims: Vec<_> =
        PROFILE_CLAIMS.iter().copied().chain(["phone_number"]).map(|name| (name, text())).collect();
    let base = object(
        &[],
        &[
            ("email", json!({ "type": "string", "format": "email" })),
            ("email_verified", flag()),
            ("phone_number_verified", flag()),
            ("address", object(&[], &address.map(|name| (name, text())))),
            ("attributes", attributes::values()),
            ("active", flag()),
        ],
    );
    let record = extended(&base, &[], &claims);
    let hash = "A hash that this or another system made: a PHC string, or one of the forms in \
                docs/reference/password-hashes.md.";
    let hash = json!({ "type": "string", "format": "password", "description": hash });
    let password = [("password", secret()), ("password_hash", hash.clone())];
    let other_names = ["enabled", "is_active", "disabled", "blocked"].map(|name| (name, flag()));
    let accepted = [
        ("id", text()),
        ("created_at", shown_only(time())),
        ("updated_at", shown_only(time())),
        ("user_type", without_effect()),
    ];
    let taken = extended(&extended(&record, &[], &other_names), &[], &accepted);
    let shown = extended(&record, &["id"], &[("id", text()), ("created_at", time()), ("updated_at", time())]);
    let named = object(&["id"], &[("id", text()), ("email", optional(&text()))]);
    let grant = [
        ("client_id", text()),
        ("client_name", optional(&text())),
        ("scope", text()),
        ("since", time()),
        ("last_used_at", optional(&time())),
        ("offline", flag()),
        ("refresh_tokens", number()),
    ];
    vec![
        ("NewUser", extended(&taken, &[], &password)),
        ("BulkUser", bulk("user", &named)),
        ("UserRecord", taken),
        ("ExportedUser", extended(&shown, &[], &[("password_hash", hash)])),
        ("User", shown),
        (
            "NewPassword",
            extended(&object(&[], &password), &[], &[("sign_out", flag()), ("end_sessions", flag())]),
        ),
        ("LeftAlive", object(&["sessions", "grants"], &[("sessions", number()), ("grants", number())])),
        ("Grant", object(&grant.each_ref().map(|(name, _)| *name), &grant)),
        ("Authenticators", authenticators()),
        ("NewInvitation", new_invitation()),
        ("MadeInvitation", made_invitation()),
        (
            "Consent",
            object(
                &["client_id", "scope", "granted_at"],
                &[("client_id", text()), ("scope", text()), ("granted_at", time())],
            ),
        ),
    ]
}

fn new_invitation() -> Value {
    object(
        &["email"],
        &[
            ("email", json!({ "type": "string", "format": "email" })),
            ("groups", texts()),
            ("roles", texts()),
            ("lifetime", seconds()),
            ("send_mail", flag()),
            ("language", text()),
        ],
    )
}

fn made_invitation() -> Value {
    let invitation = object(
        &["id", "email", "groups", "roles", "expires_at"],
        &[("id", text()), ("email", text()), ("groups", texts()), ("roles", texts()), ("expires_at", time())],
    );
    object(&["invitation"], &[("invitation", invitation), ("queued", flag()), ("link", text())])
}

fn authenticators() -> Value {
    let passkey = [
        ("id", text()),
        ("name", text()),
        ("is_synced", flag()),
        ("created_at", time()),
        ("last_used_at", optional(&time())),
    ];
    let passkey = object(&passkey.each_ref().map(|(name, _)| *name), &passkey);
    let totp = optional(&object(&["added_at"], &[("added_at", time())]));
    let all = [("passkeys", list(passkey)), ("totp", totp), ("recovery_codes", number())];
    object(&all.each_ref().map(|(name, _)| *name), &all)
}

fn sessions() -> Schemas {
    let session = [
        ("sid", text()),
        ("user_id", text()),
        ("auth_time", time()),
        ("created_at", time()),
        ("expires_at", time()),
        ("last_used_at", time()),
        ("amr", texts()),
        ("clients", texts()),
    ];
    vec![("Session", object(&session.each_ref().map(|(name, _)| *name), &session))]
}

fn settings() -> Schemas {
    let lifetimes =
        ["code", "access_token", "id_token", "refresh_token_idle", "refresh_token_absolute", "session"];
    let settings = object(
        &[],
        &[
            ("lifetimes", object(&[], &lifetimes.map(|name| (name, seconds())))),
            ("refresh_token_rotation", flag()),
            ("refresh_retry_window", seconds()),
            ("pkce", pkce()),
            ("require_pkce", require_pkce()),
            ("audience_is_issuer", flag()),
            ("id_token_claims", id_token_claims()),
            ("second_factor", second_factor()),
            ("sign_in_methods", sign_in_methods()),
            ("sign_in_page", json!({ "type": "string", "enum": ["all_at_once", "identifier_first"] })),
            ("offer_passkey", flag()),
            ("remember_device_days", number()),
            ("registration", registration()),
            ("registration_puzzle", json!({ "type": "integer", "minimum": 0, "maximum": puzzle::MOST_BITS })),
            ("branding", branding()),
            ("default_language", json!({ "type": "string", "enum": UiLocale::ALL.map(UiLocale::tag) })),
            ("claims", claims::definitions()),
            ("signing_algorithm", algorithm()),
            ("key_rotation_days", number()),
            ("token_exchange", flag()),
            ("token_exchange_subject_token_types", subject_token_types()),
            ("token_exchange_max_targets", number()),
            ("introspection_strict", flag()),
            ("introspection_audience", optional(&text())),
            ("audit_days", number()),
            ("login_api_origins", json!({ "type": "array", "items": { "type": "string" }, "maxItems": 50 })),
            ("password_work_kib", optional(&number())),
            ("self_deletion", flag()),
            ("session_management", flag()),
            ("attributes", list(reference("AttributeDefinition"))),
        ],
    );
    let introspection = [("strictValidation", flag()), ("expectedAudience", optional(&text()))];
    let exchange = [
        ("enabled", flag()),
        ("allowedSubjectTokenTypes", subject_token_types()),
        ("maxResourceParams", number()),
        ("maxAudienceParams", number()),
        ("idJag", cross_domain()),
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

/// Identity assertions for another domain: not supported, so they can only be off.
fn cross_domain() -> Value {
    let mut members = vec![("enabled", json!({ "type": "boolean", "const": false }))];
    members.extend(ID_JAG.map(|name| (name, without_effect())));
    object(&[], &members)
}

fn shards() -> Schemas {
    let generation = object(
        &["generation", "shards"],
        &[
            ("generation", number()),
            ("shards", number()),
            ("opened_at", time()),
            ("closed_at", optional(&time())),
        ],
    );
    let shards = [
        ("kind", text()),
        ("shards", number()),
        ("generation", number()),
        ("opened_at", time()),
        ("previous", list(generation)),
    ];
    let previous = object(
        &["generation", "shardCount"],
        &[("generation", number()), ("shardCount", number()), ("deprecatedAt", optional(&time()))],
    );
    let config = object(
        &["currentGeneration", "currentShardCount", "previousGenerations"],
        &[
            ("currentGeneration", number()),
            ("currentShardCount", number()),
            ("previousGenerations", list(previous)),
            ("updatedAt", time()),
        ],
    );
    let figures = ["shard", "operations", "errors", "queue_wait_ns", "wall_ns"];
    let kind = object(
        &["kind", "shards"],
        &[
            ("kind", text()),
            ("generation", optional(&number())),
            ("shards", list(object(&figures, &figures.map(|name| (name, number()))))),
        ],
    );
    let wanted = json!({ "type": "integer", "minimum": 1, "maximum": 1024 });
    vec![
        ("Shards", object(&shards.each_ref().map(|(name, _)| *name), &shards)),
        ("NewShards", object(&["shards"], &[("shards", wanted.clone())])),
        ("RefreshTokenSharding", object(&["config"], &[("clientId", optional(&text())), ("config", config)])),
        (
            "NewRefreshTokenSharding",
            object(
                &["shardCount"],
                &[
                    ("clientId", text()),
                    ("shardCount", wanted),
                    ("notes", without_effect()),
                    ("skip_sync_check", without_effect()),
                ],
            ),
        ),
        ("ShardStatistics", object(&["kinds"], &[("kinds", list(kind))])),
    ]
}

fn keys() -> Schemas {
    let state = json!({ "type": "string", "enum": ["next", "active", "retiring", "revoked"] });
    let key = [
        ("kid", text()),
        ("algorithm", algorithm()),
        ("state", state),
        ("created_at", time()),
        ("signs_from", optional(&time())),
        ("activated_at", optional(&time())),
        ("retired_at", optional(&time())),
        ("gone_at", optional(&time())),
        ("reason", optional(&text())),
    ];
    let status = object(
        &["algorithm", "active"],
        &[
            ("algorithm", algorithm()),
            ("active", text()),
            ("next", optional(&text())),
            ("next_signs_from", optional(&time())),
            ("activated_at", time()),
            ("rotates_at", optional(&time())),
            ("rotation_due", flag()),
        ],
    );
    let emergency = [("kid", text()), ("algorithm", algorithm()), ("reason", text())];
    vec![
        ("SigningKey", object(&["kid", "algorithm", "state"], &key)),
        (
            "SigningKeyStatus",
            object(
                &["default_algorithm", "algorithms"],
                &[
                    ("default_algorithm", algorithm()),
                    ("signs_with", algorithm()),
                    ("signs_from", optional(&time())),
                    ("algorithms", list(status)),
                ],
            ),
        ),
        ("RotateKey", object(&[], &[("algorithm", algorithm())])),
        ("EmergencyRotateKey", object(&["reason"], &emergency)),
        ("RevokeKey", object(&[], &[("reason", text())])),
    ]
}

fn installation() -> Schemas {
    let backup = [("path", text()), ("commit", number()), ("records", number()), ("bytes", number())];
    let rewrapped = [("master_key", text()), ("issuers", number()), ("keys", number())];
    vec![
        ("NewBackup", object(&["path"], &[("path", text())])),
        ("Backup", object(&["path", "commit", "records", "bytes"], &backup)),
        ("NewMasterKey", object(&["new_master_key_file"], &[("new_master_key_file", text())])),
        ("Rewrapped", object(&["master_key", "issuers", "keys"], &rewrapped)),
    ]
}

fn load_tests() -> Schemas {
    let new_session = object(&["user_id"], &[("user_id", text()), ("ttl_seconds", seconds())]);
    let session = object(
        &["session_id", "user_id", "expires_at"],
        &[("session_id", secret()), ("user_id", text()), ("expires_at", time())],
    );
    let for_client =
        object(&["user_id", "client_id"], &[("user_id", text()), ("client_id", text()), ("scope", text())]);
    let token = [("access_token", secret()), ("jti", text()), ("user_id", text()), ("exp", number())];
    let refresh =
        [("refresh_token", secret()), ("user_id", text()), ("client_id", text()), ("expires_at", time())];
    let registered = [
        ("token", secret()),
        ("userId", text()),
        ("clientId", text()),
        ("scope", text()),
        ("ttl", seconds()),
    ];
    let result = [("success", flag()), ("version", number()), ("jti", text()), ("expiresIn", seconds())];
    let code = [
        ("success", flag()),
        ("code", secret()),
        ("otpSessionId", secret()),
        ("expiresAt", seconds()),
        ("userId", text()),
    ];
    let key = [("kid", text()), ("privatePEM", secret()), ("publicJWK", json!({ "type": "object" }))];
    vec![
        ("BulkSession", bulk_of(&extended(&session, &["sid"], &[("sid", text())]))),
        ("BulkNewSession", new_session.clone()),
        ("BulkNewToken", extended(&for_client, &[], &[("ttl_seconds", seconds())])),
        ("BulkNewRefreshToken", for_client),
        ("BulkToken", bulk_of(&object(&["access_token", "jti"], &token))),
        ("BulkRefreshToken", bulk_of(&object(&["refresh_token"], &refresh))),
        ("NewTestSession", new_session),
        ("TestSession", extended(&session, &["cookie_value"], &[("cookie_value", secret())])),
        ("NewTestEmailCode", object(&["email"], &[("email", text()), ("create_user", flag())])),
        ("TestEmailCode", object(&code.each_ref().map(|(name, _)| *name), &code)),
        ("TestSigningKey", object(&["kid", "privatePEM", "publicJWK"], &key)),
        ("RegisteredToken", object(&registered.each_ref().map(|(name, _)| *name), &registered)),
        (
            "NewTestMail",
            object(
                &["to", "code"],
                &[("to", text()), ("code", secret()), ("minutes", number()), ("language", text())],
            ),
        ),
        ("TestMail", object(&["queued"], &[("queued", flag())])),
        ("RegisteredTokenResult", object(&result.each_ref().map(|(name, _)| *name), &result)),
    ]
}
