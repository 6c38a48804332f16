//! `symbolon store migrate`: a provider moves to the cluster store and back, and those who use it need not notice.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use symbolon_store_cluster::engines;
use symbolon_testkit::Browser;

use crate::place::Place;

const MASTER: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const PASSWORD: &str = "correct horse battery";
const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";
const CLIENT: &str = "app";
const CALLBACK: &str = "https://a.example/cb";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const QUIET: (&str, &str) = ("SYMBOLON_RATE_LIMITS", "off");

/// What an application and a browser have in their hands.
struct Held {
    secret: String,
    session: String,
    access: String,
    refresh: String,
    revoked_access: String,
    revoked_refresh: String,
    /// Another user's.
    of_bob: String,
}

fn browser(place: &Place) -> Browser {
    Browser::new(&format!("http://{}", place.listen()))
}

fn authorize(prompt: &str) -> String {
    format!(
        "/authorize?client_id={CLIENT}&response_type=code&scope=openid%20offline_access&redirect_uri={CALLBACK}\
         &code_challenge={CHALLENGE}&code_challenge_method=S256{prompt}"
    )
}

/// The browser after Ann signed in with the password.
fn signed_in(place: &Place) -> Browser {
    signed_in_as(place, ANN)
}

fn signed_in_as(place: &Place, email: &str) -> Browser {
    let browser = browser(place);
    let to_login = browser.get(&authorize("")).location();
    let page = browser.get(to_login.strip_prefix("http://issuer.test").unwrap_or(&to_login));
    let hidden = |name| page.field(name).unwrap();
    let (transaction, csrf_token) = (hidden("transaction"), hidden("csrf_token"));
    let who = [("username", email), ("password", PASSWORD)];
    let form = [("transaction", &*transaction), ("csrf_token", &csrf_token)];
    let answer = browser.post("/login", &[&form[..], &who].concat());
    assert_eq!(answer.status, 303, "{answer:?}");
    browser
}

