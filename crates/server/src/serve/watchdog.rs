//! Ends idle connections: those that send no request head in time, or idle too long between requests.
//!
//! Requests only increment counters; one timer per connection reads them. So no request needs a timer of its own.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::lingering::Lingering;

/// The number of connections that have not sent their first request yet.
pub(super) type BeforeFirstRequest = Arc<AtomicUsize>;

/// The counters of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    started: AtomicU64,
    finished: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    /// The value of `received` when the last request ended.
    read: AtomicU64,
    /// Whether a request body was not read to its end.
    left: AtomicBool,
    http2: AtomicBool,
    before_first_request: BeforeFirstRequest,
    /// The origin of times, the same for all connections of a listener.
    beginning: Instant,
    /// When the connection became idle, in nanoseconds after `beginning`; only meaningful while it is idle.
    idle_since: AtomicU64,
    to_end: AtomicBool,
    ending: Notify,
}

impl Activity {
    /// For a new connection. Times are counted from `beginning`.
    pub(super) fn new(before_first_request: &BeforeFirstRequest, beginning: Instant) -> Self {
        before_first_request.fetch_add(1, Ordering::Relaxed);
        Self {
            started: AtomicU64::default(),
            finished: AtomicU64::default(),
            received: AtomicU64::default(),
            sent: AtomicU64::default(),
            read: AtomicU64::default(),
            left: AtomicBool::default(),
            http2: AtomicBool::default(),
            before_first_request: Arc::clone(before_first_request),
            beginning,
            idle_since: AtomicU64::new(nanoseconds(beginning)),
            to_end: AtomicBool::default(),
            ending: Notify::new(),
        }
    }

    fn is_idle(&self) -> bool {
        self.started.load(Ordering::Acquire) == self.finished.load(Ordering::Acquire)
    }

    /// When the connection became idle, comparable among all connections. `None` if it has a request in flight, or is
    /// told to end.
    pub(super) fn idle_since(&self) -> Option<u64> {
        (self.is_idle() && !self.is_to_end()).then(|| self.idle_since.load(Ordering::Relaxed))
    }

    /// Asks the connection to end. It goes on if it has a request by the time it notices.
    pub(super) fn tell_to_end(&self) {
        self.to_end.store(true, Ordering::Release);
        self.ending.notify_one();
    }

    /// Whether the connection was told to end and has not refused.
    pub(super) fn is_to_end(&self) -> bool {
        self.to_end.load(Ordering::Acquire)
    }

    /// Returns when the connection has to end.
    pub(super) async fn told_to_end(&self) {
        loop {
            self.ending.notified().await;
            if self.is_idle() {
                return;
            }
            self.to_end.store(false, Ordering::Release);
        }
    }

    /// Counts a request whose head has arrived. The request lasts until the returned guard is dropped, which goes
    /// with the answer, and also that of its [body](Self::body), if it has one.
    pub(super) fn request(self: &Arc<Self>, http2: bool) -> InFlight {
        if self.started.fetch_add(1, Ordering::Relaxed) == 0 {
            self.before_first_request.fetch_sub(1, Ordering::Relaxed);
        }
        self.left.store(false, Ordering::Relaxed);
        if http2 {
            self.http2.store(true, Ordering::Relaxed);
        }
        InFlight(Arc::clone(self))
    }

