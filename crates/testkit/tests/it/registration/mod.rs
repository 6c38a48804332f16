//! Registration over HTTP.

mod attacks;
mod email;
mod invitation;
mod without_password;

use serde_json::{Value, json};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt,
};

use crate::login::hidden;
use crate::mailbox::{Mail, Mailbox};

pub(crate) const PASSWORD: &str = "correct horse battery";
pub(crate) const ANN: &str = "ann@example.com";

/// A server at which everybody may register, with a client that asks for no consent.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) mailbox: Mailbox,
    pub(crate) rp: RelyingParty,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(options: impl FnOnce(Options) -> Options) -> Self {
        let mailbox = Mailbox::open();
        let server = TestServer::start_with(options(mailbox.options()));
        let rp =
            RelyingParty::register(&server, json!({ "skip_consent": true, "scope": "openid email profile" }));
        let scene = Self { server, mailbox, rp };
        scene.set(json!({ "registration": "open" }));
        scene
    }

    pub(crate) fn set(&self, settings: Value) {
        let answer = self.server.admin("PATCH", "/settings", Some(settings));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub(crate) fn user(&self, body: Value) -> String {
        let answer = self.server.admin("POST", "/users", Some(body));
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["user"]["id"].as_str().unwrap().to_owned()
    }

    /// The record of a user.
    pub(crate) fn record(&self, id: &str) -> Value {
        let answer = self.server.admin("GET", &format!("/users/{id}"), None);
        answer.json()["user"].clone()
    }

    /// The user with an address, if there is one.
    pub(crate) fn user_of(&self, email: &str) -> Option<Value> {
        let found = self.server.admin("GET", &format!("/users?email={}", email.replace('@', "%40")), None);
        found.json()["users"].as_array().unwrap().first().cloned()
    }

    /// The registration page that the login page of a request leads to.
    pub(crate) fn at_form(&self, browser: &Browser, request: &AuthorizationRequest) -> Answer {
        let login = browser.get(&browser.get(&request.path()).location());
        let page = browser.get(&link(&login, "register"));
        assert_eq!(page.status, 200, "{page:?}");
        page
    }

    /// Sends the form; the page that waits for the code.
    pub(crate) fn apply(&self, browser: &Browser, page: &Answer, email: &str) -> Answer {
        let sent =
            submit(browser, page, &[("email", email), ("given_name", "Ann"), ("family_name", "Smith")]);
        assert_eq!(sent.status, 303, "{sent:?}");
        assert!(sent.location().starts_with("/register/confirm?transaction="), "{sent:?}");
        browser.get(&sent.location())
    }

    /// Somebody who registers without coming from anywhere.
    pub(crate) fn registered(&self, email: &str) -> (Browser, Mail) {
        let browser = self.server.browser();
        let waiting = self.apply(&browser, &browser.get("/register"), email);
        let mail = self.mailbox.next();
        let done = confirm(&browser, &waiting, &mail.code(), PASSWORD);
        assert_eq!(done.status, 303, "{done:?}");
        (browser, mail)
    }

    /// Whether a password signs in by a name.
    pub(crate) fn signs_in(&self, name: &str, password: &str) -> bool {
        let browser = self.server.browser();
        let page = browser.get(&browser.get(&self.rp.authorization_request().path()).location());
        let (transaction, csrf) = hidden(&page);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", name),
            ("password", password),
        ];
        browser.post("/login", &form).status == 303
    }

    pub(crate) fn audited(&self, event: &str) -> Vec<Value> {
        self.server.drain_audit();
        let found = self.server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
        found["audit_logs"].as_array().unwrap().clone()
    }
}

/// The address of a link on a page, by its id.
pub(crate) fn link(page: &Answer, id: &str) -> String {
    let rest = page
        .body
        .split_once(&format!("id=\"{id}\" href=\""))
        .unwrap_or_else(|| panic!("no {id}: {page:?}"))
        .1;
    rest.split_once('"').unwrap().0.replace("&#38;", "&").replace("&amp;", "&")
}

/// Sends the registration form.
pub(crate) fn submit(browser: &Browser, page: &Answer, fields: &[(&str, &str)]) -> Answer {
    let (transaction, csrf) = hidden(page);
    let mut form = vec![("transaction", &*transaction), ("csrf_token", &*csrf)];
    form.extend_from_slice(fields);
    browser.post("/register", &form)
}

/// Types a code and a password.
pub(crate) fn confirm(browser: &Browser, page: &Answer, code: &str, password: &str) -> Answer {
    let (transaction, csrf) = hidden(page);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", code), ("password", password)];
    browser.post("/register/confirm", &form)
}

/// Another code than this one.
pub(crate) fn other_than(code: &str) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + 1) % 1_000_000)
}

