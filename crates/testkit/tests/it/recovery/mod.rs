//! A forgotten password, over HTTP.

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Answer, Browser, TokenSet};

use crate::login::hidden;
use crate::mailbox::Mail;
use crate::registration::{ANN, PASSWORD, Scene, link};

const NEW: &str = "quite another password";

/// Asks for a link by a name.
fn ask(browser: &Browser, name: &str) -> Answer {
    let page = browser.get("/forgot-password");
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", name)];
    browser.post("/forgot-password", &form)
}

/// A mail with a link for Ann.
pub(crate) fn asked(scene: &Scene) -> Mail {
    let sent = ask(&scene.server.browser(), ANN);
    assert_eq!((sent.status, sent.location().as_str()), (303, "/forgot-password?sent=1"), "{sent:?}");
    scene.mailbox.next()
}

pub(crate) fn choose(browser: &Browser, page: &Answer, password: &str, code: &str) -> Answer {
    let (sealed, csrf) = (page.field("link").expect("a link"), page.field("csrf_token").unwrap());
    let form = [("link", &*sealed), ("csrf_token", &*csrf), ("password", password), ("code", code)];
    browser.post("/reset-password", &form)
}

fn with_ann() -> (Scene, String) {
    let scene = Scene::new();
    let ann = scene.user(json!({
        "email": ANN, "email_verified": true, "password": PASSWORD, "preferred_username": "ann"
    }));
    (scene, ann)
}

#[test]
fn a_link_sets_a_new_password_in_any_browser_once_and_ends_what_was_signed_in() {
    let (scene, ann) = with_ann();
    let rp = symbolon_testkit::RelyingParty::register(
        &scene.server,
        json!({ "skip_consent": true, "grant_types": ["authorization_code", "refresh_token"] }),
    );
    let browser = scene.server.browser();
    let request = rp.authorization_request();
    let page = browser.get(&browser.get(&request.path()).location());
    let (transaction, csrf) = hidden(&page);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", ANN), ("password", PASSWORD)];
    let code = browser.post("/login", &form).redirected("code").expect("a code");
    let tokens = TokenSet::of(&rp.redeem(&code, &request.verifier));
    scene.server.clock.advance(Duration::from_secs(1));
    let mail = asked(&scene);
    assert_eq!(mail.to, ANN);
    let other = scene.server.browser();
    let page = other.get(&mail.link());
    assert!(page.status == 200 && page.body.contains(ANN), "it shows whose it is: {page:?}");
    let done = choose(&other, &page, NEW, "");
    assert_eq!(done.status, 200, "{done:?}");
    assert!(!scene.signs_in(ANN, PASSWORD) && scene.signs_in(ANN, NEW));
    let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"), "the session is over");
    let refreshed = rp.refresh(tokens.refresh_token.as_deref().expect("a refresh token"));
    assert_eq!((refreshed.status, refreshed.error().as_str()), (400, "invalid_grant"));
    let told = scene.mailbox.next();
    assert!(told.to == ANN && !told.text.contains("link="), "{told:?}");
    assert_eq!(other.get(&mail.link()).status, 410, "used");
    assert_eq!(choose(&other, &page, "a third long password", "").status, 410);
    assert_eq!(
        choose(&other, &page, NEW, "").status,
        200,
        "pressed twice, it says once more that it is done"
    );
    assert_eq!(choose(&scene.server.browser(), &page, NEW, "").status, 410, "a form of another browser");
    assert!(scene.signs_in(ANN, NEW));
    assert_eq!(scene.record(&ann)["email_verified"], json!(true), "the mailbox is proven");
    let log = scene.audited("password.reset");
    assert_eq!((log.len(), &log[0]["detail"]["sessions"]), (1, &json!(1)), "{log:?}");
}

#[test]
fn the_login_page_leads_there_and_the_link_back_to_the_application() {
    let (scene, _) = with_ann();
    let (browser, other) = (scene.server.browser(), scene.server.browser());
    let request = scene.rp.authorization_request();
    let login = browser.get(&browser.get(&request.path()).location());
    let page = browser.get(&link(&login, "forgot"));
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", "ANN")];
    assert_eq!(browser.post("/forgot-password", &form).status, 303);
    let mail = scene.mailbox.next();
    assert_eq!(mail.to, ANN, "by the user name, too");
    let done = choose(&other, &other.get(&mail.link()), NEW, "");
    let login = other.get(&link(&done, "onward"));
    let (transaction, csrf) = hidden(&login);
    scene.server.clock.advance(Duration::from_secs(1));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", ANN), ("password", NEW)];
    assert!(other.post("/login", &form).redirected("code").is_some());
}