impl Held {
    fn form<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        [&[("client_id", CLIENT), ("client_secret", self.secret.as_str())][..], more].concat()
    }

    /// An access and a refresh token of the session, by silent authentication.
    fn tokens(&self, place: &Place, browser: &Browser) -> (String, String) {
        let answer = browser.get(&authorize("&prompt=none"));
        let code = answer.redirected("code").unwrap_or_else(|| panic!("{answer:?}"));
        let grant = [("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", CALLBACK)];
        let form = self.form(&[&grant[..], &[("code_verifier", VERIFIER)]].concat());
        Self::both(&self.post(place, "/token", &form))
    }

    fn both(answer: &symbolon_testkit::Answer) -> (String, String) {
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = answer.json();
        let member = |name: &str| body[name].as_str().unwrap().to_owned();
        (member("access_token"), member("refresh_token"))
    }

    fn post(&self, place: &Place, path: &str, form: &[(&str, &str)]) -> symbolon_testkit::Answer {
        browser(place).post(path, form)
    }

    fn refreshed(&self, place: &Place, token: &str) -> symbolon_testkit::Answer {
        let form = self.form(&[("grant_type", "refresh_token"), ("refresh_token", token)]);
        self.post(place, "/token", &form)
    }

    fn user_info(&self, place: &Place, token: &str) -> u16 {
        browser(place).get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))]).status
    }

    fn is_active(&self, place: &Place, token: &str) -> bool {
        let answer = self.post(place, "/introspect", &self.form(&[("token", token)]));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["active"].as_bool().unwrap()
    }

    fn browser(&self, place: &Place) -> Browser {
        let browser = browser(place);
        browser.set_cookie("symbolon_session", &self.session);
        browser
    }

    /// A user, a client, a session, tokens, a family in its second version, and what was revoked of each.
    fn plant(place: &Place) -> Self {
        for email in [ANN, BOB] {
            place.run_with(&["user", "create", "--email", email], &[], &format!("{PASSWORD}\n")).good();
        }
        let client = json!({
            "client_name": "App",
            "client_id": CLIENT,
            "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "client_secret_post",
            "scope": "openid offline_access",
            "skip_consent": true,
        });
        let (status, made) = place.admin("POST", "/clients", &client.to_string());
        assert_eq!(status, 201, "{made}");
        let secret = made["client"]["client_secret"].as_str().unwrap().to_owned();
        let none = String::new;
        let mut held = Self {
            secret,
            session: none(),
            access: none(),
            refresh: none(),
            revoked_access: none(),
            revoked_refresh: none(),
            of_bob: none(),
        };
        let browser = signed_in(place);
        held.session = browser.cookie("symbolon_session").unwrap();
        let (access, first) = held.tokens(place, &browser);
        (held.access, held.refresh) = (access, Self::both(&held.refreshed(place, &first)).1);
        (held.revoked_access, held.revoked_refresh) = held.tokens(place, &browser);
        held.of_bob = held.tokens(place, &signed_in_as(place, BOB)).1;
        for token in [&held.revoked_access, &held.revoked_refresh] {
            let answer = held.post(place, "/revoke", &held.form(&[("token", token)]));
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        held
    }

    /// What reads say: the same of a store that takes no writes.
    fn check_reads(&self, place: &Place) {
        assert_eq!(self.user_info(place, &self.access), 200);
        assert_eq!(self.user_info(place, &self.revoked_access), 401);
        assert!(self.is_active(place, &self.access) && !self.is_active(place, &self.revoked_access));
    }

    fn check_refused_writes(&self, place: &Place) {
        self.check_reads(place);
        let refused = self.refreshed(place, &self.refresh);
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
        let silent = self.browser(place).get(&authorize("&prompt=none"));
        assert_eq!(silent.status, 503, "{silent:?}");
        let ready = Place::ask(&place.management(), "GET /readyz HTTP/1.1", "");
        assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
        let (status, told) = place.admin("DELETE", &format!("/clients/{CLIENT}"), "");
        assert_eq!(status, 503, "{told}");
    }

    /// What the client has of a user is listed, and ends by signing the user out.
    fn check_sign_out(&self, place: &Place, email: &str, refresh: &str) {
        let (_, listed) = place.admin("GET", &format!("/users?email={email}"), "");
        let user = format!("/users/{}", listed["users"][0]["id"].as_str().unwrap());
        let (status, listed) = place.admin("GET", &format!("{user}/grants"), "");
        assert_eq!((status, listed["grants"][0]["client_id"].as_str()), (200, Some(CLIENT)), "{listed}");
        let (status, told) = place.admin("POST", &format!("{user}/sign-out"), "{}");
        assert_eq!(status, 204, "{told}");
        let refused = self.refreshed(place, refresh);
        assert_eq!((refused.status, refused.error()), (400, "invalid_grant".to_owned()), "of {email}");
        let (_, listed) = place.admin("GET", &format!("{user}/grants"), "");
        assert_eq!(listed["grants"], json!([]), "of {email}");
    }

    /// Everything goes on; afterwards the refresh token is the next one.
    fn check_all(&mut self, place: &Place) {
        self.check_reads(place);
        assert_eq!(self.refreshed(place, &self.revoked_refresh).status, 400);
        let (access, refresh) = Self::both(&self.refreshed(place, &self.refresh));
        assert_eq!(self.user_info(place, &access), 200);
        self.refresh = refresh;
        self.tokens(place, &self.browser(place));
        signed_in(place);
    }
}

struct Cluster {
    postgres: String,
    redis: String,
}

impl Cluster {
    fn new(database: &str) -> Self {
        let engines = engines::shared();
        engines.postgres.create_database(database);
        Self { postgres: engines.postgres.url(database), redis: engines.redis.urls() }
    }

    fn env<'a>(&'a self, store: &'a str, data: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("SYMBOLON_STORE", store),
            ("SYMBOLON_DATA_DIR", data),
            ("SYMBOLON_POSTGRES_URL", &self.postgres),
            ("SYMBOLON_REDIS_URLS", &self.redis),
            ("SYMBOLON_REDIS_PREFIX", "migrated"),
            ("SYMBOLON_MASTER_KEY", MASTER),
            QUIET,
        ]
    }
}

