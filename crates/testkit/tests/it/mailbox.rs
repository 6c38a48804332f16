//! What people find in their mail.

use std::cell::Cell;
use std::time::Instant;

use symbolon_testkit::Options;

use crate::mail::{Peer, wait_for};

/// A mail, decoded.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) to: String,
    pub(crate) head: String,
    pub(crate) text: String,
    /// The whole mail as it came, with the soft line breaks of quoted-printable taken out.
    pub(crate) raw: String,
}

impl Mail {
    fn of(raw: &str) -> Self {
        let (head, _) = raw.split_once("\n\n").expect("a header");
        let to = head.lines().find_map(|line| line.strip_prefix("To: ")).expect("a recipient").to_owned();
        let part = raw.split("Content-Type: text/plain").nth(1).expect("a plain part");
        let (part_head, rest) = part.split_once("\n\n").expect("a header of the part");
        // A line of a long link may begin with two hyphens too, so the boundary must be whole.
        let (_, boundary) = head.split_once("boundary=\"").expect("a mail of several parts");
        let (boundary, _) = boundary.split_once('"').expect("the end of the boundary");
        let body = rest.split(&format!("\n--{boundary}")).next().expect("a body");
        let is_quoted = part_head.contains("quoted-printable");
        let text = if is_quoted { unquoted(body) } else { body.to_owned() };
        Self { to, head: head.to_owned(), text, raw: raw.replace("=\n", "") }
    }

    /// The path and query of its link.
    pub(crate) fn link(&self) -> String {
        let url = self.text.lines().map(str::trim).find(|line| line.starts_with("http")).expect("a link");
        let (_, rest) = url.split_once("://").unwrap();
        format!("/{}", rest.split_once('/').expect("a path").1)
    }

    /// The six digits in it.
    pub(crate) fn code(&self) -> String {
        let is_code = |line: &&str| line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit());
        self.text.lines().map(str::trim).find(is_code).expect("a code").to_owned()
    }
}

/// Quoted-printable (RFC 2045 6.7).
fn unquoted(text: &str) -> String {
    let joined = text.replace("=\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match (first, after) {
            (b'=', [high, low, after @ ..]) => {
                let hex = std::str::from_utf8(&[*high, *low]).unwrap().to_owned();
                bytes.push(u8::from_str_radix(&hex, 16).expect("two hexadecimal digits"));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// Whether a mail tells of a sign-in in a browser that is not known, which comes beside what a test waits for.
fn is_news(raw: &str) -> bool {
    raw.contains("\nSubject: New sign-in")
}

/// The mail of everybody, in the order in which it comes.
pub(crate) struct Mailbox {
    peer: Peer,
    read: Cell<usize>,
    has_news: bool,
}

impl Mailbox {
    /// A mailbox in which nobody is told of new browsers.
    pub(crate) fn open() -> Self {
        Self { peer: Peer::start(&[]), read: Cell::new(0), has_news: false }
    }

    /// A mailbox of all mail.
    pub(crate) fn with_news() -> Self {
        Self { has_news: true, ..Self::open() }
    }

    pub(crate) fn options(&self) -> Options {
        self.peer.options()
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.peer.texts();
        texts.into_iter().filter(|raw| self.has_news || !is_news(raw)).collect()
    }

    /// The next mail, waited for.
    pub(crate) fn next(&self) -> Mail {
        let number = self.read.get();
        wait_for("a mail", || self.texts().len() > number);
        self.read.set(number + 1);
        Mail::of(&self.texts()[number])
    }

    /// The recipient of each mail, with the time at which it had come.
    pub(crate) fn arrivals(&self) -> Vec<(String, Instant)> {
        let arrivals = self.peer.arrivals().into_iter();
        let arrivals = arrivals.filter(|(raw, _)| self.has_news || !is_news(raw));
        arrivals.map(|(raw, at)| (Mail::of(&raw).to, at)).collect()
    }

    /// How many came that were not read.
    pub(crate) fn unread(&self) -> usize {
        self.texts().len() - self.read.get()
    }
}

#[test]
fn a_link_is_whole_wherever_its_lines_are_broken() {
    let raw = "To: a@b.example\nContent-Type: multipart/alternative; boundary=\"x1\"\n\n--x1\n\
               Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n\
               Click:\n\nhttp://h/login/link?link=3Dab=\n--cd\n--x1\nContent-Type: text/html\n\n<p>\n--x1--\n";
    assert_eq!(Mail::of(raw).link(), "/login/link?link=ab--cd");
}
