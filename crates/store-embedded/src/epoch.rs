//! The epoch: the moment at which this store was restored from a backup.
//!
//! A backup does not contain the revocations that came after it, so access tokens issued up to the restore are refused.
//! (Sessions are not restored, and codes live in memory only.) The epoch is one mark for the whole store and never
//! expires. A tombstone per issuer would not do: it revokes everything *born* before it, and with that every grant and
//! its refresh families, which are to stay usable. A refresh token needs no epoch, because it carries its version: from
//! that the store notices that its own state is older.

use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use crate::journal::{Journal, NEVER, Op, Table, split_value};
use crate::{decode, failed, put_record};

/// Key of the epoch in [`Table::Meta`].
pub(crate) const KEY: &[u8] = b"epoch";

/// The stored epoch; `None` if the store was never restored.
pub(crate) fn stored(journal: &Journal) -> Result<Option<Timestamp>, StoreError> {
    let Some(value) = journal.get(Table::Meta, KEY).map_err(failed)? else { return Ok(None) };
    let (_, record) =
        split_value(&value).ok_or_else(|| StoreError::Failed("the epoch is cut short".into()))?;
    decode(record).map(Some)
}

/// The change that sets the epoch.
pub(crate) fn put(at: Timestamp) -> Result<Op, StoreError> {
    put_record(Table::Meta, KEY, NEVER, &at)
}
