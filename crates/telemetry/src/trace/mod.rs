//! OpenTelemetry traces: a span per traced request and one per store operation, sent to a collector.
//!
//! A traced request only collects data. One task does the rest: names, attributes, encoding, sending. The queue to it
//! is bounded: spans that do not fit are dropped and counted. Without a collector there is no [`Tracer`], and a
//! request costs one comparison.
//!
//! `docs/reference/traces.md` documents every attribute. `docs/decisions/015-spans-are-sent-without-the-sdk.md` says
//! why the SDK is not used.

mod collector;
mod context;
mod exporter;
mod figures;
mod message;
mod span;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Request;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use url::Url;

pub use context::TraceParent;
pub use span::Trace;

use super::prometheus::MetricSource;
use super::registry::Registry;
use super::request_id::scramble;
use super::request_log::RequestLine;
use collector::Collector;
use exporter::Exporter;
use figures::TraceFigures;
use span::RequestSpan;

/// Capacity of the queue in traced requests: about 2 MiB.
const CAPACITY: usize = 2_048;

/// Generates ids: unique, not secret, without a system call.
#[derive(Debug)]
struct Ids {
    keys: [u64; 2],
    drawn: AtomicU64,
}

impl Ids {
    fn number(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// A span id: never 0.
    fn span(&self) -> u64 {
        scramble(self.number().wrapping_add(self.keys[0])).max(1)
    }

    /// A trace id: never 0.
    fn trace(&self) -> u128 {
        let low = scramble(self.number().wrapping_add(self.keys[1])).max(1);
        u128::from(scramble(low ^ self.keys[0])) << 64 | u128::from(low)
    }
}

/// The attributes that identify this service to the collector.
#[derive(Debug)]
struct Service {
    name: &'static str,
    version: &'static str,
    /// Distinguishes this process from others of the service.
    instance: String,
}

/// Whether a peer's `traceparent` is honoured. A peer whose header is honoured can have all its requests traced.
pub type TraceparentPolicy = Box<dyn Fn(Option<IpAddr>) -> bool + Send + Sync>;

/// Decides which requests are traced, and sends their spans to the collector.
pub struct Tracer {
    one_in: u64,
    traceparent_policy: TraceparentPolicy,
    ids: Ids,
    service: Service,
    collector: Collector,
    queue: mpsc::Sender<RequestSpan>,
    // Taken out when the one exporter starts.
    receiver: Mutex<Option<mpsc::Receiver<RequestSpan>>>,
    figures: Arc<TraceFigures>,
    closing: watch::Sender<bool>,
    finished: watch::Sender<bool>,
}

impl Tracer {
    /// Traces one in so many requests, and sends their spans to `v1/traces` below the collector's URL. Registers its
    /// metrics, so call it once per registry. `random` makes ids differ from those of other processes. `traceparent`
    /// headers are ignored until [`with_traceparent_policy`](Self::with_traceparent_policy) is called.
    pub fn new(collector: &Url, one_in: u32, random: [u8; 24], registry: &Registry) -> Self {
        let collector = Collector::at(collector, registry.version());
        Self::with(collector, one_in, random, registry)
    }

    /// Sets whose `traceparent` headers are honoured.
    #[must_use]
    pub fn with_traceparent_policy(self, traceparent_policy: TraceparentPolicy) -> Self {
        Self { traceparent_policy, ..self }
    }

    fn with(collector: Collector, one_in: u32, random: [u8; 24], registry: &Registry) -> Self {
        let word = |place: usize| {
            random.iter().skip(place * 8).take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        let (queue, receiver) = mpsc::channel(CAPACITY);
        let figures = Arc::new(TraceFigures::default());
        registry.register(Arc::clone(&figures) as Arc<dyn MetricSource>);
        Self {
            one_in: u64::from(one_in.max(1)),
            traceparent_policy: Box::new(|_| false),
            ids: Ids { keys: [word(0), word(1)], drawn: AtomicU64::new(0) },
            service: Service {
                name: "symbolon",
                version: registry.version(),
                instance: format!("{:016x}", word(2)),
            },
            collector,
            queue,
            receiver: Mutex::new(Some(receiver)),
            figures,
            closing: watch::Sender::new(false),
            finished: watch::Sender::new(false),
        }
    }

    /// Begins to trace a request, if it is to be traced: an honoured `traceparent` decides by its sampled flag,
    /// otherwise one in so many requests is traced. `number` is the request's number; `peer` sent it.
    pub fn begin<B>(&self, request: &Request<B>, number: u64, peer: Option<IpAddr>) -> Option<Box<Trace>> {
        let parent = TraceParent::of(request.headers()).filter(|_| (self.traceparent_policy)(peer));
        if !parent.map_or_else(|| number.is_multiple_of(self.one_in), |parent| parent.sampled) {
            return None;
        }
        Some(Box::new(Trace {
            trace_id: parent.map_or_else(|| self.ids.trace(), |parent| parent.trace_id),
            span_id: self.ids.span(),
            parent: parent.map(|parent| parent.span_id),
            version: request.version(),
            operations: Vec::new(),
        }))
    }

    /// Queues a finished request. Never waits. `scheme`: of the issuer's URL.
    pub fn finish(&self, trace: Trace, line: &RequestLine<'_>, scheme: Option<&'static str>) {
        let span = RequestSpan::new(trace, line, scheme);
        let spans = span.spans();
        if self.queue.try_send(span).is_err() {
            self.figures.dropped(spans);
        }
    }

    /// Sends queued spans until [`drain`](Self::drain): one batch every 5 s, of at most 512 requests. Only the first
    /// call does this, later ones return at once.
    pub async fn run(&self) {
        let Some(receiver) = self.receiver.lock().take() else { return };
        let Self { collector, service, ids, figures, .. } = self;
        Exporter { collector, service, ids, figures, receiver }.run(self.closing.subscribe()).await;
        self.finished.send_replace(true);
    }

    /// Stops sending after the queued spans were sent or given up: after at most 5 s.
    pub async fn drain(&self) {
        self.closing.send_replace(true);
        if self.receiver.lock().is_some() {
            // `run` was never called, so nothing will be sent.
            return;
        }
        // Cannot fail: `self` holds the sender.
        let _ = self.finished.subscribe().wait_for(|finished| *finished).await;
    }
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer")
            .field("one_in", &self.one_in)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
