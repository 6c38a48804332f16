//! What carries the bytes: TCP, or TLS over it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::{AlertDescription, CertificateError, Error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::peer::Tls;
use super::{ClientError, Peer, Protocol};

/// A byte stream to the target.
pub(super) enum Transport {
    /// Bare TCP.
    Plain(TcpStream),
    /// TLS 1.2 or 1.3.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Transport {
    /// Connects with Nagle's algorithm off.
    pub(super) async fn connect(peer: &Peer) -> Result<Self, ClientError> {
        let failed = |source| ClientError::Connect { address: peer.address, source };
        let stream = TcpStream::connect(peer.address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        match &peer.tls {
            None => Ok(Self::Plain(stream)),
            Some(tls) => Self::encrypt(stream, peer, tls).await,
        }
    }

    async fn encrypt(stream: TcpStream, peer: &Peer, tls: &Tls) -> Result<Self, ClientError> {
        let stream = tls.connector.connect(tls.name.clone(), stream).await;
        let stream = stream.map_err(|error| refused(error, peer, tls))?;
        let chosen = stream.get_ref().1.alpn_protocol();
        if matches!(peer.protocol, Protocol::Http2 { .. }) && chosen != Some(b"h2") {
            return Err(no_http2(peer, "it chose no protocol"));
        }
        Ok(Self::Tls(Box::new(stream)))
    }
}

/// What a handshake that failed says, and what may mend it.
fn refused(source: io::Error, peer: &Peer, tls: &Tls) -> ClientError {
    let mend = match source.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            return no_http2(peer, "it has none of the protocols asked for");
        }
        Some(Error::InvalidCertificate(error)) => match error {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "; the URL must name it as its certificate does"
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }
            | CertificateError::Revoked => "",
            _ => "; name a file with its certificate, or with its CA's, by --ca",
        },
        Some(Error::InvalidMessage(_)) => "; it may speak plain http",
        _ => "",
    };
    ClientError::Tls { name: tls.name.to_str().into_owned(), source, mend }
}

/// A peer that has no HTTP/2, and how it showed.
pub(super) fn no_http2(peer: &Peer, reason: impl ToString) -> ClientError {
    let over = if peer.is_tls() { " over TLS" } else { " over plain TCP" };
    ClientError::NoHttp2 { address: peer.address, over, reason: reason.to_string() }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, room),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, room),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
