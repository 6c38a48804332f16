//! Every administrative change is in the audit log with who made it and what it changed, and no secret is.

pub(crate) mod operations;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use symbolon_admin::openapi_document;
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer, is_clustered};

use operations::{Body, Change, changes};

const ADMIN: &str = "Bearer an-admin-secret-for-tests";

/// Secrets that requests of the test carry. Each is long enough for a client secret.
const PASSWORD: &str = "planted-password-0123456789-0123456789";
const CLIENT_SECRET: &str = "planted-client-secret-0123456789-0123456789";
/// Its digest must not be in the log either.
const PASSWORD_HASH: &str = "$2b$04$abcdefghijklmnopqrstuuDGd5hmUS5LdvlMrKmR.m7JLqEq1yQ1G";
const MASTER_KEY: &str = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f";

pub(crate) struct Scene {
    pub(crate) server: TestServer,
    files: tempfile::TempDir,
    /// What answers gave out and nobody may find in the log.
    secrets: Vec<String>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        std::fs::write(files.path().join("key"), MASTER_KEY).unwrap();
        let options = Options::default().env("SYMBOLON_BACKUP_DIR", files.path().to_str().unwrap());
        let server = TestServer::start_with(options.one_node());
        let secrets = [PASSWORD, CLIENT_SECRET, PASSWORD_HASH, MASTER_KEY].map(str::to_owned).to_vec();
        Self { server, files, secrets }
    }

    fn file(&self, name: &str) -> String {
        self.files.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn send(&mut self, change: &Change) -> Answer {
        let (media_type, body) = match &change.body {
            Body::None => ("application/json", String::new()),
            Body::Json(body) => ("application/json", body.to_string()),
            Body::Svg(svg) => ("image/svg+xml", (*svg).to_owned()),
            Body::Lines(lines) => {
                ("application/x-ndjson", lines.iter().map(|line| format!("{line}\n")).collect())
            }
        };
        let headers = [("authorization", ADMIN), ("content-type", media_type)];
        let browser = Browser::new(&self.server.management);
        let path = format!("/api/admin{}", change.path);
        let answer = browser.send(change.operation.0, &path, &headers, body.as_bytes());
        for line in answer.body.lines() {
            if let Ok(line) = serde_json::from_str(line) {
                self.remember(&line);
            }
        }
        answer
    }

    /// Keeps every secret of an answer.
    fn remember(&mut self, answer: &Value) {
        const NAMES: [&str; 6] = [
            "client_secret",
            "session_id",
            "access_token",
            "refresh_token",
            "cookie_value",
            "initial_access_token",
        ];
        match answer {
            Value::Object(members) => {
                for (name, value) in members {
                    if let (true, Some(secret)) = (NAMES.contains(&name.as_str()), value.as_str()) {
                        self.secrets.push(secret.to_owned());
                    }
                    self.remember(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.remember(item)),
            _ => {}
        }
    }

    fn records(&self, event: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let path = format!("/audit-logs?limit=100&page={page}&event={event}");
            let found = self.server.admin("GET", &path, None).json();
            let records = found["audit_logs"].as_array().unwrap();
            if records.is_empty() {
                break;
            }
            all.extend(records.iter().cloned());
        }
        all
    }

    /// Makes a change; the members that its records tell of.
    fn make(&mut self, change: &Change) -> Value {
        let named = format!("{} {}", change.operation.0, change.operation.1);
        let before = self.records(change.event);
        let answer = self.send(change);
        assert!((200..300).contains(&answer.status), "{named}: {answer:?}");
        assert!(!answer.body.contains("error_description"), "{named}: {answer:?}");
        // An acknowledged change is in the log: nothing is waited for.
        let mut records = self.records(change.event);
        records.retain(|record| !before.contains(record));
        assert!(!records.is_empty(), "{named}: no {}", change.event);
        for record in &records {
            assert_eq!(record["actor"], "admin", "{named}: {record}");
            assert!(record["address"].is_string() && record["request"].is_string(), "{named}: {record}");
        }
        let told = records.iter().map(|record| record["detail"]["changes"].clone());
        let told: Vec<Value> = told.filter(|changes| changes != &Value::Null).collect();
        assert!(!told.is_empty() && told.iter().all(is_told), "{named}: {records:?}");
        told.into_iter().next().unwrap()
    }
}

/// Whether each member of a list of changes has two different values, or is said to have changed.
fn is_told(changes: &Value) -> bool {
    let changes = changes.as_object().expect("an object");
    let differs = |told: &Value| told["changed"] == true || told["from"] != told["to"] || told["cut"] == true;
    !changes.is_empty() && changes.values().all(differs)
}

#[test]
fn every_change_is_recorded_with_who_made_it_and_what_changed_and_no_secret_is() {
    let mut scene = Scene::new();
    let mut made = BTreeSet::new();
    for mut change in changes(&scene) {
        prepare(&mut scene, &mut change);
        let told = scene.make(&change);
        let (method, path) = change.operation;
        check(path, method, &told);
        made.insert(format!("{method} {path}"));
    }
    assert_eq!(made, documented(), "the list of this test and that of the admin API differ");
    let log: String = symbolon_protocol::event::Event::ALL
        .iter()
        .flat_map(|event| scene.records(event.name()))
        .map(|record| format!("{record}\n"))
        .collect();
    assert!(scene.secrets.len() > 8 && log.len() > 10_000, "{}", log.len());
    for secret in &scene.secrets {
        assert!(!log.contains(&**secret), "the log has a secret: {secret}");
    }
    assert!(!log.contains("planted"), "the log has a part of a secret");
}

/// Everything that changes something, by the document that is made from the list of operations.
pub(crate) fn documented() -> BTreeSet<String> {
    let document = openapi_document();
    let paths = document["paths"].as_object().unwrap();
    let of_cluster_too =
        |path: &str| !is_clustered() || !matches!(path, "/backup" | "/migration" | "/migration/finished");
    paths
        .iter()
        .filter(|(path, _)| of_cluster_too(path) && !(path.starts_with("/issuers/{issuer}/")))
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| (method, path)))
        .filter(|(method, _)| *method != "get")
        .map(|(method, path)| format!("{} {path}", method.to_uppercase()))
        .collect()
}

