//! Adding passkeys and signing in with them.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Authenticator, Browser, Flaw, Options, RelyingParty, TestServer};

use super::{amr, call, enrolled, production, sessions_of, signed_in_as, user};

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

fn register_options(server: &TestServer, browser: &Browser, body: &Value) -> Answer {
    call(browser, &server.issuer, "/passkey/register/options", body)
}

fn register_verify(server: &TestServer, browser: &Browser, user: &str, credential: &Value) -> Answer {
    let body = json!({ "userId": user, "credential": credential, "deviceName": "Phone" });
    call(browser, &server.issuer, "/passkey/register/verify", &body)
}

/// A user with a passkey, as load scripts make one; the user and the authenticator.
fn with_passkey(server: &TestServer, email: &str) -> (String, Authenticator) {
    let user = user(server, email);
    let authenticator = add_first_passkey(server, &user, email);
    (user, authenticator)
}

/// Adds a passkey to an account that has no other way to sign in.
pub(crate) fn add_first_passkey(server: &TestServer, user: &str, email: &str) -> Authenticator {
    let mut authenticator = Authenticator::new(&server.issuer);
    let browser = server.browser();
    let options = register_options(server, &browser, &json!({ "email": email, "userId": user }));
    assert_eq!(options.status, 200, "{options:?}");
    let credential = authenticator.create(&options.json()["options"]);
    let added = register_verify(server, &browser, user, &credential);
    assert_eq!(added.status, 200, "{added:?}");
    assert_eq!(added.json()["verified"], true);
    authenticator
}

fn login_options(server: &TestServer, browser: &Browser, email: Option<&str>) -> Value {
    let answer = call(browser, &server.issuer, "/passkey/login/options", &json!({ "email": email }));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn login_verify(server: &TestServer, browser: &Browser, challenge: &Value, credential: &Value) -> Answer {
    let body = json!({ "challengeId": challenge, "credential": credential });
    call(browser, &server.issuer, "/passkey/login/verify", &body)
}

/// Signs in; the answer.
fn sign_in(
    server: &TestServer,
    browser: &Browser,
    passkey: &mut Authenticator,
    email: Option<&str>,
) -> Answer {
    let asked = login_options(server, browser, email);
    let credential = passkey.get(&asked["options"]);
    login_verify(server, browser, &asked["challengeId"], &credential)
}

fn is_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_grant"), "{answer:?}");
    assert!(answer.headers.iter().all(|(name, _)| name != "set-cookie"), "{answer:?}");
}

fn is_forbidden(answer: &Answer) {
    assert_eq!((answer.status, answer.error().as_str()), (403, "access_denied"), "{answer:?}");
}

#[test]
fn a_passkey_is_added_and_signs_in_with_and_without_an_address() {
    let server = TestServer::start();
    let (ann, mut passkey) = with_passkey(&server, ANN);
    let kept = enrolled(&server, &ann).set.passkeys;
    assert_eq!((kept.len(), kept[0].name.as_str(), kept[0].is_synced), (1, "Phone", false));
    for email in [Some("Ann@Example.com"), None] {
        let browser = server.browser();
        let answer = sign_in(&server, &browser, &mut passkey, email);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            (&answer.json()["userId"], signed_in_as(&server, &browser)),
            (&json!(ann), Some(ann.clone()))
        );
        assert_eq!(amr(&server, &browser), ["hwk", "mfa"]);
    }
    let rp = RelyingParty::register(&server, json!({ "skip_consent": true }));
    let browser = server.browser();
    assert_eq!(sign_in(&server, &browser, &mut passkey, None).status, 200);
    let answer = browser.get(&rp.authorization_request().path());
    assert!(answer.redirected("code").is_some(), "{answer:?}");
}

