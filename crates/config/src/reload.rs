//! The effect of a reload while the server runs.

use super::key::Reload;
use super::settings::Setting;
use super::{Config, Listen};

/// The keys whose values changed, by when the change takes effect.
///
/// Files (certificates, secrets) may change without a change of their names, so a reload reads them again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadDiff {
    /// Takes effect now.
    pub live: Vec<&'static str>,
    /// Takes effect after a restart; reported at every reload until then.
    pub restart: Vec<&'static str>,
    /// Has no effect on an existing data directory: use the admin API instead.
    pub first_start: Vec<&'static str>,
}

impl ReloadDiff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.restart.is_empty() && self.first_start.is_empty()
    }
}

pub(super) fn diff(started: &Config, old: &Config, new: &Config) -> ReloadDiff {
    let mut diff = ReloadDiff::default();
    for setting in new.settings.iter() {
        let path = setting.key.path;
        let reload = if is_switched(path, &started.listen, &new.listen) {
            Reload::Restart
        } else {
            setting.key.reload
        };
        let before = if reload == Reload::Restart { started } else { old };
        if before.settings.get(path).is_some_and(|before| same(before, setting)) {
            continue;
        }
        match reload {
            Reload::Live => diff.live.push(path),
            Reload::Restart => diff.restart.push(path),
            Reload::FirstStart => diff.first_start.push(path),
        }
    }
    diff
}

/// Whether a key belongs to a listener that would have to start or stop using TLS, which needs a restart.
fn is_switched(path: &str, started: &Listen, new: &Listen) -> bool {
    let (before, after) = match path.split_once('.') {
        Some(("tls", _)) => (&started.tls, &new.tls),
        Some(("management_tls", _)) => (&started.management_tls, &new.management_tls),
        _ => return false,
    };
    before.is_some() != after.is_some()
}

fn same(before: &Setting, after: &Setting) -> bool {
    match (&before.value, &after.value) {
        (Some(before), Some(after)) => before.same(after),
        (None, None) => true,
        _ => false,
    }
}
