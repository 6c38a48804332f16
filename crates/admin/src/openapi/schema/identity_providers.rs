//! Other providers by which people sign in.

use serde_json::{Value, json};

use super::{Schemas, bulk, extended, flag, list, object, optional, secret, shown_only, text, time};

fn claims() -> Value {
    json!({
        "type": "object",
        "additionalProperties": text(),
        "description": "Standard claims of a new user, each with the claim of the provider that it is taken from.",
    })
}

fn mapping() -> Value {
    let groups = json!({ "type": "object", "additionalProperties": text(), "description": "The provider's groups, each with the id of the issuer's." });
    object(&["claim", "groups"], &[("claim", text()), ("groups", groups)])
}

/// Providers, as they are made, changed and shown.
pub(super) fn all() -> Schemas {
    let members = [
        ("name", json!({ "type": "string", "minLength": 1, "maxLength": 60 })),
        (
            "issuer",
            json!({ "type": "string", "description": "As in the provider's metadata; of GitHub its address." }),
        ),
        ("client_id", text()),
        ("scopes", list(text())),
        ("response_mode", json!({ "type": "string", "enum": ["query", "form_post"] })),
        ("claims", optional(&claims())),
        ("groups", optional(&mapping())),
        ("sign_up", flag()),
        ("link_by_verified_email", flag()),
        ("email_domains", optional(&list(text()))),
        ("logout", json!({ "type": "string", "enum": ["here", "passed_on"] })),
        ("enabled", flag()),
    ];
    let kind = ("kind", json!({ "type": "string", "enum": ["openid", "github"] }));
    let id = ("id", json!({ "type": "string", "pattern": "^[a-z0-9-]{1,32}$" }));
    let shown = [
        ("has_client_secret", flag()),
        (
            "callback",
            json!({ "type": "string", "description": "The redirect URI to register at the provider." }),
        ),
        (
            "logout_callback",
            json!({ "type": "string", "description": "The post-logout redirect URI to register at the provider." }),
        ),
        ("created_at", time()),
        ("updated_at", time()),
    ];
    let marked: Vec<_> = shown.iter().map(|(name, schema)| (*name, shown_only(schema.clone()))).collect();
    let record = object(&[], &members);
    let provider = extended(&extended(&record, &["id", "kind"], &[id.clone(), kind.clone()]), &[], &shown);
    let preset = [
        ("preset", json!({ "type": "string", "enum": ["google", "microsoft", "apple", "github"] })),
        (
            "tenant",
            json!({ "type": "string", "description": "The directory at Microsoft, for that preset." }),
        ),
        ("client_secret", optional(&secret())),
    ];
    let new = extended(&extended(&record, &["id"], &[id.clone(), kind.clone()]), &[], &preset);
    let changed = extended(&record, &[], &[id, kind, ("client_secret", optional(&secret()))]);
    vec![
        ("BulkIdentityProvider", bulk("identity_provider", &provider)),
        ("IdentityProvider", provider),
        ("NewIdentityProvider", extended(&new, &[], &marked)),
        ("IdentityProviderRecord", extended(&changed, &[], &marked)),
    ]
}
