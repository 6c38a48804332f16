//! What a configuration weakens, for the log at start.

use super::key::Key;
use super::reader::Reader;
use super::source::Source;

/// One setting that weakens something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key.
    pub key: &'static str,
    /// What is given up.
    pub text: String,
}

/// Warns for each value that the table says is weak, and for secrets that the process list shows.
pub(super) fn of_the_table(reader: &mut Reader) {
    let mut found: Vec<(&'static Key, &str)> = Vec::new();
    for setting in reader.settings.iter() {
        let (Some(value), key) = (&setting.value, setting.key) else { continue };
        if let Some(weakens) = key.weakens.filter(|weakens| (weakens.when)(value)) {
            found.push((key, weakens.text));
        }
        if key.is_secret() && matches!(setting.source, Source::Flag(_)) {
            found.push((key, "A secret on the command line is visible to every user of this machine."));
        }
    }
    for (key, text) in found {
        reader.warn(key.path, text);
    }
}
