//! Listeners: addresses, TLS, and limits of connections.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::Section;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

const MIB: u64 = 1 << 20;

pub(crate) const SECTION: Section = Section {
    title: "Listeners",
    intro: "One public listener serves the protocol endpoints and the pages; one management listener serves \
            `/metrics`, `/healthz`, `/readyz` and `/api/admin`.",
    keys: &[
        Key::new("listen", "SYMBOLON_LISTEN", "--listen", ValueKind::Address)
            .default("127.0.0.1:8080")
            .doc("Address of the public listener. Port 0 takes a free one."),
        Key::new("management_listen", "SYMBOLON_MANAGEMENT_LISTEN", "--management-listen", ValueKind::Address)
            .default("127.0.0.1:9090")
            .doc("Address of the management listener. Port 0 takes a free one.")
            .weakens(
                |value| matches!(value, Value::Address(address) if !address.ip().is_loopback()),
                "The admin API and the metrics can be reached from beyond this machine.",
            ),
        Key::new("admin_on_public", "SYMBOLON_ADMIN_ON_PUBLIC", "--admin-on-public", ValueKind::Switch)
            .default("false")
            .doc("Serves `/api/admin` on the public listener too.")
            .weakens(is_on, "The admin API answers on the public listener; only the admin secret guards it."),
        Key::new("tls.certificate_file", "SYMBOLON_TLS_CERTIFICATE_FILE", "--tls-certificate-file", ValueKind::Path)
            .unset("plain HTTP")
            .live()
            .doc("PEM file with the certificate chain of the public listener. Goes with `tls.key_file`."),
        Key::new("tls.key_file", "SYMBOLON_TLS_KEY_FILE", "--tls-key-file", ValueKind::Path)
            .unset("plain HTTP")
            .live()
            .doc("PEM file with the private key of the public listener."),
        Key::new(
            "management_tls.certificate_file",
            "SYMBOLON_MANAGEMENT_TLS_CERTIFICATE_FILE",
            "--management-tls-certificate-file",
            ValueKind::Path,
        )
        .unset("plain HTTP")
        .live()
        .doc("PEM file with the certificate chain of the management listener. Goes with its `key_file`."),
        Key::new(
            "management_tls.key_file",
            "SYMBOLON_MANAGEMENT_TLS_KEY_FILE",
            "--management-tls-key-file",
            ValueKind::Path,
        )
        .unset("plain HTTP")
        .live()
        .doc("PEM file with the private key of the management listener."),
        Key::new("worker_threads", "SYMBOLON_WORKER_THREADS", "--worker-threads", ValueKind::Count { min: 1, max: 1024 })
            .unset("one per core")
            .doc("Threads that serve requests."),
        Key::new("http.http2", "SYMBOLON_HTTP_HTTP2", "--http-http2", ValueKind::Switch)
            .default("true")
            .doc("Speaks HTTP/2 beside HTTP/1.1."),
        Key::new(
            "http.max_body",
            "SYMBOLON_HTTP_MAX_BODY",
            "--http-max-body",
            ValueKind::Size { min: 16 << 10, max: 64 * MIB },
        )
        .default("1MiB")
        .live()
        .doc(
            "Largest request body, where its endpoint takes no less: a form of 64 KiB at most. A larger one is answered 413. \
             The bulk streams of the admin API have no limit.",
        ),
        Key::new(
            "http.body_budget",
            "SYMBOLON_HTTP_BODY_BUDGET",
            "--http-body-budget",
            ValueKind::Size { min: MIB, max: 64 << 30 },
        )
        .default("64MiB")
        .live()
        .doc(
            "Bytes of all request bodies in flight; beyond it the answer is 503 with Retry-After. One address may take an \
             eighth by bodies that come in pieces, unless `rate_limits` is off; beyond that it is 429. The admin API counts \
             and is not refused; its bulk streams hold little and do not count.",
        ),
        Key::new(
            "http.max_header_size",
            "SYMBOLON_HTTP_MAX_HEADER_SIZE",
            "--http-max-header-size",
            ValueKind::Size { min: 8 << 10, max: MIB },
        )
        .default("32KiB")
        .doc("Largest request head: request line and headers together."),
        Key::new(
            "http.max_headers",
            "SYMBOLON_HTTP_MAX_HEADERS",
            "--http-max-headers",
            ValueKind::Count { min: 16, max: 1000 },
        )
        .default("100")
        .doc("Most headers of a request."),
        Key::new("http.header_timeout", "SYMBOLON_HTTP_HEADER_TIMEOUT", "--http-header-timeout", ValueKind::seconds(1, 300))
            .default("10s")
            .doc("How long a client may take to send the head of a request."),
        Key::new(
            "http.request_timeout",
            "SYMBOLON_HTTP_REQUEST_TIMEOUT",
            "--http-request-timeout",
            ValueKind::seconds(1, 600),
        )
        .default("30s")
        .live()
        .doc("How long the body of a request may take to come; then it is answered 408. Bulk streams of the admin API are exempt."),
        Key::new("http.idle_timeout", "SYMBOLON_HTTP_IDLE_TIMEOUT", "--http-idle-timeout", ValueKind::seconds(1, 3600))
            .default("75s")
            .doc("How long a connection without a request is kept open."),
        Key::new("http.drain_timeout", "SYMBOLON_HTTP_DRAIN_TIMEOUT", "--http-drain-timeout", ValueKind::seconds(0, 600))
            .default("20s")
            .doc("How long requests in flight may go on when the server stops."),
        Key::new("http.drain_delay", "SYMBOLON_HTTP_DRAIN_DELAY", "--http-drain-delay", ValueKind::seconds(0, 600))
            .default("0")
            .live()
            .doc(
                "How long the server goes on as before when it is told to stop, while `/readyz` answers 503: time for a \
                 balancer to send new requests elsewhere. Then `http.drain_timeout` begins. A second signal ends it.",
            ),
        Key::new(
            "http.max_connections",
            "SYMBOLON_HTTP_MAX_CONNECTIONS",
            "--http-max-connections",
            ValueKind::Count { min: 1, max: 1_000_000 },
        )
        .default("10000")
        .doc("Most connections of the public listener at once; more wait to be accepted."),
    ],
};

