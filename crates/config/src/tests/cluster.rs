//! The engines of the cluster store: where they are, what goes with them, what never shows.

use std::time::Duration;

use super::*;
use crate::{Cluster, Mode};

const STORE: (&str, &str) = ("SYMBOLON_STORE", "cluster");
const MASTER: (&str, &str) =
    ("SYMBOLON_MASTER_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
const POSTGRES: (&str, &str) = ("SYMBOLON_POSTGRES_URL", "postgres://u:hunter2@127.0.0.1:5432/symbolon");
const REDIS: (&str, &str) =
    ("SYMBOLON_REDIS_URLS", "redis://u:hunter2@127.0.0.1:7000,redis://u:hunter2@127.0.0.1:7001");

/// Variables of a node of the cluster, with these on top; a name without a value is taken out.
fn node<'a>(env: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![STORE, MASTER, POSTGRES, REDIS];
    all.retain(|(name, _)| !env.iter().any(|(other, _)| other == name));
    all.extend(env.iter().filter(|(_, value)| !value.is_empty()));
    all
}

fn cluster(env: &[(&str, &str)]) -> Cluster {
    production(&node(env)).unwrap().storage.cluster.unwrap()
}

fn exposed(cluster: &Cluster) -> Vec<&str> {
    cluster.redis_urls.iter().map(|url| url.expose()).collect()
}

#[test]
fn a_node_has_its_engines_and_no_data_directory() {
    let of_node = cluster(&[]);
    assert_eq!(of_node.postgres_url.expose(), POSTGRES.1);
    assert_eq!(exposed(&of_node), ["redis://u:hunter2@127.0.0.1:7000", "redis://u:hunter2@127.0.0.1:7001"]);
    assert_eq!((of_node.postgres_connections, of_node.postgres_timeout), (16, Duration::from_secs(2)));
    assert_eq!((of_node.redis_timeout, of_node.redis_waits), (Duration::from_secs(1), true));
    assert_eq!(of_node.redis_prefix, "symbolon");
    let config = production(&node(&[("SYMBOLON_DATA_DIR", "/proc/none")])).unwrap();
    assert_eq!((config.mode, config.warnings()), (Mode::Production, &[][..]));
    config.check_files(symbolon_protocol::time::Timestamp::from_millis(0), Vec::new()).unwrap();
    assert!(production(&[]).unwrap().storage.cluster.is_none());
}

#[test]
fn every_value_reaches_the_store() {
    let set = cluster(&[
        ("SYMBOLON_POSTGRES_CONNECTIONS", "2"),
        ("SYMBOLON_POSTGRES_TIMEOUT", "3s"),
        ("SYMBOLON_REDIS_TIMEOUT", "400ms"),
        ("SYMBOLON_REDIS_PREFIX", "a_B-1"),
        ("SYMBOLON_REDIS_REPLICAS", "local"),
    ]);
    assert_eq!((set.postgres_connections, set.postgres_timeout), (2, Duration::from_secs(3)));
    assert_eq!((set.redis_timeout, set.redis_waits), (Duration::from_millis(400), false));
    assert_eq!(set.redis_prefix, "a_B-1");
}

#[test]
fn urls_come_from_files_too_and_as_an_array() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let postgres = write("postgres", "postgres://localhost/db\n");
    let redis = write("redis", "redis://127.0.0.1:1, redis://127.0.0.1:2\nredis://127.0.0.1:3\n");
    let of_files = cluster(&[
        ("SYMBOLON_POSTGRES_URL", ""),
        ("SYMBOLON_POSTGRES_URL_FILE", &postgres),
        ("SYMBOLON_REDIS_URLS", ""),
        ("SYMBOLON_REDIS_URLS_FILE", &redis),
    ]);
    assert_eq!(of_files.postgres_url.expose(), "postgres://localhost/db");
    assert_eq!(exposed(&of_files), ["redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"]);
    let file = "store = \"cluster\"\nredis.urls = [\"redis://127.0.0.1:1\", \"redis://127.0.0.1:2\"]\n";
    let config = load(Some(file), &[ISSUER, SECRET, MASTER, POSTGRES], &[]).unwrap();
    assert_eq!(exposed(&config.storage.cluster.unwrap()).len(), 2);
}

