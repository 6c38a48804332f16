//! Clients that nobody registered: their `client_id` is the URL of their metadata (OAuth Client ID Metadata Document).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, Signing, TestServer, TokenSet};

use crate::login::hidden;
use crate::upstream::fake::{Fake, ok};
use crate::upstream::options;

const PATH: &str = "/oauth/client.json";
const SCOPE: &str = "openid profile email offline_access";

/// A server, and the server of clients that publish their metadata.
struct Scene {
    server: TestServer,
    fake: Fake,
}

impl Scene {
    fn new() -> Self {
        Self::with(options().one_node())
    }

    fn with(options: Options) -> Self {
        let scene = Self { server: TestServer::start_with(options), fake: Fake::start(&json!({})) };
        scene.allow(&[scene.host()]);
        scene
    }

    fn allow(&self, hosts: &[&str]) {
        let settings = json!({ "client_id_metadata_documents": hosts });
        let answer = self.server.admin("PATCH", "/settings", Some(settings));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    fn host(&self) -> &str {
        self.fake.issuer.strip_prefix("http://").unwrap()
    }

    /// The address of a path of the clients' server.
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.fake.issuer)
    }

    fn metadata(&self, path: &str) -> Value {
        json!({
            "client_id": self.at(path), "client_name": "Tools", "redirect_uris": [self.at("/callback")],
            "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none", "scope": SCOPE,
        })
    }

    /// Publishes metadata with these members in place of others, and returns their client.
    fn publish(&self, path: &str, changes: &Value) -> RelyingParty {
        let mut metadata = self.metadata(path);
        metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        self.fake.set(path, ok(&metadata));
        RelyingParty::known(&self.server, &self.at(path), None, &self.at("/callback"))
    }

    fn fetched(&self, path: &str) -> usize {
        self.fake.requests(path).len()
    }

    /// Sends an authorization request with this request id.
    fn ask(&self, rp: &RelyingParty, id: &str) -> Answer {
        self.server.browser().get_with(&rp.authorization_request().path(), &[("x-request-id", id)])
    }

    /// The reason and the explanation of a refused request.
    fn why(&self, id: &str) -> (String, String) {
        let failure =
            self.server.admin("GET", &format!("/failures/{id}"), None).json()["failures"][0].clone();
        let text = |name: &str| failure[name].as_str().unwrap_or_default().to_owned();
        (text("reason"), text("explanation"))
    }
}

/// The page that asks the person.
fn consent_page(rp: &RelyingParty, browser: &Browser) -> (Answer, String) {
    let request = rp.authorization_request().with("scope", SCOPE);
    let asked = browser.get(&request.path());
    assert!(asked.location().starts_with("/consent?"), "a stranger's client needs consent: {asked:?}");
    (browser.get(&asked.location()), request.verifier)
}

/// The person is asked, allows it, and the application gets tokens.
fn sign_in(rp: &RelyingParty, browser: &Browser) -> TokenSet {
    let (page, verifier) = consent_page(rp, browser);
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
    let code = browser.post("/consent", &form).redirected("code").expect("a code");
    TokenSet::of(&rp.redeem(&code, &verifier))
}

#[test]
fn a_client_known_by_its_document_signs_in_with_consent_refreshes_and_revokes() {
    let scene = Scene::new();
    let discovery = || scene.server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(discovery()["client_id_metadata_document_supported"], true);
    let rp = scene.publish(PATH, &json!({ "skip_consent": true }));
    let (_, browser) = scene.server.signed_in("ann@example.com");
    let (page, _) = consent_page(&rp, &browser);
    for shown in ["id=\"client-host\"", scene.host(), "Tools"] {
        assert!(page.body.contains(shown), "{shown}: {page:?}");
    }
    let tokens = sign_in(&rp, &browser);
    let refreshed = TokenSet::of(&rp.refresh(&tokens.refresh_token.expect("a refresh token")));
    // The consent is remembered, though the client is not stored.
    rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid email"));
    let id = ClientId::parse(&rp.client_id).unwrap();
    let issuer = IssuerId::default_issuer();
    let stored = scene.server.app.store.client(&issuer, &id);
    assert!(scene.server.block_on(stored).unwrap().is_none());
    assert_eq!(scene.fetched(PATH), 1);

    let listed = browser.get("/account/applications");
    assert!(listed.body.contains("Tools") && listed.body.contains(scene.host()), "{listed:?}");
    let refresh_token = refreshed.refresh_token.expect("a refresh token");
    assert_eq!(rp.post("/revoke", &[("token", &refresh_token)]).status, 200);
    let over = rp.refresh(&refresh_token);
    assert_eq!((over.status, over.error().as_str()), (400, "invalid_grant"), "{over:?}");

    scene.allow(&[]);
    assert!(discovery()["client_id_metadata_document_supported"].is_null());
    assert_eq!(scene.ask(&rp, "case-off").status, 400);
    assert_eq!(scene.why("case-off").0, "client_unknown");
}

