//! What can be used once, sent twice at the same time.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser};

use super::{Asked, Ending, Row};
use crate::login::{PASSWORD, Scene, hidden};
use crate::login_api::passkey::add_first_passkey;
use crate::login_api::second_factor;
use crate::second_factor::enrolled;

const OTHER: &str = "other@example.com";

pub(super) fn asked(ending: &Ending) -> Vec<Asked> {
    let address = new_address(ending);
    // It sets the clock forward, so what is short-lived comes after it.
    let second_factor = second_factor(ending);
    let people = vec![address, second_factor, registration(ending), reset(ending), code(ending)];
    people.into_iter().chain(email_codes(ending)).chain(passkeys(ending)).collect()
}

/// A form that is posted twice.
fn twice(row: Row, statuses: [u16; 2], browser: Browser, form: &[(&str, &str)]) -> Asked {
    let form: Vec<(String, String)> =
        form.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Asked::new(row, &statuses, move || {
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
        browser.copy().post(row.1, &form)
    })
    .about("sent twice")
}

/// The page to which a link in a mail leads the browser that asked for it.
fn behind_link(ending: &Ending, browser: &Browser) -> Answer {
    browser.get(&browser.get(&ending.mailbox.next().link()).location())
}

fn user(ending: &Ending, email: &str, password: Option<&str>) -> String {
    let mut body = json!({ "email": email, "email_verified": true, "name": "Ann" });
    if let Some(password) = password {
        body["password"] = password.into();
    }
    let answer = ending.scene.server.admin("POST", "/users", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["user"]["id"].as_str().expect("an id").to_owned()
}

/// The link has proven the address already, so that nothing but the use of the code is written.
fn registration(ending: &Ending) -> Asked {
    let browser = ending.scene.server.browser();
    let (transaction, csrf) = hidden(&browser.get("/register"));
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("email", "new@example.com"),
        ("given_name", "Ann"),
        ("family_name", "Smith"),
    ];
    assert_eq!(browser.post("/register", &form).status, 303);
    let (transaction, csrf) = hidden(&behind_link(ending, &browser));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("password", PASSWORD)];
    twice(("POST", "/register/confirm"), [303, 303], browser, &form)
}

/// As for a registration, the link has proven the address already.
fn new_address(ending: &Ending) -> Asked {
    let browser = ending.scene.server.browser();
    let login = browser.get(&browser.get("/account").location());
    assert_eq!(Scene::sign_in(&browser, &login, OTHER, PASSWORD).status, 303);
    let csrf = browser.get("/account/email").field("csrf_token").expect("a form");
    let form = [("csrf_token", &*csrf), ("email", "other@example.org")];
    assert_eq!(browser.post("/account/email", &form).status, 303);
    let (transaction, csrf) = hidden(&behind_link(ending, &browser));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", "")];
    twice(("POST", "/verify-email"), [303, 303], browser, &form)
}

fn reset(ending: &Ending) -> Asked {
    let browser = ending.scene.server.browser();
    user(ending, "lost@example.com", Some(PASSWORD));
    let (transaction, csrf) = hidden(&browser.get("/forgot-password"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", "lost@example.com")];
    assert_eq!(browser.post("/forgot-password", &form).status, 303);
    let page = browser.get(&ending.mailbox.next().link());
    let (sealed, csrf) = (page.field("link").expect("a link"), page.field("csrf_token").unwrap());
    let form = [("link", &*sealed), ("csrf_token", &*csrf), ("password", "quite another password")];
    twice(("POST", "/reset-password"), [200, 200], browser, &form)
}

/// RFC 6749 4.1.2: a code is used once, and its replay takes back what it was redeemed for.
fn code(ending: &Ending) -> Asked {
    let rp = &ending.scene.rp;
    let (browser, request) = (ending.scene.server.browser(), rp.authorization_request());
    let page = ending.scene.at_login(&browser, &request);
    let signed_in = Scene::sign_in(&browser, &page, &ending.scene.demo.email, &ending.scene.demo.password);
    let code = signed_in.redirected("code").expect("a code: the consent is remembered");
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("code_verifier", &*request.verifier),
        ("redirect_uri", &*rp.redirect_uri),
        ("client_id", &*rp.client_id),
    ];
    twice(("POST", "/token"), [200, 400], browser, &form)
}

fn call(browser: &Browser, origin: &str, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("origin", origin)];
    browser.send("POST", path, &headers, body.to_string().as_bytes())
}

/// The same call of the login API twice.
fn call_twice(ending: &Ending, path: &'static str, browser: Browser, body: Value) -> Asked {
    let origin = ending.scene.server.issuer.clone();
    Asked::new(("POST", path), &[200, 400], move || call(&browser.copy(), &origin, path, &body))
        .about("sent twice")
}

fn email_codes(ending: &Ending) -> Vec<Asked> {
    let mut asked = Vec::new();
    for (email, send, verify) in [
        ("one@example.com", "/api/auth/email-code/send", "/api/auth/email-code/verify"),
        ("many@example.com", "/api/auth/email-codes/send", "/api/auth/email-codes/verify"),
    ] {
        user(ending, email, None);
        let browser = ending.scene.server.browser();
        let sent = call(&browser, &ending.scene.server.issuer, send, &json!({ "email": email }));
        assert_eq!(sent.status, 200, "{sent:?}");
        let code = ending.mailbox.next().code();
        asked.push(call_twice(ending, verify, browser, json!({ "email": email, "code": code })));
    }
    asked
}

fn passkeys(ending: &Ending) -> Vec<Asked> {
    let mut asked = Vec::new();
    for (email, options, verify) in [
        ("key@example.com", "/api/auth/passkey/login/options", "/api/auth/passkey/login/verify"),
        ("keys@example.com", "/api/auth/passkeys/login/options", "/api/auth/passkeys/login/verify"),
    ] {
        let server = &ending.scene.server;
        let mut passkey = add_first_passkey(server, &user(ending, email, None), email);
        let browser = server.browser();
        let told = call(&browser, &server.issuer, options, &json!({ "email": email })).json();
        let credential = passkey.get(&told["options"]);
        let answer = json!({ "challengeId": told["challengeId"], "credential": credential });
        asked.push(call_twice(ending, verify, browser, answer));
    }
    asked
}

fn second_factor(ending: &Ending) -> Asked {
    let generator = enrolled(&ending.scene);
    assert_eq!(ending.mailbox.next().to, OTHER, "whose account has a generator now");
    // The client asked for it while it was set up.
    let body = json!({ "settings": { "second_factor": "optional" } });
    let client = format!("/clients/{}", symbolon_sign_in::demo::CLIENT);
    assert_eq!(ending.scene.server.admin("PATCH", &client, Some(body)).status, 200);
    let (browser, asked) = second_factor::asked(&ending.scene);
    let (origin, path) = (ending.scene.server.issuer.clone(), "/api/auth/second-factor/verify");
    // Each with a code of its own, so that it is the challenge that was used before.
    let codes = std::sync::Mutex::new(generator.recovery_codes);
    Asked::new(("POST", path), &[200, 400], move || {
        let code = codes.lock().unwrap().pop();
        let body = json!({ "challengeId": asked["challengeId"], "code": code });
        call(&browser.copy(), &origin, path, &body)
    })
    .about("a challenge is used twice")
}
