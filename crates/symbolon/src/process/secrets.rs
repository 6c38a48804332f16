//! The admin secret and the master key: configured, or generated at the first start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use symbolon_config::Config;
use symbolon_crypto::random::{self, SystemRandom};
use symbolon_crypto::seal::MasterKey;
use symbolon_crypto::secret::SecretString;

use super::ProcessError;

/// The file of the admin secret that development mode generated.
pub(crate) const ADMIN_SECRET_FILE: &str = "admin-secret";

/// The file of the master key, if the configuration has none.
pub(crate) const MASTER_KEY_FILE: &str = "master.key";

fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> ProcessError {
    let what = format!("{what} {}", path.display());
    move |source| ProcessError::Io { what, source }
}

/// Writes a file that only its owner may read, durably. Writes a temporary file and renames it, so that there is either
/// no file or a complete one: an empty file would be a secret that everybody knows.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let aside = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// The text of a file, which `make` generates if there is none; and whether it was generated.
fn kept(
    path: &Path,
    what: &str,
    make: impl FnOnce() -> Result<SecretString, ProcessError>,
) -> Result<(SecretString, bool), ProcessError> {
    match fs::read_to_string(path) {
        // A file that was truncated must not be used: an empty secret is one that everybody knows.
        Ok(text) if text.trim().is_empty() => {
            Err(failed(&format!("cannot use the {what} in"), path)(io::Error::other("the file is empty")))
        }
        Ok(text) => Ok((SecretString::new(text.trim().to_owned()), false)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = make()?;
            write_secret(path, made.expose())
                .map_err(failed(&format!("cannot write the {what} to"), path))?;
            Ok((made, true))
        }
        Err(error) => Err(failed(&format!("cannot read the {what} from"), path)(error)),
    }
}

/// The admin secret; and its text if it was generated now (in development mode only: else it must be configured).
pub(crate) fn admin_secret(
    config: &Config,
    directory: Option<&Path>,
) -> Result<(SecretString, Option<String>), ProcessError> {
    if let Some(secret) = &config.security.admin_secret {
        return Ok((secret.clone(), None));
    }
    let directory = directory.ok_or(ProcessError::NoDirectory)?;
    let make = || Ok(SecretString::new(random::base64url::<32>(&SystemRandom)));
    let (secret, made) = kept(&directory.join(ADMIN_SECRET_FILE), "admin secret", make)?;
    let shown = made.then(|| secret.expose().to_owned());
    Ok((secret, shown))
}

/// The configured master key, else the one beside the data, with a warning.
pub(super) fn master_key(
    config: &Config,
    directory: Option<&Path>,
    fresh: bool,
) -> Result<MasterKey, ProcessError> {
    if let Some(key) = &config.security.master_key {
        return Ok(MasterKey::parse(&key.to_base64())?);
    }
    let path = directory.ok_or(ProcessError::NoDirectory)?.join(MASTER_KEY_FILE);
    // After a restore, or if the file was lost: a new key would open nothing, and would take the place of the old one.
    if !fresh && !path.exists() {
        return Err(ProcessError::NoMasterKey(path));
    }
    let (text, made) = kept(&path, "master key", || Ok(MasterKey::generate()?.to_base64()))?;
    tracing::warn!(
        path = %path.display(),
        made,
        "signing keys are sealed under a key beside the data: set SYMBOLON_MASTER_KEY or SYMBOLON_MASTER_KEY_FILE"
    );
    Ok(MasterKey::parse(&text)?)
}

/// The master key in a file, if there is one.
pub(crate) fn read_master_key(path: &Path) -> Result<Option<MasterKey>, ProcessError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(MasterKey::parse(&SecretString::new(text))?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("cannot read the master key from", path)(error)),
    }
}

/// Writes a key to a file beside the key in use, durably; [`take_over`] puts it in the old one's place. The file gets
/// the owner of the old one: a server that runs as another user than this command must be able to read it.
pub(crate) fn write_aside(path: &Path, text: &str) -> Result<PathBuf, ProcessError> {
    let aside = path.with_extension("key.new");
    let write = || {
        let owner = fs::metadata(path)?;
        write_secret(&aside, text.trim())?;
        std::os::unix::fs::chown(&aside, Some(owner.uid()), Some(owner.gid()))
    };
    write().map_err(failed("cannot write the new master key to", &aside))?;
    Ok(aside)
}

/// Puts a key that [`write_aside`] wrote in the place of the old one, durably.
pub(crate) fn take_over(aside: &Path, path: &Path) -> Result<(), ProcessError> {
    let replace = || {
        fs::rename(aside, path)?;
        path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    };
    replace().map_err(failed("cannot put the new master key in the place of", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn keep(path: &Path) -> Result<(String, bool), ProcessError> {
        let made = || Ok(SecretString::new("made".to_owned()));
        kept(path, "secret", made).map(|(secret, made)| (secret.expose().to_owned(), made))
    }

    #[test]
    fn a_secret_is_made_once_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        assert_eq!(keep(&path).unwrap(), ("made".into(), true));
        assert_eq!(keep(&path).unwrap(), ("made".into(), false));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_new_master_key_belongs_to_the_owner_of_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("master.key");
        fs::write(&path, "old").unwrap();
        // Only root can change the owner of a file; for other users, both files have the same owner anyway.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(4_321), Some(4_322)).unwrap();
        }
        let owner = fs::metadata(&path).unwrap();
        take_over(&write_aside(&path, "new").unwrap(), &path).unwrap();
        let new = fs::metadata(&path).unwrap();
        assert_eq!((new.uid(), new.gid()), (owner.uid(), owner.gid()));
        assert_eq!(
            (new.permissions().mode() & 0o777, fs::read_to_string(&path).unwrap()),
            (0o600, "new".into())
        );
    }

    #[test]
    fn an_accident_while_it_is_written_leaves_no_half_a_secret() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(path.with_extension("new"), "ma").unwrap();
        assert_eq!(keep(&path).unwrap(), ("made".into(), true));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_empty_file_is_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, "\n").unwrap();
        assert!(keep(&path).unwrap_err().to_string().contains("the file is empty"));
    }
}
