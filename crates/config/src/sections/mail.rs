//! Mail to users: the SMTP server, the sender, and how much may wait.

use std::net::IpAddr;

use email_address::EmailAddress;
use symbolon_crypto::SecretString;
use url::{Host, Url};

use super::Section;
use crate::error::Mistake;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;

const URL: &str = "smtp.url";
const URL_FILE: &str = "smtp.url_file";
const FROM: &str = "mail.from";
const QUEUE: &str = "mail.queue";

pub(crate) const SECTION: Section = Section {
    title: "Mail",
    intro: "Mail to users waits in a queue that survives a restart, and leaves by SMTP ([mail](../topics/mail.md)).",
    keys: &[
        Key::new(URL, "SYMBOLON_SMTP_URL", "--smtp-url", ValueKind::Secret)
            .unset("nothing is sent: mail goes to the log without its secrets, and in development mode to `/outbox` too")
            .doc(
                "The server that takes mail. `smtp://user:password@host:587`: by STARTTLS, which it must offer unless it is on \
                 this machine (RFC 3207). `smtps://user:password@host:465`: by TLS from the beginning (RFC 8314 3.3). \
                 Characters with a meaning in URLs are written with `%`.",
            ),
        Key::new(URL_FILE, "SYMBOLON_SMTP_URL_FILE", "--smtp-url-file", ValueKind::Path)
            .unset("see `smtp.url`")
            .doc("File with that URL."),
        Key::new(FROM, "SYMBOLON_MAIL_FROM", "--mail-from", ValueKind::Mailbox)
            .unset("required beside `smtp.url`")
            .doc("Sender of all mail: an address, or `Name <address>`."),
        Key::new(QUEUE, "SYMBOLON_MAIL_QUEUE", "--mail-queue", ValueKind::Count { min: 10, max: 1_000_000 })
            .default("10000")
            .live()
            .doc(
                "Most that may wait of one issuer, of mail and of back-channel logout calls each. What is beyond it is dropped, counted \
                 and audited. A tenth of mail is kept for what tells people of changes, so that a flood of codes cannot keep it away.",
            ),
    ],
};

/// Mail to users.
pub struct Mail {
    /// The server that takes mail; `None`: nothing is sent.
    pub smtp: Option<SmtpServer>,
    /// The sender; always there beside a server.
    pub from: Option<Sender>,
    /// Most that may wait of one issuer.
    pub queue: u32,
}

/// How the connection to a server of mail is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// From the beginning (RFC 8314 section 3.3).
    Implicit,
    /// By STARTTLS (RFC 3207), without which nothing is sent.
    Required,
    /// By STARTTLS where the server offers it, without a look at its certificate: it is on this machine.
    OnThisMachine,
}

/// A server that takes mail (RFC 6409).
#[derive(Clone)]
pub struct SmtpServer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is encrypted.
    pub tls: SmtpTls,
    /// User and password (RFC 4954).
    pub login: Option<(String, SecretString)>,
}

/// The sender of mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The name that is shown.
    pub name: Option<String>,
    /// The address.
    pub address: String,
}

impl SmtpServer {
    /// Reads `smtp://` and `smtps://` URLs.
    fn parse(text: &str) -> Result<Self, Mistake> {
        const MEND: &str =
            "write one, as in \"smtp://user:password@mail.example.com:587\" or \"smtps://mail.example.com\"";
        let url = Url::parse(text).map_err(|_| Mistake::new("is not a URL", MEND))?;
        let implicit = match url.scheme() {
            "smtps" => true,
            "smtp" => false,
            _ => return Err(Mistake::new("is neither an smtp nor an smtps URL", MEND)),
        };
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(Mistake::new("has something behind host and port", MEND));
        }
        // The URL standard gives hosts of such schemes back as they were written.
        let (host, is_here) = match url.host() {
            Some(Host::Ipv4(address)) => (address.to_string(), address.is_loopback()),
            Some(Host::Ipv6(address)) => {
                (address.to_string(), IpAddr::V6(address).to_canonical().is_loopback())
            }
            Some(Host::Domain(name)) if !name.is_empty() => match name.parse::<IpAddr>() {
                Ok(address) => (address.to_string(), address.is_loopback()),
                Err(_) => (name.to_ascii_lowercase(), name.eq_ignore_ascii_case("localhost")),
            },
            _ => return Err(Mistake::new("names no host", MEND)),
        };
        if host.contains(|c: char| c.is_control() || c == '%') {
            return Err(Mistake::new("names no host", MEND));
        }
        let (port, tls) = match (implicit, is_here) {
            (true, _) => (465, SmtpTls::Implicit),
            (false, true) => (25, SmtpTls::OnThisMachine),
            (false, false) => (587, SmtpTls::Required),
        };
        Ok(Self { host, port: url.port().unwrap_or(port), tls, login: login(&url)? })
    }
}

