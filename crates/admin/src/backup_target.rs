//! Limits where the server may write a backup: the admin secret must not give access to the rest of the file system.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use symbolon_config::Storage;

/// Suffix of snapshots next to the data directory, which commands on the same machine use.
const SNAPSHOT: &str = ".snapshot";

/// The path next to a data directory for a snapshot that a command will fetch: `DATA_DIR.snapshot` followed by
/// `more`. `None` if the data directory's path has no last component.
pub fn beside(data: &Path, more: &str) -> Option<PathBuf> {
    let data = std::path::absolute(data).ok()?;
    let mut name = OsString::from(data.file_name()?);
    name.push(SNAPSHOT);
    name.push(more);
    Some(data.with_file_name(name))
}

/// Refuses a target that is neither below `backup_dir` nor [next to](beside) the data directory.
///
/// # Errors
/// The reason, for the caller.
pub(super) fn check(target: &Path, storage: &Storage) -> Result<(), String> {
    // The operating system would resolve `..` after this check.
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

/// Whether a path is below a directory, after resolving symbolic links in both. Only existing components can be
/// links.
fn is_below(target: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    // The target does not exist yet, so its parent is resolved.
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
            issuer_share: 50,
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
