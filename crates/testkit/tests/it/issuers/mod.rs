//! Several issuers in one process: each found by host or prefix, none of any use to another.

mod cookies;
mod hosts;
mod isolation;
mod places;
mod room;
mod slash_at_the_end;

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, Options, RelyingParty, Signing, TestServer, TokenSet, decode_jwt,
};

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
    ("other", "/issuers/other", "symbolon_session_other"),
];

fn urls(server: &TestServer) -> [String; 3] {
    let port = server.url.rsplit_once(':').unwrap().1;
    [server.url.clone(), format!("{}/acme", server.url), format!("http://localhost:{port}")]
}

fn start() -> TestServer {
    start_with(Options::default())
}

fn start_with(options: Options) -> TestServer {
    let server = TestServer::start_with(options);
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
