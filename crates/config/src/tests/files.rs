//! The files that the configuration names: every fault by key, value and mend.

use std::path::Path;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use symbolon_protocol::time::Timestamp;

use super::*;
use crate::Finding;

const DAY: u64 = 86_400;
/// 2026-01-01.
const BEGINS: u64 = 1_767_225_600;

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.path().join(name), text).unwrap();
        self.path(name)
    }

    /// The two files of a certificate for `name`, valid for 90 days.
    fn certificate(&self, file: &str, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = valid_for(name, 90).self_signed(&key).unwrap();
        (
            self.write(&format!("{file}.pem"), &certificate.pem()),
            self.write(&format!("{file}.key"), &key.serialize_pem()),
        )
    }
}

fn valid_for(name: &str, days: i64) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = params.not_before + std::time::Duration::from_secs(days as u64 * DAY);
    params
}

fn with_tls(certificate: &str, key: &str) -> Config {
    let data = std::env::temp_dir().display().to_string();
    let env = [
        ("SYMBOLON_TLS_CERTIFICATE_FILE", certificate),
        ("SYMBOLON_TLS_KEY_FILE", key),
        ("SYMBOLON_DATA_DIR", &data),
    ];
    production(&env).unwrap()
}

fn day(number: u64) -> Timestamp {
    Timestamp::from_seconds(BEGINS + number * DAY)
}

/// The one mistake, in all these parts.
fn assert_mistake(config: &Config, parts: &[&str]) {
    let report = config.check_files(day(1), Vec::new()).unwrap_err().to_string();
    assert!(report.starts_with("1 mistake"), "{report}");
    for part in parts {
        assert!(report.contains(part), "{part:?} in {report}");
    }
}

fn warnings(config: &Config, now: Timestamp) -> Vec<String> {
    let warnings = config.check_files(now, Vec::new()).unwrap();
    assert!(warnings.iter().all(|warning| warning.key == "tls.certificate_file"));
    warnings.into_iter().map(|warning| warning.text).collect()
}

#[test]
fn a_certificate_and_its_key_are_good() {
    let files = Files::new();
    let (certificate, key) = files.certificate("a", "login.example.com");
    assert_eq!(warnings(&with_tls(&certificate, &key), day(1)), [""; 0]);
}

