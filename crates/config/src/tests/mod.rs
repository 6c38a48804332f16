//! Rules of the configuration as a whole; each parser is tested beside its code.

mod cluster;
mod documents;
mod files;
mod layers;
mod mode;
mod properties;
mod reloading;
mod sections;
mod warnings;

use std::path::PathBuf;

use super::{Config, ConfigErrors, Entry, Sources};

const ISSUER: (&str, &str) = ("SYMBOLON_ISSUER", "https://login.example.com");
const SECRET: (&str, &str) = ("SYMBOLON_ADMIN_SECRET", "correct-horse-battery-staple");

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Loads from a file's text (none without), variables and flags.
fn load(file: Option<&str>, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, ConfigErrors> {
    let dir = tempfile::tempdir().unwrap();
    let file = file.map(|text| {
        let path = dir.path().join("symbolon.toml");
        std::fs::write(&path, text).unwrap();
        path
    });
    Config::load(Sources { file, env: pairs(env).into_iter(), flags: pairs(flags) })
}

/// Loads in production mode with these variables on top.
fn production(env: &[(&str, &str)]) -> Result<Config, ConfigErrors> {
    let mut all = vec![ISSUER, SECRET];
    all.retain(|(name, _)| !env.iter().any(|(other, _)| other == name));
    all.extend_from_slice(env);
    load(None, &all, &[])
}

/// The report on these variables in production mode.
fn refused(env: &[(&str, &str)]) -> String {
    production(env).unwrap_err().to_string()
}

/// Asserts that the one mistake in these variables reads so, in all these parts.
fn assert_refused(env: &[(&str, &str)], parts: &[&str]) {
    let report = refused(env);
    assert!(report.starts_with("1 mistake"), "{report}");
    for part in parts {
        assert!(report.contains(part), "{part:?} in {report}");
    }
}

fn entry(config: &Config, key: &str) -> Entry {
    config.entries().find(|entry| entry.key == key).unwrap()
}

fn missing_file() -> PathBuf {
    PathBuf::from("/nonexistent/symbolon.toml")
}
