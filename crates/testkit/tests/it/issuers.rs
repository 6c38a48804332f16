//! Several issuers in one process: each found by host or prefix, none of any use to another.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, Options, RelyingParty, Signing, TestServer, TokenSet, decode_jwt,
};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// An issuer with everything that it gives out.
struct Tenant {
    name: &'static str,
    /// Its part of the admin API's paths.
    admin: &'static str,
    url: String,
    cookie: &'static str,
    rp: RelyingParty,
    /// A client of this issuer only, with a key of its own.
    signer: (String, Signing),
    user: String,
    browser: Browser,
    session: String,
    sid: String,
    tokens: TokenSet,
    offline: TokenSet,
    code: (String, AuthorizationRequest),
    /// A login that waits for its password, and the login cookie of its browser.
    waiting: (String, String, Browser),
}

struct World {
    server: TestServer,
    tenants: Vec<Tenant>,
}

/// The issuers' names, admin paths, places and cookies: at the root, by prefix, by another host.
const PLACES: [(&str, &str, &str); 3] = [
    ("default", "", "symbolon_session"),
    ("acme", "/issuers/acme", "symbolon_session_acme"),
    ("other", "/issuers/other", "symbolon_session"),
];

fn urls(server: &TestServer) -> [String; 3] {
    let port = server.url.rsplit_once(':').unwrap().1;
    [server.url.clone(), format!("{}/acme", server.url), format!("http://localhost:{port}")]
}

fn start() -> TestServer {
    let server = TestServer::start();
    let [_, acme, other] = urls(&server);
    for (id, url) in [("acme", acme), ("other", other)] {
        let made = server.admin("POST", "/issuers", Some(json!({ "id": id, "url": url })));
        assert_eq!(made.status, 201, "{made:?}");
    }
    server
}

impl World {
    fn new() -> Self {
        let server = start();
        let urls = urls(&server);
        let tenants = PLACES.iter().zip(urls).map(|(place, url)| Tenant::new(&server, *place, url)).collect();
        Self { server, tenants }
    }

    /// Every pair of a tenant whose things are tried and a tenant where they are tried.
    fn pairs(&self) -> impl Iterator<Item = (&Tenant, &Tenant)> {
        let pair = move |victim: &Tenant, place: &Tenant| victim.name != place.name;
        self.tenants.iter().flat_map(move |victim| {
            self.tenants.iter().filter(move |place| pair(victim, place)).map(move |place| (victim, place))
        })
    }
}

