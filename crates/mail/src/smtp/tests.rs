//! A server of mail that answers as a test says.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::{Language, Message, Rendered};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// What a server does at a step, instead of the usual answer.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Answer(&'static str),
    Close,
    Silence,
}

/// A server of mail on loopback.
struct Peer {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Deeds by the first word of the command; `text` is the end of the text, `hello` the greeting. Each is done once.
    deeds: VecDeque<(&'static str, Deed)>,
    connections: u32,
    commands: Vec<String>,
    taken: Vec<String>,
}

impl Peer {
    async fn start(deeds: &[(&'static str, Deed)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state =
            Arc::new(Mutex::new(State { deeds: deeds.iter().copied().collect(), ..State::default() }));
        let of_task = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                of_task.lock().connections += 1;
                tokio::spawn(serve(stream, Arc::clone(&of_task)));
            }
        });
        Self { port, state }
    }

    fn smtp(&self) -> Smtp {
        self.smtp_by(SmtpTls::OnThisMachine)
    }

    fn smtp_by(&self, tls: SmtpTls) -> Smtp {
        let server = SmtpServer { host: "127.0.0.1".into(), port: self.port, tls, login: None };
        Smtp::new(server, &sender(), 4).unwrap()
    }

    fn connections(&self) -> u32 {
        self.state.lock().connections
    }

    fn taken(&self) -> Vec<String> {
        self.state.lock().taken.clone()
    }
}

fn sender() -> Sender {
    Sender { name: None, address: "no-reply@op.example".into() }
}

fn letter(to: &str) -> Letter {
    let message = Message::EmailCode { code: "042137".into(), minutes: 5 };
    let rendered = Rendered::new(&message, Language::English, &crate::brand::plain("op")).unwrap();
    Letter::new(&sender(), to, rendered, "id", NOW).unwrap()
}

/// The deed for a step, if there is one.
fn deed(state: &Mutex<State>, step: &str) -> Option<Deed> {
    let mut state = state.lock();
    let place = state.deeds.iter().position(|(at, _)| *at == step)?;
    state.deeds.remove(place).map(|(_, deed)| deed)
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut stream = BufReader::new(stream);
    let mut step = "hello".to_owned();
    let mut usual = "220 peer.example\r\n".to_owned();
    loop {
        let answer = match deed(&state, &step) {
            Some(Deed::Close) => return,
            Some(Deed::Silence) => std::future::pending().await,
            Some(Deed::Answer(answer)) => format!("{answer}\r\n"),
            None => usual,
        };
        stream.write_all(answer.as_bytes()).await.unwrap();
        if answer.starts_with("354") {
            let text = read_text(&mut stream).await;
            step = "text".to_owned();
            usual = "250 taken\r\n".to_owned();
            state.lock().taken.push(text);
            continue;
        }
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        state.lock().commands.push(line.trim_end().to_owned());
        step = line.split([' ', ':', '\r']).next().unwrap().to_owned();
        usual = match step.as_str() {
            "EHLO" => "250-peer.example\r\n250 8BITMIME\r\n",
            "DATA" => "354 go on\r\n",
            "QUIT" => "221 bye\r\n",
            _ => "250 ok\r\n",
        }
        .to_owned();
    }
}

async fn read_text(stream: &mut BufReader<TcpStream>) -> String {
    let mut text = String::new();
    while !text.ends_with("\r\n.\r\n") {
        if stream.read_line(&mut text).await.unwrap_or(0) == 0 {
            return text;
        }
    }
    text
}