#[test]
fn a_link_ends_with_its_time_and_with_any_other_change() {
    let (scene, ann) = with_ann();
    let browser = scene.server.browser();
    let works = |mail: &Mail| browser.get(&mail.link()).status == 200;
    let old = asked(&scene);
    scene.server.clock.advance(Duration::from_secs(1_800));
    assert!(!works(&old), "half an hour");
    let [first, second] = [asked(&scene), asked(&scene)];
    assert!(works(&first) && works(&second));
    let page = browser.get(&first.link());
    assert_eq!(choose(&browser, &browser.get(&second.link()), NEW, "").status, 200);
    scene.mailbox.next();
    assert!(!works(&first) && choose(&browser, &page, "a third long password", "").status == 410);
    // Of another address each is told to the one before.
    for (change, told) in [(json!({ "email": "ann@example.org" }), 2), (json!({ "active": false }), 0)] {
        let mail = asked(&scene);
        assert!(works(&mail));
        assert_eq!(scene.server.admin("PATCH", &format!("/users/{ann}"), Some(change.clone())).status, 200);
        assert!(!works(&mail), "{change}");
        scene.server.admin(
            "PATCH",
            &format!("/users/{ann}"),
            Some(json!({ "email": ANN, "email_verified": true, "active": true })),
        );
        (0..told).for_each(|_| drop(scene.mailbox.next()));
    }
    let mail = asked(&scene);
    let link = mail.link();
    for tampered in [format!("{}A", link), link.replace("link=", "link=A"), "/reset-password".to_owned()] {
        assert_eq!(browser.get(&tampered).status, 410, "{tampered}");
    }
    assert!(scene.signs_in(ANN, NEW));
}

#[test]
fn everybody_is_told_the_same_and_mail_goes_where_it_belongs() {
    let (scene, _) = with_ann();
    scene.user(json!({ "email": "gone@example.com", "email_verified": true, "active": false }));
    // Nobody has proven it: it may be a stranger's.
    scene.user(json!({ "email": "typo@example.com", "password": PASSWORD }));
    scene.user(json!({ "preferred_username": "nomail", "password": PASSWORD }));
    let told = |name: &str| {
        let browser = scene.server.browser();
        let sent = ask(&browser, name);
        let page = browser.get(&sent.location());
        let drawn = ["date", "set-cookie", "x-request-id"];
        let headers: Vec<_> =
            sent.headers.into_iter().filter(|(name, _)| !drawn.contains(&name.as_str())).collect();
        (sent.status, headers, sent.body, page.status, page.body)
    };
    let known = told(ANN);
    assert!(scene.mailbox.next().text.contains("/reset-password?link="));
    assert_eq!(told("nobody@example.com"), known);
    let mail = scene.mailbox.next();
    assert!(mail.to == "nobody@example.com" && mail.text.contains("/register"), "{mail:?}");
    for nobody in ["gone@example.com", "typo@example.com", "nomail", "nobody"] {
        assert_eq!(told(nobody), known, "{nobody:?}");
    }
    for no_name in ["x\r\nBcc: y@z.example", "\u{0}"] {
        assert_eq!(ask(&scene.server.browser(), no_name).status, 400, "{no_name:?}");
    }
    scene.set(json!({ "registration": "closed" }));
    assert_eq!(told("nobody@example.com"), known);
    // Whatever is to come comes before this one.
    scene.server.settle();
    assert_eq!(asked(&scene).to, ANN);
    assert_eq!(scene.mailbox.unread(), 0);
}

#[test]
fn a_mailbox_alone_does_not_replace_a_second_factor() {
    let (scene, ann) = with_ann();
    let secret = enrol(&scene, &ann);
    let browser = scene.server.browser();
    let mail = asked(&scene);
    let page = browser.get(&mail.link());
    assert!(page.body.contains("name=\"code\""), "{}", page.body);
    for wrong in ["", "000000", "abcdef"] {
        assert_eq!(choose(&browser, &page, NEW, wrong).status, 403, "{wrong}");
    }
    assert!(browser.get(&mail.link()).status == 200, "a wrong code uses no link up");
    let code = || {
        let step = scene.server.now().millis() / 30_000;
        format!("{:06}", symbolon_crypto::one_time_password::hotp(&secret, step, 6))
    };
    // A code that was used for a sign-in is none, and the link still works.
    let other = scene.server.browser();
    let login = at_second_factor(&scene, &other);
    let (transaction, csrf) = hidden(&login);
    let used = code();
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*used)];
    assert_eq!(other.post("/login/second-factor", &form).status, 303);
    assert_eq!(choose(&browser, &page, NEW, &used).status, 403);
    scene.server.clock.advance(Duration::from_secs(30));
    assert_eq!(choose(&browser, &page, NEW, &code()).status, 200);
    assert_eq!(choose(&browser, &page, NEW, &code()).status, 200, "pressed twice");
    assert!(scene.signs_in(ANN, NEW), "on to the second factor");
}

