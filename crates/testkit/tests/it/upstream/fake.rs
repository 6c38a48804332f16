//! A provider of the test's own that says what the test wants: the truth, or lies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What it answers at a path: status line with headers, and body. An empty status line is silence.
pub(crate) type Answer = (String, String);

/// In place of a status line: 200, and blanks without end.
pub(crate) const ENDLESS: &str = "endless";
/// In place of a status line: 200, and blanks for 20 seconds before the body. Something arrives all the time.
pub(crate) const DRIPS: &str = "drips";

/// A provider.
pub(crate) struct Fake {
    pub(crate) issuer: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: Vec<(String, Answer)>,
    requests: Vec<String>,
    /// What is done when a path is asked for, before it is answered.
    on_request: Option<(String, Box<dyn Fn() + Send>)>,
    /// The bytes of bodies without end.
    poured: usize,
}

pub(crate) fn ok(body: &Value) -> Answer {
    ("200 OK".to_owned(), body.to_string())
}

impl Fake {
    /// Listens, with metadata, and with keys.
    pub(crate) fn start(jwks: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let of_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&of_thread);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        let fake = Self { issuer, state };
        fake.set("/.well-known/openid-configuration", ok(&fake.metadata()));
        fake.set("/jwks", ok(jwks));
        fake
    }

    pub(crate) fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        json!({
            "issuer": self.issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
            "jwks_uri": at("/jwks"), "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA"],
        })
    }

    /// Sets what it answers at a path.
    pub(crate) fn set(&self, path: &str, answer: Answer) {
        let mut state = self.state.lock().expect("no panic");
        state.answers.retain(|(own, _)| own != path);
        state.answers.push((path.to_owned(), answer));
    }

    /// What it answers at a path.
    pub(crate) fn answer(&self, path: &str) -> Answer {
        let state = self.state.lock().expect("no panic");
        let found = state.answers.iter().find(|(own, _)| own == path).map(|(_, answer)| answer.clone());
        found.unwrap_or_else(|| panic!("nothing is at {path}"))
    }

    /// Does this whenever a path is asked for, before it is answered.
    pub(crate) fn on_request(&self, path: &str, act: impl Fn() + Send + 'static) {
        self.state.lock().expect("no panic").on_request = Some((path.to_owned(), Box::new(act)));
    }

    /// How many bytes of bodies without end could be sent.
    pub(crate) fn poured(&self) -> usize {
        self.state.lock().expect("no panic").poured
    }

    /// Answers token requests with an ID token.
    pub(crate) fn say(&self, id_token: &str) {
        let tokens = json!({ "access_token": "at", "token_type": "Bearer", "id_token": id_token });
        self.set("/token", ok(&tokens));
    }

    /// The requests to a path: head and body.
    pub(crate) fn requests(&self, path: &str) -> Vec<String> {
        let state = self.state.lock().expect("no panic");
        let at = format!(" {path} ");
        state
            .requests
            .iter()
            .filter(|request| request.lines().next().is_some_and(|line| line.contains(&at)))
            .cloned()
            .collect()
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
    let path = head.split(' ').nth(1)?.split('?').next()?.to_owned();
    let (status, answer) = {
        let mut state = state.lock().expect("no panic");
        state.requests.push(format!("{head}{}", String::from_utf8(body).ok()?));
        if let Some((_, act)) = state.on_request.as_ref().filter(|(own, _)| *own == path) {
            act();
        }
        let found = state.answers.iter().find(|(own, _)| *own == path).map(|(_, answer)| answer.clone());
        found.unwrap_or_else(|| ("404 Not Found".to_owned(), String::new()))
    };
    let mut stream = stream;
    match &*status {
        "" => {
            std::thread::sleep(Duration::from_secs(20));
            return None;
        }
        ENDLESS => return pour(&mut stream, state),
        DRIPS => return drip(&mut stream, &answer),
        _ => {}
    }
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    )
    .ok()
}

/// Sends blanks until nobody reads them any more.
fn pour(stream: &mut TcpStream, state: &Mutex<State>) -> Option<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n").ok()?;
    let blanks = vec![b' '; 16 << 10];
    loop {
        stream.write_all(&blanks).ok()?;
        state.lock().expect("no panic").poured += blanks.len();
    }
}

/// Sends a blank five times a second, and a body after 20 seconds.
fn drip(stream: &mut TcpStream, body: &str) -> Option<()> {
    const BLANKS: usize = 100;
    let length = BLANKS + body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    for _ in 0..BLANKS {
        stream.write_all(b" ").ok()?;
        std::thread::sleep(Duration::from_millis(200));
    }
    stream.write_all(body.as_bytes()).ok()
}