impl Tenant {
    fn new(
        server: &TestServer,
        (name, admin, cookie): (&'static str, &'static str, &'static str),
        url: String,
    ) -> Self {
        let rp = RelyingParty::register_at(
            server,
            admin,
            json!({
                "redirect_uris": [format!("https://{name}.example/callback")],
                "post_logout_redirect_uris": [format!("https://{name}.example/bye")],
            }),
        )
        .served_at(&url);
        let key = Signing::generate(Algorithm::Es256);
        let signer = json!({
            "client_id": format!("signer-of-{name}"), "token_endpoint_auth_method": "private_key_jwt",
            "jwks": key.jwks(),
        });
        let signer = RelyingParty::register_at(server, admin, signer).client_id;
        let (user, with_cookie) = server.signed_in_at(admin, cookie, &format!("a@{name}.example"));
        let session = with_cookie.cookie(cookie).unwrap();
        let browser = Browser::new(&url);
        browser.set_cookie(cookie, &session);
        let tokens = rp.sign_in(&browser);
        let offline =
            rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid offline_access"));
        let request = rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let sid = decode_jwt(tokens.id_token.as_deref().unwrap()).1["sid"].as_str().unwrap().to_owned();
        let waiting = waiting(&url, &rp);
        Self {
            name,
            admin,
            url,
            cookie,
            rp,
            signer: (signer, key),
            user,
            browser,
            session,
            sid,
            tokens,
            offline,
            code: (code, request),
            waiting,
        }
    }

    fn refresh_token(&self) -> &str {
        self.tokens.refresh_token.as_deref().unwrap()
    }

    fn access_token(&self) -> &str {
        &self.tokens.access_token
    }

    fn userinfo(&self, token: &str) -> Answer {
        Browser::new(&self.url).get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
    }

    fn silent(&self, browser: &Browser, request: AuthorizationRequest) -> Answer {
        browser.get(&request.with("prompt", "none").path())
    }

    /// A browser at this issuer with a session of any.
    fn with_session(&self, session: &str) -> Browser {
        let browser = Browser::new(&self.url);
        browser.set_cookie(self.cookie, session);
        browser
    }
}

/// A login page that waits: the transaction, its form's token, and the browser that it belongs to.
fn waiting(url: &str, rp: &RelyingParty) -> (String, String, Browser) {
    let browser = Browser::new(url);
    let sent = browser.get(&rp.authorization_request().path());
    let path = sent.location();
    let transaction = path.rsplit_once("transaction=").unwrap().1.to_owned();
    let root = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let page = browser.get(&format!("{root}{path}"));
    assert_eq!(page.status, 200, "{page:?}");
    (transaction, page.field("csrf_token").unwrap(), browser)
}

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
    browser.set_cookie(if victim.cookie == place.cookie { "unused" } else { victim.cookie }, &victim.session);
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
    for path in ["/login", "/consent", "/authorize/continue"] {
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
        ("DELETE", client, None),
        ("GET", user.clone(), None),
        ("PUT", user.clone(), Some(json!({ "email": "x@example.com" }))),
        ("PATCH", user.clone(), Some(json!({ "active": false }))),
        ("POST", format!("{user}/password"), Some(json!({ "password": "a password of a thief" }))),
        ("GET", format!("{user}/consents"), None),
        ("DELETE", format!("{user}/consents/{}", victim.rp.client_id), None),
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

#[test]
fn discovery_is_at_both_places_of_a_prefixed_issuer() {
    let server = start();
    let [root, acme, other] = urls(&server);
    let table = [
        (format!("{root}/.well-known/openid-configuration"), &root),
        (format!("{root}/.well-known/oauth-authorization-server"), &root),
        (format!("{acme}/.well-known/openid-configuration"), &acme),
        (format!("{acme}/.well-known/oauth-authorization-server"), &acme),
        // RFC 8414 3.1: inserted before the path.
        (format!("{root}/.well-known/oauth-authorization-server/acme"), &acme),
        (format!("{root}/.well-known/openid-configuration/acme"), &acme),
        (format!("{other}/.well-known/openid-configuration"), &other),
    ];
    let mut keys = Vec::new();
    for (place, issuer) in table {
        let document = server.browser().get(&place);
        assert_eq!(document.status, 200, "{place}");
        let document = document.json();
        assert_eq!(document["issuer"], json!(issuer), "{place}");
        for endpoint in [
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
            "userinfo_endpoint",
            "end_session_endpoint",
        ] {
            assert!(
                document[endpoint].as_str().unwrap().starts_with(&format!("{issuer}/")),
                "{place}: {endpoint}"
            );
        }
        let jwks = server.browser().get(document["jwks_uri"].as_str().unwrap()).json();
        assert!(!jwks["keys"].as_array().unwrap().is_empty());
        keys.push((issuer, jwks));
    }
    for (one, jwks) in &keys {
        for (two, others) in &keys {
            assert_eq!(one == two, jwks == others, "every issuer has keys of its own");
        }
    }
}

#[test]
fn what_no_issuer_is_for_is_not_found() {
    let server = start();
    let [root, acme, _] = urls(&server);
    let not_found = |path: &str, headers: &[(&str, &str)]| {
        let answer = server.browser().get_with(path, headers);
        assert_eq!(answer.status, 404, "{path} {headers:?}: {answer:?}");
    };
    not_found(&format!("{root}/nobody/.well-known/openid-configuration"), &[]);
    not_found(&format!("{root}/.well-known/oauth-authorization-server/nobody"), &[]);
    not_found(&format!("{root}/acmeandmore/.well-known/openid-configuration"), &[]);
    not_found("/.well-known/openid-configuration", &[("host", "nobody.example")]);
    // The admin API is the installation's: no issuer's prefix leads there.
    let answer = Browser::new(&acme)
        .get_with("/api/admin/users", &[("authorization", "Bearer an admin secret for tests")]);
    assert_eq!(answer.status, 404, "{answer:?}");
    let answer = Browser::new(&root)
        .get_with("/api/admin/users", &[("authorization", "Bearer an admin secret for tests")]);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_proxy_names_the_host_only_if_it_is_trusted() {
    let issuer_at = |server: &TestServer| {
        let port = server.url.rsplit_once(':').unwrap().1;
        let headers = format!("localhost:{port}");
        let document =
            server.browser().get_with("/.well-known/openid-configuration", &[("x-forwarded-host", &headers)]);
        document.json()["issuer"].as_str().unwrap().to_owned()
    };
    let server = start();
    assert_eq!(issuer_at(&server), server.url, "an unknown proxy's word is nothing");
    let server = TestServer::start_with(Options::default().env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"));
    let [_, _, other] = urls(&server);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "other", "url": other }))).status, 201);
    assert_eq!(issuer_at(&server), other);
}

