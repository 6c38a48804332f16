//! One traced request: the data collected while it runs, and the spans made of it.

use std::net::IpAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::{StatusCode, Version};
use smol_str::SmolStr;
use symbolon_figures::StoreOperation;

use super::message::{KeyValue, Span, SpanKind, Status, StatusCode as SpanStatus};
use crate::endpoint::{Endpoint, RequestOutcome};
use crate::request_id::RequestId;
use crate::request_log::RequestLine;

/// `SpanFlags` of OTLP: the low byte is that of `traceparent`; two more bits say that it is known whether the parent
/// is in another process, and that it is.
const SAMPLED: u32 = 0x001;
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// A request that is being traced.
#[derive(Debug)]
pub struct Trace {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    pub(super) parent: Option<u64>,
    pub(super) version: Version,
    /// The store operations so far.
    pub(crate) operations: Vec<StoreOperation>,
}

/// A time span, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lasted {
    start: u64,
    end: u64,
}

/// A traced request that has ended. The exporter turns it into messages, so that the request spends no time on that.
#[derive(Debug)]
pub(super) struct RequestSpan {
    trace: Trace,
    lasted: Lasted,
    operations: Vec<(Lasted, StoreOperation)>,
    request_id: RequestId,
    method: Option<&'static str>,
    endpoint: Endpoint,
    route: Option<&'static str>,
    scheme: Option<&'static str>,
    outcome: RequestOutcome,
    status: Option<StatusCode>,
    oauth_error: Option<&'static str>,
    client_id: Option<SmolStr>,
    issuer: Option<SmolStr>,
    remote: Option<IpAddr>,
    cpu_ns: u64,
    store_ns: u64,
    store_operations: u64,
}

impl RequestSpan {
    /// Takes the fields of the request's log line. `scheme`: of the issuer's URL.
    pub(super) fn new(mut trace: Trace, line: &RequestLine<'_>, scheme: Option<&'static str>) -> Self {
        let clocks = Clocks::read();
        let operations = std::mem::take(&mut trace.operations);
        let start = clocks.unix(line.arrived);
        Self {
            lasted: Lasted { start, end: start.saturating_add(line.duration_ns) },
            operations: operations
                .into_iter()
                .map(|operation| (clocks.lasted(&operation), operation))
                .collect(),
            trace,
            request_id: line.request_id.clone(),
            method: known_method(line.method.as_str()),
            endpoint: line.endpoint,
            route: line.route,
            scheme,
            outcome: line.outcome,
            status: line.status,
            oauth_error: line.oauth_error,
            client_id: line.client_id.map(SmolStr::new),
            issuer: line.issuer.map(SmolStr::new),
            remote: line.remote,
            cpu_ns: line.cpu_ns,
            store_ns: line.store_ns,
            store_operations: line.store_operations,
        }
    }

    /// The number of its spans.
    pub(super) fn spans(&self) -> usize {
        1 + self.operations.len()
    }

    /// The server span, and one span per store operation; `id` generates the ids of the latter.
    pub(super) fn messages(&self, mut id: impl FnMut() -> u64) -> Vec<Span> {
        let store =
            self.operations.iter().map(|(lasted, operation)| self.store_span(id(), *lasted, operation));
        std::iter::once(self.server_span()).chain(store).collect()
    }

    fn span(&self, id: u64, parent: Option<u64>, lasted: Lasted, name: String) -> Span {
        Span {
            trace_id: self.trace.trace_id.to_be_bytes().to_vec(),
            span_id: id.to_be_bytes().to_vec(),
            parent_span_id: parent.map(|parent| parent.to_be_bytes().to_vec()).unwrap_or_default(),
            name,
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: lasted.start,
            end_time_unix_nano: lasted.end,
            flags: SAMPLED | HAS_IS_REMOTE,
            ..Span::default()
        }
    }

    /// Names and attributes: OpenTelemetry's semantic conventions for HTTP server spans.
    fn server_span(&self) -> Span {
        let route = self.full_route();
        // An unknown method is text chosen by the client, so it is not used.
        let method = self.method.unwrap_or("HTTP");
        let name = route.as_ref().map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let span = self.span(self.trace.span_id, self.trace.parent, self.lasted, name);
        let remote = if self.trace.parent.is_some() { IS_REMOTE } else { 0 };
        let failed = self.error_type();
        let status = failed.is_some().then(|| Status { code: SpanStatus::Error.into() });
        let attributes = self.server_attributes(route, failed);
        Span { kind: SpanKind::Server.into(), flags: span.flags | remote, status, attributes, ..span }
    }

