//! Layers: precedence, sources, unknown names, all mistakes at once.

use std::time::Duration;

use super::*;
use crate::{Source, keys};

#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let file =
        "issuer = \"https://a.example\"\nadmin_secret = \"0123456789abcdef012345\"\n[log]\nsample = 2\n";
    let sample = |env: &[(&str, &str)], flags: &[(&str, &str)]| {
        let config = load(Some(file), env, flags).unwrap();
        (config.telemetry.log_sample, entry(&config, "log.sample").source)
    };
    assert_eq!(production(&[]).unwrap().telemetry.log_sample, 1000);
    let (value, source) = sample(&[], &[]);
    assert_eq!(value, 2);
    let shown = source.to_string();
    assert!(shown.starts_with("file:") && shown.ends_with("symbolon.toml:4"), "{shown}");
    let env = [("SYMBOLON_LOG_SAMPLE", "3")];
    assert_eq!(sample(&env, &[]), (3, Source::Env("SYMBOLON_LOG_SAMPLE".into())));
    assert_eq!(sample(&env, &[("log-sample", "4")]), (4, Source::Flag("--log-sample".into())));
    assert_eq!(sample(&env, &[("--log-sample", "5")]).0, 5);
}

#[test]
fn every_key_is_read_from_environment_and_flag_and_file() {
    for key in keys() {
        let Some(text) = key.default.filter(|text| !text.is_empty()) else { continue };
        let by_env = production(&[(key.env, text)]).unwrap();
        assert_eq!(entry(&by_env, key.path).source, Source::Env(key.env.into()));
        let by_flag = load(None, &[ISSUER, SECRET], &[(key.flag, text)]).unwrap();
        assert_eq!(entry(&by_flag, key.path).source, Source::Flag(key.flag.into()));
        let file = format!("{} = {text:?}\n", key.path);
        let by_file = load(Some(&file), &[ISSUER, SECRET], &[]).unwrap();
        assert!(matches!(entry(&by_file, key.path).source, Source::File { line: 1, .. }), "{}", key.path);
        assert_eq!(entry(&by_file, key.path).value.as_deref(), Some(text));
    }
}

#[test]
fn a_switch_takes_each_of_its_words() {
    for (word, on) in
        [("true", true), ("on", true), ("1", true), ("false", false), ("off", false), ("0", false)]
    {
        assert_eq!(production(&[("SYMBOLON_RATE_LIMITS", word)]).unwrap().rate_limits.enabled, on, "{word}");
    }
    assert_refused(
        &[("SYMBOLON_RATE_LIMITS", "maybe")],
        &["rate_limits = \"maybe\" (env SYMBOLON_RATE_LIMITS)", "is not a switch", "\"true\" or \"false\""],
    );
}

#[test]
fn toml_types_read_as_the_kind_of_their_key() {
    let file = "test_endpoints = true\nrate_limits = \"off\"\ntrusted_proxies = [\"10.0.0.0/8\", \"192.0.2.1\"]\n\
                worker_threads = 0x4\n[storage]\ncommit_hold = 0\n[http]\nmax_connections = 20_000\n";
    let config = load(Some(file), &[ISSUER, SECRET], &[]).unwrap();
    assert!(config.security.test_endpoints && !config.rate_limits.enabled);
    assert_eq!(config.security.trusted_proxies.len(), 2);
    assert_eq!(config.listen.worker_threads, Some(4));
    assert_eq!(config.storage.commit_hold, Duration::ZERO);
    assert_eq!(config.http.max_connections, 20_000);
}

