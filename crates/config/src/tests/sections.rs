//! Rules of single sections: secrets, TLS, cookie, shards, sizes that go together.

use std::time::Duration;

use symbolon_crypto::password::PasswordPolicy;
use symbolon_crypto::seal::MasterKey;
use symbolon_protocol::pkce::PkcePolicy;
use symbolon_protocol::settings::{IssuerSettings, Lifetimes};

use super::*;
use crate::{EndpointLimit, LoginLimits, Rate, RateLimits, TlsFiles};

const MASTER: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn secret_file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (dir, path)
}

fn admin(config: &Config) -> &str {
    config.security.admin_secret.as_ref().unwrap().expose()
}

#[test]
fn a_secret_comes_from_a_file_without_its_line_break() {
    for end in ["", "\n", "\r\n"] {
        let (_dir, path) = secret_file(&format!("0123456789abcdef-012345{end}"));
        let config = load(None, &[ISSUER, ("SYMBOLON_ADMIN_SECRET_FILE", &path)], &[]).unwrap();
        assert_eq!(admin(&config), "0123456789abcdef-012345");
    }
}

#[test]
fn of_value_and_file_the_higher_source_wins_and_both_in_one_are_refused() {
    let (_dir, path) = secret_file("from-the-file-of-the-secret\n");
    let by_file = ("SYMBOLON_ADMIN_SECRET_FILE", path.as_str());
    let flag = [("admin-secret", "from-the-words-of-a-command")];
    assert_eq!(admin(&load(None, &[ISSUER, by_file], &flag).unwrap()), "from-the-words-of-a-command");
    let config =
        load(Some("admin_secret = \"from-the-configuration-file\"\n"), &[ISSUER, by_file], &[]).unwrap();
    assert_eq!(admin(&config), "from-the-file-of-the-secret");
    assert_refused(
        &[by_file],
        &["admin_secret_file = ", "stands beside `admin_secret`", "give one of the two"],
    );
}

#[test]
fn a_secret_file_that_cannot_be_read_is_the_only_mistake() {
    let env = [ISSUER, ("SYMBOLON_ADMIN_SECRET_FILE", "/nonexistent/secret")];
    let report = load(None, &env, &[]).unwrap_err().to_string();
    assert!(report.starts_with("1 mistake"), "{report}");
    assert!(
        report.contains("admin_secret_file = \"/nonexistent/secret\" (env SYMBOLON_ADMIN_SECRET_FILE)"),
        "{report}"
    );
}

#[test]
fn an_admin_secret_that_a_person_thought_of_is_refused_and_not_repeated() {
    for (secret, fault) in [
        ("hunter2", "holds fewer than 22 characters"),
        ("hunter2hunter2xyzuvw3", "holds fewer than 22 characters"),
        ("hunter2hunter2hunter2hunter2", "holds fewer than 8 different characters"),
        ("0000000000000000000000000000000000000000", "holds fewer than 8 different characters"),
        ("hunter2 with several words", "is a phrase of words"),
    ] {
        let told = format!("admin_secret (env SYMBOLON_ADMIN_SECRET): {fault}; set `admin_secret` or");
        let set = [("SYMBOLON_ADMIN_SECRET", secret)];
        assert_refused(&set, &[&told, "(head -c 32 /dev/urandom | base64)"]);
        assert!(!refused(&set).contains(secret));
        // In development mode anything goes.
        load(None, &set, &[]).unwrap();
    }
    // 128 bits in base64url, in hexadecimal digits, and what our commands make.
    for secret in ["MKjC0E5tDD2bNqCOwr1vCg", "5d41402abc4b2a76b9719d911017c592"] {
        production(&[("SYMBOLON_ADMIN_SECRET", secret)]).unwrap();
    }
}

