//! Checks that the master key is the one under which everything was sealed.

use std::path::Path;

use symbolon_app::app::App;
use symbolon_config::{Config, Finding};
use symbolon_crypto::seal::{MasterKey, SealError};
use symbolon_store_embedded::sealed;

use super::ProcessError;
use super::secrets::{MASTER_KEY_FILE, read_master_key};

/// Loads the issuers. A wrong master key is reported as an error of its setting in the configuration.
pub(crate) async fn load_issuers(app: &App) -> Result<(), ProcessError> {
    let Err(error) = app.load_issuers().await else { return Ok(()) };
    let config = app.config.load();
    config.refuse(error.seal().and_then(|error| finding(&config, error)).into_iter().collect())?;
    Err(error.into())
}

/// What is wrong with the master key for a data directory that is not opened; `None` if nothing is.
pub(crate) fn check_stored(config: &Config) -> Option<Finding> {
    let data = config.storage.cluster.is_none().then_some(&config.storage.data_dir)?;
    let sealed = sealed::in_directory(data)?;
    match &config.security.master_key {
        Some(key) => mismatch(config, key, &sealed),
        // A key that cannot be read is reported where it is read.
        None => mismatch(config, &read_master_key(&data.join(MASTER_KEY_FILE)).ok()??, &sealed),
    }
}

/// What is wrong with the configured master key for a backup.
pub(crate) fn check_backup(config: &Config, backup: &Path) -> Option<Finding> {
    mismatch(config, config.security.master_key.as_ref()?, &sealed::in_backup(backup)?)
}

fn mismatch(config: &Config, key: &MasterKey, sealed: &[u8]) -> Option<Finding> {
    key.check(sealed).err().and_then(|error| finding(config, &error))
}

fn finding(config: &Config, error: &SealError) -> Option<Finding> {
    let SealError::WrongKey { sealed_by, given } = error else { return None };
    let key = config.master_key_from();
    let what = if key == "data_dir" { "has a master.key that is not" } else { "is not" };
    Some(Finding {
        key,
        problem: format!(
            "{what} the right one: everything was sealed under the master key {sealed_by}, and this is {given}"
        ),
        mend: "give the key of that id; `symbolon keys rewrap` alone changes which one it is".to_owned(),
    })
}
