//! Where the server writes a copy of itself: whoever has the admin secret is not to write anywhere else.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use symbolon_config::Storage;

/// The end of the names beside the data directory that copies for a command on the same machine have.
const SNAPSHOT: &str = ".snapshot";

/// The place beside a data directory where a copy may stand until a command takes it: `DATA_DIR.snapshot`, with `more` at
/// its end. None where the directory has no name.
pub fn beside(data: &Path, more: &str) -> Option<PathBuf> {
    let data = std::path::absolute(data).ok()?;
    let mut name = OsString::from(data.file_name()?);
    name.push(SNAPSHOT);
    name.push(more);
    Some(data.with_file_name(name))
}

/// Refuses a target that is neither below `backup_dir` nor [beside](beside) the data directory.
///
/// # Errors
/// Why, for whoever asked.
pub(super) fn check(target: &Path, storage: &Storage) -> Result<(), String> {
    // `..` would be resolved by the system after we looked.
    if target.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err("path must not have `..` in it".to_owned());
    }
    if is_beside(target, &storage.data_dir) {
        return Ok(());
    }
    let Some(directory) = &storage.backup_dir else {
        return Err(
            "path is refused: backups are written below the setting `backup_dir`, and it is not set".into()
        );
    };
    match is_below(target, directory) {
        true => Ok(()),
        false => Err(format!("path must be below {} (backup_dir)", directory.display())),
    }
}

fn is_beside(target: &Path, data: &Path) -> bool {
    let Some(beside) = beside(data, "") else { return false };
    let (Some(name), Some(own)) = (target.file_name(), beside.file_name()) else { return false };
    let rest = name.as_encoded_bytes().strip_prefix(own.as_encoded_bytes());
    target.parent() == beside.parent() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
}

/// Whether a path is below a directory, links resolved in both. Only what exists can be a link.
fn is_below(target: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    // The target itself is to be made: what it stands in counts.
    let Some(parent) = target.parent().and_then(|parent| parent.canonicalize().ok()) else { return false };
    target.file_name().is_some() && parent.starts_with(directory)
}

#[cfg(test)]
mod tests {
    use symbolon_config::ShardCounts;

    use super::*;

    fn storage(data: &Path, backups: Option<&Path>) -> Storage {
        Storage {
            cluster: None,
            data_dir: data.to_owned(),
            backup_dir: backups.map(Path::to_owned),
            commit_hold: std::time::Duration::ZERO,
            sync: true,
            reserve: 0,
            shards: ShardCounts {
                code: 1,
                session: 1,
                challenge: 1,
                refresh: 1,
                revocation: 1,
                assertion: 1,
            },
        }
    }

    #[test]
    fn a_copy_goes_below_the_configured_directory_and_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for made in ["backups", "backups/daily", "elsewhere"] {
            std::fs::create_dir(at(made)).unwrap();
        }
        std::os::unix::fs::symlink(at("elsewhere"), at("backups/link")).unwrap();
        let with = storage(&at("data"), Some(&at("backups")));
        let without = storage(&at("data"), None);
        for good in ["backups/today", "backups/daily/today", "data.snapshot", "data.snapshot-7"] {
            assert_eq!(check(&at(good), &with), Ok(()), "{good}");
        }
        for bad in [
            "elsewhere/today",
            "backups",
            "backups/link/today",
            "backups/../elsewhere/today",
            "data.snapshots",
            "data",
            "data/today",
            "data.snapshot/today",
            "backups/none/today",
        ] {
            assert!(check(&at(bad), &with).is_err(), "{bad}");
        }
        assert_eq!(check(&at("data.snapshot"), &without), Ok(()));
        assert!(check(&at("backups/today"), &without).unwrap_err().contains("`backup_dir`"));
    }
}
