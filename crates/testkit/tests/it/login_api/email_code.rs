//! Signing in by a code sent by e-mail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer};

use super::{amr, call, sessions_of, signed_in_as, user};

const ANN: &str = "ann@example.com";
const SCRIPT_COOKIE: &str = "authrim_otp_session";

/// A code of the test endpoint, and a browser that keeps what belongs to it.
fn asked(server: &TestServer, email: &str) -> (String, Browser) {
    let answer = server.admin("POST", "/test/email-codes", Some(json!({ "email": email })));
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer = answer.json();
    let browser = server.browser();
    browser.set_cookie(SCRIPT_COOKIE, answer["otpSessionId"].as_str().unwrap());
    (answer["code"].as_str().unwrap().to_owned(), browser)
}

fn verify(server: &TestServer, browser: &Browser, email: &str, code: &str) -> Answer {
    call(browser, &server.issuer, "/email-code/verify", &json!({ "email": email, "code": code }))
}

fn is_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_grant"), "{answer:?}");
    assert!(answer.headers.iter().all(|(name, _)| name != "set-cookie"), "{answer:?}");
}

/// Another code than this one.
fn other_than(code: &str) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + 1) % 1_000_000)
}

#[test]
fn a_code_signs_in_once() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let (code, browser) = asked(&server, "ANN@example.com");
    let answer = verify(&server, &browser, ANN, &code);
    assert_eq!(answer.status, 200, "{answer:?}");
    let told = answer.json();
    assert_eq!(
        (&told["success"], &told["userId"], &told["user"]["email"]),
        (&json!(true), &json!(ann), &json!(ANN))
    );
    assert_eq!(signed_in_as(&server, &browser), Some(ann));
    assert_eq!(amr(&server, &browser), ["otp"]);
    assert_eq!(browser.cookie(SCRIPT_COOKIE), None, "the browser forgets the code");
    assert_eq!(told["sessionId"].as_str(), browser.cookie(&super::session_cookie(&server)).as_deref());
}

#[test]
fn the_session_is_one_for_the_authorization_endpoint() {
    let server = TestServer::start();
    user(&server, ANN);
    let rp = RelyingParty::register(&server, json!({ "skip_consent": true }));
    let (code, browser) = asked(&server, ANN);
    assert_eq!(verify(&server, &browser, ANN, &code).status, 200);
    let silent = rp.authorization_request().with("prompt", "none");
    let answer = browser.get(&silent.path());
    assert!(answer.redirected("code").is_some(), "{answer:?}");
}

#[test]
fn a_used_code_a_wrong_one_and_an_old_one_are_refused() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let (code, browser) = asked(&server, ANN);
    let kept = browser.cookie(SCRIPT_COOKIE).unwrap();
    is_refused(&verify(&server, &browser, ANN, &other_than(&code)));
    is_refused(&verify(&server, &browser, ANN, "12345"));
    assert_eq!(verify(&server, &browser, ANN, &code).status, 200);
    let thief = server.browser();
    thief.set_cookie(SCRIPT_COOKIE, &kept);
    is_refused(&verify(&server, &thief, ANN, &code));
    assert_eq!(sessions_of(&server, &ann), 1);
    let (code, browser) = asked(&server, ANN);
    server.clock.advance(Duration::from_secs(300));
    is_refused(&verify(&server, &browser, ANN, &code));
}

#[test]
fn a_code_is_for_one_browser_one_address_and_one_seal() {
    let server = TestServer::start();
    user(&server, ANN);
    user(&server, "bob@example.com");
    let (code, browser) = asked(&server, ANN);
    is_refused(&verify(&server, &server.browser(), ANN, &code));
    let (of_bob, other) = asked(&server, "bob@example.com");
    is_refused(&verify(&server, &other, ANN, &code));
    is_refused(&verify(&server, &browser, "bob@example.com", &of_bob));
    let sealed = browser.cookie(SCRIPT_COOKIE).unwrap();
    let tampered = server.browser();
    let last = if sealed.ends_with('A') { "B" } else { "A" };
    tampered.set_cookie(SCRIPT_COOKIE, &format!("{}{last}", &sealed[..sealed.len() - 1]));
    is_refused(&verify(&server, &tampered, ANN, &code));
    assert_eq!(verify(&server, &browser, ANN, &code).status, 200);
}