/// The page that follows Ann's password.
fn at_second_factor(scene: &Scene, browser: &Browser) -> Answer {
    let page = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
    let (transaction, csrf) = hidden(&page);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", ANN), ("password", PASSWORD)];
    browser.get(&browser.post("/login", &form).location())
}

/// Enrols a generator for a user, as the sign-in page does; its secret.
pub(crate) fn enrol(scene: &Scene, user: &str) -> symbolon_crypto::secret::SecretBytes {
    use data_encoding::BASE32_NOPAD;
    scene.set(json!({ "second_factor": "required" }));
    let browser = scene.server.browser();
    let page = at_second_factor(scene, &browser);
    let typed =
        page.body.split_once("<code id=\"secret\" dir=\"ltr\">").unwrap().1.split_once('<').unwrap().0;
    let secret = symbolon_crypto::secret::SecretBytes::new(
        BASE32_NOPAD.decode(typed.replace(' ', "").as_bytes()).unwrap(),
    );
    let step = scene.server.now().millis() / 30_000;
    let code = format!("{:06}", symbolon_crypto::one_time_password::hotp(&secret, step, 6));
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code)];
    assert_eq!(browser.post("/login/second-factor", &form).status, 200, "{user}");
    scene.server.clock.advance(Duration::from_secs(60));
    scene.set(json!({ "second_factor": "optional" }));
    // It is told by mail.
    assert!(scene.mailbox.next().text.contains("authenticator app"));
    secret
}

#[test]
fn of_64_who_use_one_link_at_once_one_sets_the_password() {
    let (scene, _) = with_ann();
    let mail = asked(&scene);
    let browsers: Vec<Browser> = (0..64).map(|_| scene.server.browser()).collect();
    let won: Vec<usize> = std::thread::scope(|threads| {
        let racers: Vec<_> = browsers
            .iter()
            .enumerate()
            .map(|(number, browser)| {
                let path = mail.link();
                threads.spawn(move || {
                    let page = browser.get(&path);
                    if page.status != 200 {
                        return None;
                    }
                    let done = choose(browser, &page, &format!("a long password {number}"), "");
                    assert!([200, 410, 503].contains(&done.status), "{done:?}");
                    (done.status == 200).then_some(number)
                })
            })
            .collect();
        racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(won.len(), 1, "{won:?}");
    assert!(scene.signs_in(ANN, &format!("a long password {}", won[0])));
}

#[test]
fn weak_passwords_and_forged_forms_are_refused() {
    let (scene, _) = with_ann();
    let mail = asked(&scene);
    let browser = scene.server.browser();
    let page = browser.get(&mail.link());
    for weak in ["", "short", "password", "Ann2026!", ANN] {
        assert_eq!(choose(&browser, &page, weak, "").status, 400, "{weak}");
    }
    assert_eq!(choose(&browser, &page, &"x".repeat(1 << 20), "").status, 413);
    let sealed = page.field("link").unwrap();
    let form = [("link", &*sealed), ("csrf_token", "forged"), ("password", NEW)];
    assert_eq!(browser.post("/reset-password", &form).status, 403);
    let csrf = page.field("csrf_token").unwrap();
    let form = [("link", &*sealed), ("csrf_token", &*csrf), ("password", NEW)];
    let cross = browser.post_with("/reset-password", &form, &[("sec-fetch-site", "cross-site")]);
    assert_eq!(cross.status, 403);
    let elsewhere = scene.server.browser().post("/reset-password", &form);
    assert_eq!(elsewhere.status, 403, "the token is another browser's");
    assert!(scene.signs_in(ANN, PASSWORD));
}

#[test]
fn mails_are_limited_per_name_per_address_and_per_account() {
    let scene = Scene::with(|options| options.env("SYMBOLON_RATE_LIMITS", "on").one_node());
    scene.user(json!({
        "email": ANN, "email_verified": true, "preferred_username": "ann", "password": PASSWORD
    }));
    let browser = scene.server.browser();
    for _ in 0..3 {
        assert_eq!(ask(&browser, ANN).status, 303);
        scene.mailbox.next();
    }
    assert_eq!(ask(&browser, "Ann@Example.com").status, 429);
    // By another name it seems to work, and no mail goes to the address that has had enough.
    assert_eq!(ask(&browser, "ann").status, 303);
    scene.server.settle();
    assert_eq!(ask(&browser, "bob@example.com").status, 303);
    assert_eq!(scene.mailbox.next().to, "bob@example.com");
    assert_eq!(scene.mailbox.unread(), 0);
}
