//! Providers that lie, and answers that belong elsewhere.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Browser, RelyingParty, Signing, TestServer};

use super::fake::{Fake, ok};
use super::{ANN, Scene, add, at_login, claims, local, options, parameter, press, user};

/// A server with a provider of the test's own.
struct Lying {
    server: TestServer,
    rp: RelyingParty,
    fake: Fake,
    key: Signing,
}

/// A browser that is on its way back from the provider.
struct Waiting {
    browser: Browser,
    request: symbolon_testkit::AuthorizationRequest,
    state: String,
    nonce: String,
}

impl Lying {
    fn new() -> Self {
        let key = Signing::generate(Algorithm::EdDsa);
        let fake = Fake::start(&key.jwks());
        let server = TestServer::start_with(options());
        add(&server, "acme", json!({ "issuer": fake.issuer, "client_secret": "s&cret", "sign_up": true }));
        let rp = RelyingParty::register(&server, json!({}));
        Self { server, rp, fake, key }
    }

    fn wait(&self) -> Waiting {
        let (browser, request) = (self.server.browser(), self.rp.authorization_request());
        let to = press(&browser, &at_login(&browser, &request), "acme");
        let of = |name: &str| parameter(&to, name).unwrap_or_else(|| panic!("no {name} in {to}"));
        assert_eq!(
            (of("response_type"), of("code_challenge_method")),
            ("code".to_owned(), "S256".to_owned())
        );
        let (state, nonce) = (of("state"), of("nonce"));
        Waiting { browser, request, state, nonce }
    }

    /// The claims of a true ID token.
    fn truth(&self, waiting: &Waiting) -> Value {
        let now = self.server.now().seconds();
        json!({
            "iss": self.fake.issuer, "aud": "us", "sub": "s1", "nonce": waiting.nonce, "iat": now, "exp": now + 300,
            "email": ANN, "email_verified": true,
        })
    }

    fn back(waiting: &Waiting) -> symbolon_testkit::Answer {
        waiting.browser.get(&format!("/login/callback/acme?code=c&state={}", waiting.state))
    }
}

/// The form of the token request, and who signs in by a true answer. The answer counts once.
#[test]
fn a_true_answer_signs_in_once() {
    let scene = Lying::new();
    let waiting = scene.wait();
    scene.fake.say(&scene.key.jwt("JWT", &scene.truth(&waiting)));
    let done = Lying::back(&waiting);
    assert_eq!(claims(&scene.rp, &waiting.request, &done)["email"], ANN);
    let sent = scene.fake.requests("/token").remove(0);
    for part in ["grant_type=authorization_code", "code=c", "code_verifier=", "redirect_uri=http"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    // us:s%26cret
    assert!(sent.contains("authorization: Basic dXM6cyUyNmNyZXQ="), "{sent}");
    let again = Lying::back(&waiting);
    assert_eq!(again.location(), "/account", "signed in already: {again:?}");
    scene.server.drain_audit();
    let events = scene.server.admin("GET", "/audit-logs?event=session.signed_in", None).json();
    assert_eq!(events["audit_logs"].as_array().unwrap().len(), 1, "{events}");
}

#[test]
fn an_answer_that_does_not_hold_signs_nobody_in() {
    let scene = Lying::new();
    let other = Signing::generate(Algorithm::EdDsa);
    let now = scene.server.now().seconds();
    for (name, value) in [
        ("iss", json!("https://evil.example")),
        ("aud", json!("somebody else")),
        ("aud", json!(["us", "somebody else"])),
        ("azp", json!("somebody else")),
        ("nonce", json!("another")),
        ("nonce", Value::Null),
        ("exp", json!(now - 61)),
        ("iat", json!(now + 120)),
        ("iat", json!(now - 3_600)),
        ("sub", json!("")),
        ("sub", json!("x".repeat(256))),
    ] {
        let waiting = scene.wait();
        let mut lie = scene.truth(&waiting);
        lie[name] = value.clone();
        scene.fake.say(&scene.key.jwt("JWT", &lie));
        refused(&scene, &waiting, &format!("{name} {value}"));
    }
    let waiting = scene.wait();
    let truth = scene.truth(&waiting);
    let signed = scene.key.jwt("JWT", &truth);
    let (header, rest) = signed.split_once('.').unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split_once('.').unwrap().0);
    let foreign = other.jwt("JWT", &truth);
    let grafted =
        format!("{header}.{}.{}", rest.split_once('.').unwrap().0, foreign.rsplit_once('.').unwrap().1);
    for (what, token) in [("alg none", &unsigned), ("another key", &foreign), ("another signature", &grafted)]
    {
        scene.fake.say(token);
        refused(&scene, &waiting, what);
    }
    assert!(user(&scene.server, ANN).is_null());
    // After all that the truth still counts: a lie uses nothing up.
    scene.fake.say(&signed);
    assert!(Lying::back(&waiting).redirected("code").is_some());
}

