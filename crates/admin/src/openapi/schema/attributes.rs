//! Attributes of users, and the schema that defines them.

use serde_json::{Value, json};
use symbolon_protocol::attribute::AttributeType;

use super::clients::with_translations;
use super::{Schemas, extended, flag, object, text};

/// The attributes of a user.
pub(super) fn values() -> Value {
    json!({
        "type": "object",
        "description": "By name; of the types that the issuer's schema has. A date is a string such as 2026-11-28.",
        "additionalProperties": { "oneOf": [
            { "type": "string" },
            { "type": "number" },
            { "type": "boolean" },
            { "type": "array", "items": { "type": "string" } },
        ] },
    })
}

pub(super) fn definitions() -> Schemas {
    let parties = json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["person", "administrator"] } });
    let members = [
        ("name", text()),
        ("type", json!({ "type": "string", "enum": AttributeType::ALL })),
        ("required", flag()),
        ("unique", flag()),
        (
            "pattern",
            json!({ "type": "string", "description": "A regular expression that the whole text matches." }),
        ),
        ("readable_by", parties.clone()),
        ("writable_by", parties),
        ("scope", json!({ "type": "string", "description": "The scope token that releases it as a claim." })),
        (
            "display_name",
            json!({ "type": "string", "description": "What people read in place of its name." }),
        ),
    ];
    let new = with_translations(object(&["type"], &members), &["display_name"]);
    vec![("AttributeDefinition", extended(&new, &["name"], &[])), ("NewAttributeDefinition", new)]
}
