//! Mail: from the queue to a server of mail that does what a test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use symbolon_store_cluster::engines::Port;
use symbolon_testkit::{Answer, Browser, Options, TestServer};

/// What the server of mail does with a recipient, or with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Refuse(&'static str),
    /// It takes the text and closes the connection without a word.
    CloseAfterText,
}

#[derive(Default)]
struct State {
    deeds: Vec<Deed>,
    texts: Vec<String>,
    /// When each text had come.
    arrivals: Vec<Instant>,
}

/// A server of mail on loopback.
pub(crate) struct Peer {
    url: String,
    state: Arc<Mutex<State>>,
}

impl Peer {
    pub(crate) fn start(deeds: &[Deed]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self::listen(listener, deeds)
    }

    fn listen(listener: TcpListener, deeds: &[Deed]) -> Self {
        let url = format!("smtp://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State { deeds: deeds.to_vec(), ..State::default() }));
        let of_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&of_thread);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { url, state }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.state.lock().expect("no panic").texts.clone()
    }

    /// Texts with the time at which each had come.
    pub(crate) fn arrivals(&self) -> Vec<(String, Instant)> {
        let state = self.state.lock().expect("no panic");
        state.texts.iter().cloned().zip(state.arrivals.iter().copied()).collect()
    }

    pub(crate) fn options(&self) -> Options {
        options(&self.url)
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures when mail comes")]
pub(crate) fn moment() -> Instant {
    Instant::now()
}

fn options(url: &str) -> Options {
    Options::default()
        .env("SYMBOLON_SMTP_URL", url)
        .env("SYMBOLON_MAIL_FROM", "Example <no-reply@op.example>")
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let mut stream = stream;
    let mut say = |text: &str| stream.write_all(format!("{text}\r\n").as_bytes()).ok();
    let take = |matches: fn(&Deed) -> bool| {
        let mut state = state.lock().expect("no panic");
        let place = state.deeds.iter().position(matches)?;
        Some(state.deeds.remove(place))
    };
    say("220 peer")?;
    while let Some(Ok(line)) = lines.next() {
        match line.get(..4)? {
            "RCPT" => match take(|deed| matches!(deed, Deed::Refuse(_))) {
                Some(Deed::Refuse(answer)) => say(answer)?,
                _ => say("250 ok")?,
            },
            "DATA" => {
                say("354 go on")?;
                let text: Vec<String> =
                    lines.by_ref().map_while(Result::ok).take_while(|line| line != ".").collect();
                let mut state = state.lock().expect("no panic");
                state.texts.push(text.join("\n"));
                state.arrivals.push(moment());
                drop(state);
                if take(|deed| *deed == Deed::CloseAfterText).is_some() {
                    return None;
                }
                say("250 taken")?;
            }
            "QUIT" => return say("221 bye"),
            _ => say("250 ok")?,
        }
    }
    None
}

fn queue(server: &TestServer, to: &str) {
    let body = json!({ "to": to, "code": "042137", "minutes": 60, "language": "de" });
    let answer = server.admin("POST", "/test/mails", Some(body));
    assert_eq!((answer.status, answer.json()["queued"].as_bool()), (201, Some(true)), "{answer:?}");
}

/// Waits for what the job does in its own time.
pub(crate) fn wait_for(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("in vain: {what}");
}

fn happened(server: &TestServer, event: &str) -> u64 {
    server.counted(&format!("symbolon_events_total{{event=\"{event}\"}}"))
}

fn records(server: &TestServer, event: &str) -> Vec<Value> {
    server.drain_audit();
    let found = server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
    found["audit_logs"].as_array().expect("records").clone()
}

#[test]
fn mail_leaves_at_once_and_the_audit_log_tells_neither_address_nor_code() {
    let peer = Peer::start(&[]);
    let server = TestServer::start_with(peer.options());
    queue(&server, "ann@example.com");
    wait_for("mail.sent", || happened(&server, "mail.sent") == 1);
    let texts = peer.texts();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("To: ann@example.com") && texts[0].contains("042137"), "{}", texts[0]);
    let sent = records(&server, "mail.sent");
    assert_eq!(sent[0]["detail"], json!({ "reason": "smtp", "attempts": 1, "template": "email-code" }));
    assert_eq!(sent[0]["actor"], "system");
    assert!(!sent[0].to_string().contains("ann@example.com"));
}

#[test]
fn what_is_refused_for_now_comes_again_after_its_pause() {
    let peer = Peer::start(&[Deed::Refuse("450 busy"), Deed::Refuse("451 still busy")]);
    let server = TestServer::start_with(peer.options());
    queue(&server, "ann@example.com");
    wait_for("one refusal", || happened(&server, "mail.postponed") == 1);
    server.clock.advance(Duration::from_secs(5));
    wait_for("another", || happened(&server, "mail.postponed") == 2);
    // The second pause is longer.
    server.clock.advance(Duration::from_secs(5));
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!((peer.texts().len(), happened(&server, "mail.sent")), (0, 0));
    server.clock.advance(Duration::from_secs(5));
    wait_for("mail.sent", || happened(&server, "mail.sent") == 1);
    assert_eq!(peer.texts().len(), 1);
}

#[test]
fn what_is_refused_for_good_or_too_late_is_given_up() {
    let peer = Peer::start(&[Deed::Refuse("550 unknown"), Deed::Refuse("450 busy")]);
    let server = TestServer::start_with(peer.options());
    queue(&server, "nobody@example.com");
    wait_for("a refusal", || happened(&server, "mail.given_up") == 1);
    queue(&server, "ann@example.com");
    wait_for("a pause", || happened(&server, "mail.postponed") == 1);
    server.clock.advance(Duration::from_secs(3_600));
    wait_for("the end of its time", || happened(&server, "mail.given_up") == 2);
    let given_up = records(&server, "mail.given_up");
    let mut reasons: Vec<_> = given_up.iter().map(|record| record["detail"]["reason"].clone()).collect();
    reasons.sort_by_key(Value::to_string);
    assert_eq!(reasons, ["expired", "refused"]);
    assert!(peer.texts().is_empty());
}

#[test]
fn a_server_of_mail_that_is_down_loses_nothing_over_a_restart() {
    let port = Port::reserve();
    let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
    let settings = options(&format!("smtp://{address}"));
    let server = TestServer::start_with(settings.clone());
    for number in 0..30 {
        queue(&server, &format!("user{number}@example.com"));
    }
    wait_for("a failure", || happened(&server, "mail.postponed") > 0);
    let server = server.restart(settings);
    let peer = Peer::listen(TcpListener::bind(address).expect("the same port"), &[]);
    server.clock.advance(Duration::from_secs(180));
    wait_for("all mail", || peer.texts().len() >= 30);
    wait_for("its end", || happened(&server, "mail.sent") == 30);
    assert_eq!(peer.texts().len(), 30);
}

#[test]
fn what_may_have_been_taken_is_sent_once_more_and_not_twice() {
    let peer = Peer::start(&[Deed::CloseAfterText; 9]);
    let server = TestServer::start_with(peer.options());
    queue(&server, "ann@example.com");
    for copies in 1..=2 {
        wait_for("a copy", || peer.texts().len() == copies);
        wait_for("its note", || happened(&server, "mail.postponed") == copies as u64);
        server.clock.advance(Duration::from_secs(121));
    }
    wait_for("the end", || happened(&server, "mail.given_up") == 1);
    assert_eq!(records(&server, "mail.given_up")[0]["detail"]["reason"], "unanswered");
    let texts = peer.texts();
    assert_eq!(texts.len(), 2);
    let id = |text: &str| text.lines().find(|line| line.starts_with("Message-ID:")).map(str::to_owned);
    assert!(id(&texts[0]).is_some() && id(&texts[0]) == id(&texts[1]), "{texts:?}");
}

#[test]
fn a_full_queue_drops_mail_and_says_so() {
    let port = Port::reserve();
    let url = format!("smtp://127.0.0.1:{}", port.number());
    let server = TestServer::start_with(options(&url).one_node().env("SYMBOLON_MAIL_QUEUE", "10"));
    for _ in 0..9 {
        queue(&server, "ann@example.com");
    }
    let body = json!({ "to": "bob@example.com", "code": "042137" });
    let answer = server.admin("POST", "/test/mails", Some(body));
    assert_eq!(answer.json()["queued"], false);
    let given_up = records(&server, "mail.given_up");
    assert_eq!(given_up[0]["detail"], json!({ "template": "email-code", "reason": "queue_full" }));
}

#[test]
fn without_a_server_mail_goes_to_the_log_and_production_has_no_outbox() {
    let server = TestServer::start_with(Options::default());
    queue(&server, "ann@example.com");
    wait_for("mail.sent", || happened(&server, "mail.sent") == 1);
    assert_eq!(records(&server, "mail.sent")[0]["detail"]["reason"], "log");
    assert_eq!(server.browser().get("/outbox").status, 404);
}

/// The sign-in code of the login API: who has an account gets a mail and signs in with it; who has none gets the same answer.
#[test]
fn a_code_is_mailed_and_signs_in_and_unknown_addresses_get_the_same_answer() {
    let peer = Peer::start(&[]);
    let server = TestServer::start_with(peer.options());
    let user = json!({ "email": "ann@example.com", "email_verified": true, "name": "Ann" });
    assert_eq!(server.admin("POST", "/users", Some(user)).status, 201);
    let (browser, stranger) = (server.browser(), server.browser());
    let headers = [
        ("content-type", "application/json"),
        ("origin", server.issuer.as_str()),
        ("accept-language", "de-AT,de;q=0.9,en;q=0.5"),
    ];
    let call = |browser: &Browser, path: &str, body: Value| {
        browser.send("POST", &format!("/api/auth{path}"), &headers, body.to_string().as_bytes())
    };
    let sent = call(&browser, "/email-code/send", json!({ "email": "ANN@example.com" }));
    let unknown = call(&stranger, "/email-codes/send", json!({ "email": "bob@example.com" }));
    assert_eq!((sent.status, &sent.body), (200, &unknown.body), "{sent:?}");
    let cookie = |answer: &Answer| answer.header("set-cookie").map(str::len);
    assert_eq!(cookie(&sent), cookie(&unknown), "{unknown:?}");
    wait_for("mail.sent", || happened(&server, "mail.sent") == 1);
    let texts = peer.texts();
    assert!(texts.len() == 1 && texts[0].contains("To: ann@example.com"), "{texts:?}");
    let digits: Vec<&str> =
        texts[0].split(|c: char| !c.is_ascii_digit()).filter(|run| run.len() == 6).collect();
    let code = digits.first().expect("six digits");
    let typed = json!({ "email": "ann@example.com", "code": code });
    assert_eq!(call(&stranger, "/email-code/verify", typed.clone()).status, 400, "another browser");
    let signed_in = call(&browser, "/email-code/verify", typed);
    assert_eq!(
        (signed_in.status, &signed_in.json()["user"]["email"]),
        (200, &json!("ann@example.com")),
        "{signed_in:?}"
    );
}
