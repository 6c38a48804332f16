//! Whose the data directory is: what root writes there, a server of another user could not read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use symbolon_store_embedded::EmbeddedError;
use symbolon_store_embedded::directory::{DataDirectory, OpenError};

use super::ProcessError;

/// Refuses a data directory of another user's. A server that holds it can be asked all the same.
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

/// The same for a server: only root is refused, as others may own a directory by their group (volumes of containers).
pub(crate) fn check_server(directory: &Path) -> Result<(), ProcessError> {
    if rustix::process::geteuid().is_root() { check(directory) } else { Ok(()) }
}
