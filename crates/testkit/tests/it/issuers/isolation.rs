//! Every endpoint, tried with what another issuer gave out.

use serde_json::json;
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet};

use super::{PLACES, Tenant, World, start, urls};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

fn exchange<'a>(subject: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut form =
        vec![("grant_type", EXCHANGE), ("subject_token", subject), ("subject_token_type", ACCESS_TOKEN)];
    form.extend_from_slice(more);
    form
}

#[test]
fn nothing_of_one_issuer_is_good_at_another() {
    let world = World::new();
    for (victim, place) in world.pairs() {
        let told = format!("{} at {}", victim.name, place.name);
        refused_at_authorize(victim, place, &told);
        refused_at_token(&world.server, victim, place, &told);
        refused_as_tokens(victim, place, &told);
        refused_on_pages(victim, place, &told);
        refused_by_admin(&world.server, victim, place, &told);
    }
    for tenant in &world.tenants {
        assert_lives(tenant);
    }
}

fn refused_at_authorize(victim: &Tenant, place: &Tenant, told: &str) {
    // An unknown client goes nowhere, whoever is signed in.
    let foreign = place.with_session(&victim.session).get(&victim.rp.authorization_request().path());
    assert_eq!(foreign.status, 400, "{told}: {foreign:?}");
    assert!(foreign.header("location").is_none(), "{told}");
    // A known client with the other's redirect URI neither.
    let request = place.rp.authorization_request().with("redirect_uri", &victim.rp.redirect_uri);
    assert_eq!(place.browser.get(&request.path()).status, 400, "{told}");
    // Another's session is none, under either cookie name.
    let browser = place.with_session(&victim.session);
    browser.set_cookie(victim.cookie, &victim.session);
    let silent = place.silent(&browser, place.rp.authorization_request());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"), "{told}: {silent:?}");
    // Nor does a `sid` open one.
    let silent = place.silent(&place.with_session(&victim.sid), place.rp.authorization_request());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"), "{told}");
    // And another's ID token names nobody here.
    let hint = victim.tokens.id_token.as_deref().unwrap();
    let silent = place.silent(&place.browser, place.rp.authorization_request().with("id_token_hint", hint));
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"), "{told}");
}

fn refused_at_token(server: &TestServer, victim: &Tenant, place: &Tenant, told: &str) {
    let (code, request) = &victim.code;
    let redirect = &*victim.rp.redirect_uri;
    let code = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect),
        ("code_verifier", &request.verifier),
    ];
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", victim.refresh_token())];
    let offline = [
        ("grant_type", "refresh_token"),
        ("refresh_token", victim.offline.refresh_token.as_deref().unwrap()),
    ];
    let subject = exchange(victim.access_token(), &[]);
    let actor = exchange(
        place.access_token(),
        &[("actor_token", victim.access_token()), ("actor_token_type", ACCESS_TOKEN)],
    );
    let credentials = [("grant_type", "client_credentials")];
    for form in [&code[..], &refresh, &offline, &subject, &actor] {
        let by_own = place.rp.token(form);
        assert_eq!((by_own.status, by_own.error()), (400, "invalid_grant".to_owned()), "{told}: {form:?}");
    }
    for form in [&code[..], &refresh, &offline, &subject, &actor, &credentials] {
        let by_foreign = victim.rp.clone().served_at(&place.url).token(form);
        assert_eq!(
            (by_foreign.status, by_foreign.error()),
            (401, "invalid_client".to_owned()),
            "{told}: {form:?}"
        );
    }
    for endpoint in ["/introspect", "/revoke"] {
        let answer =
            victim.rp.clone().served_at(&place.url).post(endpoint, &[("token", victim.access_token())]);
        assert_eq!((answer.status, answer.error()), (401, "invalid_client".to_owned()), "{told}: {endpoint}");
    }
    // An assertion, whomever it is meant for.
    let (client_id, key) = &victim.signer;
    for audience in [&victim.url, &place.url] {
        let jti = format!("{told} {audience}");
        let assertion = key.assertion(client_id, audience, &jti.replace(' ', "-"), server.now().seconds());
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", ASSERTION),
            ("client_assertion", &*assertion),
        ];
        let answer = Browser::new(&place.url).post("/token", &form);
        assert_eq!((answer.status, answer.error()), (401, "invalid_client".to_owned()), "{told}");
    }
}

fn refused_as_tokens(victim: &Tenant, place: &Tenant, told: &str) {
    let refresh_token = victim.refresh_token();
    for token in [victim.access_token(), victim.tokens.id_token.as_deref().unwrap(), refresh_token] {
        let answer = place.userinfo(token);
        assert_eq!((answer.status, answer.error()), (401, "invalid_token".to_owned()), "{told}");
        assert_eq!(
            place.rp.post("/introspect", &[("token", token)]).json(),
            json!({ "active": false }),
            "{told}"
        );
        // RFC 7009 2.2: an unknown token is as good as a revoked one; the victim's lives on, as is seen at the end.
        assert_eq!(place.rp.post("/revoke", &[("token", token)]).status, 200, "{told}");
    }
}

