//! A cheap HTTP/1.1 client: one keep-alive connection, one request at a time, no allocation per request.
//!
//! The caller hands over finished request bytes ([`request`]) and borrows the answer. Reading and writing
//! interleave, so that a server that streams its answer while it still reads the request cannot lock up.

pub mod request;
mod response;
mod transport;

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

pub use response::Response;
use response::{Parser, Progress};
use transport::Transport;

use crate::clock;

/// The largest answer that is read.
const MAX_RESPONSE: usize = 256 * 1024 * 1024;
/// The free space that a read begins with.
const READ_ROOM: usize = 4096;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection: nobody listens there, or the network refused.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What happened.
        source: io::Error,
    },
    /// Connecting took longer than allowed.
    #[error("cannot connect to {0} in time")]
    ConnectTimeout(SocketAddr),
    /// No complete answer within the request's time.
    #[error("no answer in time")]
    Timeout,
    /// The connection ended before the answer did.
    #[error("the connection was closed before the answer was complete")]
    Closed,
    /// Reading or writing failed.
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
    /// The answer is not HTTP/1.1 (RFC 9112).
    #[error("the answer is not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// The answer is larger than 256 MiB.
    #[error("the answer is too large")]
    TooLarge,
}

impl ClientError {
    /// A short name to count by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect",
            Self::ConnectTimeout(_) => "connect_timeout",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Io(_) => "io",
            Self::Malformed(_) => "malformed",
            Self::TooLarge => "too_large",
        }
    }
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the TCP connection.
    pub connect: Duration,
    /// From the first byte sent to the last byte read.
    pub request: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), request: Duration::from_secs(30) }
    }
}

/// One keep-alive connection.
pub struct Connection {
    transport: Transport,
    buffer: Vec<u8>,
    filled: usize,
    parser: Parser,
    alarm: Pin<Box<Sleep>>,
    timeout: Duration,
    reusable: bool,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// [`ClientError::Connect`], [`ClientError::ConnectTimeout`]
    pub async fn open(address: SocketAddr, timeouts: Timeouts) -> Result<Self, ClientError> {
        let transport = tokio::time::timeout(timeouts.connect, Transport::connect(address))
            .await
            .map_err(|_| ClientError::ConnectTimeout(address))?
            .map_err(|source| ClientError::Connect { address, source })?;
        Ok(Self {
            transport,
            buffer: vec![0; 16 * 1024],
            filled: 0,
            parser: Parser::new(),
            alarm: Box::pin(tokio::time::sleep(timeouts.request)),
            timeout: timeouts.request,
            reusable: true,
        })
    }

    /// Whether the next request may use this connection: no failure, and no `Connection: close` (RFC 9112 9.6).
    pub fn is_reusable(&self) -> bool {
        self.reusable
    }

    /// Sends a whole request and reads the whole answer.
    ///
    /// # Errors
    /// Every [`ClientError`] but those of connecting; afterwards the connection is not reusable.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Response<'_>, ClientError> {
        self.filled = 0;
        self.parser = Parser::new();
        self.reusable = false;
        let started = clock::now();
        let mut sending = Sending { rest: request, failed: None };
        poll_fn(|cx| self.poll_exchange(cx, &mut sending, started)).await?;
        // An answer that came before the whole request was taken leaves the connection out of step.
        self.reusable = sending.rest.is_empty() && !self.parser.closes();
        self.parser.response(&self.buffer).ok_or(ClientError::Malformed("no head"))
    }

    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        sending: &mut Sending<'_>,
        started: Instant,
    ) -> Poll<Result<(), ClientError>> {
        sending.poll(&mut self.transport, cx);
        loop {
            match self.poll_fill(cx) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(
                        match (self.parser.end_of_stream(self.filled), sending.failed.take()) {
                            (true, _) => Ok(()),
                            (false, Some(error)) => Err(error.into()),
                            (false, None) => Err(ClientError::Closed),
                        },
                    );
                }
                Poll::Ready(Ok(_)) => match self.parser.advance(&mut self.buffer, self.filled) {
                    Ok(Progress::Complete) => return Poll::Ready(Ok(())),
                    Ok(Progress::Partial) => {}
                    Err(error) => return Poll::Ready(Err(error)),
                },
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return self.poll_alarm(cx, started),
            }
        }
    }

    /// Reads once into the buffer's free space, which it makes if needed.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ClientError>> {
        if self.buffer.len() - self.filled < READ_ROOM {
            if self.buffer.len() >= MAX_RESPONSE {
                return Poll::Ready(Err(ClientError::TooLarge));
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let read = std::task::ready!(self.transport.poll_read(cx, room))?;
        self.filled += read;
        Poll::Ready(Ok(read))
    }

    /// The alarm is set anew only when it rings, not for each request: setting a timer costs more than asking.
    fn poll_alarm(&mut self, cx: &mut Context<'_>, started: Instant) -> Poll<Result<(), ClientError>> {
        while self.alarm.as_mut().poll(cx).is_ready() {
            let deadline = started + self.timeout;
            if clock::now() >= deadline {
                return Poll::Ready(Err(ClientError::Timeout));
            }
            self.alarm.as_mut().reset(deadline.into());
        }
        Poll::Pending
    }
}

/// A request on its way out.
struct Sending<'a> {
    rest: &'a [u8],
    /// A failed write is told only when no answer follows: a server may refuse a body before it has read it.
    failed: Option<io::Error>,
}

impl Sending<'_> {
    fn poll(&mut self, transport: &mut Transport, cx: &mut Context<'_>) {
        while !self.rest.is_empty() && self.failed.is_none() {
            match transport.poll_write(cx, self.rest) {
                Poll::Ready(Ok(0)) => self.failed = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => self.rest = self.rest.get(written..).unwrap_or_default(),
                Poll::Ready(Err(error)) => self.failed = Some(error),
                Poll::Pending => return,
            }
        }
    }
}