#[test]
fn a_value_of_the_wrong_shape_is_refused() {
    let file = "listen = [\"127.0.0.1:1\"]\ndata_dir = { a = 1 }\nstore = 1979-05-27\n[log]\nsample = 1.5\n\
                [lifetime]\ncode = 60\n";
    let report = load(Some(file), &[ISSUER, SECRET], &[]).unwrap_err().to_string();
    for part in [
        "5 mistakes",
        "listen = \"127.0.0.1:1\"",
        "is an array",
        "data_dir (file:",
        "is a table",
        "store (file:",
        "is a date",
        "log.sample (file:",
        "fraction",
        "lifetime.code = \"60\"",
        "say the unit: \"60s\"",
    ] {
        assert!(report.contains(part), "{part:?} in {report}");
    }
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    let errors = load(
        Some(
            "lisen = \"x\"\n[log]\nlevle = \"debug\"\n[mongodb]\nseedlist = \"mongodb://user:hunter2@db\"\n",
        ),
        &[ISSUER, SECRET, ("SYMBOLON_ADMIN_SECRETT", "hunter2")],
        &[("--data-dirr", "x")],
    )
    .unwrap_err();
    let report = errors.to_string();
    for part in [
        "5 mistakes",
        "lisen (file:",
        "did you mean `listen`?",
        "symbolon.toml:3): is not a known key; did you mean `log.level`?",
        "mongodb.seedlist",
        "remove it; `symbolon config schema` lists the keys",
        "SYMBOLON_ADMIN_SECRETT (env SYMBOLON_ADMIN_SECRETT): is not a known key; did you mean `SYMBOLON_ADMIN_SECRET`?",
        "--data-dirr (flag --data-dirr): is not a known key; did you mean `--data-dir`?",
    ] {
        assert!(report.contains(part), "{part:?} in {report}");
    }
    assert!(!report.contains("hunter2"), "a value under a mistyped name may be a secret: {report}");
}

#[test]
fn an_unknown_table_is_refused_even_when_empty_and_a_known_one_may_be_empty() {
    let report = load(Some("[logg]\n"), &[ISSUER, SECRET], &[]).unwrap_err().to_string();
    assert!(report.contains("logg (file:"), "{report}");
    load(Some("[log]\n"), &[ISSUER, SECRET], &[]).unwrap();
}

#[test]
fn a_quoted_key_with_a_dot_does_not_pass_for_a_path() {
    let report = load(Some("\"log.sample\" = 1\n"), &[ISSUER, SECRET], &[]).unwrap_err().to_string();
    assert!(report.contains("is not a known key"), "{report}");
}