/// Moves while the source answers; the counts.
fn moved(place: &Place, to: &str, env: &[(&str, &str)], held: &Held) -> serde_json::Value {
    let done = AtomicBool::new(false);
    // The place itself stays on this thread: it is not to be shared.
    let mut command = place.command(&["store", "migrate", "--to", to, "--json"], env);
    std::thread::scope(|scope| {
        let moving = scope.spawn(|| {
            let output = command.output().unwrap();
            done.store(true, Ordering::Release);
            output
        });
        while !done.load(Ordering::Acquire) {
            assert_eq!(held.user_info(place, &held.access), 200, "while it moves");
        }
        let output = moving.join().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("sessions") && told.contains("comparing"), "{told}");
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

fn count(moved: &serde_json::Value, class: &str) -> [u64; 2] {
    let rows = moved["records"].as_array().unwrap();
    let row = rows.iter().find(|row| row["class"] == class).unwrap();
    ["source", "target"].map(|side| row[side].as_u64().unwrap())
}

#[test]
fn a_provider_moves_to_the_cluster_and_back_while_it_answers() {
    let cluster = Cluster::new("migrated");
    let old = Place::new();
    // With a master key of its own beside the data.
    let server = old.serve(&[QUIET]);
    let mut held = Held::plant(&old);
    held.check_reads(&old);
    // Whatever store is configured, the settings of both are there.
    let told = moved(&old, "cluster", &cluster.env("cluster", "data"), &held);
    for (class, expected) in [("issuers", 1), ("clients", 1), ("users", 2), ("sessions", 2), ("families", 2)]
    {
        assert_eq!(count(&told, class), [expected; 2], "{class} of {told}");
    }
    assert!(count(&told, "revocations")[0] >= 2 && count(&told, "audit")[0] > 0, "{told}");
    held.check_refused_writes(&old);
    drop(server);
    assert!(!old.path("data.snapshot").exists());
    let refused = old.run(&["keys", "list"]).bad(1);
    assert!(refused.contains("was moved to another store"), "{refused}");

    let node = Place::new();
    let server = node.serve(&cluster.env("cluster", "data"));
    held.check_all(&node);
    held.check_sign_out(&node, BOB, &held.of_bob);
    let refused =
        node.run_with(&["store", "migrate", "--to", "cluster"], &cluster.env("cluster", "gone"), "");
    assert!(refused.bad(2).contains("there is no data directory"));

    moved(&node, "embedded", &cluster.env("cluster", "back"), &held);
    held.check_refused_writes(&node);
    drop(server);
    let refused = node.run_with(&["keys", "list"], &cluster.env("cluster", "data"), "").bad(1);
    assert!(refused.contains("this store was moved to another one"), "{refused}");
    let thaw = node.run_with(&["store", "thaw"], &cluster.env("cluster", "data"), "").bad(2);
    assert!(thaw.contains("--force"), "{thaw}");

    let env = [("SYMBOLON_DATA_DIR", "back"), ("SYMBOLON_MASTER_KEY", MASTER), QUIET];
    let server = node.serve(&env);
    held.check_all(&node);
    // The engines are not empty, which costs the store in use nothing.
    let refused =
        node.run_with(&["store", "migrate", "--to", "cluster"], &cluster.env("cluster", "back"), "");
    let refused = refused.bad(1);
    assert!(refused.contains("is not empty"), "{refused}");
    held.check_all(&node);
    held.check_sign_out(&node, ANN, &held.refresh);
    drop(server);
    node.run_with(&["store", "thaw", "--force"], &cluster.env("cluster", "data"), "").good();
    node.run_with(&["keys", "list"], &cluster.env("cluster", "data"), "").good();
}

#[test]
fn a_store_that_nobody_holds_is_moved_and_one_that_was_left_frozen_is_thawed() {
    let cluster = Cluster::new("migrated_cold");
    let place = Place::new();
    drop(place.serve(&[]));
    let mut wrong = cluster.env("embedded", "data");
    wrong.push(("SYMBOLON_REDIS_PREFIX", "cold"));
    wrong.retain(|(name, _)| *name != "SYMBOLON_MASTER_KEY");
    // Its own key is gone: what is sealed cannot be opened.
    let kept = std::fs::read(place.path("data/master.key")).unwrap();
    std::fs::remove_file(place.path("data/master.key")).unwrap();
    let with_key = [&wrong[..], &[("SYMBOLON_MASTER_KEY", MASTER)]].concat();
    let told = place.run_with(&["store", "migrate", "--to", "cluster"], &with_key, "").bad(1);
    assert!(told.contains("sealed under the master key") && told.contains("store thaw"), "{told}");
    std::fs::write(place.path("data/master.key"), kept).unwrap();
    let node = [&with_key[..], &[("SYMBOLON_STORE", "cluster")]].concat();
    let unfinished = place.run_with(&["keys", "list"], &node, "").bad(1);
    assert!(unfinished.contains("not finished"), "{unfinished}");

    let create =
        ["client", "create", "--name", "X", "--client-id", "x", "--grant-type", "client_credentials"];
    let frozen = place.run(&create).bad(1);
    assert!(frozen.contains("503"), "{frozen}");
    place.run(&["store", "thaw"]).good();
    place.run(&create).good();
    let told = place.run_with(&["store", "migrate", "--to", "cluster", "--json"], &with_key, "").json();
    assert_eq!(count(&told, "clients"), [1, 1]);
    let listed = place.run_with(&["client", "list", "--json"], &node, "").json();
    assert_eq!(listed[0]["client_id"], "x");
}