#[test]
fn what_is_wrong_with_an_admin_secrets_file_is_told() {
    const USELESS: &str = "holds what no Authorization header can present";
    for (text, problem) in [
        ("short\n", "fewer than 22"),
        ("\n", "is an empty file"),
        ("sixteen-characters-and-more \n", USELESS),
        ("sixteen-characters-and-more\nand-another-line\n", USELESS),
        ("sechzehn-Zeichen-für-alle\n", USELESS),
    ] {
        let (_dir, path) = secret_file(text);
        let report =
            load(None, &[ISSUER, ("SYMBOLON_ADMIN_SECRET_FILE", &path)], &[]).unwrap_err().to_string();
        assert!(report.contains("admin_secret_file = ") && report.contains(problem), "{report}");
    }
}

#[test]
fn an_empty_secret_file_is_no_secret_in_development_mode_either() {
    let (_dir, path) = secret_file("");
    load(None, &[("SYMBOLON_ADMIN_SECRET_FILE", &path)], &[]).unwrap_err();
}

#[test]
fn the_master_key_is_256_bits_by_value_or_file() {
    assert!(production(&[]).unwrap().security.master_key.is_none());
    let id = MasterKey::from_hex(&MASTER.into()).unwrap().id();
    let config = production(&[("SYMBOLON_MASTER_KEY", MASTER)]).unwrap();
    assert_eq!(config.security.master_key.as_ref().unwrap().id(), id);
    let (_dir, path) = secret_file(&format!("{MASTER}\n"));
    let config = production(&[("SYMBOLON_MASTER_KEY_FILE", &path)]).unwrap();
    assert_eq!(config.security.master_key.as_ref().unwrap().id(), id);
    assert_refused(
        &[("SYMBOLON_MASTER_KEY", "a passphrase")],
        &["master_key (env SYMBOLON_MASTER_KEY)", "is not a 256-bit key", "head -c 32 /dev/urandom"],
    );
    assert!(!refused(&[("SYMBOLON_MASTER_KEY", "a passphrase")]).contains("passphrase"));
}

#[test]
fn a_file_of_raw_bytes_is_told_which_form_is_expected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw");
    std::fs::write(&path, [0xff; 32]).unwrap();
    assert_refused(
        &[("SYMBOLON_MASTER_KEY_FILE", path.to_str().unwrap())],
        &["master_key_file = ", "holds raw bytes and no text", "head -c 32 /dev/urandom | base64"],
    );
}

#[test]
fn a_session_cookie_is_none_of_a_sign_in_and_shown_as_it_is_set() {
    for name in ["__Host-symbolon_login", "symbolon_login", "__Secure-symbolon_login_acme"] {
        assert_refused(
            &[("SYMBOLON_SESSION_COOKIE", name)],
            &[&format!("session_cookie = {name:?}"), "a sign-in has", "write \"__Host-symbolon_session\""],
        );
    }
    let below =
        |url, more: &[(&str, &str)]| production(&[&[("SYMBOLON_ISSUER", url)], more].concat()).unwrap();
    let named = below("https://x.example/id", &[("SYMBOLON_SESSION_COOKIE", "__Host-own")]);
    let told = &named.warnings()[0];
    assert_eq!(told.key, "session_cookie");
    assert!(told.text.contains("\"__Host-own\" has no effect"), "{}", told.text);
    assert!(told.text.contains("the cookie is \"__Host-symbolon_session_default\""), "{}", told.text);
    for (config, name) in [
        (named, "__Host-symbolon_session_default"),
        (below("http://localhost/id", &[]), "symbolon_session_default"),
        (below("https://x.example", &[]), "__Host-symbolon_session"),
    ] {
        assert_eq!(entry(&config, "session_cookie").value.as_deref(), Some(name));
        assert_eq!(config.security.session_cookie, name);
    }
}

#[test]
fn a_value_that_is_wrong_by_itself_is_the_only_mistake() {
    for size in ["1TiB", "1KiB"] {
        assert_refused(&[("SYMBOLON_ARGON2_MEMORY", size)], &["argon2.memory = "]);
    }
    assert_refused(&[("SYMBOLON_ARGON2_PARALLELISM", "1000")], &["argon2.parallelism = "]);
}

