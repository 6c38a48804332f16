//! The operations of the admin API that change something, and a call of each.

use serde_json::{Value, json};
use symbolon_testkit::is_clustered;

use super::{CLIENT_SECRET, PASSWORD, PASSWORD_HASH, Scene};

/// A call of one operation: method, path in the list of operations, the same with values, body, and the event that
/// records it.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) operation: (&'static str, &'static str),
    pub(crate) path: String,
    pub(crate) body: Body,
    pub(crate) event: &'static str,
}

#[derive(Clone)]
pub(crate) enum Body {
    None,
    Json(Value),
    Svg(&'static str),
    Lines(Vec<Value>),
}

/// A change without a body.
fn plain(operation: (&'static str, &'static str), path: impl Into<String>, event: &'static str) -> Change {
    Change { operation, path: path.into(), body: Body::None, event }
}

/// A change with a JSON body.
fn sent(
    operation: (&'static str, &'static str),
    path: impl Into<String>,
    body: Value,
    event: &'static str,
) -> Change {
    Change { operation, path: path.into(), body: Body::Json(body), event }
}

/// A change whose body is an image.
fn image(operation: (&'static str, &'static str), path: &str, event: &'static str) -> Change {
    Change { operation, path: path.to_owned(), body: Body::Svg("<svg/>"), event }
}

/// A change of one line each.
fn lines(path: &'static str, lines: Vec<Value>, event: &'static str) -> Change {
    Change { operation: ("POST", path), path: path.to_owned(), body: Body::Lines(lines), event }
}

/// The operations of the admin API that change something, in an order in which they can be called.
pub(crate) fn changes(scene: &Scene) -> Vec<Change> {
    [of_clients_and_users(), of_groups_and_roles(), of_bulk(), of_settings(), of_ending(), last(scene)]
        .into_iter()
        .flatten()
        .collect()
}

fn of_clients_and_users() -> Vec<Change> {
    const CLIENT: &str = "/clients/{client_id}";
    const LOGO: &str = "/clients/{client_id}/logo";
    const USER: &str = "/users/{user_id}";
    let client = |name: &str| {
        json!({
            "client_id": "app", "client_name": name, "redirect_uris": ["https://rp.example/cb"],
            "grant_types": ["authorization_code", "refresh_token"], "scope": "openid offline_access",
        })
    };
    let mut with_secret = client("App");
    with_secret["client_secret"] = json!(CLIENT_SECRET);
    vec![
        sent(("POST", "/clients"), "/clients", with_secret, "client.created"),
        sent(("PUT", CLIENT), "/clients/app", client("Renamed"), "client.updated"),
        sent(
            ("PATCH", CLIENT),
            "/clients/app",
            json!({ "client_secret": format!("{CLIENT_SECRET}-2"), "settings": { "code_lifetime": 9 } }),
            "client.updated",
        ),
        plain(
            ("POST", "/clients/{client_id}/regenerate-secret"),
            "/clients/app/regenerate-secret",
            "client.updated",
        ),
        sent(
            ("POST", "/initial-access-tokens"),
            "/initial-access-tokens",
            json!({ "expires_in": 600, "uses": 1 }),
            "initial_access_token.made",
        ),
        image(("PUT", LOGO), "/clients/app/logo", "client.updated"),
        plain(("DELETE", LOGO), "/clients/app/logo", "client.updated"),
        sent(
            ("POST", "/users"),
            "/users",
            json!({ "id": "ann", "email": "ann@example.com", "password": PASSWORD }),
            "user.created",
        ),
        sent(
            ("PUT", USER),
            "/users/ann",
            json!({ "email": "ann@example.com", "name": "Ann" }),
            "user.updated",
        ),
        sent(("PATCH", USER), "/users/ann", json!({ "address": { "country": "AT" } }), "user.updated"),
        sent(
            ("POST", "/users/{user_id}/password"),
            "/users/ann/password",
            json!({ "password": format!("{PASSWORD}-2") }),
            "user.updated",
        ),
    ]
}

fn of_groups_and_roles() -> Vec<Change> {
    const GROUP: &str = "/groups/{group_id}";
    const MEMBER: &str = "/groups/{group_id}/members/{user_id}";
    const ROLE: &str = "/roles/{role_id}";
    const OF_USER: &str = "/users/{user_id}/roles/{role_id}";
    const OF_GROUP: &str = "/groups/{group_id}/roles/{role_id}";
    let staff = "/groups/staff";
    let editor = "/roles/editor";
    vec![
        sent(("POST", "/groups"), "/groups", json!({ "id": "staff", "name": "Staff" }), "group.created"),
        sent(("PUT", GROUP), staff, json!({ "name": "Everybody" }), "group.updated"),
        sent(("PATCH", GROUP), staff, json!({ "description": "All" }), "group.updated"),
        sent(("POST", "/roles"), "/roles", json!({ "id": "editor", "name": "Editor" }), "role.created"),
        sent(("PUT", ROLE), editor, json!({ "name": "Writer" }), "role.updated"),
        sent(("PATCH", ROLE), editor, json!({ "description": "Writes" }), "role.updated"),
        plain(("PUT", MEMBER), "/groups/staff/members/ann", "group.member_added"),
        plain(("DELETE", MEMBER), "/groups/staff/members/ann", "group.member_removed"),
        plain(("PUT", OF_USER), "/users/ann/roles/editor", "role.given"),
        plain(("DELETE", OF_USER), "/users/ann/roles/editor", "role.taken"),
        plain(("PUT", OF_GROUP), "/groups/staff/roles/editor", "role.given"),
        plain(("DELETE", OF_GROUP), "/groups/staff/roles/editor", "role.taken"),
        plain(("DELETE", GROUP), staff, "group.deleted"),
        plain(("DELETE", ROLE), editor, "role.deleted"),
    ]
}

fn of_bulk() -> Vec<Change> {
    let users = vec![
        json!({ "id": "bob", "email": "bob@example.com", "password": format!("{PASSWORD}-3") }),
        json!({ "id": "cy", "email": "cy@example.com", "password_hash": PASSWORD_HASH }),
    ];
    let clients = json!({
        "client_id": "many", "client_name": "Bulk", "redirect_uris": ["https://rp.example/cb"],
        "client_secret": format!("{CLIENT_SECRET}-3"),
    });
    let membership = json!({ "group_id": "g1", "user_id": "bob" });
    let given = json!({ "role_id": "r1", "user_id": "bob" });
    let token = json!({ "client_id": "app", "user_id": "ann" });
    let provider = json!({ "id": "many", "preset": "google", "client_id": "us" });
    let identity = json!({ "user_id": "bob", "identity_provider": "many", "subject": "bob there" });
    let consent = json!({ "user_id": "bob", "client_id": "many", "scope": "openid" });
    vec![
        lines("/users/bulk", users, "user.created"),
        lines("/clients/bulk", vec![clients], "client.created"),
        lines("/groups/bulk", vec![json!({ "id": "g1", "name": "One" })], "group.created"),
        lines("/memberships/bulk", vec![membership.clone()], "group.member_added"),
        lines("/memberships/bulk-removal", vec![membership], "group.member_removed"),
        lines("/roles/bulk", vec![json!({ "id": "r1", "name": "One" })], "role.created"),
        lines("/given-roles/bulk", vec![given.clone()], "role.given"),
        lines("/given-roles/bulk-removal", vec![given], "role.taken"),
        lines("/identity-providers/bulk", vec![provider], "identity_provider.created"),
        lines("/identities/bulk", vec![identity], "identity.linked"),
        lines("/consents/bulk", vec![consent], "consent.granted"),
        lines("/sessions/bulk", vec![json!({ "user_id": "ann" })], "session.created"),
        lines("/tokens/bulk", vec![token.clone()], "grant.begun"),
        lines("/refresh-tokens/bulk", vec![token], "refresh_token.begun"),
    ]
}

fn of_settings() -> Vec<Change> {
    const INTROSPECTION: &str = "/settings/introspection-validation";
    const EXCHANGE: &str = "/settings/token-exchange";
    const REFRESH: &str = "/settings/refresh-token-sharding";
    const ATTRIBUTE: &str = "/settings/attributes/{name}";
    const PROVIDER: &str = "/identity-providers/{provider_id}";
    let mut all = vec![
        sent(("PATCH", "/settings"), "/settings", json!({ "lifetimes": { "code": 30 } }), "settings.updated"),
        sent(("PUT", "/settings"), "/settings", json!({ "audit_days": 30 }), "settings.updated"),
        sent(("PUT", INTROSPECTION), INTROSPECTION, json!({ "strictValidation": true }), "settings.updated"),
        plain(("DELETE", INTROSPECTION), INTROSPECTION, "settings.updated"),
        image(("PUT", "/branding/logo"), "/branding/logo", "settings.updated"),
        plain(("DELETE", "/branding/logo"), "/branding/logo", "settings.updated"),
        sent(("PUT", EXCHANGE), EXCHANGE, json!({ "maxResourceParams": 3 }), "settings.updated"),
        sent(
            ("PUT", ATTRIBUTE),
            "/settings/attributes/team",
            json!({ "type": "string" }),
            "settings.updated",
        ),
        plain(("DELETE", ATTRIBUTE), "/settings/attributes/team", "settings.updated"),
        sent(
            ("POST", "/identity-providers"),
            "/identity-providers",
            json!({ "id": "google", "preset": "google", "client_id": "us", "client_secret": CLIENT_SECRET }),
            "identity_provider.created",
        ),
        sent(
            ("PATCH", PROVIDER),
            "/identity-providers/google",
            json!({ "sign_up": true, "client_secret": format!("{CLIENT_SECRET}-2") }),
            "identity_provider.updated",
        ),
        plain(("DELETE", PROVIDER), "/identity-providers/google", "identity_provider.deleted"),
        sent(("PUT", REFRESH), REFRESH, json!({ "shardCount": 8 }), "shards.changed"),
        sent(("POST", "/signing-keys/rotate"), "/signing-keys/rotate", json!({}), "key.rotated"),
        sent(
            ("POST", "/signing-keys/emergency-rotate"),
            "/signing-keys/emergency-rotate",
            json!({ "reason": "a test" }),
            "key.revoked",
        ),
    ];
    for path in [
        "/settings/code-shards",
        "/settings/session-shards",
        "/settings/challenge-shards",
        "/settings/refresh-shards",
        "/settings/revocation-shards",
        "/settings/assertion-shards",
    ] {
        all.push(sent(("PUT", path), path, json!({ "shards": 4 }), "shards.changed"));
    }
    all
}

fn of_ending() -> Vec<Change> {
    const CONSENT: &str = "/users/{user_id}/consents/{client_id}";
    vec![
        plain(("DELETE", "/users/{user_id}/sessions"), "/users/ann/sessions", "session.ended"),
        sent(("POST", "/test/sessions"), "/test/sessions", json!({ "user_id": "ann" }), "session.created"),
        plain(("DELETE", "/sessions/{sid}"), "/sessions/SID", "session.ended"),
        plain(("DELETE", "/users/{user_id}/grants/{client_id}"), "/users/ann/grants/app", "grant.ended"),
        plain(("DELETE", CONSENT), "/users/ann/consents/app", "grant.ended"),
        plain(("DELETE", "/users/{user_id}/grants"), "/users/ann/grants", "grant.ended"),
        sent(
            ("POST", "/test/email-codes"),
            "/test/email-codes",
            json!({ "email": "coded@example.com" }),
            "user.created",
        ),
        sent(("POST", "/test/tokens"), "/test/tokens", Value::Null, "refresh_token.begun"),
        sent(
            ("POST", "/test/mails"),
            "/test/mails",
            json!({ "to": "ann@example.com", "code": "planted" }),
            "mail.queued",
        ),
        sent(
            ("POST", "/invitations"),
            "/invitations",
            json!({ "email": "guest@example.com", "send_mail": false }),
            "invitation.made",
        ),
        plain(("DELETE", "/invitations/{invitation_id}"), "/invitations/INVITATION", "invitation.withdrawn"),
        plain(("POST", "/users/{user_id}/sign-out"), "/users/ann/sign-out", "grant.ended"),
        removal(
            "/users/{user_id}/authenticators/passkeys/{passkey_id}",
            "/users/ann/authenticators/passkeys/key-1",
        ),
        removal("/users/{user_id}/authenticators/totp", "/users/ann/authenticators/totp"),
        removal("/users/{user_id}/authenticators/recovery-codes", "/users/ann/authenticators/recovery-codes"),
        removal("/users/{user_id}/authenticators", "/users/ann/authenticators"),
        plain(
            ("DELETE", "/users/{user_id}/identities/{identity_id}"),
            "/users/ann/identities/key-1",
            "identity.unlinked",
        ),
        plain(
            ("POST", "/ciba/requests/{request_id}/approve"),
            "/ciba/requests/REQUEST/approve",
            "consent.granted",
        ),
        plain(("POST", "/ciba/requests/{request_id}/deny"), "/ciba/requests/REQUEST/deny", "consent.denied"),
        plain(("DELETE", "/users/{user_id}"), "/users/ann", "user.deleted"),
        plain(("DELETE", "/clients/{client_id}"), "/clients/app", "client.deleted"),
    ]
}

/// A removal of authenticators.
fn removal(operation: &'static str, path: &'static str) -> Change {
    plain(("DELETE", operation), path, "user.authenticators_removed")
}

/// Changes of the installation. After the last ones the embedded store takes no more writes.
fn last(scene: &Scene) -> Vec<Change> {
    const REWRAP: &str = "/signing-keys/rewrap";
    const REVOKE: &str = "/signing-keys/{kid}/revoke";
    let issuer = json!({ "id": "acme", "url": format!("{}/acme", scene.server.url) });
    let key = json!({ "new_master_key_file": scene.file("key") });
    let mut all = vec![
        sent(("POST", REVOKE), "/signing-keys/KID/revoke", json!({}), "key.revoked"),
        sent(("POST", "/issuers"), "/issuers", issuer, "issuer.created"),
        sent(("POST", REWRAP), REWRAP, key, "keys.resealed"),
    ];
    // The nodes of a cluster copy nothing, and are not moved by this API.
    if !is_clustered() {
        let copy = |name: &str| json!({ "path": scene.file(name) });
        all.extend([
            sent(("POST", "/backup"), "/backup", copy("backup"), "backup.made"),
            sent(("POST", "/migration"), "/migration", copy("moved"), "migration.begun"),
            plain(("POST", "/migration/finished"), "/migration/finished", "migration.finished"),
            plain(("DELETE", "/migration"), "/migration", "migration.lifted"),
        ]);
    }
    all
}