#[test]
fn a_code_can_be_tried_five_times() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let (code, browser) = asked(&server, ANN);
    let wrong = other_than(&code);
    for _ in 0..5 {
        is_refused(&verify(&server, &browser, ANN, &wrong));
    }
    is_refused(&verify(&server, &browser, ANN, &code));
    assert_eq!(sessions_of(&server, &ann), 0);
}

#[test]
fn of_many_at_once_one_signs_in() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let (code, browser) = asked(&server, ANN);
    let kept = browser.cookie(SCRIPT_COOKIE).unwrap();
    let won = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    let racer = server.browser();
                    racer.set_cookie(SCRIPT_COOKIE, &kept);
                    verify(&server, &racer, ANN, &code).status
                })
            })
            .collect();
        let statuses: Vec<u16> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
        assert!(statuses.iter().all(|status| [200, 400].contains(status)), "{statuses:?}");
        statuses.into_iter().filter(|status| *status == 200).count()
    });
    assert_eq!((won, sessions_of(&server, &ann)), (1, 1));
}

#[test]
fn ten_thousand_guesses_have_five_tries() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let (code, browser) = asked(&server, ANN);
    let kept = browser.cookie(SCRIPT_COOKIE).unwrap();
    let right: u32 = code.parse().unwrap();
    // The right code comes among the guesses, but not among the first five. A store that is busy looks at none (503).
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for part in 0..4_u32 {
            let (kept, server, refused) = (&kept, &server, &refused);
            scope.spawn(move || {
                let guesser = server.browser();
                guesser.set_cookie(SCRIPT_COOKIE, kept);
                for guess in 0..2_500 {
                    let number = (right + 1_000_000 - 100 - part * 2_500 - guess + 9_000) % 1_000_000;
                    let answer = verify(server, &guesser, ANN, &format!("{number:06}"));
                    assert!(matches!(answer.status, 400 | 503), "{answer:?}");
                    refused.fetch_add(usize::from(answer.status == 400), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(refused.into_inner() > 9_000);
    assert_eq!(sessions_of(&server, &ann), 0);
}

/// Tries are counted by code, and codes by the address that they go to, from however many browsers they are asked for.
#[test]
fn ever_new_codes_give_a_guesser_no_more_than_the_tries_of_three() {
    let server = TestServer::start_with(
        Options::default()
            .one_node()
            .env("SYMBOLON_RATE_LIMITS", "on")
            .env("SYMBOLON_RATE_LIMIT_MAIL_ADDRESS", "1000/15m")
            .env("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "100000/1m")
            .env("SYMBOLON_RATE_LIMIT_LOGIN_ADDRESS", "100000/1m"),
    );
    let verified = json!({ "email": ANN, "email_verified": true });
    assert_eq!(server.admin("POST", "/users", Some(verified)).status, 201);
    let browsers: Vec<Browser> = (0..20).map(|_| server.browser()).collect();
    let asks = |browser: &&Browser| {
        let sent = call(browser, &server.issuer, "/email-code/send", &json!({ "email": ANN }));
        assert!([200, 429].contains(&sent.status), "{sent:?}");
        sent.status == 200
    };
    let have_one: Vec<&Browser> = browsers.iter().filter(asks).collect();
    assert_eq!(have_one.len(), 3, "in fifteen minutes");
    for guess in 0..100 {
        for browser in &have_one {
            is_refused(&verify(&server, browser, ANN, &format!("{guess:06}")));
        }
    }
    server.drain_audit();
    let failed = server.admin("GET", "/audit-logs?event=session.sign_in_failed", None).json();
    let failed = failed["audit_logs"].as_array().unwrap();
    assert_eq!(failed.len(), 15, "of 300 guesses five were compared with each code: {failed:?}");
}

#[test]
fn attempts_are_limited_like_those_with_passwords() {
    let server = TestServer::start_with(Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on"));
    user(&server, ANN);
    let mut limited = 0;
    for _ in 0..4 {
        let (code, browser) = asked(&server, ANN);
        for _ in 0..4 {
            let answer = verify(&server, &browser, ANN, &other_than(&code));
            if answer.status == 429 {
                assert!(answer.header("retry-after").is_some(), "{answer:?}");
                limited += 1;
            }
        }
    }
    assert_eq!(limited, 6, "ten failures in a minute");
}

#[test]
fn somebody_who_may_not_sign_in_does_not() {
    let server = TestServer::start();
    let ann = user(&server, ANN);
    let (code, browser) = asked(&server, ANN);
    let patch =
        |body: Value| assert_eq!(server.admin("PATCH", &format!("/users/{ann}"), Some(body)).status, 200);
    patch(json!({ "active": false }));
    is_refused(&verify(&server, &browser, ANN, &code));
    patch(json!({ "active": true }));
    let (code, browser) = asked(&server, ANN);
    patch(json!({ "email": "new@example.com" }));
    is_refused(&verify(&server, &browser, ANN, &code));
    assert_eq!(sessions_of(&server, &ann), 0);
}

#[test]
fn the_test_endpoint_creates_users_only_if_it_may() {
    let server = TestServer::start();
    let ask = |body: Value| server.admin("POST", "/test/email-codes", Some(body));
    assert_eq!(ask(json!({ "email": "new@example.com", "create_user": false })).status, 404);
    let made = ask(json!({ "email": "new@example.com" }));
    assert_eq!(made.status, 201, "{made:?}");
    let again = ask(json!({ "email": "NEW@example.com", "create_user": false }));
    assert_eq!(again.json()["userId"], made.json()["userId"]);
    assert_eq!(ask(json!({ "email": "no address" })).status, 400);
    let off = super::production();
    assert_eq!(off.admin("POST", "/test/email-codes", Some(json!({ "email": ANN }))).status, 403);
}

#[test]
fn the_length_of_what_the_browser_keeps_tells_nothing() {
    let server = TestServer::start();
    for (id, email) in
        [("u", "a@b.example"), (&*"u".repeat(255), "somebody.with.a.long.name@mail.example.com")]
    {
        let body = json!({ "id": id, "email": email });
        assert_eq!(server.admin("POST", "/users", Some(body)).status, 201);
    }
    let length = |email| asked(&server, email).1.cookie(SCRIPT_COOKIE).unwrap().len();
    let short = length("a@b.example");
    assert_eq!(length("somebody.with.a.long.name@mail.example.com"), short);
    assert!(short < 2_000, "{short}");
}

#[test]
fn in_a_browser_of_one_account_the_session_replaces_the_one_before() {
    let server = TestServer::start();
    let one = json!({ "accounts_per_browser": 1 });
    assert_eq!(server.admin("PATCH", "/settings", Some(one)).status, 200);
    let (ann, bob) = (user(&server, ANN), user(&server, "bob@example.com"));
    let (code, browser) = asked(&server, ANN);
    assert_eq!(verify(&server, &browser, ANN, &code).status, 200);
    let (code, other) = asked(&server, "bob@example.com");
    browser.set_cookie(SCRIPT_COOKIE, &other.cookie(SCRIPT_COOKIE).unwrap());
    assert_eq!(verify(&server, &browser, "bob@example.com", &code).status, 200);
    assert_eq!(signed_in_as(&server, &browser), Some(bob));
    assert_eq!(sessions_of(&server, &ann), 0);
}