    /// Counts the request's body, which may still be read after the answer has begun.
    pub(super) fn body(self: &Arc<Self>) -> InFlight {
        self.started.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Whether the client may still be sending data that will not be read: after a refused head, or the rest of a
    /// body. In HTTP/2 a frame tells the client to stop.
    fn is_unread(&self) -> bool {
        let unread = self.received.load(Ordering::Relaxed) > self.read.load(Ordering::Relaxed);
        !self.http2.load(Ordering::Relaxed) && (unread || self.left.load(Ordering::Relaxed))
    }

    fn look(&self) -> Look {
        Look {
            started: self.started.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            http2: self.http2.load(Ordering::Relaxed),
        }
    }
}

/// Nanoseconds since `beginning`.
fn nanoseconds(beginning: Instant) -> u64 {
    let since = Instant::now().saturating_duration_since(beginning);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Drop for Activity {
    fn drop(&mut self) {
        if self.started.load(Ordering::Relaxed) == 0 {
            self.before_first_request.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Marks a request as in flight until dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.read.store(self.0.received.load(Ordering::Relaxed), Ordering::Relaxed);
        self.0.idle_since.store(nanoseconds(self.0.beginning), Ordering::Relaxed);
        self.0.finished.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    started: u64,
    finished: u64,
    received: u64,
    sent: u64,
    http2: bool,
}

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLimits {
    /// For receiving a request head.
    pub(super) head: Duration,
    /// For idling between requests.
    pub(super) idle: Duration,
}

/// The watchdog's state: since when nothing has happened, and the counters at that time.
#[derive(Debug)]
struct Waiting {
    since: Instant,
    /// When the watchdog noticed the first byte of a head.
    head_since: Option<Instant>,
    seen: Look,
}

impl Waiting {
    /// Whether the connection has exceeded a limit.
    fn is_over(&mut self, look: Look, now: Instant, wait_limits: WaitLimits) -> bool {
        // An answer may still be streamed after its handler has returned.
        if look.started != look.finished || look.started != self.seen.started || look.sent != self.seen.sent {
            *self = Self { since: now, head_since: None, seen: look };
            return false;
        }
        // HTTP/2 sends control frames between requests, so received bytes do not mean a head.
        if look.received != self.seen.received && !look.http2 {
            return now.duration_since(*self.head_since.get_or_insert(now)) >= wait_limits.head;
        }
        let most = if look.started == 0 { wait_limits.head } else { wait_limits.idle };
        now.duration_since(self.since) >= most
    }
}

/// Returns when the connection has to end.
pub(super) async fn watch(activity: Arc<Activity>, wait_limits: WaitLimits) {
    let tick =
        (wait_limits.head.min(wait_limits.idle) / 8).clamp(Duration::from_millis(50), Duration::from_secs(5));
    // The first look is taken at the first poll: what happened before it counts as happening then.
    let mut waiting = Waiting { since: Instant::now(), head_since: None, seen: Look::default() };
    loop {
        tokio::select! {
            () = activity.told_to_end() => return,
            () = tokio::time::sleep(tick) => {}
        }
        if waiting.is_over(activity.look(), Instant::now(), wait_limits) {
            return;
        }
    }
}

pin_project! {
    /// A stream that counts the bytes it receives, and closes with lingering.
    pub(super) struct CountingStream<S> {
        #[pin]
        stream: S,
        activity: Arc<Activity>,
        lingering: Option<Lingering>,
    }
}

impl<S> CountingStream<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity, lingering: None }
    }
}

/// Adds to a counter that only this connection writes, which is cheaper than an atomic addition.
fn add(counter: &AtomicU64, bytes: usize) {
    counter.store(counter.load(Ordering::Relaxed) + bytes as u64, Ordering::Relaxed);
}

fn count(activity: &Activity, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    if let Poll::Ready(Ok(bytes)) = &written {
        add(&activity.sent, *bytes);
    }
    written
}

pin_project! {
    /// A request body that keeps its request counted as in flight.
    pub(super) struct GuardedBody {
        #[pin]
        body: Incoming,
        guard: InFlight,
        ended: bool,
    }

    impl PinnedDrop for GuardedBody {
        fn drop(this: Pin<&mut Self>) {
            if !this.ended && !this.body.is_end_stream() {
                this.guard.0.left.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl GuardedBody {
    pub(super) fn new(body: Incoming, guard: InFlight) -> Self {
        Self { body, guard, ended: false }
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let this = self.project();
        let frame = ready!(this.body.poll_frame(context));
        *this.ended = frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<S: AsyncRead> AsyncRead for CountingStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        let before = buf.filled().len();
        let polled = this.stream.poll_read(context, buf);
        let received = buf.filled().len() - before;
        if received > 0 {
            add(&this.activity.received, received);
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncWrite for CountingStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.project();
        count(this.activity, this.stream.poll_write(context, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        if let Some(lingering) = this.lingering {
            return lingering.poll(this.stream, context);
        }
        ready!(this.stream.as_mut().poll_shutdown(context))?;
        if !this.activity.is_unread() {
            return Poll::Ready(Ok(()));
        }
        this.lingering.insert(Lingering::begin()).poll(this.stream, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.project();
        count(this.activity, this.stream.poll_write_vectored(context, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: WaitLimits = WaitLimits { head: Duration::from_secs(10), idle: Duration::from_secs(75) };

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_nothing_ends_with_the_patience_for_a_head() {
        let began = Instant::now();
        watch(Arc::new(Activity::new(&BeforeFirstRequest::default(), Instant::now())), PATIENCE).await;
        let lasted = began.elapsed();
        assert!(lasted >= PATIENCE.head && lasted < PATIENCE.head * 2, "{lasted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_byte_by_byte_ends_too() {
        let activity = Arc::new(Activity::new(&BeforeFirstRequest::default(), Instant::now()));
        drop(activity.request(false));
        let trickle = Arc::clone(&activity);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                trickle.received.fetch_add(1, Ordering::Relaxed);
            }
        });
        let began = Instant::now();
        watch(activity, PATIENCE).await;
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_came_before_the_first_look_is_no_head() {
        let activity = Arc::new(Activity::new(&BeforeFirstRequest::default(), Instant::now()));
        activity.received.fetch_add(100, Ordering::Relaxed);
        drop(activity.request(false));
        let began = Instant::now();
        watch(activity, PATIENCE).await;
        assert!(began.elapsed() >= PATIENCE.idle, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_and_during_one_there_is_more_time() {
        let activity = Arc::new(Activity::new(&BeforeFirstRequest::default(), Instant::now()));
        let request = activity.request(false);
        let held =
            tokio::time::timeout(Duration::from_secs(600), watch(Arc::clone(&activity), PATIENCE)).await;
        assert!(held.is_err(), "a request in flight keeps its connection");
        drop(request);
        let began = Instant::now();
        watch(activity, PATIENCE).await;
        assert!(began.elapsed() >= PATIENCE.idle);
    }
}
