//! `HEAD` on every page (RFC 9110 9.2.1, 9.3.2).

use axum::http::Method;
use symbolon_app::http::Endpoint;
use symbolon_testkit::{Answer, Browser, RelyingParty, is_clustered};

use super::{OTHER, World, allows, pages};
use crate::login::hidden;

/// How often it is tried before what was written is held to be written by `HEAD`: background jobs write, too.
const TRIES: usize = 20;

/// What was recorded so far: every change is an event. A refusal is one, too, and changes nothing.
fn recorded(world: &World) -> Vec<String> {
    figures(world, &["symbolon_events_total{"])
}

/// What was written to the store so far. In the cluster the nodes' own rows are written all the time.
fn written(world: &World) -> Vec<String> {
    match is_clustered() {
        true => Vec::new(),
        false => figures(
            world,
            &["symbolon_db_queries_total{operation=\"write\"}", "symbolon_commit_operations_total "],
        ),
    }
}

fn figures(world: &World, names: &[&str]) -> Vec<String> {
    let page = world.scene.server.app.registry.render(&[]);
    let is_of = |line: &&str| names.iter().any(|name| line.starts_with(name));
    let found = page.lines().filter(is_of).filter(|line| !line.contains("\"request.refused\""));
    let found: Vec<String> = found.map(str::to_owned).collect();
    assert!(!found.is_empty(), "{names:?} are not shown");
    found
}

/// A browser with pages open, and where each can be opened again: with what `GET` or `POST` would use.
pub(super) struct Places {
    pub(super) browser: Browser,
    opened: Vec<String>,
}

impl Places {
    pub(super) fn new(world: &World) -> Self {
        let (browser, answer) = world.signed_in(&[]);
        let consent = answer.location();
        let (_, query) = consent.split_once('?').expect("a sealed interaction");
        let other = ["/login", "/login/email-code", "/login/second-factor", "/select-account"];
        let mut opened: Vec<String> = other.iter().map(|path| format!("{path}?{query}")).collect();
        opened.extend([consent.clone(), world.scene.rp.authorization_request().path()]);
        opened.extend([magic_link(world, &browser), reset_link(world, &browser)]);
        opened.extend(registration(world, &browser));
        opened.extend(new_address(world, &browser));
        Self { browser, opened }
    }

    /// Where the page of a row is.
    pub(super) fn of(&self, row: &Endpoint, rp: &RelyingParty) -> String {
        let path = row.path.replace(Endpoint::NAMED, &rp.client_id);
        let is_opened = |opened: &&String| opened.split('?').next() == Some(&*path);
        self.opened.iter().find(is_opened).cloned().unwrap_or(path)
    }

    /// The page at a path that was opened.
    fn get(&self, path: &str) -> Answer {
        let opened = self.opened.iter().find(|opened| opened.split('?').next() == Some(path));
        self.browser.get(opened.expect("it was opened"))
    }
}

fn magic_link(world: &World, browser: &Browser) -> String {
    let request = world.scene.rp.authorization_request().with("prompt", "login");
    let page = browser.get(&browser.get(&request.path()).location());
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", OTHER)];
    assert_eq!(browser.post("/login/email-code", &form).status, 303);
    world.mailed_link("/login/link")
}

fn reset_link(world: &World, browser: &Browser) -> String {
    let (transaction, csrf) = hidden(&browser.get("/forgot-password"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", OTHER)];
    assert_eq!(browser.post("/forgot-password", &form).status, 303);
    world.mailed_link("/reset-password")
}

fn registration(world: &World, browser: &Browser) -> [String; 2] {
    let (transaction, csrf) = hidden(&browser.get("/register"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("email", "ann@example.com")];
    let sent = browser.post("/register", &form);
    [sent.location(), world.mailed_link("/register/link")]
}

fn new_address(world: &World, browser: &Browser) -> [String; 2] {
    let csrf = browser.get("/account/email").field("csrf_token").expect("a form");
    let sent = browser.post("/account/email", &[("csrf_token", &csrf), ("email", "new@example.com")]);
    [sent.location(), world.mailed_link("/verify-email/link")]
}

#[test]
fn a_head_changes_nothing_on_any_page() {
    let world = World::with(symbolon_testkit::Options::one_node);
    let places = Places::new(&world);
    world.scene.server.settle();
    let mut answered = 0;
    for row in pages().filter(|row| allows(row, &Method::GET)) {
        let path = places.of(row, &world.scene.rp);
        let is_answered = allows(row, &Method::HEAD);
        // What is not answered may be recorded as refused, and that is written.
        let so_far = || (recorded(&world), is_answered.then(|| written(&world)));
        let ask = || {
            let before = so_far();
            let answer = places.browser.send("HEAD", &path, &[], b"");
            (so_far() == before).then_some(answer)
        };
        let answer =
            (0..TRIES).find_map(|_| ask()).unwrap_or_else(|| panic!("HEAD {path} changes something"));
        assert!(answer.body.is_empty(), "{path}: {answer:?}");
        if is_answered {
            answered += 1;
            assert_eq!(answer.status, places.browser.get(&path).status, "HEAD is answered as GET is: {path}");
        } else {
            let allowed = answer.header("allow").unwrap_or_default();
            assert!(answer.status == 405 && !allowed.contains("HEAD"), "{path}: {answer:?}");
        }
    }
    assert!(answered >= 15, "{answered} of the rows answer HEAD");
    links_are_good_still(&places);
}

/// What was asked for with `HEAD` is not used up.
fn links_are_good_still(places: &Places) {
    let page = places.get("/login/link");
    assert!(page.status == 200 && page.field("code").is_some(), "{page:?}");
    for path in ["/register/link", "/verify-email/link"] {
        let led = places.get(path);
        assert_eq!(led.status, 302, "{path}: {led:?}");
        let page = places.browser.get(&led.location());
        assert!(page.status == 200 && page.field("transaction").is_some(), "{path}: {page:?}");
    }
    let page = places.get("/reset-password");
    let (link, csrf) = (page.field("link").expect("a form"), page.field("csrf_token").expect("a form"));
    let form = [("link", &*link), ("csrf_token", &*csrf), ("password", "quite another password")];
    assert_eq!(places.browser.post("/reset-password", &form).status, 200);
}
