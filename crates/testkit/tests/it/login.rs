//! The login page, the consent page and what they leave behind.

use std::time::Duration;

use symbolon_crypto::secret::SecretString;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::SessionId;
use symbolon_protocol::user::{User, UserProfile};
use symbolon_sign_in::demo::{self, Demo};
use symbolon_testkit::{Answer, AuthorizationRequest, Browser, Options, RelyingParty, TestServer, TokenSet};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A server with the demo's clients, the demo user, and a second user.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) demo: Demo,
    pub(crate) rp: RelyingParty,
    pub(crate) directory: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server =
            TestServer::start_with(options.env("SYMBOLON_DATA_DIR", directory.path().to_str().unwrap()));
        let demo = server.block_on(demo::prepare(&server.app)).unwrap();
        let other = User {
            id: UserId::trusted("other"),
            email: Some("other@example.com".into()),
            email_verified: true,
            profile: UserProfile::default(),
            active: true,
            created_at: server.now(),
            updated_at: server.now(),
        };
        server.block_on(async {
            let hash = server.app.passwords.hash(SecretString::new(PASSWORD.into())).await.unwrap();
            let issuer = IssuerId::default_issuer();
            server.app.store.create_user(&issuer, other, Some(hash)).await.unwrap();
        });
        let rp = RelyingParty::known(&server, demo::CLIENT, None, &format!("{}/callback", server.issuer));
        Self { server, demo, rp, directory }
    }

    /// A browser in which the request has led to the login page; the page.
    pub(crate) fn at_login(&self, browser: &Browser, request: &AuthorizationRequest) -> Answer {
        let sent = browser.get(&request.path());
        assert_eq!(sent.status, 302, "{sent:?}");
        assert!(sent.location().starts_with("/login?transaction="), "{sent:?}");
        browser.get(&sent.location())
    }

    /// Fills a login page in.
    pub(crate) fn sign_in(browser: &Browser, page: &Answer, username: &str, password: &str) -> Answer {
        let (transaction, csrf) = hidden(page);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", username),
            ("password", password),
        ];
        browser.post("/login", &form)
    }

    /// From the login page's answer to the consent page.
    pub(crate) fn to_consent(browser: &Browser, signed_in: &Answer) -> Answer {
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        assert!(signed_in.location().starts_with("/consent?transaction="), "{signed_in:?}");
        browser.get(&signed_in.location())
    }

    pub(crate) fn decide(browser: &Browser, page: &Answer, decision: &str) -> Answer {
        let (transaction, csrf) = hidden(page);
        browser
            .post("/consent", &[("transaction", &transaction), ("csrf_token", &csrf), ("decision", decision)])
    }

    /// The whole way: a browser in which the demo user is signed in, and its tokens.
    pub(crate) fn signed_in(&self) -> (Browser, TokenSet) {
        let browser = self.server.browser();
        let request = self.rp.authorization_request();
        let page = self.at_login(&browser, &request);
        let signed_in = Self::sign_in(&browser, &page, &self.demo.email, &self.demo.password);
        let consent = Self::to_consent(&browser, &signed_in);
        let allowed = Self::decide(&browser, &consent, "allow");
        let code = allowed.redirected("code").expect("a code");
        (browser, TokenSet::of(&self.rp.redeem(&code, &request.verifier)))
    }

    /// What the demo user's application gets in another browser, in another grant.
    pub(crate) fn another_grant(&self) -> TokenSet {
        let browser = self.server.browser();
        let request = self.rp.authorization_request();
        let page = self.at_login(&browser, &request);
        let signed_in = Self::sign_in(&browser, &page, &self.demo.email, &self.demo.password);
        let code = signed_in.redirected("code").expect("a code: the consent is remembered");
        TokenSet::of(&self.rp.redeem(&code, &request.verifier))
    }

    pub(crate) fn session_lives(&self, cookie: &str) -> bool {
        let id = SessionId::new(cookie);
        let issuer = IssuerId::default_issuer();
        let now = self.server.now();
        self.server.block_on(self.server.app.store.session(&issuer, &id, now)).unwrap().in_memory().is_some()
    }
}

