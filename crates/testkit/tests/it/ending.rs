//! What ends with a session, a user and a client, and what outlives them.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_testkit::{Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::login::Scene;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A user with a session, and what two clients and a service hold of it.
struct Held {
    server: TestServer,
    app: RelyingParty,
    other: RelyingParty,
    service: RelyingParty,
    user: String,
    browser: Browser,
    /// Bound to the session.
    bound: TokenSet,
    /// With `offline_access`.
    offline: TokenSet,
    /// The other client's, bound to the session.
    others: TokenSet,
    /// What the service got for `bound` and `offline`.
    exchanged: [String; 2],
    /// A code that nobody redeemed yet, and its verifier.
    code: (String, String),
}

/// Which of the things that are held are still good.
#[derive(Debug, PartialEq)]
struct Lives {
    bound: bool,
    offline: bool,
    others: bool,
    exchanged: [bool; 2],
    session: bool,
    code: bool,
}

const NOTHING: Lives = Lives {
    bound: false,
    offline: false,
    others: false,
    exchanged: [false, false],
    session: false,
    code: false,
};

/// Remembers a consent, as the consent page would.
fn allow(server: &TestServer, user: &str, client: &str) {
    let consent = Consent::new(Scope::parse("openid profile email").unwrap(), server.now());
    let (issuer, user, client) =
        (IssuerId::default_issuer(), UserId::parse(user).unwrap(), ClientId::parse(client).unwrap());
    assert!(server.block_on(server.app.store.allow(&issuer, &user, &client, consent.into())).unwrap());
}

impl Held {
    fn new() -> Self {
        let server = TestServer::start();
        let app = RelyingParty::register(&server, json!({}));
        let other = RelyingParty::register(&server, json!({}));
        let service = RelyingParty::register(&server, json!({ "audiences": [server.issuer] }));
        let (user, browser) = server.signed_in("a@example.com");
        let bound = app.sign_in(&browser);
        let offline =
            app.sign_in_with(&browser, app.authorization_request().with("scope", "openid offline_access"));
        let others = other.sign_in(&browser);
        let allow = json!({ "allowed_subject_token_clients": [app.client_id] });
        assert_eq!(
            server.admin("PATCH", &format!("/clients/{}", service.client_id), Some(allow)).status,
            200
        );
        let exchanged = [&bound, &offline].map(|subject| {
            let form = [
                ("grant_type", EXCHANGE),
                ("subject_token", &*subject.access_token),
                ("subject_token_type", ACCESS_TOKEN),
            ];
            TokenSet::of(&service.token(&form)).access_token
        });
        let request = app.authorization_request();
        let code = (browser.get(&request.path()).redirected("code").unwrap(), request.verifier);
        Self { server, app, other, service, user, browser, bound, offline, others, exchanged, code }
    }

    fn allow(&self, client: &RelyingParty) {
        allow(&self.server, &self.user, &client.client_id);
    }

    fn admin(&self, method: &str, path: &str, body: Option<Value>) {
        let answer = self.server.admin(method, path, body);
        assert!(matches!(answer.status, 200 | 204), "{method} {path}: {answer:?}");
    }

    /// Asks every endpoint; they must agree.
    fn lives(&self) -> Lives {
        let code = self.app.redeem(&self.code.0, &self.code.1).status == 200;
        let session = self.other.authorization_request().with("prompt", "none");
        Lives {
            bound: self.both(&self.app, &self.bound),
            offline: self.both(&self.app, &self.offline),
            others: self.both(&self.other, &self.others),
            exchanged: [self.access_lives(&self.exchanged[0]), self.access_lives(&self.exchanged[1])],
            session: self.browser.get(&session.path()).redirected("code").is_some(),
            code,
        }
    }

    fn both(&self, rp: &RelyingParty, tokens: &TokenSet) -> bool {
        let access = self.access_lives(&tokens.access_token);
        let refresh = tokens.refresh_token.as_deref().unwrap();
        let known = self.introspected(rp, refresh);
        let refreshed = rp.refresh(refresh).status == 200;
        assert_eq!((refreshed, known), (access, access), "access token, introspection and refresh agree");
        access
    }

    fn introspected(&self, rp: &RelyingParty, token: &str) -> bool {
        let answer = rp.post("/introspect", &[("token", token)]);
        answer.status == 200 && answer.json()["active"] == true
    }

    fn access_lives(&self, token: &str) -> bool {
        let authorization = format!("Bearer {token}");
        let lives =
            self.server.browser().get_with("/userinfo", &[("authorization", &authorization)]).status == 200;
        // The service may see every token that is meant for the issuer; it may be gone itself.
        let seen = self.service.post("/introspect", &[("token", token)]);
        if seen.status == 200 {
            assert_eq!(seen.json()["active"], lives, "introspection and UserInfo agree");
        }
        lives
    }