#[test]
fn packed_self_attestation_and_synced_passkeys_are_taken() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let mut passkey = Authenticator::new(&server.issuer);
    (passkey.attests, passkey.is_synced) = (true, true);
    let browser = server.browser();
    let options = register_options(&server, &browser, &json!({ "email": ANN })).json();
    assert_eq!(options["options"]["attestation"], "none");
    let added = register_verify(&server, &browser, &ann, &passkey.create(&options["options"]));
    assert_eq!(added.status, 200, "{added:?}");
    for _ in 0..3 {
        let browser = server.browser();
        assert_eq!(sign_in(&server, &browser, &mut passkey, Some(ANN)).status, 200);
        assert_eq!(amr(&server, &browser), ["mfa", "swk"]);
    }
    let kept = &enrolled(&server, &ann).set.passkeys[0];
    assert!(kept.is_synced && kept.last_used_at == Some(server.now()));
    assert!(kept.credential.to_string().len() < 1_000, "no attestation is kept: {}", kept.credential);
}

#[test]
fn a_challenge_is_answered_once_in_time_by_the_page_that_asked() {
    let server = TestServer::start();
    let other = "https://app.example";
    assert_eq!(server.admin("PATCH", "/settings", Some(json!({ "login_api_origins": [other] }))).status, 200);
    let (ann, mut passkey) = with_passkey(&server, ANN);
    let before = sessions_of(&server, &ann);
    let browser = server.browser();
    let asked = login_options(&server, &browser, Some(ANN));
    let good = passkey.get(&asked["options"]);
    let swapped = login_options(&server, &browser, Some(ANN));
    is_refused(&login_verify(&server, &browser, &swapped["challengeId"], &good));
    is_refused(&login_verify(&server, &browser, &json!("made-up"), &good));
    // Another page that may call the API has got hold of the challenge, or of the answer.
    let body = json!({ "challengeId": asked["challengeId"], "credential": good });
    is_refused(&call(&browser, other, "/passkey/login/verify", &body));
    passkey.origin = other.to_owned();
    let elsewhere = passkey.get(&asked["options"]);
    is_refused(&login_verify(&server, &browser, &asked["challengeId"], &elsewhere));
    passkey.origin = server.issuer.clone();
    // A challenge for something else.
    let adding = register_options(&server, &server.browser(), &json!({ "email": "new@example.com" })).json();
    let mut wrong_kind = asked["options"].clone();
    wrong_kind["challenge"] = adding["options"]["challenge"].clone();
    let answer = passkey.get(&wrong_kind);
    is_refused(&login_verify(&server, &browser, &wrong_kind["challenge"], &answer));
    assert_eq!(sessions_of(&server, &ann), before);
    assert_eq!(login_verify(&server, &browser, &asked["challengeId"], &good).status, 200);
    is_refused(&login_verify(&server, &server.browser(), &asked["challengeId"], &good));
    let late = login_options(&server, &browser, None);
    let answer = passkey.get(&late["options"]);
    server.clock.advance(Duration::from_secs(300));
    is_refused(&login_verify(&server, &browser, &late["challengeId"], &answer));
}

