//! Who is asked, and how.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use url::Url;

/// The version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112): a connection carries one request at a time.
    #[default]
    Http1,
    /// HTTP/2 (RFC 9113): by ALPN over TLS, with prior knowledge otherwise.
    Http2 {
        /// Requests in flight at most on one connection; 0 counts as 1.
        streams: usize,
    },
}

impl Protocol {
    /// Requests in flight at most on one connection.
    pub fn streams(self) -> usize {
        match self {
            Self::Http1 => 1,
            Self::Http2 { streams } => streams.max(1),
        }
    }

    /// Its name in ALPN (RFC 7301 6).
    fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 { .. } => b"h2",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 { .. } => "HTTP/2",
        })
    }
}

/// How peers are asked, whoever they are.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The version of HTTP.
    pub protocol: Protocol,
    /// Whom to trust behind `https`; without, only `http` can be asked.
    pub trust: Option<Arc<ClientConfig>>,
}

/// Somebody who is asked: an address, and what is spoken there.
#[derive(Clone)]
pub struct Peer {
    pub(super) address: SocketAddr,
    pub(super) protocol: Protocol,
    pub(super) tls: Option<Tls>,
}

/// The name to ask for (RFC 6066 3), and whom to trust.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) name: ServerName<'static>,
    pub(super) connector: TlsConnector,
}

impl Peer {
    /// Looks up the host of an `http` or `https` URL. All connections to this peer share their TLS sessions (RFC 8446
    /// 2.2).
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn of(url: &Url, way: &Way) -> Result<Self, String> {
        let host = url.host_str().ok_or("it has no host")?;
        // `host_str` keeps the brackets of an IPv6 address, which neither a look-up nor TLS wants.
        let name = host.trim_matches(['[', ']']);
        let tls = match url.scheme() {
            "http" => None,
            "https" => Some(Tls::of(name, way)?),
            _ => return Err("only http and https can be asked".into()),
        };
        let address = (name, url.port_or_known_default().unwrap_or(80))
            .to_socket_addrs()
            .map_err(|error| format!("cannot look up {host}: {error}"))?
            .next()
            .ok_or_else(|| format!("{host} has no address"))?;
        Ok(Self { address, protocol: way.protocol, tls })
    }

    /// Who is at an address, without TLS.
    pub fn plain(address: SocketAddr, protocol: Protocol) -> Self {
        Self { address, protocol, tls: None }
    }

    /// The version of HTTP.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether connections are encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl Tls {
    fn of(name: &str, way: &Way) -> Result<Self, String> {
        let trust = way.trust.as_deref().ok_or("it is https, and nobody is trusted")?;
        let name = ServerName::try_from(name.to_owned()).map_err(|_| "TLS knows no such host")?;
        let mut config = trust.clone();
        config.alpn_protocols = vec![way.protocol.alpn().to_vec()];
        Ok(Self { name, connector: TlsConnector::from(Arc::new(config)) })
    }
}

/// HTTP/1.1 without TLS.
impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::plain(address, Protocol::Http1)
    }
}