#[test]
fn variables_that_are_not_ours_are_passed_over() {
    production(&[
        ("PATH", "/bin"),
        ("SYMBOLON_MANAGEMENT_URL", "http://127.0.0.1:9090"),
        ("SYMBOLON_LOADTEST_TARGET", "x"),
        ("SYMBOLON_SERVICE_HOST", "10.0.0.1"),
        ("SYMBOLON_SERVICE_PORT_HTTP", "80"),
        ("SYMBOLON_PORT", "tcp://10.0.0.1:80"),
        ("SYMBOLON_PORT_80_TCP", "tcp://10.0.0.1:80"),
        ("SYMBOLON_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("SYMBOLON_MANAGEMENT_PORT_9090_TCP_PORT", "9090"),
    ])
    .unwrap();
    assert_refused(&[("SYMBOLON_PORT", "8080")], &["SYMBOLON_PORT", "is not a known key"]);
}

#[test]
fn all_mistakes_come_at_once_each_with_key_value_and_mend() {
    let errors = load(
        Some("[tls]\ncertificate_file = \"/c.pem\"\n"),
        &[("SYMBOLON_SHARDS_CODE", "0"), ("SYMBOLON_STORE", "sqlite"), ("SYMBOLON_HTTP_MAX_BODY", "1")],
        &[("--lifetime-code", "1y")],
    )
    .unwrap_err();
    let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
    let expected =
        ["http.max_body", "shards.code", "store", "lifetime.code", "tls.certificate_file", "issuer"];
    assert_eq!(keys, [expected.as_slice(), &["admin_secret"]].concat());
    for error in errors.iter() {
        assert!(!error.problem.is_empty() && !error.mend.is_empty());
        let nothing_said = ["issuer", "admin_secret"].contains(&error.key.as_str());
        assert_eq!(error.value.is_none(), nothing_said, "{error}");
        assert_eq!(error.source.is_none(), nothing_said, "{error}");
    }
}

#[test]
fn a_mistake_that_a_higher_layer_covers_is_still_reported() {
    let report =
        load(Some("[log]\nlevel = \"loud\"\n"), &[ISSUER, SECRET, ("SYMBOLON_LOG_LEVEL", "warn")], &[]);
    let report = report.unwrap_err().to_string();
    assert!(report.contains("log.level = \"loud\""), "{report}");
    assert!(report.contains("\"error\", \"warn\", \"info\", \"debug\" or \"trace\""), "{report}");
}

#[test]
fn broken_toml_is_refused_by_line_and_never_quoted() {
    let file = "listen = \"127.0.0.1:1\"\nadmin_secret = \"hunter2\nx = 1\n";
    let report = load(Some(file), &[], &[]).unwrap_err().to_string();
    assert!(report.starts_with("1 mistake") && report.contains("symbolon.toml:2"), "{report}");
    assert!(report.contains("not TOML") && !report.contains("hunter2"), "{report}");
    let twice = "admin_secret = \"hunter2\"\nadmin_secret = \"hunter3\"\n";
    let report = load(Some(twice), &[], &[]).unwrap_err().to_string();
    assert!(report.contains("duplicate key admin_secret") && !report.contains("hunter"), "{report}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_nothing_is_called_missing() {
    let env = pairs(&[("SYMBOLON_SHARDS_CODE", "0")]).into_iter();
    let errors = Config::load(Sources { file: Some(missing_file()), env, flags: Vec::new() }).unwrap_err();
    let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["config", "shards.code"]);
    assert!(errors.to_string().contains("/nonexistent/symbolon.toml"));
}

#[test]
fn the_file_is_named_by_flag_then_argument_then_environment() {
    let named = |file: Option<PathBuf>, env: &[(&str, &str)], flags: &[(&str, &str)]| {
        let sources = Sources { file, env: pairs(env).into_iter(), flags: pairs(flags) };
        Config::load(sources).unwrap_err().to_string()
    };
    let env = [("SYMBOLON_CONFIG", "/nonexistent/by-env")];
    assert!(named(None, &env, &[]).contains("by-env"));
    assert!(named(Some(missing_file()), &env, &[]).contains("symbolon.toml"));
    assert!(named(Some(missing_file()), &env, &[("--config", "/nonexistent/by-flag")]).contains("by-flag"));
}

#[test]
fn empty_values_and_repeated_flags_are_refused() {
    assert_refused(
        &[("SYMBOLON_ISSUER", "")],
        &["issuer = \"\" (env SYMBOLON_ISSUER)", "is empty", "leave it out"],
    );
    let flags = [("--log-sample", "1"), ("log-sample", "2")];
    let report = load(None, &[ISSUER, SECRET], &flags).unwrap_err().to_string();
    assert!(report.contains("--log-sample (flag --log-sample): is given twice; give it once"), "{report}");
}

#[test]
fn show_prints_value_and_source_and_no_secret() {
    let config = production(&[("SYMBOLON_LIFETIME_CODE", "90s")]).unwrap();
    let (show, debug) = (config.show(), format!("{config:?}"));
    let line = |key: &str| show.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(line("lifetime.code ").contains("\"90s\"  [env SYMBOLON_LIFETIME_CODE]"));
    assert!(line("admin_secret ").contains("<redacted>"));
    assert!(line("data_dir ").contains("\"./symbolon-data\"  [default]"));
    assert!(line("master_key ").contains("(unset)"));
    assert!(!show.contains(SECRET.1) && !debug.contains(SECRET.1));
    assert_eq!(show.lines().count(), keys().count());
    assert_eq!(config.initial.lifetimes.code, Duration::from_secs(90));
}
