//! Operations on the whole installation: backups, and the master key that seals keys and secrets.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use symbolon_crypto::seal::{MasterKey, SealError};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::event::Event;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_store::StoreError;
use symbolon_store::backup::BackupReport;
use symbolon_store::port::Changed;
use symbolon_store::transfer::Freeze;

use crate::backup_target;
use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use symbolon_app::audit::ChangedFields;
use symbolon_app::http::Failure;
use symbolon_app::issuer;

/// How long moving a store waits for queued audit records.
const AUDITED_WITHIN: Duration = Duration::from_secs(10);

/// Attempts at resealing, because keys may change meanwhile.
const ATTEMPTS: usize = 3;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::taking(
            Method::POST,
            "/backup",
            "NewBackup",
            "Copies everything into a directory of the server's, below `backup_dir`",
            backup,
        )
        .answers(201, reference("Backup"))
        .global(),
        Operation::taking(
            Method::POST,
            "/migration",
            "NewBackup",
            "Refuses writes from now on and copies everything into a directory of the server's, to be moved",
            freeze,
        )
        .answers(201, reference("Backup"))
        .global(),
        Operation::plain(
            Method::POST,
            "/migration/finished",
            "Marks everything as moved: nothing starts on this store any more",
            finished,
        )
        .answers(204, Value::Null)
        .global(),
        Operation::delete(
            "/migration",
            "Takes writes again: on the embedded store from the next start on",
            thaw,
        )
        .answers(204, Value::Null)
        .global(),
        Operation::taking(
            Method::POST,
            "/signing-keys/rewrap",
            "NewMasterKey",
            "Seals every issuer's secret and keys under another master key",
            rewrap,
        )
        .answers(200, reference("Rewrapped"))
        .global(),
    ]
}

/// A path on the server. It must be absolute, because the caller does not know the server's working directory.
fn absolute(path: String, name: &str) -> Result<PathBuf, AdminError> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(AdminError::invalid(format!("{name} must be an absolute path")))
    }
}

async fn backup(call: Call, payload: Payload) -> Answer {
    let path = target(&call, payload).await?;
    let report = call.app.store.backup(&path, call.now()).await?;
    call.audit(Event::BackupMade, copied(&path, &report), ChangedFields::made(&view(&path, &report)));
    Ok(created(&view(&path, &report)))
}

/// Writes are refused before the backup is made, so that it contains every acknowledged change.
async fn freeze(call: Call, payload: Payload) -> Answer {
    let path = target(&call, payload).await?;
    if call.app.config.load().storage.cluster.is_some() {
        return Err(AdminError::invalid(
            "nodes of a cluster copy nothing: `symbolon store migrate` reads its engines",
        ));
    }
    // Checked before writes are refused: the embedded store accepts them again only after a restart.
    call.app.store.check_backup_target(&path).await?;
    // Also before that, so that the record is in the copy.
    call.audit(Event::MigrationBegun, Concerns::default(), migration(Freeze::Migrating));
    call.audited().await?;
    call.app.store.freeze(Freeze::Migrating).await?;
    tracing::warn!("writes are refused from now on: the store is being moved");
    if !call.app.audit.settle(AUDITED_WITHIN).await {
        tracing::warn!(target: "symbolon::audit", "some audit records will not be moved: the store is too slow");
    }
    let report = call.app.store.backup(&path, call.now()).await?;
    call.audit(Event::BackupMade, copied(&path, &report), ChangedFields::made(&view(&path, &report)));
    Ok(created(&view(&path, &report)))
}

async fn finished(call: Call) -> Answer {
    call.app.store.freeze(Freeze::Migrated).await?;
    tracing::warn!(
        "the store was moved: this server answers reads until it is stopped, and does not start again"
    );
    call.audit(Event::MigrationFinished, Concerns::default(), migration(Freeze::Migrated));
    Ok(done())
}

async fn thaw(call: Call) -> Answer {
    call.app.store.freeze(Freeze::Lifted).await?;
    call.audit(Event::MigrationLifted, Concerns::default(), migration(Freeze::Lifted));
    Ok(done())
}

