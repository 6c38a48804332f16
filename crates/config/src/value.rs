//! Values: one text form for all sources, parsed by the kind of the key.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use symbolon_crypto::SecretString;

use super::error::Mistake;
use super::key::ValueKind;
use super::sections::{issuer, mail};
use super::units::{Rate, format_duration, format_size, parse_duration, parse_rate, parse_size};

/// A valid value of a key. `Display` writes it as in the file, and hides secrets.
pub(super) enum Value {
    Switch(bool),
    Count(u64),
    Duration(Duration),
    Size(u64),
    Rate(Option<Rate>),
    Address(SocketAddr),
    Path(PathBuf),
    Text(String),
    Networks(Vec<IpNet>),
    Hosts(Vec<String>),
    Secret(SecretString),
}

impl Value {
    /// Parses a value of this kind.
    pub(super) fn parse(kind: &ValueKind, text: &str) -> Result<Self, Mistake> {
        // An empty variable is mostly a mistake in a script, and could be taken to mean "no issuer".
        if text.is_empty() && !matches!(kind, ValueKind::Networks | ValueKind::Hosts) {
            return Err(Mistake::new("is empty", "give it a value, or leave it out"));
        }
        if text.contains('\u{FFFD}') {
            return Err(Mistake::new("is not UTF-8", "write it in UTF-8"));
        }
        match *kind {
            ValueKind::Switch => switch(text),
            ValueKind::Count { min, max } => {
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                let count = if digits { text.parse().ok() } else { None };
                within(count, min, max, u64::to_string).map(Self::Count)
            }
            ValueKind::Duration { min, max } => {
                within(Some(parse_duration(text)?), min, max, |d| format_duration(*d)).map(Self::Duration)
            }
            ValueKind::Size { min, max } => {
                within(Some(parse_size(text)?), min, max, |bytes| format_size(*bytes)).map(Self::Size)
            }
            ValueKind::Rate => parse_rate(text).map(Self::Rate),
            ValueKind::Address => address(text),
            ValueKind::Path => Ok(Self::Path(PathBuf::from(text))),
            ValueKind::Choice(words) if words.contains(&text) => Ok(Self::Text(text.to_owned())),
            ValueKind::Choice(words) => {
                Err(Mistake::new("is not one of the choices", format!("write {}", quoted(words))))
            }
            ValueKind::Networks => networks(text.split(',')),
            ValueKind::Hosts => hosts(text.split(',')),
            ValueKind::Issuer => issuer::check_url(text).map(|()| Self::Text(text.to_owned())),
            ValueKind::Url => url(text),
            ValueKind::CookieName => cookie_name(text),
            ValueKind::Secret | ValueKind::Secrets => Ok(Self::Secret(SecretString::from(text))),
            ValueKind::Name => name(text),
            ValueKind::Mailbox => mail::check_mailbox(text).map(|()| Self::Text(text.to_owned())),
        }
    }

    /// Parses an array from the file.
    pub(super) fn parse_list(kind: &ValueKind, items: &[String]) -> Result<Self, Mistake> {
        match kind {
            ValueKind::Networks => networks(items.iter().map(String::as_str)),
            ValueKind::Hosts => hosts(items.iter().map(String::as_str)),
            ValueKind::Secrets => Self::parse(kind, &items.join(",")),
            _ => Err(Mistake::new("is an array", "write one value, not an array")),
        }
    }

