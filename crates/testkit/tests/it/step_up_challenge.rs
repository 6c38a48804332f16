//! An API that wants a stronger or newer sign-in says so, and the client comes back with one (RFC 9470).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_sign_in::demo;
use symbolon_testkit::{Answer, AuthorizationRequest, Browser, RelyingParty, TokenSet, decode_jwt};

use crate::keys::assert_verifies;
use crate::login::{PASSWORD, Scene};
use crate::second_factor::{Phone, confirm, enrolled};

const ONE: &str = "urn:symbolon:acr:1";
const TWO: &str = "urn:symbolon:acr:2";
const MAX_AGE: u64 = 300;

/// What an API has of a sign-in.
#[derive(Debug, PartialEq, Eq)]
struct SignedIn {
    acr: Option<String>,
    auth_time: Option<u64>,
}

impl SignedIn {
    fn of(claims: &Value) -> Self {
        Self { acr: claims["acr"].as_str().map(str::to_owned), auth_time: claims["auth_time"].as_u64() }
    }
}

/// An API of its own, which reads tokens as JWTs and asks about them too.
struct Api<'s> {
    scene: &'s Scene,
    client: RelyingParty,
}

impl<'s> Api<'s> {
    fn new(scene: &'s Scene) -> Self {
        let client = RelyingParty::register(&scene.server, json!({ "audiences": [scene.server.issuer] }));
        Self { scene, client }
    }

    /// The sign-in of a token, by its claims and by introspection, which say the same.
    fn sign_in_of(&self, token: &str) -> SignedIn {
        assert_verifies(&self.scene.server, token, "RS256");
        let told = self.client.post("/introspect", &[("token", token)]).json();
        assert_eq!(told["active"], true, "{told}");
        let (read, told) = (SignedIn::of(&decode_jwt(token).1), SignedIn::of(&told));
        assert_eq!(read, told);
        read
    }

    /// The answer to a call that needs two factors within the last minutes: the challenge, or nothing if the token will do.
    fn pay(&self, token: &str) -> Option<String> {
        let SignedIn { acr, auth_time } = self.sign_in_of(token);
        let is_strong = acr.is_some_and(|acr| [TWO, "phr", "phrh"].contains(&&*acr));
        let now = self.scene.server.now().seconds();
        let is_new = auth_time.is_some_and(|at| now.saturating_sub(at) <= MAX_AGE);
        let challenge = format!(
            "Bearer error=\"insufficient_user_authentication\", acr_values=\"{TWO}\", max_age=\"{MAX_AGE}\""
        );
        (!is_strong || !is_new).then_some(challenge)
    }
}

/// The request with the parameters of the challenge, as they came.
fn answering(scene: &Scene, challenge: &str) -> AuthorizationRequest {
    assert!(challenge.contains("error=\"insufficient_user_authentication\""), "{challenge}");
    let parameter = |name: &str| {
        let (_, rest) = challenge.split_once(&format!("{name}=\"")).expect("the parameter");
        rest.split_once('"').expect("its end").0.to_owned()
    };
    let request = scene.rp.authorization_request();
    request.with("acr_values", &parameter("acr_values")).with("max_age", &parameter("max_age"))
}

/// The tokens that follow from where the person has come to: the consent page, or past it.
fn tokens(scene: &Scene, browser: &Browser, request: &AuthorizationRequest, at: &Answer) -> TokenSet {
    let allowed = match at.location().starts_with("/consent") {
        true => Scene::decide(browser, &browser.get(&at.location()), "allow"),
        false => at.clone(),
    };
    let code = allowed.redirected("code").unwrap_or_else(|| panic!("no code: {allowed:?}"));
    TokenSet::of(&scene.rp.redeem(&code, &request.verifier))
}

/// A person who is signed in by password alone, and has set up a generator of codes since.
fn signed_in(scene: &Scene) -> (Browser, TokenSet, Phone) {
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let page = scene.at_login(&browser, &request);
    let answer = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
    let first = tokens(scene, &browser, &request, &answer);
    let phone = enrolled(scene);
    let body = json!({ "settings": { "second_factor": "optional" } });
    assert_eq!(scene.server.admin("PATCH", &format!("/clients/{}", demo::CLIENT), Some(body)).status, 200);
    (browser, first, phone)
}

