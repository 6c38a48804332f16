//! Bytes on a socket, as they are.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// After so long a server that neither answers nor closes will not do so, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection that says what it likes.
pub(super) struct Wire(TcpStream);

/// What came back; status 0 where the server closed without an answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    /// The OAuth error in a JSON body.
    pub(super) fn error(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["error"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

impl Wire {
    pub(super) fn connect(url: &str) -> Self {
        let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Self(stream)
    }

    /// Sends; a server that closed already is no mistake.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Says that nothing more will come.
    pub(super) fn finish(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }

    /// Waits for the first byte of an answer.
    pub(super) fn wait(&mut self) {
        self.0.peek(&mut [0; 1]).expect("an answer");
    }

    /// Everything until the server closes.
    pub(super) fn reply(&mut self) -> Reply {
        let mut received = Vec::new();
        let mut piece = [0; 65536];
        loop {
            match self.0.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => received.extend_from_slice(&piece[..length]),
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {
                    panic!("still open: {}", String::from_utf8_lossy(&received))
                }
                // What had arrived before a reset counts.
                Err(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&received).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a byte every now and then until the server answers or closes.
    pub(super) fn trickle(&mut self, drip: &[u8]) -> Reply {
        self.0.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
        for _ in 0..2_400 {
            if !self.write(drip) {
                break;
            }
            let mut piece = [0; 1];
            match self.0.peek(&mut piece) {
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {}
                _ => break,
            }
        }
        self.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        self.reply()
    }
}
