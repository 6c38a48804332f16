//! Warnings about settings that give up a protection, for the log at startup.

use super::key::Key;
use super::reader::Reader;
use super::source::Source;

/// One setting that gives up a protection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key.
    pub key: &'static str,
    /// What is given up.
    pub text: String,
}

/// Warns of every value that the table marks as weak, and of secrets on the command line, which the process list
/// shows.
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
