//! PostgreSQL and Redis, which all nodes of the cluster store share.

use std::time::Duration;

use symbolon_crypto::SecretString;

use super::Section;
use crate::engine;
use crate::error::Mistake;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

const URL: &str = "postgres.url";
const URL_FILE: &str = "postgres.url_file";
const URLS: &str = "redis.urls";
const URLS_FILE: &str = "redis.urls_file";

pub(crate) const SECTION: Section = Section {
    title: "Cluster store",
    intro: "Only for `store = \"cluster\"`: PostgreSQL keeps what must last, Redis or Valkey Cluster what is hot. Every \
            node has the same values ([setting up](../setup/cluster.md)).",
    keys: &[
        Key::new(URL, "SYMBOLON_POSTGRES_URL", "--postgres-url", ValueKind::Secret)
            .unset("required on the cluster store")
            .doc(
                "PostgreSQL: `postgres://user:password@host:5432/database?sslmode=require`. Several hosts separated by \
                 commas, with `target_session_attrs=read-write`.",
            ),
        Key::new(URL_FILE, "SYMBOLON_POSTGRES_URL_FILE", "--postgres-url-file", ValueKind::Path)
            .unset("see `postgres.url`")
            .doc("File with the URL of PostgreSQL."),
        Key::new(
            "postgres.connections",
            "SYMBOLON_POSTGRES_CONNECTIONS",
            "--postgres-connections",
            ValueKind::Count { min: 2, max: 1_000 },
        )
        .default("16")
        .doc("Connections to PostgreSQL that this node holds at most."),
        Key::new(
            "postgres.timeout",
            "SYMBOLON_POSTGRES_TIMEOUT",
            "--postgres-timeout",
            ValueKind::Duration { min: Duration::from_millis(50), max: Duration::from_secs(30) },
        )
        .default("2s")
        .doc("How long a statement, or the wait for a connection, may take before the answer is 503."),
        Key::new(URLS, "SYMBOLON_REDIS_URLS", "--redis-urls", ValueKind::Secrets)
            .unset("required on the cluster store")
            .doc(
                "Some nodes of one Redis or Valkey Cluster, which names the others: `rediss://user:password@host:6379`, \
                 `redis://` without TLS. A single server that is no cluster will do for development: it has no replica.",
            ),
        Key::new(URLS_FILE, "SYMBOLON_REDIS_URLS_FILE", "--redis-urls-file", ValueKind::Path)
            .unset("see `redis.urls`")
            .doc("File with the URLs of Redis, separated by commas or line breaks."),
        Key::new(
            "redis.timeout",
            "SYMBOLON_REDIS_TIMEOUT",
            "--redis-timeout",
            ValueKind::Duration { min: Duration::from_millis(50), max: Duration::from_secs(30) },
        )
        .default("1s")
        .doc("How long a command may take, its redirections included, before the answer is 503."),
        Key::new(
            "redis.replicas",
            "SYMBOLON_REDIS_REPLICAS",
            "--redis-replicas",
            ValueKind::Choice(&["wait", "local"]),
        )
        .default("wait")
        .doc(
            "Whether what must not be forgotten waits for a replica of its primary. With `wait` and no replica left, \
             such writes answer 503 while reads go on; `local` goes on with the primary alone.",
        )
        .weakens(is_local, "A failover of Redis can lose sign-ins, and bring back codes that were used."),
        Key::new("redis.prefix", "SYMBOLON_REDIS_PREFIX", "--redis-prefix", ValueKind::Name)
            .default("symbolon")
            .doc(
                "Begins every key in Redis, so that several installations may share one. The same on every node, and \
                 for good: under another one nothing is found that was there before.",
            ),
    ],
};

/// The databases of the cluster store.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// URL of PostgreSQL.
    pub postgres_url: SecretString,
    /// The most connections of this node to PostgreSQL.
    pub postgres_connections: usize,
    /// Time limit of a statement, and of waiting for a connection.
    pub postgres_timeout: Duration,
    /// URLs of some nodes of one Redis Cluster, or of a single server.
    pub redis_urls: Vec<SecretString>,
    /// Time limit of a command.
    pub redis_timeout: Duration,
    /// Whether durable writes wait for a replica.
    pub redis_waits: bool,
    /// The prefix of every key in Redis.
    pub redis_prefix: String,
}

fn is_local(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text == "local")
}

/// Whether the configuration chooses the cluster store.
pub(crate) fn is_chosen(reader: &Reader) -> bool {
    reader.optional_text("store").as_deref() == Some("cluster")
}

/// The databases, if the store is `cluster`. If it is not, a configured URL is reported as a mistake, because its
/// author expected it to be used.
pub(crate) fn build(reader: &mut Reader) -> Option<Cluster> {
    if !is_chosen(reader) {
        for key in [URL, URL_FILE, URLS, URLS_FILE] {
            if reader.said(key) && !reader.failed("store") {
                let mend = "write store = \"cluster\" (SYMBOLON_STORE), or remove it";
                reader.refuse(key, "does nothing on the embedded store", mend);
            }
        }
        return None;
    }
    Some(Cluster {
        postgres_url: postgres(reader),
        postgres_connections: reader.small_count("postgres.connections"),
        postgres_timeout: reader.duration("postgres.timeout"),
        redis_urls: redis(reader),
        redis_timeout: reader.duration("redis.timeout"),
        redis_waits: reader.text("redis.replicas") == "wait",
        redis_prefix: reader.text("redis.prefix"),
    })
}

fn postgres(reader: &mut Reader) -> SecretString {
    let mend = format!("set `{URL}` or `{URL_FILE}` (SYMBOLON_POSTGRES_URL, SYMBOLON_POSTGRES_URL_FILE)");
    let Some((url, key)) = required(reader, URL, URL_FILE, &mend) else { return SecretString::from("") };
    if let Some(true) = judged(reader, key, engine::postgres(url.expose())) {
        reader.warn(
            key,
            "PostgreSQL beyond loopback without sslmode=require: records and password may go in the clear.",
        );
    }
    url
}

fn redis(reader: &mut Reader) -> Vec<SecretString> {
    let mend = format!("set `{URLS}` or `{URLS_FILE}` (SYMBOLON_REDIS_URLS, SYMBOLON_REDIS_URLS_FILE)");
    let Some((urls, key)) = required(reader, URLS, URLS_FILE, &mend) else { return Vec::new() };
    let urls: Vec<_> =
        urls.expose().split([',', '\n']).map(str::trim).filter(|url| !url.is_empty()).collect();
    if let Some(true) = judged(reader, key, engine::redis(&urls)) {
        reader.warn(
            key,
            "Redis beyond loopback without TLS (rediss://): sessions and password go in the clear.",
        );
    }
    urls.into_iter().map(SecretString::from).collect()
}

/// A required secret, and the key that set it.
fn required(
    reader: &mut Reader,
    path: &'static str,
    file: &'static str,
    mend: &str,
) -> Option<(SecretString, &'static str)> {
    let errors = reader.errors.len();
    let secret = reader.secret(path, file);
    let reported = reader.errors.len() > errors || reader.failed(path) || reader.failed(file);
    if secret.is_none() && !reported {
        reader.refuse(path, "is required on the cluster store", mend);
    }
    Some((secret?, reader.secret_from(path, file)))
}

/// The result of checking a URL. A mistake is reported without the URL.
fn judged(reader: &mut Reader, key: &'static str, found: Result<bool, Mistake>) -> Option<bool> {
    match found {
        Ok(found) => Some(found),
        Err(Mistake { problem, mend }) => {
            reader.refuse(key, problem, mend);
            None
        }
    }
}
