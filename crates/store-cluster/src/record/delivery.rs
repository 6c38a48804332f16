//! What has to reach somebody else.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::{DeliveryId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::columns::millis;
use symbolon_store::port::{
    Deliveries, Delivery, DeliveryKind, MOST_CLAIMED, Queued, ids_of_recipient, most_of_recipient,
};
use tokio_postgres::Row;

use super::Records;
use crate::ClusterStore;
use crate::postgres::{Connection, column};
use crate::revocation::sweep_by;

/// Counts no further than to the bounds.
const QUEUE: &str = "
    INSERT INTO deliveries (issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered)
    SELECT $1::text, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint
    WHERE (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE issuer = $1 AND kind = $3 LIMIT $10::bigint) AS waiting) < $10
        AND ($11::text IS NULL OR (SELECT count(*) FROM (SELECT 1 FROM deliveries
            WHERE issuer = $1 AND id >= $11 AND id < $12::text LIMIT $13::bigint) AS of_recipient) < $13)
    ON CONFLICT (issuer, id) DO NOTHING";
const IS_THERE: &str = "SELECT 1 FROM deliveries WHERE issuer = $1 AND id = $2";

/// `issuers` jumps from one issuer of the index to the next. `due` has the first of each, with their places. `taken` locks
/// those of them that nobody else is about to claim; of a row that was claimed meanwhile the conditions do not hold any
/// more.
const CLAIM: &str = "
    WITH RECURSIVE issuers AS (
        (SELECT issuer FROM deliveries ORDER BY issuer LIMIT 1)
        UNION ALL
        SELECT (SELECT d.issuer FROM deliveries d WHERE d.issuer > i.issuer ORDER BY d.issuer LIMIT 1)
        FROM issuers i WHERE i.issuer IS NOT NULL
    ), due AS (
        SELECT first.issuer, first.id, first.place FROM issuers CROSS JOIN LATERAL (
            SELECT oldest.*, row_number() OVER (ORDER BY oldest.due_at, oldest.id) AS place FROM (
                SELECT d.issuer, d.id, d.due_at FROM deliveries d
                WHERE d.issuer = issuers.issuer AND d.due_at <= $1 AND d.expires_at > $1
                    AND d.kind = ANY($4::text[])
                ORDER BY d.due_at, d.id LIMIT $3
            ) AS oldest
        ) AS first
        ORDER BY first.place, first.due_at LIMIT $3
    ), taken AS (
        SELECT d.issuer, d.id, d.due_at, due.place
        FROM deliveries d JOIN due ON d.issuer = due.issuer AND d.id = due.id
        WHERE d.due_at <= $1 AND d.expires_at > $1
        FOR UPDATE OF d SKIP LOCKED
    ), claimed AS (
        UPDATE deliveries d SET due_at = $2, attempts = d.attempts + 1, unanswered = d.unanswered + 1
        FROM taken WHERE d.issuer = taken.issuer AND d.id = taken.id
        RETURNING d.*, taken.place, taken.due_at AS due_before
    )
    SELECT issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered
    FROM claimed ORDER BY place, due_before, id";

const FINISH: &str = "DELETE FROM deliveries WHERE issuer = $1 AND id = $2";
const POSTPONE: &str = "UPDATE deliveries SET due_at = $3, unanswered = greatest(unanswered - 1, 0)
    WHERE issuer = $1 AND id = $2";
const WAITING: &str = "SELECT kind, count(*) FROM deliveries GROUP BY kind";
const SWEEP: &str = "
    DELETE FROM deliveries WHERE (issuer, id) IN
        (SELECT issuer, id FROM deliveries WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
const IMPORT: &str = "
    INSERT INTO deliveries (issuer, id, kind, payload, created_at, due_at, expires_at, attempts, unanswered)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[],
                         $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])";

/// A row: issuer, id, kind, payload, the three times, attempts, unanswered.
pub(crate) fn delivery(row: &Row) -> Result<(IssuerId, Delivery), StoreError> {
    let at = |index| column::<i64>(row, index).map(|at| Timestamp::from_millis(at.cast_unsigned()));
    let count = |index| column::<i64>(row, index).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let kind = column::<&str>(row, 2)?;
    let unknown = || StoreError::Failed(format!("a delivery of the unknown kind {kind}"));
    let delivery = Delivery {
        id: DeliveryId::trusted(column::<&str>(row, 1)?),
        kind: DeliveryKind::parse(kind).ok_or_else(unknown)?,
        payload: column(row, 3)?,
        created_at: at(4)?,
        due_at: at(5)?,
        expires_at: at(6)?,
        attempts: count(7)?,
        unanswered: count(8)?,
    };
    Ok((IssuerId::trusted(column::<&str>(row, 0)?), delivery))
}