/// Sends one mail to a server with these deeds, and tells what failed and how far it came.
async fn failure(deeds: &[(&'static str, Deed)]) -> (SmtpFailure, Stage, Option<u16>) {
    let peer = Peer::start(deeds).await;
    let error = peer.smtp().send(&letter("ann@example.com"), NOW).await.unwrap_err();
    (error.failure, error.stage, error.code)
}

#[tokio::test]
async fn mail_is_taken_and_the_connection_is_used_again() {
    let peer = Peer::start(&[]).await;
    let smtp = peer.smtp();
    for _ in 0..3 {
        smtp.send(&letter("ann@example.com"), NOW).await.unwrap();
    }
    assert_eq!((peer.connections(), peer.taken().len()), (1, 3));
    assert!(peer.taken()[0].contains("042137"));
    let commands = peer.state.lock().commands.join("\n");
    assert!(
        commands
            .starts_with("EHLO op.example\nMAIL FROM:<no-reply@op.example>\nRCPT TO:<ann@example.com>\nDATA"),
        "{commands}"
    );
    // A connection that was not used for long is not used again.
    smtp.send(&letter("ann@example.com"), NOW + IDLE).await.unwrap();
    assert_eq!(peer.connections(), 2);
    smtp.close().await;
}

#[tokio::test]
async fn a_connection_that_the_server_closed_costs_no_mail() {
    let peer = Peer::start(&[]).await;
    let smtp = peer.smtp();
    smtp.send(&letter("ann@example.com"), NOW).await.unwrap();
    peer.state.lock().deeds.push_back(("MAIL", Deed::Close));
    smtp.send(&letter("bob@example.com"), NOW).await.unwrap();
    assert_eq!((peer.connections(), peer.taken().len()), (2, 2));
}

#[tokio::test]
async fn what_the_server_refuses_is_later_or_never() {
    use Deed::Answer;
    use SmtpFailure::{Later, Never, Unavailable};
    let envelope = Stage::Envelope;
    assert_eq!(failure(&[("RCPT", Answer("450 busy"))]).await, (Later, envelope, Some(450)));
    assert_eq!(failure(&[("RCPT", Answer("550 unknown"))]).await, (Never, envelope, Some(550)));
    assert_eq!(failure(&[("MAIL", Answer("452 full"))]).await, (Later, envelope, Some(452)));
    assert_eq!(failure(&[("DATA", Answer("554 no"))]).await, (Never, envelope, Some(554)));
    assert_eq!(failure(&[("text", Answer("451 later"))]).await, (Later, Stage::Text, Some(451)));
    assert_eq!(failure(&[("text", Answer("552 too large"))]).await, (Never, Stage::Text, Some(552)));
    // Whoever is not let in at all is no fault of the mail.
    assert_eq!(
        failure(&[("hello", Answer("554 no service"))]).await,
        (Unavailable, Stage::Connect, Some(554))
    );
    assert_eq!(failure(&[("EHLO", Answer("502 what"))]).await, (Unavailable, Stage::Connect, Some(502)));
    assert_eq!(failure(&[("MAIL", Answer("421 closing"))]).await, (Unavailable, envelope, Some(421)));
}

#[tokio::test]
async fn only_after_the_text_nobody_knows() {
    use Deed::Close;
    use SmtpFailure::{Unavailable, Unknown};
    assert_eq!(failure(&[("hello", Close)]).await, (Unavailable, Stage::Connect, None));
    assert_eq!(failure(&[("RCPT", Close)]).await, (Unavailable, Stage::Envelope, None));
    assert_eq!(failure(&[("DATA", Close)]).await, (Unavailable, Stage::Envelope, None));
    assert_eq!(failure(&[("text", Close)]).await, (Unknown, Stage::Text, None));
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_not_waited_for() {
    use SmtpFailure::{Unavailable, Unknown};
    let silent = |step| [(step, Deed::Silence)];
    assert_eq!(failure(&silent("hello")).await, (Unavailable, Stage::Connect, None));
    assert_eq!(failure(&silent("RCPT")).await, (Unavailable, Stage::Envelope, None));
    assert_eq!(failure(&silent("text")).await, (Unknown, Stage::Text, None));
}

#[tokio::test]
async fn a_refused_recipient_does_not_spoil_the_connection() {
    let peer = Peer::start(&[("RCPT", Deed::Answer("550 unknown"))]).await;
    let smtp = peer.smtp();
    smtp.send(&letter("nobody@example.com"), NOW).await.unwrap_err();
    smtp.send(&letter("ann@example.com"), NOW).await.unwrap();
    assert_eq!(peer.connections(), 1);
    assert!(peer.state.lock().commands.contains(&"RSET".to_owned()));
}

#[tokio::test]
async fn nothing_is_sent_in_the_clear_where_tls_is_required() {
    let peer = Peer::start(&[]).await;
    let error = peer.smtp_by(SmtpTls::Required).send(&letter("ann@example.com"), NOW).await.unwrap_err();
    assert_eq!((error.failure, error.stage), (SmtpFailure::Unavailable, Stage::Connect));
    assert!(
        peer.state.lock().commands.iter().all(|command| command.starts_with("EHLO") || command == "QUIT")
    );
    let error = peer.smtp_by(SmtpTls::Implicit).send(&letter("ann@example.com"), NOW).await.unwrap_err();
    assert_eq!(error.stage, Stage::Connect);
    assert!(peer.taken().is_empty());
}

#[tokio::test]
async fn a_closed_port_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = Peer { port: listener.local_addr().unwrap().port(), state: Arc::default() };
    drop(listener);
    let error = peer.smtp().send(&letter("ann@example.com"), NOW).await.unwrap_err();
    assert_eq!((error.failure, error.stage), (SmtpFailure::Unavailable, Stage::Connect));
}

#[tokio::test]
async fn an_address_beyond_ascii_needs_a_server_that_takes_it() {
    let peer = Peer::start(&[]).await;
    let error = peer.smtp().send(&letter("änne@example.com"), NOW).await.unwrap_err();
    assert_eq!((error.failure, error.code), (SmtpFailure::Never, Some(553)));
    peer.state
        .lock()
        .deeds
        .push_back(("EHLO", Deed::Answer("250-peer.example\r\n250-8BITMIME\r\n250 SMTPUTF8")));
    peer.smtp().send(&letter("änne@example.com"), NOW).await.unwrap();
    let commands = peer.state.lock().commands.join("\n");
    assert!(commands.contains("MAIL FROM:<no-reply@op.example> SMTPUTF8"), "{commands}");
}
