//! The second factor of a sign-in by the login API.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Authenticator, Browser, Options, RelyingParty, TokenSet, decode_jwt};

use super::{amr, call, session_cookie, sessions_of, signed_in_as};
use crate::login::Scene;
use crate::second_factor::{Phone, enrolled};
use crate::sign_in::{OTHER, passkey_of_other};

const STEP: Duration = Duration::from_secs(30);
const TWO: &str = "urn:symbolon:acr:2";

/// What follows a right code that was sent by e-mail. `more`: further members of the call.
fn first_step(scene: &Scene, browser: &Browser, more: &Value) -> Answer {
    first_step_of(scene, browser, OTHER, more)
}

fn first_step_of(scene: &Scene, browser: &Browser, email: &str, more: &Value) -> Answer {
    let server = &scene.server;
    let sent = server.admin("POST", "/test/email-codes", Some(json!({ "email": email }))).json();
    browser.set_cookie("authrim_otp_session", sent["otpSessionId"].as_str().unwrap());
    let mut body = json!({ "email": email, "code": sent["code"] });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    call(browser, &server.issuer, "/email-code/verify", &body)
}

/// The second factor that an answer asks for.
fn needed(answer: &Answer) -> Value {
    assert_eq!((answer.status, answer.error().as_str()), (403, "access_denied"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
    let asked = answer.json()["secondFactor"].clone();
    assert_eq!(asked["required"], true, "{answer:?}");
    asked
}

/// A browser in which the first factor was proven, and what is asked for there.
pub(crate) fn asked(scene: &Scene) -> (Browser, Value) {
    let browser = scene.server.browser();
    let answer = first_step(scene, &browser, &json!({}));
    assert_eq!(browser.cookie(&session_cookie(&scene.server)), None, "nobody is signed in yet");
    assert_eq!(browser.cookie("authrim_otp_session"), None, "the code is used up");
    (browser, needed(&answer))
}

/// Answers a challenge with these members.
fn answer(scene: &Scene, browser: &Browser, asked: &Value, with: Value) -> Answer {
    answer_at(&scene.server.issuer, browser, asked, with)
}

fn answer_at(origin: &str, browser: &Browser, asked: &Value, mut with: Value) -> Answer {
    with["challengeId"] = asked["challengeId"].clone();
    call(browser, origin, "/second-factor/verify", &with)
}

fn by_code(scene: &Scene, browser: &Browser, asked: &Value, code: &str) -> Answer {
    answer(scene, browser, asked, json!({ "code": code }))
}

fn is_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_grant"), "{answer:?}");
    assert!(answer.headers.iter().all(|(name, _)| name != "set-cookie"), "{answer:?}");
}

fn is_in(scene: &Scene, browser: &Browser, answer: &Answer) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let told = answer.json();
    assert_eq!((&told["success"], &told["userId"]), (&json!(true), &json!("other")), "{answer:?}");
    assert_eq!(told["user"]["email"], OTHER, "{answer:?}");
    assert_eq!(signed_in_as(&scene.server, browser).as_deref(), Some("other"));
}

/// Adds a passkey within the session of a browser.
pub(crate) fn add_passkey(scene: &Scene, browser: &Browser) -> Authenticator {
    let issuer = &scene.server.issuer;
    let mut passkey = Authenticator::new(issuer);
    let options = call(browser, issuer, "/passkey/register/options", &json!({ "email": OTHER }));
    let body = json!({ "userId": "other", "credential": passkey.create(&options.json()["options"]) });
    let added = call(browser, issuer, "/passkey/register/verify", &body);
    assert_eq!(added.status, 200, "{added:?}");
    passkey
}

/// The user `other` with a generator and a passkey.
fn with_both(scene: &Scene) -> (Phone, Authenticator) {
    let phone = enrolled(scene);
    let (browser, asked) = asked(scene);
    is_in(scene, &browser, &by_code(scene, &browser, &asked, &phone.code(scene)));
    let passkey = add_passkey(scene, &browser);
    scene.server.clock.advance(STEP);
    (phone, passkey)
}

