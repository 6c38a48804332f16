//! Records for the admin API.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use symbolon_admin as admin;
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::journal::{JournalOptions, SyncMode};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::clock::TestClock;
use crate::server::{ADMIN_SECRET, Durability, Options, app, config, embedded};

/// The operations that take a record, by method and path.
const TAKING: [(&str, &str); 23] = [
    ("POST", "/users"),
    ("PATCH", "/users/u-1"),
    ("PUT", "/users/u-1"),
    ("POST", "/users/u-1/password"),
    ("POST", "/clients"),
    ("PATCH", "/clients/app"),
    ("PUT", "/clients/app"),
    ("PATCH", "/settings"),
    ("POST", "/users/bulk"),
    ("POST", "/clients/bulk"),
    ("POST", "/sessions/bulk"),
    ("POST", "/tokens/bulk"),
    ("POST", "/refresh-tokens/bulk"),
    ("POST", "/test/sessions"),
    ("POST", "/test/tokens"),
    ("POST", "/groups"),
    ("PATCH", "/groups/staff"),
    ("POST", "/roles"),
    ("PUT", "/roles/operator"),
    ("POST", "/groups/bulk"),
    ("POST", "/roles/bulk"),
    ("POST", "/memberships/bulk"),
    ("POST", "/given-roles/bulk"),
];

/// A provider without listeners, with one user, client, group and role.
struct Provider {
    runtime: Runtime,
    router: Router,
    _directory: tempfile::TempDir,
}

static PROVIDER: LazyLock<Provider> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = config(&Options::default(), "https://op.example.com", ([127, 0, 0, 1], 1).into());
    // Nothing here outlives the process, so nothing is synced.
    let durability = Durability {
        journal: JournalOptions { sync: SyncMode::Off, ..JournalOptions::default() },
        database: DatabaseOptions { sync: false, ..DatabaseOptions::default() },
    };
    let clock = Arc::new(TestClock::default());
    let app = app(config, embedded(directory.path(), &clock, durability), &clock, 1);
    runtime.block_on(app.load_issuers()).expect("issuers");
    // Changes are answered only when their audit records are written, so the writer must run.
    let writer = Arc::clone(&app);
    runtime.spawn(async move { writer.audit.run(&*writer.store).await });
    let provider = Provider { router: admin::router(app), runtime, _directory: directory };
    let user = json!({ "id": "u-1", "email": "u-1@example.com" });
    let client = json!({
        "client_id": "app", "client_name": "App", "redirect_uris": ["https://app.example.com/cb"],
        "grant_types": ["authorization_code", "refresh_token"], "scope": "openid offline_access",
        "access_token_signed_response_alg": "ES256",
    });
    let group = json!({ "id": "staff", "name": "Staff" });
    let role = json!({ "id": "operator", "name": "Operator", "client_id": "app" });
    for (path, record) in [("/users", user), ("/clients", client), ("/groups", group), ("/roles", role)] {
        let (status, body) = provider.send("POST", path, record.to_string().into_bytes());
        assert_eq!(status, StatusCode::CREATED, "{body}");
    }
    provider
});

impl Provider {
    fn send(&self, method: &str, path: &str, body: Vec<u8>) -> (StatusCode, String) {
        let media_type = if path.ends_with("/bulk") { "application/x-ndjson" } else { "application/json" };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {ADMIN_SECRET}"))
            .header(header::CONTENT_TYPE, media_type)
            .body(Body::from(body))
            .expect("a request");
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
            let status = response.status();
            let bytes = to_bytes(response.into_body(), 64 << 20).await.expect("a body");
            (status, String::from_utf8(bytes.into()).expect("an answer in UTF-8"))
        })
    }
}

/// The first byte chooses the operation, the rest is its JSON: the record is accepted, or refused with a reason, never
/// by a server error; and what was accepted can be read.
pub fn admin_record(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else { return };
    let (method, path) = TAKING[usize::from(*kind) % TAKING.len()];
    let (status, answer) = PROVIDER.send(method, path, body.to_vec());
    assert!(status.is_success() || status.is_client_error(), "{status}: {answer}");
    if path.ends_with("/bulk") {
        for line in answer.lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_ne!(line["error"], "server_error", "{line}");
        }
        return;
    }
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    if status.is_client_error() {
        assert!(answer["error"].is_string(), "a refusal without a reason: {status} {answer}");
    }
    for (id, collection) in [
        (&answer["user"]["id"], "users"),
        (&answer["client"]["client_id"], "clients"),
        (&answer["group"]["id"], "groups"),
        (&answer["role"]["id"], "roles"),
    ] {
        if let (true, Some(id)) = (status.is_success(), id.as_str()) {
            let segment: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
            let path = format!("/{collection}/{}", segment.replace('+', "%20"));
            assert_eq!(PROVIDER.send("GET", &path, Vec::new()).0, StatusCode::OK, "{id:?} is not there");
        }
    }
}
