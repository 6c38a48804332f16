//! The login and consent pages.

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, Browser, RelyingParty};

use super::{Case, explained, run};
use crate::login::{PASSWORD, Scene, hidden};
use crate::second_factor;

/// Sends the login form of a new request.
fn attempt(scene: &Scene, id: &str, fields: &[(&str, &str)]) -> Answer {
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    send(&browser, id, &page, "/login", fields)
}

fn send(browser: &Browser, id: &str, page: &Answer, path: &str, fields: &[(&str, &str)]) -> Answer {
    let (transaction, csrf) = hidden(page);
    let mut form = vec![("transaction", &*transaction), ("csrf_token", &*csrf)];
    form.extend_from_slice(fields);
    browser.post_with(path, &form, &[("x-request-id", id)])
}

fn sign_in(scene: &Scene, id: &str, name: &str, password: &str) -> Answer {
    attempt(scene, id, &[("username", name), ("password", password)])
}

fn user(scene: &Scene, body: Value) -> String {
    let answer = scene.server.admin("POST", "/users", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["user"]["id"].as_str().unwrap().to_owned()
}

const REFUSED: (u16, &str) = (403, "");

pub(super) const CASES: [Case<Scene>; 10] = [
    Case::new(Reason::SignInMethodOff, REFUSED, &[], |scene, id| {
        let set = |methods: Value| {
            let settings = Some(json!({ "sign_in_methods": methods }));
            assert_eq!(scene.server.admin("PATCH", "/settings", settings).status, 200);
        };
        set(json!(["passkey"]));
        let answer = sign_in(scene, id, "other@example.com", PASSWORD);
        set(Value::Null);
        answer
    }),
    Case::new(Reason::LoginNameUnknown, REFUSED, &[], |scene, id| {
        let answer = sign_in(scene, id, "alcie@example.com", PASSWORD);
        let failure = explained(&scene.server, "", id);
        assert_eq!(failure["login_name"], "alcie@example.com", "{failure}");
        assert_eq!((&failure["client_id"], failure.get("user_id")), (&json!(scene.rp.client_id), None));
        answer
    }),
    Case::new(Reason::PasswordWrong, REFUSED, &[], |scene, id| {
        let answer = sign_in(scene, id, "OTHER@example.com", "not the password");
        let failure = explained(&scene.server, "", id);
        assert_eq!(
            (&failure["user_id"], &failure["event"]),
            (&json!("other"), &json!("session.sign_in_failed"))
        );
        answer
    }),
    Case::new(Reason::PasswordNotSet, REFUSED, &[], |scene, id| {
        user(scene, json!({ "email": "bare@example.com" }));
        sign_in(scene, id, "bare@example.com", PASSWORD)
    }),
    Case::new(Reason::UserDeactivated, REFUSED, &[], |scene, id| {
        let gone = user(scene, json!({ "email": "gone@example.com", "password": PASSWORD }));
        let path = format!("/users/{gone}");
        assert_eq!(scene.server.admin("PATCH", &path, Some(json!({ "active": false }))).status, 200);
        let wrong = sign_in(scene, "wrong-and-deactivated", "gone@example.com", "not the password");
        assert_eq!(explained(&scene.server, "", "wrong-and-deactivated")["reason"], "password_wrong");
        let right = sign_in(scene, id, "gone@example.com", PASSWORD);
        assert_eq!(right.status, wrong.status, "outside they look the same");
        right
    }),
    Case::new(Reason::SignInFormExpired, REFUSED, &[], |scene, id| {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let (transaction, _) = hidden(&page);
        let form =
            [("transaction", &*transaction), ("csrf_token", "forged"), ("username", "a"), ("password", "b")];
        browser.post_with("/login", &form, &[("x-request-id", id)])
    }),
    Case::new(Reason::UserRefused, (303, "access_denied"), &[], |scene, id| {
        attempt(scene, id, &[("cancel", "1")])
    }),
    Case::new(Reason::PageFormExpired, (303, ""), &[], |scene, id| {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let signed_in = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
        let (transaction, _) = hidden(&Scene::to_consent(&browser, &signed_in));
        let form = [("transaction", &*transaction), ("csrf_token", "forged"), ("decision", "allow")];
        let answer = browser.post_with("/consent", &form, &[("x-request-id", id)]);
        let failure = explained(&scene.server, "", id);
        assert_eq!(
            (&failure["user_id"], &failure["client_id"]),
            (&json!("other"), &json!(scene.rp.client_id))
        );
        answer
    }),
    Case::new(Reason::PageFormInvalid, (400, "invalid_request"), &["`decision` was maybe"], |scene, id| {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let signed_in = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
        let consent = Scene::to_consent(&browser, &signed_in);
        send(&browser, id, &consent, "/consent", &[("decision", "maybe")])
    }),
    Case::new(Reason::SecondFactorWrong, REFUSED, &[], |scene, id| {
        // The last one: it requires a second factor of everybody.
        second_factor::enrolled(scene);
        let browser = scene.server.browser();
        let page = second_factor::after_password(scene, &browser);
        let (transaction, csrf) = hidden(&page);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", "000000")];
        let answer = browser.post_with("/login/second-factor", &form, &[("x-request-id", id)]);
        let failure = explained(&scene.server, "", id);
        assert_eq!(
            (&failure["user_id"], &failure["reason"]),
            (&json!("other"), &json!("second_factor_wrong"))
        );
        answer
    }),
];

#[test]
fn sign_ins() {
    let scene = Scene::new();
    run(&scene, &scene.server, &CASES);
}

/// People type their password into the field of the name. It must not be readable anywhere, and the attempt must be found.
#[test]
fn a_password_in_the_wrong_field_is_found_but_not_shown() {
    let scene = Scene::new();
    let typed = "Tr0ub4dor&3";
    assert_eq!(sign_in(&scene, "wrong-field", typed, PASSWORD).status, 403);
    assert_eq!(sign_in(&scene, "right-field", "nobody@example.com", typed).status, 403);
    scene.server.drain_audit();
    let all = scene.server.admin("GET", "/audit-logs?limit=100", None).body;
    assert!(!all.contains(typed) && !all.contains(PASSWORD) && all.contains("T... (11 characters)"), "{all}");
    let search = |query: &str| {
        let found = scene.server.admin("GET", &format!("/audit-logs?{query}"), None);
        assert_eq!(found.status, 200, "{found:?}");
        let found = found.json();
        let requests = found["audit_logs"].as_array().unwrap().iter().map(|record| record["request"].clone());
        requests.collect::<Vec<Value>>()
    };
    assert_eq!(search("name=tr0ub4dor%263"), [json!("wrong-field")], "whatever its case");
    assert_eq!(search("name=nobody%40example.com"), [json!("right-field")]);
    assert_eq!(search("name=somebody"), Vec::<Value>::new());
    assert_eq!(search("request_id=right-field"), [json!("right-field")]);
    assert_eq!(search("address=127.0.0.1&event=session.sign_in_failed").len(), 2);
    assert_eq!(search("address=%3A%3Affff%3A127.0.0.1&name=nobody%40example.com").len(), 1);
    assert_eq!(search("address=192.0.2.1").len(), 0);
    assert_eq!(scene.server.admin("GET", "/audit-logs?address=here", None).status, 400);
}

/// The names of one issuer say nothing at another: the digests have keys of their own.
#[test]
fn issuers_keep_their_failures_apart() {
    let scene = Scene::new();
    let url = format!("{}/acme", scene.server.issuer);
    let created = scene.server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url })));
    assert_eq!(created.status, 201, "{created:?}");
    let nobody = RelyingParty::known(&scene.server, "nobody", Some("a-secret"), "").served_at(&url);
    let headers = [("x-request-id", "at-acme-only"), ("authorization", &nobody.basic())];
    let form = [("grant_type", "client_credentials")];
    assert_eq!(Browser::new(&url).post_with("/token", &form, &headers).status, 401);
    assert_eq!(explained(&scene.server, "/issuers/acme", "at-acme-only")["reason"], "client_unknown");
    assert_eq!(scene.server.admin("GET", "/failures/at-acme-only", None).status, 404);
    let found = scene.server.admin("GET", "/issuers/acme/clients/nobody/failures", None);
    assert_eq!(found.json()["failures"][0]["request_id"], "at-acme-only", "{found:?}");
    assert_eq!(scene.server.admin("GET", "/clients/nobody/failures", None).status, 404);
}