    fn sid(&self) -> String {
        decode_jwt(self.bound.id_token.as_deref().unwrap()).1["sid"].as_str().unwrap().to_owned()
    }
}

const WITHOUT_SESSION: Lives = Lives { offline: true, exchanged: [false, true], ..NOTHING };

#[test]
fn nothing_ends_by_itself() {
    let all = Lives {
        bound: true,
        offline: true,
        others: true,
        exchanged: [true, true],
        session: true,
        code: true,
    };
    assert_eq!(Held::new().lives(), all);
}

#[test]
fn a_session_takes_what_is_bound_to_it_and_leaves_offline_access() {
    let held = Held::new();
    held.admin("DELETE", &format!("/sessions/{}", held.sid()), None);
    assert_eq!(held.lives(), WITHOUT_SESSION);
    let held = Held::new();
    held.admin("DELETE", &format!("/users/{}/sessions", held.user), None);
    assert_eq!(held.lives(), WITHOUT_SESSION);
    let held = Held::new();
    let hint = held.bound.id_token.as_deref().unwrap();
    held.browser.post("/logout", &[("id_token_hint", hint)]);
    assert_eq!(held.lives(), WITHOUT_SESSION);
}

#[test]
fn a_user_who_is_deactivated_or_deleted_takes_everything() {
    let held = Held::new();
    let path = format!("/users/{}", held.user);
    held.admin("PATCH", &path, Some(json!({ "active": false })));
    assert_eq!(held.lives(), NOTHING);
    let session = held.server.admin("POST", "/test/sessions", Some(json!({ "user_id": held.user })));
    assert_eq!(session.status, 404, "nobody signs an inactive user in");
    held.server.clock.advance(Duration::from_secs(1));
    held.admin("PATCH", &path, Some(json!({ "active": true })));
    assert_eq!(held.lives(), NOTHING, "what ended does not come back");
    let session = held.server.admin("POST", "/test/sessions", Some(json!({ "user_id": held.user }))).json();
    held.browser.set_cookie("symbolon_session", session["session_id"].as_str().unwrap());
    held.app.sign_in(&held.browser);

    let held = Held::new();
    held.admin("DELETE", &format!("/users/{}", held.user), None);
    assert_eq!(held.lives(), NOTHING);
}

#[test]
fn a_client_takes_its_own_tokens_and_what_was_exchanged_from_them() {
    let held = Held::new();
    held.admin("DELETE", &format!("/clients/{}", held.app.client_id), None);
    assert_eq!(held.lives(), Lives { others: true, session: true, ..NOTHING });
    let held = Held::new();
    held.admin("DELETE", &format!("/clients/{}", held.service.client_id), None);
    let lives = held.lives();
    assert_eq!(
        lives,
        Lives { bound: true, offline: true, others: true, session: true, code: true, ..NOTHING }
    );
    // A new client of the same name is not the old one.
    let held = Held::new();
    held.admin("DELETE", &format!("/clients/{}", held.app.client_id), None);
    held.server.clock.advance(Duration::from_secs(1));
    let metadata = json!({ "client_id": held.app.client_id, "client_secret": held.app.client_secret });
    RelyingParty::register(&held.server, metadata);
    let lives = held.lives();
    assert!(!lives.bound && !lives.offline && lives.exchanged == [false, false], "{lives:?}");
}

/// What a user allowed a client is its tokens of every kind, what others got for them, and codes on their way.
#[test]
fn a_consent_that_is_withdrawn_takes_what_was_granted_by_it() {
    let held = Held::new();
    held.allow(&held.app);
    let path = format!("/users/{}/consents/{}", held.user, held.app.client_id);
    held.admin("DELETE", &path, None);
    assert_eq!(held.lives(), Lives { others: true, session: true, ..NOTHING });
    assert_eq!(held.server.admin("DELETE", &path, None).status, 404);
    // What is granted afterwards works, and ends with the next consent.
    held.server.clock.advance(Duration::from_secs(1));
    let again = held.app.sign_in(&held.browser);
    assert!(held.both(&held.app, &again));
    held.allow(&held.app);
    held.admin("DELETE", &path, None);
    assert!(!held.access_lives(&again.access_token));
    assert_eq!(
        held.server.admin("DELETE", &format!("/users/{}/consents/nobody", held.user), None).status,
        404
    );
    held.server.drain_audit();
    let found = held.server.admin("GET", "/audit-logs?event=grant.ended", None).json();
    let ended = found["audit_logs"].as_array().expect("records");
    assert_eq!(ended.len(), 2, "{found}");
    assert_eq!((&ended[0]["user"], &ended[0]["client"]), (&json!(held.user), &json!(held.app.client_id)));
}

