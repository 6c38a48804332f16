//! Mistakes in a configuration: the key, the value, where it was set, and how to mend it.

use std::fmt;

use super::source::Source;

/// A mistake in a value, before its key and source are known.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) problem: String,
    pub(super) mend: String,
}

impl Mistake {
    pub(super) fn new(problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { problem: problem.into(), mend: mend.into() }
    }
}

/// A mistake in the value of a key that the caller found: for example in a file that the value names.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    pub mend: String,
}

/// One mistake in the configuration.
#[derive(Debug)]
pub struct ConfigError {
    /// The key as in a configuration file (`tls.key_file`), or an unknown name as given.
    pub key: String,
    /// The value as given. `None` if there is none, or if it is or may be a secret.
    pub value: Option<String>,
    /// Where the value was set; `None` if a required value is missing.
    pub source: Option<Source>,
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    pub mend: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value:?}")?;
        }
        if let Some(source) = &self.source {
            write!(f, " ({source})")?;
        }
        write!(f, ": {}; {}", self.problem, self.mend)
    }
}

impl std::error::Error for ConfigError {}

/// All mistakes of a configuration. Never empty.
#[derive(Debug)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// `Err` with the mistakes, or `Ok` if there are none.
    pub(super) fn check(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// The mistakes: first those of single values, then those of combinations.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("1 mistake in the configuration:")?,
            n => write!(f, "{n} mistakes in the configuration:")?,
        }
        for error in &self.0 {
            write!(f, "\n  - {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