/// What the audit log says of a store that is being moved. A frozen store still takes audit records.
fn migration(state: Freeze) -> ChangedFields {
    ChangedFields::made(&json!({ "migration": state.as_str() }))
}

/// The path for the backup.
async fn target(call: &Call, payload: Payload) -> Result<PathBuf, AdminError> {
    let mut fields = payload.fields().await?;
    let path = absolute(fields.require("path")?, "path")?;
    fields.finish()?;
    backup_target::check(&path, &call.app.config.load().storage).map_err(AdminError::invalid)?;
    Ok(path)
}

fn copied(path: &Path, report: &BackupReport) -> Concerns<'static> {
    Concerns { detail: json!({ "path": path, "commit": report.commit }), ..Concerns::default() }
}

fn view(path: &Path, report: &BackupReport) -> Value {
    json!({ "path": path, "commit": report.commit, "records": report.records, "bytes": report.bytes })
}

/// The new key is read from a file on the server, so it is never sent over the network. The server must be able to
/// read that file at its next start anyway.
async fn rewrap(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let path = absolute(fields.require("new_master_key_file")?, "new_master_key_file")?;
    fields.finish()?;
    let text = read(&path).await?;
    let new = MasterKey::parse(&text);
    let new = Arc::new(new.map_err(|why| AdminError::invalid(format!("{}: {why}", path.display())))?);
    // In its own task, so that resealing is completed even if the caller goes away.
    let done = tokio::spawn(rewrapped(call, new)).await;
    done.map_err(|error| Failure::Internal(format!("the keys were not resealed: {error}")))?
}

async fn rewrapped(call: Call, new: Arc<MasterKey>) -> Answer {
    let id = new.id();
    let old = call.app.master.load_full();
    let before = old.id();
    // Switched before anything is written: keys made from now on are sealed under the new key. Keys made before are
    // resealed below, or cause a conflict that repeats the resealing.
    call.app.master.store(Arc::clone(&new));
    let resealed = reseal(&call, &old, &new).await;
    if resealed.is_err() {
        call.app.master.store(old);
    }
    let (issuers, keys) = resealed?;
    call.app.follow(&Changed::Everything).await?;
    let detail = json!({ "master_key": id, "issuers": issuers, "keys": keys });
    let changed = ChangedFields::between(&json!({ "master_key": before }), &json!({ "master_key": id }));
    call.audit(Event::KeysResealed, Concerns { detail, ..Concerns::default() }, changed);
    Ok(ok(&json!({ "master_key": id, "issuers": issuers, "keys": keys })))
}

async fn read(path: &Path) -> Result<SecretString, AdminError> {
    let text = tokio::fs::read_to_string(path).await.map_err(|error| match error.kind() {
        ErrorKind::InvalidData => SealError::MasterKey.to_string(),
        _ => error.to_string(),
    });
    text.map(SecretString::new).map_err(|why| AdminError::invalid(format!("{}: {why}", path.display())))
}

/// Reseals all issuers and keys under the new key, in one transaction. Returns their numbers.
async fn reseal(call: &Call, old: &MasterKey, new: &MasterKey) -> Result<(usize, usize), AdminError> {
    for _ in 0..ATTEMPTS {
        let seen = everything(call).await?;
        let sealed: Vec<(Issuer, Vec<KeyRecord>)> =
            seen.iter().map(|(one, keys)| issuer::rewrap(one, keys, old, new)).collect::<Result<_, _>>()?;
        match call.app.store.reseal(&seen, &sealed).await {
            Ok(()) => return Ok((sealed.len(), sealed.iter().map(|(_, keys)| keys.len()).sum())),
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Conflict.into())
}

async fn everything(call: &Call) -> Result<Vec<(Issuer, Vec<KeyRecord>)>, AdminError> {
    let mut all = Vec::new();
    for issuer in call.app.store.issuers().await? {
        let keys = call.app.store.keys(&issuer.id).await?;
        all.push((issuer, keys));
    }
    Ok(all)
}
