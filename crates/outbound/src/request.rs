//! A request, its answer, and why there is none.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use url::Url;

/// How long a request may take by default, from looking up the name to the last byte of the answer.
const WITHIN: Duration = Duration::from_secs(5);
/// The most bytes of an answer by default.
const LONGEST_ANSWER: usize = 64 << 10;

/// Where requests may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To public addresses, by https.
    Public,
    /// Everywhere, by http too.
    Anywhere,
}

/// A request.
#[derive(Clone)]
pub struct OutboundRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) within: Duration,
    pub(crate) longest: usize,
}

impl OutboundRequest {
    /// A GET.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Bytes::new())
    }

    /// A POST of a form (`application/x-www-form-urlencoded`).
    #[must_use]
    pub fn post_form(url: Url, fields: &[(&str, &str)]) -> Self {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        Self::new(Method::POST, url, Bytes::from(body)).with_header(header::CONTENT_TYPE, form)
    }

    /// A POST of a JSON document.
    #[must_use]
    pub fn post_json(url: Url, document: &serde_json::Value) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self::new(Method::POST, url, Bytes::from(document.to_string()))
            .with_header(header::CONTENT_TYPE, json)
    }

    fn new(method: Method, url: Url, body: Bytes) -> Self {
        let headers = HeaderMap::new();
        Self { method, url, headers, body, within: WITHIN, longest: LONGEST_ANSWER }
    }

    /// With this header, in place of another of its name. `Host` and the length are set when it is sent.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Ends after this time, instead of 5 s.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// Takes an answer of so many bytes at most, instead of 64 KiB.
    #[must_use]
    pub fn at_most(self, longest: usize) -> Self {
        Self { longest, ..self }
    }
}

/// An answer, whatever its status. A redirect is an answer like any other.
#[derive(Clone, Debug)]
pub struct OutboundAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OutboundError {
    /// The address is none that may be called, whatever it stands for.
    #[error("the address may not be called: {0}")]
    Url(&'static str),
    /// The name stands for an address of a private or special network, and for no other.
    #[error("{host} is the address {address}, which is not public (`outbound.allow_private` allows it)")]
    Forbidden {
        /// The host of the URL.
        host: String,
        /// What it stands for.
        address: IpAddr,
    },
    /// The name stands for nothing.
    #[error("{host} is not known: {reason}")]
    Unknown {
        /// The host of the URL.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// No connection, no TLS, or no answer of HTTP.
    #[error("{0}")]
    Unreachable(String),
    /// It took too long.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The answer has this status, and a body that is longer than was allowed.
    #[error("the answer ({0}) is too long")]
    TooLong(StatusCode),
}

impl OutboundError {
    /// A word for the audit log and for metrics.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Url(_) => "url",
            Self::Forbidden { .. } => "forbidden",
            Self::Unknown { .. } => "unknown_host",
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timed_out",
            Self::TooLong(_) => "too_long",
        }
    }
}
