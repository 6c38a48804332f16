//! An application of the test's own that listens for logout tokens, and answers as the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;
use symbolon_testkit::{Options, RelyingParty, TestServer, decode_jwt};

#[derive(Default)]
struct State {
    /// What it answers, once each; then 200.
    answers: Vec<&'static str>,
    /// What it was sent: request line, headers and body.
    requests: Vec<String>,
    /// Which of these it answered with 200.
    taken: Vec<usize>,
}

/// The application.
pub(super) struct Application {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// No answer at all: the connection stays open.
pub(super) const SILENCE: &str = "";

impl Application {
    pub(super) fn start() -> Self {
        Self::answering(&[])
    }

    pub(super) fn answering(answers: &[&'static str]) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").expect("a port"), answers)
    }

    /// It is back at an address where nobody listened.
    pub(super) fn at(address: SocketAddr, answers: &[&'static str]) -> Self {
        Self::listen(TcpListener::bind(address).expect("the same port"), answers)
    }

    /// From now on it answers 200.
    pub(super) fn recovers(&self) {
        self.state.lock().expect("no panic").answers.clear();
    }

    fn listen(listener: TcpListener, answers: &[&'static str]) -> Self {
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State { answers: answers.to_vec(), ..State::default() }));
        let of_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&of_thread);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    /// Its `backchannel_logout_uri`.
    pub(super) fn uri(&self) -> String {
        format!("http://{}/logout?tenant=1", self.address)
    }

    /// Registers it as a client.
    pub(super) fn register(&self, server: &TestServer) -> RelyingParty {
        RelyingParty::register(server, json!({ "backchannel_logout_uri": self.uri() }))
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().expect("no panic").requests.clone()
    }

    /// The logout tokens that it was sent.
    pub(super) fn tokens(&self) -> Vec<String> {
        let token = |request: &String| {
            let (_, body) = request.split_once("\r\n\r\n").expect("a body");
            let token = body.strip_prefix("logout_token=").expect("one parameter");
            token.to_owned()
        };
        self.requests().iter().map(token).collect()
    }

    /// The `sid` of each logout token that it took, in order of their texts.
    pub(super) fn taken(&self) -> Vec<String> {
        let (tokens, taken) = (self.tokens(), self.state.lock().expect("no panic").taken.clone());
        let mut sids: Vec<String> = taken.into_iter().map(|number| sid(&tokens[number])).collect();
        sids.sort_unstable();
        sids
    }

    /// Waits for so many tokens; the claims of each.
    pub(super) fn claims(&self, number: usize) -> Vec<Value> {
        wait_for("logout tokens", || self.requests().len() >= number);
        self.tokens().iter().map(|token| decode_jwt(token).1).collect()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    head.push_str(&String::from_utf8(body).ok()?);
    let answer = {
        let mut state = state.lock().expect("no panic");
        state.requests.push(head);
        let answer = if state.answers.is_empty() { "200 OK" } else { state.answers.remove(0) };
        if answer == "200 OK" {
            let number = state.requests.len() - 1;
            state.taken.push(number);
        }
        answer
    };
    if answer == SILENCE {
        std::thread::sleep(Duration::from_secs(30));
    }
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok()
}

/// Private addresses may be called, as the applications of tests are on loopback.
pub(super) fn options() -> Options {
    Options::default().env("SYMBOLON_OUTBOUND_ALLOW_PRIVATE", "true")
}

/// Waits for what the job does in its own time.
pub(super) fn wait_for(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("in vain: {what}");
}

/// How often an event happened.
pub(super) fn happened(server: &TestServer, event: &str) -> u64 {
    server.counted(&format!("symbolon_events_total{{event=\"{event}\"}}"))
}

/// The records of an event.
pub(super) fn records(server: &TestServer, event: &str) -> Vec<Value> {
    server.drain_audit();
    let found = server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
    found["audit_logs"].as_array().expect("records").clone()
}

/// The `sid` of an ID token or a logout token.
pub(super) fn sid(token: &str) -> String {
    decode_jwt(token).1["sid"].as_str().expect("a sid").to_owned()
}

/// A published key of the server verifies the token.
pub(super) fn assert_verifies(server: &TestServer, token: &str) {
    let (header, _) = decode_jwt(token);
    let keys = server.browser().get("/.well-known/jwks.json").json();
    let keys = keys["keys"].as_array().expect("keys").clone();
    let key = keys.into_iter().find(|key| key["kid"] == header["kid"]).expect("published");
    let key = VerifyingKey::from_jwk(serde_json::from_value(key).unwrap(), None).unwrap();
    Compact::parse(token).unwrap().verify(&key).unwrap();
}