/// Puts in what only the server knows, and makes what the change ends.
pub(crate) fn prepare(scene: &mut Scene, change: &mut Change) {
    let server = &scene.server;
    match change.operation.1 {
        "/sessions/{sid}" => {
            let sessions = server.admin("GET", "/users/ann/sessions", None).json();
            let sid = sessions["sessions"][0]["sid"].as_str().unwrap();
            change.path = change.path.replace("SID", sid);
        }
        "/signing-keys/{kid}/revoke" => {
            let keys = server.admin("GET", "/signing-keys", None).json();
            let active = keys["keys"].as_array().unwrap().iter().find(|key| key["state"] == "active");
            change.path = change.path.replace("KID", active.unwrap()["kid"].as_str().unwrap());
        }
        "/users/{user_id}/grants/{client_id}"
        | "/users/{user_id}/grants"
        | "/users/{user_id}/consents/{client_id}" => {
            allow(server);
        }
        path if path.starts_with("/users/{user_id}/authenticators") => {
            scene.secrets.extend(crate::authenticators::enrol(server, "ann"));
        }
        "/users/{user_id}/identities/{identity_id}" => {
            crate::upstream::identities::connect(server, "ann", "key-1");
        }
        "/users/{user_id}/sign-out" => {
            let session = json!({ "user_id": "ann" });
            assert_eq!(server.admin("POST", "/test/sessions", Some(session)).status, 201);
        }
        "/invitations" => {
            let open = json!({ "registration": "invited" });
            assert_eq!(server.admin("PATCH", "/settings", Some(open)).status, 200);
        }
        "/invitations/{invitation_id}" => {
            let made = json!({ "email": "other-guest@example.com", "send_mail": false });
            let made = server.admin("POST", "/invitations", Some(made)).json();
            change.path = change.path.replace("INVITATION", made["invitation"]["id"].as_str().unwrap());
            scene.secrets.push(made["link"].as_str().unwrap().to_owned());
        }
        "/ciba/requests/{request_id}/approve" | "/ciba/requests/{request_id}/deny" => {
            let id = crate::ciba::ask(&crate::ciba::till(server, json!({})), "ann@example.com");
            change.path = change.path.replace("REQUEST", crate::ciba::request_of(&id));
            scene.secrets.push(id);
        }
        "/test/tokens" => {
            let (token, client_secret) = registered_token(server);
            scene.secrets.extend([token["token"].as_str().unwrap().to_owned(), client_secret]);
            change.body = Body::Json(token);
        }
        _ => {}
    }
}

/// Remembers a consent, as the consent page would.
fn allow(server: &TestServer) {
    use symbolon_protocol::consent::Consent;
    use symbolon_protocol::id::{ClientId, IssuerId, UserId};
    use symbolon_protocol::scope::Scope;
    let consent = Consent::new(Scope::parse("openid").unwrap(), server.now());
    let (issuer, user, client) =
        (IssuerId::default_issuer(), UserId::trusted("ann"), ClientId::trusted("app"));
    assert!(server.block_on(server.app.store.allow(&issuer, &user, &client, consent.into())).unwrap());
}