fn refused(scene: &Lying, waiting: &Waiting, what: &str) {
    let refused = Lying::back(waiting);
    assert_eq!(refused.status, 502, "{what}: {refused:?}");
    assert!(refused.body.contains("did not work"), "{what}: {}", refused.body);
    assert_eq!(waiting.browser.cookie("symbolon_session"), None, "{what}");
    assert!(scene.server.browser().cookie("symbolon_session").is_none());
}

/// Silence, floods, redirects and errors of the provider are answered with a page.
#[test]
fn a_provider_that_does_not_answer_as_it_must_is_no_way_in() {
    let scene = Lying::new();
    let waiting = scene.wait();
    let huge = json!({ "access_token": "a".repeat(300 << 10), "token_type": "Bearer" });
    for (what, answer) in [
        ("an error", ("400 Bad Request".to_owned(), json!({ "error": "invalid_grant" }).to_string())),
        ("a redirect", ("302 Found\r\nLocation: http://127.0.0.1:1/token".to_owned(), String::new())),
        ("no JSON", ("200 OK".to_owned(), "<html>".to_owned())),
        ("no ID token", ok(&json!({ "access_token": "a", "token_type": "Bearer" }))),
        ("too much", ok(&huge)),
        ("silence", (String::new(), String::new())),
    ] {
        scene.fake.set("/token", answer);
        refused(&scene, &waiting, what);
    }
    let cancelled =
        waiting.browser.get(&format!("/login/callback/acme?error=access_denied&state={}", waiting.state));
    assert_eq!(cancelled.status, 403, "{cancelled:?}");
    assert!(cancelled.body.contains("not signed in there"), "{}", cancelled.body);
}

/// A new key of the provider is found, and unknown ones do not make the server ask again and again.
#[test]
fn a_new_key_is_found_and_unknown_ones_are_not_looked_for_all_the_time() {
    let scene = Lying::new();
    let waiting = scene.wait();
    scene.fake.say(&scene.key.jwt("JWT", &scene.truth(&waiting)));
    assert!(Lying::back(&waiting).redirected("code").is_some());
    let new = Signing::generate(Algorithm::Es256);
    scene.fake.set("/jwks", ok(&new.jwks()));
    scene.server.clock.advance(std::time::Duration::from_secs(61));
    let waiting = scene.wait();
    scene.fake.say(&new.jwt("JWT", &scene.truth(&waiting)));
    assert!(Lying::back(&waiting).redirected("code").is_some(), "a new key");
    let stranger = Signing::generate(Algorithm::EdDsa);
    let before = scene.fake.requests("/jwks").len();
    for _ in 0..8 {
        let waiting = scene.wait();
        scene.fake.say(&stranger.jwt("JWT", &scene.truth(&waiting)));
        refused(&scene, &waiting, "a stranger's key");
    }
    // Each node has keys of its own.
    assert!(scene.fake.requests("/jwks").len() <= before + 3);
}

