//! Fills a store of each kind with the binary of an earlier build, and keeps it for the upgrade tests.
//!
//! `cargo run -p symbolon-testkit --example make_upgrade_fixture -- PATH/TO/symbolon DIRECTORY`;
//! `crates/testkit/tests/fixtures/upgrade/make` builds the binary and calls it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a tool of the tests: a failure is a failed fixture"
)]

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_store_cluster::engines;
use symbolon_testkit::drill::{Launch, Provider};
use symbolon_testkit::upgrade::{
    CALLBACK, FixtureContents, HOST, Holder, IssuedCredentials, MASTER_KEY, Pair, REDIS_PREFIX, copied_redis,
    pack,
};
use symbolon_testkit::{Browser, Signing};

const PASSWORD: &str = "correct horse battery";

/// Users besides Ann: id, e-mail address, user name, password. Some texts use composed characters, others decomposed
/// ones.
const USERS: [(&str, &str, &str, &str); 3] = [
    ("zoe", "Zoe\u{308}@example.com", "Zoe\u{308}", "pa\u{308}sswort fu\u{308}r zoe"),
    ("rene-composed", "ren\u{e9}@example.com", "Ren\u{e9}", "the composed battery"),
    ("rene-decomposed", "rene\u{301}@example.com", "Rene\u{301}", "the decomposed battery"),
];

fn main() {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (binary, to) = (arguments.next().expect("a binary"), arguments.next().expect("a directory"));
    embedded(&binary, &to.join("embedded"));
    cluster(&binary, &to.join("cluster"));
}

fn launch(binary: &Path, directory: &Path) -> Launch {
    let launch = Launch::new(binary, &directory.join("data"), &directory.join("log"));
    launch
        .of_issuer(&format!("http://{HOST}"))
        .env("SYMBOLON_MASTER_KEY", MASTER_KEY)
        .env("SYMBOLON_SESSION_COOKIE", "symbolon_session")
}

fn embedded(binary: &Path, to: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let launch = launch(binary, directory.path());
    let left = left(&launch, Provider::kill);
    std::fs::create_dir_all(to).unwrap();
    pack(directory.path(), &to.join("data.tar.gz"));
    left.write(to);
}

fn cluster(binary: &Path, to: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let engines = engines::shared();
    engines.postgres.create_database("upgrade");
    let launch = launch(binary, directory.path())
        .env("SYMBOLON_STORE", "cluster")
        .env("SYMBOLON_POSTGRES_URL", &engines.postgres.url("upgrade"))
        .env("SYMBOLON_REDIS_URLS", &engines.redis.urls())
        .env("SYMBOLON_REDIS_PREFIX", REDIS_PREFIX);
    let left = left(&launch, Provider::stop);
    std::fs::create_dir_all(to).unwrap();
    std::fs::write(to.join("postgres.sql"), engines.postgres.dump("upgrade")).unwrap();
    std::fs::write(to.join("redis.jsonl"), copied_redis(&engines.redis, REDIS_PREFIX)).unwrap();
    left.write(to);
}

/// Fills a store in two runs, so that it contains both what a stop flushed and what was written last.
fn left(launch: &Launch, end: fn(&mut Provider)) -> FixtureContents {
    let mut provider = launch.start().unwrap();
    let admin = Admin { base: launch.base() };
    admin.post("/issuers", json!({ "id": "tenant", "url": format!("http://{HOST}/tenant") }));
    let begun = [
        Begun::new(&admin, "", "", "symbolon_session"),
        Begun::new(&admin, "/tenant", "/issuers/tenant", "symbolon_session_tenant"),
    ];
    provider.stop();
    provider = launch.start().unwrap();
    let held = begun.into_iter().map(|begun| begun.finish(&admin)).collect();
    // Waits for the audit log, which is written a moment later.
    admin.wait_for_audit();
    end(&mut provider);
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    println!("filled by {}", launch.binary.display());
    FixtureContents { at: at.as_millis() as u64, held }
}

struct Admin {
    base: String,
}