pub(crate) fn is_on(value: &Value) -> bool {
    matches!(value, Value::Switch(true))
}

pub(crate) fn is_off(value: &Value) -> bool {
    matches!(value, Value::Switch(false))
}

/// The two files of a TLS listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM file of the certificate chain.
    pub certificate: PathBuf,
    /// PEM file of the private key.
    pub key: PathBuf,
}

/// The listeners.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The public listener.
    pub public: SocketAddr,
    /// TLS of the public listener; plain HTTP without.
    pub tls: Option<TlsFiles>,
    /// The management listener.
    pub management: SocketAddr,
    /// TLS of the management listener; plain HTTP without.
    pub management_tls: Option<TlsFiles>,
    /// Whether the admin API is also served on the public listener.
    pub admin_on_public: bool,
    /// Threads that serve requests; default: one per core.
    pub worker_threads: Option<usize>,
}

/// Limits of connections and requests.
#[derive(Clone, Debug)]
pub struct Http {
    /// Whether HTTP/2 is offered besides HTTP/1.1.
    pub http2: bool,
    /// Largest request body in bytes.
    pub max_body: usize,
    /// Largest request head in bytes.
    pub max_header_size: usize,
    /// Most headers of a request.
    pub max_headers: usize,
    /// Time limit for receiving the head of a request.
    pub header_timeout: Duration,
    /// Time limit for receiving the body of a request.
    pub request_timeout: Duration,
    /// How long an idle connection is kept.
    pub idle_timeout: Duration,
    /// Time limit for requests in flight when the server stops.
    pub drain_timeout: Duration,
    /// How long the server goes on serving after it was told to stop.
    pub drain_delay: Duration,
    /// Most connections of the public listener at once.
    pub max_connections: usize,
}

pub(crate) fn build(reader: &mut Reader) -> Listen {
    let public = reader.address("listen");
    let management = reader.address("management_listen");
    if overlap(public, management) {
        let problem =
            format!("has the port of the public listener, at an address of its (listen = \"{public}\")");
        reader.refuse("management_listen", problem, "give each its own port");
    }
    Listen {
        public,
        tls: tls(reader, "tls.certificate_file", "tls.key_file"),
        management,
        management_tls: tls(reader, "management_tls.certificate_file", "management_tls.key_file"),
        admin_on_public: reader.switch("admin_on_public"),
        worker_threads: reader.optional_count("worker_threads").and_then(|n| usize::try_from(n).ok()),
    }
}

pub(crate) fn build_http(reader: &mut Reader) -> Http {
    Http {
        http2: reader.switch("http.http2"),
        max_body: reader.bytes("http.max_body"),
        max_header_size: reader.bytes("http.max_header_size"),
        max_headers: reader.small_count("http.max_headers"),
        header_timeout: reader.duration("http.header_timeout"),
        request_timeout: reader.duration("http.request_timeout"),
        idle_timeout: reader.duration("http.idle_timeout"),
        drain_timeout: reader.duration("http.drain_timeout"),
        drain_delay: reader.duration("http.drain_delay"),
        max_connections: reader.small_count("http.max_connections"),
    }
}

/// Whether two listeners cannot both be bound: they have the same port, and the address of one includes the other's.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let covers = |all: IpAddr, ip: IpAddr| match all {
        IpAddr::V4(all) => all.is_unspecified() && ip.to_canonical().is_ipv4(),
        // The IPv6 wildcard address also accepts IPv4 connections.
        IpAddr::V6(all) => all.is_unspecified(),
    };
    let (a, b) = (one.ip(), other.ip());
    let shared = a.to_canonical() == b.to_canonical() || covers(a, b) || covers(b, a);
    one.port() == other.port() && one.port() != 0 && shared
}

/// Requires both files or none: with only one, the listener would silently serve plain HTTP.
fn tls(reader: &mut Reader, certificate: &'static str, key: &'static str) -> Option<TlsFiles> {
    match (reader.optional_path(certificate), reader.optional_path(key)) {
        (Some(certificate), Some(key)) => return Some(TlsFiles { certificate, key }),
        (Some(_), None) if !reader.failed(key) => {
            reader.refuse(certificate, format!("stands without `{key}`"), format!("set `{key}` too"));
        }
        (None, Some(_)) if !reader.failed(certificate) => {
            reader.refuse(key, format!("stands without `{certificate}`"), format!("set `{certificate}` too"));
        }
        _ => {}
    }
    None
}
