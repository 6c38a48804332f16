//! Claims about the user in ID tokens and at UserInfo, by scope.

mod cut;
mod deactivated;
mod definitions;
mod entitlements;
mod nodes;
mod preview;

use serde_json::{Value, json};
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet, decode_jwt, is_clustered};

const ALL: &str = "openid profile email address phone groups roles offline_access";

/// Token exchange (RFC 8693 2.1, 3).
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// The claims of the scopes, without those that every ID token carries.
const OF_SCOPES: [&str; 10] = [
    "name",
    "locale",
    "updated_at",
    "email",
    "email_verified",
    "address",
    "phone_number",
    "phone_number_verified",
    "groups",
    "roles",
];

fn alice(server: &TestServer) -> Browser {
    let user = json!({
        "id": "alice", "email": "alice@example.com", "email_verified": true, "name": "Alice \"A\"", "locale": "nb",
        "phone_number": "+4712345678", "address": { "country": "NO" },
    });
    assert_eq!(server.admin("POST", "/users", Some(user)).status, 201);
    let session = server.admin("POST", "/test/sessions", Some(json!({ "user_id": "alice" }))).json();
    let browser = server.browser();
    browser.set_cookie("symbolon_session", session["session_id"].as_str().unwrap());
    browser
}

fn change(server: &TestServer, method: &str, path: &str, body: Value) -> Value {
    let answer = server.admin(method, path, Some(body));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Signs in with a scope; by silent authentication, since there is a session.
fn sign_in(rp: &RelyingParty, browser: &Browser, scope: &str) -> TokenSet {
    let request = rp.authorization_request().with("scope", scope).with("prompt", "none");
    rp.sign_in_with(browser, request)
}

fn id_token(tokens: &TokenSet) -> Value {
    decode_jwt(tokens.id_token.as_deref().expect("an ID token")).1
}

fn refreshed(rp: &RelyingParty, tokens: &TokenSet) -> TokenSet {
    TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().expect("a refresh token")))
}

fn userinfo(server: &TestServer, tokens: &TokenSet) -> Value {
    let bearer = format!("Bearer {}", tokens.access_token);
    let answer = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Which of the claims of the scopes are there.
fn told(claims: &Value) -> Vec<&'static str> {
    OF_SCOPES.into_iter().filter(|name| claims.get(*name).is_some()).collect()
}

#[test]
fn an_id_token_carries_what_userinfo_tells_by_the_granted_scopes() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    let browser = alice(&server);
    for (scope, expected) in [
        ("openid", &[][..]),
        ("openid email", &["email", "email_verified"]),
        ("openid profile", &["name", "locale", "updated_at"]),
        ("openid phone address", &["address", "phone_number", "phone_number_verified"]),
        ("openid groups", &["groups"]),
        (ALL, &OF_SCOPES),
    ] {
        let first = sign_in(&rp, &browser, scope);
        for tokens in [&first, &refreshed(&rp, &first)] {
            let (id, info) = (id_token(tokens), userinfo(&server, tokens));
            assert_eq!(told(&id), expected, "{scope}: {id}");
            assert!(told(&id).iter().chain(&["sub"]).all(|name| id[*name] == info[*name]), "{id} {info}");
        }
    }
    let id = id_token(&sign_in(&rp, &browser, ALL));
    assert_eq!((&id["name"], &id["address"]["country"]), (&json!("Alice \"A\""), &json!("NO")));
    assert_eq!((&id["iss"], &id["aud"]), (&json!(server.issuer), &json!(rp.client_id)));
    assert!(id["nonce"].is_string() && id["at_hash"].is_string() && id["sid"].is_string(), "{id}");
}

#[test]
fn minimal_id_tokens_say_who_signed_in_when_and_how() {
    let server = TestServer::start();
    let browser = alice(&server);
    let rp = RelyingParty::register(&server, json!({}));
    let own =
        |claims: &str| RelyingParty::register(&server, json!({ "settings": { "id_token_claims": claims } }));
    let (thin, full) = (own("minimal"), own("scopes"));
    let tells = |rp: &RelyingParty| {
        let first = sign_in(rp, &browser, "openid profile email");
        let second = refreshed(rp, &first);
        let [first_claims, second_claims] = [&first, &second].map(id_token);
        assert_eq!(told(&first_claims), told(&second_claims));
        assert_eq!(userinfo(&server, &second)["email"], "alice@example.com", "UserInfo tells in any case");
        !told(&first_claims).is_empty()
    };
    assert!(tells(&rp) && tells(&full) && !tells(&thin));
    change(&server, "PATCH", "/settings", json!({ "id_token_claims": "minimal" }));
    assert!(!tells(&rp) && tells(&full) && !tells(&thin));
    change(&server, "PATCH", "/settings", json!({ "id_token_claims": null }));
    let path = format!("/clients/{}", rp.client_id);
    change(&server, "PATCH", &path, json!({ "settings": { "id_token_claims": "minimal" } }));
    assert!(!tells(&rp) && tells(&full));
    let client = change(&server, "PATCH", &path, json!({ "settings": { "id_token_claims": null } }));
    assert!(client["client"]["settings"].get("id_token_claims").is_none(), "{client}");
    assert!(tells(&rp));
}

