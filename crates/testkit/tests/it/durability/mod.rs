//! No answer leaves before all that it rests on is durable: refusals wait like successes.
//!
//! While the disk is held back, a session ends and a grant is revoked, and every endpoint is asked about them. What can be
//! used once is sent twice at the same time: whoever comes second rests on what the first has not yet brought to the disk.

mod admin;
mod machines;
mod once;
mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::time::Duration;

use symbolon_protocol::id::IssuerId;
use symbolon_protocol::token::refresh_token::parse_and_authenticate;
use symbolon_server::endpoints;
use symbolon_testkit::{Answer, Browser, CommitGate, TokenSet};

use crate::login::Scene;
use crate::mail::wait_for;
use crate::mailbox::Mailbox;

/// A method, and a path as the table of endpoints has it.
type Row = (&'static str, &'static str);

/// One request, sent as often at the same time as it has statuses.
struct Asked {
    /// Which row answers it. The admin API has a table of its own.
    row: Option<Row>,
    what: String,
    /// The statuses of the answers, in ascending order.
    statuses: Vec<u16>,
    send: Box<dyn Fn() -> Answer + Send + Sync>,
}

impl Asked {
    fn new(row: Row, statuses: &[u16], send: impl Fn() -> Answer + Send + Sync + 'static) -> Self {
        let what = format!("{} {}", row.0, row.1);
        Self { row: Some(row), what, statuses: statuses.to_vec(), send: Box::new(send) }
    }

    fn about(mut self, what: &str) -> Self {
        self.what = format!("{}: {what}", self.what);
        self
    }
}

/// Rows that read nothing that a request can change and a crash can undo, with the reason. Each is asked, and answers while the
/// disk is held back.
const REST_ON_NOTHING: [(Row, &str); 36] = [
    (("GET", "/.well-known/openid-configuration"), "the issuer's settings, alike for everybody"),
    (("GET", "/.well-known/oauth-authorization-server"), "the issuer's settings, alike for everybody"),
    (("GET", "/.well-known/oauth-protected-resource/userinfo"), "the issuer's settings, alike for everybody"),
    (("GET", "/.well-known/jwks.json"), "the issuer's keys, alike for everybody"),
    (("POST", "/connect/register"), "the issuer's settings"),
    (("GET", "/connect/register/{name}"), "the client's record"),
    (("PUT", "/connect/register/{name}"), "the client's record"),
    (("DELETE", "/connect/register/{name}"), "the client's record"),
    (
        ("POST", "/par"),
        "the client's record, and what is in memory alone; an assertion is marked as at /token",
    ),
    (("POST", "/device_authorization"), "the same"),
    (
        ("POST", "/bc-authorize"),
        "the same, and the person's record; a signed request is marked as an assertion is",
    ),
    (("GET", "/check-session"), "a fixed page, whose script reads a cookie"),
    (("GET", "/"), "a fixed page"),
    (("GET", "/callback"), "a fixed page"),
    (("GET", "/callback/silent"), "a fixed page"),
    (("GET", "/branding.css"), "the issuer's settings"),
    (("GET", "/branding/logo"), "the issuer's settings"),
    (("GET", "/branding/clients/{name}/style.css"), "the client's record"),
    (("GET", "/branding/clients/{name}/logo"), "the client's record"),
    (("GET", "/outbox"), "mails of a development server"),
    (("POST", "/demo/token-exchange"), "not there outside development mode; the rule is that of /token"),
    (("GET", "/login/link"), "the link is opened: its use is not looked at"),
    (("GET", "/register"), "an empty form"),
    (("POST", "/register"), "a mail is sent: users alone are looked at, after the answer"),
    (("GET", "/register/confirm"), "what is sealed into the address"),
    (("GET", "/register/link"), "the link is opened: its use is not looked at"),
    (("GET", "/forgot-password"), "an empty form"),
    (("POST", "/forgot-password"), "a mail is sent: users alone are looked at, after the answer"),
    (("GET", "/reset-password"), "the user's record and password"),
    (("GET", "/verify-email"), "what is sealed into the address"),
    (("GET", "/verify-email/link"), "the link is opened: its use is not looked at"),
    (("GET", "/verify-email/done"), "a fixed page"),
    (("POST", "/api/auth/email-code/send"), "a mail is sent: users alone are looked at, after the answer"),
    (("POST", "/api/auth/email-codes/send"), "a mail is sent: users alone are looked at, after the answer"),
    (("POST", "/api/auth/passkey/login/options"), "the user's record and passkeys"),
    (("POST", "/api/auth/passkeys/login/options"), "the user's record and passkeys"),
];

/// People and tokens whose session or grant ends while the disk is held back.
struct Ending {
    scene: Scene,
    mailbox: Mailbox,
    /// The browser whose session ends.
    browser: Browser,
    /// What an application got in that session.
    tokens: TokenSet,
    /// What an application got in another one, and gives back.
    revoked: TokenSet,
}