pub(crate) fn hidden(page: &Answer) -> (String, String) {
    (page.field("transaction").expect("transaction"), page.field("csrf_token").expect("csrf_token"))
}

fn assert_page(page: &Answer) {
    assert_eq!(page.header("cache-control"), Some("no-store"), "{page:?}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"), "{page:?}");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(
        !page.body.contains("<style") && !page.body.contains(" style=") && !page.body.contains("onclick")
    );
}

#[test]
fn a_person_signs_in_consents_and_is_remembered() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request().with("login_hint", "somebody@example.com");
    let page = scene.at_login(&browser, &request);
    assert_eq!(page.status, 200);
    assert_page(&page);
    assert!(page.body.contains("somebody@example.com"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        !policy.contains("form-action"),
        "browsers would hold it against the client's own redirects: {policy}"
    );

    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    assert_page(&consent);
    assert!(consent.body.contains("demo@example.com") && consent.body.contains("Symbolon walk-through"));
    let allowed = Scene::decide(&browser, &consent, "allow");
    assert_eq!(allowed.status, 303);
    let code = allowed.redirected("code").expect("a code");
    assert_eq!(TokenSet::of(&scene.rp.redeem(&code, &request.verifier)).body["token_type"], "Bearer");

    // Session and consent are remembered.
    let silent = browser.get(&scene.rp.authorization_request().with("prompt", "none").path());
    assert!(silent.redirected("code").is_some(), "{silent:?}");
}

#[test]
fn who_is_unknown_inactive_or_mistaken_gets_the_same_page() {
    let scene = Scene::new();
    let issuer = IssuerId::default_issuer();
    scene.server.block_on(async {
        let store = &scene.server.app.store;
        let user = store.user(&issuer, &UserId::trusted("other")).await.unwrap().unwrap();
        let inactive = User { active: false, ..User::clone(&user) };
        assert!(store.update_user(&issuer, inactive, user.updated_at).await.unwrap());
    });
    let browser = scene.server.browser();
    let attempts = [
        ("nobody@example.com", "x"),
        ("other@example.com", PASSWORD),
        (&*scene.demo.email, "x"),
        ("", "x"),
        ("x", ""),
    ];
    let mut texts = Vec::new();
    for (username, password) in attempts {
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let refused = Scene::sign_in(&browser, &page, username, password);
        assert_eq!(refused.status, 403, "{username}");
        assert!(browser.cookie("symbolon_session").is_none());
        let at = refused.body.find("login-error").expect("an error");
        texts.push(refused.body[at..].split_once("</div>").unwrap().0.to_owned());
    }
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
}

#[test]
fn cancelling_and_refusing_tell_the_client() {
    let scene = Scene::new();
    for mode in ["query", "fragment", "form_post"] {
        let browser = scene.server.browser();
        let request = scene.rp.authorization_request().with("response_mode", mode);
        let page = scene.at_login(&browser, &request);
        let (transaction, csrf) = hidden(&page);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("cancel", "true")];
        let cancelled = browser.post("/login", &form);
        match mode {
            "form_post" => {
                assert!(cancelled.status == 200 && cancelled.body.contains("access_denied"), "{cancelled:?}")
            }
            _ => assert!(
                cancelled.status == 303 && cancelled.location().contains("error=access_denied"),
                "{cancelled:?}"
            ),
        }
        let again = browser.post("/login", &form);
        assert_eq!(
            (again.status, again.header("location")),
            (cancelled.status, cancelled.header("location"))
        );
    }
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let denied = Scene::decide(&browser, &Scene::to_consent(&browser, &signed_in), "deny");
    assert_eq!((denied.status, denied.redirected("error").as_deref()), (303, Some("access_denied")));
}

