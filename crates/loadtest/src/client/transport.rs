//! What carries the bytes. TLS becomes another variant here; HTTP/2 another connection beside HTTP/1.1's.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A byte stream to the target.
pub(super) enum Transport {
    /// Bare TCP.
    Plain(TcpStream),
}

impl Transport {
    /// Connects with Nagle's algorithm off.
    pub(super) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::Plain(stream))
    }

    /// Reads into `room`; 0 is the end of the stream.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(room);
        let polled = match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, &mut buffer),
        };
        polled.map_ok(|()| buffer.filled().len())
    }

    /// Writes some of `bytes`.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }
}
