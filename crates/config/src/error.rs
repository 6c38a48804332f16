//! What is wrong with a configuration: the key, the value, where it came from and how to mend it.

use std::fmt;

use super::source::Source;

/// Why one value cannot be what its key wants, before key and source are known.
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

/// What somebody found wrong with the value of a key, who knows more of what it names than the configuration does.
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
    /// The key as a configuration file writes it (`tls.key_file`), or an unknown name as it was given.
    pub key: String,
    /// The value as given. `None` where there is none, or where it is or may be a secret.
    pub value: Option<String>,
    /// Where the value came from; `None` where the mistake is that nothing was said.
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

/// Every mistake of a configuration at once. Never empty.
#[derive(Debug)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// `Err` with all of them, or `Ok` when there is none.
    pub(super) fn check(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// The mistakes, those of the values first, then those of values against each other.
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
