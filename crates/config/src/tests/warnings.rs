//! Every setting that weakens something says so; nothing else does.

use super::*;

fn warned(env: &[(&str, &str)]) -> Vec<&'static str> {
    production(env).unwrap().warnings().iter().map(|warning| warning.key).collect()
}

#[test]
fn what_weakens_something_warns() {
    for (variable, value, key) in [
        ("SYMBOLON_TEST_ENDPOINTS", "true", "test_endpoints"),
        ("SYMBOLON_RATE_LIMITS", "off", "rate_limits"),
        ("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "off", "rate_limit.login.account"),
        ("SYMBOLON_ADMIN_ON_PUBLIC", "true", "admin_on_public"),
        ("SYMBOLON_ISSUER", "http://login.example.com", "issuer"),
        ("SYMBOLON_MANAGEMENT_LISTEN", "0.0.0.0:9090", "management_listen"),
        ("SYMBOLON_STORAGE_SYNC", "off", "storage.sync"),
        ("SYMBOLON_STORAGE_ISSUER_SHARE", "100", "storage.issuer_share"),
        ("SYMBOLON_TRUSTED_PROXIES", "0.0.0.0/0", "trusted_proxies"),
        ("SYMBOLON_TRUSTED_PROXIES", "10.0.0.1, ::/0", "trusted_proxies"),
        ("SYMBOLON_ARGON2_MEMORY", "18MiB", "argon2.memory"),
        ("SYMBOLON_ARGON2_ITERATIONS", "1", "argon2.memory"),
        ("SYMBOLON_SESSION_COOKIE", "sid", "session_cookie"),
        ("SYMBOLON_REFRESH_ROTATION", "off", "refresh.rotation"),
        ("SYMBOLON_LIFETIME_ACCESS_TOKEN", "25h", "lifetime.access_token"),
        ("SYMBOLON_PKCE", "optional", "pkce"),
    ] {
        assert_eq!(warned(&[(variable, value)]), [key], "{variable}={value}");
    }
}

#[test]
fn what_weakens_nothing_is_quiet() {
    for (variable, value) in [
        ("SYMBOLON_LISTEN", "0.0.0.0:8080"),
        ("SYMBOLON_ISSUER", "http://app.localhost:8080"),
        ("SYMBOLON_MANAGEMENT_LISTEN", "[::1]:9090"),
        ("SYMBOLON_TRUSTED_PROXIES", "10.0.0.0/8,fc00::/7,2001:db8::/32"),
        ("SYMBOLON_ARGON2_MEMORY", "46MiB"),
        ("SYMBOLON_LIFETIME_ACCESS_TOKEN", "1d"),
        ("SYMBOLON_PKCE", "required"),
        ("SYMBOLON_PKCE", "or_nonce"),
    ] {
        assert!(warned(&[(variable, value)]).is_empty(), "{variable}={value}");
    }
    let env = [("SYMBOLON_ARGON2_MEMORY", "12MiB"), ("SYMBOLON_ARGON2_ITERATIONS", "3")];
    assert!(warned(&env).is_empty());
}

#[test]
fn a_secret_on_the_command_line_warns() {
    let config = load(None, &[ISSUER], &[("admin-secret", SECRET.1)]).unwrap();
    assert_eq!(config.warnings()[0].key, "admin_secret");
    assert!(config.warnings()[0].text.contains("visible"));
}
