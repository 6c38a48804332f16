//! What clients have of a user: listed, ended one by one, ended together, and left alive by a new password.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_testkit::{Browser, Options, RelyingParty, TestServer, TokenSet};

/// A user who is signed in, a client with `offline_access` and one without.
struct Held {
    server: TestServer,
    user: String,
    browser: Browser,
    offline: RelyingParty,
    bound: RelyingParty,
    of_offline: TokenSet,
    of_bound: TokenSet,
}

const OFFLINE: &str = "openid email offline_access";

impl Held {
    fn new() -> Self {
        let server = TestServer::start();
        let offline = RelyingParty::register(&server, json!({ "client_name": "Mail" }));
        let bound = RelyingParty::register(&server, json!({ "client_name": "Shop" }));
        let (user, browser) = server.signed_in("a@example.com");
        let of_offline =
            offline.sign_in_with(&browser, offline.authorization_request().with("scope", OFFLINE));
        let of_bound = bound.sign_in(&browser);
        Self { server, user, browser, offline, bound, of_offline, of_bound }
    }

    fn path(&self, rest: &str) -> String {
        format!("/users/{}/{rest}", self.user)
    }

    fn grants(&self) -> Vec<Value> {
        grants(&self.server, &self.path("grants"))
    }

    /// Client ids of the listing.
    fn listed(&self) -> Vec<String> {
        self.grants().iter().map(|grant| grant["client_id"].as_str().unwrap().to_owned()).collect()
    }

    fn end(&self, method: &str, rest: &str) {
        assert_eq!(self.server.admin(method, &self.path(rest), None).status, 204, "{method} {rest}");
    }

    fn offline_lives(&self) -> bool {
        lives(&self.server, &self.offline, &self.of_offline)
    }

    fn bound_lives(&self) -> bool {
        lives(&self.server, &self.bound, &self.of_bound)
    }

    fn signed_in(&self) -> bool {
        let request = self.bound.authorization_request().with("prompt", "none");
        self.browser.get(&request.path()).redirected("code").is_some()
    }

    fn audited(&self, event: &str) -> Vec<Value> {
        self.server.drain_audit();
        let found = self.server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
        found["audit_logs"].as_array().expect("records").clone()
    }
}

fn grants(server: &TestServer, path: &str) -> Vec<Value> {
    let answer = server.admin("GET", path, None);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["grants"].as_array().expect("grants").clone()
}

/// Whether UserInfo, introspection and refresh take what a client holds; they must agree.
fn lives(server: &TestServer, rp: &RelyingParty, tokens: &TokenSet) -> bool {
    let authorization = format!("Bearer {}", tokens.access_token);
    let userinfo = server.browser().get_with("/userinfo", &[("authorization", &authorization)]).status;
    let introspected = rp.post("/introspect", &[("token", &tokens.access_token)]).json()["active"].clone();
    let refreshed = rp.refresh(tokens.refresh_token.as_deref().unwrap());
    match (userinfo, introspected.as_bool(), refreshed.status) {
        (200, Some(true), 200) => true,
        (401, Some(false), 400) => {
            assert_eq!(refreshed.error(), "invalid_grant");
            false
        }
        other => panic!("the endpoints do not agree: {other:?}"),
    }
}

fn allow(server: &TestServer, user: &str, client: &RelyingParty, scope: &str) {
    let consent = Consent::new(Scope::parse(scope).unwrap(), server.now());
    let (user, client) = (UserId::parse(user).unwrap(), ClientId::parse(&client.client_id).unwrap());
    let issuer = IssuerId::default_issuer();
    let allowed = server.app.store.allow(&issuer, &user, &client, consent.into());
    assert!(server.block_on(allowed).unwrap());
}

