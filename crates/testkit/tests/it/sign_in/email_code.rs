//! Codes by e-mail on the pages.

use std::time::Duration;

use serde_json::json;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::user::User;
use symbolon_testkit::{Answer, Browser, Options};

use super::{OTHER, id_token, is_in, set};
use crate::login::{Scene, hidden};
use crate::mail::{Peer, wait_for};
use crate::second_factor::enrolled;

const PATH: &str = "/login/email-code";

fn scene() -> (Scene, Peer) {
    let peer = Peer::start(&[]);
    (Scene::with(peer.options().one_node()), peer)
}

fn with(browser: &Browser, page: &Answer, more: (&str, &str)) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post(PATH, &[("transaction", &*transaction), ("csrf_token", &*csrf), more])
}

/// Asks for a code; the page that takes it.
fn ask(scene: &Scene, browser: &Browser, name: &str) -> Answer {
    let page = scene.at_login(browser, &scene.rp.authorization_request());
    let sent = with(browser, &page, ("username", name));
    assert!(sent.status == 303 && sent.location().starts_with("/login/email-code?"), "{sent:?}");
    let page = browser.get(&sent.location());
    assert_eq!(page.status, 200, "{page:?}");
    page
}

/// The code of the latest mail, of which there are this many.
fn code(peer: &Peer, mails: usize) -> String {
    wait_for("a mail", || peer.texts().len() >= mails);
    let texts = peer.texts();
    assert_eq!(texts.len(), mails);
    let is_code = |word: &&str| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_digit());
    let text = texts.last().unwrap().split_once("\n\n").expect("a body").1.to_owned();
    text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_code).expect("a code").to_owned()
}

fn other_than(code: &str) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + 1) % 1_000_000)
}

fn change_other(scene: &Scene, change: impl FnOnce(User) -> User) {
    scene.server.block_on(async {
        let (issuer, store) = (IssuerId::default_issuer(), &scene.server.app.store);
        let user = store.user(&issuer, &UserId::trusted("other")).await.unwrap().unwrap();
        let before = user.updated_at;
        assert!(store.update_user(&issuer, change(User::clone(&user)), before).await.unwrap());
    });
}

