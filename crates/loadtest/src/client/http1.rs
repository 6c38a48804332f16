//! HTTP/1.1 (RFC 9112): one request at a time, no allocation per request.
//!
//! Reading and writing interleave, so that a server that streams its answer while it still reads the request cannot
//! lock up.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::alarm::Alarm;
use super::response::{Parser, Progress, Response};
use super::transport::Transport;
use super::{ClientError, MAX_RESPONSE, Peer, Timeouts};
use crate::clock;

/// What came without a request (RFC 9112 9.2: an answer belongs to the request that it follows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// More than one answer to one request.
    Second,
    /// Something while nothing was asked.
    Idle,
}

impl Unasked {
    /// A short name to count by.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Second => "second_answer",
            Self::Idle => "answer_to_nobody",
        }
    }

    /// What was wrong about it.
    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Self::Second => "more came than the answer to the request",
            Self::Idle => "it came on a connection on which nothing was asked",
        }
    }
}

/// The free space that a read begins with.
const READ_ROOM: usize = 4096;

/// One keep-alive connection.
pub(super) struct Http1 {
    transport: Transport,
    buffer: Vec<u8>,
    filled: usize,
    parser: Parser,
    alarm: Alarm,
    reusable: bool,
    /// With its place in the buffer.
    unasked: Option<(Unasked, Range<usize>)>,
}

impl Http1 {
    pub(super) async fn open(peer: &Peer, timeouts: Timeouts) -> Result<Self, ClientError> {
        Ok(Self {
            transport: Transport::connect(peer).await?,
            buffer: vec![0; 16 * 1024],
            filled: 0,
            parser: Parser::new(),
            alarm: Alarm::after(timeouts.request),
            reusable: true,
            unasked: None,
        })
    }

    /// Bytes that came without a request, since this was asked last.
    pub(super) fn take_unasked(&mut self) -> Option<(Unasked, &[u8])> {
        let (unasked, place) = self.unasked.take()?;
        Some((unasked, self.buffer.get(place).unwrap_or_default()))
    }

    /// No failure so far, no `Connection: close` (RFC 9112 9.6), and no end while nothing was asked: a server may close
    /// an idle connection at any time (RFC 9112 9.5), which is no failure of a request that was not sent yet.
    pub(super) fn is_reusable(&mut self) -> bool {
        if self.reusable {
            // The next exchange sets its own waker. What comes unasked is an end, or belongs to no request.
            let mut cx = Context::from_waker(Waker::noop());
            let mut room = ReadBuf::new(self.buffer.as_mut_slice());
            self.reusable = Pin::new(&mut self.transport).poll_read(&mut cx, &mut room).is_pending();
            let came = room.filled().len();
            if came > 0 {
                self.unasked = Some((Unasked::Idle, 0..came));
            }
        }
        self.reusable
    }

    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<Response<'_>, ClientError> {
        self.filled = 0;
        self.parser = Parser::new();
        self.reusable = false;
        let started = clock::now();
        let mut sending = Sending { rest: request, flushed: false, failed: None };
        poll_fn(|cx| self.poll_exchange(cx, &mut sending, started)).await?;
        let more = self.filled > self.parser.end();
        if more {
            self.unasked = Some((Unasked::Second, self.parser.end()..self.filled));
        }
        // An answer that came before the whole request was taken leaves the connection out of step, and so does what
        // comes after an answer.
        self.reusable = sending.flushed && !self.parser.closes() && !more;
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
                Poll::Pending => return self.alarm.poll(cx, started).map(Err),
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
        let mut room = ReadBuf::new(self.buffer.get_mut(self.filled..).unwrap_or_default());
        std::task::ready!(Pin::new(&mut self.transport).poll_read(cx, &mut room))?;
        let read = room.filled().len();
        self.filled += read;
        Poll::Ready(Ok(read))
    }
}

/// A request on its way out.
struct Sending<'a> {
    rest: &'a [u8],
    /// TLS may hold back what it took.
    flushed: bool,
    /// A failed write is told only when no answer follows: a server may refuse a body before it has read it.
    failed: Option<io::Error>,
}

impl Sending<'_> {
    fn poll(&mut self, transport: &mut Transport, cx: &mut Context<'_>) {
        while !self.rest.is_empty() && self.failed.is_none() {
            match Pin::new(&mut *transport).poll_write(cx, self.rest) {
                Poll::Ready(Ok(0)) => self.failed = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => self.rest = self.rest.get(written..).unwrap_or_default(),
                Poll::Ready(Err(error)) => self.failed = Some(error),
                Poll::Pending => return,
            }
        }
        if !self.flushed && self.failed.is_none() {
            match Pin::new(transport).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.flushed = true,
                Poll::Ready(Err(error)) => self.failed = Some(error),
                Poll::Pending => {}
            }
        }
    }
}