#[test]
fn grants_are_listed_by_client_with_what_they_are() {
    let held = Held::new();
    let began = held.server.now();
    held.server.clock.advance(Duration::from_secs(60));
    let refreshed = held.offline.refresh(held.of_offline.refresh_token.as_deref().unwrap());
    assert_eq!(refreshed.status, 200);
    let second = held.offline.sign_in_with(&held.browser, held.offline.authorization_request());
    let third = RelyingParty::register(&held.server, json!({ "client_name": "Only allowed" }));
    allow(&held.server, &held.user, &third, "openid phone");
    allow(&held.server, &held.user, &held.bound, "openid address");

    let found = held.grants();
    let of = |rp: &RelyingParty| {
        found.iter().find(|grant| grant["client_id"] == json!(rp.client_id)).expect("listed").clone()
    };
    assert_eq!(found.len(), 3, "{found:?}");
    let mail = of(&held.offline);
    assert_eq!((&mail["client_name"], &mail["offline"]), (&json!("Mail"), &json!(true)));
    assert_eq!((&mail["refresh_tokens"], &mail["since"]), (&json!(2), &json!(began.millis())));
    assert_eq!(mail["last_used_at"], json!(held.server.now().millis()));
    assert!(mail["scope"].as_str().unwrap().split(' ').any(|scope| scope == "offline_access"), "{mail}");
    let shop = of(&held.bound);
    assert_eq!((&shop["offline"], &shop["refresh_tokens"]), (&json!(false), &json!(1)));
    assert!(shop["scope"].as_str().unwrap().split(' ').any(|scope| scope == "address"), "{shop}");
    let only_allowed = of(&third);
    assert_eq!(only_allowed["scope"], "openid phone");
    assert_eq!((&only_allowed["last_used_at"], &only_allowed["refresh_tokens"]), (&Value::Null, &json!(0)));
    // What the client gave back is not listed.
    held.offline.post("/revoke", &[("token", second.refresh_token.as_deref().unwrap())]);
    let found = held.grants();
    let mail = found.iter().find(|grant| grant["client_id"] == json!(held.offline.client_id)).unwrap();
    assert_eq!(mail["refresh_tokens"], 1);
    // Nor what ended with its session, nor anything of somebody else.
    assert_eq!(held.server.admin("DELETE", &held.path("sessions"), None).status, 200);
    held.server.admin("DELETE", &held.path(&format!("consents/{}", held.bound.client_id)), None);
    assert!(!held.listed().contains(&held.bound.client_id));
    let (other, _) = held.server.signed_in("b@example.com");
    assert!(grants(&held.server, &format!("/users/{other}/grants")).is_empty());
}

#[test]
fn one_grant_is_ended_and_the_others_live() {
    let held = Held::new();
    allow(&held.server, &held.user, &held.offline, OFFLINE);
    let one = format!("grants/{}", held.offline.client_id);
    held.end("DELETE", &one);
    assert!(!held.offline_lives());
    assert!(held.bound_lives() && held.signed_in());
    assert_eq!(held.listed(), std::slice::from_ref(&held.bound.client_id));
    let consent = held.path(&format!("consents/{}", held.offline.client_id));
    assert_eq!(held.server.admin("GET", &consent, None).status, 404, "the consent went too");
    // The same once more, and for a client that never had anything.
    held.end("DELETE", &one);
    held.end("DELETE", "grants/nobody");
    let ended = held.audited("grant.ended");
    let first = ended.last().expect("a record");
    let detail = &first["detail"];
    assert_eq!((&detail["consent"], &detail["refresh_tokens"]), (&json!(true), &json!(1)));
    let scope = &detail["changes"]["consent.scope"];
    assert!(scope["from"].is_string() && scope["to"].is_null(), "{detail}");
    assert_eq!(detail["changes"]["refresh_tokens"], json!({ "from": 1, "to": 0 }));
    assert_eq!((&first["user"], &first["client"]), (&json!(held.user), &json!(held.offline.client_id)));
    // What is granted afterwards works.
    held.server.clock.advance(Duration::from_secs(1));
    let again = held.offline.sign_in(&held.browser);
    assert!(lives(&held.server, &held.offline, &again));
    assert_eq!(held.listed().len(), 2);
}

#[test]
fn all_grants_are_ended_and_the_session_goes_on() {
    let held = Held::new();
    // It has neither refresh tokens nor a consent, only an access token.
    let bare = RelyingParty::register(&held.server, json!({ "grant_types": ["authorization_code"] }));
    let request = bare.authorization_request();
    let code = held.browser.get(&request.path()).redirected("code").expect("a code");
    let access = bare.redeem(&code, &request.verifier).json()["access_token"].as_str().unwrap().to_owned();
    let authorization = format!("Bearer {access}");
    let userinfo =
        || held.server.browser().get_with("/userinfo", &[("authorization", &authorization)]).status;
    assert_eq!(userinfo(), 200);
    for _ in 0..2 {
        held.end("DELETE", "grants");
        assert!(!held.offline_lives() && !held.bound_lives());
        assert_eq!(userinfo(), 401);
        assert!(held.listed().is_empty());
    }
    assert!(held.signed_in());
}

