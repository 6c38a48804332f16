//! Shards, keys, and what concerns the whole installation.

use serde_json::json;

use super::{
    Schemas, algorithm, bulk_of, extended, flag, list, number, object, optional, seconds, secret, text, time,
    without_effect,
};

pub(super) fn shards() -> Schemas {
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

pub(super) fn keys() -> Schemas {
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

pub(super) fn installation() -> Schemas {
    let backup = [("path", text()), ("commit", number()), ("records", number()), ("bytes", number())];
    let rewrapped = [("master_key", text()), ("issuers", number()), ("keys", number())];
    vec![
        ("NewBackup", object(&["path"], &[("path", text())])),
        ("Backup", object(&["path", "commit", "records", "bytes"], &backup)),
        ("NewMasterKey", object(&["new_master_key_file"], &[("new_master_key_file", text())])),
        ("Rewrapped", object(&["master_key", "issuers", "keys"], &rewrapped)),
    ]
}

pub(super) fn load_tests() -> Schemas {
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
