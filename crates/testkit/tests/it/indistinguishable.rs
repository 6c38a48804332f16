//! Whether somebody has an account shows in no answer to who has proven nothing: neither in its bytes nor in its time.

mod mail_arrival;
mod recovery_links;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use symbolon_crypto::random::{self, SeededRandom};
use symbolon_testkit::{Answer, Browser};

use crate::login::hidden;
use crate::login_api::passkey::add_first_passkey;
use crate::registration::{PASSWORD, Scene};

/// A name that an account has, with everything that an account can have, and one that none has.
const KNOWN: &str = "ann@example.com";
const UNKNOWN: &str = "bob@example.com";
/// A name of an account that has no password, and nothing else to sign in with but its mailbox.
const WITHOUT_PASSWORD: &str = "cal@example.com";
/// Somebody who is signed in.
const SIGNED_IN: &str = "eve@example.com";

const CODE: &str = "/login/email-code";

/// Tries of each name whose times are compared.
const TRIES: usize = 2_000;

/// Tries before them, which warm caches and connections up.
const WARMING: usize = 100;

/// From how many standard deviations on times count as different. By chance one comparison in 16,000 comes so far.
const DIFFERENT: f64 = 4.0;

/// Somebody who asks, with the pages whose forms are sent again and again.
struct Asker<'a> {
    scene: &'a Scene,
    browser: Browser,
    login: Answer,
    registration: Answer,
    recovery: Answer,
    /// A browser in which somebody is signed in, and its page for another address.
    person: Browser,
    address: Answer,
}