/// Metadata of another issuer, or with other endpoints, are not believed.
#[test]
fn metadata_of_another_issuer_lead_nowhere() {
    let key = Signing::generate(Algorithm::EdDsa);
    let fake = Fake::start(&key.jwks());
    let mut metadata = fake.metadata();
    metadata["issuer"] = json!("https://accounts.google.com");
    fake.set("/.well-known/openid-configuration", ok(&metadata));
    let server = TestServer::start_with(options());
    add(&server, "acme", json!({ "issuer": fake.issuer }));
    let rp = RelyingParty::register(&server, json!({}));
    let (browser, request) = (server.browser(), rp.authorization_request());
    let page = at_login(&browser, &request);
    let (transaction, csrf) = crate::login::hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", "acme")];
    let refused = browser.post("/login/provider", &form);
    assert_eq!(refused.status, 502, "{refused:?}");
}

/// Without the setting, private addresses are not called.
#[test]
fn a_provider_on_a_private_address_is_not_called() {
    let key = Signing::generate(Algorithm::EdDsa);
    let fake = Fake::start(&key.jwks());
    let server = TestServer::start();
    let https = fake.issuer.replace("http://", "https://");
    add(&server, "acme", json!({ "issuer": https }));
    let rp = RelyingParty::register(&server, json!({}));
    let (browser, request) = (server.browser(), rp.authorization_request());
    let (transaction, csrf) = crate::login::hidden(&at_login(&browser, &request));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", "acme")];
    assert_eq!(browser.post("/login/provider", &form).status, 502);
    assert!(fake.requests("/.well-known/openid-configuration").is_empty());
}

/// An answer counts in the browser and for the provider for which it was asked, and while it is fresh.
#[test]
fn an_answer_belongs_to_one_browser_and_one_provider() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let callback = scene.there(&browser, &person, &request);
    let other = scene.server.browser();
    at_login(&other, &request);
    for stranger in [&other, &scene.server.browser()] {
        let lost = stranger.get(&callback);
        assert_eq!(lost.location(), "/", "{lost:?}");
        assert_eq!(stranger.cookie("symbolon_session"), None);
    }
    let settings = json!({ "issuer": scene.upstream.issuer });
    add(&scene.server, "other", settings);
    let mixed = browser.get(&callback.replace("/callback/acme", "/callback/other"));
    assert_eq!(mixed.location(), "/", "{mixed:?}");
    let evil = form_urlencoded::byte_serialize(b"https://evil.example").collect::<String>();
    let named = format!("{}&iss={evil}", without(&callback, "iss"));
    let mixed = browser.get(&named);
    assert_eq!(mixed.status, 502, "{mixed:?}");
    let unnamed = browser.get(&without(&callback, "iss"));
    assert_eq!(unnamed.status, 502, "its metadata say that it names itself: {unnamed:?}");
    assert!(user(&scene.server, ANN).is_null());
    assert!(browser.get(&callback).redirected("code").is_some(), "the answer itself still counts");

    let browser = scene.server.browser();
    let callback = scene.there(&browser, &person, &request);
    scene.server.clock.advance(std::time::Duration::from_secs(601));
    assert_eq!(browser.get(&callback).location(), "/");
}

fn without(address: &str, name: &str) -> String {
    let (path, query) = address.split_once('?').unwrap();
    let prefix = format!("{name}=");
    let kept: Vec<_> = query.split('&').filter(|pair| !pair.starts_with(&prefix)).collect();
    format!("{path}?{}", kept.join("&"))
}

/// A form that another site posts arrives without cookies: the browser is led to the same answer at this site.
#[test]
fn a_posted_answer_is_taken_once_more_at_this_site() {
    let scene = Lying::new();
    scene
        .server
        .admin("PATCH", "/identity-providers/acme", Some(json!({ "response_mode": "form_post" })))
        .json();
    let waiting = scene.wait();
    scene.fake.say(&scene.key.jwt("JWT", &scene.truth(&waiting)));
    // Apple names the person here and not in the ID token.
    let named = r#"{"name":{"firstName":"Ann","lastName":"Lee"},"email":"somebody@else.example"}"#;
    let form = [("code", "c"), ("state", &*waiting.state), ("user", named)];
    let led = scene.server.browser().post("/login/callback/acme", &form);
    assert_eq!(led.status, 303, "{led:?}");
    let done = waiting.browser.get(&local(&led.location()));
    assert_eq!(claims(&scene.rp, &waiting.request, &done)["email"], ANN);
    assert_eq!(user(&scene.server, ANN)["name"], "Ann Lee");
}