fn set(scene: &Scene, settings: Value) {
    let answer = scene.server.admin("PATCH", "/settings", Some(settings));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// How many records of an event the audit log has, which is closed by it.
fn audited(scene: &Scene, event: &str) -> usize {
    scene.server.drain_audit();
    let found = scene.server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
    found["audit_logs"].as_array().unwrap().len()
}

#[test]
fn a_code_of_the_generator_completes_the_sign_in_once() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let (browser, asked_for) = asked(&scene);
    assert_eq!(asked_for["methods"], json!(["totp", "recovery_code"]));
    assert_eq!((&asked_for["expiresIn"], asked_for.get("options")), (&json!(600), None));
    for wrong in ["", "12345", "abcdefghij", "00000-00000"] {
        is_refused(&by_code(&scene, &browser, &asked_for, wrong));
    }
    let before = sessions_of(&scene.server, "other");
    let code = phone.code(&scene);
    is_in(&scene, &browser, &by_code(&scene, &browser, &asked_for, &code));
    assert_eq!(amr(&scene.server, &browser), ["otp", "mfa"]);
    let (other, again) = asked(&scene);
    is_refused(&by_code(&scene, &other, &again, &code));
    scene.server.clock.advance(STEP);
    let next = phone.code(&scene);
    is_refused(&by_code(&scene, &browser, &asked_for, &next));
    scene.server.clock.advance(STEP);
    is_in(&scene, &other, &by_code(&scene, &other, &again, &phone.code(&scene)));
    assert_eq!(sessions_of(&scene.server, "other"), before + 2);
    // The wrong ones, and the one that was used. The code that met a used challenge was right.
    assert_eq!(audited(&scene, "session.sign_in_failed"), 5);
}

/// What the pages would have put into them.
#[test]
fn the_tokens_that_follow_say_that_two_factors_were_proven() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let rp = RelyingParty::register(&scene.server, json!({ "settings": { "second_factor": "required" } }));
    let (browser, asked_for) = asked(&scene);
    let request = rp.authorization_request().with("prompt", "none").with("acr_values", TWO);
    assert_eq!(browser.get(&request.path()).redirected("error").as_deref(), Some("login_required"));
    is_in(&scene, &browser, &by_code(&scene, &browser, &asked_for, &phone.code(&scene)));
    let code = browser.get(&request.path()).redirected("code").expect("a code");
    let tokens = TokenSet::of(&rp.redeem(&code, &request.verifier));
    let claims = decode_jwt(tokens.id_token.as_deref().unwrap()).1;
    assert_eq!((&claims["amr"], &claims["acr"]), (&json!(["otp", "mfa"]), &json!(TWO)));
    assert_eq!(claims["sub"], "other");
}

