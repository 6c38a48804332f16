//! The table `families`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use symbolon_protocol::family::Family;
use symbolon_store::StoreError;
use tokio_postgres::Row as DatabaseRow;

use super::chain::Stored;
use crate::postgres::{Postgres, column, retried};
use crate::revocation::{Row, capped};

/// A digest over issuer and name.
pub(super) type Key = [u8; 16];

/// A join: with `key = ANY($1)`, PostgreSQL would search every partition for every key.
pub(super) const READ: &str = "
    SELECT f.key, f.revision, f.document FROM unnest($1::bytea[]) AS k(key) JOIN families f ON f.key = k.key";

/// New families also get a row in their user's list, in the same statement.
const INSERT: &str = "
    WITH new AS (
        INSERT INTO families (key, revision, ends_at, document)
        SELECT key, 1, ends_at, document FROM unnest($1::bytea[], $2::bigint[], $3::text[]) AS n(key, ends_at, document)
        ON CONFLICT (key) DO NOTHING RETURNING key
    ), listed AS (
        INSERT INTO families_of_users (owner, key)
        SELECT o.owner, o.key FROM unnest($4::bytea[], $1::bytea[]) AS o(owner, key) JOIN new ON new.key = o.key
        WHERE o.owner IS NOT NULL ON CONFLICT DO NOTHING
    )
    SELECT key FROM new";

pub(super) const MOVE: &str = "
    UPDATE families f SET revision = f.revision + 1, ends_at = u.ends_at, document = u.document
    FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[]) AS u(key, revision, ends_at, document)
    WHERE f.key = u.key AND f.revision = u.revision RETURNING f.key";

/// As [`MOVE`]; the same statement writes the tombstones of the families that it ends.
const MOVE_AND_BURY: &str = "
    WITH moved AS (
        UPDATE families f SET revision = f.revision + 1, ends_at = u.ends_at, document = u.document
        FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[]) AS u(key, revision, ends_at, document)
        WHERE f.key = u.key AND f.revision = u.revision RETURNING f.key
    ), buried AS (
        INSERT INTO tombstones (tag, id, value, until)
        SELECT b.tag, b.id, max(b.value), max(b.until)
        FROM unnest($5::bytea[], $6::text[], $7::text[], $8::bigint[], $9::bigint[]) AS b(key, tag, id, value, until)
        JOIN moved m ON m.key = b.key GROUP BY b.tag, b.id ORDER BY b.tag, b.id
        ON CONFLICT (tag, id) DO UPDATE SET
            value = greatest(tombstones.value, excluded.value), until = greatest(tombstones.until, excluded.until)
        WHERE tombstones.value < excluded.value OR tombstones.until < excluded.until
    )
    SELECT key FROM moved";

/// The last key of a piece of the table, in the order of keys; no row if less than a piece is left.
const PIECE: &str = "SELECT key FROM families WHERE key > $1 ORDER BY key OFFSET $2 LIMIT 1";

const SWEEP: &str = "DELETE FROM families WHERE key > $1 AND key <= $2 AND ends_at <= $3";

/// A family to insert.
pub(super) struct New<'a> {
    pub(super) key: &'a Key,
    /// The key of its user's list; `None` if that is not known yet.
    pub(super) owner: Option<&'a Key>,
    pub(super) family: &'a Arc<Family>,
}

/// A row as it was read.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) revision: i64,
    pub(super) stored: Stored,
}

/// The result of reading one row. A document that cannot be read fails only the requests for its own family.
pub(super) type Read = Result<Seen, StoreError>;

/// An update of a row, if the row still has that revision.
pub(super) struct Write<'a> {
    pub(super) key: &'a Key,
    pub(super) revision: i64,
    pub(super) next: &'a Stored,
}

/// The table.
#[derive(Clone)]
pub(super) struct Table {
    postgres: Arc<Postgres>,
}

impl Table {
    pub(super) fn new(postgres: &Arc<Postgres>) -> Self {
        Self { postgres: Arc::clone(postgres) }
    }