/// Where the application asks for a new sign-in, so does this server; a provider that tells of an older one is not believed.
#[test]
fn an_older_sign_in_is_no_new_one() {
    let scene = Lying::new();
    for (age, status) in [(3_600, 502), (0, 302)] {
        let browser = scene.server.browser();
        let request = scene.rp.authorization_request().with("max_age", "600");
        let to = press(&browser, &at_login(&browser, &request), "acme");
        assert_eq!(parameter(&to, "prompt").as_deref(), Some("login"), "{to}");
        let of = |name: &str| parameter(&to, name).unwrap();
        let (state, nonce) = (of("state"), of("nonce"));
        let waiting = Waiting { browser, request, state, nonce };
        let mut truth = scene.truth(&waiting);
        truth["auth_time"] = json!(scene.server.now().seconds() - age);
        scene.fake.say(&scene.key.jwt("JWT", &truth));
        assert_eq!(Lying::back(&waiting).status, status, "{age}");
    }
}

/// GitHub says by its API who it is, in OAuth without OpenID.
#[test]
fn github_tells_by_its_api() {
    let fake = Fake::start(&json!({ "keys": [] }));
    fake.set(
        "/login/oauth/access_token",
        ok(&json!({ "access_token": "gh", "token_type": "bearer", "scope": "" })),
    );
    fake.set("/api/v3/user", ok(&json!({ "id": 42, "login": "ann", "name": "Ann", "avatar_url": null })));
    let emails = json!([
        { "email": "other@example.com", "primary": false, "verified": true },
        { "email": ANN, "primary": true, "verified": true },
    ]);
    fake.set("/api/v3/user/emails", ok(&emails));
    let server = TestServer::start_with(options());
    let members =
        json!({ "preset": "github", "issuer": fake.issuer, "client_secret": "gh-s", "sign_up": true });
    add(&server, "github", members);
    let rp = RelyingParty::register(&server, json!({}));
    let (browser, request) = (server.browser(), rp.authorization_request());
    let to = press(&browser, &at_login(&browser, &request), "github");
    assert!(to.starts_with(&format!("{}/login/oauth/authorize?", fake.issuer)), "{to}");
    assert_eq!(
        (parameter(&to, "nonce"), parameter(&to, "code_challenge").map(|text| text.len())),
        (None, Some(43))
    );
    let state = parameter(&to, "state").unwrap();
    let done = browser.get(&format!("/login/callback/github?code=c&state={state}"));
    let claims = claims(&rp, &request, &done);
    assert_eq!((&claims["email"], &claims["name"]), (&json!(ANN), &json!("Ann")));
    let asked = fake.requests("/api/v3/user").remove(0);
    assert!(asked.contains("authorization: Bearer gh\r\n"), "{asked}");
    let sent = fake.requests("/login/oauth/access_token").remove(0);
    assert!(sent.contains("client_secret=gh-s") && sent.contains("client_id=us"), "{sent}");
}

/// What the ID token lacks comes from UserInfo, if it tells of the same person.
#[test]
fn user_info_of_somebody_else_is_not_used() {
    let scene = Lying::new();
    let mut metadata = scene.fake.metadata();
    metadata["userinfo_endpoint"] = json!(format!("{}/userinfo", scene.fake.issuer));
    scene.fake.set("/.well-known/openid-configuration", ok(&metadata));
    let waiting = scene.wait();
    let mut bare = scene.truth(&waiting);
    bare.as_object_mut().unwrap().retain(|name, _| !name.starts_with("email"));
    scene.fake.say(&scene.key.jwt("JWT", &bare));
    let of = |sub: &str| {
        ok(&json!({ "sub": sub, "email": ANN, "email_verified": true, "iss": "https://evil.example" }))
    };
    scene.fake.set("/userinfo", of("somebody else"));
    refused(&scene, &waiting, "another sub");
    scene.fake.set("/userinfo", of("s1"));
    assert_eq!(claims(&scene.rp, &waiting.request, &Lying::back(&waiting))["email"], ANN);
}