/// Asks about a name: the answer, and how long it took.
type Ask = fn(&Asker<'_>, &str) -> (Answer, Duration);

/// What may be asked, and which setting of `registration` it is asked under.
type Question = (&'static str, &'static str, Ask);

/// What is asked. Where registration is closed, only a name that an account has gets mail, so that there is more to hide.
const QUESTIONS: [Question; 11] = [
    ("a wrong password", "closed", |asker, name| {
        let more = [("username", name), ("password", "a wrong password")];
        timed(|| form(&asker.browser, "/login", &asker.login, &more))
    }),
    ("registration", "open", |asker, name| {
        let more = [("email", name), ("given_name", "A"), ("family_name", "B")];
        timed(|| form(&asker.browser, "/register", &asker.registration, &more))
    }),
    ("a wrong code of a registration", "open", |asker, name| {
        let sent = form(&asker.browser, "/register", &asker.registration, &[("email", name)]);
        let page = asker.browser.get(&sent.location());
        let more = [("code", "no code"), ("password", PASSWORD)];
        timed(|| form(&asker.browser, "/register/confirm", &page, &more))
    }),
    ("another address", "closed", |asker, name| timed(|| asker.another_address(name))),
    ("a wrong code of another address", "closed", |asker, name| {
        let page = asker.person.get(&asker.another_address(name).location());
        timed(|| form(&asker.person, "/verify-email", &page, &[("code", "no code")]))
    }),
    ("recovery", "closed", |asker, name| {
        let more = [("username", name)];
        timed(|| form(&asker.browser, "/forgot-password", &asker.recovery, &more))
    }),
    ("a code on the page", "closed", |asker, name| {
        timed(|| form(&asker.browser, CODE, &asker.login, &[("username", name)]))
    }),
    ("a wrong code on the page", "closed", |asker, name| {
        let sent = form(&asker.browser, CODE, &asker.login, &[("username", name)]);
        let page = asker.browser.get(&sent.location());
        timed(|| form(&asker.browser, CODE, &page, &[("code", "no code")]))
    }),
    ("a code by the API", "closed", |asker, name| {
        timed(|| asker.call("email-code/send", &json!({ "email": name })))
    }),
    ("a wrong code by the API", "closed", |asker, name| {
        asker.call("email-code/send", &json!({ "email": name }));
        timed(|| asker.call("email-code/verify", &json!({ "email": name, "code": "no code" })))
    }),
    ("the passkeys of a name by the API", "closed", |asker, name| {
        timed(|| asker.call("passkey/login/options", &json!({ "email": name })))
    }),
];

/// Sends the form of a page.
fn form(browser: &Browser, path: &str, page: &Answer, more: &[(&str, &str)]) -> Answer {
    let (transaction, csrf) = hidden(page);
    let mut fields = vec![("transaction", &*transaction), ("csrf_token", &*csrf)];
    fields.extend_from_slice(more);
    browser.post(path, &fields)
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.set(json!({ "sign_in_methods": ["password", "passkey", "email_code", "magic_link"] }));
    let user = scene.user(json!({
        "email": KNOWN, "email_verified": true, "name": "Ann", "preferred_username": "ann",
    }));
    // Before the password: then a passkey could be added only in a session.
    add_first_passkey(&scene.server, &user, KNOWN);
    let path = format!("/users/{user}/password");
    let set = scene.server.admin("POST", &path, Some(json!({ "password": PASSWORD })));
    assert_eq!(set.status, 200, "{set:?}");
    scene.user(json!({ "email": WITHOUT_PASSWORD, "email_verified": true }));
    scene.user(json!({ "email": SIGNED_IN, "email_verified": true, "password": PASSWORD }));
    scene
}

/// A browser in which somebody is signed in.
fn signed_in(scene: &Scene) -> Browser {
    let browser = scene.server.browser();
    let page = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
    let sent = form(&browser, "/login", &page, &[("username", SIGNED_IN), ("password", PASSWORD)]);
    assert_eq!(sent.status, 303, "{sent:?}");
    browser
}

impl<'a> Asker<'a> {
    fn new(scene: &'a Scene, registration: &str) -> Self {
        // Closed, registration has no page.
        scene.set(json!({ "registration": "open" }));
        let browser = scene.server.browser();
        let login = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
        let (register, recovery) = (browser.get("/register"), browser.get("/forgot-password"));
        scene.set(json!({ "registration": registration }));
        let person = signed_in(scene);
        let address = person.get("/account/email");
        Self { scene, browser, login, registration: register, recovery, person, address }
    }

    /// Asks for a mail to an address that is to be the person's own.
    fn another_address(&self, name: &str) -> Answer {
        let csrf = self.address.field("csrf_token").expect("a form");
        self.person.post("/account/email", &[("csrf_token", &csrf), ("email", name)])
    }

    /// Where an answer leads, in the browser that it was for.
    fn follow(&self, to: &str) -> Answer {
        let browser = if to.starts_with("/verify-email") { &self.person } else { &self.browser };
        browser.get(to)
    }

    fn call(&self, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("origin", self.scene.server.issuer.as_str())];
        let path = format!("/api/auth/{path}");
        self.browser.send("POST", &path, &headers, body.to_string().as_bytes())
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures how long answers take")]
fn timed(ask: impl FnOnce() -> Answer) -> (Answer, Duration) {
    let begun = Instant::now();
    let answer = ask();
    (answer, begun.elapsed())
}

/// What an answer tells: status, headers and body. What is sealed or drawn counts by its length.
fn seen(answer: &Answer, name: &str) -> String {
    let is_told = |(header, _): &&(String, String)| !["date", "x-request-id"].contains(&header.as_str());
    let headers = answer.headers.iter().filter(is_told).map(|(name, value)| format!("{name}: {value}\n"));
    let whole = format!("{}\n{}\n{}", answer.status, headers.collect::<String>(), answer.body);
    let whole = whole.replace(name, "NAME").replace(&name.replace('@', "%40"), "NAME");
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut rest = whole.as_str();
    let mut seen = String::new();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let length = word.max(first.len_utf8());
        match word {
            // Longer than any word of the pages.
            40.. => seen.push_str(&format!("<{word}>")),
            _ => seen.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    seen
}

#[test]
fn answers_are_the_same_byte_for_byte() {
    let scene = scene();
    for (question, registration, ask) in QUESTIONS {
        let asker = Asker::new(&scene, registration);
        let told = |name: &str| -> BTreeSet<String> {
            let each = |_| {
                let answer = ask(&asker, name).0;
                assert!(answer.status < 500 && answer.status != 429, "{question}: {answer:?}");
                let next = answer.header("location").map(|to| seen(&asker.follow(to), name));
                format!("{}\n{}", seen(&answer, name), next.unwrap_or_default())
            };
            (0..4).map(each).collect()
        };
        let unknown = told(UNKNOWN);
        for known in [KNOWN, WITHOUT_PASSWORD] {
            assert_eq!(told(known), unknown, "{question}, of {known}");
        }
    }
}

/// The names in an order that nobody could foresee, so that what an earlier answer left to do is in the way of both alike.
fn shuffled(tries: usize, random: &SeededRandom) -> Vec<bool> {
    let mut order: Vec<bool> = (0..2 * tries).map(|number| number % 2 == 0).collect();
    for place in (1..order.len()).rev() {
        let drawn = u32::from_be_bytes(random::bytes::<4>(random)) as usize;
        order.swap(place, drawn % (place + 1));
    }
    order
}

/// The rank test of Mann and Whitney: how many standard deviations U lies from where it would be, were both samples of one
/// distribution. Positive if the first is slower.
fn rank_test(first: &[Duration], second: &[Duration]) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).expect("few"));
    let mut all: Vec<(Duration, bool)> = first.iter().map(|time| (*time, true)).collect();
    all.extend(second.iter().map(|time| (*time, false)));
    all.sort_unstable();
    let (mut sum, mut at) = (0.0, 0);
    while let Some((time, _)) = all.get(at) {
        // Those that are equal share the mean of their ranks.
        let same = all[at..].iter().take_while(|(other, _)| other == time).count();
        let of_first = all[at..at + same].iter().filter(|(_, is_first)| *is_first).count();
        sum += number(of_first) * (number(at) + (number(same) + 1.0) / 2.0);
        at += same;
    }
    let (m, n) = (number(first.len()), number(second.len()));
    let u = sum - m * (m + 1.0) / 2.0;
    (u - m * n / 2.0) / (m * n * (m + n + 1.0) / 12.0).sqrt()
}

