//! Origins (RFC 6454) whose pages may call the login API: the issuer's own, and those of a list.

use serde::{Deserialize, Serialize};
use url::Url;

/// The most entries of a list.
pub const MOST_ORIGINS: usize = 50;

/// An origin that may call the login API. The first label of its host may be `*`, which stands for any one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AllowedOrigin(String);

/// Why a text is no such origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrigin {
    /// It is not `scheme://host[:port]` as browsers write it.
    #[error(
        "an origin is https://host or https://host:port in lower case, without a path and without its default port"
    )]
    Form,
    /// Scripts of a page that came without TLS could be anybody's.
    #[error("an origin must be https, but for localhost")]
    Insecure,
    /// A wildcard elsewhere, or one that stands for domains of different owners.
    #[error("* may only be the first label, below a domain that somebody can own")]
    Wildcard,
}

impl AllowedOrigin {
    /// Parses an entry.
    ///
    /// # Errors
    /// [`InvalidOrigin`]
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let wild = text.split_once("://*.").map(|(scheme, rest)| format!("{scheme}://{rest}"));
        let plain = wild.as_deref().unwrap_or(text);
        if plain.contains('*') {
            return Err(InvalidOrigin::Wildcard);
        }
        let url = Url::parse(plain).map_err(|_| InvalidOrigin::Form)?;
        // RFC 6454 6.2: what a browser sends. Anything else would never be equal to it.
        if url.origin().ascii_serialization() != plain {
            return Err(InvalidOrigin::Form);
        }
        let host = url.host_str().unwrap_or_default();
        let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        if url.scheme() != "https" && !(url.scheme() == "http" && is_here) {
            return Err(InvalidOrigin::Insecure);
        }
        if wild.is_some() && (url.domain().is_none() || psl::domain_str(host).is_none()) {
            return Err(InvalidOrigin::Wildcard);
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether this entry allows an origin as a browser sends it.
    pub fn allows(&self, origin: &str) -> bool {
        let Some((scheme, below)) = self.0.split_once("*.") else { return self.0 == origin };
        let label = origin.strip_prefix(scheme).and_then(|rest| rest.strip_suffix(below)?.strip_suffix('.'));
        label.is_some_and(is_plain_label)
    }
}

/// Whether a label is letters, digits and hyphens, and not one that stands for other letters (RFC 5890 2.3.2.1), which could
/// look like another.
fn is_plain_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(is_plain) && !label.starts_with("xn--")
}

impl TryFrom<String> for AllowedOrigin {
    type Error = InvalidOrigin;

    fn try_from(text: String) -> Result<Self, InvalidOrigin> {
        Self::parse(&text)
    }
}

impl From<AllowedOrigin> for String {
    fn from(origin: AllowedOrigin) -> Self {
        origin.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_an_origin_as_browsers_send_it() {
        for good in [
            "https://app.example",
            "https://app.example:8443",
            "https://*.app.example.com",
            "http://localhost:3000",
            "http://127.0.0.1:8080",
        ] {
            assert!(AllowedOrigin::parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", InvalidOrigin::Form),
            ("null", InvalidOrigin::Form),
            ("app.example", InvalidOrigin::Form),
            ("https://app.example/", InvalidOrigin::Form),
            ("https://app.example:443", InvalidOrigin::Form),
            ("https://App.example", InvalidOrigin::Form),
            ("https://user@app.example", InvalidOrigin::Form),
            ("http://app.example", InvalidOrigin::Insecure),
            ("*", InvalidOrigin::Wildcard),
            ("https://*", InvalidOrigin::Wildcard),
            ("https://*.com", InvalidOrigin::Wildcard),
            ("https://*.co.uk", InvalidOrigin::Wildcard),
            ("https://*.*.example.com", InvalidOrigin::Wildcard),
            ("https://a*.example.com", InvalidOrigin::Wildcard),
            ("https://*.127.0.0.1", InvalidOrigin::Wildcard),
        ] {
            assert_eq!(AllowedOrigin::parse(bad), Err(why), "{bad}");
        }
    }

    #[test]
    fn a_wildcard_is_one_label() {
        let entry = AllowedOrigin::parse("https://*.shop.example.com:8443").unwrap();
        assert!(entry.allows("https://eu-1.shop.example.com:8443"));
        for other in [
            "https://shop.example.com:8443",
            "https://.shop.example.com:8443",
            "https://a.b.shop.example.com:8443",
            "https://eu.shop.example.com",
            "http://eu.shop.example.com:8443",
            "https://evil.example/.shop.example.com:8443",
            "https://eushop.example.com:8443",
            "https://xn--e1b-0ob.shop.example.com:8443",
            "null",
        ] {
            assert!(!entry.allows(other), "{other}");
        }
    }
}
