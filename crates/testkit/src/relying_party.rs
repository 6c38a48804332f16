//! A relying party: registers itself, sends people to sign in, redeems, refreshes.

use serde_json::{Value, json};
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::{digest, encoding, random};

use crate::browser::{Answer, Browser};
use crate::server::TestServer;

/// The tokens of an answer.
#[derive(Clone, Debug)]
pub struct TokenSet {
    /// `access_token`.
    pub access_token: String,
    /// `id_token`.
    pub id_token: Option<String>,
    /// `refresh_token`.
    pub refresh_token: Option<String>,
    /// The whole body.
    pub body: Value,
}

impl TokenSet {
    /// The tokens of a successful answer of the token endpoint.
    pub fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = answer.json();
        let text = |name: &str| body[name].as_str().map(str::to_owned);
        Self {
            access_token: text("access_token").expect("an access token"),
            id_token: text("id_token"),
            refresh_token: text("refresh_token"),
            body,
        }
    }
}

/// An authorization request that can be repeated and changed.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    /// The parameters.
    pub parameters: Vec<(String, String)>,
    /// The verifier of its code challenge.
    pub verifier: String,
}

impl AuthorizationRequest {
    /// Sets or replaces a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.parameters.retain(|(own, _)| own != name);
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a parameter out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.parameters.retain(|(own, _)| own != name);
        self
    }

    /// The path with query.
    pub fn path(&self) -> String {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.parameters).finish();
        format!("/authorize?{query}")
    }
}

/// A client of the provider.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    /// Its `client_id`.
    pub client_id: String,
    /// Its secret; none for a public client.
    pub client_secret: Option<String>,
    /// The redirect URI to which its codes go.
    pub redirect_uri: String,
    url: String,
}

impl RelyingParty {
    /// Registers a confidential client with all grants and without consent; `metadata` overrides members.
    pub fn register(server: &TestServer, metadata: Value) -> Self {
        Self::register_at(server, "", metadata)
    }

    /// Registers with another issuer: `issuer_path` is `/issuers/<id>`.
    pub fn register_at(server: &TestServer, issuer_path: &str, metadata: Value) -> Self {
        let mut body = json!({
            "client_name": "A relying party",
            "redirect_uris": ["https://rp.example/callback"],
            "grant_types": [
                "authorization_code", "refresh_token", "client_credentials",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ],
            "scope": "openid profile email offline_access",
            "skip_consent": true,
            "token_exchange_allowed": true,
        });
        for (name, value) in metadata.as_object().expect("an object") {
            body[name] = value.clone();
        }
        let answer = server.admin("POST", &format!("{issuer_path}/clients"), Some(body));
        assert_eq!(answer.status, 201, "{answer:?}");
        let client = &answer.json()["client"];
        Self {
            client_id: client["client_id"].as_str().expect("client_id").to_owned(),
            client_secret: client["client_secret"].as_str().map(str::to_owned),
            redirect_uri: client["redirect_uris"][0].as_str().unwrap_or_default().to_owned(),
            url: server.url.clone(),
        }
    }

    /// A client that is registered already.
    pub fn known(
        server: &TestServer,
        client_id: &str,
        client_secret: Option<&str>,
        redirect_uri: &str,
    ) -> Self {
        Self {
            client_id: client_id.to_owned(),
            client_secret: client_secret.map(str::to_owned),
            redirect_uri: redirect_uri.to_owned(),
            url: server.url.clone(),
        }
    }

    /// The same client, at a restarted server.
    #[must_use]
    pub fn at(self, server: &TestServer) -> Self {
        Self { url: server.url.clone(), ..self }
    }

    /// The same client, at another URL: that of its issuer.
    #[must_use]
    pub fn served_at(self, url: &str) -> Self {
        Self { url: url.to_owned(), ..self }
    }

