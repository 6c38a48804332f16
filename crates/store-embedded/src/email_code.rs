//! What became of codes sent by e-mail: durable in the journal, all live ones in memory.
//!
//! They are in the table of assertion marks, from which they differ by having a value: one more keyspace would cost every
//! server memory and a start, and every backup of before would lack it.

use async_trait::async_trait;
use parking_lot::Mutex;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, EmailCodeUse, Recipient};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::shard::record_key;
use symbolon_store::{Outcome, StoreError, port};

use crate::EmbeddedStore;
use crate::journal::{CommitNumber, Op, Table};
use crate::room::{EMAIL_CODE, no_room};
use crate::sharded::{Key, KeyMap, slot_of_key};

/// The locks that all codes share.
const LOCKS: usize = 64;

/// What is kept of one code, until when, and the commit that wrote it last.
#[derive(Clone, Copy)]
struct Kept {
    used: EmailCodeUse,
    until: Timestamp,
    commit: CommitNumber,
}

/// All live codes.
pub(crate) struct EmailCodes(Box<[Mutex<KeyMap<Kept>>]>);

impl Default for EmailCodes {
    fn default() -> Self {
        Self((0..LOCKS).map(|_| Mutex::default()).collect())
    }
}

impl EmailCodes {
    fn of(&self, key: &Key) -> Result<&Mutex<KeyMap<Kept>>, StoreError> {
        let lock = slot_of_key(key) as usize % LOCKS;
        self.0.get(lock).ok_or_else(|| StoreError::Failed("a code by e-mail has no place".into()))
    }
}

/// The record of a code: the tries that are taken, and behind them the recipient, if there is one.
pub(crate) fn put(key: &Key, until: Timestamp, used: &EmailCodeUse) -> Op {
    let mut record = [0; 1 + size_of::<Recipient>()];
    let [tries, recipient @ ..] = &mut record;
    *tries = used.tries;
    let length = match used.recipient {
        Some(Recipient(digest)) => {
            *recipient = digest;
            record.len()
        }
        None => 1,
    };
    Op::put(Table::AssertionMarks, key, until.millis(), record.get(..length).unwrap_or_default())
}

/// Reads what [`put`] wrote.
///
/// # Errors
/// [`StoreError::Failed`]: it has another length.
pub(crate) fn of_bytes(record: &[u8]) -> Result<EmailCodeUse, StoreError> {
    let read = match record {
        [tries] => Some(EmailCodeUse { recipient: None, tries: *tries }),
        [tries, recipient @ ..] => recipient
            .try_into()
            .ok()
            .map(|digest| EmailCodeUse { recipient: Some(Recipient(digest)), tries: *tries }),
        [] => None,
    };
    read.ok_or_else(|| StoreError::Failed("a code by e-mail is cut short".into()))
}

impl EmbeddedStore {
    pub(crate) fn load_email_code(&self, key: Key, end: u64, record: &[u8]) -> Result<(), StoreError> {
        let (used, until) = (of_bytes(record)?, Timestamp::from_millis(end));
        let kept = Kept { used, until, commit: CommitNumber::LOADED };
        if self.email_codes.of(&key)?.lock().insert(key, kept).is_none() {
            self.figures.email_code_room().moved(0, EMAIL_CODE);
        }
        Ok(())
    }

    pub(crate) async fn sweep_email_codes(&self, now: Timestamp) -> u64 {
        let mut gone = 0;
        for lock in &self.email_codes.0 {
            gone += self.sweep_some(&mut lock.lock(), now);
            tokio::task::yield_now().await;
        }
        gone
    }

    fn sweep_some(&self, codes: &mut KeyMap<Kept>, now: Timestamp) -> u64 {
        let before = codes.len();
        codes.retain(|_, kept| kept.until + KEPT_AFTER_END > now);
        self.figures.email_code_room().moved(before * EMAIL_CODE, codes.len() * EMAIL_CODE);
        if codes.capacity() > 4 * codes.len() + 64 {
            codes.shrink_to_fit();
        }
        (before - codes.len()) as u64
    }

    /// Changes what is kept of a code, and writes it where `change` says that it did. The outcome waits for the last commit that
    /// the result rests on.
    fn change_email_code<T>(
        &self,
        issuer: &IssuerId,
        (id, until): (&str, Timestamp),
        change: impl FnOnce(&mut EmailCodeUse) -> (T, bool),
    ) -> Result<Outcome<T>, StoreError> {
        self.check_writable()?;
        let (key, room) = (record_key(issuer, id), self.figures.email_code_room());
        let mut timer = self.figures.kind(StoreKind::EmailCode).start(0);
        let lock = self.email_codes.of(&key)?;
        let mut codes = lock.try_lock().unwrap_or_else(|| {
            let codes = lock.lock();
            timer.admitted();
            codes
        });
        let known = codes.get(&key).copied();
        if known.is_none() && !room.admits() {
            return Err(no_room("codes by e-mail"));
        }
        let mut used = known.map(|kept| kept.used).unwrap_or_default();
        let (result, is_changed) = change(&mut used);
        let commit = match known {
            Some(kept) if !is_changed => kept.commit,
            _ => {
                // One code has one end, whatever a caller says of it later.
                let until = known.map_or(until, |kept| kept.until);
                let commit = self.journal.append([put(&key, until, &used)]);
                codes.insert(key, Kept { used, until, commit });
                commit
            }
        };
        if known.is_none() {
            room.moved(0, EMAIL_CODE);
        }
        drop(codes);
        timer.finish(true);
        Ok(self.outcome(result, commit))
    }
}

#[async_trait]
impl port::EmailCodes for EmbeddedStore {
    async fn note_recipient(
        &self,
        issuer: &IssuerId,
        code: (&str, Timestamp),
        recipient: Recipient,
    ) -> Result<Outcome<()>, StoreError> {
        self.change_email_code(issuer, code, |used| ((), used.mailed_to(recipient)))
    }

    async fn try_email_code(
        &self,
        issuer: &IssuerId,
        code: (&str, Timestamp),
        is_right: bool,
    ) -> Result<Outcome<EmailCodeTry>, StoreError> {
        self.change_email_code(issuer, code, |used| {
            let tried = used.attempt(is_right);
            (tried, tried != EmailCodeTry::UsedUp)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_no_other_length_is() {
        let recipient = Some(Recipient([7; 16]));
        for used in [EmailCodeUse { recipient: None, tries: 3 }, EmailCodeUse { recipient, tries: 0 }] {
            let Op { value, .. } = put(&[1; 16], Timestamp::from_millis(5), &used);
            let value = value.unwrap();
            let (end, record) = crate::journal::split_value(&value).unwrap();
            assert_eq!((end, of_bytes(record).unwrap()), (5, used));
            assert!(!record.is_empty(), "it would be taken for a mark");
        }
        for bad in [&[][..], &[1; 2], &[1; 18]] {
            assert!(of_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
