//! The login API.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, Authenticator, Browser, Flaw, RelyingParty, TestServer};

use super::{Case, explained, run};

const INVALID: (u16, &str) = (400, "invalid_request");
const UNPROVEN: (u16, &str) = (400, "invalid_grant");
const FORBIDDEN: (u16, &str) = (403, "access_denied");

fn send(server: &TestServer, browser: &Browser, id: &str, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("origin", &*server.issuer), ("x-request-id", id)];
    browser.send("POST", &format!("/api/auth{path}"), &headers, body.to_string().as_bytes())
}

/// A sign-in code for an address, and the browser that it belongs to.
fn code(server: &TestServer, email: &str) -> (String, Browser) {
    let told = server.admin("POST", "/test/email-codes", Some(json!({ "email": email }))).json();
    let browser = server.browser();
    browser.set_cookie("authrim_otp_session", told["otpSessionId"].as_str().unwrap());
    (told["code"].as_str().unwrap().to_owned(), browser)
}

fn verify(server: &TestServer, browser: &Browser, id: &str, email: &str, code: &str) -> Answer {
    send(server, browser, id, "/email-code/verify", &json!({ "email": email, "code": code }))
}

/// Adds a passkey to a new account.
fn add(server: &TestServer, id: &str, email: &str, passkey: &mut Authenticator) -> Answer {
    let browser = server.browser();
    let options = send(server, &browser, "", "/passkey/register/options", &json!({ "email": email })).json();
    let credential = passkey.create(&options["options"]);
    let body = json!({ "userId": options["userId"], "credential": credential });
    send(server, &browser, id, "/passkey/register/verify", &body)
}

/// Signs in by an answer that may have been changed.
fn sign_in(server: &TestServer, id: &str, passkey: &mut Authenticator, change: fn(&mut Value)) -> Answer {
    let browser = server.browser();
    let asked = send(server, &browser, "", "/passkey/login/options", &json!({})).json();
    let answer = passkey.get(&asked["options"]);
    let mut body = json!({ "challengeId": asked["challengeId"], "credential": answer });
    change(&mut body);
    send(server, &browser, id, "/passkey/login/verify", &body)
}

pub(super) const CASES: [Case<TestServer>; 16] = [
    Case::new(Reason::NotJson, (415, "invalid_request"), &[], |server, id| {
        let form = [("content-type", "text/plain"), ("origin", &*server.issuer), ("x-request-id", id)];
        server.browser().send("POST", "/api/auth/email-code/verify", &form, b"{}")
    }),
    Case::new(Reason::MemberInvalid, INVALID, &[], |server, id| {
        send(server, &server.browser(), id, "/email-code/verify", &json!({ "email": "a@b" }))
    }),
    Case::new(Reason::OriginNotAllowed, FORBIDDEN, &["https://evil.example"], |server, id| {
        let headers =
            [("content-type", "application/json"), ("origin", "https://evil.example"), ("x-request-id", id)];
        server.browser().send("POST", "/api/auth/passkey/login/options", &headers, b"{}")
    }),
    Case::new(Reason::EmailCodeWrong, UNPROVEN, &[], |server, id| {
        let (code, browser) = code(server, "wrong@example.com");
        let other = if code == "000000" { "000001" } else { "000000" };
        let answer = verify(server, &browser, id, "wrong@example.com", other);
        let failure = explained(server, "", id);
        assert_eq!(failure["login_name"], "wrong@example.com", "{failure}");
        answer
    }),
    Case::new(Reason::EmailCodeExpired, UNPROVEN, &[], |server, id| {
        let (code, browser) = code(server, "late@example.com");
        server.clock.advance(Duration::from_secs(300));
        verify(server, &browser, id, "late@example.com", &code)
    }),
    Case::new(Reason::EmailCodeOtherAddress, UNPROVEN, &[], |server, id| {
        let (code, browser) = code(server, "one@example.com");
        verify(server, &browser, id, "two@example.com", &code)
    }),
    Case::new(Reason::EmailCodeUsedUp, UNPROVEN, &[], |server, id| {
        let (code, browser) = code(server, "used@example.com");
        let kept = browser.cookie("authrim_otp_session").unwrap();
        assert_eq!(verify(server, &browser, "", "used@example.com", &code).status, 200);
        browser.set_cookie("authrim_otp_session", &kept);
        verify(server, &browser, id, "used@example.com", &code)
    }),
    Case::new(Reason::EmailCodeOtherBrowser, UNPROVEN, &[], |server, id| {
        let (code, _) = code(server, "other@example.com");
        verify(server, &server.browser(), id, "other@example.com", &code)
    }),
    Case::new(Reason::SecondFactorNeeded, FORBIDDEN, &[], |server, id| {
        let (code, browser) = code(server, "weak@example.com");
        let strict = json!({ "settings": { "second_factor": "required" } });
        let client = RelyingParty::register(server, strict).client_id;
        let body = json!({ "email": "weak@example.com", "code": code, "client_id": client });
        let answer = send(server, &browser, id, "/email-code/verify", &body);
        assert!(answer.body.contains("/account/security"), "{answer:?}");
        answer
    }),
    Case::new(Reason::PasskeyChallengeUnknown, UNPROVEN, &[], |server, id| {
        let mut passkey = Authenticator::new(&server.issuer);
        add(server, "", "challenge@example.com", &mut passkey);
        sign_in(server, id, &mut passkey, |body| body["challengeId"] = json!("made-up"))
    }),
    Case::new(Reason::PasskeyUnknown, UNPROVEN, &[], |server, id| {
        sign_in(server, id, &mut Authenticator::new(&server.issuer), |_| {})
    }),
    Case::new(Reason::PasskeyWrong, UNPROVEN, &[], |server, id| {
        let mut passkey = Authenticator::new(&server.issuer);
        add(server, "", "signature@example.com", &mut passkey);
        passkey.flaw = Flaw::BadSignature;
        sign_in(server, id, &mut passkey, |_| {})
    }),
    Case::new(Reason::PasskeyNotVerified, UNPROVEN, &[], |server, id| {
        let mut passkey = Authenticator::new(&server.issuer);
        passkey.flaw = Flaw::Unverified;
        add(server, id, "unverified@example.com", &mut passkey)
    }),
    Case::new(Reason::PasskeyCounterWentBack, UNPROVEN, &[], |server, id| {
        let mut passkey = Authenticator::new(&server.issuer);
        passkey.counter = 7;
        add(server, "", "counter@example.com", &mut passkey);
        passkey.counter = 3;
        sign_in(server, id, &mut passkey, |_| {})
    }),
    Case::new(Reason::PasskeyNotAllowed, FORBIDDEN, &[], |server, id| {
        let mut passkey = Authenticator::new(&server.issuer);
        add(server, "", "taken@example.com", &mut passkey);
        let body = json!({ "email": "taken@example.com" });
        send(server, &server.browser(), id, "/passkey/register/options", &body)
    }),
    Case::new(Reason::PasskeyNoRoom, FORBIDDEN, &[], |server, id| {
        let body = json!({ "id": "u".repeat(65), "email": "long@example.com" });
        assert_eq!(server.admin("POST", "/users", Some(body)).status, 201);
        let body = json!({ "email": "long@example.com" });
        send(server, &server.browser(), id, "/passkey/register/options", &body)
    }),
];

#[test]
fn logins() {
    let server = TestServer::start();
    run(&server, &server, &CASES);
}
