//! The epoch: the moment at which this store was restored from a backup.
//!
//! A backup cannot know what was revoked after it was made, so access tokens of that time are not accepted any more
//! (sessions are not restored, codes live in memory). It is one mark of the whole store and never expires: a
//! tombstone per issuer would end what is *born* before it, and with that every grant and its refresh families,
//! which are to go on: a refresh token carries its version, which tells the store that it went backwards.

use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use crate::journal::{Journal, NEVER, Op, Table, split_value};
use crate::{decode, failed, put_record};

/// Where it is kept.
pub(crate) const KEY: &[u8] = b"epoch";

/// What the journal says.
pub(crate) fn stored(journal: &Journal) -> Result<Option<Timestamp>, StoreError> {
    let Some(value) = journal.get(Table::Meta, KEY).map_err(failed)? else { return Ok(None) };
    let (_, record) =
        split_value(&value).ok_or_else(|| StoreError::Failed("the epoch is cut short".into()))?;
    decode(record).map(Some)
}

/// The change that begins an epoch.
pub(crate) fn put(at: Timestamp) -> Result<Op, StoreError> {
    put_record(Table::Meta, KEY, NEVER, &at)
}