    /// Reads the rows that exist for these keys. A row whose document cannot be read gives the reason.
    pub(super) async fn read(&self, keys: &[&Key]) -> Result<HashMap<Key, Read>, StoreError> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
        let rows = self.postgres.connection().await?.all(READ, &[&keys]).await?;
        rows.iter()
            .map(|row| {
                let broken = |error| StoreError::Failed(format!("a family cannot be read: {error}"));
                let (key, revision) = (key_of(row)?, column(row, 1)?);
                let stored = serde_json::from_str(column(row, 2)?).map_err(broken);
                Ok((key, stored.map(|stored| Seen { revision, stored })))
            })
            .collect()
    }

    /// Inserts families with different keys; returns those keys that were free.
    pub(super) async fn insert(&self, families: &mut [New<'_>]) -> Result<HashSet<Key>, StoreError> {
        families.sort_unstable_by_key(|new| new.key);
        let keys: Vec<&[u8]> = families.iter().map(|new| new.key.as_slice()).collect();
        let owners: Vec<Option<&[u8]>> = families.iter().map(|new| new.owner.map(Key::as_slice)).collect();
        let ends: Vec<i64> = families.iter().map(|new| end_of(new.family)).collect();
        let documents = families
            .iter()
            .map(|new| document(&Stored::Live(Arc::clone(new.family))))
            .collect::<Result<Vec<_>, _>>()?;
        let rows = retried(|| async {
            self.postgres
                .connection()
                .await?
                .change_returning(INSERT, &[&keys, &ends, &documents, &owners])
                .await
        })
        .await?;
        rows.iter().map(key_of).collect()
    }

    /// Updates rows, in the order of their keys, and writes the tombstones of the families that end. Returns the keys
    /// of the rows that still had their revision. On return all of these changes are durable, or none is.
    pub(super) async fn write(&self, writes: &mut [Write<'_>]) -> Result<HashSet<Key>, StoreError> {
        writes.sort_unstable_by_key(|write| write.key);
        let keys: Vec<&[u8]> = writes.iter().map(|write| write.key.as_slice()).collect();
        let revisions: Vec<i64> = writes.iter().map(|write| write.revision).collect();
        let ends: Vec<i64> = writes.iter().map(|write| stored_until(write.next)).collect();
        let documents = writes.iter().map(|write| document(write.next)).collect::<Result<Vec<_>, _>>()?;
        let buried: Vec<(&[u8], &Row)> = writes
            .iter()
            .filter_map(|write| match write.next {
                Stored::Ended(row) => Some((write.key.as_slice(), row)),
                Stored::Live(_) => None,
            })
            .collect();
        let connection = self.postgres.connection().await?;
        let rows = if buried.is_empty() {
            connection.change_returning(MOVE, &[&keys, &revisions, &ends, &documents]).await?
        } else {
            let ended: Vec<&[u8]> = buried.iter().map(|(key, _)| *key).collect();
            let tags: Vec<&str> = buried.iter().map(|(_, row)| row.tag.as_str()).collect();
            let ids: Vec<&str> = buried.iter().map(|(_, row)| row.id.as_str()).collect();
            let values: Vec<i64> = buried.iter().map(|(_, row)| row.value.cast_signed()).collect();
            let untils: Vec<i64> = buried.iter().map(|(_, row)| row.until.cast_signed()).collect();
            let values: [crate::postgres::Parameter<'_>; 9] =
                [&keys, &revisions, &ends, &documents, &ended, &tags, &ids, &values, &untils];
            connection.change_returning(MOVE_AND_BURY, &values).await?
        };
        rows.iter().map(key_of).collect()
    }

    /// Deletes families that ended by `ended`, in milliseconds, among the next `rows` keys after `after`. Returns how
    /// many, and the last key of the piece, or `None` at the end of the table.
    pub(super) async fn sweep(
        &self,
        after: &[u8],
        rows: i64,
        ended: i64,
    ) -> Result<(u64, Option<Key>), StoreError> {
        let piece = self.postgres.connection().await?.first(PIECE, &[&after, &(rows - 1)]).await?;
        let last = piece.as_ref().map(key_of).transpose()?;
        // An upper bound: it is longer than every key and consists of the greatest bytes.
        let end = last.map_or_else(|| vec![u8::MAX; size_of::<Key>() + 1], |last| last.to_vec());
        let sweep =
            || async { self.postgres.connection().await?.change(SWEEP, &[&after, &end, &ended]).await };
        Ok((retried(sweep).await?, last))
    }
}

pub(super) fn key_of(row: &DatabaseRow) -> Result<Key, StoreError> {
    let key = column::<&[u8]>(row, 0)?;
    key.try_into().map_err(|_| StoreError::Failed("a family's key is cut short".into()))
}

fn document(stored: &Stored) -> Result<String, StoreError> {
    serde_json::to_string(stored).map_err(|error| StoreError::Failed(format!("a family: {error}")))
}

fn end_of(family: &Family) -> i64 {
    capped(family.ends_at()).cast_signed()
}

fn stored_until(stored: &Stored) -> i64 {
    match stored {
        Stored::Live(family) => end_of(family),
        Stored::Ended(row) => row.until.cast_signed(),
    }
}
