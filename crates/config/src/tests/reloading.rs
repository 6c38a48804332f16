//! What a reload may change while running.

use super::*;
use crate::ReloadDiff;

fn diff(env: &[(&str, &str)]) -> ReloadDiff {
    let started = production(&[]).unwrap();
    Config::reloadable_diff(&started, &started, &production(env).unwrap())
}

#[test]
fn the_same_values_are_no_change_whatever_their_source_or_spelling() {
    assert!(diff(&[]).is_empty());
    assert!(diff(&[("SYMBOLON_LIFETIME_CODE", "60s"), ("SYMBOLON_RATE_LIMITS", "on")]).is_empty());
}

#[test]
fn each_change_is_named_by_when_it_counts() {
    let diff = diff(&[
        ("SYMBOLON_LOG_LEVEL", "debug"),
        ("SYMBOLON_RATE_LIMITS", "off"),
        ("SYMBOLON_TLS_CERTIFICATE_FILE", "/c"),
        ("SYMBOLON_TLS_KEY_FILE", "/k"),
        ("SYMBOLON_ADMIN_SECRET", "another-secret-of-length"),
        ("SYMBOLON_LISTEN", "127.0.0.1:8081"),
        ("SYMBOLON_DATA_DIR", "/data"),
        ("SYMBOLON_SHARDS_CODE", "8"),
    ]);
    assert_eq!(diff.live, ["admin_secret", "rate_limits", "log.level"]);
    assert_eq!(diff.restart, ["listen", "tls.certificate_file", "tls.key_file", "data_dir"]);
    assert_eq!(diff.first_start, ["shards.code"]);
}

#[test]
fn an_issuer_that_moves_the_default_cookie_names_both() {
    assert_eq!(diff(&[("SYMBOLON_ISSUER", "http://localhost:1")]).restart, ["issuer", "session_cookie"]);
}

#[test]
fn what_needs_a_restart_is_named_until_it_is_taken_back() {
    let moved = [("SYMBOLON_LISTEN", "127.0.0.1:8081")];
    let (started, old, new) =
        (production(&[]).unwrap(), production(&moved).unwrap(), production(&moved).unwrap());
    assert_eq!(Config::reloadable_diff(&started, &old, &new).restart, ["listen"]);
    assert!(Config::reloadable_diff(&started, &old, &started).is_empty());
}

#[test]
fn certificates_are_live_where_tls_is_spoken_already() {
    let with = |name| [("SYMBOLON_TLS_CERTIFICATE_FILE", name), ("SYMBOLON_TLS_KEY_FILE", "/k")];
    let (old, new) = (production(&with("/a")).unwrap(), production(&with("/b")).unwrap());
    assert_eq!(Config::reloadable_diff(&old, &old, &new).live, ["tls.certificate_file"]);
    let none = production(&[]).unwrap();
    let switched_off = Config::reloadable_diff(&old, &old, &none);
    assert_eq!(switched_off.restart, ["tls.certificate_file", "tls.key_file"]);
    assert!(switched_off.live.is_empty());
}