#[test]
fn a_listener_of_tls_needs_an_https_issuer() {
    let tls = [("SYMBOLON_TLS_CERTIFICATE_FILE", "/c"), ("SYMBOLON_TLS_KEY_FILE", "/k")];
    let http = [&[("SYMBOLON_ISSUER", "http://login.example.com")][..], &tls].concat();
    assert_refused(
        &http,
        &[
            "issuer = \"http://login.example.com\" (env SYMBOLON_ISSUER)",
            "speaks TLS alone",
            "https://login.example.com",
        ],
    );
    let report = load(None, &tls, &[]).unwrap_err().to_string();
    assert!(
        report.starts_with("1 mistake") && report.contains("issuer = \"http://localhost:8080\":"),
        "{report}"
    );
    let of_management =
        [("SYMBOLON_MANAGEMENT_TLS_CERTIFICATE_FILE", "/c"), ("SYMBOLON_MANAGEMENT_TLS_KEY_FILE", "/k")];
    load(None, &of_management, &[]).unwrap();
}

#[test]
fn tls_takes_both_files_or_none() {
    assert_eq!(production(&[]).unwrap().listen.tls, None);
    let (certificate, key) = (("SYMBOLON_TLS_CERTIFICATE_FILE", "/c"), ("SYMBOLON_TLS_KEY_FILE", "/k"));
    let files = TlsFiles { certificate: "/c".into(), key: "/k".into() };
    assert_eq!(production(&[certificate, key]).unwrap().listen.tls, Some(files));
    assert_refused(
        &[certificate],
        &["tls.certificate_file = \"/c\"", "stands without `tls.key_file`", "set `tls.key_file`"],
    );
    assert_refused(&[key], &["tls.key_file = \"/k\"", "set `tls.certificate_file` too"]);
    assert_refused(
        &[("SYMBOLON_MANAGEMENT_TLS_KEY_FILE", "/k")],
        &["set `management_tls.certificate_file` too"],
    );
}

#[test]
fn listeners_need_addresses_of_their_own() {
    for (public, management, clash) in [
        ("127.0.0.1:9090", "127.0.0.1:9090", true),
        ("0.0.0.0:9090", "127.0.0.1:9090", true),
        ("127.0.0.1:9090", "[::]:9090", true),
        ("[::]:9090", "[::1]:9090", true),
        ("0.0.0.0:9090", "[::1]:9090", false),
        ("127.0.0.1:9090", "127.0.0.2:9090", false),
        ("0.0.0.0:9091", "127.0.0.1:9090", false),
        ("0.0.0.0:0", "127.0.0.1:0", false),
    ] {
        let env = [("SYMBOLON_LISTEN", public), ("SYMBOLON_MANAGEMENT_LISTEN", management)];
        if clash {
            let value = format!("management_listen = {management:?} (env SYMBOLON_MANAGEMENT_LISTEN)");
            assert_refused(&env, &[&value, &format!("listen = {public:?}"), "give each its own port"]);
        } else {
            assert!(production(&env).is_ok(), "{public} {management}");
        }
    }
    for text in ["8080", "example.com:80", "127.0.0.1", "127.0.0.1:99999", "localhost:http"] {
        assert_refused(
            &[("SYMBOLON_LISTEN", text)],
            &["listen = ", "is not an address", "\"127.0.0.1:8080\""],
        );
    }
    production(&[("SYMBOLON_LISTEN", "127.0.0.1:0"), ("SYMBOLON_MANAGEMENT_LISTEN", "127.0.0.1:0")]).unwrap();
}