#[test]
fn a_user_is_signed_out_everywhere_and_is_not_asked_again_for_what_was_allowed() {
    let held = Held::new();
    allow(&held.server, &held.user, &held.offline, OFFLINE);
    let (somebody, their_browser) = held.server.signed_in("b@example.com");
    let theirs = held.offline.sign_in(&their_browser);
    for _ in 0..2 {
        held.end("POST", "sign-out");
        assert!(!held.offline_lives() && !held.bound_lives() && !held.signed_in());
        let found = held.grants();
        assert_eq!(found.len(), 1, "only the consent is left: {found:?}");
        assert_eq!((&found[0]["refresh_tokens"], &found[0]["offline"]), (&json!(0), &json!(false)));
    }
    assert!(lives(&held.server, &held.offline, &theirs), "{somebody} has nothing to do with it");
    let ended = held.audited("grant.ended");
    let changes = json!({
        "sessions": { "from": 1, "to": 0 },
        "grants": { "from": 2, "to": 0 },
        "refresh_tokens": { "from": 2, "to": 0 },
    });
    let counts = json!({
        "signed_out": true, "sessions": 1, "grants": 2, "refresh_tokens": 2, "changes": changes,
    });
    assert_eq!(ended.last().expect("a record")["detail"], counts);
}

#[test]
fn what_was_signed_out_stays_so_over_a_restart() {
    let held = Held::new();
    held.end("POST", "sign-out");
    let options = Options { seed: 2, ..Options::default() }.issuer(&held.server.issuer.clone());
    let path = held.path("grants");
    let Held { server, offline, bound, of_offline, of_bound, .. } = held;
    let server = server.restart(options);
    let (offline, bound) = (offline.at(&server), bound.at(&server));
    assert!(!lives(&server, &offline, &of_offline) && !lives(&server, &bound, &of_bound));
    assert!(grants(&server, &path).is_empty());
}

#[test]
fn grants_of_nobody_are_not_found() {
    let server = TestServer::start();
    for (method, rest) in
        [("GET", "grants"), ("DELETE", "grants"), ("DELETE", "grants/app"), ("POST", "sign-out")]
    {
        assert_eq!(
            server.admin(method, &format!("/users/nobody/{rest}"), None).status,
            404,
            "{method} {rest}"
        );
    }
}

#[test]
fn a_new_password_says_what_it_leaves_alive_and_ends_it_on_demand() {
    let held = Held::new();
    let path = held.path("password");
    let set = |body: Value| {
        let answer = held.server.admin("POST", &path, Some(body));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["left_alive"].clone()
    };
    let password = "correct horse battery";
    assert_eq!(set(json!({ "password": password })), json!({ "sessions": 1, "grants": 2 }));
    assert!(held.offline_lives() && held.bound_lives() && held.signed_in());
    let ended = set(json!({ "password": password, "sign_out": true }));
    assert_eq!(ended, json!({ "sessions": 0, "grants": 0 }));
    assert!(!held.offline_lives() && !held.bound_lives() && !held.signed_in());
}

/// The same below `/issuers/{issuer}`, and a user of the same id at another issuer keeps what they have.
#[test]
fn grants_belong_to_one_issuer() {
    let held = Held::new();
    let acme = json!({ "id": "acme", "url": format!("{}/acme", held.server.issuer) });
    assert_eq!(held.server.admin("POST", "/issuers", Some(acme)).status, 201);
    let twin = json!({ "id": held.user, "email": "a@example.com" });
    assert_eq!(held.server.admin("POST", "/issuers/acme/users", Some(twin)).status, 201);
    let at_acme = format!("/issuers/acme{}", held.path(""));
    assert!(grants(&held.server, &format!("{at_acme}grants")).is_empty());
    for (method, rest) in [("DELETE", "grants"), ("POST", "sign-out")] {
        assert_eq!(held.server.admin(method, &format!("{at_acme}{rest}"), None).status, 204);
    }
    assert!(held.offline_lives() && held.bound_lives() && held.signed_in());
    assert_eq!(held.listed().len(), 2);
}