#[test]
fn a_person_registers_and_is_led_back_to_the_application() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request();
    let page = scene.at_form(&browser, &request);
    let waiting = scene.apply(&browser, &page, "Ann@Example.com");
    assert!(waiting.body.contains("Ann@Example.com"), "{}", waiting.body);
    assert!(scene.user_of(ANN).is_none(), "nothing is stored before the address is proven");
    let mail = scene.mailbox.next();
    assert_eq!(mail.to, "Ann@Example.com");
    let done = confirm(&browser, &waiting, &mail.code(), PASSWORD);
    assert_eq!(done.status, 303, "{done:?}");
    let tokens = TokenSet::of(&scene.rp.redeem(&done.redirected("code").expect("a code"), &request.verifier));
    let claims = decode_jwt(tokens.id_token.as_deref().unwrap()).1;
    assert_eq!(
        (&claims["email"], &claims["email_verified"], &claims["name"], &claims["amr"]),
        (&json!("Ann@Example.com"), &json!(true), &json!("Ann Smith"), &json!(["otp"]))
    );
    assert!(scene.signs_in(ANN, PASSWORD));
    let made = scene.audited("user.created");
    assert_eq!(
        (&made[0]["actor"], &made[0]["detail"]["registered"]),
        (&json!("user"), &json!(true)),
        "{made:?}"
    );
}

/// The button was pressed twice: the browser has given up the first answer, with its cookies.
#[test]
fn pressed_twice_the_second_form_leads_on_into_the_session_of_the_first() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_form(&browser, &scene.rp.authorization_request());
    let waiting = scene.apply(&browser, &page, ANN);
    let code = scene.mailbox.next().code();
    let given_up = browser.copy();
    assert!(confirm(&given_up, &waiting, &code, PASSWORD).redirected("code").is_some());
    let again = confirm(&browser, &waiting, &code, PASSWORD);
    assert!(again.redirected("code").is_some(), "{again:?}");
    let session = browser.cookie("symbolon_session");
    assert!(session.is_some() && session == given_up.cookie("symbolon_session"), "one session");
    assert_eq!(scene.audited("user.created").len(), 1, "and one account");
    // Once that session has ended, the code begins no other: the account is there, and is signed in to.
    let id = scene.user_of(ANN).expect("an account")["id"].as_str().unwrap().to_owned();
    assert_eq!(scene.server.admin("DELETE", &format!("/users/{id}/sessions"), None).status, 200);
    let ended = confirm(&given_up, &waiting, &code, PASSWORD);
    assert!(ended.status == 409 && ended.body.contains("/login?transaction="), "{ended:?}");
}

/// Whoever causes a mail, and in whatever browser: it is in the language of the person whose account it is.
#[test]
fn the_language_of_the_pages_stays_with_the_person_and_mail_comes_in_it() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    browser.set_cookie("symbolon_language", "de");
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let done = confirm(&browser, &waiting, &scene.mailbox.next().code(), PASSWORD);
    assert_eq!(done.status, 303, "{done:?}");
    assert_eq!(scene.user_of(ANN).expect("an account")["locale"], "de");
    let other = scene.server.browser();
    other.set_cookie("symbolon_language", "fr");
    scene.apply(&other, &other.get("/register"), ANN);
    let exists = scene.mailbox.next();
    assert!(exists.to == ANN && exists.text.contains("Sie haben schon eines"), "{exists:?}");
    let (transaction, csrf) = hidden(&other.get("/forgot-password"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", ANN)];
    assert_eq!(other.post("/forgot-password", &form).status, 303);
    let recovery = scene.mailbox.next();
    assert!(recovery.text.contains("ein neues Passwort"), "{recovery:?}");
    // Who has no account gets the language of the page.
    scene.apply(&other, &other.get("/register"), "bea@example.com");
    let registration = scene.mailbox.next();
    assert!(registration.text.contains("Saisissez ce code"), "{registration:?}");
}

#[test]
fn the_link_stands_for_the_code_in_the_browser_that_asked_and_in_no_other() {
    let scene = Scene::new();
    let (browser, other) = (scene.server.browser(), scene.server.browser());
    let request = scene.rp.authorization_request();
    let page = scene.at_form(&browser, &request);
    scene.apply(&browser, &page, ANN);
    let mail = scene.mailbox.next();
    let elsewhere = other.get(&mail.link());
    assert_eq!(elsewhere.status, 200, "{elsewhere:?}");
    assert!(
        elsewhere.field("transaction").is_none() && !elsewhere.body.contains(&mail.code()),
        "{elsewhere:?}"
    );
    let here = browser.get(&mail.link());
    let here = browser.get(&here.location());
    assert!(!here.body.contains("name=\"code\"") && here.body.contains("name=\"password\""), "{}", here.body);
    // In another browser the page is one that has proven nothing.
    let stolen = confirm(&other, &here, "", PASSWORD);
    assert!(stolen.status == 303 && stolen.location().starts_with("/register"), "{stolen:?}");
    assert!(scene.user_of(ANN).is_none());
    let done = confirm(&browser, &here, "", PASSWORD);
    assert!(done.redirected("code").is_some(), "{done:?}");
    let again = browser.get(&mail.link());
    let again = browser.get(&again.location());
    assert_eq!(confirm(&browser, &again, "", PASSWORD).status, 409, "it was used");
}

#[test]
fn a_weak_password_costs_no_try_and_no_password_of_a_megabyte_is_hashed() {
    let scene = Scene::new();
    scene.set(json!({ "sign_in_methods": ["password", "passkey"] }));
    let browser = scene.server.browser();
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let mail = scene.mailbox.next();
    for weak in ["", "short", "password1", "ann@example.com", "AnnSmith1", &"x".repeat(2_000)] {
        for _ in 0..2 {
            assert_eq!(confirm(&browser, &waiting, &mail.code(), weak).status, 400, "{weak}");
        }
    }
    assert_eq!(confirm(&browser, &waiting, &mail.code(), &"x".repeat(1 << 20)).status, 413);
    assert_eq!(confirm(&browser, &waiting, &mail.code(), PASSWORD).status, 303);
    assert!(scene.signs_in(ANN, PASSWORD));
}

#[test]
fn nobody_registers_where_it_is_closed() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let (form, code) = (browser.get("/register"), scene.mailbox.next().code());
    for setting in [json!("closed"), json!("invited"), Value::Null] {
        scene.set(json!({ "registration": setting }));
        assert_eq!(browser.get("/register").status, 403);
        assert_eq!(submit(&browser, &form, &[("email", "bob@example.com")]).status, 403);
        assert_eq!(confirm(&browser, &waiting, &code, PASSWORD).status, 403);
        let login = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
        assert!(!login.body.contains("id=\"register\""), "no link leads there");
    }
    assert_eq!(scene.mailbox.unread(), 0);
    assert!(scene.user_of(ANN).is_none() && scene.user_of("bob@example.com").is_none());
}

