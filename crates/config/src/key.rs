//! One row of the table of keys: names, kind, default, description, and what it weakens.

use std::time::Duration;

use super::value::Value;

/// What a key's value may be.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// `true` or `false`; also `on`, `off`, `1`, `0`.
    Switch,
    /// A whole number within limits, both included.
    Count {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A duration such as `60s` within limits, both included.
    Duration {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// A size such as `1MiB` within limits in bytes, both included.
    Size {
        /// The smallest, in bytes.
        min: u64,
        /// The largest, in bytes.
        max: u64,
    },
    /// Requests per second, minute or hour such as `600/m`, or `off`.
    Rate,
    /// An IP address (or `localhost`) with a port.
    Address,
    /// A path in the file system.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Addresses and networks: an array in the file, separated by commas elsewhere.
    Networks,
    /// Names of hosts, comma-separated.
    Hosts,
    /// The URL of an issuer.
    Issuer,
    /// An http or https URL.
    Url,
    /// The name of a cookie (RFC 6265 section 4.1.1).
    CookieName,
    /// A secret; the key of the same name with `_file` takes it from a file.
    Secret,
    /// Secrets: an array in the file, separated by commas elsewhere, also in the file of the key with `_file`.
    Secrets,
    /// A name of letters, digits, `_` and `-`, 32 at most.
    Name,
    /// A mailbox (RFC 5322 section 3.4): an address, or a name and an address in angle brackets.
    Mailbox,
}

/// When a change of a key takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// On SIGHUP, while running.
    Live,
    /// After a restart.
    Restart,
    /// Never on an existing data directory: the value is used at the first start only, later the stored one.
    FirstStart,
}

/// Which protection a key gives up, and at which values.
#[derive(Clone, Copy)]
pub struct Weakens {
    /// A sentence for the log and the reference about what is given up.
    pub text: &'static str,
    /// Whether a value gives the protection up.
    pub(super) when: fn(&Value) -> bool,
}

/// One configuration key: a row of the table that file, environment, flags, schema and reference share.
#[derive(Clone, Copy)]
pub struct Key {
    /// Its name in the file, dotted where it stands in a table: `tls.key_file`.
    pub path: &'static str,
    /// Its environment variable: the path in capitals after `SYMBOLON_`.
    pub env: &'static str,
    /// Its command-line flag: the path with dashes.
    pub flag: &'static str,
    /// The kind of its value.
    pub kind: ValueKind,
    /// The default as written in a file; `None` if leaving the key unset has a meaning of its own.
    pub default: Option<&'static str>,
    /// What leaving the key unset means, if there is no fixed default.
    pub unset: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// When a change takes effect.
    pub reload: Reload,
    /// Which protection it may give up.
    pub weakens: Option<Weakens>,
}

impl Key {
    /// A key without a default, whose changes take effect after a restart.
    pub(super) const fn new(
        path: &'static str,
        env: &'static str,
        flag: &'static str,
        kind: ValueKind,
    ) -> Self {
        let (default, unset, doc) = (None, "", "");
        Self { path, env, flag, kind, default, unset, doc, reload: Reload::Restart, weakens: None }
    }

    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    pub(super) const fn unset(mut self, meaning: &'static str) -> Self {
        self.unset = meaning;
        self
    }

    pub(super) const fn doc(mut self, text: &'static str) -> Self {
        self.doc = text;
        self
    }

    pub(super) const fn live(mut self) -> Self {
        self.reload = Reload::Live;
        self
    }

    pub(super) const fn first_start(mut self) -> Self {
        self.reload = Reload::FirstStart;
        self
    }

    pub(super) const fn weakens(mut self, when: fn(&Value) -> bool, text: &'static str) -> Self {
        self.weakens = Some(Weakens { text, when });
        self
    }

    /// Whether its value must never be displayed.
    pub fn is_secret(&self) -> bool {
        matches!(self.kind, ValueKind::Secret | ValueKind::Secrets)
    }
}

impl ValueKind {
    /// Whole seconds as limits.
    pub(super) const fn seconds(min: u64, max: u64) -> Self {
        Self::Duration { min: Duration::from_secs(min), max: Duration::from_secs(max) }
    }
}

/// Every key, in the order of the reference.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    super::sections::SECTIONS.iter().flat_map(|section| section.keys.iter())
}

/// The key with this path.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    keys().find(|key| key.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn environment_and_flag_follow_from_the_path() {
        for key in keys() {
            let env = format!("SYMBOLON_{}", key.path.replace('.', "_").to_uppercase());
            assert_eq!(key.env, env);
            assert_eq!(key.flag, format!("--{}", key.path.replace(['.', '_'], "-")));
        }
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut names = HashSet::new();
        for key in keys() {
            assert!(names.insert(key.path), "{}", key.path);
            assert!(names.insert(key.env), "{}", key.env);
            assert!(names.insert(key.flag), "{}", key.flag);
        }
    }

    #[test]
    fn every_key_says_what_it_does_and_what_its_default_is() {
        for key in keys() {
            assert!(key.doc.ends_with('.'), "{}", key.path);
            assert_ne!(
                key.default.is_some(),
                !key.unset.is_empty(),
                "{}: a default or what unset means",
                key.path
            );
        }
    }

    #[test]
    fn defaults_are_valid_and_weaken_nothing() {
        for key in keys() {
            let Some(text) = key.default else { continue };
            let value =
                Value::parse(&key.kind, text).unwrap_or_else(|m| panic!("{}: {}", key.path, m.problem));
            assert!(!key.weakens.is_some_and(|w| (w.when)(&value)), "{}", key.path);
            assert_eq!(value.to_string(), text, "{}: written as it is shown", key.path);
        }
    }

    #[test]
    fn every_secret_is_a_value_or_a_file() {
        for key in keys().filter(|key| key.is_secret()) {
            let file = find(&format!("{}_file", key.path)).unwrap();
            assert!(matches!(file.kind, ValueKind::Path));
        }
    }
}
