//! Groups, roles, and who has them.

use std::slice;

use serde_json::{Value, json};

use super::{Schemas, bulk, bulk_of, extended, flag, list, object, text, time};

/// Members that are shown, and that a change accepts without effect, so that what was shown can be sent back.
fn shown_only(members: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let marked = |(name, schema): &(&'static str, Value)| {
        let mut schema = schema.clone();
        if let Value::Object(parts) = &mut schema {
            parts.insert("readOnly".to_owned(), Value::Bool(true));
        }
        (*name, schema)
    };
    members.iter().map(marked).collect()
}

/// Groups and memberships.
pub(super) fn groups() -> Schemas {
    let record = object(
        &["name"],
        &[
            ("name", json!({ "type": "string", "minLength": 1, "maxLength": 200 })),
            ("description", json!({ "type": "string", "maxLength": 2000 })),
            ("parent_id", json!({ "type": "string", "description": "The group above it." })),
        ],
    );
    let path = json!({
        "type": "string",
        "description": "The names from the topmost group down to this one, each behind a slash; in a name, `~` is `~0` \
                        and `/` is `~1` (RFC 6901). Not in listings.",
    });
    let id = ("id", text());
    let shown = [("created_at", time()), ("updated_at", time()), ("path", path)];
    let group = extended(&extended(&record, &["id"], slice::from_ref(&id)), &[], &shown);
    let new = extended(&extended(&record, &[], slice::from_ref(&id)), &[], &shown_only(&shown));
    let record =
        extended(&extended(&record, &[], &shown_only(slice::from_ref(&id))), &[], &shown_only(&shown));
    let membership = object(&["group_id", "user_id"], &[("group_id", text()), ("user_id", text())]);
    vec![
        ("GroupRecord", record),
        ("NewGroup", new),
        ("BulkGroup", bulk("group", &group)),
        ("Group", group),
        ("BulkMembership", bulk_of(&extended(&membership, &["changed"], &[("changed", flag())]))),
        ("Membership", membership),
    ]
}

/// Roles, given roles, and what a user has by all of these.
pub(super) fn roles() -> Schemas {
    let record = object(
        &["name"],
        &[
            ("name", json!({ "type": "string", "minLength": 1, "maxLength": 200 })),
            ("description", json!({ "type": "string", "maxLength": 2000 })),
        ],
    );
    let client = json!({ "type": "string", "description": "The client whose role it is; none for a role of the issuer." });
    let fixed = [("id", text()), ("client_id", client.clone())];
    let times = [("created_at", time()), ("updated_at", time())];
    let role = extended(&extended(&record, &["id"], &fixed), &[], &times);
    let new = extended(&extended(&record, &[], &fixed), &[], &shown_only(&times));
    let record = extended(&extended(&record, &[], &shown_only(&fixed)), &[], &shown_only(&times));
    let of_user = object(&["role_id", "user_id"], &[("role_id", text()), ("user_id", text())]);
    let of_group = object(&["role_id", "group_id"], &[("role_id", text()), ("group_id", text())]);
    let given = json!({ "oneOf": [of_user, of_group] });
    let changed = |schema| extended(schema, &["changed"], &[("changed", flag())]);
    let changed = json!({ "oneOf": [changed(&of_user), changed(&of_group)] });
    let direct = json!({ "type": "boolean", "description": "Whether the user has it without a group." });
    let held_group = object(
        &["id", "name", "path", "direct"],
        &[("id", text()), ("name", text()), ("path", text()), ("direct", direct.clone())],
    );
    let by_groups = json!({
        "type": "array",
        "items": text(),
        "description": "The ids of those groups of the user that were given it.",
    });
    let held_role = object(
        &["id", "name", "direct", "by_groups"],
        &[
            ("id", text()),
            ("name", text()),
            ("client_id", client),
            ("direct", direct),
            ("by_groups", by_groups),
        ],
    );
    let is_cut = json!({
        "type": "boolean",
        "description": "Whether some are left out, because tokens carry no more than 1,000 groups and 1,000 roles.",
    });
    let entitlements = object(
        &["groups", "roles", "is_cut"],
        &[("groups", list(held_group)), ("roles", list(held_role)), ("is_cut", is_cut)],
    );
    vec![
        ("RoleRecord", record),
        ("NewRole", new),
        ("BulkRole", bulk("role", &role)),
        ("Role", role),
        ("GivenRole", given),
        ("BulkGivenRole", bulk_of(&changed)),
        ("Entitlements", entitlements),
    ]
}