impl Ending {
    fn new(gate: &CommitGate) -> Self {
        let mailbox = Mailbox::open();
        let scene = Scene::with(mailbox.options().commit_gate(gate));
        let open = serde_json::json!({ "registration": "open", "self_deletion": true });
        assert_eq!(scene.server.admin("PATCH", "/settings", Some(open)).status, 200);
        let (browser, tokens) = scene.signed_in();
        let revoked = scene.another_grant();
        Self { scene, mailbox, browser, tokens, revoked }
    }

    fn session(&self) -> String {
        self.browser.cookie("symbolon_session").expect("a session")
    }

    /// Whether the grant that is given back lives, as memory has it.
    fn grant_lives(&self) -> bool {
        let server = &self.scene.server;
        let issuer =
            server.app.issuers.load().by_id(&IssuerId::default_issuer()).expect("the issuer").clone();
        let token = self.revoked.refresh_token.as_deref().expect("a refresh token");
        let (id, _) =
            parse_and_authenticate(&issuer.id, token, &issuer.refresh_token_key).expect("one of ours");
        server.block_on(server.app.store.family(&issuer.id, &id)).unwrap().in_memory().is_some()
    }

    /// Signs the browser out and gives the grant back. Returns once both have happened in memory, whether they are answered or
    /// not.
    fn end<'scope>(&'scope self, threads: &'scope std::thread::Scope<'scope, '_>) {
        let hint = self.tokens.id_token.clone().expect("an ID token");
        let form = [
            ("client_id", symbolon_sign_in::demo::CLIENT),
            ("token", self.revoked.refresh_token.as_deref().expect("a refresh token")),
        ];
        let (browser, application) = (self.browser.copy(), self.scene.server.browser());
        threads.spawn(move || browser.get(&format!("/logout?id_token_hint={hint}")));
        threads.spawn(move || application.post("/revoke", &form));
        wait_for("both have ended", || !self.scene.session_lives(&self.session()) && !self.grant_lives());
    }
}

/// Opens the gate when it is dropped, so that a failed assertion does not wait for answers that never come.
struct Closed<'a>(&'a CommitGate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn rows() -> BTreeSet<Row> {
    let all = endpoints::all().flat_map(|row| row.methods.iter().map(|method| (method.as_str(), row.path)));
    // `HEAD` is `GET` without the body (RFC 9110 9.3.2).
    all.filter(|(method, _)| *method != "HEAD").collect()
}

/// The answers of the rows that rest on nothing. They come while the disk is held back.
fn quick(ending: &Ending) -> BTreeMap<Row, u16> {
    let browser = ending.browser.copy();
    let ask = |(method, path): Row| {
        let path = path.replace("{name}", symbolon_sign_in::demo::CLIENT);
        browser.send(method, &path, &[], b"").status
    };
    REST_ON_NOTHING.iter().map(|(row, _)| (*row, ask(*row))).collect()
}

#[test]
fn refusals_wait_like_successes_at_every_endpoint() {
    if symbolon_testkit::is_clustered() {
        return;
    }
    let gate = CommitGate::default();
    let ending = Ending::new(&gate);
    let asked =
        [pages::asked(&ending), once::asked(&ending), machines::asked(&ending), admin::asked(&ending)];
    let asked: Vec<Asked> = asked.into_iter().flatten().collect();
    let named: BTreeSet<Row> = asked.iter().filter_map(|asked| asked.row).collect();
    let nothing: BTreeSet<Row> = REST_ON_NOTHING.iter().map(|(row, _)| *row).collect();
    assert_eq!(named.intersection(&nothing).count(), 0);
    let known: BTreeSet<Row> = named.union(&nothing).copied().collect();
    let unknown: BTreeSet<Row> = known.symmetric_difference(&rows()).copied().collect();
    assert_eq!(
        unknown.len(),
        0,
        "every endpoint is asked, or it is said why it rests on nothing: {unknown:?}"
    );

    let (answers, answered) = mpsc::channel();
    let mut told: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
    std::thread::scope(|threads| {
        gate.close();
        let closed = Closed(&gate);
        ending.end(threads);
        for asked in &asked {
            for _ in &asked.statuses {
                let answers = answers.clone();
                threads.spawn(move || drop(answers.send((asked.what.as_str(), (asked.send)()))));
            }
        }
        drop(answers);
        let quick = quick(&ending);
        assert!(quick.values().all(|status| *status < 500), "{quick:?}");
        let mut early = Vec::new();
        while let Ok((what, answer)) = answered.recv_timeout(Duration::from_millis(400)) {
            early.push((what, answer.status));
        }
        assert!(early.is_empty(), "answered before it was durable: {early:?}");
        drop(closed);
        for (what, answer) in answered.iter() {
            told.entry(what).or_default().push(answer.status);
        }
    });
    told.values_mut().for_each(|statuses| statuses.sort_unstable());
    let expected: BTreeMap<&str, Vec<u16>> =
        asked.iter().map(|asked| (asked.what.as_str(), asked.statuses.clone())).collect();
    assert_eq!(told, expected);
}
