//! What has to reach somebody else.

use async_trait::async_trait;
use rusqlite::Row;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::{DeliveryId, IssuerId};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::columns::millis;
use symbolon_store::port::{
    Deliveries, Delivery, DeliveryKind, MOST_CLAIMED, Queued, fairly, ids_of_recipient, most_of_recipient,
};

use super::Records;
use super::statement::Statements;
use crate::EmbeddedStore;

const COUNT: &str = "SELECT coalesce(sum(waiting), 0) FROM delivery_counts WHERE issuer = ?1 AND kind = ?2";
const IS_THERE: &str = "SELECT 1 FROM deliveries WHERE issuer = ?1 AND id = ?2";
/// Counts no further than to the bound.
const COUNT_OF_RECIPIENT: &str = "SELECT count(*) FROM
    (SELECT 1 FROM deliveries WHERE issuer = ?1 AND id >= ?2 AND id < ?3 LIMIT ?4)";
const INSERT: &str = "INSERT INTO deliveries
    (issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const IS_ANY_DUE: &str = "SELECT 1 FROM deliveries WHERE due_at <= ?1 AND expires_at > ?1 LIMIT 1";
const ISSUERS: &str = "SELECT DISTINCT issuer FROM delivery_counts WHERE waiting > 0";
const DUE: &str = "SELECT due_at, sequence FROM deliveries
    WHERE issuer = ?1 AND due_at <= ?2 AND expires_at > ?2 ORDER BY due_at, sequence LIMIT ?3";
const CLAIM: &str = "UPDATE deliveries SET due_at = ?2, attempts = attempts + 1, unanswered = unanswered + 1
    WHERE sequence = ?1";
const CLAIMED: &str = "SELECT issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered
    FROM deliveries WHERE sequence = ?1";
/// Every delivery, in the order of their columns in [`delivery`].
pub(crate) const ALL: &str =
    "SELECT issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered
    FROM deliveries ORDER BY sequence";
const FINISH: &str = "DELETE FROM deliveries WHERE issuer = ?1 AND id = ?2";
const POSTPONE: &str = "UPDATE deliveries SET due_at = ?3, unanswered = max(unanswered - 1, 0)
    WHERE issuer = ?1 AND id = ?2";
const WAITING: &str = "SELECT kind, sum(waiting) FROM delivery_counts GROUP BY kind HAVING sum(waiting) > 0";
const IS_ANY_OVER: &str = "SELECT 1 FROM deliveries WHERE expires_at <= ?1 LIMIT 1";
const SWEEP: &str = "DELETE FROM deliveries WHERE sequence IN
    (SELECT sequence FROM deliveries WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";

/// How many deliveries one write of a sweep deletes: all other writes wait for it.
const SWEPT_AT_ONCE: usize = 200;

/// A row: issuer, id, kind, payload, the three times, attempts, unanswered.
pub(crate) fn delivery(row: &Row<'_>) -> rusqlite::Result<(IssuerId, Delivery)> {
    let at = |column| row.get::<_, i64>(column).map(|at| Timestamp::from_millis(at.cast_unsigned()));
    let kind = row.get::<_, String>(2)?;
    let kind = DeliveryKind::parse(&kind).ok_or_else(|| {
        let unknown = format!("a delivery of the unknown kind {kind}");
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, unknown.into())
    })?;
    let delivery = Delivery {
        id: DeliveryId::trusted(row.get::<_, String>(1)?),
        kind,
        payload: row.get(3)?,
        created_at: at(4)?,
        due_at: at(5)?,
        expires_at: at(6)?,
        attempts: row.get(7)?,
        unanswered: row.get(8)?,
    };
    Ok((IssuerId::trusted(row.get::<_, String>(0)?), delivery))
}

pub(super) fn insert(
    issuer: &IssuerId,
    delivery: &Delivery,
    statements: &Statements<'_>,
) -> rusqlite::Result<()> {
    let times = [delivery.created_at, delivery.due_at, delivery.expires_at].map(millis);
    let [created_at, due_at, expires_at] = times;
    let texts = (issuer.as_str(), delivery.id.as_str(), delivery.kind.as_str(), &delivery.payload);
    let (issuer, id, kind, payload) = texts;
    let counts = (delivery.attempts, delivery.unanswered);
    let values = (issuer, id, kind, payload, created_at, due_at, expires_at, counts.0, counts.1);
    statements.change(INSERT, values)?;
    Ok(())
}

/// Whether one more may wait for the recipient that an id names.
fn has_room(
    issuer: &IssuerId,
    id: &DeliveryId,
    most: u32,
    statements: &Statements<'_>,
) -> rusqlite::Result<bool> {
    let Some(recipient) = id.recipient() else { return Ok(true) };
    let (first, end) = ids_of_recipient(recipient);
    let most = i64::from(most_of_recipient(most));
    let values = (issuer.as_str(), first, end, most);
    let waiting = statements.first(COUNT_OF_RECIPIENT, values, |row| row.get::<_, i64>(0))?;
    Ok(waiting.unwrap_or(0) < most)
}

/// Claims what is due.
fn claim(
    (now, until): (Timestamp, Timestamp),
    limit: u32,
    statements: &Statements<'_>,
) -> rusqlite::Result<Vec<(IssuerId, Delivery)>> {
    let issuers = statements.all(ISSUERS, (), |row| row.get::<_, String>(0))?;
    let due_of = |issuer: &String| {
        statements.all(DUE, (issuer, millis(now), limit), |row| {
            let due_at = Timestamp::from_millis(row.get::<_, i64>(0)?.cast_unsigned());
            Ok((due_at, row.get::<_, i64>(1)?))
        })
    };
    let due = issuers.iter().map(due_of).collect::<rusqlite::Result<Vec<_>>>()?;
    let mut claimed = Vec::new();
    for sequence in fairly(due, limit) {
        statements.change(CLAIM, (sequence, millis(until)))?;
        claimed.extend(statements.first(CLAIMED, [sequence], delivery)?);
    }
    Ok(claimed)
}

impl Records {
    /// Deletes deliveries whose time is over, in bounded pieces; returns how many.
    pub(crate) async fn sweep_deliveries(&self, now: Timestamp) -> Result<u64, StoreError> {
        let ended = millis(now - KEPT_AFTER_END);
        let is_over = move |statements: &Statements<'_>| statements.first(IS_ANY_OVER, [ended], |_| Ok(()));
        let mut gone = 0;
        // Without the look, every sweep of an empty queue would be a commit.
        while self.read(StoreKind::Delivery, is_over).await?.is_some() {
            let sweep = move |statements: &Statements<'_>| {
                Ok(statements.change(SWEEP, (ended, i64::try_from(SWEPT_AT_ONCE).unwrap_or(i64::MAX)))?)
            };
            gone += self.write(StoreKind::Delivery, sweep).await? as u64;
        }
        Ok(gone)
    }
}

