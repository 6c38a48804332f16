//! Metrics, request log, logging and traces, for less than a microsecond of CPU per request.
//!
//! - [`layer`]: the one tower layer around the router; counts, measures and logs every request;
//! - [`facts`]: what handlers report to the layer about their request;
//! - [`registry`]: the content of `/metrics`; [`prometheus`] is its format;
//! - [`request_log`] and [`logging`]: the log line per request, and the log of the process;
//! - [`trace`]: OpenTelemetry traces.
//!
//! `docs/reference/metrics.md`, `request-log.md` and `traces.md` document every name.

pub mod cpu;
mod current;
pub mod endpoint;
pub mod facts;
pub mod layer;
mod log_writer;
pub mod logging;
pub mod process;
pub mod prometheus;
pub mod registry;
pub mod request_figures;
pub mod request_id;
pub mod request_log;
mod store;
pub mod trace;

pub use current::{Arrival, Current};
pub use endpoint::{Endpoint, RequestOutcome};
pub use facts::RequestFacts;
pub use layer::{Telemetry, TelemetryLayer, TelemetryService};
pub use logging::{LogFormat, Logging, LoggingError, LoggingOptions};
pub use prometheus::{CONTENT_TYPE, Exposition, MetricSource, MetricType};
pub use registry::{CounterFamily, Registry};
pub use request_id::RequestId;
pub use request_log::RequestLog;
pub use trace::{TraceparentPolicy, Tracer};
