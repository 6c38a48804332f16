//! OpenTelemetry traces: a span per traced request and one per store operation of it, sent to a collector.
//!
//! A request that is traced takes notes; everything else (names, attributes, encoding, sending) happens in one task
//! of its own. The queue between them is bounded: what does not fit is dropped and counted. Without a collector there
//! is no [`Tracer`], and a request pays a comparison.
//!
//! `docs/reference/traces.md` documents every attribute; why not the SDK:
//! `docs/decisions/015-spans-are-sent-without-the-sdk.md`.

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

/// Traced requests that may wait to be sent: some 2 MiB.
const CAPACITY: usize = 2_048;

/// Draws ids: unique, not secret, without a system call.
#[derive(Debug)]
struct Ids {
    keys: [u64; 2],
    drawn: AtomicU64,
}

impl Ids {
    fn number(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// An id of a span: never 0.
    fn span(&self) -> u64 {
        scramble(self.number().wrapping_add(self.keys[0])).max(1)
    }

    /// An id of a trace: never 0.
    fn trace(&self) -> u128 {
        let low = scramble(self.number().wrapping_add(self.keys[1])).max(1);
        u128::from(scramble(low ^ self.keys[0])) << 64 | u128::from(low)
    }
}

/// What we are to the collector.
#[derive(Debug)]
struct Service {
    name: &'static str,
    version: &'static str,
    /// Tells this process from others.
    instance: String,
}

/// Whether the `traceparent` of a peer counts. Whoever's does can have each of his requests traced.
pub type Heeds = Box<dyn Fn(Option<IpAddr>) -> bool + Send + Sync>;

/// Decides which requests are traced, and takes their spans to the collector.
pub struct Tracer {
    one_in: u64,
    heeds: Heeds,
    ids: Ids,
    service: Service,
    collector: Collector,
    queue: mpsc::Sender<RequestSpan>,
    // Taken by the one exporter.
    receiver: Mutex<Option<mpsc::Receiver<RequestSpan>>>,
    figures: Arc<TraceFigures>,
    closing: watch::Sender<bool>,
    finished: watch::Sender<bool>,
}

impl Tracer {
    /// Traces one in so many requests, and sends their spans to `v1/traces` below a collector's URL. Its figures stand
    /// on the registry's page: call it once per registry. `random` distinguishes this process's ids.
    /// Nobody's `traceparent` counts before [`heeding`](Self::heeding).
    pub fn new(collector: &Url, one_in: u32, random: [u8; 24], registry: &Registry) -> Self {
        let collector = Collector::at(collector, registry.version());
        Self::with(collector, one_in, random, registry)
    }

    /// Whose `traceparent` counts.
    #[must_use]
    pub fn heeding(self, heeds: Heeds) -> Self {
        Self { heeds, ..self }
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
            heeds: Box::new(|_| false),
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

    /// Begins to trace a request, if it is to be: where a `traceparent` that counts says whether its caller is traced, as
    /// that says, else one in so many. `number` counts requests; `peer` is who sends it.
    pub fn begin<B>(&self, request: &Request<B>, number: u64, peer: Option<IpAddr>) -> Option<Box<Trace>> {
        let parent = TraceParent::of(request.headers()).filter(|_| (self.heeds)(peer));
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

    /// Takes over a request that has ended. Never waits. `scheme`: of its issuer's URL.
    pub fn finish(&self, trace: Trace, line: &RequestLine<'_>, scheme: Option<&'static str>) {
        let span = RequestSpan::new(trace, line, scheme);
        let spans = span.spans();
        if self.queue.try_send(span).is_err() {
            self.figures.dropped(spans);
        }
    }

    /// Sends what is queued until [`drain`](Self::drain): every 5 s, or 512 requests. Only the first call does
    /// anything.
    pub async fn run(&self) {
        let Some(receiver) = self.receiver.lock().take() else { return };
        let Self { collector, service, ids, figures, .. } = self;
        Exporter { collector, service, ids, figures, receiver }.run(self.closing.subscribe()).await;
        self.finished.send_replace(true);
    }

    /// Takes no more spans, and returns when those that are queued have been sent or given up: after 5 s at most.
    pub async fn drain(&self) {
        self.closing.send_replace(true);
        if self.receiver.lock().is_some() {
            // Nobody ever sent.
            return;
        }
        // It cannot fail: the sender is here.
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