#[test]
fn the_rank_test_tells_a_small_shift_from_none() {
    let random = SeededRandom::new(5);
    let draw = |shift: u64| -> Vec<Duration> {
        let drawn = || u64::from(u16::from_be_bytes(random::bytes::<2>(&random)));
        (0..TRIES).map(|_| Duration::from_nanos(drawn() + drawn() + shift)).collect()
    };
    assert!(rank_test(&draw(0), &draw(0)).abs() < DIFFERENT);
    // Two fifths of a standard deviation.
    assert!(
        rank_test(&draw(10_000), &draw(0)) > DIFFERENT && rank_test(&draw(0), &draw(10_000)) < -DIFFERENT
    );
    let equal = [Duration::from_secs(1); 9];
    assert!(rank_test(&equal, &equal).abs() < 1e-9, "ties");
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Run by hand, on a machine that does nothing else: `docs/topics/sign-in.md` has the figures.
#[test]
#[ignore = "a measurement of some minutes"]
fn answers_take_the_same_time() {
    let (scene, random) = (scene(), SeededRandom::new(7));
    let mut different = Vec::new();
    // Without a password there is no hash to compare with one.
    let without = (QUESTIONS[0], WITHOUT_PASSWORD);
    let all = QUESTIONS.into_iter().map(|question| (question, KNOWN)).chain([without]);
    for ((question, registration, ask), known) in all {
        let asker = Asker::new(&scene, registration);
        let mut times = [Vec::new(), Vec::new()];
        for (number, is_known) in shuffled(WARMING + TRIES, &random).into_iter().enumerate() {
            let (answer, took) = ask(&asker, if is_known { known } else { UNKNOWN });
            assert!(answer.status < 500 && answer.status != 429, "{question}: {answer:?}");
            if number >= 2 * WARMING {
                times[usize::from(is_known)].push(took);
            }
        }
        let [of_unknown, of_known] = &times;
        let z = rank_test(of_known, of_unknown);
        println!(
            "{question}, of {known}: {} and {} tries, medians {:?} and {:?}, z = {z:.2}",
            of_known.len(),
            of_unknown.len(),
            median(of_known),
            median(of_unknown)
        );
        if z.abs() >= DIFFERENT {
            different.push((question, known));
        }
    }
    assert!(different.is_empty(), "known and unknown names take different times: {different:?}");
}
