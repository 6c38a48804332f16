//! The default store: one directory, SQLite and fjall, group commit.
//!
//! The lower layers know nothing of the domain:
//!
//! * [`directory`]: the directory itself, its lock and its format version;
//! * [`journal`]: fjall behind one group-commit writer, for sessions, refresh families, revocations, assertion marks and
//!   codes by e-mail;
//! * [`database`]: SQLite behind one group-commit writer, for everything that lives long.
//!
//! Above them is one module for each trait of the port. Hot state lives in memory, split into shards, and all of it but
//! codes, challenges, pushed requests, and what devices and clients ask people for is also written to the journal; marks of DPoP proofs
//! at the end. Long-lived records live in the database, with a cache in front
//! of it.

pub mod backup;
pub mod database;
pub mod directory;
pub mod fatal;
pub mod free_space;
pub mod freeze;
pub mod journal;
pub mod sealed;
pub mod transfer;

mod assertion;
mod backchannel_authentication;
mod challenge;
mod code;
mod device_authorization;
mod email_code;
mod epoch;
mod generation;
mod group_commit;
mod open;
mod proof;
mod pushed_request;
mod record;
mod refresh_token;
mod resident;
mod revocation;
mod room;
mod session;
mod sharded;
mod store;
mod undecided;

pub use open::{EmbeddedError, EmbeddedOptions, Recovery};

use std::sync::{Arc, OnceLock};

use symbolon_figures::StoreFigures;
use symbolon_protocol::device_authorization::DeviceAuthorization;
use symbolon_protocol::time::Timestamp;
use symbolon_store::{Durable, Outcome, StoreError};

use crate::database::Database;
use crate::directory::DataDirectory;
use crate::journal::{CommitNumber, Journal, Op, Table};
use crate::sharded::{Key, Sharded};

/// The embedded back-end of the port.
pub struct EmbeddedStore {
    directory: DataDirectory,
    journal: Arc<Journal>,
    database: Arc<Database>,
    figures: Arc<StoreFigures>,
    codes: Sharded<code::CodeShard>,
    code_salt: code::CodeSalt,
    sessions: Sharded<resident::Resident<session::Live>>,
    session_issuers: session::SessionIssuers,
    /// Held while sessions are claimed whose time is over.
    claims_of_ends: tokio::sync::Mutex<()>,
    challenges: Sharded<challenge::ChallengeShard>,
    families: Sharded<resident::Resident<Arc<symbolon_protocol::family::Family>>>,
    revocations: Sharded<revocation::Tombstones>,
    everywhere: revocation::Everywhere,
    /// Held while generations change.
    generations_change: tokio::sync::Mutex<()>,
    /// Access tokens issued at or before this time are refused, because the store was restored from a backup then;
    /// `None` if it never was. Unset until the store is recovered.
    epoch: OnceLock<Option<Timestamp>>,
    assertions: Sharded<assertion::AssertionShard>,
    proofs: proof::Proofs,
    email_codes: email_code::EmailCodes,
    pushed_requests: pushed_request::PushedRequests,
    device_authorizations: undecided::Waiting<DeviceAuthorization>,
    backchannel_authentications: undecided::Waiting<backchannel_authentication::AskedAt>,
    records: Arc<record::Records>,
}

impl EmbeddedStore {
    /// Refuses a write while there is no room for it, before memory is changed.
    fn check_writable(&self) -> Result<(), StoreError> {
        if self.journal.writable() {
            return Ok(());
        }
        self.check_not_frozen()?;
        Err(StoreError::Unavailable("there is not enough room on the disk of the data directory".into()))
    }

    /// Pairs a value with the wait until `commit`, the change that the value rests on, is durable.
    fn outcome<T>(&self, value: T, commit: CommitNumber) -> Outcome<T> {
        if self.journal.durable(commit) {
            return Outcome::settled(value);
        }
        if commit.get() == u64::MAX {
            // A closed or sealed journal gives out this number, which never becomes durable: a wait for it would not
            // end.
            let frozen = self.check_not_frozen();
            let closed = || StoreError::Unavailable("the store is closed".into());
            return Outcome::after(
                value,
                Durable::after(async move { Err(frozen.err().unwrap_or_else(closed)) }),
            );
        }
        let wait = self.journal.wait(commit);
        let durable = Durable::after(async move {
            wait.await;
            Ok(())
        });
        Outcome::after(value, durable)
    }

    /// Reads one record of the journal on a thread that may block.
    async fn read(&self, table: Table, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.blocking(move |journal| {
            Ok(journal.get(table, &key).map_err(failed)?.map(|value| value.to_vec()))
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Journal) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let journal = Arc::clone(&self.journal);
        tokio::task::spawn_blocking(move || work(&journal)).await.map_err(failed)?
    }
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

/// The first byte of every record in the journal; the record in postcard follows.
const RECORD_VERSION: u8 = 1;

/// Size in bytes of the stack buffer for serializing: enough for nearly every record.
const USUAL_RECORD: usize = 512;

/// Serializes a record and passes its bytes to `take`. Uses a buffer on the stack, or the heap if the record is longer
/// than [`USUAL_RECORD`].
fn serialized<T: serde::Serialize, R>(record: &T, take: impl FnOnce(&[u8]) -> R) -> Result<R, StoreError> {
    let mut room = [0; USUAL_RECORD];
    match postcard::to_slice(record, &mut room) {
        Ok(written) => Ok(take(written)),
        Err(postcard::Error::SerializeBufferFull) => {
            postcard::to_allocvec(record).map(|long| take(&long)).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

/// The change that writes a record under `key`. The record expires at `end`, in Unix milliseconds or `NEVER`.
fn put_record<T: serde::Serialize>(table: Table, key: &[u8], end: u64, record: &T) -> Result<Op, StoreError> {
    serialized(&(RECORD_VERSION, record), |bytes| Op::put(table, key, end, bytes))
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    match bytes.split_first() {
        Some((&RECORD_VERSION, record)) => postcard::from_bytes(record).map_err(failed),
        _ => Err(StoreError::Failed("a record of an unknown version".into())),
    }
}