fn refused_on_pages(victim: &Tenant, place: &Tenant, told: &str) {
    let (transaction, csrf, browser) = &victim.waiting;
    // With every cookie that the victim's browser has, under the names that this issuer looks for.
    let here = Browser::new(&place.url);
    for name in ["symbolon_login_default", "symbolon_login_acme", "symbolon_login_other", "symbolon_login"] {
        for value in [browser.cookie(name), browser.cookie(&format!("symbolon_login_{}", victim.name))]
            .into_iter()
            .flatten()
        {
            here.set_cookie(name, &value);
        }
    }
    here.set_cookie(
        &format!("symbolon_login_{}", place.name),
        &browser.cookie(&format!("symbolon_login_{}", victim.name)).unwrap_or_default(),
    );
    for path in ["/login", "/consent"] {
        let answer = here.get(&format!("{path}?transaction={transaction}"));
        assert_eq!(answer.status, 400, "{told}: {path} {answer:?}");
    }
    let form = [
        ("transaction", &**transaction),
        ("csrf_token", csrf),
        ("username", "x"),
        ("password", "y"),
        ("decision", "allow"),
    ];
    for path in ["/login", "/consent"] {
        assert_eq!(here.post(path, &form).status, 400, "{told}: {path}");
    }
    let form = [("transaction", &**transaction), ("csrf_token", &**csrf), ("decision", "confirm")];
    assert_eq!(here.post("/logout/confirm", &form).status, 400, "{told}");
    // Logout: another's ID token ends nothing and leads nowhere.
    let hint = victim.tokens.id_token.as_deref().unwrap();
    let bye = format!("https://{}.example/bye", victim.name);
    let out = place
        .with_session(&victim.session)
        .post("/logout", &[("id_token_hint", hint), ("post_logout_redirect_uri", &bye)]);
    assert!(out.header("location").is_none(), "{told}: {out:?}");
    // In a browser that is signed in here, the person is asked and nothing ends.
    let out = place.browser.post("/logout", &[("id_token_hint", hint)]);
    assert!(place.browser.cookie(place.cookie).is_some(), "{told}: {out:?}");
}

fn refused_by_admin(server: &TestServer, victim: &Tenant, place: &Tenant, told: &str) {
    let keys = server.admin("GET", &format!("{}/signing-keys", victim.admin), None).json();
    let kid = keys["keys"][0]["kid"].as_str().unwrap().to_owned();
    let client = format!("/clients/{}", victim.rp.client_id);
    let user = format!("/users/{}", victim.user);
    let table = [
        ("GET", client.clone(), None),
        ("PUT", client.clone(), Some(json!({ "client_name": "x", "redirect_uris": ["https://x.example/"] }))),
        ("PATCH", client.clone(), Some(json!({ "client_name": "x" }))),
        ("POST", format!("{client}/regenerate-secret"), None),
        ("GET", format!("{client}/preview-tokens?user={}", victim.user), None),
        ("DELETE", client, None),
        ("GET", user.clone(), None),
        ("PUT", user.clone(), Some(json!({ "email": "x@example.com" }))),
        ("PATCH", user.clone(), Some(json!({ "active": false }))),
        ("POST", format!("{user}/password"), Some(json!({ "password": "a password of a thief" }))),
        ("GET", format!("{user}/authenticators"), None),
        ("DELETE", format!("{user}/authenticators"), None),
        ("DELETE", format!("{user}/authenticators/totp"), None),
        ("DELETE", format!("{user}/authenticators/recovery-codes"), None),
        ("DELETE", format!("{user}/authenticators/passkeys/key-1"), None),
        ("GET", format!("{user}/identities"), None),
        ("DELETE", format!("{user}/identities/key-1"), None),
        ("GET", format!("{user}/consents"), None),
        ("DELETE", format!("{user}/consents/{}", victim.rp.client_id), None),
        ("GET", format!("{user}/grants"), None),
        ("DELETE", format!("{user}/grants"), None),
        ("DELETE", format!("{user}/grants/{}", victim.rp.client_id), None),
        ("POST", format!("{user}/sign-out"), None),
        ("GET", format!("{user}/sessions"), None),
        ("DELETE", format!("{user}/sessions"), None),
        ("DELETE", user, None),
        ("GET", format!("/sessions/{}", victim.sid), None),
        ("DELETE", format!("/sessions/{}", victim.sid), None),
        ("POST", format!("/signing-keys/{kid}/revoke"), Some(json!({ "reason": "x" }))),
        ("POST", "/signing-keys/emergency-rotate".to_owned(), Some(json!({ "reason": "x", "kid": kid }))),
        ("POST", "/test/sessions".to_owned(), Some(json!({ "user_id": victim.user }))),
    ];
    for (method, path, body) in table {
        let answer = server.admin(method, &format!("{}{path}", place.admin), body);
        assert_eq!(answer.status, 404, "{told}: {method} {path}: {answer:?}");
    }
    for (list, key) in [
        ("/clients?limit=100", "clients"),
        ("/users?limit=100", "users"),
        ("/sessions?limit=100", "sessions"),
    ] {
        let answer = server.admin("GET", &format!("{}{list}", place.admin), None);
        let text = answer.json()[key].to_string();
        for id in [&victim.rp.client_id, &victim.user, &victim.sid] {
            assert!(!text.contains(id.as_str()), "{told}: {list}");
        }
    }
    let found =
        server.admin("GET", &format!("{}/users?email=a@{}.example", place.admin, victim.name), None).json();
    assert_eq!(found["users"], json!([]), "{told}");
    for path in ["/users/export", "/clients/export"] {
        let text = server.admin("GET", &format!("{}{path}", place.admin), None).body;
        assert!(!text.contains(&victim.user) && !text.contains(&victim.rp.client_id), "{told}: {path}");
    }
}

