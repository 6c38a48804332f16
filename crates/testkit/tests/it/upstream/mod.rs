//! Signing in with other providers: another server as the provider, and one that lies.

mod accounts;
mod admin;
mod attacks;
mod down;
pub(crate) mod fake;
pub(crate) mod identities;
mod logout;

use serde_json::{Value, json};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, Options, RelyingParty, TestServer, decode_jwt,
};

use crate::login::hidden;

pub(crate) const ANN: &str = "ann@example.com";

/// Private addresses may be called: the providers of tests are on loopback.
pub(crate) fn options() -> Options {
    Options::default().env("SYMBOLON_OUTBOUND_ALLOW_PRIVATE", "true")
}

/// A server whose people sign in with another one.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) upstream: TestServer,
    pub(crate) rp: RelyingParty,
}

/// Adds a provider.
pub(crate) fn add(server: &TestServer, id: &str, members: Value) -> Value {
    let mut body = json!({ "id": id, "name": "Acme", "client_id": "us" });
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let answer = server.admin("POST", "/identity-providers", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["identity_provider"].clone()
}

/// The path and query of an address.
pub(crate) fn local(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or_else(|| panic!("no address: {url}"));
    rest.find('/').map_or_else(|| "/".to_owned(), |at| rest[at..].to_owned())
}

/// A parameter of an address.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    form_urlencoded::parse(query.as_bytes()).find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}

/// Opens the login page for an application.
pub(crate) fn at_login(browser: &Browser, request: &AuthorizationRequest) -> Answer {
    let led = browser.get(&request.path());
    assert!(led.location().starts_with("/login?transaction="), "{led:?}");
    browser.get(&led.location())
}

/// Presses the button of a provider; the address to which the browser is sent.
pub(crate) fn press(browser: &Browser, page: &Answer, id: &str) -> String {
    let (transaction, csrf) = hidden(page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", id)];
    let led = browser.post("/login/provider", &form);
    assert_eq!(led.status, 303, "{led:?}");
    led.location()
}

/// The claims of the ID token that an application gets in the end.
pub(crate) fn claims(rp: &RelyingParty, request: &AuthorizationRequest, done: &Answer) -> Value {
    let code = done.redirected("code").unwrap_or_else(|| panic!("no code: {done:?}"));
    let tokens = rp.redeem(&code, &request.verifier).json();
    decode_jwt(tokens["id_token"].as_str().unwrap_or_else(|| panic!("{tokens}"))).1
}

/// The user of an address; `null` if there is none.
pub(crate) fn user(server: &TestServer, email: &str) -> Value {
    server.admin("GET", &format!("/users?email={email}"), None).json()["users"][0].clone()
}

impl Scene {
    pub(crate) fn new(members: Value) -> Self {
        let (server, upstream) = (TestServer::start_with(options()), TestServer::start_with(options()));
        let redirect_uris = json!([format!("{}/login/callback/acme", server.issuer)]);
        let own = RelyingParty::register(&upstream, json!({ "redirect_uris": redirect_uris }));
        let mut settings = json!({
            "issuer": upstream.issuer, "client_id": own.client_id, "client_secret": own.client_secret,
        });
        settings.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        add(&server, "acme", settings);
        let rp = RelyingParty::register(&server, json!({}));
        Self { server, upstream, rp }
    }

    /// Goes to the provider, where somebody is signed in, and back to the callback; its address.
    pub(crate) fn there(
        &self,
        browser: &Browser,
        person: &Browser,
        request: &AuthorizationRequest,
    ) -> String {
        let to = press(browser, &at_login(browser, request), "acme");
        assert!(to.starts_with(&self.upstream.issuer), "{to}");
        let back = person.get(&local(&to));
        assert!(
            back.location().starts_with(&format!("{}/login/callback/acme?", self.server.issuer)),
            "{back:?}"
        );
        local(&back.location())
    }

    /// The same, and the answer of the callback.
    pub(crate) fn through(
        &self,
        browser: &Browser,
        person: &Browser,
        request: &AuthorizationRequest,
    ) -> Answer {
        let callback = self.there(browser, person, request);
        browser.get(&callback)
    }
}
