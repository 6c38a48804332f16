//! Sends a request: looks up the name, checks the addresses, connects to one of them, speaks HTTP/1.1 over it.
//!
//! One connection a request: those who are called are many, and each is called rarely.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::address::is_public;
use crate::request::{OutboundAnswer, OutboundError, OutboundRequest, Reach};

/// The most addresses of one name that are tried.
const MOST_ADDRESSES: usize = 4;

/// Sends requests.
pub struct Outbound {
    agent: String,
    connector: OnceCell<TlsConnector>,
    names: Names,
}

/// What names stand for.
enum Names {
    /// What the system says.
    System,
    /// What a test says.
    #[cfg(test)]
    Fixed(Vec<(&'static str, Vec<IpAddr>)>),
    /// The same for every name, and another address each time that it is looked up.
    #[cfg(test)]
    Changing { turns: Vec<IpAddr>, looked_up: Arc<AtomicUsize> },
}

/// A task that ends with its owner.
struct Aborted(JoinHandle<Result<(), hyper::Error>>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Outbound {
    /// With the machine's root certificates (or those of `SSL_CERT_FILE`), which are read at the first request by https.
    /// `version` is this build's, for `User-Agent`.
    #[must_use]
    pub fn new(version: &str) -> Self {
        Self { agent: format!("symbolon/{version}"), connector: OnceCell::new(), names: Names::System }
    }

    /// Trusts these roots, and knows these names alone.
    #[cfg(test)]
    pub(crate) fn of_test(roots: RootCertStore, names: Vec<(&'static str, Vec<IpAddr>)>) -> Self {
        let connector = OnceCell::from(connector(roots).unwrap());
        Self { agent: "symbolon/test".to_owned(), connector, names: Names::Fixed(names) }
    }

    /// Trusts nobody, and finds another address each time that a name is looked up.
    #[cfg(test)]
    pub(crate) fn of_changing_names(turns: Vec<IpAddr>, looked_up: Arc<AtomicUsize>) -> Self {
        Self {
            names: Names::Changing { turns, looked_up },
            ..Self::of_test(RootCertStore::empty(), Vec::new())
        }
    }

    /// Sends a request, and reads its answer.
    ///
    /// # Errors
    /// [`OutboundError`].
    pub async fn send(
        &self,
        request: OutboundRequest,
        reach: Reach,
    ) -> Result<OutboundAnswer, OutboundError> {
        let within = request.within;
        let target = Target::of(&request.url, reach)?;
        let sent = self.exchange(request, &target, reach);
        timeout(within, sent).await.unwrap_or(Err(OutboundError::TimedOut(within)))
    }

    async fn exchange(
        &self,
        request: OutboundRequest,
        target: &Target,
        reach: Reach,
    ) -> Result<OutboundAnswer, OutboundError> {
        let addresses = self.addresses(target, reach).await?;
        // So that one address that does not answer leaves time for the next.
        let share = request.within / u32::try_from(addresses.len() + 1).unwrap_or(2);
        let mut failure = "it has no address".to_owned();
        for address in addresses {
            match timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return self.speak(request, target, stream).await,
                Ok(Err(error)) => failure = format!("{address}: {error}"),
                Err(_) => failure = format!("{address}: no connection within {share:?}"),
            }
        }
        Err(OutboundError::Unreachable(failure))
    }

    /// The addresses of a target that may be called.
    async fn addresses(&self, target: &Target, reach: Reach) -> Result<Vec<SocketAddr>, OutboundError> {
        let found = match &target.host {
            Host::Ipv4(address) => vec![SocketAddr::new(IpAddr::V4(*address), target.port)],
            Host::Ipv6(address) => vec![SocketAddr::new(IpAddr::V6(*address), target.port)],
            Host::Domain(name) => self.look_up(name, target.port).await?,
        };
        let first = found.first().map(SocketAddr::ip);
        let mut allowed = found;
        allowed.retain(|address| reach == Reach::Anywhere || is_public(address.ip()));
        allowed.truncate(MOST_ADDRESSES);
        match first {
            Some(address) if allowed.is_empty() => {
                Err(OutboundError::Forbidden { host: target.host.to_string(), address })
            }
            _ => Ok(allowed),
        }
    }

    async fn look_up(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, OutboundError> {
        let unknown = |reason: String| OutboundError::Unknown { host: name.to_owned(), reason };
        let found: Vec<_> = match &self.names {
            Names::System => {
                lookup_host((name, port)).await.map_err(|error| unknown(error.to_string()))?.collect()
            }
            #[cfg(test)]
            Names::Fixed(names) => names
                .iter()
                .filter(|(known, _)| *known == name)
                .flat_map(|(_, addresses)| addresses)
                .map(|address| SocketAddr::new(*address, port))
                .collect(),
            #[cfg(test)]
            Names::Changing { turns, looked_up } => {
                let turn = turns.get(looked_up.fetch_add(1, Ordering::SeqCst));
                turn.map(|address| SocketAddr::new(*address, port)).into_iter().collect()
            }
        };
        if found.is_empty() { Err(unknown("it has no address".to_owned())) } else { Ok(found) }
    }

    async fn speak(
        &self,
        request: OutboundRequest,
        target: &Target,
        stream: TcpStream,
    ) -> Result<OutboundAnswer, OutboundError> {
        let Some(name) = &target.tls else {
            return self.over(TokioIo::new(stream), request, target).await;
        };
        let connector = self.connector.get_or_try_init(trusting_the_machine).await.map_err(unreachable)?;
        let stream = connector.connect(name.clone(), stream).await.map_err(unreachable)?;
        self.over(TokioIo::new(stream), request, target).await
    }

    async fn over<S>(
        &self,
        stream: S,
        request: OutboundRequest,
        target: &Target,
    ) -> Result<OutboundAnswer, OutboundError>
    where
        S: Read + Write + Unpin + Send + 'static,
    {
        let OutboundRequest { method, headers, body, longest, .. } = request;
        let mut message = Request::builder()
            .method(method)
            .uri(&*target.path)
            .body(Full::new(body))
            .map_err(unreachable)?;
        *message.headers_mut() = headers;
        let own = [(header::HOST, &target.authority), (header::USER_AGENT, &self.agent)];
        for (name, value) in own {
            message.headers_mut().insert(name, HeaderValue::from_str(value).map_err(unreachable)?);
        }
        let (mut sender, connection) = http1::handshake(stream).await.map_err(unreachable)?;
        let _connection = Aborted(tokio::spawn(connection));
        let (head, body) = sender.send_request(message).await.map_err(unreachable)?.into_parts();
        let body = read(body, head.status, longest).await?;
        Ok(OutboundAnswer { status: head.status, headers: head.headers, body })
    }
}

/// Reads a body to its end, if it is no longer than `longest`.
async fn read(mut body: Incoming, status: StatusCode, longest: usize) -> Result<Bytes, OutboundError> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(unreachable)?.into_data() else { continue };
        if whole.len() + data.len() > longest {
            return Err(OutboundError::TooLong(status));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// What a URL asks for.
struct Target {
    host: Host<String>,
    port: u16,
    /// Whom the certificate must be for; `None` for http.
    tls: Option<ServerName<'static>>,
    /// `Host` (RFC 9110 section 7.2).
    authority: String,
    path: String,
}

impl Target {
    fn of(url: &Url, reach: Reach) -> Result<Self, OutboundError> {
        let refuse = |why| Err(OutboundError::Url(why));
        let is_tls = match url.scheme() {
            "https" => true,
            "http" if reach == Reach::Anywhere => false,
            "http" => return refuse("it is not https"),
            _ => return refuse("it is neither https nor http"),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("it has a user or a password");
        }
        let (Some(host), Some(port)) = (url.host().map(|host| host.to_owned()), url.port_or_known_default())
        else {
            return refuse("it has no host");
        };
        let tls = match &host {
            _ if !is_tls => None,
            Host::Domain(name) => {
                // A name with a dot at its end is in no certificate.
                let name = name.strip_suffix('.').unwrap_or(name).to_owned();
                let Ok(name) = ServerName::try_from(name) else { return refuse("TLS knows no such host") };
                Some(name)
            }
            Host::Ipv4(address) => Some(ServerName::from(IpAddr::V4(*address))),
            Host::Ipv6(address) => Some(ServerName::from(IpAddr::V6(*address))),
        };
        let named = url.host_str().unwrap_or_default();
        let authority = url.port().map_or_else(|| named.to_owned(), |port| format!("{named}:{port}"));
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        Ok(Self { host, port, tls, authority, path })
    }
}

fn unreachable(error: impl std::fmt::Display) -> OutboundError {
    OutboundError::Unreachable(error.to_string())
}

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
