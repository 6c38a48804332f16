//! Typed access to settings. The sections report mistakes and warnings here.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use symbolon_crypto::SecretString;

use super::error::{ConfigError, Mistake};
use super::settings::Settings;
use super::source::Source;
use super::units::Rate;
use super::value::Value;
use super::warning::Warning;

/// Reads settings by their kinds.
///
/// For a missing or invalid value a read returns a placeholder and reports an error. So the loader never returns a
/// [`Config`](super::Config) with a placeholder.
pub(super) struct Reader {
    pub(super) settings: Settings,
    pub(super) errors: Vec<ConfigError>,
    pub(super) warnings: Vec<Warning>,
}

/// Defines a method that reads one variant of [`Value`].
macro_rules! read {
    ($name:ident, $optional:ident, $variant:ident, $type:ty, $placeholder:expr) => {
        #[allow(dead_code, reason = "not every kind has a key without a default")]
        pub(super) fn $optional(&self, path: &'static str) -> Option<$type> {
            match self.settings.get(path)?.value.as_ref()? {
                Value::$variant(value) => Some(value.clone()),
                _ => None,
            }
        }

        #[allow(dead_code, reason = "not every kind has a key with a default")]
        pub(super) fn $name(&mut self, path: &'static str) -> $type {
            self.$optional(path).unwrap_or_else(|| {
                self.missing(path);
                $placeholder
            })
        }
    };
}

impl Reader {
    read!(switch, optional_switch, Switch, bool, false);
    read!(count, optional_count, Count, u64, 0);
    read!(duration, optional_duration, Duration, Duration, Duration::ZERO);
    read!(size, optional_size, Size, u64, 0);
    read!(rate, optional_rate, Rate, Option<Rate>, None);
    read!(address, optional_address, Address, SocketAddr, SocketAddr::from(([127, 0, 0, 1], 0)));
    read!(path, optional_path, Path, PathBuf, PathBuf::new());
    read!(text, optional_text, Text, String, String::new());
    read!(hosts, optional_hosts, Hosts, Vec<String>, Vec::new());
    read!(networks, optional_networks, Networks, Vec<IpNet>, Vec::new());

    /// A count whose limits fit into `T`.
    pub(super) fn small_count<T: TryFrom<u64> + Default>(&mut self, path: &'static str) -> T {
        T::try_from(self.count(path)).unwrap_or_else(|_| {
            self.missing(path);
            T::default()
        })
    }

    /// A size as `usize`.
    pub(super) fn bytes(&mut self, path: &'static str) -> usize {
        usize::try_from(self.size(path)).unwrap_or(usize::MAX)
    }

    /// Whether the key was given a value, even an invalid one.
    pub(super) fn said(&self, path: &str) -> bool {
        self.settings.get(path).is_some_and(|setting| setting.source != Source::Default)
    }

    /// Whether the key's value is invalid and already reported.
    pub(super) fn failed(&self, path: &str) -> bool {
        self.settings.get(path).is_some_and(|setting| setting.failed)
    }

    /// Reports a mistake in the value of `path`.
    pub(super) fn refuse(&mut self, path: &str, problem: impl Into<String>, mend: impl Into<String>) {
        let error = self.settings.mistake(path, Mistake::new(problem, mend));
        self.errors.push(error);
    }

    /// Warns that the value of `key` gives up a protection.
    pub(super) fn warn(&mut self, key: &'static str, text: impl Into<String>) {
        self.warnings.push(Warning { key, text: text.into() });
    }

    /// The secret of `path`, from its value or from the file named by `file`; the source of higher precedence wins.
    pub(super) fn secret(&mut self, path: &'static str, file: &'static str) -> Option<SecretString> {
        let (value_rank, file_rank) = (self.settings.rank(path), self.settings.rank(file));
        if value_rank == file_rank {
            if value_rank > 0 {
                self.refuse(
                    file,
                    format!("stands beside `{path}` in the same source"),
                    "give one of the two",
                );
            }
            return None;
        }
        if value_rank > file_rank {
            return match self.settings.get(path)?.value.as_ref()? {
                Value::Secret(secret) => Some(SecretString::from(secret.expose())),
                _ => None,
            };
        }
        let name = self.optional_path(file)?;
        match std::fs::read_to_string(&name).map(SecretString::new) {
            Ok(text) => {
                // Editors and `echo` end the file with a line break that is not part of the secret.
                let text = text.expose();
                let line = text.strip_suffix('\n').unwrap_or(text);
                let secret = line.strip_suffix('\r').unwrap_or(line);
                Some(SecretString::from(secret))
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let mend = "write it as one line of text, as in head -c 32 /dev/urandom | base64";
                self.refuse(file, "holds raw bytes and no text", mend);
                None
            }
            Err(error) => {
                self.refuse(file, format!("cannot be read: {error}"), "name a file that the server may read");
                None
            }
        }
    }

    /// Which of the two keys [`Reader::secret`] uses.
    pub(super) fn secret_from(&self, path: &'static str, file: &'static str) -> &'static str {
        self.settings.secret_from(path, file)
    }

    /// Reports that a key lacks a required value, unless its value is already reported as invalid.
    fn missing(&mut self, path: &'static str) {
        if !self.failed(path) {
            self.refuse(path, "has no value", "set it");
        }
    }
}