#[test]
fn attributes_that_people_must_write_are_asked_for_and_checked() {
    let scene = Scene::new();
    scene.set(json!({ "attributes": [
        { "name": "staff_number", "type": "number", "required": true },
        { "name": "team", "type": "string", "required": true, "pattern": "[a-z]+",
          "writable_by": ["person", "administrator"], "display_name": "Team <b>", "display_name#de": "Abteilung" },
    ] }));
    let browser = scene.server.browser();
    let page = browser.get("/register");
    assert!(page.body.contains("attribute.team") && !page.body.contains("staff_number"), "{}", page.body);
    assert!(page.body.contains("<bdi>Team &#60;b&#62;</bdi>"), "{}", page.body);
    let german = browser.get("/register?ui_locales=de");
    assert!(german.body.contains("<bdi>Abteilung</bdi>"), "{}", german.body);
    for bad in ["", "NO"] {
        let refused = submit(&browser, &page, &[("email", ANN), ("attribute.team", bad)]);
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.body.contains("role=\"alert\"") && refused.body.contains("team"), "{}", refused.body);
    }
    let sent = submit(
        &browser,
        &page,
        &[("email", ANN), ("attribute.team", "red"), ("attribute.staff_number", "7")],
    );
    let waiting = browser.get(&sent.location());
    assert_eq!(confirm(&browser, &waiting, &scene.mailbox.next().code(), PASSWORD).status, 303);
    assert_eq!(scene.user_of(ANN).unwrap()["attributes"], json!({ "team": "red" }));
}

#[test]
fn where_a_second_factor_is_required_the_sign_in_page_comes_next() {
    let scene = Scene::new();
    scene.set(json!({ "second_factor": "required" }));
    let browser = scene.server.browser();
    let page = scene.at_form(&browser, &scene.rp.authorization_request());
    let waiting = scene.apply(&browser, &page, ANN);
    let done = confirm(&browser, &waiting, &scene.mailbox.next().code(), PASSWORD);
    assert!(done.status == 303 && done.location().starts_with("/login?transaction="), "{done:?}");
    assert!(browser.cookie("symbolon_session").is_none());
}

#[test]
fn a_puzzle_is_asked_for_where_the_issuer_wants_one() {
    let scene = Scene::new();
    scene.set(json!({ "registration_puzzle": 8 }));
    assert_eq!(
        scene.server.admin("PATCH", "/settings", Some(json!({ "registration_puzzle": 23 }))).status,
        400
    );
    let browser = scene.server.browser();
    let page = browser.get("/register");
    assert!(page.body.contains("data-puzzle=\"8\""), "{}", page.body);
    assert_eq!(submit(&browser, &page, &[("email", ANN)]).status, 403);
    assert_eq!(submit(&browser, &page, &[("email", ANN), ("puzzle", "x")]).status, 403);
    let id = page.body.split_once("data-page=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    let solution = (0_u32..)
        .map(|number| number.to_string())
        .find(|number| symbolon_protocol::sign_in::puzzle::is_solved(8, (&id, ANN), number))
        .unwrap();
    let sent = submit(&browser, &page, &[("email", ANN), ("puzzle", &solution)]);
    assert_eq!(sent.status, 303, "{sent:?}");
    scene.mailbox.next();
}
