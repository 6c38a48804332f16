//! What became of codes sent by e-mail. It is in PostgreSQL, because a failover of Redis could lose it. One row for a code:
//! noting its recipient and each try are one statement for many codes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::{ShareNumber, StoreKind};
use symbolon_protocol::grant::Slot;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::email_code::TRIES;
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, EmailCodeUse, Recipient, tries_taken};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::EmailCodes;
use symbolon_store::shard::record_key;
use symbolon_store::{Outcome, StoreError};
use tokio_postgres::Row;

use crate::ClusterStore;
use crate::batch::Batch;
use crate::postgres::{Postgres, column, retried};
use crate::revocation::{capped, sweep_by};
use crate::share::ShareCounts;

/// The most changes in one batch, and the most batches at a time.
const MOST: usize = 512;
const LANES: usize = 4;

/// Returns no row for a code that is used up, which it leaves as it is ([`EmailCodeUse::attempt`]), nor for one that may not begin
/// and is not there. A scalar subquery is one look-up by the key, made for those alone that may not begin; PostgreSQL may turn an
/// `EXISTS` into a table of all keys.
const CHANGE: &str = "
    INSERT INTO email_codes AS c (key, until, tries, recipient)
    SELECT n.key, n.until, n.tries, n.recipient
    FROM unnest($1::bytea[], $2::bigint[], $3::smallint[], $4::bytea[], $6::boolean[])
        AS n(key, until, tries, recipient, may_begin)
    WHERE n.may_begin OR (SELECT TRUE FROM email_codes AS there WHERE there.key = n.key)
    ON CONFLICT (key) DO UPDATE
    SET tries = LEAST(c.tries + excluded.tries, $5::smallint), recipient = COALESCE(c.recipient, excluded.recipient)
    WHERE c.tries < $5::smallint
    RETURNING key, tries, recipient";

const IS_THERE: &str = "SELECT TRUE FROM email_codes WHERE key = $1";

const IMPORT: &str = "
    INSERT INTO email_codes (key, until, tries, recipient)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::smallint[], $4::bytea[])
    ON CONFLICT (key) DO NOTHING";

const SWEEP: &str = "
    DELETE FROM email_codes WHERE key IN
        (SELECT key FROM email_codes WHERE until <= $1 ORDER BY until LIMIT $2)";

/// What is to be done with a code.
#[derive(Clone, Copy)]
enum Action {
    Note(Recipient),
    /// Whether the code is right.
    Try(bool),
}

impl Action {
    /// Whether it was the first change of a code that is like this now: who is mailed to is noted before anybody can try,
    /// and a code that was mailed to nobody begins with a try. One that was made for a test and is right at the second try counts
    /// twice.
    const fn began(self, used: &EmailCodeUse) -> bool {
        match self {
            Self::Note(_) => used.tries == 0,
            Self::Try(is_right) => used.recipient.is_none() && used.tries == tries_taken(is_right),
        }
    }
}

/// A change of one code: its key, until when it is needed, and what is to be done.
pub(crate) struct Change {
    key: [u8; 16],
    until: u64,
    action: Action,
    /// Whether there is room for the code, should it be a new one.
    may_begin: bool,
    /// For whom it counts, and when it was asked for.
    counted: (ShareNumber, Timestamp),
}

/// The queue of changes to write. Each is answered by the code as it is then, or by `None` if it was used up before, or may not
/// begin and is not there.
pub(crate) type Changing = Batch<Change, Option<EmailCodeUse>>;

pub(crate) fn start(postgres: &Arc<Postgres>, shares: &Arc<ShareCounts>) -> Changing {
    let (postgres, shares) = (Arc::clone(postgres), Arc::clone(shares));
    Batch::start("codes by e-mail", MOST, LANES, move |changes: Vec<Change>| {
        let (postgres, shares) = (Arc::clone(&postgres), Arc::clone(&shares));
        async move {
            let codes = change(&postgres, &changes).await?;
            // Here, because whoever asked may have given up waiting.
            for (change, code) in changes.iter().zip(&codes) {
                if matches!(code, Ok(Some(used)) if change.action.began(used)) {
                    let (share, now) = change.counted;
                    shares.count_email_code(
                        share,
                        Timestamp::from_millis(change.until) + KEPT_AFTER_END,
                        now,
                    );
                }
            }
            Ok(codes)
        }
    })
}