#[test]
fn what_a_node_lacks_is_named_all_at_once() {
    let report = load(None, &[STORE], &[]).unwrap_err().to_string();
    assert!(report.starts_with("5 mistakes"), "{report}");
    for part in [
        "issuer: is required on the cluster store; set it to the URL",
        "postgres.url: is required on the cluster store; set `postgres.url` or `postgres.url_file`",
        "redis.urls: is required on the cluster store; set `redis.urls` or `redis.urls_file`",
        "admin_secret: is required outside development mode",
        "master_key: is required on the cluster store; set `master_key` or `master_key_file`",
    ] {
        assert!(report.contains(part), "{part:?} in {report}");
    }
}

#[test]
fn a_wrong_url_is_named_by_its_key_and_never_repeated() {
    for (variable, value, parts) in [
        ("SYMBOLON_POSTGRES_URL", "mysql://u:hunter2@h/db", ["postgres.url (env", "is not a postgres://"]),
        ("SYMBOLON_POSTGRES_URL", "postgres://u:hunter2@h:x/db", ["postgres.url (env", "host or port"]),
        ("SYMBOLON_REDIS_URLS", "redis://u:hunter2@a,http://b", ["redis.urls (env", "not redis://"]),
        ("SYMBOLON_REDIS_URLS", "redis://u:hunter2@a,redis://b", ["redis.urls (env", "differ"]),
        ("SYMBOLON_REDIS_PREFIX", "a{b", ["redis.prefix = \"a{b\"", "is not a plain name"]),
        ("SYMBOLON_REDIS_REPLICAS", "none", ["redis.replicas = \"none\"", "write \"wait\" or \"local\""]),
        ("SYMBOLON_POSTGRES_CONNECTIONS", "1", ["postgres.connections = \"1\"", "write 2 to 1000"]),
    ] {
        let env = node(&[(variable, value)]);
        assert_refused(&env, &parts);
        assert!(!refused(&env).contains("hunter2"), "{value}");
    }
    let env = node(&[("SYMBOLON_REDIS_URLS", ""), ("SYMBOLON_REDIS_URLS_FILE", "/nonexistent")]);
    assert_refused(&env, &["redis.urls_file = \"/nonexistent\"", "cannot be read"]);
}

#[test]
fn urls_are_refused_where_they_would_do_nothing() {
    let file = ("SYMBOLON_REDIS_URLS_FILE", "/run/secrets/redis");
    for (variable, value) in [POSTGRES, REDIS, file] {
        let parts = ["does nothing on the embedded store", "write store = \"cluster\" (SYMBOLON_STORE)"];
        assert_refused(&[(variable, value)], &parts);
        assert!(!refused(&[(variable, value)]).contains("hunter2"));
    }
    assert_refused(
        &[("SYMBOLON_STORE", "redis"), POSTGRES],
        &["store = \"redis\"", "\"embedded\" or \"cluster\""],
    );
}

#[test]
fn what_goes_in_the_clear_or_waits_for_no_replica_warns() {
    for (variable, value, keys) in [
        ("SYMBOLON_POSTGRES_URL", "postgres://db.example/x", &["postgres.url"][..]),
        ("SYMBOLON_POSTGRES_URL", "postgres://db.example/x?sslmode=require", &[]),
        ("SYMBOLON_REDIS_URLS", "redis://cache.example", &["redis.urls"]),
        ("SYMBOLON_REDIS_URLS", "rediss://cache.example", &[]),
        ("SYMBOLON_REDIS_REPLICAS", "local", &["redis.replicas"]),
    ] {
        let config = production(&node(&[(variable, value)])).unwrap();
        let warned: Vec<_> = config.warnings().iter().map(|warning| warning.key).collect();
        assert_eq!(warned, keys, "{value}");
    }
}

#[test]
fn no_listing_shows_a_url() {
    let config = production(&node(&[])).unwrap();
    let shown = format!("{} {config:?} {:?}", config.show(), config.storage);
    assert!(!shown.contains("hunter2") && !shown.contains("7000"), "{shown}");
    assert_eq!(entry(&config, "redis.urls").value.as_deref(), Some("<redacted>"));
}
