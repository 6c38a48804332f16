//! What a reload may change while running.

use super::*;
use crate::config::ReloadDiff;

fn diff(env: &[(&str, &str)]) -> ReloadDiff {
    Config::reloadable_diff(&production(&[]).unwrap(), &production(env).unwrap())
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
        ("SYMBOLON_ADMIN_SECRET", "another secret of length"),
        ("SYMBOLON_LISTEN", "127.0.0.1:8081"),
        ("SYMBOLON_DATA_DIR", "/data"),
        ("SYMBOLON_SHARDS_CODE", "8"),
    ]);
    let live = ["tls.certificate_file", "tls.key_file", "admin_secret", "rate_limits", "log.level"];
    assert_eq!(diff.live, live);
    assert_eq!(diff.restart, ["listen", "data_dir"]);
    assert_eq!(diff.first_start, ["shards.code"]);
}

#[test]
fn an_issuer_that_moves_the_default_cookie_names_both() {
    assert_eq!(diff(&[("SYMBOLON_ISSUER", "http://localhost:1")]).restart, ["issuer", "session_cookie"]);
}