/// Makes changes, and returns the code of each. A statement changes a row once, so several changes of one code take
/// several statements, in their order: as many as a code has tries, and one, because a code that is used up stays so.
async fn change(
    postgres: &Postgres,
    changes: &[Change],
) -> Result<Vec<Result<Option<EmailCodeUse>, StoreError>>, StoreError> {
    // Room for one change of a code is room for all of them.
    let admitted: BTreeSet<[u8; 16]> = match changes.iter().all(|change| change.may_begin) {
        true => BTreeSet::new(),
        false => changes.iter().filter(|change| change.may_begin).map(|change| change.key).collect(),
    };
    let mut codes: Vec<_> = changes.iter().map(|_| Ok(None)).collect();
    let mut waiting: Vec<usize> = (0..changes.len()).collect();
    // Used up, or not there and without room: so it is for all further changes of this batch.
    let mut unchanged = BTreeSet::new();
    while !waiting.is_empty() {
        // In the order of keys, so that two batches that meet wait for each other and not both.
        let mut now: BTreeMap<[u8; 16], (usize, &Change)> = BTreeMap::new();
        let mut later = Vec::new();
        for index in waiting {
            let Some(change) = changes.get(index) else { continue };
            if unchanged.contains(&change.key) {
                continue;
            }
            match now.contains_key(&change.key) {
                true => later.push(index),
                false => drop(now.insert(change.key, (index, change))),
            }
        }
        let found = write(postgres, &now, &admitted).await?;
        for (key, (index, _)) in &now {
            match (found.get(key), codes.get_mut(*index)) {
                (Some(used), Some(code)) => *code = Ok(Some(*used)),
                _ => drop(unchanged.insert(*key)),
            }
        }
        waiting = later;
    }
    Ok(codes)
}

/// Writes one change of each code, of which those that are `admitted` may begin; returns those that were changed, as they are now.
async fn write(
    postgres: &Postgres,
    changes: &BTreeMap<[u8; 16], (usize, &Change)>,
    admitted: &BTreeSet<[u8; 16]>,
) -> Result<BTreeMap<[u8; 16], EmailCodeUse>, StoreError> {
    if changes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let of_all = || changes.values().map(|(_, change)| *change);
    let keys: Vec<&[u8]> = of_all().map(|change| change.key.as_slice()).collect();
    let untils: Vec<i64> = of_all().map(|change| change.until.cast_signed()).collect();
    let tries: Vec<i16> = of_all().map(Change::tries).collect();
    let recipients: Vec<Option<&[u8]>> = of_all().map(Change::recipient).collect();
    let may_begin: Vec<bool> =
        of_all().map(|change| change.may_begin || admitted.contains(&change.key)).collect();
    let most = i16::from(TRIES);
    let rows = retried(|| async {
        let connection = postgres.connection().await?;
        connection.change_returning(CHANGE, &[&keys, &untils, &tries, &recipients, &most, &may_begin]).await
    });
    rows.await?.iter().map(|row| Ok((key(row)?, used(row, 1)?))).collect()
}

impl Change {
    fn tries(&self) -> i16 {
        match self.action {
            Action::Note(_) => 0,
            Action::Try(is_right) => i16::from(tries_taken(is_right)),
        }
    }

    fn recipient(&self) -> Option<&[u8]> {
        match &self.action {
            Action::Note(Recipient(digest)) => Some(digest),
            Action::Try(_) => None,
        }
    }
}

/// The key of a row.
pub(crate) fn key(row: &Row) -> Result<[u8; 16], StoreError> {
    column::<&[u8]>(row, 0)?.try_into().map_err(|_| cut_short())
}

