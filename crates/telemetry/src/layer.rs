//! The one tower layer that counts, measures and logs every request.
//!
//! It must be the outermost layer: then the connection polls its future directly, and it measures the whole request.
//! Handlers report facts by [`RequestFacts::note`](super::RequestFacts::note), and read those about their request
//! from [`Current`].

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{HeaderValue, Method, Request, Response, StatusCode};
use pin_project_lite::pin_project;
use symbolon_figures::{ThreadWork, noting_operations, thread_work};
use tower::{Layer, Service};

use super::cpu::{CHECK_ONE_IN, PollMeter};
use super::current::{Arrival, Current};
use super::endpoint::{Endpoint, RequestOutcome};
use super::registry::Registry;
use super::request_id::{RequestId, RequestIds, X_REQUEST_ID};
use super::request_log::{RequestLine, RequestLog};
use super::trace::{Trace, Tracer};

/// Not 0, so that the requests measured by both clocks are not the same as those sampled for the log.
const CHECK_REMAINDER: u64 = 17;

/// The shared state of the layer.
#[derive(Debug)]
pub struct Telemetry {
    registry: Arc<Registry>,
    ids: RequestIds,
    log: RequestLog,
    tracer: Option<Arc<Tracer>>,
}

impl Telemetry {
    /// Telemetry that counts into `registry`. `random` makes request ids differ from those of other processes.
    pub fn new(
        registry: Arc<Registry>,
        random: [u8; 12],
        log: RequestLog,
        tracer: Option<Arc<Tracer>>,
    ) -> Arc<Self> {
        Arc::new(Self { registry, ids: RequestIds::new(random), log, tracer })
    }

    /// The layer.
    pub fn layer(self: &Arc<Self>) -> TelemetryLayer {
        TelemetryLayer { telemetry: Arc::clone(self) }
    }

    /// The metrics.
    pub const fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The request log's sampling.
    pub const fn log(&self) -> &RequestLog {
        &self.log
    }
}

/// Wraps services in [`TelemetryService`].
#[derive(Debug, Clone)]
pub struct TelemetryLayer {
    telemetry: Arc<Telemetry>,
}

impl<S> Layer<S> for TelemetryLayer {
    type Service = TelemetryService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TelemetryService { inner, caller: Caller::of(&self.telemetry, None) }
    }
}

/// The peer of one connection. Its requests clone this `Arc` rather than one whose reference count all cores share.
#[derive(Debug)]
struct Caller {
    telemetry: Arc<Telemetry>,
    remote: Option<IpAddr>,
}

impl Caller {
    fn of(telemetry: &Arc<Telemetry>, remote: Option<IpAddr>) -> Arc<Self> {
        Arc::new(Self { telemetry: Arc::clone(telemetry), remote })
    }
}

/// A service whose requests are counted, measured and logged.
#[derive(Debug, Clone)]
pub struct TelemetryService<S> {
    inner: S,
    caller: Arc<Caller>,
}

impl<S> TelemetryService<S> {
    /// The service for the requests of one connection from one peer.
    #[must_use]
    pub fn with_remote(self, remote: IpAddr) -> Self {
        let caller = Caller::of(&self.caller.telemetry, Some(remote));
        Self { inner: self.inner, caller }
    }
}

impl<S, B, R> Service<Request<B>> for TelemetryService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = TelemetryFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let mut record = RequestRecord::begin(&self.caller, &mut request);
        let inner = record.current.within(|| self.inner.call(request));
        TelemetryFuture { inner, record }
    }
}

pin_project! {
    /// The future of a measured request.
    #[derive(Debug)]
    pub struct TelemetryFuture<F> {
        #[pin]
        inner: F,
        record: RequestRecord,
    }
}

impl<F, R, E> Future for TelemetryFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let inner = this.inner;
        let mut result = ready!(this.record.poll(|| inner.poll(context)));
        match &mut result {
            Ok(response) => this.record.answered(response),
            Err(_) => this.record.end(RequestOutcome::ServerError, None),
        }
        Poll::Ready(result)
    }
}