#[test]
fn what_is_taken_out_of_a_document_ends_when_its_time_is_over() {
    let scene = Scene::new();
    let rp = scene.publish(PATH, &json!({}));
    let body = scene.metadata(PATH).to_string();
    scene.fake.set(PATH, ("200 OK\r\nCache-Control: max-age=300".to_owned(), body));
    let (_, browser) = scene.server.signed_in("ann@example.com");
    let tokens = sign_in(&rp, &browser);
    scene.publish(PATH, &json!({ "redirect_uris": [scene.at("/other")] }));
    scene.server.clock.advance(Duration::from_secs(290));
    assert_eq!(scene.ask(&rp, "case-before").status, 302);
    scene.server.clock.advance(Duration::from_secs(10));
    assert_eq!(scene.ask(&rp, "case-after").status, 400);
    assert_eq!(scene.why("case-after").0, "redirect_uri_not_registered");
    let refreshed = TokenSet::of(&rp.refresh(&tokens.refresh_token.expect("a refresh token")));
    assert_eq!(scene.fetched(PATH), 2);

    // Without its document there is no client.
    scene.fake.set(PATH, ("410 Gone".to_owned(), String::new()));
    scene.server.clock.advance(Duration::from_secs(3_600));
    let refresh_token = refreshed.refresh_token.expect("a refresh token");
    let gone = rp.refresh(&refresh_token);
    assert_eq!((gone.status, gone.error().as_str()), (401, "invalid_client"), "{gone:?}");
    let listed = browser.get("/account/applications");
    assert!(listed.body.contains(scene.host()), "the person may still end its access: {listed:?}");
    // It is not asked at each request, and is believed again when it is there.
    assert_eq!((rp.refresh(&refresh_token).status, scene.fetched(PATH)), (401, 3));
    scene.publish(PATH, &json!({}));
    scene.server.clock.advance(Duration::from_secs(30));
    assert_eq!((rp.refresh(&refresh_token).status, scene.fetched(PATH)), (200, 4));
}

#[test]
fn a_document_that_cannot_be_used_names_no_client_and_the_operator_is_told_why() {
    let scene = Scene::new();
    scene.publish(PATH, &json!({}));
    let with = |path: &str, changes: Value| {
        let mut metadata = scene.metadata(path);
        metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        ok(&metadata)
    };
    let moved = (format!("302 Found\r\nLocation: {}", scene.at(PATH)), String::new());
    let (unreachable, invalid) = ("client_document_unreachable", "client_document_invalid");
    for (path, answer, reason, cause) in [
        ("/moved", moved, unreachable, "302"),
        ("/down", ("503 Service Unavailable".to_owned(), String::new()), unreachable, "503"),
        ("/created", ("201 Created".to_owned(), scene.metadata("/created").to_string()), unreachable, "201"),
        ("/silent", (String::new(), String::new()), unreachable, "no answer within"),
        ("/huge", with("/huge", json!({ "contacts": ["x".repeat(6_000)] })), unreachable, "too long"),
        ("/html", ("200 OK".to_owned(), "<html>".to_owned()), invalid, "is no JSON object"),
        ("/other", ok(&scene.metadata(PATH)), invalid, "client_id must be the URL"),
        (
            "/secret",
            with("/secret", json!({ "client_secret": "a-secret" })),
            invalid,
            "client_secret must not",
        ),
        (
            "/basic",
            with("/basic", json!({ "token_endpoint_auth_method": "client_secret_basic" })),
            invalid,
            "none or private_key_jwt",
        ),
        (
            "/away",
            with("/away", json!({ "redirect_uris": ["https://other.example/cb"] })),
            invalid,
            "not at the origin",
        ),
    ] {
        scene.fake.set(path, answer);
        let rp = RelyingParty::known(&scene.server, &scene.at(path), None, &scene.at("/callback"));
        let id = format!("case-{}", path.trim_start_matches('/'));
        let page = scene.ask(&rp, &id);
        assert_eq!(page.status, 400, "{path}: {page:?}");
        let (told, explained) = scene.why(&id);
        assert!(told == reason && explained.contains(cause), "{path}: {told} {explained}");
        assert!(!explained.contains("a-secret"), "{explained}");
    }
    assert_eq!(scene.fetched(PATH), 0, "no redirect is followed");
}

