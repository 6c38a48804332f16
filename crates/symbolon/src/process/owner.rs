//! Checks the owner of the data directory: a server of another user could not read files that root writes there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use symbolon_store_embedded::EmbeddedError;
use symbolon_store_embedded::directory::{DataDirectory, OpenError};

use super::ProcessError;

/// Refuses a data directory of another user. If a server holds it, the error says so: the command can then ask that
/// server.
pub(crate) fn check(directory: &Path) -> Result<(), ProcessError> {
    let Ok(found) = fs::metadata(directory) else { return Ok(()) };
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner == user {
        return Ok(());
    }
    let path = directory.to_owned();
    if DataDirectory::is_held(directory) {
        return Err(EmbeddedError::from(OpenError::Locked(path)).into());
    }
    Err(ProcessError::ForeignDirectory { path, owner, user })
}

/// The same check for a server, but only for root: another user may have access to a directory through its group
/// (volumes of containers).
pub(crate) fn check_server(directory: &Path) -> Result<(), ProcessError> {
    if rustix::process::geteuid().is_root() { check(directory) } else { Ok(()) }
}