#[test]
fn a_code_signs_in_once_in_the_browser_that_asked() {
    let (scene, peer) = scene();
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let login = scene.at_login(&browser, &request);
    let page = browser.get(&with(&browser, &login, ("username", "OTHER@example.com")).location());
    for part in ["inputmode=\"numeric\"", "autocomplete=\"one-time-code\"", "OTHER@example.com"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    let code = code(&peer, 1);
    let thief = scene.server.browser();
    let theirs = ask(&scene, &thief, "nobody@example.com");
    assert_eq!(with(&thief, &theirs, ("code", &code)).status, 403, "another browser");
    assert_eq!(with(&browser, &page, ("code", &other_than(&code))).status, 403);
    let answer = with(&browser, &page, ("code", &code));
    assert!(is_in(&answer), "{answer:?}");
    assert!(browser.cookie("symbolon_email_code").is_none_or(|cookie| cookie.is_empty()));
    assert!(is_in(&with(&browser, &page, ("code", &code))), "sent twice, it leads on");
    let claims = id_token(&scene, &browser, &request, &answer);
    assert_eq!((&claims["amr"], &claims["acr"]), (&json!(["otp"]), &json!("urn:symbolon:acr:1")));
}

/// The same page, status and headers, and mail only to an address that was proven.
#[test]
fn nobody_learns_who_has_an_account() {
    let (scene, peer) = scene();
    let shape = |name: &str| {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let sent = with(&browser, &page, ("username", name));
        let is_cookie = |(name, _): &&(String, String)| name == "set-cookie";
        let cookies: Vec<_> = sent.headers.iter().filter(is_cookie).map(|(_, value)| value.len()).collect();
        let page = browser.get(&sent.location());
        (sent.status, cookies, page.status, page.body.len())
    };
    let known = shape(OTHER);
    let is_alike = |name: &str| {
        let other = shape(name);
        // The number of a shard, of one or two digits, is sealed into the address.
        (&known.0, &known.1, &known.2) == (&other.0, &other.1, &other.2) && known.3.abs_diff(other.3) <= 16
    };
    assert!(is_alike("nobod@example.com"), "as many letters, and nobody has it");
    code(&peer, 1);
    change_other(&scene, |user| User { email_verified: false, ..user });
    assert!(is_alike(OTHER), "an address that was not proven");
    scene.server.settle();
    change_other(&scene, |user| User { active: false, email_verified: true, ..user });
    assert!(is_alike(OTHER), "an inactive account");
    scene.server.settle();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(peer.texts().len(), 1, "only the first was sent");
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    for bad in ["", " ", "a\u{1}b", &"x".repeat(400)] {
        assert_eq!(with(&browser, &page, ("username", bad)).status, 400, "{bad:?}");
    }
}

#[test]
fn after_five_tries_or_ten_minutes_it_begins_anew() {
    let (scene, peer) = scene();
    let browser = scene.server.browser();
    let page = ask(&scene, &browser, OTHER);
    let first = code(&peer, 1);
    for left in (0..5).rev() {
        let wrong = with(&browser, &page, ("code", &other_than(&first)));
        assert_eq!(wrong.status, 403);
        assert_eq!(wrong.body.contains("id=\"code\""), left > 0, "{left}: {}", wrong.body);
    }
    let spent = with(&browser, &page, ("code", &first));
    assert!(spent.status == 403 && spent.body.contains("id=\"again\""), "{spent:?}");
    let soon = with(&browser, &spent, ("send", "true"));
    assert_eq!((soon.status, soon.header("retry-after")), (429, Some("60")), "{soon:?}");
    scene.server.clock.advance(Duration::from_secs(61));
    let again = browser.get(&with(&browser, &spent, ("send", "true")).location());
    let second = code(&peer, 2);
    scene.server.clock.advance(Duration::from_secs(599));
    assert!(is_in(&with(&browser, &again, ("code", &second))), "within ten minutes");
    let late = scene.server.browser();
    let page = ask(&scene, &late, OTHER);
    let third = code(&peer, 3);
    scene.server.clock.advance(Duration::from_secs(601));
    let refused = with(&late, &page, ("code", &third));
    assert!(refused.status == 403 && late.cookie("symbolon_session").is_none(), "{refused:?}");
}

#[test]
fn a_changed_address_and_an_unproven_one_sign_nobody_in() {
    let (scene, peer) = scene();
    for (mails, change) in [
        (1, (|user| User { email: Some("new@example.com".into()), ..user }) as fn(User) -> User),
        (2, |user| User { active: false, ..user }),
    ] {
        let browser = scene.server.browser();
        let name = if mails == 1 { OTHER } else { "new@example.com" };
        let page = ask(&scene, &browser, name);
        let code = code(&peer, mails);
        change_other(&scene, change);
        let refused = with(&browser, &page, ("code", &code));
        assert!(refused.status == 403 && browser.cookie("symbolon_session").is_none(), "{refused:?}");
    }
}

#[test]
fn a_second_factor_is_asked_for_after_the_code() {
    let (scene, peer) = scene();
    let phone = enrolled(&scene);
    let browser = scene.server.browser();
    // The first mail told of the new generator.
    let page = ask(&scene, &browser, OTHER);
    let answer = with(&browser, &page, ("code", &code(&peer, 2)));
    assert!(answer.location().starts_with("/login/second-factor?"), "{answer:?}");
    assert!(browser.cookie("symbolon_session").is_none());
    let page = browser.get(&answer.location());
    assert!(is_in(&crate::second_factor::confirm(&browser, &page, &phone.code(&scene))));
}

#[test]
fn codes_and_tries_are_limited_by_name() {
    let peer = Peer::start(&[]);
    let options: Options = peer.options().one_node().env("SYMBOLON_RATE_LIMITS", "on");
    let scene = Scene::with(options);
    for name in [OTHER, "nobody@example.com"] {
        let mut refused = None;
        for _ in 0..30 {
            let browser = scene.server.browser();
            let page = scene.at_login(&browser, &scene.rp.authorization_request());
            let answer = with(&browser, &page, ("username", name));
            if answer.status != 303 {
                refused = Some(answer);
                break;
            }
        }
        let refused = refused.expect("a limit");
        assert_eq!(refused.status, 429, "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
}

#[test]
fn another_way_and_cancel_lead_on() {
    let (scene, _peer) = scene();
    let browser = scene.server.browser();
    let page = ask(&scene, &browser, "nobody@example.com");
    let at = page.body.find("id=\"other-way\" href=\"").expect("a link") + "id=\"other-way\" href=\"".len();
    let link = page.body[at..].split_once('"').unwrap().0.replace("&amp;", "&").replace("&#38;", "&");
    let login = browser.get(&link);
    assert!(login.status == 200 && login.body.contains("id=\"password\""), "{login:?}");
    let cancelled = with(&browser, &page, ("cancel", "true"));
    assert_eq!(cancelled.redirected("error").as_deref(), Some("access_denied"));
    set(&scene, json!({ "sign_in_methods": ["password"] }));
    assert_eq!(with(&browser, &page, ("send", "true")).status, 403);
}
