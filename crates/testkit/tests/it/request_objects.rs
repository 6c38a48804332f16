//! Request objects (RFC 9101).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, RelyingParty, Signing, TestServer, TokenSet};

use crate::authorization_details::set_types;
use crate::login::Scene;

fn register(server: &TestServer, metadata: Value) -> (Signing, RelyingParty) {
    let key = Signing::generate(Algorithm::Es256);
    let mut all = json!({ "jwks": key.jwks() });
    all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    let rp = RelyingParty::register(server, all);
    (key, rp)
}

/// A request object with the parameters of a new request, and the verifier.
fn object(server: &TestServer, (key, rp): &(Signing, RelyingParty), more: Value) -> (String, String) {
    let request = rp.authorization_request();
    let now = server.now().seconds();
    let mut claims = json!({ "iss": rp.client_id, "aud": server.issuer, "nbf": now, "exp": now + 300 });
    for (name, value) in &request.parameters {
        claims[name] = json!(value);
    }
    claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (key.jwt("oauth-authz-req+jwt", &claims), request.verifier)
}

fn path(parameters: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("/authorize?{query}")
}

fn told(answer: &Answer) -> (u16, Option<String>) {
    (answer.status, answer.redirected("error"))
}

#[test]
fn what_is_signed_is_asked_for_and_what_stands_beside_it_is_not() {
    let server = TestServer::start();
    let client = register(&server, json!({}));
    let (_, rp) = &client;
    let (_, browser) = server.signed_in("a@example.com");
    let (signed, verifier) = object(&server, &client, json!({ "state": "signed", "prompt": "none" }));
    let beside = [
        ("client_id", &*rp.client_id),
        ("request", &signed),
        ("state", "beside"),
        ("redirect_uri", "https://attacker.example/"),
        ("prompt", "login"),
    ];
    let answer = browser.get(&path(&beside));
    assert_eq!(answer.redirected("state").as_deref(), Some("signed"), "{answer:?}");
    assert!(answer.location().starts_with("https://rp.example/callback?code="), "{answer:?}");
    assert_eq!(rp.redeem(&answer.redirected("code").unwrap(), &verifier).status, 200);

    // An error of the object goes to the registered place beside it, and to no other.
    let broken = format!("{signed}x");
    let to = |redirect_uri| {
        let parameters =
            [("client_id", &*rp.client_id), ("request", &broken), ("redirect_uri", redirect_uri)];
        browser.get(&path(&parameters))
    };
    let answer = to(&rp.redirect_uri);
    assert_eq!(told(&answer), (302, Some("invalid_request_object".to_owned())));
    assert_eq!(to("https://attacker.example/").status, 400);
}

/// RFC 9396 3: in a request object the parameter is an array, and not its text.
#[test]
fn authorization_details_are_signed_as_an_array() {
    let server = TestServer::start();
    set_types(&server);
    let client = register(&server, json!({ "authorization_details_types": ["folder"] }));
    let (_, rp) = &client;
    let (_, browser) = server.signed_in("a@example.com");
    let asked = |path: Value| json!({ "authorization_details": [{ "type": "folder", "path": path }] });
    let (signed, verifier) = object(&server, &client, asked(json!("/a")));
    let answer = browser.get(&path(&[("client_id", &rp.client_id), ("request", &signed)]));
    let code = answer.redirected("code").expect("a code");
    let tokens = TokenSet::of(&rp.redeem(&code, &verifier));
    assert_eq!(tokens.body["authorization_details"], asked(json!("/a"))["authorization_details"]);
    let (wrong, _) = object(&server, &client, asked(json!(1)));
    let answer = browser.get(&path(&[("client_id", &rp.client_id), ("request", &wrong)]));
    assert_eq!(told(&answer), (302, Some("invalid_authorization_details".to_owned())), "{answer:?}");
}

#[test]
fn a_person_signs_in_by_a_signed_request_and_it_can_be_pushed() {
    let server = TestServer::start();
    let client = register(&server, json!({ "require_signed_request_object": true }));
    let (_, rp) = &client;
    let (_, browser) = server.signed_in("a@example.com");
    let plain = browser.get(&rp.authorization_request().path());
    assert_eq!(told(&plain), (302, Some("invalid_request".to_owned())), "{plain:?}");

    let push =
        |form: &[(&str, &str)]| server.browser().post_with("/par", form, &[("authorization", &rp.basic())]);
    let (signed, verifier) = object(&server, &client, json!({}));
    let reference = push(&[("client_id", &rp.client_id), ("request", &signed)]);
    assert_eq!(reference.status, 201, "{reference:?}");
    let uri = reference.json()["request_uri"].as_str().unwrap().to_owned();
    // RFC 9101 5: not both, also where one of them is a reference to what was pushed. It is not used up by that.
    let both = [("client_id", &*rp.client_id), ("request_uri", &uri), ("request", &signed)];
    let both = browser.get(&path(&both));
    assert_eq!((both.status, &*both.error()), (400, "invalid_request"), "{both:?}");
    let answer = browser.get(&path(&[("client_id", &rp.client_id), ("request_uri", &uri)]));
    assert_eq!(rp.redeem(&answer.redirected("code").unwrap(), &verifier).status, 200);
    let beside = push(&[("client_id", &rp.client_id), ("request", &signed), ("request_uri", &uri)]);
    assert_eq!((beside.status, &*beside.error()), (400, "invalid_request"));
    let plain = rp.authorization_request();
    let plain: Vec<(&str, &str)> = plain.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(push(&plain).error(), "invalid_request");
}

#[test]
fn where_requests_must_be_pushed_a_signed_one_in_the_address_is_refused() {
    let server = TestServer::start();
    let client = register(&server, json!({ "require_pushed_authorization_requests": true }));
    let (_, rp) = &client;
    let (_, browser) = server.signed_in("a@example.com");
    let (signed, _) = object(&server, &client, json!({}));
    let to = [("client_id", &*rp.client_id), ("request", &signed), ("redirect_uri", &rp.redirect_uri)];
    assert_eq!(told(&browser.get(&path(&to))), (302, Some("invalid_request".to_owned())));
}

/// The interaction carries what was signed, not the object, which may end while a person looks at a page.
#[test]
fn a_page_in_between_keeps_what_was_signed() {
    let scene = Scene::new();
    let client = register(&scene.server, json!({}));
    let (_, rp) = &client;
    let (signed, verifier) = object(&scene.server, &client, json!({ "state": "kept" }));
    let browser = scene.server.browser();
    let sent = browser.get(&path(&[("client_id", &rp.client_id), ("request", &signed), ("state", "beside")]));
    assert!(sent.location().starts_with("/login?transaction="), "{sent:?}");
    let page = browser.get(&sent.location());
    scene.server.clock.advance(Duration::from_secs(400));
    let answer = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(answer.redirected("state").as_deref(), Some("kept"), "{answer:?}");
    assert_eq!(rp.redeem(&answer.redirected("code").unwrap(), &verifier).status, 200);
}