/// Reads a code from a row: its tries at `index`, its recipient behind.
pub(crate) fn used(row: &Row, index: usize) -> Result<EmailCodeUse, StoreError> {
    let tries = u8::try_from(column::<i16>(row, index)?).map_err(|_| cut_short())?;
    let recipient = column::<Option<&[u8]>>(row, index + 1)?;
    let recipient = recipient.map(|digest| digest.try_into().map(Recipient).map_err(|_| cut_short()));
    Ok(EmailCodeUse { recipient: recipient.transpose()?, tries })
}

fn cut_short() -> StoreError {
    StoreError::Failed("a code by e-mail is not as it was written".into())
}

impl ClusterStore {
    async fn change_email_code(
        &self,
        issuer: &IssuerId,
        (id, until): (&str, Timestamp),
        action: Action,
    ) -> Result<Option<EmailCodeUse>, StoreError> {
        let _pass = self.gate.enter()?;
        let room = self.figures.email_code_room();
        let share = self.share_of_email_codes(issuer).await;
        let may_begin = room.is_free(share);
        let key = record_key(issuer, id);
        let [.., high, low] = key;
        let slot = u32::from(Slot::new(u32::from_be_bytes([0, 0, high, low])).number());
        let timer = self.figures.kind(StoreKind::EmailCode).start(self.counted_under(slot));
        let counted = (share, self.now());
        let change = Change { key, until: capped(until), action, may_begin, counted };
        let changed = self.email_codes.submit(change).await;
        timer.finish(changed.is_ok());
        let changed = changed?;
        if changed.is_none() && !may_begin && !self.has_email_code(&key).await? {
            room.refuse();
            return Err(StoreError::no_room("codes by e-mail", !room.is_within_share(share)));
        }
        Ok(changed)
    }

    async fn has_email_code(&self, key: &[u8; 16]) -> Result<bool, StoreError> {
        let connection = self.postgres.connection().await?;
        Ok(connection.first(IS_THERE, &[&key.as_slice()]).await?.is_some())
    }

    /// Imports codes: the key of each, until when it is needed, and what became of it.
    pub(crate) async fn import_email_codes(
        &self,
        codes: &[([u8; 16], Timestamp, EmailCodeUse)],
    ) -> Result<(), StoreError> {
        if codes.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = codes.iter().map(|(key, ..)| key.as_slice()).collect();
        let untils: Vec<i64> = codes.iter().map(|(_, until, _)| capped(*until).cast_signed()).collect();
        let tries: Vec<i16> = codes.iter().map(|(.., used)| i16::from(used.tries)).collect();
        let recipients: Vec<Option<&[u8]>> = codes
            .iter()
            .map(|(.., used)| used.recipient.as_ref().map(|Recipient(digest)| digest.as_slice()))
            .collect();
        let connection = self.postgres.connection().await?;
        connection.change(IMPORT, &[&keys, &untils, &tries, &recipients]).await.map(drop)
    }

    /// Deletes a bounded number of codes that are no longer needed; returns how many.
    pub(crate) async fn sweep_email_codes(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep_by(&self.postgres, SWEEP, now).await
    }
}

#[async_trait]
impl EmailCodes for ClusterStore {
    async fn note_recipient(
        &self,
        issuer: &IssuerId,
        code: (&str, Timestamp),
        recipient: Recipient,
    ) -> Result<Outcome<()>, StoreError> {
        self.change_email_code(issuer, code, Action::Note(recipient)).await?;
        Ok(Outcome::settled(()))
    }

    async fn try_email_code(
        &self,
        issuer: &IssuerId,
        code: (&str, Timestamp),
        is_right: bool,
    ) -> Result<Outcome<EmailCodeTry>, StoreError> {
        let changed = self.change_email_code(issuer, code, Action::Try(is_right)).await?;
        Ok(Outcome::settled(changed.map_or(EmailCodeTry::UsedUp, |used| used.told(is_right))))
    }
}
