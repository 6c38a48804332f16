//! UserInfo (OpenID Connect Core 5.3) as a protected resource (RFC 6750).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty, TestServer, TokenSet};

fn get(browser: &Browser, token: &str) -> Answer {
    browser.get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
}

fn challenge(answer: &Answer) -> &str {
    answer.header("www-authenticate").expect("a challenge")
}

fn assert_refused(answer: &Answer, status: u16, error: &str) {
    assert_eq!((answer.status, &*answer.error()), (status, error), "{answer:?}");
    assert!(challenge(answer).starts_with("Bearer realm="), "{answer:?}");
    assert!(challenge(answer).contains(&format!("error=\"{error}\"")), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn the_token_may_come_in_the_header_or_in_a_form_and_nowhere_else() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    let bearer = format!("Bearer {token}");
    let browser = server.browser();
    let good = [
        get(&browser, &token),
        browser.get_with("/userinfo", &[("authorization", &format!("bEaReR {token}"))]),
        browser.send("POST", "/userinfo", &[("authorization", &bearer)], b""),
        browser.post("/userinfo", &[("access_token", &token)]),
    ];
    for answer in good {
        assert_eq!((answer.status, &answer.json()["sub"]), (200, &json!(user)), "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    // RFC 6750 3.1: without credentials the challenge carries no error. A query is no place for a token (RFC 9700 4.3.2).
    let without = [
        browser.get("/userinfo"),
        browser.get(&format!("/userinfo?access_token={token}")),
        browser.post("/userinfo", &[("other", "x")]),
        browser.send("POST", "/userinfo", &[], b""),
        browser.send("POST", "/userinfo", &[("content-type", "application/json")], b"{}"),
        browser.send("POST", "/userinfo", &[("content-type", "text/plain")], b"access_token=x"),
        browser.send("POST", "/userinfo", &[("content-type", "application/x-www-form-urlencoded2")], b"a=b"),
        browser.send("POST", "/userinfo", &[("content-type", "")], b"x"),
        browser.get_with("/userinfo", &[("authorization", &rp.basic())]),
    ];
    for answer in without {
        assert_eq!(answer.status, 401, "{answer:?}");
        assert!(!challenge(&answer).contains("error"), "{answer:?}");
    }
    // RFC 6750 2: one method at a time, once.
    let twice = browser.post_with("/userinfo", &[("access_token", &token)], &[("authorization", &bearer)]);
    assert_refused(&twice, 400, "invalid_request");
    let twice = browser.post("/userinfo", &[("access_token", &token), ("access_token", &token)]);
    assert_refused(&twice, 400, "invalid_request");
    let twice = browser.get_with("/userinfo", &[("authorization", &bearer), ("authorization", &bearer)]);
    assert_refused(&twice, 400, "invalid_request");
    for method in ["PUT", "DELETE", "PATCH"] {
        let answer = browser.send(method, "/userinfo", &[("authorization", &bearer)], b"");
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.header("allow").unwrap().contains("GET"), "{answer:?}");
    }
}

#[test]
fn tokens_that_are_not_for_userinfo_are_refused() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "access_token_audiences": ["https://api.example"] }));
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let browser = server.browser();
    for bad in
        ["", "x", "a.b.c", tokens.id_token.as_deref().unwrap(), tokens.refresh_token.as_deref().unwrap()]
    {
        let answer = get(&browser, bad);
        assert_eq!(answer.status, 401, "{bad}: {answer:?}");
    }
    let mut forged = tokens.access_token.clone();
    forged.replace_range(forged.len() - 8.., "AAAAAAAA");
    assert_refused(&get(&browser, &forged), 401, "invalid_token");
    // A client's own token stands for no user.
    let own = TokenSet::of(&rp.token(&[("grant_type", "client_credentials")])).access_token;
    assert_refused(&get(&browser, &own), 403, "insufficient_scope");
    let elsewhere = [("grant_type", "client_credentials"), ("audience", "https://api.example")];
    let elsewhere = TokenSet::of(&rp.token(&elsewhere)).access_token;
    assert_refused(&get(&browser, &elsewhere), 401, "invalid_token");
    assert_eq!(rp.post("/revoke", &[("token", &tokens.access_token)]).status, 200);
    assert_refused(&get(&browser, &tokens.access_token), 401, "invalid_token");
}