#[test]
fn a_consent_that_is_withdrawn_leaves_other_users_and_what_the_client_exchanged() {
    let held = Held::new();
    let allowed = |client: &RelyingParty| {
        held.allow(client);
        format!("/users/{}/consents/{}", held.user, client.client_id)
    };
    // The service holds exchanged tokens only: what the user allowed is the first client's grant.
    held.admin("DELETE", &allowed(&held.service), None);
    let (somebody, browser) = held.server.signed_in("b@example.com");
    let theirs = held.app.sign_in(&browser);
    assert_ne!(somebody, held.user);
    let all = [true, true];
    let lives = Lives { bound: true, offline: true, others: true, exchanged: all, session: true, code: true };
    assert_eq!(held.lives(), lives);
    held.admin("DELETE", &allowed(&held.app), None);
    assert!(held.both(&held.app, &theirs));
}

#[test]
fn a_withdrawn_consent_is_asked_for_again_and_stays_withdrawn_over_a_restart() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "skip_consent": false }));
    let (user, browser) = server.signed_in("a@example.com");
    allow(&server, &user, &rp.client_id);
    let request = || rp.authorization_request().with("prompt", "none");
    let before = rp.sign_in_with(&browser, request());
    let late = request();
    let code = browser.get(&late.path()).redirected("code").expect("a code");
    let path = format!("/users/{user}/consents/{}", rp.client_id);
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    assert_eq!(browser.get(&request().path()).redirected("error").as_deref(), Some("consent_required"));
    assert_eq!(rp.redeem(&code, &late.verifier).error(), "invalid_grant");
    server.clock.advance(Duration::from_secs(1));
    allow(&server, &user, &rp.client_id);
    let after = rp.sign_in_with(&browser, request());

    let options = Options { seed: 2, ..Options::default() }.issuer(&server.issuer.clone());
    let server = server.restart(options);
    let rp = rp.at(&server);
    let refreshed = |tokens: &TokenSet| rp.refresh(tokens.refresh_token.as_deref().unwrap()).status;
    assert_eq!((refreshed(&before), refreshed(&after)), (400, 200));
}

#[test]
fn what_ended_stays_ended_over_a_restart() {
    let mut held = Held::new();
    held.admin("DELETE", &format!("/users/{}/sessions", held.user), None);
    let issuer = held.server.issuer.clone();
    let server = held.server.restart(Options { seed: 2, ..Options::default() }.issuer(&issuer));
    held.app = held.app.at(&server);
    held.other = held.other.at(&server);
    held.service = held.service.at(&server);
    let browser = server.browser();
    browser.set_cookie("symbolon_session", &held.browser.cookie("symbolon_session").unwrap());
    held.browser = browser;
    held.server = server;
    assert_eq!(held.lives(), WITHOUT_SESSION);
}

/// Whoever signs in again in the same browser is logged out of the earlier sign-in too.
#[test]
fn a_logout_ends_what_was_granted_before_the_user_signed_in_again() {
    let scene = Scene::new();
    let (browser, first) = scene.signed_in();
    let mut tokens = vec![first];
    for _ in 0..2 {
        let request = scene.rp.authorization_request().with("prompt", "login");
        let page = scene.at_login(&browser, &request);
        let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
        let code = signed_in.redirected("code").expect("a code");
        tokens.push(TokenSet::of(&scene.rp.redeem(&code, &request.verifier)));
    }
    let sids: Vec<Value> = tokens
        .iter()
        .map(|tokens| decode_jwt(tokens.id_token.as_deref().unwrap()).1["sid"].clone())
        .collect();
    assert!(sids[0] != sids[1] && sids[1] != sids[2], "a new session each time");
    let userinfo = |tokens: &TokenSet| {
        let authorization = format!("Bearer {}", tokens.access_token);
        scene.server.browser().get_with("/userinfo", &[("authorization", &authorization)]).status
    };
    assert!(tokens.iter().all(|tokens| userinfo(tokens) == 200), "applications go on");
    // By the hint of the first of them.
    let hint = tokens[0].id_token.clone().unwrap();
    browser.post("/logout", &[("id_token_hint", &hint)]);
    assert!(browser.cookie("symbolon_session").is_none(), "nobody is asked: it is about this very session");
    for tokens in &tokens {
        assert_eq!(userinfo(tokens), 401);
        assert_ne!(scene.rp.refresh(tokens.refresh_token.as_deref().unwrap()).status, 200);
    }
}

#[test]
fn another_user_in_a_browser_of_one_account_ends_the_first_ones_grants() {
    let scene = Scene::new();
    let one = serde_json::json!({ "accounts_per_browser": 1 });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(one)).status, 200);
    let (browser, first) = scene.signed_in();
    let request = scene.rp.authorization_request().with("prompt", "login");
    let page = scene.at_login(&browser, &request);
    let signed_in = Scene::sign_in(&browser, &page, "other@example.com", crate::login::PASSWORD);
    assert_eq!(signed_in.status, 303);
    assert_eq!(crate::login::userinfo(&scene, &first).status, 401);
    assert_ne!(scene.rp.refresh(first.refresh_token.as_deref().unwrap()).status, 200);
}