#[test]
fn shards_are_1_to_1024_per_kind() {
    assert_eq!(production(&[]).unwrap().storage.shards.assertion, 64);
    let shards = production(&[("SYMBOLON_SHARDS_SESSION", "1024"), ("SYMBOLON_SHARDS_CODE", "1")]).unwrap();
    assert_eq!((shards.storage.shards.session, shards.storage.shards.code), (1024, 1));
    for kind in ["CODE", "SESSION", "CHALLENGE", "REFRESH", "REVOCATION", "ASSERTION"] {
        let variable = format!("SYMBOLON_SHARDS_{kind}");
        assert_refused(&[(&variable, "1025")], &["is too large; write 1 to 1024"]);
        assert_refused(&[(&variable, "-1")], &["is not a whole number"]);
    }
}

#[test]
fn a_prefixed_cookie_needs_an_https_issuer() {
    let http = ("SYMBOLON_ISSUER", "http://localhost:8080");
    assert_eq!(production(&[http]).unwrap().security.session_cookie, "symbolon_session");
    assert_refused(
        &[http, ("SYMBOLON_SESSION_COOKIE", "__Host-symbolon_session")],
        &["session_cookie = ", "needs an https issuer", "write \"symbolon_session\""],
    );
    assert_refused(&[("SYMBOLON_SESSION_COOKIE", "a b")], &["is not the name of a cookie"]);
    let named = production(&[("SYMBOLON_SESSION_COOKIE", "__Host-other")]).unwrap();
    assert_eq!((named.security.session_cookie.as_str(), named.warnings().len()), ("__Host-other", 0));
}

/// Whether each limit is set. No pattern leaves a field out, so that a new one must be named here.
fn limits(all: RateLimits) -> Vec<(&'static str, bool)> {
    let RateLimits {
        enabled: _,
        authorize,
        authorize_user,
        assertion_client,
        token,
        userinfo,
        userinfo_user,
        introspect,
        revoke,
        par,
        device_authorization,
        backchannel_authentication,
        client_registration,
        logout,
        login,
        admin_address,
        connections,
        body_budget: _,
    } = all;
    let LoginLimits {
        account,
        address,
        success,
        account_in_flight,
        address_in_flight,
        sessions,
        email_codes,
        mails,
    } = login;
    let by_endpoint = [
        ("token", token),
        ("userinfo", userinfo),
        ("introspect", introspect),
        ("revoke", revoke),
        ("par", par),
        ("device_authorization", device_authorization),
        ("backchannel_authentication", backchannel_authentication),
    ];
    let by_endpoint = by_endpoint.map(|(name, EndpointLimit { client, address })| {
        [(name, client.is_some()), (name, address.is_some())]
    });
    let rates = [
        ("authorize", authorize),
        ("authorize_user", authorize_user),
        ("assertion_client", assertion_client),
        ("userinfo_user", userinfo_user),
        ("client_registration", client_registration),
        ("logout", logout),
        ("admin_address", admin_address),
        ("account", account),
        ("address", address),
        ("success", success),
        ("email_codes", email_codes),
        ("mails", mails),
    ];
    let caps = [
        ("connections", connections),
        ("account_in_flight", account_in_flight),
        ("address_in_flight", address_in_flight),
        ("sessions", sessions),
    ];
    let rates = rates.into_iter().map(|(name, rate)| (name, rate.is_some()));
    let caps = caps.into_iter().map(|(name, cap)| (name, cap.is_some()));
    by_endpoint.into_iter().flatten().chain(rates).chain(caps).collect()
}

#[test]
fn rate_limits_off_lifts_every_cap() {
    let on = production(&[("SYMBOLON_RATE_LIMIT_TOKEN_CLIENT", "5/h")]).unwrap().rate_limits;
    assert_eq!(on.token.client, Some(Rate { count: 5, per: Duration::from_secs(3600) }));
    let set = limits(on);
    assert!(set.iter().all(|(_, is_set)| *is_set), "{set:?}");
    let keys = crate::keys().filter(|key| key.path.starts_with("rate_limit.")).count();
    assert_eq!(set.len(), keys, "every key has its limit here");
    let left = limits(production(&[("SYMBOLON_RATE_LIMITS", "off")]).unwrap().rate_limits);
    assert!(left.iter().all(|(_, is_set)| !is_set), "{left:?}");
    let lifted = production(&[("SYMBOLON_RATE_LIMIT_LOGIN_SESSIONS", "0")]).unwrap();
    assert_eq!((lifted.rate_limits.login.sessions, lifted.warnings().len()), (None, 1));
}

