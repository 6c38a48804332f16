//! Addresses that others name and this server calls (server-side request forgery): each place that calls one, with each trick.
//!
//! `crates/outbound` looks a name up, checks what it stands for, and connects; its own tests have more spellings of private addresses, and names
//! that change between check and call. Here stands that no place goes another way.

mod places;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use symbolon_config::{Config, Sources};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{ADMIN_SECRET, Options, RelyingParty, Signing, TestServer};

use crate::upstream::fake::{DRIPS, ENDLESS, Fake};
use crate::upstream::options;
use places::{LOGOUT, PING, PLACES, Place};

/// What is sent at most before somebody notices that nobody reads it: the buffers of both ends of a connection.
const BUFFERS: usize = 32 << 20;
/// How many places are tried at once.
const AT_ONCE: usize = 6;

/// A server, and the server of those who name addresses.
struct Visit {
    server: TestServer,
    fake: Fake,
    key: Signing,
    /// Where the address of the place is; the others are addresses of `fake`.
    target: String,
}

impl Visit {
    /// The server may call private addresses, and `fake` has everything.
    fn new() -> Self {
        Self::with(options(), None)
    }

    /// `target`: another place than that of `fake`.
    fn with(options: Options, target: Option<String>) -> Self {
        let key = Signing::generate(Algorithm::Es256);
        let fake = Fake::start(&key.jwks());
        let target = target.unwrap_or_else(|| fake.issuer.clone());
        Self { server: TestServer::start_with(options.one_node()), fake, key, target }
    }

    /// The address of a path.
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.target)
    }

    /// From the next request to this path on, private addresses may not be called.
    fn closes_at(&self, path: &str) {
        let set = [
            ("SYMBOLON_ISSUER", &*self.server.issuer),
            ("SYMBOLON_ADMIN_SECRET", ADMIN_SECRET),
            ("SYMBOLON_RATE_LIMITS", "off"),
        ];
        let env = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter();
        let closed = Arc::new(Config::load(Sources { file: None, env, flags: Vec::new() }).unwrap());
        let app = Arc::downgrade(&self.server.app);
        self.fake.on_request(path, move || {
            if let Some(app) = app.upgrade() {
                app.config.store(Arc::clone(&closed));
            }
        });
    }
}

/// A port at which calls are counted.
struct Trap {
    port: u16,
    called: Arc<AtomicUsize>,
}

impl Trap {
    fn set() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let called = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&called);
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, called }
    }
}

/// Does this with every place, some at once.
fn everywhere(check: impl Fn(&Place) + Sync) {
    let check = &check;
    for some in PLACES.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for place in some {
                scope.spawn(move || check(place));
            }
        });
    }
}

/// Without this, the others would say nothing.
#[test]
fn what_is_there_is_used() {
    everywhere(|place| {
        let visit = Visit::new();
        let asking = (place.prepare)(&visit);
        assert!(asking(&visit), "{}", place.name);
        assert!(!visit.fake.requests(place.path).is_empty(), "{}: not asked", place.name);
    });
}

#[test]
fn no_redirect_is_followed() {
    everywhere(|place| {
        let visit = Visit::new();
        let asking = (place.prepare)(&visit);
        let moved = format!("307 Temporary Redirect\r\nLocation: {}/elsewhere", visit.fake.issuer);
        visit.fake.set("/elsewhere", visit.fake.answer(place.path));
        visit.fake.set(place.path, (moved, String::new()));
        assert!(!asking(&visit), "{}", place.name);
        assert!(!visit.fake.requests(place.path).is_empty(), "{}: not asked", place.name);
        assert!(visit.fake.requests("/elsewhere").is_empty(), "{}", place.name);
    });
}

#[test]
fn a_body_without_end_is_cut_off() {
    everywhere(|place| {
        let visit = Visit::new();
        let asking = (place.prepare)(&visit);
        visit.fake.set(place.path, (ENDLESS.to_owned(), String::new()));
        let is_used = asking(&visit);
        // Who is told of something has taken it by answering 200, whatever follows.
        assert!(!is_used || [LOGOUT, PING].contains(&place.path), "{}", place.name);
        let poured = visit.fake.poured();
        assert!(!visit.fake.requests(place.path).is_empty() && poured < BUFFERS, "{}: {poured}", place.name);
    });
}

/// It would be whole after 20 seconds, and used.
#[test]
fn a_body_that_comes_slowly_is_given_up() {
    everywhere(|place| {
        let visit = Visit::new();
        let asking = (place.prepare)(&visit);
        let (_, body) = visit.fake.answer(place.path);
        visit.fake.set(place.path, (DRIPS.to_owned(), body));
        assert!(!asking(&visit), "{}", place.name);
        assert!(!visit.fake.requests(place.path).is_empty(), "{}: not asked", place.name);
    });
}