#[test]
fn a_host_that_is_not_allowed_is_not_called_and_a_registered_url_needs_no_document() {
    let scene = Scene::new();
    let rp = scene.publish(PATH, &json!({}));
    scene.allow(&["*", "app.example"]);
    assert_eq!(scene.ask(&rp, "case-port").status, 400, "another port is named, or refused");
    assert_eq!(scene.why("case-port").0, "client_id_url_refused");
    for (number, url) in
        ["https://APP.example/x", "https://app.example", "https://me@app.example/x"].iter().enumerate()
    {
        let rp = RelyingParty::known(&scene.server, url, None, "https://app.example/cb");
        let id = format!("case-url-{number}");
        assert_eq!(scene.ask(&rp, &id).status, 400, "{url}");
        assert_eq!(scene.why(&id).0, "client_id_url_refused", "{url}");
    }
    let metadata = json!({
        "client_id": rp.client_id, "redirect_uris": [rp.redirect_uri], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
    });
    RelyingParty::register(&scene.server, metadata);
    assert_eq!((scene.ask(&rp, "registered").status, scene.fetched(PATH)), (302, 0));
}

#[test]
fn a_client_that_signs_does_so_by_the_keys_at_its_own_origin() {
    let scene = Scene::new();
    let key = Signing::generate(Algorithm::EdDsa);
    scene.fake.set("/keys", ok(&key.jwks()));
    let settings = json!({ "client_registration_grant_types": ["client_credentials"], "client_registration_scope": "tools" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(settings)).status, 200);
    let rp = scene.publish(
        PATH,
        &json!({
            "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": scene.at("/keys"), "scope": "tools",
            "grant_types": ["client_credentials"], "redirect_uris": [],
        }),
    );
    let now = scene.server.now().seconds();
    let authenticate = |key: &Signing, jti: &str| {
        let assertion = key.assertion(&rp.client_id, &scene.server.issuer, jti, now);
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", &*assertion),
        ];
        scene.server.browser().post("/token", &form)
    };
    let answer = authenticate(&key, "one");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(authenticate(&Signing::generate(Algorithm::EdDsa), "two").status, 401);
    // Without a signature it is nobody.
    assert_eq!(rp.post("/token", &[("grant_type", "client_credentials")]).status, 401);
}

#[test]
fn one_address_makes_the_server_fetch_no_more_than_strangers_may_register() {
    let limited = options()
        .one_node()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_RATE_LIMIT_CLIENT_REGISTRATION_ADDRESS", "5/m");
    let scene = Scene::with(limited);
    let known = scene.publish(PATH, &json!({}));
    assert_eq!(scene.ask(&known, "known").status, 302);
    let statuses: Vec<u16> = (0..20)
        .map(|number| {
            let url = scene.at(&format!("/unknown/{number}"));
            let rp = RelyingParty::known(&scene.server, &url, None, &scene.at("/callback"));
            scene.ask(&rp, &format!("flood-{number}")).status
        })
        .collect();
    let (refused, limited) = statuses.split_at(4);
    assert!(
        refused.iter().all(|status| *status == 400) && limited.iter().all(|status| *status == 429),
        "{statuses:?}"
    );
    let fetched: usize = (0..20).map(|number| scene.fetched(&format!("/unknown/{number}"))).sum();
    assert_eq!(fetched, 4);
    // What is known is served on, and what failed a moment ago is not asked again.
    assert_eq!((scene.ask(&known, "again").status, scene.fetched(PATH)), (302, 1));
    let failed = RelyingParty::known(&scene.server, &scene.at("/unknown/0"), None, &scene.at("/callback"));
    assert_eq!((scene.ask(&failed, "failed").status, scene.fetched("/unknown/0")), (400, 1));
}