/// One request from its arrival to its answer. If dropped without an answer, it counts as abandoned.
#[derive(Debug)]
struct RequestRecord {
    caller: Arc<Caller>,
    meter: PollMeter,
    current: Current,
    id: RequestId,
    number: u64,
    method: Method,
    store: ThreadWork,
    trace: Option<Box<Trace>>,
    ended: bool,
}

impl RequestRecord {
    fn begin<B>(caller: &Arc<Caller>, request: &mut Request<B>) -> Self {
        let Caller { telemetry, remote } = &**caller;
        let (own, number) = telemetry.ids.next();
        let meter = PollMeter::start(number % CHECK_ONE_IN == CHECK_REMAINDER);
        let id = RequestId::inbound(request.headers()).unwrap_or(own);
        let trace = telemetry.tracer.as_ref().and_then(|tracer| tracer.begin(request, number, *remote));
        Self {
            caller: Arc::clone(caller),
            meter,
            current: Current::of(Arrival { id: id.clone(), remote: *remote }),
            id,
            number,
            method: request.method().clone(),
            store: ThreadWork::default(),
            trace,
            ended: false,
        }
    }

    /// Polls the request's future and measures the poll.
    fn poll<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        let before = thread_work();
        let result = match &mut self.trace {
            None => self.meter.poll(|| self.current.within(poll)),
            Some(trace) => {
                noting_operations(&mut trace.operations, || self.meter.poll(|| self.current.within(poll)))
            }
        };
        let after = thread_work();
        self.store.operations += after.operations.wrapping_sub(before.operations);
        self.store.wall_ns += after.wall_ns.wrapping_sub(before.wall_ns);
        result
    }

    fn answered<R>(&mut self, response: &mut Response<R>) {
        let status = response.status();
        let outcome = RequestOutcome::of(status, self.current.facts().known_oauth_error());
        // The header is sent if the request brought an id, or if the answer is an error, so that it can be reported.
        // Other answers do without it.
        if (outcome.is_error() || self.id.is_inbound())
            && let Ok(id) = HeaderValue::try_from(self.id.to_string())
        {
            response.headers_mut().insert(&X_REQUEST_ID, id);
        }
        self.end(outcome, Some(status));
    }

    fn end(&mut self, outcome: RequestOutcome, status: Option<StatusCode>) {
        self.ended = true;
        let Caller { telemetry, remote } = &*self.caller;
        let facts = self.current.facts();
        let endpoint = facts.known_endpoint().unwrap_or(Endpoint::Other);
        let cpu_ns = self.meter.busy_ns();
        let duration_ns = if status.is_some() { self.meter.duration_ns() } else { self.meter.elapsed_ns() };
        let figures = telemetry.registry.requests();
        figures.record(endpoint, outcome, duration_ns, cpu_ns);
        if let Some(thread_ns) = self.meter.checked_ns() {
            figures.record_check(cpu_ns, thread_ns);
        }
        // Introspection answers 200 where it refuses, so the outcome alone does not say that a request was refused. An API
        // may ask about thousands of such tokens in a second, so only those that are recorded have a line for sure.
        let logged =
            telemetry.log.wants(endpoint, outcome, self.number) || self.current.is_recorded_refusal();
        if !logged && self.trace.is_none() {
            return;
        }
        let trace = self.trace.take();
        let line = RequestLine {
            request_id: &self.id,
            method: &self.method,
            endpoint,
            route: facts.known_route(),
            outcome,
            status,
            oauth_error: facts.known_oauth_error(),
            refusal: self.current.refusal(),
            client_id: facts.known_client_id(),
            issuer: facts.known_issuer(),
            remote: facts.known_remote().or(*remote),
            arrived: self.meter.started(),
            duration_ns,
            cpu_ns,
            store_operations: self.store.operations,
            store_ns: self.store.wall_ns,
        };
        if logged {
            line.write();
        }
        if let (Some(tracer), Some(trace)) = (&telemetry.tracer, trace) {
            tracer.finish(*trace, &line, facts.known_scheme());
        }
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        if !self.ended {
            let outcome = if std::thread::panicking() {
                RequestOutcome::ServerError
            } else {
                RequestOutcome::Abandoned
            };
            self.end(outcome, None);
        }
    }
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
