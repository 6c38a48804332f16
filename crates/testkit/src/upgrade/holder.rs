//! Clients and a user's browser at one issuer, for any build.

use serde_json::Value;

use super::{HOST, IssuedCredentials, Pair};
use crate::browser::{Answer, Browser};

/// The redirect URI of every client.
pub const CALLBACK: &str = "https://app.example/callback";

// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Most pages between a request and the client's callback.
const STEPS: usize = 6;

/// Acts as user and clients at one issuer.
pub struct Holder {
    url: String,
    path: String,
    secret: String,
}

impl Holder {
    /// Acts at the listener `url`, for the issuer whose URL has this path. `secret` is that of the client `app`.
    pub fn new(url: &str, path: &str, secret: &str) -> Self {
        Self { url: url.to_owned(), path: path.to_owned(), secret: secret.to_owned() }
    }

    /// Acts with what is held.
    pub fn of(url: &str, held: &IssuedCredentials) -> Self {
        Self::new(url, &held.path, &held.secret)
    }

    /// A browser without cookies.
    pub fn browser(&self) -> Browser {
        Browser::new(&self.url).asking_for(HOST)
    }

    /// A POST of the client `app` (with its secret) or `web` (which has none).
    pub fn post(&self, client: &str, path: &str, form: &[(&str, &str)]) -> Answer {
        let mut form = form.to_vec();
        form.push(("client_id", client));
        if client == "app" {
            form.push(("client_secret", &self.secret));
        }
        self.browser().post(&format!("{}{path}", self.path), &form)
    }

    /// Refreshes.
    pub fn refresh(&self, client: &str, token: &str) -> Answer {
        self.post(client, "/token", &[("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    /// The status of UserInfo.
    pub fn user_info(&self, token: &str) -> u16 {
        let bearer = format!("Bearer {token}");
        self.browser().get_with(&format!("{}/userinfo", self.path), &[("authorization", &bearer)]).status
    }

    /// Whether introspection calls a token active.
    pub fn is_active(&self, token: &str) -> bool {
        let answer = self.post("app", "/introspect", &[("token", token)]);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["active"].as_bool().expect("active")
    }

    /// The tokens that a silent authentication gives, or the error.
    ///
    /// # Errors
    /// The `error` of the redirect.
    pub fn silent(&self, browser: &Browser, client: &str) -> Result<Pair, String> {
        let answer = browser.get(&self.request(client, "&prompt=none"));
        match answer.redirected("code") {
            Some(code) => Ok(self.redeem(client, &code)),
            None => Err(answer.redirected("error").unwrap_or_else(|| format!("{answer:?}"))),
        }
    }

    /// Signs in with a name and a password on the page, and allows what is asked. Returns the tokens, or `None` if the
    /// page refused the password.
    pub fn sign_in(&self, browser: &Browser, client: &str, name: &str, password: &str) -> Option<Pair> {
        let mut answer = browser.get(&self.request(client, ""));
        let mut tried = false;
        for _ in 0..STEPS {
            if matches!(answer.status, 302 | 303) {
                if answer.location().starts_with(CALLBACK) {
                    let code = answer.redirected("code").unwrap_or_else(|| panic!("no code: {answer:?}"));
                    return Some(self.redeem(client, &code));
                }
                answer = browser.get(&answer.location());
                continue;
            }
            let field = |name: &str| answer.field(name).unwrap_or_else(|| panic!("no {name}: {answer:?}"));
            let (transaction, csrf_token) = (field("transaction"), field("csrf_token"));
            let hidden = [("transaction", transaction.as_str()), ("csrf_token", csrf_token.as_str())];
            let own = if answer.body.contains("name=\"password\"") {
                if tried {
                    return None;
                }
                tried = true;
                vec![("username", name), ("password", password)]
            } else {
                vec![("decision", "allow")]
            };
            answer = browser.post(&action(&answer), &[&hidden[..], &own].concat());
        }
        panic!("no end: {answer:?}");
    }

    fn request(&self, client: &str, more: &str) -> String {
        let scope = if client == "app" { "openid%20email%20offline_access" } else { "openid%20email" };
        format!(
            "{}/authorize?client_id={client}&response_type=code&scope={scope}&redirect_uri={CALLBACK}\
             &code_challenge={CHALLENGE}&code_challenge_method=S256{more}",
            self.path
        )
    }

    fn redeem(&self, client: &str, code: &str) -> Pair {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        Self::pair(&self.post(client, "/token", &form))
    }

    /// Presents a client assertion of the client `job`.
    pub fn use_assertion(&self, assertion: &str) -> Answer {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion),
        ];
        self.post("job", "/token", &form)
    }

    /// The tokens of a successful answer of the token endpoint.
    pub fn pair(answer: &Answer) -> Pair {
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = answer.json();
        let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no {name}: {body}")).to_owned();
        Pair { access: text("access_token"), refresh: text("refresh_token") }
    }

    /// The ids of the published keys.
    pub fn published(&self) -> Vec<String> {
        let keys = self.browser().get(&format!("{}/.well-known/jwks.json", self.path)).json();
        let id = |key: &Value| key["kid"].as_str().expect("kid").to_owned();
        keys["keys"].as_array().expect("keys").iter().map(id).collect()
    }
}

/// The target of a page's first form.
fn action(page: &Answer) -> String {
    let action = page.body.split_once("action=\"").and_then(|(_, rest)| rest.split_once('"'));
    action.unwrap_or_else(|| panic!("no form: {page:?}")).0.replace("&amp;", "&")
}
