//! The schema of claim definitions.

use serde_json::{Value, json};
use symbolon_protocol::claim_definition::{Destination, LONGEST_EXPRESSION, MOST_DEFINITIONS};

use super::{flag, object, text};

/// Definitions of an issuer or of a client.
pub(super) fn definitions() -> Value {
    let one = object(
        &["name"],
        &[
            ("name", json!({ "type": "string", "minLength": 1, "maxLength": 200 })),
            (
                "source",
                json!({ "type": "string", "description": "What it is made from, such as groups or email." }),
            ),
            ("expression", json!({ "type": "string", "maxLength": LONGEST_EXPRESSION })),
            ("value", json!({ "description": "The same value for everybody." })),
            (
                "form",
                json!({
                    "type": "string",
                    "enum": ["list", "paths", "space_separated", "comma_separated", "first", "keycloak"],
                }),
            ),
            ("prefix", json!({ "type": "string", "maxLength": 100 })),
            ("scope", text()),
            (
                "destinations",
                json!({ "type": "array", "items": { "type": "string", "enum": Destination::ALL } }),
            ),
            ("enabled", flag()),
        ],
    );
    json!({ "type": "array", "maxItems": MOST_DEFINITIONS, "items": one })
}