/// Everything that was tried elsewhere is still good at home.
fn assert_lives(tenant: &Tenant) {
    let told = tenant.name;
    assert_eq!(tenant.userinfo(tenant.access_token()).status, 200, "{told}");
    assert_eq!(
        tenant.rp.post("/introspect", &[("token", tenant.access_token())]).json()["active"],
        true,
        "{told}"
    );
    let (code, request) = &tenant.code;
    TokenSet::of(&tenant.rp.redeem(code, &request.verifier));
    TokenSet::of(&tenant.rp.refresh(tenant.refresh_token()));
    TokenSet::of(&tenant.rp.refresh(tenant.offline.refresh_token.as_deref().unwrap()));
    TokenSet::of(&tenant.rp.token(&exchange(tenant.access_token(), &[])));
    let silent = tenant.silent(&tenant.browser, tenant.rp.authorization_request());
    assert!(silent.redirected("code").is_some(), "{told}: {silent:?}");
    let (transaction, _, browser) = &tenant.waiting;
    assert_eq!(browser.get(&format!("/login?transaction={transaction}")).status, 200, "{told}");
}

/// The same client, user and session ids may live at two issuers; what happens to one is nothing to the other.
#[test]
fn equal_names_at_two_issuers_are_two_things() {
    let server = start();
    let urls = urls(&server);
    let twin = |index: usize| {
        let (_, admin, cookie) = PLACES[index];
        let metadata =
            json!({ "client_id": "app", "client_secret": "a-secret-that-both-of-them-have-0123456789" });
        let rp = RelyingParty::register_at(&server, admin, metadata).served_at(&urls[index]);
        let body = json!({ "id": "alice", "email": "alice@example.com" });
        assert_eq!(server.admin("POST", &format!("{admin}/users"), Some(body)).status, 201);
        let made = server
            .admin("POST", &format!("{admin}/test/sessions"), Some(json!({ "user_id": "alice" })))
            .json();
        let browser = Browser::new(&urls[index]);
        browser.set_cookie(cookie, made["session_id"].as_str().unwrap());
        let tokens = rp.sign_in(&browser);
        (rp, browser, tokens, admin)
    };
    let (left, right) = (twin(0), twin(1));
    for (one, place) in [(&left, &right), (&right, &left)] {
        // Authenticated with the very same credentials, and for the same user: still not one's own token.
        assert_eq!(place.0.refresh(one.2.refresh_token.as_deref().unwrap()).error(), "invalid_grant");
        assert_eq!(
            place.0.post("/introspect", &[("token", &one.2.access_token)]).json(),
            json!({ "active": false })
        );
        assert_eq!(place.0.post("/revoke", &[("token", &one.2.access_token)]).status, 200);
        assert_eq!(place.0.token(&exchange(&one.2.access_token, &[])).error(), "invalid_grant");
    }
    // One alice goes, with her app's tokens; the other stays.
    assert_eq!(server.admin("DELETE", &format!("{}/users/alice", right.3), None).status, 204);
    assert_eq!(server.admin("DELETE", &format!("{}/clients/app", right.3), None).status, 204);
    TokenSet::of(&left.0.refresh(left.2.refresh_token.as_deref().unwrap()));
    assert_eq!(left.0.post("/introspect", &[("token", &left.2.access_token)]).json()["active"], true);
    assert!(
        left.1
            .get(&left.0.authorization_request().with("prompt", "none").path())
            .redirected("code")
            .is_some()
    );
    assert_ne!(right.0.refresh(right.2.refresh_token.as_deref().unwrap()).status, 200);
}