/// A token with a `jti`, as scripts register them: its signature is not looked at. Also the secret of its client.
fn registered_token(server: &TestServer) -> (Value, String) {
    let rp = RelyingParty::register(server, json!({}));
    let token = rp.token(&[("grant_type", "client_credentials")]).json()["access_token"].clone();
    let token = json!({ "token": token, "userId": "ann", "clientId": "app", "scope": "openid", "ttl": 60 });
    (token, rp.client_secret.unwrap())
}

/// What some of the changes must say, word by word.
fn check(path: &str, method: &str, told: &Value) {
    let (from_to, changed) =
        (|from: Value, to: Value| json!({ "from": from, "to": to }), json!({ "changed": true }));
    match (method, path) {
        ("POST", "/clients" | "/clients/bulk") => {
            assert_eq!(told["redirect_uris"], from_to(Value::Null, json!(["https://rp.example/cb"])));
            assert_eq!(told["client_secrets"], changed);
        }
        ("PUT", "/clients/{client_id}") => {
            assert_eq!(told, &json!({ "client_name": from_to(json!("App"), json!("Renamed")) }));
        }
        ("PATCH", "/clients/{client_id}") => {
            let lifetime = from_to(Value::Null, json!(9));
            assert_eq!(told, &json!({ "client_secrets": changed, "settings.code_lifetime": lifetime }));
        }
        ("POST", "/clients/{client_id}/regenerate-secret") => {
            assert_eq!(told, &json!({ "client_secrets": changed }));
        }
        ("PATCH", "/users/{user_id}") => {
            assert_eq!(told, &json!({ "address.country": from_to(Value::Null, json!("AT")) }));
        }
        ("POST", "/users/{user_id}/password") => assert_eq!(told, &json!({ "password": changed })),
        ("DELETE", "/users/{user_id}") => {
            assert_eq!(told["email"], from_to(json!("ann@example.com"), Value::Null));
            assert!(told.get("name").is_none(), "{told}");
        }
        ("PATCH", "/settings") => {
            assert_eq!(told, &json!({ "lifetimes.code": from_to(json!(60), json!(30)) }));
        }
        ("PUT", "/branding/logo" | "/clients/{client_id}/logo") => {
            assert_eq!(told["logo.media_type"], from_to(Value::Null, json!("image/svg+xml")));
            assert!(told["logo.digest"]["to"].is_string(), "{told}");
        }
        ("DELETE", "/branding/logo" | "/clients/{client_id}/logo") => {
            assert_eq!(told["logo.media_type"], from_to(json!("image/svg+xml"), Value::Null));
        }
        ("PUT", "/settings/code-shards") => assert_eq!(told["shards"]["to"], 4),
        ("DELETE", "/users/{user_id}/authenticators/totp") => {
            assert!(told["totp.added_at"]["from"].is_number() && told["totp.added_at"]["to"].is_null());
        }
        ("DELETE", "/users/{user_id}/authenticators/recovery-codes") => {
            assert_eq!(told, &json!({ "recovery_codes": from_to(json!(2), json!(0)) }));
        }
        ("DELETE", "/users/{user_id}/consents/{client_id}") => {
            assert_eq!(told["consent.scope"], from_to(json!("openid"), Value::Null));
        }
        ("POST", "/given-roles/bulk") => {
            let given = json!({
                "role_id": from_to(Value::Null, json!("r1")), "user_id": from_to(Value::Null, json!("bob")),
            });
            assert_eq!(told, &given);
        }
        ("POST", "/ciba/requests/{request_id}/approve") => {
            assert_eq!(told["decision"], from_to(Value::Null, json!("approved")));
        }
        _ => {}
    }
}

/// A list of redirect URIs that is too long to be told whole still shows the one that was added.
#[test]
fn a_long_list_tells_what_was_added_to_it() {
    let server = TestServer::start();
    let mut uris: Vec<String> = (0..200).map(|n| format!("https://rp.example/callback/{n}")).collect();
    RelyingParty::register(&server, json!({ "client_id": "app", "redirect_uris": uris }));
    uris.push("https://evil.example/".to_owned());
    let changed = server.admin("PATCH", "/clients/app", Some(json!({ "redirect_uris": uris })));
    assert_eq!(changed.status, 200, "{changed:?}");
    let found = server.admin("GET", "/audit-logs?event=client.updated", None).json();
    let told = &found["audit_logs"][0]["detail"]["changes"]["redirect_uris"];
    assert_eq!(told, &json!({ "from": [], "to": ["https://evil.example/"], "cut": true }));
}
