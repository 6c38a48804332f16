//! Sends requests to a running server: one HTTP/1.1 connection per request, over TLS for https.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use symbolon_config::Config;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::ApiError;

/// The longest answer that is read; no page of a listing is longer.
const LONGEST_ANSWER: usize = 64 << 20;

/// Where the server is.
pub(super) struct Remote {
    authority: String,
    /// The path in front of `/api/admin`.
    prefix: String,
    /// The server's name and the trusted certificates for TLS; `None` for plain HTTP.
    tls: Option<(ServerName<'static>, Arc<ClientConfig>)>,
}

/// An answer whose body is not read yet. The connection ends with it.
pub(super) struct Opened {
    pub(super) status: StatusCode,
    pub(super) body: Incoming,
    pub(super) connection: (SendRequest<Body>, Aborted),
}

/// A task that ends with its owner.
pub(super) struct Aborted(JoinHandle<Result<(), hyper::Error>>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Remote {
    /// The server at a URL. `trust`: the certificates to trust over TLS.
    pub(super) fn at(url: &str, trust: Option<Arc<ClientConfig>>) -> Result<Self, ApiError> {
        let refuse = |why| ApiError::Url(url.to_owned(), why);
        let uri: Uri = url.parse().map_err(|_| refuse("it is not one"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refuse("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| refuse("it has no host"))?;
        let host = authority.host();
        let tls = if is_tls {
            let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
                .map_err(|_| refuse("TLS knows no such host"))?;
            let trust = trust.ok_or_else(|| {
                refuse("it is https: name a file with the server's certificate, or with its CA's, by --ca")
            })?;
            Some((name, trust))
        } else {
            None
        };
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { authority: format!("{host}:{port}"), prefix, tls })
    }

    /// The management listener of the server that this configuration describes.
    pub(super) fn of(config: &Config, trust: Option<Arc<ClientConfig>>) -> Result<Self, ApiError> {
        let address = reachable(config.listen.management);
        if address.port() == 0 {
            return Err(ApiError::NoPort);
        }
        let scheme = if config.listen.management_tls.is_some() { "https" } else { "http" };
        Self::at(&format!("{scheme}://{address}"), trust)
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), ApiError> {
        let Opened { status, body, connection: _connection } = self.open(request).await?;
        let body = Limited::new(body, LONGEST_ANSWER).collect().await.map_err(|error| self.failed(&error))?;
        Ok((status, body.to_bytes()))
    }

    /// Sends a request; the body of the answer is read by the caller, as it comes.
    pub(super) async fn open(&self, request: Request<Body>) -> Result<Opened, ApiError> {
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| self.not_listening(&error))?;
        match &self.tls {
            None => self.exchange(stream, request).await,
            Some((name, trust)) => {
                let connector = TlsConnector::from(Arc::clone(trust));
                let stream =
                    connector.connect(name.clone(), stream).await.map_err(|error| self.untrusted(&error))?;
                self.exchange(stream, request).await
            }
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        mut request: Request<Body>,
    ) -> Result<Opened, ApiError> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = format!("{}{path}", self.prefix).parse().map_err(|error| self.failed(&error))?;
        let host = HeaderValue::from_str(&self.authority).map_err(|error| self.failed(&error))?;
        request.headers_mut().insert(header::HOST, host);
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.failed(&error))?;
        let connection = Aborted(tokio::spawn(connection));
        let response = sender.send_request(request).await.map_err(|error| {
            let mend = if error.is_parse() && self.tls.is_none() { "; it may speak https" } else { "" };
            self.failed(&format!("{error}{mend}"))
        })?;
        let status = response.status();
        Ok(Opened { status, body: response.into_body(), connection: (sender, connection) })
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> ApiError {
        ApiError::Unreachable { address: self.authority.clone(), reason: error.to_string() }
    }

    /// The error where nothing takes the connection, with what may help.
    fn not_listening(&self, error: &io::Error) -> ApiError {
        let mend = "does the server run, and is this its management_listen? --server names another address";
        self.failed(&format!("{error}; {mend}"))
    }

    /// The error of a failed handshake, with what may help.
    fn untrusted(&self, error: &io::Error) -> ApiError {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let mend = match inner {
            Some(rustls::Error::InvalidCertificate(_)) => {
                "; name a file with the server's certificate, or with its CA's, by --ca (a renewed certificate is \
                 shown after SIGHUP)"
            }
            Some(rustls::Error::InvalidMessage(_)) => "; it may speak plain http",
            _ => "",
        };
        self.failed(&format!("{error}{mend}"))
    }
}

/// The address by which to reach a server: loopback, if it listens on all addresses.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let of = |url| Remote::at(url, None).map(|remote| (remote.authority, remote.prefix));
        assert_eq!(of("http://127.0.0.1:9090").unwrap(), ("127.0.0.1:9090".into(), String::new()));
        assert_eq!(of("http://[::1]:9/x/").unwrap(), ("[::1]:9".into(), "/x".into()));
        assert_eq!(of("http://admin.internal").unwrap().0, "admin.internal:80");
        for bad in ["https://x", "ftp://x", "127.0.0.1:9090", "/x", ""] {
            assert!(of(bad).unwrap_err().is_usage(), "{bad}");
        }
        assert!(of("https://x").unwrap_err().to_string().contains("--ca"));
    }

    #[test]
    fn everywhere_is_here() {
        assert_eq!(reachable(([0, 0, 0, 0], 1).into()), ([127, 0, 0, 1], 1).into());
        assert_eq!(reachable("[::]:1".parse().unwrap()), "[::1]:1".parse().unwrap());
        assert_eq!(reachable(([10, 0, 0, 1], 1).into()), ([10, 0, 0, 1], 1).into());
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_named() {
        // Nothing listens there, and the system gives this port to no test.
        let remote = Remote::at("http://127.0.0.1:1", None).unwrap();
        let error = remote.send(Request::new(Body::empty())).await.unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
        assert!(error.to_string().contains("--server"), "what mends it: {error}");
    }
}