#[test]
fn of_many_with_one_answer_one_signs_in() {
    let server = TestServer::start();
    let (ann, mut passkey) = with_passkey(&server, ANN);
    let before = sessions_of(&server, &ann);
    let asked = login_options(&server, &server.browser(), None);
    let answer = passkey.get(&asked["options"]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..64)
            .map(|_| {
                scope
                    .spawn(|| login_verify(&server, &server.browser(), &asked["challengeId"], &answer).status)
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(sessions_of(&server, &ann), before + 1);
}

#[test]
fn what_the_authenticator_did_wrong_is_refused() {
    let server = TestServer::start();
    let (_, mut passkey) = with_passkey(&server, ANN);
    let browser = server.browser();
    for flaw in [Flaw::Unverified, Flaw::BadSignature, Flaw::OtherRelyingParty] {
        passkey.flaw = flaw;
        is_refused(&sign_in(&server, &browser, &mut passkey, None));
    }
    passkey.flaw = Flaw::None;
    assert_eq!(sign_in(&server, &browser, &mut passkey, None).status, 200);
    for flaw in [Flaw::Unverified, Flaw::OtherRelyingParty] {
        let bob = user(&server, &format!("{flaw:?}@example.com"));
        let mut other = Authenticator::new(&server.issuer);
        other.flaw = flaw;
        let browser = server.browser();
        let options = register_options(&server, &browser, &json!({ "userId": bob })).json();
        is_refused(&register_verify(&server, &browser, &bob, &other.create(&options["options"])));
        assert!(enrolled(&server, &bob).set.passkeys.is_empty());
    }
}

#[test]
fn a_counter_never_goes_back() {
    let server = TestServer::start();
    let (ann, mut passkey) = with_passkey(&server, ANN);
    let browser = server.browser();
    passkey.counter = 10;
    assert_eq!(sign_in(&server, &browser, &mut passkey, None).status, 200);
    assert_eq!(sign_in(&server, &browser, &mut passkey, None).status, 200);
    passkey.counter = 5;
    is_refused(&sign_in(&server, &browser, &mut passkey, None));
    passkey.counter = 0;
    is_refused(&sign_in(&server, &browser, &mut passkey, None));
    assert_eq!(enrolled(&server, &ann).set.passkeys[0].credential["counter"], 12);
}

#[test]
fn nobody_signs_in_with_the_passkey_of_somebody_else() {
    let server = TestServer::start();
    let (_, mut of_ann) = with_passkey(&server, ANN);
    let (bob, mut of_bob) = with_passkey(&server, BOB);
    let before = sessions_of(&server, &bob);
    let browser = server.browser();
    is_refused(&sign_in(&server, &browser, &mut of_ann, Some(BOB)));
    // The authenticator says that it is Bob's.
    of_ann.user = of_bob.user.clone();
    is_refused(&sign_in(&server, &browser, &mut of_ann, Some(BOB)));
    is_refused(&sign_in(&server, &browser, &mut of_ann, None));
    // It even has the id of Bob's credential.
    of_ann.id = of_bob.id.clone();
    is_refused(&sign_in(&server, &browser, &mut of_ann, None));
    assert_eq!(sessions_of(&server, &bob), before);
    assert_eq!(sign_in(&server, &browser, &mut of_bob, Some(BOB)).status, 200);
    let path = format!("/users/{bob}");
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "active": false }))).status, 200);
    is_refused(&sign_in(&server, &browser, &mut of_bob, Some(BOB)));
}

#[test]
fn options_do_not_tell_who_has_a_passkey() {
    let server = TestServer::start();
    with_passkey(&server, ANN);
    user(&server, BOB);
    let browser = server.browser();
    let shape = |email: &str| {
        let told = login_options(&server, &browser, Some(email));
        let allowed = told["options"]["allowCredentials"].as_array().unwrap().clone();
        assert_eq!(allowed.len(), 1);
        let id = allowed[0]["id"].as_str().unwrap().to_owned();
        let again = login_options(&server, &browser, Some(email));
        assert_eq!(again["options"]["allowCredentials"][0]["id"], id, "{email}");
        (told["challengeId"].as_str().unwrap().len(), id.len(), told.to_string().len())
    };
    let with = shape(ANN);
    assert_eq!((shape(BOB), shape("zoe@example.com")), (with, with));
}

#[test]
fn adding_one_needs_a_fresh_sign_in_at_the_account() {
    let server = TestServer::start();
    let (ann, mut passkey) = with_passkey(&server, ANN);
    let bob = user(&server, BOB);
    let stranger = server.browser();
    for body in [json!({ "email": ANN }), json!({ "userId": ann }), json!({ "userId": "nobody" }), json!({})]
    {
        is_forbidden(&register_options(&server, &stranger, &body));
    }
    let browser = server.browser();
    assert_eq!(sign_in(&server, &browser, &mut passkey, None).status, 200);
    let options = register_options(&server, &browser, &json!({ "email": ANN })).json();
    assert_eq!(options["options"]["excludeCredentials"].as_array().unwrap().len(), 1);
    let mut second = Authenticator::new(&server.issuer);
    let credential = second.create(&options["options"]);
    is_forbidden(&register_verify(&server, &stranger, &ann, &credential));
    is_forbidden(&register_verify(&server, &browser, &bob, &credential));
    let added = register_verify(&server, &browser, &ann, &credential);
    assert_eq!(added.status, 200, "{added:?}");
    is_refused(&register_verify(&server, &browser, &ann, &credential));
    assert_eq!(enrolled(&server, &ann).set.passkeys.len(), 2);
    assert_eq!(sign_in(&server, &server.browser(), &mut second, Some(ANN)).status, 200);
    server.clock.advance(Duration::from_secs(601));
    is_forbidden(&register_options(&server, &browser, &json!({ "email": ANN })));
    let again = passkey.create(&options["options"]);
    is_refused(&register_verify(&server, &browser, &ann, &again));
}

