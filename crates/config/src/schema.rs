//! The JSON schema of the configuration file, generated from the table of keys.

use serde_json::{Map, Value as Json, json};

use super::key::{Key, ValueKind, keys};
use super::value::Value;

/// The JSON schema (draft 2020-12) of a configuration file, for editors that validate TOML.
pub fn json_schema() -> Json {
    let mut root = table();
    for key in keys() {
        insert(&mut root, key.path, property(key));
    }
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".to_owned(), json!("Symbolon configuration"));
    Json::Object(root)
}

fn table() -> Map<String, Json> {
    let mut table = Map::new();
    table.insert("type".to_owned(), json!("object"));
    table.insert("additionalProperties".to_owned(), json!(false));
    table.insert("properties".to_owned(), json!({}));
    table
}

/// Inserts a property at its dotted path, creating the tables above it.
fn insert(table_schema: &mut Map<String, Json>, path: &str, property: Json) {
    let Some(Json::Object(properties)) = table_schema.get_mut("properties") else { return };
    match path.split_once('.') {
        None => {
            properties.insert(path.to_owned(), property);
        }
        Some((head, rest)) => {
            let inner = properties.entry(head).or_insert_with(|| Json::Object(table()));
            if let Json::Object(inner) = inner {
                insert(inner, rest, property);
            }
        }
    }
}

fn property(key: &Key) -> Json {
    let mut property = of_kind(&key.kind);
    property.insert("description".to_owned(), json!(key.doc));
    property.insert("x-env".to_owned(), json!(key.env));
    property.insert("x-flag".to_owned(), json!(key.flag));
    let default = key.default.and_then(|text| Value::parse(&key.kind, text).ok());
    if let Some(default) = default {
        let default = match default {
            Value::Switch(on) => json!(on),
            Value::Count(count) => json!(count),
            Value::Networks(_) | Value::Hosts(_) => json!([]),
            other => json!(other.to_string()),
        };
        property.insert("default".to_owned(), default);
    }
    Json::Object(property)
}

fn of_kind(kind: &ValueKind) -> Map<String, Json> {
    let schema = match kind {
        ValueKind::Switch => json!({"enum": [true, false, "true", "false", "on", "off", "1", "0", 1, 0]}),
        ValueKind::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        ValueKind::Duration { .. } => json!({"type": "string", "pattern": "^(0|([0-9]+(us|ms|s|m|h|d))+)$"}),
        ValueKind::Size { .. } => json!({"type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$"}),
        ValueKind::Rate => json!({"type": "string", "pattern": "^(off|[0-9]+/[0-9]*(s|m|h))$"}),
        ValueKind::Choice(words) => json!({"enum": words}),
        ValueKind::Networks | ValueKind::Hosts => json!({"type": "array", "items": {"type": "string"}}),
        ValueKind::Issuer => json!({"type": "string", "format": "uri", "pattern": "^https?://[^/?#][^?#]*$"}),
        ValueKind::Url => json!({"type": "string", "format": "uri"}),
        ValueKind::Secret => json!({"type": "string", "writeOnly": true}),
        ValueKind::Secrets => json!({"type": "array", "items": {"type": "string"}, "writeOnly": true}),
        ValueKind::Name => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,32}$"}),
        ValueKind::Address | ValueKind::Path | ValueKind::CookieName | ValueKind::Mailbox => {
            json!({"type": "string", "minLength": 1})
        }
    };
    match schema {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}