impl Records {
    /// Writes deliveries of another store.
    pub(super) async fn import_deliveries(
        &self,
        deliveries: &[(IssuerId, Delivery)],
    ) -> Result<(), StoreError> {
        if deliveries.is_empty() {
            return Ok(());
        }
        let texts = |of: fn(&(IssuerId, Delivery)) -> &str| super::each(deliveries, of);
        let issuers = texts(|(issuer, _)| issuer.as_str());
        let ids = texts(|(_, delivery)| delivery.id.as_str());
        let kinds = texts(|(_, delivery)| delivery.kind.as_str());
        let payloads = texts(|(_, delivery)| &delivery.payload);
        let numbers = |of: fn(&Delivery) -> i64| super::each(deliveries, |(_, delivery)| of(delivery));
        let created_at = numbers(|delivery| millis(delivery.created_at));
        let due_at = numbers(|delivery| millis(delivery.due_at));
        let expires_at = numbers(|delivery| millis(delivery.expires_at));
        let attempts = numbers(|delivery| delivery.attempts.into());
        let unanswered = numbers(|delivery| delivery.unanswered.into());
        let connection = self.postgres.connection().await?;
        let (texts, times) = ((&issuers, &ids, &kinds, &payloads), (&created_at, &due_at, &expires_at));
        let (issuers, ids, kinds, payloads) = texts;
        let (created_at, due_at, expires_at) = times;
        connection
            .change(
                IMPORT,
                &[issuers, ids, kinds, payloads, created_at, due_at, expires_at, &attempts, &unanswered],
            )
            .await
            .map(drop)
    }
}

impl ClusterStore {
    /// Deletes a bounded number of deliveries whose time is over; returns how many.
    pub(crate) async fn sweep_deliveries(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep_by(&self.postgres, SWEEP, now).await
    }
}

#[async_trait]
impl Deliveries for ClusterStore {
    async fn queue_delivery(
        &self,
        issuer: &IssuerId,
        delivery: Delivery,
        most: u32,
    ) -> Result<Queued, StoreError> {
        delivery.check()?;
        let given = Arc::new((issuer.clone(), delivery));
        let queue = move |connection: Connection| {
            let given = Arc::clone(&given);
            async move {
                let (issuer, delivery) = &*given;
                let [created_at, due_at, expires_at] =
                    [delivery.created_at, delivery.due_at, delivery.expires_at].map(millis);
                let (id, kind) = (delivery.id.as_str(), delivery.kind.as_str());
                let [attempts, unanswered, most, of_recipient] =
                    [delivery.attempts, delivery.unanswered, most, most_of_recipient(most)].map(i64::from);
                let (issuer, payload) = (issuer.as_str(), &delivery.payload);
                let (first, end) = delivery.id.recipient().map(ids_of_recipient).unzip();
                let written = connection
                    .change(
                        QUEUE,
                        &[
                            &issuer,
                            &id,
                            &kind,
                            payload,
                            &created_at,
                            &due_at,
                            &expires_at,
                            &attempts,
                            &unanswered,
                            &most,
                            &first,
                            &end,
                            &of_recipient,
                        ],
                    )
                    .await?;
                let is_there = written == 1 || connection.first(IS_THERE, &[&issuer, &id]).await?.is_some();
                Ok(Some(if is_there { Queued::Queued } else { Queued::Full }))
            }
        };
        self.records.write(StoreKind::Delivery, queue).await
    }

    async fn claim_deliveries(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(IssuerId, Delivery)>, StoreError> {
        let [now, until] = [now, until].map(millis);
        let limit = i64::from(limit.clamp(1, MOST_CLAIMED));
        // During an upgrade, nodes of the newer release may queue kinds that this one does not know.
        let kinds = DeliveryKind::ALL.map(DeliveryKind::as_str).to_vec();
        let kinds = Arc::new(kinds);
        let claim = move |connection: Connection| {
            let kinds = Arc::clone(&kinds);
            async move {
                let rows = connection.change_returning(CLAIM, &[&now, &until, &limit, &*kinds]).await?;
                rows.iter().map(delivery).collect::<Result<Vec<_>, _>>().map(Some)
            }
        };
        self.records.write(StoreKind::Delivery, claim).await
    }

    async fn finish_delivery(&self, issuer: &IssuerId, id: &DeliveryId) -> Result<bool, StoreError> {
        let key = Arc::new((issuer.clone(), id.clone()));
        let finish = move |connection: Connection| {
            let key = Arc::clone(&key);
            async move {
                let gone = connection.change(FINISH, &[&key.0.as_str(), &key.1.as_str()]).await?;
                Ok(Some(gone == 1))
            }
        };
        self.records.write(StoreKind::Delivery, finish).await
    }

    async fn postpone_delivery(
        &self,
        issuer: &IssuerId,
        id: &DeliveryId,
        due_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (key, due_at) = (Arc::new((issuer.clone(), id.clone())), millis(due_at));
        let postpone = move |connection: Connection| {
            let key = Arc::clone(&key);
            async move {
                let changed =
                    connection.change(POSTPONE, &[&key.0.as_str(), &key.1.as_str(), &due_at]).await?;
                Ok(Some(changed == 1))
            }
        };
        self.records.write(StoreKind::Delivery, postpone).await
    }

    async fn waiting_deliveries(&self) -> Result<Vec<(DeliveryKind, u64)>, StoreError> {
        let rows = self.records.all(StoreKind::Delivery, WAITING, &[]).await?;
        let mut waiting = Vec::new();
        for row in &rows {
            if let Some(kind) = DeliveryKind::parse(column(row, 0)?) {
                waiting.push((kind, column::<i64>(row, 1)?.cast_unsigned()));
            }
        }
        Ok(waiting)
    }
}