    /// The `Authorization` header of `client_secret_basic`.
    pub fn basic(&self) -> String {
        let secret = self.client_secret.as_deref().unwrap_or_default();
        let pair = format!("{}:{secret}", self.client_id);
        // Standard base64 from base64url, with padding.
        let mut text = encoding::encode(pair.as_bytes()).replace('-', "+").replace('_', "/");
        while !text.len().is_multiple_of(4) {
            text.push('=');
        }
        format!("Basic {text}")
    }

    /// A new authorization request with PKCE, state and nonce.
    pub fn authorization_request(&self) -> AuthorizationRequest {
        let verifier = random::base64url::<32>(&SystemRandom);
        let challenge = encoding::encode(&digest::sha256(&[verifier.as_bytes()]));
        let parameters = [
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("scope", "openid profile email"),
            ("state", &random::base64url::<16>(&SystemRandom)),
            ("nonce", &random::base64url::<16>(&SystemRandom)),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let parameters =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        AuthorizationRequest { parameters, verifier }
    }

    /// POST to the token endpoint, authenticated by Basic if the client has a secret.
    pub fn token(&self, form: &[(&str, &str)]) -> Answer {
        self.post("/token", form)
    }

    /// POST to an endpoint, authenticated by Basic if the client has a secret.
    pub fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        let browser = Browser::new(&self.url);
        if self.client_secret.is_some() {
            return browser.post_with(path, form, &[("authorization", &self.basic())]);
        }
        let mut form = form.to_vec();
        form.push(("client_id", &self.client_id));
        browser.post(path, &form)
    }

    /// Redeems a code.
    pub fn redeem(&self, code: &str, verifier: &str) -> Answer {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", verifier),
        ])
    }

    /// Refreshes.
    pub fn refresh(&self, refresh_token: &str) -> Answer {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", refresh_token)])
    }

    /// Signs in silently with the browser's session and redeems the code.
    pub fn sign_in(&self, browser: &Browser) -> TokenSet {
        self.sign_in_with(browser, self.authorization_request())
    }

    /// The same with the test's own request.
    pub fn sign_in_with(&self, browser: &Browser, request: AuthorizationRequest) -> TokenSet {
        let answer = browser.get(&request.path());
        assert!(matches!(answer.status, 302 | 303), "{answer:?}");
        let code = answer.redirected("code").unwrap_or_else(|| panic!("no code: {answer:?}"));
        TokenSet::of(&self.redeem(&code, &request.verifier))
    }
}

impl TestServer {
    /// Creates a user, and a browser in which the user is signed in; returns the user's id and the browser.
    pub fn signed_in(&self, email: &str) -> (String, Browser) {
        self.signed_in_at("", "", email)
    }

    /// The same with another issuer: `issuer_path` is its path in the admin API, `cookie` the name of its session
    /// cookie.
    pub fn signed_in_at(&self, issuer_path: &str, cookie: &str, email: &str) -> (String, Browser) {
        let user = self.create_user_at(issuer_path, email);
        let body = json!({ "user_id": user, "ttl_seconds": 7200 });
        let answer = self.admin("POST", &format!("{issuer_path}/test/sessions"), Some(body));
        assert_eq!(answer.status, 201, "{answer:?}");
        let browser = self.browser();
        let name = if cookie.is_empty() { "symbolon_session" } else { cookie };
        browser.set_cookie(name, answer.json()["session_id"].as_str().expect("a session id"));
        (user, browser)
    }

    /// Creates a user; returns its id.
    pub fn create_user(&self, email: &str) -> String {
        self.create_user_at("", email)
    }

    fn create_user_at(&self, issuer_path: &str, email: &str) -> String {
        let body = json!({ "email": email, "name": "A person", "email_verified": true });
        let answer = self.admin("POST", &format!("{issuer_path}/users"), Some(body));
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["user"]["id"].as_str().expect("an id").to_owned()
    }
}

/// Header and claims of a JWT, not verified.
pub fn decode_jwt(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| encoding::decode(part).unwrap_or_default());
    let mut json = || {
        serde_json::from_slice(&parts.next().expect("a part")).unwrap_or_else(|_| panic!("no JWT: {token}"))
    };
    (json(), json())
}
