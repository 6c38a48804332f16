//! Logs, metrics, traces and the audit log.

use url::Url;

use super::Section;
use super::issuer::Mode;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

pub(crate) const SECTION: Section = Section {
    title: "Logs, metrics, traces",
    intro: "Every failed request is logged; of the hot endpoints' successes one in `log.sample` is.",
    keys: &[
        Key::new("log.format", "SYMBOLON_LOG_FORMAT", "--log-format", ValueKind::Choice(&["json", "pretty"]))
            .unset("`json`, or `pretty` in development mode")
            .doc("Form of a log line: one JSON object, or text for people."),
        // Not a list of filter directives: in those, a misspelt level would be read as a target, which would silence
        // all others.
        Key::new(
            "log.level",
            "SYMBOLON_LOG_LEVEL",
            "--log-level",
            ValueKind::Choice(&["error", "warn", "info", "debug", "trace"]),
        )
        .default("info")
        .live()
        .doc("Least severity that is logged."),
        Key::new(
            "log.sample",
            "SYMBOLON_LOG_SAMPLE",
            "--log-sample",
            ValueKind::Count { min: 1, max: 1_000_000_000 },
        )
        .default("1000")
        .live()
        .doc("Logs one in so many successful requests of the hot endpoints; 1 logs all."),
        Key::new("metrics", "SYMBOLON_METRICS", "--metrics", ValueKind::Switch)
            .default("true")
            .doc("Keeps figures of requests, and serves them and all others at `/metrics` of the management listener."),
        Key::new("metrics_hosts", "SYMBOLON_METRICS_HOSTS", "--metrics-hosts", ValueKind::Hosts)
            .default("")
            .live()
            .doc(
                "Names by which `/metrics` may be asked for, beside addresses, `localhost`, names without a dot and the hosts \
                 of issuers. A page in somebody's browser could read it by any other name that leads here (DNS rebinding).",
            ),
        Key::new("otlp.endpoint", "SYMBOLON_OTLP_ENDPOINT", "--otlp-endpoint", ValueKind::Url)
            .unset("no traces")
            .doc("OpenTelemetry collector that traces are sent to, by OTLP over HTTP, at `v1/traces` below this URL."),
        Key::new(
            "otlp.sample",
            "SYMBOLON_OTLP_SAMPLE",
            "--otlp-sample",
            ValueKind::Count { min: 1, max: 1_000_000_000 },
        )
        .default("100")
        .doc(
            "Traces one in so many requests; 1 traces all. Where a `traceparent` that counts (`otlp.traceparent`) says whether \
             its caller is traced, that decides.",
        ),
        Key::new(
            "otlp.traceparent",
            "SYMBOLON_OTLP_TRACEPARENT",
            "--otlp-traceparent",
            ValueKind::Choice(&["trusted_proxies", "anybody", "nobody"]),
        )
        .default("trusted_proxies")
        .doc(
            "Whose `traceparent` counts: that of `trusted_proxies`, which must not let one of a stranger's through, anybody's \
             or nobody's. Whoever's counts can have each of his requests traced.",
        )
        .weakens(
            |value| matches!(value, Value::Text(word) if word == "anybody"),
            "Anybody can have all of his requests traced, and choose the ids of traces.",
        ),
        Key::new(
            "audit.max_size",
            "SYMBOLON_AUDIT_MAX_SIZE",
            "--audit-max-size",
            ValueKind::Size { min: 1 << 20, max: 1 << 50 },
        )
        .default("10GiB")
        .live()
        .doc("Size beyond which the oldest entries of the audit log go before their time."),
    ],
};

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object per line, for machines.
    Json,
    /// Text with colours where the terminal has them, for people.
    Pretty,
}

/// Whose `traceparent` header decides whether a request is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceparentOf {
    /// Trusted proxies.
    TrustedProxies,
    /// Any peer.
    Anybody,
    /// No peer.
    Nobody,
}

/// Logs, metrics, traces and the audit log.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The lowest severity that is logged: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// One in so many successes of busy endpoints is logged. Never 0.
    pub log_sample: u32,
    /// Whether metrics are collected and served.
    pub metrics: bool,
    /// The OpenTelemetry collector, if traces are enabled.
    pub otlp_endpoint: Option<Url>,
    /// One in so many requests is traced. Never 0.
    pub otlp_sample: u32,
    /// Whose `traceparent` is honoured.
    pub traceparent: TraceparentOf,
    /// Host names under which metrics are served, besides addresses and names without a dot.
    pub metrics_hosts: Vec<String>,
    /// The largest size of the audit log, in bytes.
    pub audit_max_size: u64,
}

pub(crate) fn build(reader: &mut Reader, mode: Mode) -> Telemetry {
    let log_format = match (reader.optional_text("log.format").as_deref(), mode) {
        (Some("pretty"), _) | (None, Mode::Development) => LogFormat::Pretty,
        _ => LogFormat::Json,
    };
    let shown = if log_format == LogFormat::Pretty { "pretty" } else { "json" };
    reader.settings.fill("log.format", Value::Text(shown.to_owned()));
    Telemetry {
        log_format,
        log_level: reader.text("log.level"),
        log_sample: reader.small_count("log.sample"),
        metrics: reader.switch("metrics"),
        // The value was validated as a URL before.
        otlp_endpoint: reader.optional_text("otlp.endpoint").and_then(|text| Url::parse(&text).ok()),
        otlp_sample: reader.small_count("otlp.sample"),
        traceparent: match reader.text("otlp.traceparent").as_str() {
            "anybody" => TraceparentOf::Anybody,
            "nobody" => TraceparentOf::Nobody,
            _ => TraceparentOf::TrustedProxies,
        },
        metrics_hosts: reader.hosts("metrics_hosts"),
        audit_max_size: reader.size("audit.max_size"),
    }
}