#[test]
fn forged_forms_and_foreign_transactions_are_refused() {
    let scene = Scene::new();
    let (browser, stranger) = (scene.server.browser(), scene.server.browser());
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, csrf) = hidden(&page);
    let strangers = scene.at_login(&stranger, &scene.rp.authorization_request());
    let (other_transaction, other_csrf) = hidden(&strangers);
    let (user, password) = (scene.demo.email.as_str(), scene.demo.password.as_str());
    let attempts: [(&Browser, &str, &str, u16); 5] = [
        (&browser, &transaction, "", 403),
        (&browser, &transaction, &other_csrf, 403),
        (&stranger, &transaction, &csrf, 403),
        (&browser, &other_transaction, &csrf, 403),
        (&browser, "AcVEhUbc3CH65NDDWK2iKKwVNRNgbWFkeAN", &csrf, 400),
    ];
    for (who, transaction, csrf, status) in attempts {
        let form =
            [("transaction", transaction), ("csrf_token", csrf), ("username", user), ("password", password)];
        assert_eq!(who.post("/login", &form).status, status);
        assert!(who.cookie("symbolon_session").is_none());
    }
    // A login token is none for the consent page.
    let signed_in = Scene::sign_in(&browser, &page, user, password);
    let consent = Scene::to_consent(&browser, &signed_in);
    let (transaction, _) = hidden(&consent);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
    let back = browser.post("/consent", &form);
    assert!(back.location().starts_with("/consent?"), "asked again");
}

#[test]
fn two_tabs_of_one_browser_both_go_on() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let first = scene.at_login(&browser, &scene.rp.authorization_request());
    let second = scene.at_login(&browser, &scene.rp.authorization_request());
    for page in [first, second] {
        assert_eq!(Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password).status, 303);
    }
}

#[test]
fn a_session_id_is_never_signed_in_again() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let old = browser.cookie("symbolon_session").unwrap();
    let again = scene.rp.authorization_request().with("prompt", "login");
    let page = scene.at_login(&browser, &again);
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let new = browser.cookie("symbolon_session").unwrap();
    assert_ne!(old, new);
    assert!(!scene.session_lives(&old) && scene.session_lives(&new));
    assert!(signed_in.redirected("code").is_some());
    // What the same user's applications hold goes on.
    assert_eq!(userinfo(&scene, &tokens).status, 200);
}

#[test]
fn another_user_ends_the_session_before_where_a_browser_has_one_account() {
    let scene = Scene::new();
    let one = serde_json::json!({ "accounts_per_browser": 1 });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(one)).status, 200);
    let (browser, tokens) = scene.signed_in();
    let old = browser.cookie("symbolon_session").unwrap();
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    let signed_in = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
    assert!(!scene.session_lives(&old));
    assert_eq!(userinfo(&scene, &tokens).status, 401);
    let consent = Scene::to_consent(&browser, &signed_in);
    assert!(consent.body.contains("other@example.com"), "the other user's consent is asked for");
}

#[test]
fn wrong_passwords_are_slowed_down() {
    let limits = Options::default()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "3/m")
        .one_node();
    let scene = Scene::with(limits);
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    for _ in 0..3 {
        assert_eq!(Scene::sign_in(&browser, &page, &scene.demo.email, "wrong").status, 403);
    }
    let limited = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(limited.status, 429);
    let seconds: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    scene.server.clock.advance(Duration::from_secs(seconds + 1));
    assert_eq!(Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password).status, 303);
}

pub(crate) fn userinfo(scene: &Scene, tokens: &TokenSet) -> Answer {
    let bearer = format!("Bearer {}", tokens.access_token);
    scene.server.browser().get_with("/userinfo", &[("authorization", &bearer)])
}

/// Who is deleted while the password is being checked is not signed in after it.
#[test]
fn a_sign_in_does_not_outlive_the_end_of_its_user() {
    let options = Options::default().one_node();
    let options = options.env("SYMBOLON_ARGON2_THREADS", "1").env("SYMBOLON_ARGON2_MEMORY", "64MiB");
    let scene = Scene::with(options);
    let (server, browser) = (&scene.server, scene.server.browser());
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    // For a while at most: whatever the order turns out to be, the session must not stand in the end.
    let waiting = |count| {
        (0..1_000_000).take_while(|_| server.app.passwords.queue_length() != count).for_each(|_| {
            std::thread::yield_now();
        });
    };
    std::thread::scope(|threads| {
        // One is hashed, another one waits, so that the login waits behind them.
        for _ in 0..2 {
            let hash = || server.app.passwords.hash(SecretString::new(PASSWORD.into()));
            threads.spawn(move || drop(server.block_on(hash())));
        }
        waiting(1);
        let login = threads.spawn(|| Scene::sign_in(&browser, &page, "other@example.com", PASSWORD));
        waiting(2);
        assert_eq!(server.admin("DELETE", "/users/other", None).status, 204);
        login.join().unwrap();
    });
    let silent = scene.rp.authorization_request().with("prompt", "none");
    assert_eq!(browser.get(&silent.path()).redirected("error").as_deref(), Some("login_required"));
}

