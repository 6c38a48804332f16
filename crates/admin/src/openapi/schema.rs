//! The document's schemas, by name. Tests compare them with what handlers read and return.

mod attributes;
mod claims;
mod clients;
mod groups;
mod identity_providers;
mod installation;
mod settings;
mod users;

use serde_json::{Map, Value, json};
use symbolon_crypto::jwe::{ContentEncryption, KeyManagement};
use symbolon_protocol::dpop::DpopNonce;
use symbolon_protocol::pkce::PkcePolicy;

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

/// A schema that says what it is about.
fn described(schema: Value, about: &str) -> Value {
    let mut schema = schema;
    if let Value::Object(parts) = &mut schema {
        parts.insert("description".to_owned(), about.into());
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

fn algorithm() -> Value {
    json!({ "type": "string", "enum": ["RS256", "PS256", "ES256", "EdDSA"] })
}

fn encryption_alg() -> Value {
    json!({ "type": "string", "enum": KeyManagement::ALL })
}

fn encryption_enc() -> Value {
    json!({ "type": "string", "enum": ContentEncryption::ALL })
}

fn dpop_nonce() -> Value {
    json!({ "type": "string", "enum": DpopNonce::NAMES })
}

fn id_token_claims() -> Value {
    json!({ "type": "string", "enum": ["scopes", "minimal"] })
}

fn second_factor() -> Value {
    json!({ "type": "string", "enum": ["optional", "requested", "required"] })
}

/// All schemas.
pub(super) fn all() -> Value {
    let mut schemas = Map::new();
    for part in [
        shared(),
        clients::clients(),
        clients::logos(),
        users::users(),
        attributes::definitions(),
        users::sessions(),
        groups::groups(),
        groups::roles(),
        identity_providers::all(),
        settings::settings(),
        installation::shards(),
        installation::keys(),
        installation::installation(),
        installation::load_tests(),
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

/// A line of a bulk answer: the created record under a member, or an error.
fn bulk(member: &str, schema: &Value) -> Value {
    json!({ "oneOf": [object(&[member], &[(member, schema.clone())]), { "$ref": "#/components/schemas/Error" }] })
}

/// A line of a bulk answer whose success has several members.
fn bulk_of(schema: &Value) -> Value {
    json!({ "oneOf": [schema, { "$ref": "#/components/schemas/Error" }] })
}