/// RFC 6750 3: one challenge of the scheme, and no attribute in it twice.
#[test]
fn a_challenge_says_each_thing_once() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let own = TokenSet::of(&rp.token(&[("grant_type", "client_credentials")])).access_token;
    for (token, error) in [("x", "invalid_token"), (&*own, "insufficient_scope")] {
        let answer = get(&server.browser(), token);
        let challenges = answer.headers.iter().filter(|(name, _)| name == "www-authenticate").count();
        assert_eq!(challenges, 1, "{answer:?}");
        let text = challenge(&answer);
        assert!(text.contains(&format!("error=\"{error}\"")), "{text}");
        for attribute in ["realm=", "error=", "error_description=", "error_uri=", "scope="] {
            assert!(text.matches(attribute).count() <= 1, "{attribute} in {text}");
        }
    }
}

#[test]
fn an_access_token_ends_to_the_second() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    server.clock.advance(Duration::from_secs(3_599));
    assert_eq!(get(&server.browser(), &token).status, 200);
    server.clock.advance(Duration::from_secs(1));
    assert_refused(&get(&server.browser(), &token), 401, "invalid_token");
}

#[test]
fn scopes_choose_the_claims() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": "openid profile email address phone" }));
    let user = json!({
        "id": "alice", "email": "alice@example.com", "email_verified": true, "name": "Alice A", "given_name": "Alice",
        "phone_number": "+4712345678", "address": { "country": "NO" }, "locale": "nb",
    });
    assert_eq!(server.admin("POST", "/users", Some(user)).status, 201);
    let session = server.admin("POST", "/test/sessions", Some(json!({ "user_id": "alice" }))).json();
    let browser = server.browser();
    browser.set_cookie("symbolon_session", session["session_id"].as_str().unwrap());
    let claims = |scope: &str| -> Value {
        let tokens = rp.sign_in_with(&browser, rp.authorization_request().with("scope", scope));
        get(&server.browser(), &tokens.access_token).json()
    };
    assert_eq!(claims("openid"), json!({ "sub": "alice" }));
    let email = json!({ "sub": "alice", "email": "alice@example.com", "email_verified": true });
    assert_eq!(claims("openid email"), email);
    let phone = json!({ "sub": "alice", "phone_number": "+4712345678", "phone_number_verified": false });
    assert_eq!(claims("openid phone"), phone);
    assert_eq!(claims("openid address")["address"], json!({ "country": "NO" }));
    let profile = claims("openid profile");
    assert_eq!((&profile["name"], &profile["locale"]), (&json!("Alice A"), &json!("nb")));
    assert!(profile["updated_at"].is_u64() && profile.get("email").is_none(), "{profile}");
    // A change is seen at once.
    assert_eq!(
        server.admin("PATCH", "/users/alice", Some(json!({ "email": "new@example.com" }))).status,
        200
    );
    assert_eq!(claims("openid email")["email"], "new@example.com");
}

#[test]
fn the_name_that_a_client_of_fapi_gives_a_request_is_repeated() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let bearer = format!("Bearer {}", rp.sign_in(&browser).access_token);
    let named = |name: &str| {
        let headers = [("authorization", &*bearer), ("x-fapi-interaction-id", name)];
        let answer = server.browser().get_with("/userinfo", &headers);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("x-fapi-interaction-id").map(str::to_owned)
    };
    let name = "c770aef3-6784-41f7-8e0e-ff5f97bddb3a";
    assert_eq!(named(name).as_deref(), Some(name));
    // Nothing that is no UUID comes back.
    for bad in ["", "x", "c770aef3-6784-41f7-8e0e-ff5f97bddb3", "c770aef3_6784-41f7-8e0e-ff5f97bddb3a"] {
        assert_eq!(named(bad), None, "{bad}");
    }
    assert_eq!(get(&server.browser(), &bearer["Bearer ".len()..]).header("x-fapi-interaction-id"), None);
}