#[test]
fn files_that_are_missing_damaged_or_of_something_else_are_named_with_their_key() {
    let files = Files::new();
    let (certificate, key) = files.certificate("a", "login.example.com");
    let (_, other) = files.certificate("b", "login.example.com");
    let text = files.write("text", "not PEM");
    let cut = files.write("cut", "-----BEGIN CERTIFICATE-----\nMIIB");
    let empty = files.write("der", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let sealed = files.write(
        "sealed",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    for (bad, problem) in [
        ("/nonexistent/a.pem", "does not exist"),
        (&*text, "does not hold a certificate in PEM form"),
        (&*key, "does not hold a certificate in PEM form"),
        (&*cut, "is damaged PEM"),
        (&*empty, "cannot be used"),
        (&*files.0.path().display().to_string(), "cannot be read"),
    ] {
        let config = with_tls(bad, &key);
        let value = format!("tls.certificate_file = {bad:?} (env SYMBOLON_TLS_CERTIFICATE_FILE)");
        assert_mistake(&config, &[&value, problem, "name a PEM file"]);
    }
    for (bad, problem) in [
        ("/nonexistent/a.key", "does not exist"),
        (&*certificate, "does not hold an unencrypted private key in PEM form"),
        (&*sealed, "does not hold an unencrypted private key in PEM form"),
        (&*other, &format!("is not the key of the certificate in {certificate}")),
    ] {
        let config = with_tls(&certificate, bad);
        let value = format!("tls.key_file = {bad:?} (env SYMBOLON_TLS_KEY_FILE)");
        assert_mistake(&config, &[&value, problem]);
    }
}

#[test]
fn the_management_listener_has_keys_of_its_own() {
    let files = Files::new();
    let (certificate, _) = files.certificate("a", "login.example.com");
    let env = [
        ("SYMBOLON_MANAGEMENT_TLS_CERTIFICATE_FILE", &*certificate),
        ("SYMBOLON_MANAGEMENT_TLS_KEY_FILE", "/nonexistent/a.key"),
    ];
    let config = production(&env).unwrap();
    assert_mistake(&config, &["management_tls.key_file", "does not exist"]);
    let both = with_tls("/nonexistent/a.pem", "/nonexistent/a.key");
    let report = both.check_files(day(1), Vec::new()).unwrap_err().to_string();
    assert!(report.starts_with("2 mistakes") && report.contains("tls.key_file = "), "{report}");
    assert!(config.check_tls(day(1)).is_err());
}

#[test]
fn a_certificate_that_is_over_or_soon_will_be_is_warned_of() {
    let files = Files::new();
    let (certificate, key) = files.certificate("a", "login.example.com");
    let config = with_tls(&certificate, &key);
    for (now, told) in [
        (day(75), ""),
        (day(85), "The certificate expires in 5 days."),
        (day(93), "The certificate expired 3 days ago."),
        (Timestamp::from_seconds(BEGINS - 2 * DAY), "The certificate is not valid for another 2 days."),
    ] {
        assert_eq!(warnings(&config, now).concat(), told, "{}", now.seconds());
    }
}

#[test]
fn every_certificate_of_the_chain_is_looked_at() {
    let files = Files::new();
    let (issuer_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut params = valid_for("intermediate", 30);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, issuer_key).unwrap();
    let leaf = valid_for("login.example.com", 90).signed_by(&key, &issuer).unwrap();
    let chain = files.write("chain.pem", &format!("{}{}", leaf.pem(), issuer.pem()));
    let key = files.write("a.key", &key.serialize_pem());
    let told = warnings(&with_tls(&chain, &key), day(40));
    assert_eq!(told, ["Certificate 2 of the chain expired 10 days ago."]);
}

#[test]
fn a_certificate_for_another_host_is_warned_of() {
    let files = Files::new();
    let (certificate, key) = files.certificate("a", "other.example.com");
    let told = warnings(&with_tls(&certificate, &key), day(1));
    assert_eq!(told, ["The certificate is not for `login.example.com`, the host of the issuer."]);
    let (certificate, key) = files.certificate("b", "*.example.com");
    assert_eq!(warnings(&with_tls(&certificate, &key), day(1)), [""; 0]);
}

#[test]
fn a_data_directory_that_cannot_be_is_named() {
    let files = Files::new();
    let file = files.write("file", "");
    let check =
        |path: &str| production(&[("SYMBOLON_DATA_DIR", path)]).unwrap().check_files(day(1), Vec::new());
    for (path, problem) in [
        (file.clone(), "is not a directory".to_owned()),
        (format!("{file}/data"), format!("cannot be made: {file} is not a directory")),
    ] {
        let report = check(&path).unwrap_err().to_string();
        let value = format!("data_dir = {path:?} (env SYMBOLON_DATA_DIR)");
        assert!(report.contains(&value) && report.contains(&problem), "{report}");
        assert!(report.contains("name a directory that belongs to the user"), "{report}");
    }
    for good in [files.path("new"), files.path("new/and/deeper"), files.path(".")] {
        assert!(check(&good).is_ok(), "{good}");
        assert!(!Path::new(&files.path("new")).exists(), "nothing is made");
    }
}

#[test]
fn a_master_key_beside_the_data_is_read_where_there_is_no_other() {
    let files = Files::new();
    let data = files.path(".");
    let check = |env: &[(&str, &str)]| {
        let env = [&[("SYMBOLON_DATA_DIR", &*data)], env].concat();
        production(&env)
            .unwrap()
            .check_files(day(1), Vec::new())
            .map(drop)
            .map_err(|errors| errors.to_string())
    };
    files.write("master.key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    check(&[]).unwrap();
    files.write("master.key", "too short");
    let report = check(&[]).unwrap_err();
    assert!(
        report.contains("data_dir = ") && report.contains("master.key that is not a 256-bit key"),
        "{report}"
    );
    assert!(report.contains("master_key_file"), "{report}");
    check(&[("SYMBOLON_MASTER_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")])
        .unwrap();
}

#[test]
fn what_the_caller_found_is_told_with_the_rest_and_once_for_each_key() {
    let files = Files::new();
    let found = |key| Finding { key, problem: "is odd".into(), mend: "make it even".into() };
    let env = [
        ("SYMBOLON_DATA_DIR", &*files.write("file", "")),
        ("SYMBOLON_MANAGEMENT_TLS_CERTIFICATE_FILE", "/nonexistent/a.pem"),
        ("SYMBOLON_MANAGEMENT_TLS_KEY_FILE", "/nonexistent/a.key"),
    ];
    let config = production(&env).unwrap();
    let report =
        config.check_files(day(1), vec![found("data_dir"), found("issuer")]).unwrap_err().to_string();
    assert!(
        report.contains("is not a directory") && report.contains("management_tls.certificate_file"),
        "{report}"
    );
    let told = "issuer = \"https://login.example.com\" (env SYMBOLON_ISSUER): is odd; make it even";
    assert!(report.contains(told) && report.matches("data_dir").count() == 1, "{report}");
    assert!(config.refuse(Vec::new()).is_ok() && config.refuse(vec![found("issuer")]).is_err());
}
