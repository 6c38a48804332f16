//! What registration must withstand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{ANN, PASSWORD, Scene, confirm, other_than, submit};
use crate::login::hidden;

/// What an answer tells: status, headers without what is drawn anew, and the page without what is sealed.
fn told(answer: &symbolon_testkit::Answer, email: &str) -> String {
    let hide = |text: &str| {
        let text = text.replace(email, "ADDRESS");
        let mut parts = text.split("transaction");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| {
            let rest = part.trim_start_matches(|c: char| !c.is_whitespace() && c != '>');
            let length = part.len() - rest.len();
            format!("{all}transaction({length}){rest}")
        })
    };
    let drawn = ["date", "set-cookie", "x-request-id"];
    let headers: Vec<String> = answer
        .headers
        .iter()
        .filter(|(name, _)| !drawn.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", hide(value)))
        .collect();
    let csrf = answer.field("csrf_token").unwrap_or_default();
    let page = answer.body.replace(&csrf, "CSRF");
    let page = match answer.field("transaction") {
        Some(sealed) => page.replace(&sealed, &format!("SEALED({})", sealed.len())),
        None => page,
    };
    format!("{}\n{}\n{}", answer.status, headers.join("\n"), page.replace(email, "ADDRESS"))
}

#[test]
fn a_known_and_an_unknown_address_look_alike_and_each_gets_one_mail() {
    let scene = Scene::new();
    scene.user(json!({ "email": ANN, "email_verified": true, "password": PASSWORD }));
    let mut seen = Vec::new();
    for email in [ANN, "bob@example.com"] {
        let browser = scene.server.browser();
        let page = browser.get("/register");
        let sent = submit(&browser, &page, &[("email", email)]);
        let waiting = browser.get(&sent.location());
        let mail = scene.mailbox.next();
        assert_eq!(mail.to, email);
        let wrong = confirm(&browser, &waiting, "000000", PASSWORD);
        assert_eq!(wrong.status, 403);
        seen.push([told(&sent, email), told(&waiting, email), told(&wrong, email)]);
        if email == ANN {
            assert!(
                mail.text.contains("/forgot-password") && !mail.text.contains("/register/"),
                "{}",
                mail.text
            );
        } else {
            assert!(mail.text.contains("/register/link?link="), "{}", mail.text);
        }
    }
    // Lengths of the two addresses differ, so lengths of what is sealed may differ by as much.
    let bare = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    for (known, unknown) in seen[0].iter().zip(&seen[1]) {
        assert_eq!(bare(known), bare(unknown));
    }
    scene.server.settle();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(scene.mailbox.unread(), 0, "one mail each");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures how long answers take")]
fn the_answer_does_not_wait_for_the_look_up() {
    let scene = Scene::new();
    scene.user(json!({ "email": ANN, "email_verified": true }));
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..60 {
        for (known, list) in times.iter_mut().enumerate() {
            let browser = scene.server.browser();
            let page = browser.get("/register");
            let email = if known == 1 { ANN.to_owned() } else { format!("nobody{round:02}@example.com") };
            let begun = Instant::now();
            assert_eq!(submit(&browser, &page, &[("email", &email)]).status, 303);
            list.push(begun.elapsed());
        }
    }
    for list in &mut times {
        list.sort();
    }
    let [unknown, known] = [times[0][30], times[1][30]];
    let (less, more) = (unknown.min(known), unknown.max(known));
    assert!(more < 2 * less + Duration::from_millis(5), "medians {unknown:?} and {known:?}");
}

#[test]
fn ten_thousand_guesses_have_five_tries() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let code = scene.mailbox.next().code();
    let wrong = other_than(&code);
    let (transaction, csrf) = hidden(&waiting);
    let cookie = browser.cookie("symbolon_login").expect("the browser's own cookie");
    // A store that is busy looks at none (503).
    let refused = AtomicUsize::new(0);
    let (server, form) = (&scene.server, |code| {
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", code), ("password", PASSWORD)]
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let guesser = server.browser();
                guesser.set_cookie("symbolon_login", &cookie);
                for _ in 0..2_500 {
                    let answer = guesser.post("/register/confirm", &form(&wrong));
                    assert!(matches!(answer.status, 403 | 503), "{answer:?}");
                    refused.fetch_add(usize::from(answer.status == 403), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(refused.into_inner() > 9_000);
    assert_eq!(
        scene.audited("session.sign_in_failed").len(),
        5,
        "only five were compared, however many come"
    );
    assert_eq!(confirm(&browser, &waiting, &code, PASSWORD).status, 403, "nor is the right one");
    assert!(scene.user_of(ANN).is_none());
}

#[test]
fn another_browser_a_changed_seal_and_a_forged_form_register_nobody() {
    let scene = Scene::new();
    let (browser, other) = (scene.server.browser(), scene.server.browser());
    let form = browser.get("/register");
    let waiting = scene.apply(&browser, &form, ANN);
    let mail = scene.mailbox.next();
    let code = mail.code();
    let stolen = confirm(&other, &waiting, &code, PASSWORD);
    assert!(stolen.status == 303 && stolen.location().starts_with("/register"), "{stolen:?}");
    let (transaction, csrf) = hidden(&waiting);
    let send = |transaction: &str, csrf: &str, headers: &[(&str, &str)]| {
        let form =
            [("transaction", transaction), ("csrf_token", csrf), ("code", &code), ("password", PASSWORD)];
        browser.post_with("/register/confirm", &form, headers).status
    };
    let last = if transaction.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{last}", &transaction[..transaction.len() - 1]);
    assert_eq!(send(&changed, &csrf, &[]), 400);
    assert_eq!(send(&transaction, "forged", &[]), 403);
    assert_eq!(send(&transaction, &hidden(&form).1, &[]), 403, "the token of another form");
    assert_eq!(send(&transaction, &csrf, &[("origin", "https://evil.example")]), 403);
    assert_eq!(send(&transaction, &csrf, &[("sec-fetch-site", "cross-site")]), 403);
    // The sealed form of one purpose is none of another, and a link's is none of a page.
    let sealed = mail.link().split_once("link=").unwrap().1.to_owned();
    assert_eq!(send(&sealed, &csrf, &[]), 400);
    assert_eq!(other.get(&format!("/register/link?link={transaction}")).status, 410);
    assert_eq!(browser.get(&format!("/verify-email?transaction={transaction}")).status, 400);
    assert_eq!(browser.get(&format!("/login?transaction={transaction}")).status, 400);
    assert!(scene.user_of(ANN).is_none());
    assert_eq!(send(&transaction, &csrf, &[]), 303);
    assert!(scene.user_of(ANN).is_some());
}

#[test]
fn names_and_addresses_put_nothing_into_headers_and_lead_nowhere() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = browser.get("/register");
    for bad in [
        "ann@example.com\r\nBcc: all@example.com",
        "ann@example.com,eve@example.com",
        "Ann <ann@example.com>",
        "ann@example.com> RCPT TO:<eve@example.com",
        "ann",
        "",
        "@",
        "ann@exam ple.com",
        &format!("{}@example.com", "a".repeat(250)),
    ] {
        assert_eq!(submit(&browser, &page, &[("email", bad)]).status, 400, "{bad}");
    }
    let hostile = "Ann\r\nBcc: all@example.com";
    assert_eq!(submit(&browser, &page, &[("email", ANN), ("given_name", hostile)]).status, 400);
    let markup = "<script>alert(1)</script>";
    let sent = submit(
        &browser,
        &page,
        &[("email", ANN), ("given_name", markup), ("redirect", "https://evil.example")],
    );
    let waiting = browser.get(&sent.location());
    let mail = scene.mailbox.next();
    assert!(!mail.text.contains("alert") && !mail.head.contains("Bcc"), "{mail:?}");
    let done = confirm(&browser, &waiting, &mail.code(), PASSWORD);
    assert_eq!((done.status, done.location().as_str()), (303, "/account"), "it leads to a page of ours");
    for target in ["https://evil.example/", "//evil.example"] {
        let page = browser.get(&format!("/register?transaction={target}"));
        assert!(page.status == 400 && page.header("location").is_none(), "{page:?}");
    }
    assert_eq!(scene.mailbox.unread(), 0);
}

#[test]
fn every_spelling_of_an_address_is_one_account() {
    let scene = Scene::new();
    scene.registered("ann@m\u{fc}ller.example");
    for spelling in
        ["ANN@M\u{dc}LLER.Example", "ann@mu\u{308}ller.example", "\u{ff41}nn\u{40}m\u{fc}ller.example"]
    {
        let browser = scene.server.browser();
        scene.apply(&browser, &browser.get("/register"), spelling);
        let mail = scene.mailbox.next();
        assert!(mail.text.contains("/forgot-password"), "{spelling}: {}", mail.text);
        assert_eq!(mail.to, "ann@xn--mller-kva.example", "as it is written in the account");
    }
    // A Cyrillic letter looks the same and is another address, which gets its own mail.
    let browser = scene.server.browser();
    scene.apply(&browser, &browser.get("/register"), "ann@m\u{fc}ll\u{435}r.example");
    assert!(scene.mailbox.next().text.contains("/register/link"));
}

#[test]
fn of_two_who_prove_one_address_one_has_the_account() {
    let scene = Scene::new();
    let browsers = [scene.server.browser(), scene.server.browser()];
    let waiting: Vec<_> = browsers
        .iter()
        .map(|browser| {
            let page = scene.apply(browser, &browser.get("/register"), ANN);
            (page, scene.mailbox.next().code())
        })
        .collect();
    let first = confirm(&browsers[0], &waiting[0].0, &waiting[0].1, PASSWORD);
    let second = confirm(&browsers[1], &waiting[1].0, &waiting[1].1, "another long password");
    assert_eq!((first.status, second.status), (303, 409));
    assert!(scene.signs_in(ANN, PASSWORD) && !scene.signs_in(ANN, "another long password"));
}

#[test]
fn an_unproven_claim_goes_to_who_proves_the_address_without_the_account() {
    let scene = Scene::new();
    let claimant = scene.user(json!({ "email": ANN, "password": PASSWORD, "name": "Somebody" }));
    assert!(scene.signs_in(ANN, PASSWORD));
    let browser = scene.server.browser();
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let code = scene.mailbox.next().code();
    assert_eq!(scene.record(&claimant)["email"], ANN, "nothing was proven yet");
    let own = "quite another password";
    assert_eq!(confirm(&browser, &waiting, &code, own).status, 303);
    let owner = scene.user_of(ANN).unwrap();
    assert_ne!(owner["id"], json!(claimant));
    assert_eq!((&owner["email_verified"], &owner["name"]), (&json!(true), &json!("Ann Smith")));
    assert!(!scene.signs_in(ANN, PASSWORD) && scene.signs_in(ANN, own));
    let left = scene.record(&claimant);
    assert_eq!((&left["email"], &left["preferred_username"]), (&json!(null), &json!(claimant)), "{left}");
    assert!(scene.signs_in(&claimant, PASSWORD), "the other account is still its owner's");
    assert_eq!(scene.audited("email.claim_lost").len(), 1);
}

#[test]
fn an_address_that_was_given_up_is_registered_anew_as_another_account() {
    let scene = Scene::new();
    let (browser, _) = scene.registered(ANN);
    let first = scene.user_of(ANN).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(scene.server.admin("DELETE", &format!("/users/{first}"), None).status, 204);
    let session = browser.cookie("symbolon_session").unwrap();
    let (_, _) = scene.registered(ANN);
    assert_ne!(scene.user_of(ANN).unwrap()["id"], json!(first));
    let old = scene.server.browser();
    old.set_cookie("symbolon_session", &session);
    let silent = old.get(&scene.rp.authorization_request().with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"));
}

#[test]
fn mails_are_limited_per_address_and_per_sender() {
    let scene = Scene::with(|options| {
        options.env("SYMBOLON_RATE_LIMITS", "on").env("SYMBOLON_RATE_LIMIT_MAIL_ADDRESS", "6/15m").one_node()
    });
    let browser = scene.server.browser();
    let ask = |email: &str| submit(&browser, &browser.get("/register"), &[("email", email)]);
    for _ in 0..3 {
        assert_eq!(ask(ANN).status, 303);
        scene.mailbox.next();
    }
    let limited = ask("ANN@example.com");
    assert_eq!(limited.status, 429, "{limited:?}");
    assert!(limited.header("retry-after").is_some());
    for number in 0..2 {
        assert_eq!(ask(&format!("b{number}@example.com")).status, 303);
        scene.mailbox.next();
    }
    assert_eq!(ask("c@example.com").status, 429, "the sender has had six");
    assert_eq!(scene.mailbox.unread(), 0);
}

/// Asks for a mail to an address in one of the ways, in a browser of its own; the status of the answer.
type Way = fn(&Scene, &str) -> u16;

const WAYS: [(&str, Way); 5] = [
    ("sign-in code", |scene, email| {
        let browser = scene.server.browser();
        let login = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
        let (transaction, csrf) = hidden(&login);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", email)];
        browser.post("/login/email-code", &form).status
    }),
    ("login API", |scene, email| {
        let headers = [("content-type", "application/json"), ("origin", scene.server.issuer.as_str())];
        let body = json!({ "email": email }).to_string();
        let browser = scene.server.browser();
        browser.send("POST", "/api/auth/email-code/send", &headers, body.as_bytes()).status
    }),
    ("recovery", |scene, email| {
        let browser = scene.server.browser();
        let (transaction, csrf) = hidden(&browser.get("/forgot-password"));
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", email)];
        browser.post("/forgot-password", &form).status
    }),
    ("registration", |scene, email| {
        let browser = scene.server.browser();
        submit(&browser, &browser.get("/register"), &[("email", email)]).status
    }),
    ("e-mail change", |scene, email| {
        let browser = scene.server.browser();
        let login = browser.get(&browser.get("/account").location());
        let (transaction, csrf) = hidden(&login);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", "eve@example.com"),
            ("password", PASSWORD),
        ];
        assert_eq!(browser.post("/login", &form).status, 303);
        let csrf = browser.get("/account/email").field("csrf_token").unwrap();
        browser.post("/account/email", &[("csrf_token", &csrf), ("email", email)]).status
    }),
];

#[test]
fn many_browsers_cannot_flood_one_mailbox_in_any_way() {
    let scene = Scene::with(|options| {
        options
            .env("SYMBOLON_RATE_LIMITS", "on")
            .env("SYMBOLON_RATE_LIMIT_MAIL_ADDRESS", "1000/15m")
            .env("SYMBOLON_RATE_LIMIT_LOGIN_SUCCESS", "1000/1m")
            .one_node()
    });
    scene.set(json!({ "sign_in_methods": ["password", "email_code"] }));
    scene.user(json!({ "email": "eve@example.com", "password": PASSWORD }));
    for (number, (name, ask)) in WAYS.into_iter().enumerate() {
        let email = format!("ann{number}@example.com");
        let body = json!({ "email": email, "email_verified": true, "password": PASSWORD });
        scene.user(body);
        for _ in 0..3 {
            assert!(ask(&scene, &email) < 400, "{name}");
            assert_eq!(scene.mailbox.next().to, email, "{name}");
        }
        for (other, ask) in WAYS {
            assert_eq!(ask(&scene, &email), 429, "{other} after {name}");
        }
    }
    assert_eq!(scene.mailbox.unread(), 0);
}

#[test]
fn codes_on_the_pages_count_for_who_asks_and_right_ones_hardly() {
    let scene = Scene::with(|options| {
        options.env("SYMBOLON_RATE_LIMITS", "on").env("SYMBOLON_RATE_LIMIT_MAIL_ADDRESS", "3/15m").one_node()
    });
    scene.set(json!({ "sign_in_methods": ["password", "email_code"] }));
    let person = |number: u32| {
        let email = format!("ann{number}@example.com");
        scene.user(json!({ "email": email, "email_verified": true }));
        email
    };
    for number in 0..6 {
        let (browser, email) = (scene.server.browser(), person(number));
        let login = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
        let (transaction, csrf) = hidden(&login);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", &*email)];
        let page = browser.get(&browser.post("/login/email-code", &form).location());
        let (transaction, csrf) = hidden(&page);
        let code = scene.mailbox.next().code();
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code)];
        assert_eq!(browser.post("/login/email-code", &form).status, 303, "{number}");
    }
    let (_, ask) = WAYS[0];
    let refused = (10..20).filter(|number| ask(&scene, &person(*number)) == 429).count();
    assert!((8..10).contains(&refused), "of codes that nobody types, {refused} of 10 were refused");
}

#[test]
fn who_has_proven_nothing_leaves_nothing_in_the_store() {
    let scene = Scene::new();
    let counted = || scene.server.counted("symbolon_store_room_bytes{kind=\"assertion\"}");
    let before = counted();
    for number in 0..5 {
        let browser = scene.server.browser();
        scene.apply(&browser, &browser.get("/register"), &format!("nobody{number}@example.com"));
        scene.mailbox.next();
    }
    assert_eq!(counted(), before, "no mark, before a code is typed");
    let users = scene.server.admin("GET", "/users", None).json();
    assert_eq!(users["pagination"]["total"], json!(0), "{users}");
}
