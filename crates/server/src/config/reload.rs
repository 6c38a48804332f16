//! What a reload may change while the server runs.

use super::key::Reload;
use super::settings::{Setting, Settings};

/// The keys whose value changed, by when the change counts.
///
/// The contents of files (certificates, secrets) may change under the same name; whoever reloads reads them anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadDiff {
    /// Takes effect now.
    pub live: Vec<&'static str>,
    /// Takes effect after a restart.
    pub restart: Vec<&'static str>,
    /// Has no effect on an existing data directory: change it through the admin API.
    pub first_start: Vec<&'static str>,
}

impl ReloadDiff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.restart.is_empty() && self.first_start.is_empty()
    }
}

pub(super) fn diff(old: &Settings, new: &Settings) -> ReloadDiff {
    let mut diff = ReloadDiff::default();
    for setting in new.iter() {
        let before = old.get(setting.key.path);
        if before.is_some_and(|before| same(before, setting)) {
            continue;
        }
        match setting.key.reload {
            Reload::Live => diff.live.push(setting.key.path),
            Reload::Restart => diff.restart.push(setting.key.path),
            Reload::FirstStart => diff.first_start.push(setting.key.path),
        }
    }
    diff
}

fn same(before: &Setting, after: &Setting) -> bool {
    match (&before.value, &after.value) {
        (Some(before), Some(after)) => before.same(after),
        (None, None) => true,
        _ => false,
    }
}