/// An address, and a name that stands for it.
#[test]
fn no_private_address_is_called() {
    everywhere(|place| {
        for host in ["127.0.0.1", "localhost"] {
            let trap = Trap::set();
            let target = Some(format!("https://{host}:{}", trap.port));
            let visit = match place.after {
                None => Visit::with(Options::default(), target),
                Some(before) => {
                    let visit = Visit::with(options(), target);
                    visit.closes_at(before);
                    visit
                }
            };
            let asking = (place.prepare)(&visit);
            assert!(!asking(&visit), "{} at {host}", place.name);
            assert_eq!(trap.called.load(Ordering::SeqCst), 0, "{} at {host}", place.name);
            assert!(visit.fake.requests(place.path).is_empty(), "{} at {host}", place.name);
            let came_there = place.after.is_none_or(|before| !visit.fake.requests(before).is_empty());
            assert!(came_there, "{} at {host}: nobody came as far as that", place.name);
        }
    });
}

/// A token with an address in its header, or whose issuer nobody trusts: at each place that takes one.
fn present(visit: &Visit, rp: &RelyingParty, header: &Value, issuer: &str) {
    let (now, id) = (visit.server.now().seconds(), &*rp.client_id);
    let claims = json!({
        "iss": issuer, "sub": issuer, "aud": visit.server.issuer, "iat": now, "exp": now + 60, "jti": "one",
        "response_type": "code", "redirect_uri": rp.redirect_uri, "scope": "openid",
    });
    let token = visit.key.jws(header, &claims);
    let browser = visit.server.browser();
    let assertion = [
        ("grant_type", "client_credentials"),
        ("client_id", id),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", &*token),
    ];
    browser.post("/token", &assertion);
    let grant = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &*token)];
    browser.post_with("/token", &grant, &[("authorization", &rp.basic())]);
    browser.get(&rp.authorization_request().with("request", &token).path());
    browser.get(&rp.authorization_request().with("id_token_hint", &token).path());
    browser.get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))]);
    rp.post("/introspect", &[("token", &token)]);
}

/// What is only shown, led to, or of no meaning here is not called, although private addresses may be.
#[test]
fn no_other_address_is_called() {
    let visit = Visit::new();
    let (server, trap) = (&visit.server, Trap::set());
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", trap.port);
    let metadata = json!({
        "jwks": visit.key.jwks(), "redirect_uris": [at("/callback")], "skip_consent": false,
        "client_uri": at("/"), "logo_uri": at("/logo.png"), "policy_uri": at("/policy"), "tos_uri": at("/terms"),
        "frontchannel_logout_uri": at("/frame"), "post_logout_redirect_uris": [at("/out")],
    });
    let rp = RelyingParty::register(server, metadata);
    let (_, browser) = server.signed_in("ann@example.com");
    let asked = browser.get(&rp.authorization_request().path());
    assert_eq!(browser.get(&asked.location()).status, 200, "the page that shows the client");

    for more in [
        json!({ "jku": at("/keys") }),
        json!({ "jku": at("/keys"), "kid": "there" }),
        json!({ "x5u": at("/chain.pem") }),
        json!({ "kid": at("/key") }),
    ] {
        let mut header = json!({ "alg": "ES256", "typ": "JWT" });
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        present(&visit, &rp, &header, &rp.client_id);
    }
    present(&visit, &rp, &json!({ "alg": "ES256", "typ": "JWT" }), &at(""));

    // Addresses that nobody registered or allowed.
    browser.get(&rp.authorization_request().with("request_uri", &at("/request")).path());
    let stranger = RelyingParty::known(server, &at("/client.json"), None, &at("/callback"));
    assert_eq!(browser.get(&stranger.authorization_request().path()).status, 400);
    assert_eq!(trap.called.load(Ordering::SeqCst), 0);
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The files that have one of these calls.
fn having<'t>(texts: &'t [(String, String)], calls: &[&str]) -> BTreeSet<&'t str> {
    let has = |text: &str| calls.iter().any(|call| text.contains(call));
    texts.iter().filter(|(_, text)| has(text)).map(|(name, _)| &**name).collect()
}

/// Whoever adds a call adds a place to the table.
#[test]
fn there_are_no_other_places() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in ["app", "oauth", "sign-in", "admin", "server"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    let read = |file: &PathBuf| {
        let name = file.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(file).unwrap())
    };
    let texts: Vec<(String, String)> = files.iter().map(read).collect();
    assert_eq!(having(&texts, &[".outbound.send("]), BTreeSet::from(["app/src/app.rs"]));
    let mut known: BTreeSet<&str> = PLACES.iter().map(|place| place.file).collect();
    // By this one the others read what somebody publishes.
    known.insert("app/src/published.rs");
    assert_eq!(having(&texts, &[".call_out(", ".get_published("]), known);
}
