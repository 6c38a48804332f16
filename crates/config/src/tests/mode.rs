//! Development mode, what is required outside it, and the issuer.

use super::*;
use crate::LogFormat;
use crate::Mode;

#[test]
fn with_nothing_at_all_it_is_development_mode() {
    let config = load(None, &[], &[]).unwrap();
    assert_eq!(config.mode, Mode::Development);
    assert_eq!(config.issuer.as_str(), "http://localhost:8080");
    assert_eq!(config.listen.public.to_string(), "127.0.0.1:8080");
    assert_eq!(config.listen.management.to_string(), "127.0.0.1:9090");
    assert_eq!(config.storage.data_dir, PathBuf::from("./symbolon-data"));
    assert!(config.security.admin_secret.is_none() && !config.security.test_endpoints);
    assert_eq!(config.security.session_cookie, "symbolon_session");
    assert_eq!(config.telemetry.log_format, LogFormat::Pretty);
    assert_eq!(config.warnings(), []);
    assert_eq!(entry(&config, "issuer").value.as_deref(), Some("http://localhost:8080"));
}

#[test]
fn development_mode_follows_the_port_and_takes_a_short_secret() {
    let env = [("SYMBOLON_LISTEN", "[::1]:4000"), ("SYMBOLON_ADMIN_SECRET", "dev")];
    let config = load(None, &env, &[]).unwrap();
    assert_eq!(config.mode, Mode::Development);
    assert_eq!(config.issuer.as_str(), "http://localhost:4000");
    assert_eq!(config.security.admin_secret.as_ref().unwrap().expose(), "dev");
}

#[test]
fn a_free_port_becomes_the_issuer_in_development_mode_only() {
    let bound = "127.0.0.1:40123".parse().unwrap();
    let mut config = load(None, &[("SYMBOLON_LISTEN", "localhost:0")], &[]).unwrap();
    config.bound(bound);
    assert_eq!(config.issuer.as_str(), "http://localhost:40123");
    assert_eq!(config.listen.public, bound);
    let mut config = production(&[("SYMBOLON_LISTEN", "localhost:0")]).unwrap();
    config.bound(bound);
    assert_eq!(config.issuer.as_str(), ISSUER.1);
}

#[test]
fn a_listener_beyond_loopback_without_an_issuer_is_refused_by_name() {
    for (variable, key) in
        [("SYMBOLON_LISTEN", "listen"), ("SYMBOLON_MANAGEMENT_LISTEN", "management_listen")]
    {
        let report = load(None, &[(variable, "0.0.0.0:8081"), SECRET], &[]).unwrap_err().to_string();
        let start = format!(
            "  - {key} = \"0.0.0.0:8081\" (env {variable}): listens beyond loopback without an issuer"
        );
        assert!(report.starts_with("1 mistake") && report.contains(&start), "{report}");
        assert!(report.contains("set `issuer` (SYMBOLON_ISSUER), or listen on 127.0.0.1"), "{report}");
    }
}

#[test]
fn a_file_ends_development_mode() {
    let errors = load(Some("test_endpoints = true\n"), &[], &[]).unwrap_err();
    let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["issuer", "admin_secret"]);
}

#[test]
fn production_needs_issuer_and_admin_secret_and_nothing_else() {
    let config = production(&[]).unwrap();
    assert_eq!(config.mode, Mode::Production);
    assert_eq!(config.issuer.as_str(), ISSUER.1);
    assert_eq!(config.security.session_cookie, "__Host-symbolon_session");
    assert_eq!(config.telemetry.log_format, LogFormat::Json);
    assert!(config.rate_limits.enabled);
    assert_eq!(config.warnings(), []);
    let report = load(None, &[ISSUER], &[]).unwrap_err().to_string();
    assert!(report.starts_with("1 mistake") && report.contains("admin_secret: is required"), "{report}");
    assert!(report.contains("set `admin_secret` or `admin_secret_file`"), "{report}");
}

#[test]
fn an_issuer_that_failed_is_not_called_missing() {
    assert_refused(&[("SYMBOLON_ISSUER", "login.example.com")], &["is not an http or https URL"]);
}

#[test]
fn issuers_of_any_scheme_and_port_are_taken_as_written() {
    for issuer in [
        "https://login.example.com",
        "https://login.example.com:8443",
        "https://login.example.com:443",
        "https://login.example.com/tenants/a",
        "https://login.example.com:443/a",
        "http://localhost:8080",
        "http://127.0.0.1",
        "http://[::1]:80",
        "https://xn--mnchen-3ya.example",
        "https://login.example.com/",
        "https://login.example.com/tenants/a/",
        "https://login.example.com:443/",
    ] {
        assert_eq!(production(&[("SYMBOLON_ISSUER", issuer)]).unwrap().issuer.as_str(), issuer);
    }
}

#[test]
fn other_spellings_of_an_issuer_are_refused_with_the_mend() {
    for (issuer, part) in [
        ("https://a.example//", "ends in more than one slash; write \"https://a.example\""),
        ("https://a.example/x//", "write \"https://a.example/x\""),
        ("https://A.example/", "canonical form; write \"https://a.example/\""),
        ("https://a.example?x=1", "query or fragment"),
        ("https://a.example/#", "query or fragment"),
        ("https://A.example", "canonical form; write \"https://a.example\""),
        ("https://a.example/x/../y", "write \"https://a.example/y\""),
        ("https://münchen.example", "write \"https://xn--mnchen-3ya.example\""),
        ("https://a.example\\x", "canonical form"),
        (" https://a.example", "is not an http or https URL"),
        ("https://a.example\n", "canonical form"),
        ("https://", "is not a URL"),
        ("https:a.example", "is not an http or https URL"),
        ("HTTPS://a.example", "is not an http or https URL"),
        ("ftp://a.example", "is not an http or https URL"),
        ("http://a.example:80000", "is not a URL"),
    ] {
        assert_refused(&[("SYMBOLON_ISSUER", issuer)], &["issuer = ", part]);
    }
}

#[test]
fn a_password_in_an_issuer_is_refused_and_not_repeated() {
    let report = refused(&[("SYMBOLON_ISSUER", "https://joe:hunter2@a.example")]);
    assert!(report.contains("carries a user name or password") && !report.contains("hunter2"), "{report}");
}