/// What waits for a person comes back in the page's form, which has to be short enough.
#[test]
fn a_request_that_is_too_long_to_wait_is_refused() {
    let scene = Scene::new();
    let request = |bytes: usize| {
        let request = scene.rp.authorization_request().with("state", &"s".repeat(4_000));
        request.with("ui_locales", &"en ".repeat(bytes / 3))
    };
    let (short, long) = (request(3_000), request(5_000));
    let browser = scene.server.browser();
    // Too long for an address, so the page itself is the answer.
    let page = browser.get(&short.path());
    assert_eq!(page.status, 200, "{page:?}");
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(signed_in.status, 200, "the consent page");
    let allowed = Scene::decide(&browser, &signed_in, "allow");
    assert_eq!(allowed.redirected("state").unwrap().len(), 4_000);
    assert!(allowed.redirected("code").is_some());
    let browser = scene.server.browser();
    let refused = browser.get(&long.path());
    assert_eq!(refused.redirected("error").as_deref(), Some("invalid_request"));
    assert_eq!(refused.redirected("state").unwrap().len(), 4_000);
    // Where nobody has to be waited for, it is as good as any other.
    let silent = browser.get(&long.with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"));
    // A state that would not fit the answer's address is refused at once, whoever asks.
    let state = scene.rp.authorization_request().with("state", &"\u{1}".repeat(2_000)).with("prompt", "none");
    assert_eq!((browser.get(&state.path()).status, browser.get("/logout?state=").status), (400, 200));
    assert_eq!(browser.get(&format!("/logout?state={}", "%01".repeat(2_000))).status, 400);
}

/// A person types the same password on a phone and on a desk: one composes characters, the other does not.
#[test]
fn a_password_and_a_name_are_the_same_on_every_keyboard() {
    let scene = Scene::new();
    let (composed, decomposed) = ("pa\u{df}w\u{f6}rter sind lang", "pa\u{df}wo\u{308}rter sind lang");
    let create = |email: &str, password: &str| {
        let body = serde_json::json!({ "email": email, "password": password });
        scene.server.admin("POST", "/users", Some(body)).status
    };
    assert_eq!(create("Zo\u{eb}@example.com", composed), 201);
    assert_eq!(create("zoe\u{308}@example.com", composed), 409, "one address, two spellings");
    let attempt = |name: &str, password: &str| {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        Scene::sign_in(&browser, &page, name, password).status
    };
    for (name, password) in [("zo\u{eb}@example.com", decomposed), ("ZOE\u{308}@example.com", composed)] {
        assert_eq!(attempt(name, password), 303, "{name}");
    }
    assert_ne!(attempt("zo\u{eb}@example.com", "paw\u{f6}rter sind lang"), 303);

    // A hash of before was made of what was typed then.
    let server = &scene.server;
    server.block_on(async {
        let policy = symbolon_crypto::password::PasswordPolicy::default();
        let typed = SecretString::new(decomposed.into());
        let hash = policy.hash(&typed, &symbolon_crypto::random::SystemRandom).unwrap();
        let hash = symbolon_protocol::user::PasswordHash::new(hash.to_text());
        let issuer = IssuerId::default_issuer();
        assert!(server.app.store.set_password(&issuer, &UserId::trusted("other"), Some(hash)).await.unwrap());
    });
    assert_eq!(attempt("other@example.com", decomposed), 303);
    assert_ne!(attempt("other@example.com", "something else \u{f6}"), 303);
}
