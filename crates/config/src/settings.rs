//! The merged sources: every key with its value and where it was set.

use std::collections::BTreeMap;

use symbolon_protocol::unknown_member::nearest;

use super::error::{ConfigError, Mistake};
use super::file::{Given, Written};
use super::key::{Key, ValueKind, keys};
use super::source::Source;
use super::value::Value;

/// A key with its value.
pub(super) struct Setting {
    pub(super) key: &'static Key,
    pub(super) value: Option<Value>,
    pub(super) source: Source,
    /// The given value is invalid and already reported, so nothing may be derived from it.
    pub(super) failed: bool,
}

/// Every key of the table by its path.
pub(super) struct Settings(BTreeMap<&'static str, Setting>);

impl Settings {
    /// All keys with their defaults.
    pub(super) fn defaults() -> Self {
        let setting = |key: &'static Key| {
            let value = key.default.and_then(|text| Value::parse(&key.kind, text).ok());
            Setting { key, value, source: Source::Default, failed: false }
        };
        Self(keys().map(|key| (key.path, setting(key))).collect())
    }

    /// Applies `given` over the present values; call it for sources of lower precedence first. Mistakes are collected
    /// from all sources.
    pub(super) fn lay(&mut self, given: Vec<Given>, errors: &mut Vec<ConfigError>) {
        for Given { name, written, source } in given {
            let Some(key) = keys().find(|key| name_in(&source, key) == name) else {
                errors.push(unknown(name, source));
                continue;
            };
            let parsed = match &written {
                Written::Text(text) => Value::parse(&key.kind, text),
                Written::List(items) => Value::parse_list(&key.kind, items),
                Written::Unfit(what) => {
                    let mend = key.default.map(|text| format!(", as in {text:?}")).unwrap_or_default();
                    Err(Mistake::new(format!("is a {what}"), format!("write one value{mend}")))
                }
            };
            let failed = parsed.is_err();
            let value = match parsed {
                Ok(value) => Some(value),
                Err(Mistake { problem, mend }) => {
                    let value = shown(key, &written);
                    let source = Some(source.clone());
                    errors.push(ConfigError { key: key.path.to_owned(), value, source, problem, mend });
                    None
                }
            };
            self.0.insert(key.path, Setting { key, value, source, failed });
        }
    }

    pub(super) fn get(&self, path: &str) -> Option<&Setting> {
        self.0.get(path)
    }

    /// The precedence of the source of a value; 0 if there is none.
    pub(super) fn rank(&self, path: &str) -> u8 {
        self.get(path).filter(|setting| setting.value.is_some()).map_or(0, |setting| setting.source.rank())
    }

    /// Which of two keys sets a secret: the one for its value, or the one for its file.
    pub(super) fn secret_from(&self, path: &'static str, file: &'static str) -> &'static str {
        if self.rank(file) > self.rank(path) { file } else { path }
    }

    /// Sets the value that follows from leaving a key unset, for `config show`.
    pub(super) fn fill(&mut self, path: &str, value: Value) {
        if let Some(setting) = self.0.get_mut(path) {
            setting.value = Some(value);
        }
    }

    /// All settings in the order of the table.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Setting> {
        keys().filter_map(|key| self.0.get(key.path))
    }

    /// A mistake in the present value of `path`.
    pub(super) fn mistake(&self, path: &str, mistake: Mistake) -> ConfigError {
        let setting = self.get(path);
        let said = setting.filter(|s| s.source != Source::Default);
        let value =
            setting.filter(|s| !s.key.is_secret()).and_then(|s| s.value.as_ref()).map(Value::to_string);
        let Mistake { problem, mend } = mistake;
        ConfigError { key: path.to_owned(), value, source: said.map(|s| s.source.clone()), problem, mend }
    }
}

/// The name of a key in this kind of source.
fn name_in(source: &Source, key: &Key) -> &'static str {
    match source {
        Source::Env(_) => key.env,
        Source::Flag(_) => key.flag,
        Source::File { .. } | Source::Default => key.path,
    }
}

/// An unknown name. Its value is not repeated, because it may be a secret under a misspelt name.
fn unknown(name: String, source: Source) -> ConfigError {
    let mend = match nearest(&name, keys().map(|key| name_in(&source, key))) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "remove it; `symbolon config schema` lists the keys".to_owned(),
    };
    ConfigError {
        key: name,
        value: None,
        source: Some(source),
        problem: "is not a known key".to_owned(),
        mend,
    }
}

/// The value as given, if it may be displayed.
fn shown(key: &Key, written: &Written) -> Option<String> {
    let text = match written {
        Written::Text(text) => text.clone(),
        Written::List(items) => items.join(","),
        Written::Unfit(_) => return None,
    };
    // A URL may carry a password.
    let hidden =
        key.is_secret() || (matches!(key.kind, ValueKind::Url | ValueKind::Issuer) && text.contains('@'));
    (!hidden).then_some(text)
}