#[test]
fn a_person_steps_up_for_an_api_and_signs_in_anew_when_that_is_long_ago() {
    let scene = Scene::new();
    let api = Api::new(&scene);
    let (browser, first, phone) = signed_in(&scene);
    let before = api.sign_in_of(&first.access_token);
    assert_eq!(before.acr.as_deref(), Some(ONE));

    // One factor more.
    let challenge = api.pay(&first.access_token).expect("a challenge");
    let request = answering(&scene, &challenge);
    let asked = browser.get(&request.path());
    assert!(asked.location().starts_with("/login/second-factor?"), "{asked:?}");
    let answer = confirm(&browser, &browser.get(&asked.location()), &phone.code(&scene));
    let second = tokens(&scene, &browser, &request, &answer);
    assert_eq!(api.pay(&second.access_token), None);
    let now = scene.server.now().seconds();
    let stronger = SignedIn { acr: Some(TWO.to_owned()), auth_time: Some(now) };
    assert_eq!(api.sign_in_of(&second.access_token), stronger);
    assert_eq!(api.sign_in_of(&first.access_token), before, "the first token says what it said");

    // Nothing is missing: no page.
    let request = answering(&scene, &challenge);
    assert_eq!(
        api.pay(&tokens(&scene, &browser, &request, &browser.get(&request.path())).access_token),
        None
    );

    // Too long ago: password and code once more.
    scene.server.clock.advance(Duration::from_secs(MAX_AGE + 1));
    let challenge = api.pay(&second.access_token).expect("a challenge");
    let request = answering(&scene, &challenge);
    let page = scene.at_login(&browser, &request);
    let answer = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
    assert!(answer.location().starts_with("/login/second-factor?"), "{answer:?}");
    let answer = confirm(&browser, &browser.get(&answer.location()), &phone.code(&scene));
    let third = tokens(&scene, &browser, &request, &answer);
    let newer = SignedIn { acr: Some(TWO.to_owned()), auth_time: Some(scene.server.now().seconds()) };
    assert_eq!((api.pay(&third.access_token), api.sign_in_of(&third.access_token)), (None, newer));
}

/// RFC 9470 5: a client may rather have an error than a token that is refused again.
#[test]
fn who_cannot_step_up_comes_back_as_they_were_or_with_an_error() {
    let scene = Scene::new();
    let api = Api::new(&scene);
    let (browser, tokens_before) = scene.signed_in();
    let token = tokens_before.body["access_token"].as_str().unwrap().to_owned();
    let request = answering(&scene, &api.pay(&token).expect("a challenge"));
    let again = tokens(&scene, &browser, &request, &browser.get(&request.path()));
    assert!(api.pay(&again.access_token).is_some());
    let essential = json!({ "id_token": { "acr": { "essential": true, "values": [TWO] } } });
    let request = scene.rp.authorization_request().with("claims", &essential.to_string());
    let refused = browser.get(&request.path());
    assert_eq!(refused.redirected("error").as_deref(), Some("unmet_authentication_requirements"));
}

#[test]
fn tokens_of_refreshes_say_what_the_sign_in_proved_and_tokens_of_clients_nothing() {
    let scene = Scene::new();
    let api = Api::new(&scene);
    let own = RelyingParty::register(&scene.server, json!({}));
    let (_, browser) = scene.server.signed_in("a@example.com");
    let first = own.sign_in(&browser);
    let before = api.sign_in_of(&first.access_token);
    scene.server.clock.advance(Duration::from_secs(60));
    let refreshed = TokenSet::of(&own.refresh(first.refresh_token.as_deref().expect("a refresh token")));
    assert_eq!(api.sign_in_of(&refreshed.access_token), before);
    assert!(before.auth_time.is_some());
    let machine = TokenSet::of(&own.token(&[("grant_type", "client_credentials")]));
    assert_eq!(api.sign_in_of(&machine.access_token), SignedIn { acr: None, auth_time: None });
}