#[test]
fn of_many_with_one_recovery_code_and_of_many_codes_for_one_challenge_one_signs_in() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let won = |statuses: Vec<u16>| {
        // A store that is busy looks at none (503).
        assert!(statuses.iter().all(|status| [200, 400, 503].contains(status)), "{statuses:?}");
        statuses.into_iter().filter(|status| *status == 200).count()
    };
    let before = sessions_of(&scene.server, "other");
    let ready: Vec<_> = (0..64).map(|_| asked(&scene)).collect();
    let code = phone.recovery_codes[3].to_uppercase();
    let statuses = std::thread::scope(|scope| {
        let racers = ready.iter().map(|(browser, asked)| {
            let (scene, code) = (&scene, &code);
            scope.spawn(move || by_code(scene, browser, asked, code).status)
        });
        let racers: Vec<_> = racers.collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!((won(statuses), audited(&scene, "recovery_code.used")), (1, 1));
    let (browser, asked_for) = asked(&scene);
    let statuses = std::thread::scope(|scope| {
        let racers = phone.recovery_codes[4..].iter().map(|code| {
            let (scene, browser, asked_for) = (&scene, &browser, &asked_for);
            scope.spawn(move || by_code(scene, browser, asked_for, code).status)
        });
        let racers: Vec<_> = racers.collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(won(statuses), 1);
    assert_eq!(sessions_of(&scene.server, "other"), before + 2);
}

#[test]
fn a_passkey_completes_the_sign_in_and_that_of_somebody_else_does_not() {
    let scene = Scene::new();
    let (_, mut passkey) = with_both(&scene);
    let bob = super::user(&scene.server, "bob@example.com");
    let mut of_bob = super::passkey::add_first_passkey(&scene.server, &bob, "bob@example.com");
    let (browser, asked_for) = asked(&scene);
    assert_eq!(asked_for["methods"], json!(["totp", "recovery_code", "passkey"]));
    let options = &asked_for["options"];
    assert_eq!(options["challenge"], asked_for["challengeId"]);
    assert_eq!(options["allowCredentials"].as_array().unwrap().len(), 1);
    let with = |credential: &Value| answer(&scene, &browser, &asked_for, json!({ "credential": credential }));
    let mut of_any = options.clone();
    of_any["allowCredentials"] = json!([]);
    is_refused(&with(&of_bob.get(&of_any)));
    // The authenticator says that it is the other's.
    of_bob.user = passkey.user.clone();
    is_refused(&with(&of_bob.get(&of_any)));
    passkey.flaw = symbolon_testkit::Flaw::BadSignature;
    is_refused(&with(&passkey.get(options)));
    passkey.flaw = symbolon_testkit::Flaw::Unverified;
    is_refused(&with(&passkey.get(options)));
    passkey.flaw = symbolon_testkit::Flaw::None;
    // Of another challenge.
    let (_, of_other) = asked(&scene);
    is_refused(&with(&passkey.get(&of_other["options"])));
    is_refused(&with(&json!({ "id": "made-up" })));
    let good = passkey.get(options);
    is_in(&scene, &browser, &with(&good));
    assert_eq!(amr(&scene.server, &browser), ["otp", "hwk", "mfa"]);
    is_refused(&with(&good));
    // As the answer to a passkey sign-in it is none: the challenge was made for something else.
    let body = json!({ "challengeId": asked_for["challengeId"], "credential": good });
    is_refused(&call(&browser, &scene.server.issuer, "/passkey/login/verify", &body));
}

#[test]
fn a_challenge_is_for_its_browser_its_page_and_ten_minutes() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let app = "https://app.example";
    set(&scene, json!({ "login_api_origins": [app] }));
    let (browser, asked_for) = asked(&scene);
    let body = json!({ "code": phone.code(&scene) });
    // A browser without a cookie, and one that is known by its own.
    is_refused(&answer(&scene, &scene.server.browser(), &asked_for, body.clone()));
    let (thief, of_thief) = asked(&scene);
    is_refused(&answer(&scene, &thief, &asked_for, body.clone()));
    is_refused(&answer(&scene, &browser, &of_thief, body.clone()));
    is_refused(&answer_at(app, &browser, &asked_for, body.clone()));
    let sealed = asked_for["challengeId"].as_str().unwrap();
    let last = if sealed.ends_with('A') { "B" } else { "A" };
    let tampered = json!({ "challengeId": format!("{}{last}", &sealed[..sealed.len() - 1]) });
    is_refused(&answer(&scene, &browser, &tampered, body.clone()));
    // One that was made for something else.
    let login = call(&browser, &scene.server.issuer, "/passkey/login/options", &json!({})).json();
    is_refused(&answer(&scene, &browser, &login, body.clone()));
    scene.server.clock.advance(Duration::from_secs(599));
    is_in(&scene, &thief, &by_code(&scene, &thief, &of_thief, &phone.code(&scene)));
    scene.server.clock.advance(Duration::from_secs(1));
    is_refused(&by_code(&scene, &browser, &asked_for, &phone.recovery_codes[0]));
    assert_eq!(audited(&scene, "recovery_code.used"), 0, "no code was looked at");
}

#[test]
fn other_sites_answer_no_challenge() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let (browser, asked_for) = asked(&scene);
    let body = json!({ "challengeId": asked_for["challengeId"], "code": phone.code(&scene) }).to_string();
    let (path, json) = ("/api/auth/second-factor/verify", ("content-type", "application/json"));
    let evil = ("origin", "https://evil.example");
    assert_eq!(browser.send("POST", path, &[json, evil], body.as_bytes()).status, 403);
    assert_eq!(browser.send("POST", path, &[json], body.as_bytes()).status, 403);
    let form = [("content-type", "text/plain"), ("origin", &*scene.server.issuer)];
    assert_eq!(browser.send("POST", path, &form, body.as_bytes()).status, 415);
    for both in [json!({}), json!({ "code": "000000", "credential": {} })] {
        let refused = answer(&scene, &browser, &asked_for, both);
        assert_eq!((refused.status, refused.error().as_str()), (400, "invalid_request"), "{refused:?}");
    }
    is_in(&scene, &browser, &by_code(&scene, &browser, &asked_for, &phone.code(&scene)));
}

#[test]
fn what_changed_since_the_first_factor_ends_the_sign_in() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let patch = |body| assert_eq!(scene.server.admin("PATCH", "/users/other", Some(body)).status, 200);
    let before = sessions_of(&scene.server, "other");
    for (change, back) in [
        (json!({ "email": "new@example.com" }), json!({ "email": OTHER, "email_verified": true })),
        (json!({ "active": false }), json!({ "active": true })),
    ] {
        let (browser, asked_for) = asked(&scene);
        patch(change);
        is_refused(&by_code(&scene, &browser, &asked_for, &phone.code(&scene)));
        assert_eq!(signed_in_as(&scene.server, &browser), None);
        patch(back);
        scene.server.clock.advance(STEP);
    }
    assert!(sessions_of(&scene.server, "other") <= before);
}