    /// Whether two values are equal, secrets included.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Secret(a), Self::Secret(b)) => a.expose() == b.expose(),
            (Self::Secret(_), _) | (_, Self::Secret(_)) => false,
            (a, b) => a.to_string() == b.to_string(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => write!(f, "{on}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Duration(duration) => f.write_str(&format_duration(*duration)),
            Self::Size(bytes) => f.write_str(&format_size(*bytes)),
            Self::Rate(Some(rate)) => write!(f, "{rate}"),
            Self::Rate(None) => f.write_str("off"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Text(text) => f.write_str(text),
            Self::Networks(networks) => {
                let texts: Vec<_> = networks.iter().map(IpNet::to_string).collect();
                f.write_str(&texts.join(","))
            }
            Self::Hosts(hosts) => f.write_str(&hosts.join(",")),
            Self::Secret(_) => f.write_str("<redacted>"),
        }
    }
}

fn hosts<'t>(items: impl Iterator<Item = &'t str>) -> Result<Value, Mistake> {
    let mut hosts = Vec::new();
    for item in items.map(str::trim).filter(|item| !item.is_empty()) {
        if !item.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_')) {
            return Err(Mistake::new(
                "is not a list of host names",
                "write names without scheme and port, such as \"node1.internal\"",
            ));
        }
        hosts.push(item.to_ascii_lowercase());
    }
    Ok(Value::Hosts(hosts))
}

fn switch(text: &str) -> Result<Value, Mistake> {
    match text {
        "true" | "on" | "1" => Ok(Value::Switch(true)),
        "false" | "off" | "0" => Ok(Value::Switch(false)),
        _ => Err(Mistake::new("is not a switch", "write \"true\" or \"false\" (or on, off, 1, 0)")),
    }
}

/// `value`, unless it is missing or outside the limits, which the error then names.
fn within<T: PartialOrd>(
    value: Option<T>,
    min: T,
    max: T,
    show: impl Fn(&T) -> String,
) -> Result<T, Mistake> {
    let mend = || format!("write {} to {}", show(&min), show(&max));
    match value {
        Some(value) if value < min => Err(Mistake::new("is too small", mend())),
        Some(value) if value > max => Err(Mistake::new("is too large", mend())),
        Some(value) => Ok(value),
        None => Err(Mistake::new("is not a whole number in range", mend())),
    }
}

fn address(text: &str) -> Result<Value, Mistake> {
    let localhost = text.strip_prefix("localhost:").and_then(|port| port.parse::<u16>().ok());
    let address = match localhost {
        Some(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => text.parse().ok(),
    };
    address.map(Value::Address).ok_or_else(|| {
        Mistake::new(
            "is not an address to listen on",
            "write IP:PORT, as in \"127.0.0.1:8080\" or \"[::1]:8080\"",
        )
    })
}

fn networks<'a>(items: impl Iterator<Item = &'a str>) -> Result<Value, Mistake> {
    let mut networks = Vec::new();
    for item in items.map(str::trim).filter(|item| !item.is_empty()) {
        let network = match item.parse::<IpAddr>() {
            Ok(address) => Ok(IpNet::from(address)),
            Err(_) => item.parse::<IpNet>(),
        };
        networks.push(network.map_err(|_| {
            let problem = format!("holds {item:?}, which is neither an address nor a network");
            Mistake::new(problem, "write addresses and networks, as in \"10.0.0.7\" or \"10.0.0.0/8\"")
        })?);
    }
    Ok(Value::Networks(networks))
}

fn url(text: &str) -> Result<Value, Mistake> {
    let parsed =
        url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    match parsed {
        Some(url) if url.username().is_empty() && url.password().is_none() => {
            Ok(Value::Text(text.to_owned()))
        }
        Some(_) => Err(Mistake::new("carries a user name or password", "leave them out of the URL")),
        None => {
            Err(Mistake::new("is not an http or https URL", "write one, as in \"http://127.0.0.1:4318\""))
        }
    }
}

/// RFC 6265 section 4.1.1: a cookie name is a token of RFC 9110 section 5.6.2.
fn cookie_name(text: &str) -> Result<Value, Mistake> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.bytes().all(token) && text.len() <= 128 {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Mistake::new("is not the name of a cookie", "use letters, digits, `_` and `-`, 128 at most"))
}

fn name(text: &str) -> Result<Value, Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if text.bytes().all(plain) && text.len() <= 32 {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Mistake::new("is not a plain name", "use letters, digits, `_` and `-`, 32 at most"))
}

/// `"a", "b" or "c"`.
fn quoted(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