    fn server_attributes(&self, route: Option<String>, failed: Option<String>) -> Vec<KeyValue> {
        let mut all = vec![
            KeyValue::text("http.request.method", self.method.unwrap_or("_OTHER")),
            KeyValue::text("symbolon.request_id", self.request_id.to_string()),
            KeyValue::text("symbolon.endpoint", self.endpoint.name()),
            KeyValue::text("symbolon.outcome", self.outcome.name()),
            KeyValue::number("symbolon.cpu_us", self.cpu_ns / 1_000),
            KeyValue::number("symbolon.store_ops", self.store_operations),
            KeyValue::number("symbolon.store_us", self.store_ns / 1_000),
        ];
        let mut text = |key: &str, value: Option<String>| {
            all.extend(value.map(|value| KeyValue::text(key, value)));
        };
        // The path as sent may contain anything, even a code or token sent by mistake, so it is not exported. A route
        // without parameters equals the path.
        text("url.path", route.clone().filter(|route| !route.contains('{')));
        text("http.route", route);
        text("url.scheme", self.scheme.map(str::to_owned));
        text("network.protocol.version", protocol_version(self.trace.version).map(str::to_owned));
        text("client.address", self.remote.map(|remote| remote.to_string()));
        text("error.type", failed);
        text("symbolon.oauth_error", self.oauth_error.map(str::to_owned));
        text("symbolon.client_id", self.client_id.as_deref().map(str::to_owned));
        text("symbolon.issuer", self.issuer.as_deref().map(str::to_owned));
        all.extend(self.status.map(|status| KeyValue::number("http.response.status_code", status.as_u16())));
        all
    }

    /// The route from the issuer's root; `None` if no route matched.
    fn full_route(&self) -> Option<String> {
        match (self.endpoint, self.route) {
            (Endpoint::Admin, Some(route)) => Some(format!("/api/admin{route}")),
            (_, route) => route.map(str::to_owned),
        }
    }

    /// A server error by the conventions: a 5xx answer, or no answer.
    fn error_type(&self) -> Option<String> {
        match self.status {
            Some(status) if status.is_server_error() => Some(status.as_u16().to_string()),
            Some(_) => None,
            None => Some(self.outcome.name().to_owned()),
        }
    }

    fn store_span(&self, id: u64, lasted: Lasted, operation: &StoreOperation) -> Span {
        let kind = operation.kind.name();
        let attributes = vec![
            KeyValue::text("symbolon.store.kind", kind),
            KeyValue::number("symbolon.store.shard", operation.shard),
            KeyValue::number("symbolon.store.queue_wait_us", operation.queue_wait_ns / 1_000),
        ];
        let status = (!operation.ok).then(|| Status { code: SpanStatus::Error.into() });
        let span = self.span(id, Some(self.trace.span_id), lasted, format!("store {kind}"));
        Span { attributes, status, ..span }
    }
}

/// Both clocks at one moment: spans are measured with the monotonic clock and reported in wall-clock time.
#[derive(Clone, Copy)]
struct Clocks {
    unix_ns: u64,
    monotonic: Instant,
}

impl Clocks {
    #[allow(clippy::disallowed_methods)] // measuring code: the readings never decide anything
    fn read() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { unix_ns: nanoseconds(unix), monotonic: Instant::now() }
    }

    /// The time of a past moment, in nanoseconds since 1970.
    fn unix(&self, moment: Instant) -> u64 {
        self.unix_ns.saturating_sub(nanoseconds(self.monotonic.saturating_duration_since(moment)))
    }

    fn lasted(&self, operation: &StoreOperation) -> Lasted {
        let end = self.unix(operation.ended);
        Lasted { start: end.saturating_sub(operation.wall_ns), end }
    }
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn known_method(method: &str) -> Option<&'static str> {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"]
        .into_iter()
        .find(|known| *known == method)
}

fn protocol_version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        _ => None,
    }
}
