//! HTTP/2 (RFC 9113): several requests in flight on one connection.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::Ping;
use h2::client::{Builder, SendRequest};
use http::Request;
use http::uri::Scheme;
use tokio::sync::Mutex;

use super::alarm::Alarm;
use super::message;
use super::response::Response;
use super::transport::{Transport, no_http2};
use super::{ClientError, MAX_RESPONSE, Peer, Timeouts};
use crate::clock;

/// How much of an answer may be on its way: the answers of bulk calls are megabytes.
const STREAM_WINDOW: u32 = 1 << 20;
/// Of all answers of a connection.
const CONNECTION_WINDOW: u32 = 1 << 24;

type Sender = SendRequest<Bytes>;

/// One of those who share a connection.
pub(super) struct Http2 {
    shared: Arc<Shared>,
    sender: Sender,
    /// The answer as HTTP/1.1 would have written it.
    buffer: Vec<u8>,
    alarm: Alarm,
    timeouts: Timeouts,
}

struct Shared {
    peer: Peer,
    scheme: Scheme,
    /// The connection that was opened last. Whoever finds it ended opens the next one; the others wait meanwhile.
    newest: Mutex<Sender>,
}

impl Http2 {
    pub(super) async fn open(peer: &Peer, timeouts: Timeouts) -> Result<Self, ClientError> {
        let sender = connect(peer).await?;
        let scheme = if peer.is_tls() { Scheme::HTTPS } else { Scheme::HTTP };
        let shared = Shared { peer: peer.clone(), scheme, newest: Mutex::new(sender.clone()) };
        Ok(Self::on(Arc::new(shared), sender, timeouts))
    }

    fn on(shared: Arc<Shared>, sender: Sender, timeouts: Timeouts) -> Self {
        let alarm = Alarm::after(timeouts.request);
        Self { shared, sender, buffer: Vec::with_capacity(16 * 1024), alarm, timeouts }
    }

    /// Another one on the same connection.
    pub(super) fn beside(&self) -> Self {
        Self::on(Arc::clone(&self.shared), self.sender.clone(), self.timeouts)
    }

    /// No GOAWAY so far (RFC 9113 6.8), and no end of the connection.
    pub(super) fn is_reusable(&self) -> bool {
        is_open(&self.sender)
    }

    /// Takes the connection that another one opened meanwhile, or opens it.
    pub(super) async fn renew(&mut self) -> Result<(), ClientError> {
        let mut newest = self.shared.newest.lock().await;
        if !is_open(&newest) {
            *newest = connect(&self.shared.peer).await?;
        }
        self.sender = newest.clone();
        Ok(())
    }

    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<Response<'_>, ClientError> {
        let started = clock::now();
        let (head, body) = message::request(request, &self.shared.scheme)?;
        self.buffer.clear();
        let (status, head) = {
            let mut conversing = pin!(converse(&mut self.sender, (head, body), &mut self.buffer));
            let alarm = &mut self.alarm;
            // Time that is up drops the stream, which resets it (RFC 9113 5.4.2); the connection goes on.
            poll_fn(|cx| match conversing.as_mut().poll(cx) {
                Poll::Ready(conversed) => Poll::Ready(conversed),
                Poll::Pending => alarm.poll(cx, started).map(Err),
            })
            .await?
        };
        let (head, body) = self.buffer.split_at_checked(head).ok_or(ClientError::TooLarge)?;
        Ok(Response::new(status, head, body))
    }
}

fn is_open(sender: &Sender) -> bool {
    // A sender of one's own has sent nothing that it would have to wait for.
    let polled = sender.clone().poll_ready(&mut Context::from_waker(Waker::noop()));
    !matches!(polled, Poll::Ready(Err(_)))
}

/// Connects, and waits for a sign that the peer understands.
async fn connect(peer: &Peer) -> Result<Sender, ClientError> {
    let transport = Transport::connect(peer).await?;
    let (sender, mut connection) = Builder::new()
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(transport)
        .await
        .map_err(|error| no_http2(peer, error))?;
    let ping = connection.ping_pong();
    // It ends with the last of its senders; its errors are those of its streams.
    tokio::spawn(connection);
    // Requests may go out before the peer's preface is there (RFC 9113 3.4), and would fail with it.
    if let Some(mut ping) = ping {
        ping.ping(Ping::opaque()).await.map_err(|error| no_http2(peer, error))?;
    }
    Ok(sender)
}

/// One stream. Gives the status, and where the head ends in `buffer`.
async fn converse(
    sender: &mut Sender,
    (head, body): (Request<()>, Bytes),
    buffer: &mut Vec<u8>,
) -> Result<(u16, usize), ClientError> {
    poll_fn(|cx| sender.poll_ready(cx)).await?;
    let (answer, mut stream) = sender.send_request(head, body.is_empty())?;
    if !body.is_empty() {
        // A server may answer, and reset the stream, before it has the body (RFC 9113 8.1): the answer tells.
        drop(stream.send_data(body, true));
    }
    let (head, mut body) = answer.await?.into_parts();
    message::write_head(&head, buffer);
    let length = buffer.len();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        if buffer.len() + piece.len() > MAX_RESPONSE {
            return Err(ClientError::TooLarge);
        }
        buffer.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len())?;
    }
    Ok((head.status.as_u16(), length))
}