#[test]
fn a_prefixed_issuers_cookies_and_pages_stay_below_its_prefix() {
    let server = TestServer::start_with(Options::default().issuer("https://login.example/acme"));
    let rp = RelyingParty::register(&server, json!({})).served_at(&format!("{}/acme", server.url));
    let created = server.admin("POST", "/users", Some(json!({ "email": "a@example.com" }))).json();
    let body = json!({ "user_id": created["user"]["id"], "ttl_seconds": 60 });
    let cookie = server.admin("POST", "/test/sessions", Some(body)).json()["cookie_value"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(cookie.starts_with("__Secure-symbolon_session_default=se_"), "{cookie}");
    for part in ["Path=/acme;", "HttpOnly", "SameSite=None", "Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let browser = Browser::new(&server.url);
    let sent = browser.get(&format!("/acme{}", rp.authorization_request().path()));
    assert!(sent.location().starts_with("/acme/login?"), "{sent:?}");
    let login_cookie = sent.header("set-cookie").unwrap();
    assert!(login_cookie.starts_with("__Secure-") && login_cookie.contains("Path=/acme;"), "{login_cookie}");
    let page = browser.get(&sent.location());
    assert_eq!(page.status, 200);
    assert!(page.body.contains("action=\"/acme/login\""), "{}", page.body);
    // No issuer is at the root, and the pages' files are there all the same.
    let at = page.body.find("/assets/style").expect("a style sheet");
    let path = page.body[at..].split_once('"').unwrap().0;
    assert_eq!(browser.get(path).status, 200, "{path}");
    assert_eq!(browser.get("/assets/nothing.css").status, 404);
    assert_eq!(browser.get("/login").status, 404);
}

#[test]
fn an_issuer_cannot_take_anothers_place() {
    let server = start();
    let refused = |body: Value, status: u16| {
        let answer = server.admin("POST", "/issuers", Some(body.clone()));
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    };
    refused(json!({ "id": "acme", "url": "https://new.example" }), 409);
    refused(json!({ "id": "new", "url": format!("{}/acme", server.url) }), 409);
    refused(json!({ "id": "new", "url": format!("{}/api/x", server.url) }), 400);
    refused(json!({ "id": "new", "url": format!("{}/assets", server.url) }), 400);
    refused(json!({ "id": "New", "url": "https://new.example" }), 400);
    refused(json!({ "id": "new" }), 400);
    let answer = server.admin("GET", "/issuers/nobody/clients", None);
    assert_eq!(answer.status, 404);
    server.clock.advance(Duration::from_secs(1));
    let list = server.admin("GET", "/issuers", None).json();
    assert_eq!(list["issuers"].as_array().unwrap().len(), 3);
}