/// Who has none is asked for one by the policy alone: that of the issuer, or of the client that the application names.
#[test]
fn who_has_none_and_must_bring_one_is_told_where_to_set_it_up() {
    let scene = Scene::new();
    let strict =
        RelyingParty::register(&scene.server, json!({ "settings": { "second_factor": "required" } }));
    let lax = RelyingParty::register(&scene.server, json!({ "settings": { "second_factor": "optional" } }));
    let of = |client: &str| json!({ "client_id": client });
    let refused = |more: &Value| {
        let browser = scene.server.browser();
        let asked = needed(&first_step(&scene, &browser, more));
        assert_eq!((&asked["methods"], asked.get("challengeId")), (&json!([]), None));
        assert_eq!(asked["setupUri"], format!("{}/account/security", scene.server.issuer));
        assert_eq!(signed_in_as(&scene.server, &browser), None);
    };
    let let_in = |more: &Value| {
        let browser = scene.server.browser();
        let answer = first_step(&scene, &browser, more);
        is_in(&scene, &browser, &answer);
        assert_eq!(answer.json().get("secondFactor"), None);
    };
    let_in(&json!({}));
    let_in(&of(&lax.client_id));
    refused(&of(&strict.client_id));
    let unknown = first_step(&scene, &scene.server.browser(), &of("nobody"));
    assert_eq!((unknown.status, unknown.error().as_str()), (400, "invalid_request"), "{unknown:?}");
    set(&scene, json!({ "second_factor": "required" }));
    refused(&json!({}));
    refused(&of(&lax.client_id));
}