#[test]
fn the_setting_is_shown_and_has_two_values() {
    let server = TestServer::start();
    assert_eq!(server.admin("GET", "/settings", None).json()["settings"]["id_token_claims"], "scopes");
    for bad in [json!("all"), json!("Scopes"), json!(true), json!(["email"])] {
        let answer = server.admin("PATCH", "/settings", Some(json!({ "id_token_claims": bad })));
        assert_eq!(answer.status, 400, "{answer:?}");
        let described = answer.json()["error_description"].as_str().unwrap().to_owned();
        assert!(described.starts_with("id_token_claims is not valid"), "{described}");
        let client = json!({
            "client_name": "x", "redirect_uris": ["https://x.example/"], "settings": { "id_token_claims": bad },
        });
        assert_eq!(server.admin("POST", "/clients", Some(client)).status, 400);
    }
}

#[test]
fn a_refresh_tells_of_the_user_as_they_are_now_and_only_by_its_own_scope() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let browser = alice(&server);
    let first = sign_in(&rp, &browser, "openid profile email");
    change(&server, "PATCH", "/users/alice", json!({ "email": "new@example.com", "name": null }));
    let second = refreshed(&rp, &first);
    let claims = id_token(&second);
    assert_eq!((&claims["email"], claims.get("name")), (&json!("new@example.com"), None));
    // RFC 6749 6: a refresh may ask for less.
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", second.refresh_token.as_deref().unwrap()),
        ("scope", "openid profile"),
    ];
    let third = TokenSet::of(&rp.token(&form));
    assert_eq!(told(&id_token(&third)), ["locale", "updated_at"]);
    // What a client may no longer have is not told either.
    change(&server, "PATCH", &format!("/clients/{}", rp.client_id), json!({ "scope": "openid email" }));
    assert_eq!(told(&id_token(&refreshed(&rp, &third))), ["email", "email_verified"]);
}

/// Where no token carries a claim about the user, no record is looked up for one.
#[test]
fn a_code_for_openid_alone_or_for_minimal_id_tokens_reads_no_user() {
    // There a request may go to another node than the one whose figures are read.
    if is_clustered() {
        return;
    }
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    let thin = json!({ "scope": ALL, "settings": { "id_token_claims": "minimal" } });
    let thin = RelyingParty::register(&server, thin);
    let browser = alice(&server);
    let looked_up = || {
        let caches = server.app.store.figures().snapshot().caches;
        let of_users = caches.iter().filter(|cache| cache.name != "client");
        of_users.map(|cache| cache.hits + cache.misses).sum::<u64>()
    };
    for (rp, scope, look_ups) in [
        (&rp, "openid", 0),
        (&rp, "openid offline_access", 0),
        (&thin, "openid profile email groups", 0),
        (&rp, "openid email", 1),
        (&rp, "openid groups roles", 2),
        (&rp, ALL, 2),
        (&thin, ALL, 2),
    ] {
        let request = rp.authorization_request().with("scope", scope);
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let before = looked_up();
        assert_eq!(rp.redeem(&code, &request.verifier).status, 200);
        assert_eq!(looked_up() - before, look_ups, "{scope}");
    }
}

/// Nothing is left out of a long ID token. An address cannot hold it as a hint (`http.max_header_size`), a form can.
#[test]
fn long_claims_are_whole_and_the_id_token_is_a_hint_in_a_form() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    let browser = alice(&server);
    let names =
        ["name", "given_name", "family_name", "nickname", "profile", "picture", "website", "middle_name"];
    let mut long = json!({ "address": { "formatted": "x".repeat(2048), "locality": "y".repeat(2048) } });
    for name in names {
        long[name] = json!(name.repeat(2048 / name.len()));
    }
    change(&server, "PATCH", "/users/alice", long.clone());
    let tokens = sign_in(&rp, &browser, ALL);
    let claims = id_token(&tokens);
    assert!(names.iter().all(|name| claims[*name] == long[*name]));
    assert_eq!(claims["address"]["formatted"], long["address"]["formatted"]);

    let hint = tokens.id_token.clone().unwrap();
    assert!((24 * 1024..60 * 1024).contains(&hint.len()), "{}", hint.len());
    let out = browser.post("/logout", &[("id_token_hint", &hint), ("state", "s")]);
    assert_eq!(out.status, 200, "{out:?}");
    let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"), "the session has ended");
}