#[test]
fn an_issuer_begins_as_the_protocol_says() {
    assert_eq!(production(&[]).unwrap().initial, IssuerSettings::default());
}

#[test]
fn each_first_setting_reaches_the_issuer() {
    let config = production(&[
        ("SYMBOLON_LIFETIME_CODE", "1s"),
        ("SYMBOLON_LIFETIME_ACCESS_TOKEN", "2s"),
        ("SYMBOLON_LIFETIME_ID_TOKEN", "3s"),
        ("SYMBOLON_LIFETIME_REFRESH_IDLE", "64s"),
        ("SYMBOLON_LIFETIME_REFRESH_ABSOLUTE", "65s"),
        ("SYMBOLON_LIFETIME_SESSION", "66s"),
        ("SYMBOLON_LIFETIME_SESSION_IDLE", "60s"),
        ("SYMBOLON_LIFETIME_SIGNING_KEY", "0"),
        ("SYMBOLON_PKCE", "required"),
        ("SYMBOLON_REFRESH_ROTATION", "off"),
        ("SYMBOLON_REFRESH_RETRY_WINDOW", "7s"),
        ("SYMBOLON_AUDIT_RETENTION", "2d"),
    ]);
    let initial = config.unwrap().initial;
    let lifetimes = Lifetimes {
        code: Duration::from_secs(1),
        access_token: Duration::from_secs(2),
        id_token: Duration::from_secs(3),
        refresh_token_idle: Duration::from_secs(64),
        refresh_token_absolute: Duration::from_secs(65),
        session: Duration::from_secs(66),
        session_idle: Duration::from_secs(60),
    };
    assert_eq!(initial.lifetimes, lifetimes);
    assert_eq!(initial.pkce, PkcePolicy::Required);
    assert!(!initial.refresh_token_rotation);
    assert_eq!(initial.refresh_retry_window, Duration::from_secs(7));
    assert_eq!((initial.key_rotation_days, initial.audit_days), (0, 2));
}

#[test]
fn the_choices_of_pkce_are_the_policies() {
    for policy in PkcePolicy::ALL {
        assert_eq!(production(&[("SYMBOLON_PKCE", policy.as_str())]).unwrap().initial.pkce, policy);
    }
    assert_refused(&[("SYMBOLON_PKCE", "off")], &["pkce = \"off\"", "is not one of the choices"]);
}

#[test]
fn an_idle_time_follows_a_shorter_life_and_is_refused_when_said_longer() {
    let shorter = production(&[("SYMBOLON_LIFETIME_REFRESH_ABSOLUTE", "7d")]).unwrap().initial.lifetimes;
    assert_eq!(shorter.refresh_token_idle, Duration::from_secs(7 * 86_400));
    assert_refused(
        &[("SYMBOLON_LIFETIME_REFRESH_IDLE", "31d")],
        &["lifetime.refresh_idle = \"31d\"", "is longer than `lifetime.refresh_absolute`", "shorten it"],
    );
}

#[test]
fn a_session_may_be_idle_for_a_minute_or_more_and_no_longer_than_it_lives() {
    let idle = |text| production(&[("SYMBOLON_LIFETIME_SESSION_IDLE", text)]);
    assert_eq!(production(&[]).unwrap().initial.lifetimes.session_idle, Duration::ZERO);
    for (text, seconds) in [("0", 0), ("1m", 60), ("1d", 86_400)] {
        assert_eq!(idle(text).unwrap().initial.lifetimes.session_idle, Duration::from_secs(seconds));
    }
    let refused = |text, why| assert_refused(&[("SYMBOLON_LIFETIME_SESSION_IDLE", text)], &[why]);
    refused("59s", "is shorter than a minute");
    refused("25h", "is longer than `lifetime.session`");
}

