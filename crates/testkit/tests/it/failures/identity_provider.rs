//! Signing in with another provider.

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, Browser, RelyingParty, Signing, TestServer};

use super::{Case, run};
use crate::login::hidden;
use crate::upstream::fake::{Fake, ok};
use crate::upstream::{add, at_login, options, parameter, press};

pub(super) struct Scene {
    server: TestServer,
    rp: RelyingParty,
    fake: Fake,
    key: Signing,
}

impl Scene {
    fn new() -> Self {
        let key = Signing::generate(Algorithm::EdDsa);
        let fake = Fake::start(&key.jwks());
        let server = TestServer::start_with(options());
        add(&server, "acme", json!({ "issuer": fake.issuer }));
        let rp = RelyingParty::register(&server, json!({}));
        Self { server, rp, fake, key }
    }

    /// Goes to the provider: the browser, the state and the nonce.
    fn there(&self) -> (Browser, String, String) {
        let browser = self.server.browser();
        let to = press(&browser, &at_login(&browser, &self.rp.authorization_request()), "acme");
        (browser, parameter(&to, "state").unwrap(), parameter(&to, "nonce").unwrap())
    }

    /// Comes back with an ID token that says who somebody is.
    fn back(&self, id: &str, nonce: Option<&str>) -> Answer {
        let (browser, state, own) = self.there();
        let now = self.server.now().seconds();
        let nonce = nonce.unwrap_or(&own);
        let claims = json!({
            "iss": self.fake.issuer, "aud": "us", "sub": "s", "nonce": nonce, "iat": now, "exp": now + 300,
        });
        self.fake.say(&self.key.jwt("JWT", &claims));
        callback(&browser, id, &format!("code=c&state={state}"))
    }
}

fn callback(browser: &Browser, id: &str, query: &str) -> Answer {
    browser.get_with(&format!("/login/callback/acme?{query}"), &[("x-request-id", id)])
}

pub(super) const CASES: [Case<Scene>; 6] = [
    Case::new(Reason::IdentityProviderOff, (403, ""), &["yahoo"], |scene, id| {
        let browser = scene.server.browser();
        let page = at_login(&browser, &scene.rp.authorization_request());
        let (transaction, csrf) = hidden(&page);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", "yahoo")];
        browser.post_with("/login/provider", &form, &[("x-request-id", id)])
    }),
    Case::new(Reason::IdentityProviderState, (302, ""), &[], |scene, id| {
        callback(&scene.server.browser(), id, "code=c&state=made-up")
    }),
    Case::new(Reason::IdentityProviderRefused, (403, ""), &["access_denied"], |scene, id| {
        let (browser, state, _) = scene.there();
        callback(&browser, id, &format!("error=access_denied&state={state}"))
    }),
    Case::new(Reason::IdentityProviderUnusable, (502, ""), &[], |scene, id| {
        let (browser, state, _) = scene.there();
        scene.fake.set("/token", ok(&json!({ "access_token": "a".repeat(300 << 10) })));
        callback(&browser, id, &format!("code=c&state={state}"))
    }),
    Case::new(Reason::IdentityTokenWrong, (502, ""), &[], |scene, id| scene.back(id, Some("another"))),
    Case::new(Reason::IdentityNotConnected, (403, ""), &[], |scene, id| scene.back(id, None)),
];

#[test]
fn each_failure_of_another_provider_is_explained() {
    let scene = Scene::new();
    run(&scene, &scene.server, &CASES);
}