#[test]
fn a_session_steps_up_to_the_class_that_is_asked_for() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let rp = RelyingParty::register(&scene.server, json!({ "default_acr_values": [TWO] }));
    for more in [json!({ "acr_values": TWO }), json!({ "client_id": rp.client_id })] {
        let browser = scene.server.browser();
        let first = first_step(&scene, &browser, &more);
        is_in(&scene, &browser, &first);
        let (asked_for, before) =
            (&first.json()["secondFactor"], browser.cookie("symbolon_session").unwrap());
        assert_eq!((&asked_for["required"], &asked_for["methods"]), (&json!(false), &json!(["passkey"])));
        assert_eq!(amr(&scene.server, &browser), ["otp"], "signed in, because a class is voluntary");
        let credential = json!({ "credential": passkey.get(&asked_for["options"]) });
        // In the same browser after the session has ended, nobody steps up.
        let (elsewhere, known) = (scene.server.browser(), browser.cookie("symbolon_login").unwrap());
        elsewhere.set_cookie("symbolon_login", &known);
        is_refused(&answer(&scene, &elsewhere, asked_for, credential.clone()));
        is_in(&scene, &browser, &answer(&scene, &browser, asked_for, credential));
        assert_eq!(amr(&scene.server, &browser), ["otp", "hwk", "mfa"]);
        let after = browser.cookie("symbolon_session").unwrap();
        assert!(before != after && !scene.session_lives(&before) && scene.session_lives(&after));
    }
    // What is satisfied already, what is asked for by nobody, and what the person has nothing for.
    let demo = scene.server.admin("POST", "/users", Some(json!({ "email": "zoe@example.com" })));
    assert_eq!(demo.status, 201, "{demo:?}");
    let one = json!({ "acr_values": "urn:symbolon:acr:1" });
    for (email, more) in [(OTHER, one), (OTHER, json!({})), ("zoe@example.com", json!({ "acr_values": TWO }))]
    {
        let told = first_step_of(&scene, &scene.server.browser(), email, &more);
        assert_eq!((told.status, told.json().get("secondFactor")), (200, None), "{told:?}");
    }
}

#[test]
fn a_remembered_browser_is_asked_for_nothing_more() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let (browser, asked_for) = asked(&scene);
    assert_eq!(asked_for["rememberDays"], 0);
    let remember = |phone: &Phone| json!({ "code": phone.code(&scene), "rememberDevice": true });
    is_in(&scene, &browser, &answer(&scene, &browser, &asked_for, remember(&phone)));
    assert_eq!(browser.cookie("symbolon_device"), None, "unless the issuer wants it");
    set(&scene, json!({ "remember_device_days": 7, "second_factor": "required" }));
    scene.server.clock.advance(STEP);
    let (browser, asked_for) = asked(&scene);
    assert_eq!(asked_for["rememberDays"], 7);
    is_in(&scene, &browser, &answer(&scene, &browser, &asked_for, remember(&phone)));
    is_in(&scene, &browser, &first_step(&scene, &browser, &json!({})));
    assert_eq!(amr(&scene.server, &browser), ["otp", "remembered_device"]);
    asked(&scene);
    scene.server.clock.advance(Duration::from_secs(7 * 86_400));
    needed(&first_step(&scene, &browser, &json!({})));
}

/// One limit for the pages and the login API.
#[test]
fn attempts_are_limited_by_account() {
    let scene = Scene::with(Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on"));
    let phone = enrolled(&scene);
    let (browser, asked_for) = asked(&scene);
    let answers: Vec<Answer> = (0..30).map(|_| by_code(&scene, &browser, &asked_for, "000000")).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!((statuses[0], statuses[29]), (400, 429), "{statuses:?}");
    assert!(answers[29].header("retry-after").is_some(), "{:?}", answers[29]);
    let right = by_code(&scene, &browser, &asked_for, &phone.recovery_codes[0]);
    assert_eq!(right.status, 429, "not even a right code is looked at");
    let page = scene.server.browser();
    let shown = crate::second_factor::after_password(&scene, &page);
    assert_eq!(crate::second_factor::confirm(&page, &shown, "000000").status, 429);
    scene.server.clock.advance(Duration::from_secs(120));
    is_in(&scene, &browser, &by_code(&scene, &browser, &asked_for, &phone.code(&scene)));
}