impl Admin {
    fn send(&self, method: &str, path: &str, body: &str) -> Value {
        let bearer = format!("Bearer {}", symbolon_testkit::drill::ADMIN_SECRET);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let path = format!("/api/admin{path}");
        let answer = Browser::new(&self.base).asking_for(HOST).send(method, &path, &headers, body.as_bytes());
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, &body.to_string())
    }

    fn wait_for_audit(&self) {
        for _ in 0..100 {
            let found = self.send("GET", "/issuers/tenant/audit-logs?event=session.ended", "");
            if found["audit_logs"].as_array().is_some_and(|records| !records.is_empty()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("no audit record");
    }
}

/// An issuer after the first run.
struct Begun {
    holder: Holder,
    held: IssuedCredentials,
    signer: Signing,
}

impl Begun {
    fn new(admin: &Admin, path: &str, admin_path: &str, cookie: &str) -> Self {
        let at = |rest: &str| format!("{admin_path}{rest}");
        let client = |id: &str, method: &str, scope: &str, skip_consent: bool| {
            json!({
                "client_id": id, "client_name": id, "redirect_uris": [CALLBACK], "scope": scope,
                "grant_types": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_method": method, "skip_consent": skip_consent,
            })
        };
        let app = client("app", "client_secret_post", "openid email offline_access", false);
        let app = admin.post(&at("/clients"), app);
        admin.post(&at("/clients"), client("web", "none", "openid email", true));
        let signer = Signing::generate(Algorithm::Es256);
        let job = json!({
            "client_id": "job", "client_name": "job", "grant_types": ["client_credentials"], "scope": "jobs",
            "token_endpoint_auth_method": "private_key_jwt", "jwks": signer.jwks(),
        });
        admin.post(&at("/clients"), job);
        admin.send("PATCH", &at("/settings"), r#"{"lifetimes":{"access_token":7200}}"#);
        let ann = admin.post(&at("/users"), json!({ "email": "ann@example.com", "password": PASSWORD }));
        for (id, email, name, password) in USERS {
            let user = json!({ "id": id, "email": email, "preferred_username": name, "password": password });
            admin.post(&at("/users"), user);
        }

        let holder = Holder::new(&admin.base, path, app["client"]["client_secret"].as_str().unwrap());
        let browser = holder.browser();
        let sign_in = |client| holder.sign_in(&browser, client, "ann@example.com", PASSWORD).unwrap();
        let of_revoked_key = sign_in("web");
        admin.post(&at("/signing-keys/emergency-rotate"), json!({ "reason": "a test of what was revoked" }));
        let before_rotation = sign_in("web");
        admin.post(&at("/signing-keys/rotate"), json!({}));
        let offline = sign_in("app");
        let held = IssuedCredentials {
            path: path.to_owned(),
            admin: admin_path.to_owned(),
            cookie: cookie.to_owned(),
            session: browser.cookie(cookie).unwrap(),
            ann: ann["user"]["id"].as_str().unwrap().to_owned(),
            secret: app["client"]["client_secret"].as_str().unwrap().to_owned(),
            offline: offline.clone(),
            online: offline.clone(),
            before_rotation,
            of_revoked_key,
            revoked: offline.clone(),
            of_ended_session: offline,
            assertion: String::new(),
        };
        Self { holder, held, signer }
    }

    fn finish(self, admin: &Admin) -> IssuedCredentials {
        let Self { holder, mut held, signer } = self;
        let browser = holder.browser();
        browser.set_cookie(&held.cookie, &held.session);
        let silent = |client| holder.silent(&browser, client).unwrap();
        held.offline = Holder::pair(&holder.refresh("app", &held.offline.refresh));
        held.online = silent("web");
        held.revoked = silent("app");
        for token in [&held.revoked.access, &held.revoked.refresh] {
            assert_eq!(holder.post("app", "/revoke", &[("token", token)]).status, 200);
        }
        held.of_ended_session = end_a_session(&holder, &held, admin);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let audience = format!("http://{HOST}{}", held.path);
        held.assertion =
            signer.assertion("job", &audience, &format!("used{}", held.path.replace('/', "-")), now);
        assert_eq!(holder.use_assertion(&held.assertion).status, 200);
        held
    }
}

/// The tokens of a client from another session, which an administrator has ended.
fn end_a_session(holder: &Holder, held: &IssuedCredentials, admin: &Admin) -> Pair {
    let listed = |admin: &Admin| {
        let sessions = admin.send("GET", &format!("{}/users/{}/sessions", held.admin, held.ann), "");
        let sid = |session: &Value| session["sid"].as_str().unwrap().to_owned();
        sessions["sessions"].as_array().unwrap().iter().map(sid).collect::<Vec<_>>()
    };
    let before = listed(admin);
    let other = holder.sign_in(&holder.browser(), "web", "ann@example.com", PASSWORD).unwrap();
    let new = listed(admin).into_iter().find(|sid| !before.contains(sid)).unwrap();
    admin.send("DELETE", &format!("{}/sessions/{new}", held.admin), "");
    other
}