/// User and password of a URL; both or none.
fn login(url: &Url) -> Result<Option<(String, SecretString)>, Mistake> {
    let plain = |part: &str| {
        let decoded = percent_encoding::percent_decode_str(part).decode_utf8().ok();
        decoded.filter(|text| !text.contains(['\r', '\n', '\0'])).map(|text| text.into_owned())
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        (user, Some(password)) if !user.is_empty() && !password.is_empty() => {
            let broken =
                || Mistake::new("has a user or password that is not text", "write it in UTF-8, with `%`");
            let user = plain(user).ok_or_else(broken)?;
            let password = plain(password).ok_or_else(broken)?;
            Ok(Some((user, SecretString::new(password))))
        }
        _ => Err(Mistake::new("has a user without a password, or the other way round", "write both or none")),
    }
}

impl Sender {
    /// Reads an address, or a name and an address in angle brackets.
    fn parse(text: &str) -> Option<Self> {
        if text.chars().any(char::is_control) {
            return None;
        }
        let text = text.trim();
        let (name, address) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
            Some((name, address)) => (name.trim().trim_matches('"').trim(), address),
            None => ("", text),
        };
        let (local, domain) = address.rsplit_once('@')?;
        let is_valid = EmailAddress::is_valid_local_part(local) && EmailAddress::is_valid_domain(domain);
        let name = (!name.is_empty()).then(|| name.to_owned());
        is_valid.then(|| Self { name, address: address.to_owned() })
    }
}

/// Checks a mailbox.
pub(crate) fn check_mailbox(text: &str) -> Result<(), Mistake> {
    let mend = "write an address, as in \"no-reply@example.com\" or \"Example <no-reply@example.com>\"";
    Sender::parse(text).map(drop).ok_or_else(|| Mistake::new("is not an address of mail", mend))
}

pub(crate) fn build(reader: &mut Reader) -> Mail {
    let url = reader.secret(URL, URL_FILE);
    let smtp = match url.as_ref().map(|url| SmtpServer::parse(url.expose())) {
        None => None,
        Some(Ok(server)) => Some(server),
        Some(Err(Mistake { problem, mend })) => {
            let key = reader.secret_from(URL, URL_FILE);
            reader.refuse(key, problem, mend);
            None
        }
    };
    let from = reader.optional_text(FROM).and_then(|text| Sender::parse(&text));
    if from.is_none() && (reader.said(URL) || reader.said(URL_FILE)) && !reader.failed(FROM) {
        reader.refuse(FROM, "has no value, but mail is to be sent", "set it, as in \"no-reply@example.com\"");
    }
    Mail { smtp, from, queue: reader.small_count(QUEUE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> SmtpServer {
        SmtpServer::parse(text).unwrap_or_else(|mistake| panic!("{text}: {}", mistake.problem))
    }

    #[test]
    fn the_scheme_and_the_host_say_how_it_is_encrypted() {
        for (text, host, port, tls) in [
            ("smtp://mail.example.com", "mail.example.com", 587, SmtpTls::Required),
            ("smtp://10.0.0.7:25", "10.0.0.7", 25, SmtpTls::Required),
            ("smtps://mail.example.com", "mail.example.com", 465, SmtpTls::Implicit),
            ("smtps://localhost:2465/", "localhost", 2465, SmtpTls::Implicit),
            ("smtp://LOCALHOST", "localhost", 25, SmtpTls::OnThisMachine),
            ("smtp://127.0.0.1:2525", "127.0.0.1", 2525, SmtpTls::OnThisMachine),
            ("smtp://[::1]:2525", "::1", 2525, SmtpTls::OnThisMachine),
            ("smtp://localhost.example.com", "localhost.example.com", 587, SmtpTls::Required),
        ] {
            let server = server(text);
            assert_eq!((server.host.as_str(), server.port, server.tls), (host, port, tls), "{text}");
            assert!(server.login.is_none());
        }
    }

    #[test]
    fn user_and_password_are_decoded() {
        let (user, password) = server("smtp://ann%40example.com:p%3Aw%C3%A4@mail.example.com").login.unwrap();
        assert_eq!((user.as_str(), password.expose()), ("ann@example.com", "p:wä"));
    }

    #[test]
    fn other_urls_are_refused() {
        for text in [
            "mail.example.com",
            "mail.example.com:25",
            "http://mail.example.com",
            "smtp://",
            "smtp:mail",
            "smtp://host/path",
            "smtp://host?tls=none",
            "smtp://user@host",
            "smtp://:password@host",
            "smtp://user:pass%0D%0AQUIT@host",
            "smtp://user:%FF@host",
            "smtp://ho%0dst",
        ] {
            assert!(SmtpServer::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        let named = Sender::parse("Example, Inc. <no-reply@example.com>").unwrap();
        assert_eq!(
            (named.name.as_deref(), named.address.as_str()),
            (Some("Example, Inc."), "no-reply@example.com")
        );
        assert_eq!(Sender::parse("\"Example\" <a@b.example>").unwrap().name.as_deref(), Some("Example"));
        assert_eq!(Sender::parse("a@localhost").unwrap().name, None);
        for text in ["", "a", "@b", "a@", "a@b\r\nBcc: c@d", "A <a@b", "a@b c@d", "<a@b> x"] {
            assert_eq!(Sender::parse(text), None, "{text:?}");
        }
    }
}
