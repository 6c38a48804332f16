//! What became of codes sent by e-mail: durable in the journal, all live ones in memory.
//!
//! They are in the table of assertion marks, from which they differ by the first byte of their value ([`is_one`]): one more
//! keyspace would cost every server memory and a start, and every backup of before would lack it.

use async_trait::async_trait;
use parking_lot::Mutex;
use symbolon_figures::{ShareNumber, StoreKind};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, EmailCodeUse, Recipient};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::shard::record_key;
use symbolon_store::{Outcome, StoreError, port};

use crate::EmbeddedStore;
use crate::journal::{CommitNumber, Op, Table};
use crate::room::{EMAIL_CODE, no_room, share_of_record};
use crate::sharded::{Key, KeyMap, slot_of_key};

/// The locks that all codes share.
const LOCKS: usize = 64;

/// What is kept of one code, until when, and the commit that wrote it last.
#[derive(Clone, Copy)]
struct Kept {
    used: EmailCodeUse,
    until: Timestamp,
    commit: CommitNumber,
    /// The issuer for which it counts.
    share: ShareNumber,
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

/// In the first byte of a record, beside the number of tries: the recipient follows.
const HAS_RECIPIENT: u8 = 0x08;

/// In the first byte: the issuer's id is the rest. Earlier releases left it out, and told of a recipient by the length alone.
const HAS_ISSUER: u8 = 0x10;

/// The bits of the first byte that are the number of tries.
const TRIES_TAKEN: u8 = 0x07;

/// Whether a value of the table is of a code, and not of an assertion's mark: an issuer's id begins with no control character.
pub(crate) fn is_one(value: &[u8]) -> bool {
    value.first().is_some_and(u8::is_ascii_control)
}

/// The record of a code: the tries that are taken, the recipient, if there is one, and the issuer, if it is known.
pub(crate) fn put(key: &Key, until: Timestamp, used: &EmailCodeUse, issuer: &str) -> Op {
    let recipient = used.recipient.as_ref().map_or(&[][..], |Recipient(digest)| digest);
    let mut first = used.tries & TRIES_TAKEN;
    first |= if recipient.is_empty() { 0 } else { HAS_RECIPIENT };
    first |= if issuer.is_empty() { 0 } else { HAS_ISSUER };
    let record = [&[first], recipient, issuer.as_bytes()].concat();
    Op::put(Table::AssertionMarks, key, until.millis(), &record)
}

/// Reads what [`put`] wrote: the code, and its issuer's id, which may be empty.
///
/// # Errors
/// [`StoreError::Failed`]: it is cut short.
pub(crate) fn of_bytes(record: &[u8]) -> Result<(EmailCodeUse, &[u8]), StoreError> {
    const DIGEST: usize = size_of::<Recipient>();
    let cut_short = || StoreError::Failed("a code by e-mail is cut short".into());
    let (first, rest) = record.split_first().ok_or_else(cut_short)?;
    let has = |bit| first & bit != 0;
    let (recipient, issuer) = match has(HAS_RECIPIENT) || (!has(HAS_ISSUER) && rest.len() == DIGEST) {
        true => rest.split_first_chunk::<DIGEST>().map(|(digest, issuer)| (Some(Recipient(*digest)), issuer)),
        false => Some((None, rest)),
    }
    .ok_or_else(cut_short)?;
    if has(HAS_ISSUER) == issuer.is_empty() {
        return Err(cut_short());
    }
    Ok((EmailCodeUse { recipient, tries: first & TRIES_TAKEN }, issuer))
}

impl EmbeddedStore {
    pub(crate) fn load_email_code(&self, key: Key, end: u64, record: &[u8]) -> Result<(), StoreError> {
        let room = self.figures.email_code_room();
        let ((used, issuer), until) = (of_bytes(record)?, Timestamp::from_millis(end));
        let kept = Kept { used, until, commit: CommitNumber::LOADED, share: share_of_record(room, issuer) };
        if self.email_codes.of(&key)?.lock().insert(key, kept).is_none() {
            room.moved(0, EMAIL_CODE);
            room.moved_of(kept.share, 0, EMAIL_CODE);
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
        let (before, room) = (codes.len(), self.figures.email_code_room());
        codes.retain(|_, kept| {
            let stays = kept.until + KEPT_AFTER_END > now;
            if !stays {
                room.moved_of(kept.share, EMAIL_CODE, 0);
            }
            stays
        });
        room.moved(before * EMAIL_CODE, codes.len() * EMAIL_CODE);
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
        let share = known.map_or_else(|| room.share_of(issuer.as_str()), |kept| kept.share);
        if known.is_none() && !room.admits(share) {
            return Err(no_room("codes by e-mail"));
        }
        let mut used = known.map(|kept| kept.used).unwrap_or_default();
        let (result, is_changed) = change(&mut used);
        let commit = match known {
            Some(kept) if !is_changed => kept.commit,
            _ => {
                // One code has one end, whatever a caller says of it later.
                let until = known.map_or(until, |kept| kept.until);
                let commit = self.journal.append([put(&key, until, &used, issuer.as_str())]);
                codes.insert(key, Kept { used, until, commit, share });
                commit
            }
        };
        if known.is_none() {
            room.moved(0, EMAIL_CODE);
            room.moved_of(share, 0, EMAIL_CODE);
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
    use std::time::Duration;

    use symbolon_store::port::EmailCodes as _;

    use super::*;
    use crate::open::tests::options;

    const RECIPIENT: Option<Recipient> = Some(Recipient([7; 16]));

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for (recipient, tries) in [(None, 3), (RECIPIENT, 0), (RECIPIENT, 5)] {
            for issuer in ["", "acme", "sixteen-bytes-id"] {
                let used = EmailCodeUse { recipient, tries };
                let Op { value, .. } = put(&[1; 16], Timestamp::from_millis(5), &used, issuer);
                let value = value.unwrap();
                let (end, record) = crate::journal::split_value(&value).unwrap();
                assert_eq!((end, of_bytes(record).unwrap()), (5, (used, issuer.as_bytes())));
                assert!(is_one(record), "it would be taken for a mark");
            }
        }
        assert!(!is_one(b"") && !is_one(b"acme"), "these are marks");
    }

    #[test]
    fn a_record_of_earlier_releases_is_read_and_one_that_is_cut_short_is_not() {
        let earlier = [&[2][..], &[7; 16]].concat();
        assert_eq!(of_bytes(&earlier).unwrap(), (EmailCodeUse { recipient: RECIPIENT, tries: 2 }, &[][..]));
        assert_eq!(of_bytes(&[3]).unwrap(), (EmailCodeUse { recipient: None, tries: 3 }, &[][..]));
        for bad in [&[][..], &[1; 2], &[1; 18], &[HAS_RECIPIENT], &[HAS_ISSUER], &[HAS_RECIPIENT, 1, 2]] {
            assert!(of_bytes(bad).is_err(), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn an_issuers_codes_leave_room_for_those_of_others_over_a_restart_too() {
        const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
        let home = tempfile::tempdir().unwrap();
        let open = || {
            let store = EmbeddedStore::open(options(home.path())).unwrap();
            store.figures.email_code_room().set_most(100 * EMAIL_CODE as u64);
            store.figures.share_rooms(2, 50);
            store
        };
        let attempt = async |store: &EmbeddedStore, issuer: &IssuerId, id: String| {
            let code = (id.as_str(), NOW + Duration::from_secs(600));
            store.try_email_code(issuer, code, false).await?.told().await
        };
        let [first, second] = ["default", "acme"].map(|id| IssuerId::parse(id).unwrap());
        let store = open();
        for number in 0..50 {
            attempt(&store, &first, number.to_string()).await.unwrap();
        }
        assert!(attempt(&store, &first, "one-more".into()).await.is_err());
        assert_eq!(attempt(&store, &first, "0".into()).await.unwrap(), EmailCodeTry::Wrong { left: 3 });
        drop(store);
        let store = open();
        assert!(attempt(&store, &first, "one-more".into()).await.is_err(), "it counts after a restart too");
        attempt(&store, &second, "0".into()).await.unwrap();
        assert_eq!(store.sweep_email_codes(NOW + Duration::from_secs(3_600)).await, 51);
        attempt(&store, &first, "one-more".into()).await.unwrap();
    }
}
