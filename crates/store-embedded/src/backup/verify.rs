//! Digests of a backup's files, as `sha256sum` writes them.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use symbolon_crypto::digest;

use super::{BackupFailure, FILES, FORMAT, MANIFEST, Manifest, SUMS, io_error};

/// The digest of a file, in hexadecimal, and its length.
fn digest_of(path: &Path) -> Result<(String, u64), BackupFailure> {
    let file = File::open(path).map_err(io_error(path))?;
    let length = file.metadata().map_err(io_error(path))?.len();
    let digest = digest::sha256_of(file).map_err(io_error(path))?;
    let mut text = String::with_capacity(64);
    for byte in digest {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok((text, length))
}

/// The text of `SHA256SUMS` and the bytes of all files together.
pub(super) fn sums(directory: &Path) -> Result<(String, u64), BackupFailure> {
    let (mut text, mut bytes) = (String::new(), 0);
    for name in FILES {
        let (digest, length) = digest_of(&directory.join(name))?;
        text.push_str(&format!("{digest}  {name}\n"));
        bytes += length;
    }
    Ok((text, bytes))
}

/// Checks every file of a backup and reads its manifest.
///
/// # Errors
/// [`BackupFailure::NoBackup`], [`BackupFailure::Damaged`] with the file's name, [`BackupFailure::NewerFormat`].
pub(super) fn check(directory: &Path) -> Result<Manifest, BackupFailure> {
    let sums_path = directory.join(SUMS);
    let text = fs::read_to_string(&sums_path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => BackupFailure::NoBackup(directory.to_owned()),
        _ => io_error(&sums_path)(error),
    })?;
    let expected = |name: &str| {
        let line = text.lines().find_map(|line| line.split_once("  ").filter(|(_, own)| *own == name));
        line.map(|(digest, _)| digest)
    };
    for name in FILES {
        let path = directory.join(name);
        let damaged = |what: &str| BackupFailure::Damaged { path: path.clone(), what: what.into() };
        let expected = expected(name).ok_or_else(|| BackupFailure::Damaged {
            path: sums_path.clone(),
            what: format!("it does not name {name}"),
        })?;
        if !path.is_file() {
            return Err(damaged("it is missing"));
        }
        if digest_of(&path)?.0 != expected {
            return Err(damaged("its digest is not the one in SHA256SUMS"));
        }
    }
    let path = directory.join(MANIFEST);
    let text = fs::read(&path).map_err(io_error(&path))?;
    let damaged =
        |error: serde_json::Error| BackupFailure::Damaged { path: path.clone(), what: error.to_string() };
    let manifest: serde_json::Value = serde_json::from_slice(&text).map_err(damaged)?;
    // The format is checked first, because a newer one may have other members.
    let found = manifest.get("format").and_then(serde_json::Value::as_u64).unwrap_or(0);
    match u32::try_from(found).unwrap_or(u32::MAX) {
        0 => Err(BackupFailure::Damaged { path: path.clone(), what: "it has no format".into() }),
        found if found > FORMAT => Err(BackupFailure::NewerFormat { path: path.clone(), found }),
        _ => serde_json::from_value(manifest).map_err(damaged),
    }
}