#[async_trait]
impl Deliveries for EmbeddedStore {
    async fn queue_delivery(
        &self,
        issuer: &IssuerId,
        delivery: Delivery,
        most: u32,
    ) -> Result<Queued, StoreError> {
        delivery.check()?;
        let issuer = issuer.clone();
        let queue = move |statements: &Statements<'_>| {
            if statements.first(IS_THERE, [issuer.as_str(), delivery.id.as_str()], |_| Ok(()))?.is_some() {
                return Ok(Queued::Queued);
            }
            let waiting = statements
                .first(COUNT, [issuer.as_str(), delivery.kind.as_str()], |row| row.get::<_, i64>(0))?;
            if waiting.unwrap_or(0) >= i64::from(most) {
                return Ok(Queued::Full);
            }
            if !has_room(&issuer, &delivery.id, most, statements)? {
                return Ok(Queued::Full);
            }
            insert(&issuer, &delivery, statements)?;
            Ok(Queued::Queued)
        };
        self.records.write(StoreKind::Delivery, queue).await
    }

    async fn claim_deliveries(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(IssuerId, Delivery)>, StoreError> {
        let is_due =
            move |statements: &Statements<'_>| statements.first(IS_ANY_DUE, [millis(now)], |_| Ok(()));
        // Without the look, every worker that finds nothing would cost a commit.
        if self.records.read(StoreKind::Delivery, is_due).await?.is_none() {
            return Ok(Vec::new());
        }
        let limit = limit.clamp(1, MOST_CLAIMED);
        let claim = move |statements: &Statements<'_>| Ok(claim((now, until), limit, statements)?);
        self.records.write(StoreKind::Delivery, claim).await
    }

    async fn finish_delivery(&self, issuer: &IssuerId, id: &DeliveryId) -> Result<bool, StoreError> {
        let key = (issuer.clone(), id.clone());
        let finish = move |statements: &Statements<'_>| {
            Ok(statements.change(FINISH, [key.0.as_str(), key.1.as_str()])? == 1)
        };
        self.records.write(StoreKind::Delivery, finish).await
    }

    async fn postpone_delivery(
        &self,
        issuer: &IssuerId,
        id: &DeliveryId,
        due_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = (issuer.clone(), id.clone());
        let postpone = move |statements: &Statements<'_>| {
            Ok(statements.change(POSTPONE, (key.0.as_str(), key.1.as_str(), millis(due_at)))? == 1)
        };
        self.records.write(StoreKind::Delivery, postpone).await
    }

    async fn waiting_deliveries(&self) -> Result<Vec<(DeliveryKind, u64)>, StoreError> {
        let waiting = |statements: &Statements<'_>| {
            statements.all(WAITING, (), |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
        };
        let found = self.records.read(StoreKind::Delivery, waiting).await?;
        let known = |(kind, count): (String, i64)| Some((DeliveryKind::parse(&kind)?, count.cast_unsigned()));
        Ok(found.into_iter().filter_map(known).collect())
    }
}