#[test]
fn with_a_password_or_in_production_no_stranger_adds_one() {
    let server = TestServer::start();
    let body = json!({ "email": ANN, "password": "correct horse battery" });
    assert_eq!(server.admin("POST", "/users", Some(body)).status, 201);
    is_forbidden(&register_options(&server, &server.browser(), &json!({ "email": ANN })));
    let server = production();
    user(&server, BOB);
    let refused = |email: &str| register_options(&server, &server.browser(), &json!({ "email": email }));
    let (known, unknown) = (refused(BOB), refused("new@example.com"));
    is_forbidden(&known);
    assert_eq!((known.status, known.body), (unknown.status, unknown.body));
}

#[test]
fn a_new_account_is_created_when_its_passkey_was_proven() {
    let server = TestServer::start();
    let browser = server.browser();
    let asked =
        register_options(&server, &browser, &json!({ "email": "new@example.com", "name": "New" })).json();
    let id = asked["userId"].as_str().unwrap();
    assert_eq!(server.admin("GET", &format!("/users/{id}"), None).status, 404, "nothing is proven yet");
    let mut passkey = Authenticator::new(&server.issuer);
    let credential = passkey.create(&asked["options"]);
    assert_eq!(register_verify(&server, &browser, id, &credential).status, 200);
    assert_eq!(signed_in_as(&server, &browser).as_deref(), Some(id));
    let shown = server.admin("GET", &format!("/users/{id}"), None).json();
    assert_eq!((&shown["user"]["email"], &shown["user"]["name"]), (&json!("new@example.com"), &json!("New")));
    assert_eq!(sign_in(&server, &server.browser(), &mut passkey, Some("new@example.com")).status, 200);
}

#[test]
fn of_many_who_add_the_first_one_without_a_session_one_wins() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let browser = server.browser();
                    let options = register_options(&server, &browser, &json!({ "email": ANN }));
                    if options.status != 200 {
                        return options.status;
                    }
                    let mut passkey = Authenticator::new(&server.issuer);
                    let credential = passkey.create(&options.json()["options"]);
                    register_verify(&server, &browser, &ann, &credential).status
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(enrolled(&server, &ann).set.passkeys.len(), 1);
}

#[test]
fn the_session_secret_is_told_to_load_scripts_alone() {
    let server = TestServer::start();
    let (_, mut passkey) = with_passkey(&server, ANN);
    let told = sign_in(&server, &server.browser(), &mut passkey, None).json();
    assert!(told["sessionId"].as_str().unwrap().starts_with("se_"));
    let server =
        server.restart(Options::default().env("SYMBOLON_TEST_ENDPOINTS", "false").issuer(&passkey.origin));
    let browser = server.browser();
    let asked = call(&browser, &passkey.origin, "/passkey/login/options", &json!({})).json();
    let body = json!({ "challengeId": asked["challengeId"], "credential": passkey.get(&asked["options"]) });
    let answer = call(&browser, &passkey.origin, "/passkey/login/verify", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.json().get("sessionId").is_none() && signed_in_as(&server, &browser).is_some());
    let line = answer.header("set-cookie").unwrap();
    assert!(line.contains("HttpOnly"), "{line}");
}
