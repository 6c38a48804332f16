//! A cheap HTTP client: connections that stay open, by HTTP/1.1 or HTTP/2, with TLS or without.
//!
//! The caller hands over finished request bytes ([`request`]), those of HTTP/1.1 whatever the peer speaks, and borrows
//! the answer.

mod alarm;
mod error;
mod http1;
mod http2;
mod message;
mod peer;
pub mod request;
mod response;
mod transport;

use std::time::Duration;

pub use error::ClientError;
pub(crate) use error::generator_lacks;
pub use http1::Unasked;
pub use peer::{Peer, Protocol, Way};
pub use response::Response;

use http1::Http1;
use http2::Http2;

/// The largest answer that is read.
const MAX_RESPONSE: usize = 256 * 1024 * 1024;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the connection, until a request can be sent on it.
    pub connect: Duration,
    /// From the first byte sent to the last byte read.
    pub request: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), request: Duration::from_secs(30) }
    }
}

/// What carries one request after another: a connection of HTTP/1.1, or a share in one of HTTP/2. It belongs to the
/// runtime that it was opened in.
pub struct Connection(Inner);

enum Inner {
    Http1(Http1),
    Http2(Http2),
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// [`ClientError::Connect`], [`ClientError::ConnectTimeout`], [`ClientError::Tls`], [`ClientError::NoHttp2`]
    pub async fn open(peer: &Peer, timeouts: Timeouts) -> Result<Self, ClientError> {
        let opening = async {
            Ok(Self(match peer.protocol {
                Protocol::Http1 => Inner::Http1(Http1::open(peer, timeouts).await?),
                Protocol::Http2 { .. } => Inner::Http2(Http2::open(peer, timeouts).await?),
            }))
        };
        in_time(peer, timeouts, opening).await
    }

    /// Another one that shares this one's HTTP/2 connection; none with HTTP/1.1.
    pub fn beside(&self) -> Option<Self> {
        match &self.0 {
            Inner::Http1(_) => None,
            Inner::Http2(share) => Some(Self(Inner::Http2(share.beside()))),
        }
    }

    /// Whether the next request may use this connection: no failure that ended it, no announcement of its end, and no
    /// end while it was idle.
    pub fn is_reusable(&mut self) -> bool {
        match &mut self.0 {
            Inner::Http1(connection) => connection.is_reusable(),
            Inner::Http2(share) => share.is_reusable(),
        }
    }

    /// What came without a request since this was asked last, with its bytes. HTTP/2 says itself which request an answer belongs to
    /// (RFC 9113 5.1), and has none.
    pub fn take_unasked(&mut self) -> Option<(Unasked, &[u8])> {
        match &mut self.0 {
            Inner::Http1(connection) => connection.take_unasked(),
            Inner::Http2(_) => None,
        }
    }

    /// Connects anew to the same peer. Those who share an HTTP/2 connection share the new one too.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn renew(&mut self, peer: &Peer, timeouts: Timeouts) -> Result<(), ClientError> {
        match &mut self.0 {
            Inner::Http1(_) => *self = Self::open(peer, timeouts).await?,
            Inner::Http2(share) => in_time(peer, timeouts, share.renew()).await?,
        }
        Ok(())
    }

    /// Sends a whole request and reads the whole answer.
    ///
    /// # Errors
    /// Every [`ClientError`] but those of connecting; afterwards a connection of HTTP/1.1 is not reusable.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Response<'_>, ClientError> {
        match &mut self.0 {
            Inner::Http1(connection) => connection.exchange(request).await,
            Inner::Http2(share) => share.exchange(request).await,
        }
    }
}

async fn in_time<T>(
    peer: &Peer,
    timeouts: Timeouts,
    connecting: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let connected = tokio::time::timeout(timeouts.connect, connecting).await;
    connected.unwrap_or(Err(ClientError::ConnectTimeout(peer.address)))
}