#[test]
fn parts_of_seconds_and_days_are_refused_where_the_store_keeps_none() {
    assert_refused(
        &[("SYMBOLON_LIFETIME_CODE", "1500ms")],
        &["lifetime.code = \"1500ms\"", "write whole seconds"],
    );
    assert_refused(
        &[("SYMBOLON_LIFETIME_SIGNING_KEY", "36h")],
        &["lifetime.signing_key = \"36h\"", "whole days"],
    );
}

#[test]
fn what_may_be_imported_and_when_attempts_are_answered() {
    let works = |env: &[(&str, &str)]| {
        let argon2 = production(env).unwrap().security.argon2;
        (argon2.import_work_kib, argon2.import_memory_kib, argon2.answer_work_kib)
    };
    let own = PasswordPolicy::default().work_kib();
    assert_eq!(works(&[]), (1536 << 10, 256 << 10, 6 * own));
    assert_eq!(works(&[("SYMBOLON_ARGON2_MEMORY", "1GiB")]), (12 << 20, 1 << 20, 12 << 20));
    assert_eq!(works(&[("SYMBOLON_ARGON2_IMPORT_WORK", "300MiB")]), (300 << 10, 300 << 10, 300 << 10));
    assert_eq!(works(&[("SYMBOLON_ARGON2_IMPORT_WORK", "64KiB")]), (own, own, own));
}

#[test]
fn argon2_needs_8_kib_per_lane() {
    let env = [("SYMBOLON_ARGON2_MEMORY", "64KiB"), ("SYMBOLON_ARGON2_PARALLELISM", "9")];
    assert_refused(&env, &["argon2.memory = \"64KiB\"", "give 72KiB or more"]);
    assert_eq!(production(&[]).unwrap().security.argon2.policy, PasswordPolicy::default());
}

#[test]
fn a_collector_url_with_a_password_is_refused_and_not_repeated() {
    let report = refused(&[("SYMBOLON_OTLP_ENDPOINT", "https://joe:hunter2@otel.example")]);
    assert!(report.contains("otlp.endpoint") && !report.contains("hunter2"), "{report}");
}

#[test]
fn certificates_of_clients_come_from_somewhere_that_is_believed() {
    const HEADER: (&str, &str) = ("SYMBOLON_TLS_CLIENT_CERTIFICATE_HEADER", "Client-Cert");
    const PROXY: (&str, &str) = ("SYMBOLON_TRUSTED_PROXIES", "10.0.0.1");
    const URL: (&str, &str) = ("SYMBOLON_TLS_MTLS_URL", "https://mtls.example.com/");
    assert_eq!(production(&[]).unwrap().security.mutual_tls, None);
    let own = production(&[HEADER, PROXY, URL]).unwrap().security.mutual_tls.unwrap();
    assert_eq!((own.header.as_deref(), own.asks), (Some("client-cert"), false));
    assert_eq!(own.url.as_deref(), Some("https://mtls.example.com"));
    assert_refused(&[HEADER], &["tls.client_certificate_header", "trusted_proxies"]);
    let asks = ("SYMBOLON_TLS_CLIENT_CERTIFICATES", "true");
    assert_refused(&[asks], &["tls.client_certificates", "tls.certificate_file"]);
    assert_refused(&[URL], &["tls.mtls_url", "no certificates of clients arrive"]);
    let authorities = ("SYMBOLON_TLS_CLIENT_CA_FILE", "/etc/authorities.pem");
    assert_refused(&[authorities], &["tls.client_ca_file"]);
}
