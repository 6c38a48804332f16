//! Sends OTLP over HTTP in binary form. One connection per batch, because batches are seconds apart.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use prost::Message;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use url::Url;

use super::message::ExportResponse;

/// Time limit of one attempt.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most that is read of an answer, which normally has a few bytes.
const LONGEST_ANSWER: usize = 64 << 10;
/// The longest Retry-After of a collector that is respected.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Why a batch was not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error("the collector cannot be reached: {0}")]
    Unreachable(String),
    #[error("the collector did not answer within {} s", TIMEOUT.as_secs())]
    TimedOut,
    #[error("the collector answered {0}")]
    Later(StatusCode, Option<Duration>),
    #[error("the collector refused the spans: {0}")]
    Refused(StatusCode),
}

impl ExportError {
    /// Whether to try again, and after which time if the collector names one. OTLP, "Failures": codes that are not
    /// listed there must not be retried.
    pub(super) fn retry(&self) -> Option<Option<Duration>> {
        match self {
            Self::Unreachable(_) | Self::TimedOut => Some(None),
            Self::Later(_, after) => Some(*after),
            Self::Refused(_) => None,
        }
    }
}

/// The address of the collector.
pub(super) struct Collector {
    host: String,
    port: u16,
    authority: String,
    path: String,
    tls: bool,
    agent: String,
    connector: OnceCell<TlsConnector>,
}

impl Collector {
    /// The collector at a base URL: spans are sent to `v1/traces` below it. `version` is this build's.
    pub(super) fn at(url: &Url, version: &str) -> Self {
        let host = url.host_str().unwrap_or_default();
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Self {
            // Only in a URL does an IPv6 address stand in brackets.
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default().unwrap_or(4318),
            authority,
            path: format!("{}/v1/traces", url.path().trim_end_matches('/')),
            tls: url.scheme() == "https",
            agent: format!("symbolon/{version}"),
            connector: OnceCell::new(),
        }
    }

    /// Trusts these roots instead of the machine's.
    #[cfg(test)]
    pub(super) fn trusting(mut self, roots: RootCertStore) -> Self {
        self.connector = OnceCell::from(connector(roots).unwrap());
        self
    }

    /// Sends one `ExportTraceServiceRequest`. Returns how many of its spans the collector rejected.
    pub(super) async fn send(&self, message: Bytes) -> Result<usize, ExportError> {
        tokio::time::timeout(TIMEOUT, self.exchange(message)).await.unwrap_or(Err(ExportError::TimedOut))
    }

    async fn exchange(&self, message: Bytes) -> Result<usize, ExportError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(unreachable)?;
        if !self.tls {
            return self.post(TokioIo::new(stream), message).await;
        }
        let connector = self.connector.get_or_try_init(trusting_the_machine).await.map_err(unreachable)?;
        let name = ServerName::try_from(self.host.clone()).map_err(unreachable)?;
        let stream = connector.connect(name, stream).await.map_err(unreachable)?;
        self.post(TokioIo::new(stream), message).await
    }

    async fn post<S>(&self, stream: S, message: Bytes) -> Result<usize, ExportError>
    where
        S: Read + Write + Unpin + Send + 'static,
    {
        let request = Request::post(&self.path)
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, &self.agent)
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .body(Body::from(message))
            .map_err(unreachable)?;
        let (mut sender, connection) = http1::handshake(stream).await.map_err(unreachable)?;
        // The task ends when the sender is dropped.
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await.map_err(unreachable)?.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await.map(|body| body.to_bytes());
        answered(head.status, &head.headers, &body.unwrap_or_default())
    }
}

fn unreachable(error: impl std::fmt::Display) -> ExportError {
    ExportError::Unreachable(error.to_string())
}

/// OTLP, "OTLP/HTTP Response": even a 200 may reject some spans, and four other codes ask for a retry.
fn answered(status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Result<usize, ExportError> {
    if status.is_success() {
        let partial = ExportResponse::decode(body.clone()).ok().and_then(|response| response.partial_success);
        return Ok(partial.map_or(0, |partial| usize::try_from(partial.rejected_spans).unwrap_or(0)));
    }
    match status.as_u16() {
        429 | 502 | 503 | 504 => {
            let seconds =
                headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Err(ExportError::Later(status, seconds.map(|s| Duration::from_secs(s).min(LONGEST_WAIT))))
        }
        _ => Err(ExportError::Refused(status)),
    }
}

/// Reads the machine's root certificates (or those of `SSL_CERT_FILE`), once, and only for a collector with https.
async fn trusting_the_machine() -> io::Result<TlsConnector> {
    let read = || {
        let mut roots = RootCertStore::empty();
        // Unreadable certificates are skipped; the others are used.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(io::Error::other("this machine has no root certificates"));
        }
        connector(roots).map_err(io::Error::other)
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

fn connector(roots: RootCertStore) -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let of = |url: &str| {
            let collector = Collector::at(&Url::parse(url).unwrap(), "1");
            (collector.host, collector.port, collector.authority, collector.path, collector.tls)
        };
        let parts = |host: &str, port, authority: &str, path: &str, tls| {
            (host.to_owned(), port, authority.to_owned(), path.to_owned(), tls)
        };
        assert_eq!(of("http://[::1]:4318"), parts("::1", 4318, "[::1]:4318", "/v1/traces", false));
        assert_eq!(
            of("https://otel.example/x/"),
            parts("otel.example", 443, "otel.example", "/x/v1/traces", true)
        );
        assert_eq!(of("http://otel.example"), parts("otel.example", 80, "otel.example", "/v1/traces", false));
    }

    #[test]
    fn an_answer_says_whether_to_come_again() {
        let answer = |status: u16, headers: &HeaderMap, body: &'static [u8]| {
            answered(StatusCode::from_u16(status).unwrap(), headers, &Bytes::from_static(body))
        };
        let none = HeaderMap::new();
        assert_eq!(answer(200, &none, b"").unwrap(), 0);
        // partial_success { rejected_spans: 3 }
        assert_eq!(answer(200, &none, &[0x0a, 0x02, 0x08, 0x03]).unwrap(), 3);
        assert_eq!(answer(200, &none, b"no protobuf").unwrap(), 0);
        assert_eq!(answer(503, &none, b"").unwrap_err().retry(), Some(None));
        let mut later = HeaderMap::new();
        later.insert(header::RETRY_AFTER, "7".parse().unwrap());
        assert_eq!(answer(429, &later, b"").unwrap_err().retry(), Some(Some(Duration::from_secs(7))));
        later.insert(header::RETRY_AFTER, "86400".parse().unwrap());
        assert_eq!(answer(429, &later, b"").unwrap_err().retry(), Some(Some(LONGEST_WAIT)));
        for refused in [400, 401, 404, 413, 500] {
            assert_eq!(answer(refused, &later, b"").unwrap_err().retry(), None, "{refused}");
        }
    }
}
